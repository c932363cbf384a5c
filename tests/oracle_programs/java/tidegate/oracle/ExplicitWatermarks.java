package tidegate.oracle;

import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.types.Row;

/** Rows whose first field is their timestamp, and whose second one is the watermark that follows them, or null. */
public final class ExplicitWatermarks {
    private ExplicitWatermarks() {}

    public static WatermarkStrategy<Row> strategy() {
        return WatermarkStrategy.<Row>forGenerator(context -> new FromElement())
                .withTimestampAssigner((row, previous) -> (Long) row.getField(0));
    }

    private static final class FromElement implements WatermarkGenerator<Row> {
        @Override
        public void onEvent(Row row, long timestamp, WatermarkOutput output) {
            Long watermark = (Long) row.getField(1);
            if (watermark != null) {
                output.emitWatermark(new Watermark(watermark));
            }
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {}
    }
}
