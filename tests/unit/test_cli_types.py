"""Types and layouts of parameters on the command line: ``weft inspect --type``, ``--layout``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from weft.cli import main

GENERIC = """
from typing import TypeVar
from weft import SIMD, Comptime, Float32, Pointer, kernel
from weft.layout import LayoutTensor

T = TypeVar("T")
N = TypeVar("N", bound=int)

@kernel
def fill(x: Pointer[T], y, t: LayoutTensor, a: T, *, times: Comptime[int]):
    x[0] = a * times
    t[0, 0] = y[0]

@kernel
def sized(x: Pointer[SIMD[Float32, N]]):
    x[0] = x[0] * N
"""


def test_inspect_takes_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "generic.py").write_text(GENERIC, encoding="utf-8")
    of = ["--type", "T=Float64", "--type", "y=Pointer[Int8]", "--type", "t=Int", "--layout", "t=2,3"]
    out = ["--emit", "ir", "-o", "out"]
    assert main(["inspect", "generic.py:fill", *out, "--param", "times=3", *of]) == 0
    text = (tmp_path / "out").read_text(encoding="utf-8")
    assert ("f64" in text, "i8" in text, "f32" in text) == (True, True, False)
    assert main(["inspect", "generic.py:sized", *out, "--type", "x=Pointer[SIMD[Float32, 8]]"]) == 0
    assert "vector<8xf32>" in (tmp_path / "out").read_text(encoding="utf-8")
    assert main(["inspect", "generic.py:fill"]) == 1
    error = capsys.readouterr().err
    for option in ("--type T=Float32", "--type 'y=", "--layout t=", "--param times=2"):
        assert f"write {option}" in error
    assert "4 errors" in error


def test_types_of_what_has_one_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "typed.py"
    file.write_text(
        "from weft import Float32, Int, Pointer, kernel\n\n\n"
        "@kernel\ndef k(x: Pointer[Float32], n: Int, y):\n    x[n] = Float32(y)\n"
    )
    words = ["inspect", f"{file}:k", "--emit", "ir", "--type", "y=Float32"]
    assert main([*words, "--type", "n=Int"]) == 0
    assert main([*words, "--type", "n=Float32"]) == 1
    assert "--type n=Float32: `n` is annotated Int" in capsys.readouterr().err
    assert main([*words, "--type", "x=Pointer[Int]"]) == 1
