package org.apache.flink.runtime.source.coordinator;

import org.apache.flink.api.common.eventtime.Watermark;

/** Opens the aggregator of an alignment group, which only this package may make. */
public final class GroupMinimum {
    private final SourceCoordinator.WatermarkAggregator<Integer> aggregator =
            new SourceCoordinator.WatermarkAggregator<>();

    /** The lowest watermark of the group after a report. */
    public long report(int channel, long watermark) {
        aggregator.aggregate(channel, new Watermark(watermark));
        return aggregator.getAggregatedWatermark().getTimestamp();
    }
}
