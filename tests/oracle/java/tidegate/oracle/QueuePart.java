package tidegate.oracle;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.streaming.api.operators.TimestampedCollector;
import org.apache.flink.streaming.api.operators.async.queue.OrderedStreamElementQueue;
import org.apache.flink.streaming.api.operators.async.queue.StreamElementQueue;
import org.apache.flink.streaming.api.operators.async.queue.UnorderedStreamElementQueue;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamElement;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * `[put, id, timestamp]`, `[watermark, time]`, `[complete, id, [result, ...]]` and `[emit]` on a queue of requests.
 *
 * <p>Every result is `[what came out, how many are left]`; what does not fit gives "full" and is forgotten.
 */
final class QueuePart implements Part {
    private final StreamElementQueue<Object> queue;
    private final Recorder output = new Recorder();
    private final TimestampedCollector<Object> collector = new TimestampedCollector<>(output);
    private final Map<Integer, ResultFuture<Object>> requests = new HashMap<>();

    QueuePart(JsonNode script) {
        int capacity = script.get("capacity").asInt();
        queue =
                script.get("ordered").asBoolean()
                        ? new OrderedStreamElementQueue<>(capacity)
                        : new UnorderedStreamElementQueue<>(capacity);
    }

    @Override
    public Object step(JsonNode step) {
        switch (step.get(0).asText()) {
            case "put":
                int id = step.get(1).asInt();
                Optional<ResultFuture<Object>> request =
                        put(new StreamRecord<Object>(id, step.get(2).asLong()));
                request.ifPresent(future -> requests.put(id, future));
                return request.isPresent() ? left(List.of()) : "full";
            case "watermark":
                return put(new Watermark(step.get(1).asLong())).isPresent() ? left(List.of()) : "full";
            case "complete":
                ResultFuture<Object> future = requests.remove(step.get(1).asInt());
                List<Object> results = new ArrayList<>();
                step.get(2).forEach(result -> results.add(result.asLong()));
                if (future != null) {
                    future.complete(results);
                }
                return left(List.of());
            default:
                while (queue.hasCompletedElements()) {
                    queue.emitCompletedElement(collector);
                }
                return left(output.take());
        }
    }

    private Optional<ResultFuture<Object>> put(StreamElement element) {
        return queue.tryPut(element);
    }

    private List<Object> left(List<Object> emitted) {
        return List.of(emitted, queue.size());
    }
}
