package tidegate.oracle;

import java.util.ArrayList;
import java.util.List;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.functions.async.AsyncRetryStrategy;
import org.apache.flink.streaming.util.retryable.AsyncRetryStrategies;

/**
 * `[can, attempts]`, `[delay, attempts]` and `[delays, attempts]` (those of one request from its first retry on) on a
 * retry strategy.
 */
final class RetryPart implements Part {
    private final AsyncRetryStrategy<Object> strategy;

    RetryPart(JsonNode script) {
        int attempts = script.get("attempts").asInt();
        long delay = script.get("delay").asLong();
        strategy =
                script.get("strategy").asText().equals("fixed")
                        ? new AsyncRetryStrategies.FixedDelayRetryStrategyBuilder<Object>(attempts, delay).build()
                        : new AsyncRetryStrategies.ExponentialBackoffDelayRetryStrategyBuilder<Object>(
                                        attempts,
                                        delay,
                                        script.get("limit").asLong(),
                                        script.get("multiplier").asDouble())
                                .build();
    }

    @Override
    public Object step(JsonNode step) {
        int attempts = step.get(1).asInt();
        if (step.get(0).asText().equals("can")) {
            return strategy.canRetry(attempts);
        }
        if (step.get(0).asText().equals("delay")) {
            return strategy.getBackoffTimeMillis(attempts);
        }
        List<Long> delays = new ArrayList<>();
        for (int attempt = 1; attempt <= attempts; attempt++) {
            delays.add(strategy.getBackoffTimeMillis(attempt));
        }
        return delays;
    }
}
