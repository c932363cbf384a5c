package tidegate.oracle;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.runtime.operators.windowing.MergingWindowSet;

/**
 * `[add, element, [start, end]]`, `[retire, n]` (the n-th live window) and `[watermark, time]` on a MergingWindowSet.
 *
 * <p>Used as by the window operator: contents are kept under state windows, a window that is late after adding is
 * retired, and a watermark retires the windows it has passed. A result shows the contents, not where they are kept.
 */
final class MergingSetPart implements Part {
    private final MergingWindowSet<TimeWindow> set;
    private final Map<TimeWindow, List<Long>> contents = new HashMap<>();
    private final List<TimeWindow> live = new ArrayList<>();
    private long watermark = Long.MIN_VALUE;

    MergingSetPart() throws Exception {
        set =
                new MergingWindowSet<>(
                        EventTimeSessionWindows.withGap(Duration.ofMillis(1)),
                        new ListInMemory<Tuple2<TimeWindow, TimeWindow>>());
    }

    @Override
    public Object step(JsonNode step) throws Exception {
        switch (step.get(0).asText()) {
            case "add":
                return add(step.get(1).asLong(), Windows.timeWindow(step.get(2)));
            case "retire":
                live.sort(Windows.BY_START);
                return live.isEmpty() ? null : retire(live.get(step.get(1).asInt() % live.size()));
            default:
                watermark = Math.max(watermark, step.get(1).asLong());
                List<Object> gone = new ArrayList<>();
                live.sort(Windows.BY_START);
                for (TimeWindow window : new ArrayList<>(live)) {
                    if (window.maxTimestamp() <= watermark) {
                        gone.add(retire(window));
                    }
                }
                return gone;
        }
    }

    private Object add(long element, TimeWindow added) throws Exception {
        List<Object> merges = new ArrayList<>();
        TimeWindow actual =
                set.addWindow(
                        added,
                        (result, merged, stateWindow, mergedStateWindows) -> {
                            merges.add(List.of(Windows.asList(result), Windows.sorted(merged)));
                            live.removeAll(merged);
                            for (TimeWindow other : mergedStateWindows) {
                                contents.get(stateWindow).addAll(contents.remove(other));
                            }
                        });
        if (actual.maxTimestamp() <= watermark) {
            set.retireWindow(actual);
            return "late";
        }
        if (!live.contains(actual)) {
            live.add(actual);
        }
        contents.computeIfAbsent(set.getStateWindow(actual), window -> new ArrayList<>()).add(element);
        return List.of(Windows.asList(actual), merges, sortedContents(actual), Windows.sorted(live));
    }

    private Object retire(TimeWindow window) {
        List<Long> held = sortedContents(window);
        contents.remove(set.getStateWindow(window));
        set.retireWindow(window);
        live.remove(window);
        return List.of(Windows.asList(window), held);
    }

    private List<Long> sortedContents(TimeWindow window) {
        List<Long> held = new ArrayList<>(contents.get(set.getStateWindow(window)));
        Collections.sort(held);
        return held;
    }
}
