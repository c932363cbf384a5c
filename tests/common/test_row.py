import copy
import pickle

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.common.row import Row, RowKind
from tidegate.core.key.hashing import stable_hash
from tidegate.errors import InvalidTypeError, InvalidValueError

PLAIN = st.integers() | st.text() | st.booleans() | st.none()
NAMED = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), PLAIN, min_size=1, max_size=5)


def test_positional_row_reads_by_position() -> None:
    row = Row(1, "a")
    assert (row[0], row[-1], row[0:1], list(row), len(row)) == (1, "a", [1], [1, "a"], 2)


def test_named_row_reads_by_position_item_and_attribute() -> None:
    row = Row(name="Alice", age=11)
    assert (row[0], row["age"], row.name) == ("Alice", 11, "Alice")


def test_row_of_names_makes_named_rows() -> None:
    person = Row("name", "age")
    assert person("Alice", 11) == Row(name="Alice", age=11)


def test_rows_made_by_a_row_of_names_have_its_kind() -> None:
    person = Row.of_kind(RowKind.DELETE, "name")
    assert person("Alice").get_row_kind() is RowKind.DELETE


@pytest.mark.parametrize("values", [(), ("Alice",), ("Alice", 11, 12)])
def test_row_of_names_refuses_another_number_of_values(values: tuple[object, ...]) -> None:
    with pytest.raises(InvalidValueError, match=r"<Row\('name', 'age'\)> makes rows of 2 values, got \d"):
        Row("name", "age")(*values)


def test_row_of_other_values_makes_no_rows() -> None:
    with pytest.raises(InvalidTypeError, match=r"<Row\(1\)> cannot make rows: only a row of names can"):
        Row(1)(2)


def test_positional_and_named_values_do_not_mix() -> None:
    with pytest.raises(InvalidValueError, match="give either values"):
        Row(1, name="a")


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (Row(1, "a"), "<Row(1, 'a')>"),
        (Row(), "<Row()>"),
        (Row(name="Al", age=11), "Row(name='Al', age=11)"),
        (Row("name", "age"), "<Row('name', 'age')>"),
    ],
)
def test_row_prints_as_in_pyflink(row: Row, text: str) -> None:
    assert repr(row) == str(row) == text


def test_contains_looks_for_names_and_for_values_where_there_are_none() -> None:
    assert "name" in Row(name="Al")
    assert "Al" not in Row(name="Al")
    assert "Al" in Row("Al")


def test_unknown_field_names_the_known_ones() -> None:
    row = Row(name="Al", age=11)
    with pytest.raises(InvalidValueError, match="no field 'x': the row has the fields name, age"):
        row["x"]
    with pytest.raises(InvalidValueError, match="no field 'x'"):
        row["x"] = 1
    with pytest.raises(InvalidValueError, match="no field 'x'"):
        row.get_fields_by_names(["age", "x"])
    with pytest.raises(AttributeError, match="Row has no field 'x'"):
        _ = row.x
    assert not hasattr(row, "x")


def test_row_without_names_says_so() -> None:
    with pytest.raises(InvalidValueError, match="no field 'x': the row has no field names"):
        Row(1)["x"]
    assert not hasattr(Row(1), "x")


def test_fields_change_by_item() -> None:
    row = Row(name="Al", age=11)
    row["age"] = 12
    row[0] = "Bo"
    assert row == Row(name="Bo", age=12)


def test_fields_do_not_change_by_attribute_or_slice() -> None:
    row = Row(name="Al")
    with pytest.raises(AttributeError, match=r"set by item: row\['name'\] = "):
        row.name = "Bo"
    with pytest.raises(InvalidTypeError, match="fixed number of fields"):
        row[0:1] = [1, 2]
    assert row.name == "Al"


def test_position_outside_the_row_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        Row(1)[5]


def test_named_rows_are_equal_whatever_the_order() -> None:
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert Row(a=1, b=2) != Row(b=1, a=2)
    assert Row(a=1) != Row(b=1)


def test_rows_differ_from_rows_of_another_shape_or_kind_and_from_tuples() -> None:
    assert Row(1, 2) != Row(a=1, b=2)
    assert Row(1) != Row(1, 2)
    assert Row(1) != Row.of_kind(RowKind.DELETE, 1)
    assert Row(1) != (1,)


@given(NAMED, st.randoms())
def test_equal_rows_have_equal_hashes(fields: dict[str, object], random: object) -> None:
    names = list(fields)
    random.shuffle(names)  # type: ignore[attr-defined]
    row = Row(**fields)
    other = Row(**{name: fields[name] for name in names})
    assert row == other
    assert hash(row) == hash(other)
    assert stable_hash(row) == stable_hash(other)


def test_stable_hash_of_a_row_without_names_follows_its_order() -> None:
    assert Row(2, 1).__stable_hash__() == (2, 1)
    assert Row(b=2, a=1).__stable_hash__() == (1, 2)


def test_row_with_an_unhashable_field_has_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Row([1]))


@given(NAMED, st.sampled_from(RowKind))
def test_named_row_survives_pickling(fields: dict[str, object], kind: RowKind) -> None:
    row = Row.of_kind(kind, **fields)
    for twin in (pickle.loads(pickle.dumps(row)), pickle.loads(cloudpickle.dumps(row)), copy.deepcopy(row)):
        assert twin == row
        assert repr(twin) == repr(row)


def test_row_of_names_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(Row("a", "b")))(1, 2) == Row(a=1, b=2)


def test_changing_a_copy_leaves_the_row_alone() -> None:
    row = Row(a=1)
    twin = copy.copy(row)
    twin["a"] = 2
    assert row.a == 1


def test_as_dict_goes_into_rows_lists_and_dicts_only_if_asked() -> None:
    row = Row(key=[Row(a=1)], inner={"x": Row(b=2)})
    assert row.as_dict() == {"key": [Row(a=1)], "inner": {"x": Row(b=2)}}
    assert row.as_dict(recursive=True) == {"key": [{"a": 1}], "inner": {"x": {"b": 2}}}


def test_as_dict_needs_names() -> None:
    with pytest.raises(InvalidTypeError, match=r"as_dict: <Row\(1\)> has no field names; name them"):
        Row(1).as_dict()


def test_fields_come_in_the_order_of_the_names_asked_for() -> None:
    assert Row(a=1, b=2).get_fields_by_names(["b", "a"]) == [2, 1]
    assert Row(1, 2).get_fields_by_names(["b", "a"]) == [1, 2]


def test_field_names_can_be_set() -> None:
    row = Row(1, 2)
    row.set_field_names(["a", "b"])
    assert row == Row(a=1, b=2)


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", 1]])
def test_field_names_must_be_as_many_and_different(names: list[str]) -> None:
    with pytest.raises(InvalidValueError, match="a row of 2 values needs 2 different names"):
        Row(1, 2).set_field_names(names)


def test_row_kind_is_insert_until_set() -> None:
    row = Row(1)
    assert row.get_row_kind() is RowKind.INSERT
    row.set_row_kind(RowKind.UPDATE_AFTER)
    assert row.get_row_kind() is RowKind.UPDATE_AFTER
    with pytest.raises(InvalidTypeError, match="set_row_kind: expected a RowKind"):
        row.set_row_kind("+I")  # type: ignore[arg-type]


def test_row_kinds_print_short() -> None:
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]
