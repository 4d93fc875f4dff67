"""Bank conflicts against a model of the banks as queues, and layouts as pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import CompileError, Float16, Float32, Float64
from weft.lang.banks import wavefronts
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


# What the counter of wavefronts of an H200 said of loads by these lanes: bytes of each, places, wavefronts.
MEASURED = [
    (
        4,
        [
            24,
            47,
            12,
            8,
            7,
            26,
            63,
            54,
            40,
            59,
            58,
            46,
            38,
            31,
            23,
            31,
            10,
            38,
            63,
            43,
            57,
            36,
            9,
            15,
            53,
            21,
            43,
            19,
            62,
            53,
            5,
            9,
        ],
        2,
    ),
    (
        4,
        [
            642,
            696,
            717,
            1017,
            934,
            140,
            191,
            552,
            970,
            133,
            124,
            634,
            912,
            582,
            790,
            710,
            46,
            945,
            727,
            344,
            239,
            1011,
            120,
            446,
            588,
            264,
            507,
            814,
            800,
            1016,
            165,
            340,
        ],
        4,
    ),
    (4, [5, 7, 5, 5, 1, 3, 1, 3, 7, 3, 5, 3, 7, 0, 7, 5, 1, 1, 6, 3, 7, 2, 6, 5, 1, 6, 7, 6, 1, 2, 2, 2], 1),
    (
        4,
        [
            533,
            171,
            455,
            136,
            541,
            249,
            929,
            23,
            694,
            855,
            548,
            264,
            88,
            488,
            224,
            330,
            536,
            103,
            370,
            413,
            638,
            624,
            421,
            593,
            912,
            364,
            554,
            710,
            37,
            512,
            75,
            31,
        ],
        3,
    ),
    (
        8,
        [
            28,
            57,
            42,
            57,
            54,
            17,
            24,
            31,
            11,
            22,
            43,
            11,
            40,
            30,
            47,
            33,
            25,
            2,
            52,
            49,
            52,
            26,
            48,
            34,
            43,
            7,
            63,
            35,
            46,
            16,
            27,
            11,
        ],
        5,
    ),
    (8, [1, 3, 0, 0, 1, 3, 3, 2, 0, 0, 1, 2, 1, 1, 3, 0, 2, 3, 2, 2, 3, 1, 0, 0, 0, 2, 0, 2, 3, 0, 1, 3], 2),
    (8, [4, 3, 5, 1, 6, 4, 3, 3, 1, 7, 0, 1, 0, 7, 3, 7, 5, 0, 4, 3, 1, 0, 3, 3, 1, 5, 2, 7, 4, 0, 1, 5], 2),
    (
        8,
        [
            17,
            21,
            29,
            13,
            9,
            1,
            12,
            25,
            24,
            11,
            20,
            2,
            3,
            0,
            5,
            30,
            7,
            22,
            23,
            18,
            6,
            15,
            16,
            27,
            4,
            14,
            26,
            8,
            19,
            28,
            31,
            10,
        ],
        4,
    ),
    (
        16,
        [
            7,
            12,
            15,
            15,
            0,
            0,
            13,
            7,
            9,
            6,
            12,
            2,
            5,
            4,
            1,
            0,
            3,
            3,
            5,
            11,
            4,
            0,
            0,
            1,
            4,
            1,
            2,
            1,
            2,
            11,
            6,
            2,
        ],
        7,
    ),
    (
        16,
        [
            6,
            22,
            30,
            3,
            13,
            5,
            18,
            10,
            27,
            0,
            12,
            18,
            3,
            0,
            22,
            31,
            6,
            31,
            11,
            31,
            22,
            16,
            10,
            18,
            13,
            14,
            31,
            10,
            7,
            5,
            31,
            6,
        ],
        9,
    ),
    (
        16,
        [
            52,
            23,
            41,
            1,
            49,
            62,
            13,
            4,
            32,
            27,
            20,
            25,
            44,
            12,
            58,
            26,
            60,
            2,
            47,
            43,
            52,
            58,
            26,
            23,
            50,
            15,
            45,
            7,
            32,
            35,
            48,
            51,
        ],
        11,
    ),
    (16, [0, 7, 2, 1, 2, 0, 6, 1, 0, 5, 2, 4, 4, 4, 2, 6, 0, 5, 0, 6, 0, 7, 0, 1, 6, 6, 7, 1, 0, 6, 2, 7], 4),
]


@pytest.mark.parametrize(("size", "places", "count"), MEASURED)
def test_as_measured(size: int, places: list[int], count: int) -> None:
    assert wavefronts([place * size for place in places], size) == count


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
