"""Types and layouts of parameters on the command line: ``weft inspect --type``, ``--layout``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from weft import CompileError, Float64, kernel, math
from weft.cli import main
from weft.compile import compile_info
from weft.gpu.host import DeviceContext
from weft.layout import Layout

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
def turned(t: LayoutTensor[T], u, w: Pointer[Float32] | None):
    t[1, 0] = T(u[0, 1]) if w is None else T(w[0])

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


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("--type T=Float64 --layout t=4,5 --type u=Int8 --layout u=4,5 --param w=None", "i8"),
        ("--type t=Float64 --layout t=4,5 --type u=LayoutTensor[Int8] --layout u=4,5 --type w=None", "i8"),
        ("--type t=LayoutTensor[Float64] --layout t=4,5 --type u=Int8 --layout u=4,5 --type w=None", "i8"),
        ("--type T=Float64 --layout t=4,5 --type u=Int8 --layout u=4,5 --type w=Pointer[Float32]", "f32"),
    ],
)
def test_a_type_and_a_layout_make_a_tensor(
    options: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "generic.py").write_text(GENERIC, encoding="utf-8")
    words = ["inspect", "generic.py:turned", "--emit", "ir", "-o", "out", *options.split()]
    assert main(words) == 0
    text = (tmp_path / "out").read_text(encoding="utf-8")
    assert "f64" in text
    assert [kind for kind in ("i8", "f32") if f"{kind}, " in text or f" {kind}" in text] == [found]


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ("--layout u=4,5", "write --type u=Float32, say"),
        ("--type u=LayoutTensor[Int8]", "write --layout u=480,640, say"),
    ],
)
def test_half_of_a_tensor(
    options: str,
    hint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "generic.py").write_text(GENERIC, encoding="utf-8")
    given = ["--type", "T=Float64", "--layout", "t=4,5", "--param", "w=None"]
    assert main(["inspect", "generic.py:turned", *given, *options.split()]) == 1
    assert hint in capsys.readouterr().err


def test_compile_info_takes_a_tensor_and_a_function() -> None:
    @kernel
    def k(t: Any, u: Any, f: Any):
        t[1, 0] = f(u[0, 1])

    def twice(x: Any) -> Any:
        return x * 2.0

    cpu = DeviceContext(api="cpu")
    tensor = cpu.enqueue_create_buffer(Float64, 6).tensor(Layout.row_major(2, 3))
    text = str(compile_info(k, tensor, tensor, twice, emission_kind="ir"))
    assert "arith.mulf" in text
    with pytest.raises(
        CompileError, match=r"found a Layout, allowed is a type[^!]*u=buffer.tensor\(layout\)"
    ):
        compile_info(k, t=tensor, u=Layout.row_major(2, 3), f=math.sqrt, emission_kind="ir")


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
