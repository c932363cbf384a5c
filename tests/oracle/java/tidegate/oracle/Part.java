package tidegate.oracle;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** One of Flink's classes under a script. */
interface Part {
    /** Runs a step, `[verb, argument, ...]`, and returns what came of it: lists, numbers and strings. */
    Object step(JsonNode step) throws Exception;
}
