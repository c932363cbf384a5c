package tidegate.oracle;

import java.util.ArrayList;
import java.util.List;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

/** `[merge, [start, end], ...]`: the groups that TimeWindow.mergeWindows reports, each with its covering window. */
final class MergePart implements Part {
    @Override
    public Object step(JsonNode step) {
        List<TimeWindow> windows = new ArrayList<>();
        for (int index = 1; index < step.size(); index++) {
            windows.add(Windows.timeWindow(step.get(index)));
        }
        List<Object> groups = new ArrayList<>();
        TimeWindow.mergeWindows(
                windows,
                (merged, result) -> groups.add(List.of(Windows.asList(result), Windows.sorted(merged))));
        return groups;
    }
}
