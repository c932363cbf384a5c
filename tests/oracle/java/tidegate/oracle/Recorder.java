package tidegate.oracle;

import java.util.ArrayList;
import java.util.List;

import org.apache.flink.runtime.event.WatermarkEvent;
import org.apache.flink.streaming.api.operators.Output;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.io.PushingAsyncDataInput.DataOutput;
import org.apache.flink.streaming.runtime.streamrecord.LatencyMarker;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributes;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.util.OutputTag;

/** Keeps what comes out: a watermark as its number, a status as a word, a record as `[value, timestamp]`. */
final class Recorder implements Output<StreamRecord<Object>>, DataOutput<Object> {
    private List<Object> items = new ArrayList<>();

    List<Object> take() {
        List<Object> taken = items;
        items = new ArrayList<>();
        return taken;
    }

    @Override
    public void emitWatermark(Watermark watermark) {
        items.add(watermark.getTimestamp());
    }

    @Override
    public void emitWatermarkStatus(WatermarkStatus status) {
        items.add(status.isIdle() ? "idle" : "active");
    }

    @Override
    public void collect(StreamRecord<Object> record) {
        items.add(List.of(record.getValue(), record.getTimestamp()));
    }

    @Override
    public void emitRecord(StreamRecord<Object> record) {
        collect(record);
    }

    @Override
    public <X> void collect(OutputTag<X> tag, StreamRecord<X> record) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void emitLatencyMarker(LatencyMarker marker) {}

    @Override
    public void emitRecordAttributes(RecordAttributes attributes) {}

    @Override
    public void emitWatermark(WatermarkEvent event) {}

    @Override
    public void close() {}
}
