"""Classes of anybody's carry marks by which errors say what to write; the compiler knows none by its name."""

from __future__ import annotations

import re
from typing import Any

import pytest

from weft import CompileError, Float32, Pointer, kernel
from weft.compile import compile_info
from weft.diagnostics.instead import instead


@instead(
    {
        "@": "write outer({}, other)",
        "+": "write joined({}, other)",
        "+list": "make one of it: {kind}(...)",
        "<": "compare their norms",
        "[]": "write {}.part(i)",
        "[]=": "write {}.insert(i, x)",
        "()": "write {}.at(x)",
        "mean": "write mean_of({})",
        "math.": "write {}.map({name})",
        "keepdims=": "leave it out",
    }
)
class Wedge:
    def sum(self) -> float:
        return 0.0


class Blade(Wedge):
    """Says what its base says."""


wedge, blade = Wedge(), Blade()


@kernel
def _product(x: Pointer[Float32]):
    x[0] = wedge @ blade  # pyright: ignore


@kernel
def _sum(x: Pointer[Float32]):
    x[0] = blade + wedge  # pyright: ignore


@kernel
def _listed(x: Pointer[Float32]):
    x[0] = [1.0] + blade  # pyright: ignore


@kernel
def _less(x: Pointer[Float32]):
    x[0] = wedge < blade  # pyright: ignore


@kernel
def _part(x: Pointer[Float32]):
    x[0] = wedge[0]  # pyright: ignore


@kernel
def _put(x: Pointer[Float32]):
    blade[0] = 1.0  # pyright: ignore


@kernel
def _called(x: Pointer[Float32]):
    wedge(x[0])  # pyright: ignore


@kernel
def _named(x: Pointer[Float32]):
    x[0] = blade.mean()  # pyright: ignore


@kernel
def _mathematics(x: Pointer[Float32]):
    x[0] = blade.sqrt()  # pyright: ignore


@kernel
def _argument(x: Pointer[Float32]):
    x[0] = wedge.sum(keepdims=True)  # pyright: ignore


SAID: list[tuple[Any, str]] = [
    (_product, "write outer(wedge, other)"),
    (_sum, "write joined(blade, other)"),
    (_listed, "make one of it: Blade(...)"),
    (_less, "compare their norms"),
    (_part, "write wedge.part(i)"),
    (_put, "write blade.insert(i, x)"),
    (_called, "write wedge.at(x)"),
    (_named, "write mean_of(blade)"),
    (_mathematics, "write blade.map(sqrt)"),
    (_argument, "leave it out"),
]


@pytest.mark.parametrize(("wrong", "text"), SAID, ids=[text for _, text in SAID])
def test_what_a_class_says(wrong: Any, text: str) -> None:
    with pytest.raises(CompileError, match=f"(?s)test_instead.*help: {re.escape(text)}$"):
        compile_info(wrong, target="cpu", emission_kind="ir")
