package tidegate.oracle;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.windowing.assigners.DynamicEventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.DynamicProcessingTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.ProcessingTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingProcessingTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingProcessingTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.assigners.WindowStagger;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

/** `[assign, element, timestamp, now]` on a window assigner; the element is its own gap where gaps are dynamic. */
final class AssignerPart implements Part {
    private final WindowAssigner<Object, TimeWindow> assigner;

    AssignerPart(JsonNode script) {
        assigner = assigner(script);
    }

    @SuppressWarnings("unchecked")
    private static WindowAssigner<Object, TimeWindow> assigner(JsonNode script) {
        Duration size = Duration.ofMillis(script.path("size").asLong());
        Duration slide = Duration.ofMillis(script.path("slide").asLong());
        Duration offset = Duration.ofMillis(script.path("offset").asLong());
        WindowStagger stagger = script.path("natural").asBoolean() ? WindowStagger.NATURAL : WindowStagger.ALIGNED;
        switch (script.get("assigner").asText()) {
            case "tumbling_event":
                return TumblingEventTimeWindows.of(size, offset, stagger);
            case "tumbling_clock":
                return TumblingProcessingTimeWindows.of(size, offset, stagger);
            case "sliding_event":
                return SlidingEventTimeWindows.of(size, slide, offset);
            case "sliding_clock":
                return SlidingProcessingTimeWindows.of(size, slide, offset);
            case "session_event":
                return EventTimeSessionWindows.withGap(size);
            case "session_clock":
                return ProcessingTimeSessionWindows.withGap(size);
            case "dynamic_event":
                return DynamicEventTimeSessionWindows.withDynamicGap(element -> (Long) element);
            default:
                return DynamicProcessingTimeSessionWindows.withDynamicGap(element -> (Long) element);
        }
    }

    @Override
    public Object step(JsonNode step) {
        long now = step.get(3).asLong();
        WindowAssigner.WindowAssignerContext context =
                new WindowAssigner.WindowAssignerContext() {
                    @Override
                    public long getCurrentProcessingTime() {
                        return now;
                    }
                };
        List<Object> windows = new ArrayList<>();
        for (TimeWindow window : assigner.assignWindows(step.get(1).asLong(), step.get(2).asLong(), context)) {
            windows.add(Windows.asList(window));
        }
        return windows;
    }
}
