package tidegate.oracle;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.windowing.evictors.CountEvictor;
import org.apache.flink.streaming.api.windowing.evictors.DeltaEvictor;
import org.apache.flink.streaming.api.windowing.evictors.Evictor;
import org.apache.flink.streaming.api.windowing.evictors.TimeEvictor;
import org.apache.flink.streaming.api.windowing.windows.GlobalWindow;
import org.apache.flink.streaming.runtime.operators.windowing.TimestampedValue;

/** `[evict, [value, timestamp or null], ...]`: what is left before and after the window function. */
final class EvictorPart implements Part {
    private final Evictor<Object, GlobalWindow> evictor;

    EvictorPart(JsonNode script) {
        evictor = evictor(script);
    }

    private static Evictor<Object, GlobalWindow> evictor(JsonNode script) {
        boolean after = script.get("after").asBoolean();
        long limit = script.get("limit").asLong();
        switch (script.get("evictor").asText()) {
            case "count":
                return CountEvictor.of(limit, after);
            case "time":
                return TimeEvictor.of(Duration.ofMillis(limit), after);
            default:
                return DeltaEvictor.of(limit, (old, latest) -> (Long) old - (Long) latest, after);
        }
    }

    @Override
    public Object step(JsonNode step) {
        List<TimestampedValue<Object>> values = new ArrayList<>();
        for (int index = 1; index < step.size(); index++) {
            JsonNode value = step.get(index);
            values.add(
                    value.get(1).isNull()
                            ? new TimestampedValue<>(value.get(0).asLong())
                            : new TimestampedValue<>(value.get(0).asLong(), value.get(1).asLong()));
        }
        evictor.evictBefore(values, values.size(), GlobalWindow.get(), null);
        List<Object> before = show(values);
        evictor.evictAfter(values, values.size(), GlobalWindow.get(), null);
        return List.of(before, show(values));
    }

    private static List<Object> show(List<TimestampedValue<Object>> values) {
        List<Object> shown = new ArrayList<>();
        for (TimestampedValue<Object> value : values) {
            shown.add(Arrays.asList(value.getValue(), value.hasTimestamp() ? value.getTimestamp() : null));
        }
        return shown;
    }
}
