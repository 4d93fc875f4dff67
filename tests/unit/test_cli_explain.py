"""``weft explain``."""

from __future__ import annotations

import re

import pytest

from weft.cli import main
from weft.diagnostics.explain import GROUPS


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "int-division"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("int-division: `/` between integers\n\n")
    assert "\n    error[int-division]: `/` of integers" in printed
    assert "```" not in printed
    assert main(["explain", "error[int-division]"]) == 0
    assert capsys.readouterr().out == printed


def test_explain_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^  int-division +`/` between integers$", printed, re.MULTILINE)
    for name, _ in GROUPS.values():
        assert f"{name}\n" in printed


def test_explain_of_no_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "barrier"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "error[unknown-code]: no message has the code barrier",
        "  = note: of this speak barrier-diverged, barrier-return",
        "  = help: did you mean barrier-return?",
    ]
    assert main(["explain", "../text/host-only"]) == 1
    assert main(["explain", "qqqq"]) == 1
    assert "= help: `weft explain` lists all codes" in capsys.readouterr().err
