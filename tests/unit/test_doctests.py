"""The examples in the docstrings of public modules do what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import weft


def public_modules() -> list[str]:
    names = [info.name for info in pkgutil.walk_packages(weft.__path__, "weft.")]
    return ["weft", *(name for name in names if not any(part[0] == "_" for part in name.split(".")))]


@pytest.mark.parametrize("name", public_modules())
def test_module(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(name)
    if name == "weft.torch":
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    report: list[str] = []
    for example in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        runner.run(example, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
