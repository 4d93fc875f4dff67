"""Where threads are the hardware's, what is known is not computed again, as far as it reaches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from weft import SIMD, Float32, Int, Pointer, kernel, unroll
from weft.compile import compile_info
from weft.compiler.ir.core import Value
from weft.compiler.pipeline import EmissionKind
from weft.gpu import global_idx
from weft.lang.spec import PartsSpec

four: Any = SIMD[Float32, 4]


def text(made: Any, kind: EmissionKind = "ir", target: str = "sm_90") -> str:
    return str(compile_info(made, target=target, emission_kind=kind))


def count(word: str, of: str) -> int:
    return len(re.findall(rf'"{word}"\(', of))


@kernel
def again(x: Pointer[Int], n: Int):
    x[n * 7 + 1] = 0
    if n > 3:
        x[n * 7 + 2] = 0
        if n > 5:
            x[n * 7 + 3] = 0


def test_a_product_is_made_once_and_reaches_into_branches() -> None:
    assert count("arith.muli", text(again)) == 1
    assert count("arith.muli", text(again, target="native")) == 3


@kernel
def apart(x: Pointer[Int], n: Int):
    if n > 3:
        x[n * 7] = 0
    else:
        x[n * 7] = 1
    for i in range(n):
        x[i + n * 7] = 2
    x[n * 7] = 3 if n > 9 else n * 5
    x[1] = n * 5


def test_what_a_branch_computes_is_not_known_behind_it() -> None:
    found = text(apart)
    assert count("arith.muli", found) == 6  # n * 7 in both branches, in the loop and behind it, n * 5 twice
    assert ".entry" in text(apart, "asm")


@kernel
def zeros(x: Pointer[Float32], y: Pointer[Int]):
    i = global_idx.x
    x[i] = x[i] * 0.0
    x[i + 1] = x[i + 1] * -0.0
    y[i] = 0


def test_the_two_zeros_are_two() -> None:
    found = re.findall(r'"arith.constant"\(\) <\{"value" = (-?0\.0) : f32', text(zeros))
    assert sorted(found) == ["-0.0", "0.0"]


@kernel
def lanes(x: Pointer[Float32], n: Int):
    v = four(x[0], x[1], x[2], x[3])
    v[1] = x[4]
    x[5] = v[0] + v[1] + v[3]
    x[6] = v[n]


@kernel
def parts(x: Pointer[Float32]):
    v = four(x[0], x[1], x[2], x[3])
    x[5] = v[0] + v[3]


def test_a_lane_that_was_put_in_is_taken_out_again() -> None:
    assert count("vector.extractelement", text(lanes)) == 1  # that of which run time knows the place
    assert count("vector.extractelement", text(parts)) == 0


def test_what_nobody_uses_is_not_lowered() -> None:
    assert count("vector.insertelement", text(parts)) > 0
    assert "insertelement" not in text(parts, "llvm")
    assert "insertelement" in text(lanes, "llvm")


@kernel
def sums(x: Pointer[Float32], n: Int):
    now = (Float32(0.0),) * 16
    for i in range(n):
        now = tuple([now[k] + x[i * 16 + k] for k in unroll(range(16))])
    for k in unroll(range(16)):
        x[k] = now[k]


def test_a_tuple_is_read_once_for_all_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    build = PartsSpec.build

    def counted(self: PartsSpec, leaves: Sequence[Value]) -> Any:
        built.append(len(leaves))
        return build(self, leaves)

    monkeypatch.setattr(PartsSpec, "build", counted)
    assert ".entry" in text(sums, "asm")
    assert built.count(16) == 2  # in the loop and behind it
