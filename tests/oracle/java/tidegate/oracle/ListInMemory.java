package tidegate.oracle;

import java.util.ArrayList;
import java.util.List;

import org.apache.flink.api.common.state.ListState;

/** A list state without a backend. */
final class ListInMemory<T> implements ListState<T> {
    private final List<T> values = new ArrayList<>();

    @Override
    public Iterable<T> get() {
        return new ArrayList<>(values);
    }

    @Override
    public void add(T value) {
        values.add(value);
    }

    @Override
    public void update(List<T> replacement) {
        values.clear();
        values.addAll(replacement);
    }

    @Override
    public void addAll(List<T> added) {
        values.addAll(added);
    }

    @Override
    public void clear() {
        values.clear();
    }
}
