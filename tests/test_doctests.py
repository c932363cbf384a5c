"""Every example in a docstring runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tidegate

_MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(tidegate.__path__, "tidegate.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", ["tidegate", *_MODULES])
def test_examples_in_docstrings_run(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0
