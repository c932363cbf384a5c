"""The page of PyFlink's names is what the code says, and nothing on it is guessed."""

import doctest
import fnmatch
from types import ModuleType
from typing import Any

import pytest
from tools.flink_compatibility import (
    beyond,
    build_table,
    comparison,
    defects,
    names,
    render,
    signatures,
    tidegate_code,
    verdicts,
)
from tools.flink_compatibility.signatures import differences, further_arguments, is_for_users
from tools.flink_compatibility.verdicts import Answer, Verdict, Verdicts

PYFLINK = names.load()


def small_list(*members: str, constructor: str = "()", cls: str = "OutputTag") -> names.PyFlinkNames:
    """One class of `pyflink.datastream`, with methods that take `(value)`."""
    module = "pyflink.datastream"
    methods = {name: names.Member(name, "method", "(value)") for name in members}
    classes = {cls: names.PyFlinkClass(module, cls, constructor, (), methods)}
    return names.PyFlinkNames("test", {module: names.PyFlinkModule(module, classes, {}, {}, {})})


def compare(pyflink: names.PyFlinkNames, said: dict[str, Verdict] | None = None) -> comparison.Comparison:
    done = comparison.Comparison(pyflink, Verdicts(dict(said or {})))
    done.run()
    return done


def test_the_page_is_what_the_code_says() -> None:
    assert build_table.PAGE.read_text(encoding="utf-8") == build_table.build(), (
        "the public names changed; run: .venv/bin/python -m tools.flink_compatibility.build_table"
    )


def test_the_page_is_the_same_every_time() -> None:
    assert build_table.build() == build_table.build()


def test_checking_a_current_page_succeeds_and_writes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(build_table, "PAGE", tmp_path / "page.md")
    assert build_table.main(["--check"]) == 1
    assert not build_table.PAGE.exists()
    assert build_table.main([]) == 0
    assert build_table.main(["--check"]) == 0


def test_every_verdict_is_about_a_name_that_pyflink_has() -> None:
    known = [path.removeprefix("pyflink.") for path in PYFLINK.paths()]
    stale = [pattern for pattern in verdicts.load().by_pattern if not fnmatch.filter(known, pattern)]
    assert stale == []


def test_every_verdict_gives_a_reason() -> None:
    assert [pattern for pattern, verdict in verdicts.load().by_pattern.items() if not verdict.remark.strip()] == []


@pytest.mark.parametrize("defect", defects.load(), ids=lambda defect: defect.test_name)
def test_every_defect_is_pinned_by_a_test_that_exists(defect: defects.Defect) -> None:
    assert defect.problem() is None


def test_a_defect_without_its_test_is_found() -> None:
    assert defects.Defect("", "", "tests/none.py::test_x").problem() == "tests/none.py::test_x: there is no such file"
    gone = "tests/tools/test_flink_compatibility.py::test_that_nobody_wrote"
    assert defects.Defect("", "", gone).problem() == f"{gone}: the file has no such test"


def test_a_missing_name_without_a_verdict_is_reported() -> None:
    assert compare(small_list("fly")).problems == [
        "pyflink.datastream.OutputTag.fly: missing, and verdicts.yaml does not say why"
    ]
    assert compare(small_list(cls="Submarine")).problems == [
        "pyflink.datastream.Submarine: missing, and verdicts.yaml does not say why"
    ]


