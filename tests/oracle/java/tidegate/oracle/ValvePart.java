package tidegate.oracle;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.watermarkstatus.StatusWatermarkValve;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;

/** `[watermark, channel, time]`, `[idle, channel]`, `[active, channel]` on a StatusWatermarkValve. */
final class ValvePart implements Part {
    private final StatusWatermarkValve valve;
    private final Recorder output = new Recorder();

    ValvePart(JsonNode script) {
        valve = new StatusWatermarkValve(script.get("channels").asInt());
    }

    @Override
    public Object step(JsonNode step) throws Exception {
        int channel = step.get(1).asInt();
        switch (step.get(0).asText()) {
            case "watermark":
                valve.inputWatermark(new Watermark(step.get(2).asLong()), channel, output);
                break;
            case "idle":
                valve.inputWatermarkStatus(WatermarkStatus.IDLE, channel, output);
                break;
            default:
                valve.inputWatermarkStatus(WatermarkStatus.ACTIVE, channel, output);
        }
        return output.take();
    }
}
