"""Variables that nothing reads: which are warned of, and which are not."""
# ruff: noqa: F841
# pyright: reportUnusedVariable=false

from __future__ import annotations

import warnings
from typing import Any

import weft.math
from weft import Comptime, Float32, Float64, Int, Int32, Kernel, Pointer, func, kernel
from weft.atomic import Atomic
from weft.compile import compile_info
from weft.gpu import global_idx
from weft.layout import Layout
from weft.memory import stack_allocation


def codes_of(fn: Kernel[...], target: str, **types: Any) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [d.code for d in compile_info(fn, target=target, emission_kind="ir", **types).warnings]


@func
def stored(x: Pointer[Float32], value: Float32) -> Float32:
    x[0] = value
    return value


@kernel
def forgotten(x: Pointer[Float32], n: Int):
    i = global_idx.x
    above = x[i] + 1
    count = 0
    typed: Float32 = weft.math.sqrt(x[i])
    total = Float32(x[0])
    for k in range(n):
        last = k
        count += 1
        total += x[k]
    one = two = abs(n)

    def inner(v: Float32) -> Float32:
        held = v
        return v

    x[i] = inner(x[i]) + two


@func
def unread_too(x: Float32) -> Float32:
    twice = 2 * x
    return x


@kernel
def calls_unread(x: Pointer[Float32], y: Pointer[Float64]):
    x[0] = unread_too(x[0])
    x[1] = unread_too(x[1])


def test_variables_that_nothing_reads() -> None:
    for target in ("native", "sm_90"):
        assert codes_of(forgotten, target) == ["unused-variable"] * 7
        assert codes_of(calls_unread, target) == ["unused-variable"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compile_info(forgotten, target="sm_90", emission_kind="ir").warnings
    names = [d.message.split("`")[1] for d in found]
    assert sorted(names) == ["above", "count", "held", "last", "one", "total", "typed"]
    places = {name: d.location for name, d in zip(names, found, strict=True)}
    first = forgotten.definition.line + 1
    assert {n: p.line - first for n, p in places.items() if p} == {
        "above": 2, "count": 3, "typed": 4, "total": 5, "last": 7, "one": 10, "held": 13
    }  # fmt: skip


DEBUG = False


@kernel
def all_read(x: Pointer[Float32], count: Pointer[Int32], n: Int, size: Comptime[int]):
    i = global_idx.x
    old = Atomic.fetch_add(count, Int32(1))
    done = stored(x, Float32(1.0))
    memory = stack_allocation(Float32, Layout.row_major(2))
    first, second = x[0], x[1]
    _spare = x[i]
    shown, factor = x[i] * 2.0, x[1]
    offset = i + 1
    taken = x[2]
    if DEBUG:
        print(f"{shown}")
        x[0] = taken
    if size == 3:
        x[1] = factor
    n = 4
    row = [x[0], x[1]]
    held = row
    held += [x[2]]
    gone = x[3]
    del gone
    kind = Float32
    typed: "kind" = x[0]  # noqa: UP037
    x[7] = typed
    hits = 0

    def hit() -> None:
        nonlocal hits
        hits = 5
        x[3] = Float32(offset)

    hit()
    x[4] = row[0]
    quiet = x[5]  # weft: ignore[unused-variable]


def test_variables_that_are_read_or_meant() -> None:
    for target in ("native", "sm_90"):
        assert codes_of(all_read, target, size=3) == codes_of(all_read, target, size=4) == []