def test_a_missing_name_without_a_verdict_fails_the_build(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    monkeypatch.setattr(build_table, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(verdicts, "load", lambda: Verdicts({}))
    assert build_table.main([]) == 1
    assert "pyflink.datastream.data_stream.KeyedStream.AccumulateType: missing" in capsys.readouterr().err
    assert not build_table.PAGE.exists()


def test_a_class_that_takes_no_type_arguments_differs() -> None:
    generic = names.PyFlinkClass("pyflink.datastream", "OutputTag", None, (), {}, type_parameters=2)
    module = names.PyFlinkModule("pyflink.datastream", {"OutputTag": generic}, {}, {}, {})
    done = comparison.Comparison(names.PyFlinkNames("test", {module.name: module}), Verdicts({}))
    [rows] = done.run()
    expected = Verdict(Answer.DIFFERS, "cannot be written with type arguments, as `OutputTag[A, B]`")
    assert rows.classes[0].row.verdict == expected


def test_a_verdict_about_the_constructor_leaves_the_rest_to_the_code() -> None:
    said = {"datastream.OutputTag.__init__": Verdict(Answer.YES, "handed out")}
    done = comparison.Comparison(small_list(constructor="(other)"), Verdicts(said))
    [rows] = done.run()
    assert rows.classes[0].row.verdict == comparison.YES
    assert done.problems == []


def test_a_verdict_that_denies_what_the_code_has_is_reported() -> None:
    said = {"datastream.OutputTag": Verdict(Answer.NO, "not wanted")}
    assert compare(small_list(constructor="(tag_id, type_info=None)"), said).problems == [
        "pyflink.datastream.OutputTag: verdicts.yaml says no, and the code has it"
    ]


def test_a_verdict_about_nothing_is_reported() -> None:
    said = {"datastream.Sub*": Verdict(Answer.NO, "too deep")}
    assert compare(small_list(constructor="(tag_id, type_info=None)"), said).problems == [
        "datastream.Sub*: fits no PyFlink name that needs it"
    ]


def test_the_longest_pattern_decides() -> None:
    said = Verdicts(
        {
            "a.*": Verdict(Answer.NO, "short"),
            "a.b.*": Verdict(Answer.NO, "long"),
            "a.b.c": Verdict(Answer.DIFFERS, "exact"),
        }
    )
    remarks = [verdict.remark for path in ("pyflink.a.x", "pyflink.a.b.x", "pyflink.a.b.c")
               if (verdict := said.of_missing(path))]  # fmt: skip
    assert remarks == ["short", "long", "exact"]
    assert said.of_missing("pyflink.x") is None


def test_a_no_for_many_names_leaves_those_alone_that_are_there() -> None:
    said = Verdicts({"a.*": Verdict(Answer.NO, "missing")})
    assert said.of_existing("pyflink.a.b") is None


@pytest.mark.parametrize(
    ("pyflink", "tidegate", "found"),
    [
        ("(a, b=None)", "(a, b=None)", []),
        ("(a)", "(a, b=None, *, c=1)", []),
        ("(a)", "(a=0)", []),
        ("(*args, **kwargs)", "(*args, **kwargs)", []),
        ("(a)", "(*args, **kwargs)", []),
        ("(a)", "(b)", ["no argument `a`", "needs `b`"]),
        ("(a)", "(a, b)", ["needs `b`"]),
        ("(a=1)", "(a)", ["`a` must be given"]),
        ("(a=1)", "(a=2)", ["default of `a` is `2`, not `1`"]),
        ("(a)", "(*, a)", ["`a` only by name"]),
        ("(a, b)", "(b, a)", ["arguments in the order `b`, `a`"]),
        ("(*args)", "(a=None)", ["no `*args`"]),
    ],
)
def test_signatures_are_compared_by_the_calls_they_understand(pyflink: str, tidegate: str, found: list[str]) -> None:
    assert differences(pyflink, tidegate) == found


def test_arguments_for_java_objects_are_left_out() -> None:
    assert differences("(size=None, j_window=None)", "(size=None)") == []
    assert is_for_users("(size=None, j_window=None)")
    assert not is_for_users("(j_window)")


def test_further_arguments_are_found() -> None:
    assert further_arguments("(a)", "(a, b=None, *, c=1, **rest)") == ["b", "c"]


def test_a_refused_method_says_why_in_the_words_of_its_error() -> None:
    from tidegate.datastream import DataStream

    assert tidegate_code.refusal(DataStream.cache) is not None
    assert tidegate_code.refusal(DataStream.map) is None


def test_a_method_without_effect_says_so_in_its_docstring() -> None:
    from tidegate.datastream import DataStream

    assert tidegate_code.without_effect(DataStream.disable_chaining) == "chaining does not change results"
    assert tidegate_code.without_effect(DataStream.map) is None


def test_names_beyond_pyflink_are_found_in_the_code() -> None:
    found = {name for new in beyond.new_names(PYFLINK, ()) for name in new.names}
    assert found >= {"DeltaTrigger", "ProcessingTimeoutTrigger", "WindowStagger", "OneInputHarness", "Evictor"}
    members = {(new.class_name, method) for new in beyond.new_members(PYFLINK, ()) for method in new.methods}
    assert members >= {
        ("WatermarkStrategy", "for_generator"),
        ("KeyedStream", "interval_join"),
        ("DataStream", "join"),
        ("DataStream", "co_group"),
        ("DataStream", "count_window_all"),
        ("WindowedStream", "evictor"),
        ("StreamExecutionEnvironment", "socket_text_stream"),
        ("ProcessWindowFunction.Context", "output"),
        ("Sink", "write_watermark"),
    }


def test_nothing_beyond_pyflink_is_a_name_that_pyflink_has() -> None:
    known = {path.rpartition(".")[2] for path in PYFLINK.paths()}
    more = [new for new in beyond.new_names(PYFLINK, ()) if new.module not in beyond.MORE_MODULES]
    assert [name for new in more for name in new.names if name in known] == []


@pytest.mark.parametrize("module", [names, render, signatures], ids=lambda module: str(module.__name__))
def test_examples_in_the_tools_run(module: ModuleType) -> None:
    results = doctest.testmod(module)
    assert results.failed == 0
    assert results.attempted > 0
