package org.apache.flink.streaming.api.operators;

import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSetFactory;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;
import org.apache.flink.streaming.runtime.tasks.StreamTaskCancellationContext;

/** Makes Flink's timer service, whose constructor only this package may call. */
public final class TimerServices {
    private static final int KEY_GROUPS = 8;

    private TimerServices() {}

    /** A started service on heap queues, with text for keys and namespaces. */
    public static InternalTimerServiceImpl<String, String> create(
            KeyContext keys, ProcessingTimeService clock, Triggerable<String, String> target) {
        KeyGroupRange range = new KeyGroupRange(0, KEY_GROUPS - 1);
        HeapPriorityQueueSetFactory queues = new HeapPriorityQueueSetFactory(range, KEY_GROUPS, 16);
        TimerSerializer<String, String> serializer =
                new TimerSerializer<>(StringSerializer.INSTANCE, StringSerializer.INSTANCE);
        InternalTimerServiceImpl<String, String> service =
                new InternalTimerServiceImpl<>(
                        UnregisteredMetricGroups.createUnregisteredTaskMetricGroup().getIOMetricGroup(),
                        range,
                        keys,
                        clock,
                        queues.create("clock", serializer),
                        queues.create("event", serializer),
                        StreamTaskCancellationContext.alwaysRunning());
        service.startTimerService(StringSerializer.INSTANCE, StringSerializer.INSTANCE, target);
        return service;
    }
}
