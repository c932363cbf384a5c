package tidegate.oracle;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.windowing.windows.GlobalWindow;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.api.windowing.windows.Window;

/** Windows as JSON: `[start, end]`, or null for the global window. */
final class Windows {
    static final Comparator<TimeWindow> BY_START =
            Comparator.comparingLong(TimeWindow::getStart).thenComparingLong(TimeWindow::getEnd);

    private Windows() {}

    static TimeWindow timeWindow(JsonNode node) {
        return new TimeWindow(node.get(0).asLong(), node.get(1).asLong());
    }

    static Window window(JsonNode node) {
        return node.isNull() ? GlobalWindow.get() : timeWindow(node);
    }

    static List<Long> asList(Window window) {
        return window instanceof TimeWindow
                ? List.of(((TimeWindow) window).getStart(), ((TimeWindow) window).getEnd())
                : null;
    }

    static List<Object> sorted(Collection<? extends TimeWindow> windows) {
        List<TimeWindow> ordered = new ArrayList<>(windows);
        ordered.sort(BY_START);
        List<Object> spans = new ArrayList<>();
        ordered.forEach(window -> spans.add(asList(window)));
        return spans;
    }
}
