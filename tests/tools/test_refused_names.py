"""Every name of PyFlink can be imported, or says why not; nothing else is on the list of refused names."""

import importlib

import pytest
from tools.flink_compatibility import names, tidegate_code

from tidegate import _refused
from tidegate.errors import UnsupportedImportError

PYFLINK = names.load()
BEYOND_THE_LIST = {"tidegate.fn_execution", "tidegate.java_gateway", "tidegate.table", "tidegate.util"}
"""Packages of PyFlink that are not about DataStreams."""


def names_of(module: names.PyFlinkModule) -> list[str]:
    classes = [name for name in module.classes if "." not in name]
    return [*classes, *module.functions, *module.constants, *module.reexports]


@pytest.mark.parametrize("module", PYFLINK.modules.values(), ids=lambda module: module.name)
def test_a_name_of_pyflink_is_there_or_says_why_not(module: names.PyFlinkModule) -> None:
    path = module.name.replace("pyflink", "tidegate", 1)
    try:
        found = importlib.import_module(path)
    except UnsupportedImportError:
        return
    missing = []
    for name in names_of(module):
        try:
            if not hasattr(found, name):
                missing.append(name)
        except UnsupportedImportError:
            continue
    assert missing == []


def test_every_refused_module_is_one_of_pyflink() -> None:
    known = {name.replace("pyflink", "tidegate", 1) for name in PYFLINK.modules} | {"tidegate.datastream.formats"}
    assert _refused.MODULES.keys() - known == BEYOND_THE_LIST


@pytest.mark.parametrize("module", sorted(_refused.NAMES))
def test_every_refused_name_is_one_of_pyflink(module: str) -> None:
    known = names_of(PYFLINK.modules[module.replace("tidegate", "pyflink", 1)])
    assert [name for name in _refused.NAMES[module] if name not in known] == []


def test_the_page_gives_the_reason_of_the_error() -> None:
    assert tidegate_code.refused_import("pyflink.datastream.state_backend.StateBackend") == (
        "there is no choice of state backends"
    )
    inner = "pyflink.common.typeinfo.LocalTimeTypeInfo.TimeType"
    assert tidegate_code.refused_import(inner) == _refused.reason("tidegate.common.typeinfo", "LocalTimeTypeInfo")
    assert tidegate_code.refused_import("pyflink.datastream.DataStream.cache") is None
