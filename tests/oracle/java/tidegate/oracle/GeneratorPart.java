package tidegate.oracle;

import java.time.Duration;

import org.apache.flink.api.common.eventtime.AscendingTimestampsWatermarks;
import org.apache.flink.api.common.eventtime.BoundedOutOfOrdernessWatermarks;
import org.apache.flink.api.common.eventtime.NoWatermarksGenerator;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarksWithIdleness;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.operators.util.PausableRelativeClock;
import org.apache.flink.streaming.runtime.operators.TimestampsAndWatermarksOperator.WatermarkEmitter;
import org.apache.flink.util.clock.ManualClock;

/**
 * `[event, time]`, `[tick, milliseconds]` (the clock moves on, then a periodic probe), `[pause]` and `[resume]` (of the
 * idle clock) and `[end]`.
 */
final class GeneratorPart implements Part {
    private final Recorder output = new Recorder();
    private final WatermarkEmitter emitter = new WatermarkEmitter(output);
    /** Not at 0, which the idleness timer takes for "not started". */
    private final ManualClock clock = new ManualClock(Duration.ofSeconds(1).toNanos());

    private final PausableRelativeClock idleClock = new PausableRelativeClock(clock);
    private final WatermarkGenerator<Object> generator;

    GeneratorPart(JsonNode script) {
        WatermarkGenerator<Object> plain = plain(script);
        generator =
                script.has("idleness")
                        ? new WatermarksWithIdleness<>(
                                plain, Duration.ofMillis(script.get("idleness").asLong()), idleClock)
                        : plain;
    }

    private static WatermarkGenerator<Object> plain(JsonNode script) {
        switch (script.get("strategy").asText()) {
            case "bounded":
                return new BoundedOutOfOrdernessWatermarks<>(Duration.ofMillis(script.get("bound").asLong()));
            case "ascending":
                return new AscendingTimestampsWatermarks<>();
            default:
                return new NoWatermarksGenerator<>();
        }
    }

    @Override
    public Object step(JsonNode step) {
        switch (step.get(0).asText()) {
            case "event":
                generator.onEvent("event", step.get(1).asLong(), emitter);
                break;
            case "tick":
                clock.advanceTime(Duration.ofMillis(step.get(1).asLong()));
                generator.onPeriodicEmit(emitter);
                break;
            case "pause":
                idleClock.pause();
                break;
            case "resume":
                idleClock.unPause();
                break;
            default:
                emitter.emitWatermark(new Watermark(Long.MAX_VALUE));
        }
        return output.take();
    }
}
