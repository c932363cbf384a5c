package tidegate.oracle;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.triggers.TriggerResult;
import org.apache.flink.streaming.api.windowing.windows.Window;

/**
 * A trigger in a small world.
 *
 * <p>`[element, window, value, timestamp]`, `[watermark, time]` and `[now, time]` (which fire timers),
 * `[on_event, window, time]` and `[on_clock, window, time]` (a call for a timer that is not the trigger's own),
 * `[merge, result, window, ...]` and `[clear, window]`. A result is `[answers, event timers, clock timers]`.
 */
final class TriggerPart implements Part {
    private final TriggerWorld world = new TriggerWorld();
    private final Trigger<Object, Window> trigger;
    private final boolean dropsEndTimer;
    /** Windows that went into another; the operator ignores timers that they left behind. */
    private final Set<Window> gone = new HashSet<>();

    TriggerPart(JsonNode script) {
        trigger = Triggers.create(script.get("trigger"));
        // Two triggers leave their timer at the end of a cleared window behind, where it can do no harm: the operator
        // knows the window no longer. A script can ask to see it.
        String description = script.get("trigger").toString();
        boolean leavesEndTimer = description.contains("continuous_event") || description.contains("\"end\"");
        dropsEndTimer = leavesEndTimer && !script.has("raw");
    }

    @Override
    public Object step(JsonNode step) throws Exception {
        List<Object> answers = new ArrayList<>();
        String verb = step.get(0).asText();
        switch (verb) {
            case "watermark":
                advanceWatermark(step.get(1).asLong(), answers);
                break;
            case "now":
                advanceClock(step.get(1).asLong(), answers);
                break;
            case "merge":
                merge(step);
                break;
            default:
                Window window = Windows.window(step.get(1));
                answers.add(onWindow(verb, window, step));
        }
        return List.of(answers, world.eventTimers.show(), world.clockTimers.show());
    }

    private Object onWindow(String verb, Window window, JsonNode step) throws Exception {
        world.at(window);
        switch (verb) {
            case "element":
                return trigger.onElement(step.get(2).asLong(), step.get(3).asLong(), window, world).name();
            case "on_event":
                return trigger.onEventTime(step.get(2).asLong(), window, world).name();
            case "on_clock":
                return trigger.onProcessingTime(step.get(2).asLong(), window, world).name();
            default:
                clear(window);
                return null;
        }
    }

    private void clear(Window window) throws Exception {
        trigger.clear(window, world.at(window));
        if (dropsEndTimer) {
            world.eventTimers.remove(window.maxTimestamp(), window);
        }
    }

    private void merge(JsonNode step) throws Exception {
        Window result = Windows.window(step.get(1));
        List<Window> merged = new ArrayList<>();
        for (int index = 2; index < step.size(); index++) {
            merged.add(Windows.window(step.get(index)));
        }
        trigger.onMerge(result, world.merging(result, merged));
        for (Window window : merged) {
            clear(window);
        }
        gone.addAll(merged);
        gone.remove(result);
    }

    private void advanceWatermark(long time, List<Object> answers) throws Exception {
        world.watermark = time;
        for (Long at = world.eventTimers.nextTime(time); at != null; at = world.eventTimers.nextTime(time)) {
            Window window = world.eventTimers.pop(at);
            if (!gone.contains(window)) {
                TriggerResult result = trigger.onEventTime(at, window, world.at(window));
                answers.add(Arrays.asList(at, Windows.asList(window), result.name()));
            }
        }
    }

    private void advanceClock(long time, List<Object> answers) throws Exception {
        world.now = time;
        for (Long at = world.clockTimers.nextTime(time - 1); at != null; at = world.clockTimers.nextTime(time - 1)) {
            Window window = world.clockTimers.pop(at);
            if (!gone.contains(window)) {
                TriggerResult result = trigger.onProcessingTime(at, window, world.at(window));
                answers.add(Arrays.asList(at, Windows.asList(window), result.name()));
            }
        }
    }
}
