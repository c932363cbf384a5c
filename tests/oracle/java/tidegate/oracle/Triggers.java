package tidegate.oracle;

import java.time.Duration;

import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.windowing.assigners.GlobalWindows;
import org.apache.flink.streaming.api.windowing.triggers.ContinuousEventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.ContinuousProcessingTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.CountTrigger;
import org.apache.flink.streaming.api.windowing.triggers.DeltaTrigger;
import org.apache.flink.streaming.api.windowing.triggers.EventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.ProcessingTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.ProcessingTimeoutTrigger;
import org.apache.flink.streaming.api.windowing.triggers.PurgingTrigger;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.windows.Window;

/** Triggers from their descriptions: `[name, argument, ...]`, where an argument may be a trigger. */
final class Triggers {
    private Triggers() {}

    @SuppressWarnings({"unchecked", "rawtypes"})
    static Trigger<Object, Window> create(JsonNode description) {
        JsonNode first = description.get(1);
        Trigger trigger;
        switch (description.get(0).asText()) {
            case "event":
                trigger = EventTimeTrigger.create();
                break;
            case "clock":
                trigger = ProcessingTimeTrigger.create();
                break;
            case "count":
                trigger = CountTrigger.of(first.asLong());
                break;
            case "continuous_event":
                trigger = ContinuousEventTimeTrigger.of(Duration.ofMillis(first.asLong()));
                break;
            case "continuous_clock":
                trigger = ContinuousProcessingTimeTrigger.of(Duration.ofMillis(first.asLong()));
                break;
            case "delta":
                trigger =
                        DeltaTrigger.of(first.asDouble(), (Long old, Long latest) -> latest - old, LongSerializer.INSTANCE);
                break;
            case "purging":
                trigger = PurgingTrigger.of(create(first));
                break;
            case "timeout":
                trigger =
                        ProcessingTimeoutTrigger.of(
                                create(first),
                                Duration.ofMillis(description.get(2).asLong()),
                                description.get(3).asBoolean(),
                                description.get(4).asBoolean());
                break;
            case "end":
                trigger = GlobalWindows.createWithEndOfStreamTrigger().getDefaultTrigger();
                break;
            default:
                trigger = GlobalWindows.create().getDefaultTrigger();
        }
        return trigger;
    }
}
