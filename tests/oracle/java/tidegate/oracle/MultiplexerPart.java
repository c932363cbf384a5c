package tidegate.oracle;

import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkOutputMultiplexer;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.operators.source.WatermarkToDataOutput;

/** The valve's steps on the immediate outputs of a WatermarkOutputMultiplexer, as a source reader uses it. */
final class MultiplexerPart implements Part {
    private final Recorder output = new Recorder();
    private final WatermarkOutputMultiplexer multiplexer =
            new WatermarkOutputMultiplexer(new WatermarkToDataOutput(output));

    MultiplexerPart(JsonNode script) {
        for (int split = 0; split < script.get("channels").asInt(); split++) {
            multiplexer.registerNewOutput(String.valueOf(split));
        }
    }

    @Override
    public Object step(JsonNode step) {
        WatermarkOutput split = multiplexer.getImmediateOutput(step.get(1).asText());
        switch (step.get(0).asText()) {
            case "watermark":
                split.emitWatermark(new Watermark(step.get(2).asLong()));
                break;
            case "idle":
                split.markIdle();
                break;
            default:
                split.markActive();
        }
        return output.take();
    }
}
