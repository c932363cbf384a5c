package tidegate.oracle;

import org.apache.flink.runtime.source.coordinator.GroupMinimum;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** `[report, channel, time]`: the lowest watermark of an alignment group. */
final class AlignmentPart implements Part {
    private final GroupMinimum group = new GroupMinimum();

    @Override
    public Object step(JsonNode step) {
        return group.report(step.get(1).asInt(), step.get(2).asLong());
    }
}
