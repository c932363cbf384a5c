package tidegate.oracle;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/**
 * Runs scripts on Flink's classes: a script per line in, the results of its steps per line out.
 *
 * <p>A step that throws gives "error", and so does a script whose part cannot be built, in every step.
 */
public final class Main {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Main() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        BufferedWriter out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.write(JSON.writeValueAsString(run(JSON.readTree(line))));
            out.write('\n');
            out.flush();
        }
    }

    private static List<Object> run(JsonNode script) {
        List<Object> results = new ArrayList<>();
        Part part = null;
        try {
            part = part(script);
        } catch (Exception refused) {
            complain(script, refused);
        }
        for (JsonNode step : script.get("steps")) {
            try {
                results.add(part == null ? "error" : part.step(step));
            } catch (Exception error) {
                complain(step, error);
                results.add("error");
            }
        }
        return results;
    }

    private static void complain(JsonNode where, Exception error) {
        if (System.getenv("TIDEGATE_ORACLE_VERBOSE") != null) {
            System.err.println(where);
            error.printStackTrace();
        }
    }

    private static Part part(JsonNode script) throws Exception {
        String kind = script.get("kind").asText();
        switch (kind) {
            case "valve":
                return new ValvePart(script);
            case "combine":
                return new CombinePart(script);
            case "multiplexer":
                return new MultiplexerPart(script);
            case "generator":
                return new GeneratorPart(script);
            case "assigner":
                return new AssignerPart(script);
            case "merge":
                return new MergePart();
            case "merging_set":
                return new MergingSetPart();
            case "trigger":
                return new TriggerPart(script);
            case "timers":
                return new TimersPart(script);
            case "async_queue":
                return new QueuePart(script);
            case "evictor":
                return new EvictorPart(script);
            case "retry":
                return new RetryPart(script);
            case "alignment":
                return new AlignmentPart();
            default:
                throw new IllegalArgumentException("no such kind: " + kind);
        }
    }
}
