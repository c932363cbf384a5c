import pytest

from tidegate.common import ConfigOption, ConfigOptions, Configuration
from tidegate.errors import InvalidTypeError, InvalidValueError


def test_setting_is_read_as_it_was_set() -> None:
    settings = Configuration()
    settings.set_string("s", "x").set_integer("i", 5).set_boolean("b", True).set_float("f", 1.5)
    settings.set_bytearray("y", bytearray(b"ab"))
    assert settings.get_string("s", "") == "x"
    assert settings.get_integer("i", 0) == 5
    assert settings.get_boolean("b", False) is True
    assert settings.get_float("f", 0.0) == 1.5
    assert settings.get_bytearray("y", bytearray()) == bytearray(b"ab")


def test_missing_setting_gives_the_default() -> None:
    settings = Configuration()
    assert settings.get_string("x", None) is None
    assert settings.get_integer("x", 7) == 7
    assert settings.get_boolean("x", True) is True
    assert settings.get_float("x", 0.5) == 0.5
    assert settings.get_bytearray("x", bytearray(b"d")) == bytearray(b"d")


def test_text_is_read_as_another_type() -> None:
    settings = Configuration.from_dict({"i": "1", "b": "TRUE", "f": "2.5"})
    assert settings.get_integer("i", 0) == 1
    assert settings.get_boolean("b", False) is True
    assert settings.get_float("f", 0.0) == 2.5


def test_text_that_cannot_be_read_is_refused() -> None:
    settings = Configuration.from_dict({"x": "often"})
    with pytest.raises(InvalidValueError, match="configuration 'x': cannot read 'often' as an integer"):
        settings.get_integer("x", 0)
    with pytest.raises(InvalidValueError, match="configuration 'x': cannot read 'often' as a number"):
        settings.get_float("x", 0.0)
    with pytest.raises(InvalidValueError, match="as a boolean; write true or false"):
        settings.get_boolean("x", False)
    with pytest.raises(InvalidValueError, match="configuration 'x': 'often' was not set by set_bytearray"):
        settings.get_bytearray("x", bytearray())


def test_setting_of_another_type_is_refused() -> None:
    settings = Configuration()
    with pytest.raises(InvalidTypeError, match="configuration 'x': expected int, got 'y'"):
        settings.set_integer("x", "y")  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match="configuration 'x': expected int, got True"):
        settings.set_integer("x", True)
    with pytest.raises(InvalidTypeError, match="configuration 'x': expected str, got None"):
        settings.set_string("x", None)  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match="configuration 'x': expected str, got 1"):
        Configuration.from_dict({"x": 1})  # type: ignore[dict-item]
    with pytest.raises(InvalidValueError, match="a key is text that is not empty, got ''"):
        settings.set_string("", "x")


def test_settings_as_text_and_as_set() -> None:
    settings = Configuration().set_integer("i", 5).set_boolean("b", True)
    target = {"other": 1}
    settings.add_all_to_dict(target)
    assert settings.to_dict() == {"i": "5", "b": "true"}
    assert target == {"other": 1, "i": 5, "b": True}


def test_settings_are_taken_over_under_a_prefix() -> None:
    settings = Configuration.from_dict({"a": "1"})
    settings.add_all(Configuration.from_dict({"b": "2"})).add_all(Configuration.from_dict({"c": "3"}), "p.")
    assert settings.key_set() == {"a", "b", "p.c"}


def test_removing_says_whether_there_was_a_setting() -> None:
    settings = Configuration.from_dict({"a": "1"})
    assert settings.contains_key("a")
    assert settings.remove_config("a")
    assert not settings.remove_config("a")
    assert not settings.contains_key("a")


def test_copy_is_equal_and_independent() -> None:
    settings = Configuration.from_dict({"a": "1"})
    twin = Configuration(settings)
    assert twin == settings
    twin.set_string("a", "2")
    assert settings.get_string("a", "") == "1"
    assert twin != settings
    assert settings != {"a": "1"}
    assert repr(settings) == "Configuration({'a': '1'})"


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("a;b;c", ["a", "b", "c"]),
        ("[a, b]", ["a", "b"]),
        ('["a","b"]', ["a", "b"]),
        ("'a;b';c", ["a;b", "c"]),
        ("", []),
        ("[]", []),
        (None, []),
    ],
)
def test_list_value_is_cut_into_items(text: str | None, items: list[str]) -> None:
    assert Configuration.parse_list_value(text) == items


def test_option_reads_and_sets_with_its_type_and_default() -> None:
    retries = ConfigOptions.key("retries").int_type().default_value(3)
    settings = Configuration()
    assert settings.get(retries) == 3
    settings.set(retries, 5)
    assert settings.get(retries) == 5
    assert settings.get_string("retries", "") == "5"
    assert settings.get(ConfigOptions.key("name").string_type().no_default_value()) is None


def test_every_option_type_reads_text() -> None:
    settings = Configuration.from_dict({"x": "1", "b": "true"})
    builder = ConfigOptions.key("x")
    assert settings.get(builder.long_type().no_default_value()) == 1
    assert settings.get(builder.float_type().no_default_value()) == 1.0
    assert settings.get(builder.double_type().default_value(2)) == 1.0
    assert settings.get(ConfigOptions.key("b").boolean_type().default_value(False)) is True


def test_option_checks_its_key_and_default() -> None:
    assert ConfigOptions.key("a").string_type().default_value("x") == ConfigOption("a", "x", str)
    with pytest.raises(InvalidValueError, match=r"ConfigOptions\.key: expected text that is not empty, got ''"):
        ConfigOptions.key("").string_type().no_default_value()
    with pytest.raises(InvalidTypeError, match="option 'a': the default must be int, got 'x'"):
        ConfigOptions.key("a").int_type().default_value("x")  # type: ignore[arg-type]
