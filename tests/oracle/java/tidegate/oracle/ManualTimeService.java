package tidegate.oracle;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Delayed;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeServiceUtil;
import org.apache.flink.util.clock.Clock;
import org.apache.flink.util.clock.ManualClock;

/** A clock that moves when told to. Callbacks are due after the delay that Flink's own service gives them. */
final class ManualTimeService implements ProcessingTimeService {
    private final List<Call> calls = new ArrayList<>();
    private long now;

    long now() {
        return now;
    }

    /** Moves the clock on and runs every callback that is due, also those that the callbacks ask for. */
    void advanceTo(long time) throws Exception {
        now = time;
        for (Call call = nextDue(); call != null; call = nextDue()) {
            calls.remove(call);
            call.callback.onProcessingTime(call.timestamp);
        }
    }

    private Call nextDue() {
        Call next = null;
        for (Call call : calls) {
            if (call.due <= now && (next == null || call.timestamp < next.timestamp)) {
                next = call;
            }
        }
        return next;
    }

    @Override
    public ScheduledFuture<?> registerTimer(long timestamp, ProcessingTimeCallback callback) {
        long due = now + ProcessingTimeServiceUtil.getProcessingTimeDelay(timestamp, now);
        Call call = new Call(timestamp, due, callback);
        calls.add(call);
        return call;
    }

    @Override
    public Clock getClock() {
        return new ManualClock(TimeUnit.MILLISECONDS.toNanos(now));
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(ProcessingTimeCallback callback, long initial, long period) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(ProcessingTimeCallback callback, long initial, long period) {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Void> quiesce() {
        return CompletableFuture.completedFuture(null);
    }

    private final class Call extends CompletableFuture<Object> implements ScheduledFuture<Object> {
        private final long timestamp;
        private final long due;
        private final ProcessingTimeCallback callback;

        Call(long timestamp, long due, ProcessingTimeCallback callback) {
            this.timestamp = timestamp;
            this.due = due;
            this.callback = callback;
        }

        @Override
        public boolean cancel(boolean mayInterrupt) {
            return calls.remove(this);
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(due - now, TimeUnit.MILLISECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(getDelay(TimeUnit.MILLISECONDS), other.getDelay(TimeUnit.MILLISECONDS));
        }
    }
}
