"""Containers known at compile time stay as they are in run-time code; large ones are looked at twice only."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import CompileError, Comptime, Float32, Int, Kernel, Pointer, kernel, unroll
from weft.compiler.frontend import containers
from weft.compiler.pipeline import elaborate_kernel
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.lang.spec import StaticSpec


def compiled(of: Kernel[...], /, **comptime: Any) -> str:
    specs = {
        p.name: StaticSpec(comptime[p.name]) if p.comptime else spec_of_annotation(p.annotation)
        for p in parameters(of.definition)
    }
    return elaborate_kernel(of, specs, "sm_90").ir()


@kernel
def looks_up(x: Pointer[Float32], n: Int, *, size: Comptime[int]):
    table = [float(i) for i in range(size)]
    nested = {"rows": [list(range(size)), list(range(3))]}
    for i in unroll(range(8)):
        if n > i:
            x[i] = table[i] + nested["rows"][0][i]


@kernel
def changes(x: Pointer[Float32], n: Int, *, made: Comptime[Any], change: Comptime[Any]):
    table = made()
    if n > 1:
        change(table)
    x[0] = 1.0


def _append(table: list[int]) -> None:
    table.append(1)


def _replace(table: list[Any]) -> None:
    table[1] = True


def _deep(table: list[list[int]]) -> None:
    table[-1][0] = 7


def _enter(table: dict[int, int]) -> None:
    table[5] = -5


def _write(table: Any) -> None:
    table[3] = 9


def _rows(n: int) -> list[list[int]]:
    return [[0] for _ in range(n)]


def _long_rows(n: int) -> list[list[int]]:
    return [[0] * n, [0] * n]


def _dict(n: int) -> dict[int, int]:
    return dict.fromkeys(range(n), 0)


def _array(n: int) -> npt.NDArray[np.int64]:
    return np.zeros(n, np.int64)


def _list(n: int) -> list[int]:
    return [*range(n)]


@pytest.mark.parametrize("size", [8, 1000, 100_000])
@pytest.mark.parametrize(
    ("make", "change"),
    [
        (_list, _append),
        (_list, _replace),
        (_rows, _deep),
        (_long_rows, _deep),
        (_dict, _enter),
        (_array, _write),
    ],
)
def test_a_change_is_refused_however_large_it_is(size: int, make: Any, change: Any) -> None:
    with pytest.raises(CompileError, match=r"exists at compile time only|items, changes"):
        compiled(changes, made=lambda: make(size), change=change)


def test_what_stays_is_taken() -> None:
    assert compiled(looks_up, size=8) == compiled(looks_up, size=100_000)


@pytest.mark.parametrize("size", [8, 50_000])
def test_a_container_is_copied_once(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the number of branches."""
    copied: list[int] = []
    note = containers.__dict__["_note"]

    def counted(name: str, value: Any, out: Any, *rest: Any) -> int:
        before = len(out)
        found: int = note(name, value, out, *rest)
        copied.extend(len(value) for _, value, _ in out[before:])
        return found

    monkeypatch.setattr(containers, "_note", counted)
    compiled(looks_up, size=size)
    assert max(copied) == size
    assert copied.count(size) <= 4  # the table, the rows


@kernel
def changes_between(x: Pointer[Float32], n: Int, *, late: Comptime[bool]):
    table = [1]
    rows = [[1]]
    if n > 1:
        x[0] = float(table[0])
    table.append(2)
    rows[0].append(2)
    if n > 2:
        x[1] = float(len(table) + len(rows[0]))
        if late:
            rows[0].append(3)
    x[2] = float(len(rows[0]))


def test_what_changes_between_branches_is_looked_at_again() -> None:
    assert "4.0" in compiled(changes_between, late=False)
    with pytest.raises(CompileError, match="this run-time `if` changes `rows`, a list"):
        compiled(changes_between, late=True)


NAMED: list[int] = []


def test_a_global_is_looked_at_too() -> None:
    @kernel
    def appends(x: Pointer[Float32], n: Int):
        if n > 1:
            NAMED.append(1)
        x[0] = float(len(NAMED))

    with pytest.raises(CompileError, match="changes `NAMED`, a list that exists at compile time only"):
        compiled(appends)
