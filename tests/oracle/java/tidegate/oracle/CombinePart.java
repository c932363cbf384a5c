package tidegate.oracle;

import java.util.ArrayList;
import java.util.List;

import org.apache.flink.api.common.eventtime.IndexedCombinedWatermarkStatus;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/**
 * The valve's steps on the combination of several inputs.
 *
 * <p>The class only says whether the combined watermark or idleness changed. The result names the changes in the order
 * in which an operator announces them: active, watermark, idle.
 */
final class CombinePart implements Part {
    private final IndexedCombinedWatermarkStatus combined;

    CombinePart(JsonNode script) {
        combined = IndexedCombinedWatermarkStatus.forInputsCount(script.get("channels").asInt());
    }

    @Override
    public Object step(JsonNode step) {
        int input = step.get(1).asInt();
        boolean wasIdle = combined.isIdle();
        boolean grew =
                step.get(0).asText().equals("watermark")
                        ? combined.updateWatermark(input, step.get(2).asLong())
                        : combined.updateStatus(input, step.get(0).asText().equals("idle"));
        List<Object> changes = new ArrayList<>();
        if (wasIdle && !combined.isIdle()) {
            changes.add("active");
        }
        if (grew) {
            changes.add(combined.getCombinedWatermark());
        }
        if (!wasIdle && combined.isIdle()) {
            changes.add("idle");
        }
        return changes;
    }
}
