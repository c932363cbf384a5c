package tidegate.oracle;

import java.util.ArrayList;
import java.util.List;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.operators.InternalTimer;
import org.apache.flink.streaming.api.operators.InternalTimerServiceImpl;
import org.apache.flink.streaming.api.operators.KeyContext;
import org.apache.flink.streaming.api.operators.TimerServices;
import org.apache.flink.streaming.api.operators.Triggerable;

/**
 * `[event|clock|delete_event|delete_clock, time, key, namespace]`, `[watermark, time]`, `[advance, time, n]` (in slices
 * of n timers) and `[now, time]` on Flink's timer service.
 *
 * <p>A timer that fires does what the script's reactions say for its key: `{key: [[verb, milliseconds later], ...]}`.
 * What reactions register is in a namespace one letter longer, and beyond three letters there are none.
 */
final class TimersPart implements Part, KeyContext, Triggerable<String, String> {
    private static final int LONGEST_NAMESPACE = 3;

    private final ManualTimeService clock = new ManualTimeService();
    private final InternalTimerServiceImpl<String, String> service = TimerServices.create(this, clock, this);
    private final JsonNode reactions;
    private Object key;
    private List<Object> fired = new ArrayList<>();

    TimersPart(JsonNode script) {
        reactions = script.path("reactions");
    }

    @Override
    public Object step(JsonNode step) throws Exception {
        String verb = step.get(0).asText();
        long time = step.get(1).asLong();
        switch (verb) {
            case "watermark":
                service.advanceWatermark(time);
                return take();
            case "advance":
                return advanceInSlices(time, step.get(2).asInt());
            case "now":
                clock.advanceTo(time);
                return take();
            default:
                key = step.get(2).asText();
                change(verb, time, step.get(3).asText());
                return List.of(service.numEventTimeTimers(), service.numProcessingTimeTimers());
        }
    }

    private Object advanceInSlices(long time, int slice) throws Exception {
        List<Object> slices = new ArrayList<>();
        boolean isDone = false;
        while (!isDone) {
            isDone = service.tryAdvanceWatermark(time, () -> fired.size() >= slice);
            slices.add(take());
        }
        return slices;
    }

    private void change(String verb, long time, String namespace) {
        switch (verb) {
            case "event":
                service.registerEventTimeTimer(namespace, time);
                break;
            case "clock":
                service.registerProcessingTimeTimer(namespace, time);
                break;
            case "delete_event":
                service.deleteEventTimeTimer(namespace, time);
                break;
            default:
                service.deleteProcessingTimeTimer(namespace, time);
        }
    }

    private void fire(String domain, InternalTimer<String, String> timer) {
        String namespace = timer.getNamespace();
        fired.add(
                List.of(
                        timer.getTimestamp(),
                        domain,
                        timer.getKey(),
                        namespace,
                        service.currentWatermark(),
                        clock.now(),
                        key));
        if (namespace.length() >= LONGEST_NAMESPACE) {
            return;
        }
        for (JsonNode reaction : reactions.path(timer.getKey())) {
            change(reaction.get(0).asText(), timer.getTimestamp() + reaction.get(1).asLong(), namespace + "+");
        }
    }

    private List<Object> take() {
        List<Object> taken = fired;
        fired = new ArrayList<>();
        return taken;
    }

    @Override
    public void onEventTime(InternalTimer<String, String> timer) {
        fire("event", timer);
    }

    @Override
    public void onProcessingTime(InternalTimer<String, String> timer) {
        fire("clock", timer);
    }

    @Override
    public void setCurrentKey(Object current) {
        key = current;
    }

    @Override
    public Object getCurrentKey() {
        return key;
    }
}
