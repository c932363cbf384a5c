package tidegate.oracle;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.state.MergingState;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.windows.Window;

/** What a trigger can ask and do: state for each window, timers for each window, a watermark and a clock. */
final class TriggerWorld implements Trigger.OnMergeContext {
    /** Timers of one time domain: earliest first, equal times in the order of registration. */
    static final class Timers {
        private final TreeMap<Long, LinkedHashSet<Window>> byTime = new TreeMap<>();

        void add(long time, Window window) {
            byTime.computeIfAbsent(time, at -> new LinkedHashSet<>()).add(window);
        }

        void remove(long time, Window window) {
            LinkedHashSet<Window> windows = byTime.get(time);
            if (windows != null && windows.remove(window) && windows.isEmpty()) {
                byTime.remove(time);
            }
        }

        /** The time of the next timer up to a limit, null if there is none. */
        Long nextTime(long limit) {
            return byTime.isEmpty() || byTime.firstKey() > limit ? null : byTime.firstKey();
        }

        Window pop(long time) {
            Window window = byTime.get(time).iterator().next();
            remove(time, window);
            return window;
        }

        /** All timers as `[time, window]`, in order of time and window. */
        List<Object> show() {
            List<Object> shown = new ArrayList<>();
            byTime.forEach(
                    (time, windows) ->
                            windows.stream()
                                    .map(Windows::asList)
                                    .sorted(Comparator.comparing(String::valueOf))
                                    .forEach(window -> shown.add(Arrays.asList(time, window))));
            return shown;
        }
    }

    final Timers eventTimers = new Timers();
    final Timers clockTimers = new Timers();
    long watermark = Long.MIN_VALUE;
    long now;
    private final Map<String, Map<Window, Object>> state = new HashMap<>();
    private Window window;
    private Collection<Window> merged = List.of();

    TriggerWorld at(Window current) {
        window = current;
        return this;
    }

    TriggerWorld merging(Window result, Collection<Window> windows) {
        merged = windows;
        return at(result);
    }

    @Override
    public long getCurrentProcessingTime() {
        return now;
    }

    @Override
    public long getCurrentWatermark() {
        return watermark;
    }

    @Override
    public MetricGroup getMetricGroup() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void registerProcessingTimeTimer(long time) {
        clockTimers.add(time, window);
    }

    @Override
    public void registerEventTimeTimer(long time) {
        eventTimers.add(time, window);
    }

    @Override
    public void deleteProcessingTimeTimer(long time) {
        clockTimers.remove(time, window);
    }

    @Override
    public void deleteEventTimeTimer(long time) {
        eventTimers.remove(time, window);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <S extends State> S getPartitionedState(StateDescriptor<S, ?> descriptor) {
        return (S) new OneState(descriptor);
    }

    @Override
    public <S extends MergingState<?, ?>> void mergePartitionedState(StateDescriptor<S, ?> descriptor) {
        OneState target = new OneState(descriptor);
        for (Window source : merged) {
            Object value = target.values.remove(source);
            if (value != null) {
                target.add(value);
            }
        }
    }

    /** A value for each window, reduced on adding if the descriptor says how. */
    private final class OneState implements ValueState<Object>, ReducingState<Object> {
        private final Map<Window, Object> values;
        private final ReduceFunction<Object> reduce;

        @SuppressWarnings("unchecked")
        OneState(StateDescriptor<?, ?> descriptor) {
            values = state.computeIfAbsent(descriptor.getName(), name -> new HashMap<>());
            reduce =
                    descriptor instanceof ReducingStateDescriptor
                            ? ((ReducingStateDescriptor<Object>) descriptor).getReduceFunction()
                            : null;
        }

        @Override
        public Object value() {
            return values.get(window);
        }

        @Override
        public Object get() {
            return values.get(window);
        }

        @Override
        public void update(Object value) {
            values.put(window, value);
        }

        @Override
        public void add(Object value) {
            Object current = values.get(window);
            try {
                values.put(window, current == null ? value : reduce.reduce(current, value));
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        }

        @Override
        public void clear() {
            values.remove(window);
        }
    }
}
