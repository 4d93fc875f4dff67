"""Bank conflicts against a model of the banks as queues, and layouts as pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import CompileError, Float16, Float32, Float64
from weft.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    conflicts,
    format_layout,
    layout_svg,
    make_layout,
    print_layout,
)
from weft.layout.banks import wavefronts


def cycles(addresses: list[int], size: int) -> int:
    """One word of each bank in a cycle, group of lanes by group of lanes, until nobody waits."""
    lanes = 32 if size <= 4 else 128 // size
    count = 0
    for first in range(0, len(addresses), lanes):
        queues: dict[int, set[int]] = {}
        for address in addresses[first : first + lanes]:
            for byte in range(address, address + size):
                queues.setdefault(byte // 4 % 32, set()).add(byte // 4)
        while any(queues.values()):
            for queue in queues.values():
                if queue:
                    queue.pop()
            count += 1
    return count


@given(st.sampled_from([1, 2, 4, 8, 16]), st.lists(st.integers(0, 300), min_size=1, max_size=32))
@settings(max_examples=100)
def test_wavefronts(size: int, places: list[int]) -> None:
    addresses = [place * size for place in places]
    assert wavefronts(addresses, size) == cycles(addresses, size)


# What an H200's counter of wavefronts said of loads by these lanes, in words of 4 bytes.
MEASURED: list[tuple[int, list[int], int]] = []


def test_known_patterns() -> None:
    square = Layout.row_major(32, 32)
    column, row = Layout.row_major(32, 1), Layout.row_major(1, 32)
    assert conflicts(square, row, Float32).ways == 1
    assert conflicts(square, column, Float32).ways == 32
    assert conflicts(square, column, Float16).ways == 16
    assert conflicts(square, column, Float64).wavefronts == 32 * 32
    assert conflicts(Layout((32, 32), (33, 1)), column, Float32).ways == 1
    swizzled = ComposedLayout(square, Swizzle(5, 0, 5))
    assert conflicts(swizzled, column, Float32).ways == conflicts(swizzled, row, Float32).ways == 1
    found = conflicts(swizzled, Layout.row_major(4, 8), Float32, vector=(1, 4))
    assert found.size == 4  # the swizzle parts the vectors
    found = conflicts(
        ComposedLayout(square, Swizzle(3, 2, 3)), Layout.row_major(4, 8), Float32, vector=(1, 4)
    )
    assert (found.size, found.least, found.ways) == (16, 4, 1)
    assert str(found) == "no bank conflicts: 8 accesses of 16 bytes a lane, 32 wavefronts (32 at best)"
    halves = conflicts(Layout.row_major(64, 64), Layout.row_major(64, 1), Float16, vector=(1, 8))
    assert (halves.ways, len(halves.accesses)) == (8, 16)


def test_tables() -> None:
    nested = make_layout(Layout((2, 2), (1, 8)), Layout(3, 2))
    rows = [re.findall(r"\d+", line)[1:] for line in format_layout(nested).splitlines()[2::2]]
    assert rows == [[str(nested(i, j)) for j in range(3)] for i in range(4)]
    owned = format_layout(Layout.col_major(4, 4), threads=Layout.row_major(2, 2))
    rows = [re.findall(r"T(\d)", line) for line in owned.splitlines()[2::2]]
    assert rows == [[str(i % 2 * 2 + j % 2) for j in range(4)] for i in range(4)]
    assert format_layout(Layout(3, 5)).splitlines()[2] == " 0  |  0 |  5 | 10 |"


def test_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = ComposedLayout(Layout.row_major(4, 8), Swizzle(2, 0, 3))
    file = tmp_path / "layout.svg"
    print_layout(layout, svg=file)
    assert capsys.readouterr().out == ""
    text = file.read_text()
    assert text == layout_svg(layout)
    shown = [int(n) for n in re.findall(r'fill="#000">(\d+)<', text)]
    assert shown == [layout(i, j) for i in range(4) for j in range(8)]
    hues = re.findall(r"hsl\((\d+)", layout_svg(layout, threads=Layout.row_major(4, 1)))
    assert [len(set(hues[8 * i : 8 * i + 8])) for i in range(4)] == [1] * 4
    assert len(set(hues)) == 4


def test_what_is_no_table() -> None:
    with pytest.raises(CompileError, match="is no table"):
        print_layout(Layout.row_major(2, 2, 2))
