"""Layouts as pictures: a table in the terminal, or SVG with a colour for each thread or bank."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from os import PathLike

from weft.diagnostics import refuse
from weft.diagnostics.modules import present
from weft.lang.banks import BANKS
from weft.layout.algebra.layout import Layout
from weft.layout.algebra.swizzle import ComposedLayout
from weft.layout.tensor.partition import distribute

__all__ = ["format_layout", "layout_svg", "print_layout"]

_CELL = 36
"""Width and height of a square of a picture."""
_EDGE = 28
"""Width and height of where the coordinates stand."""


def print_layout(
    layout: Layout | ComposedLayout,
    *,
    threads: Layout | None = None,
    svg: str | PathLike[str] | None = None,
) -> None:
    """Show where the elements of a layout lie: a table of offsets, as CuTe and Mojo print it.

    Args:
        layout: static, of one or two modes; rows along the first, a nested mode's elements in its order.
        threads: as ``LayoutTensor.distribute`` takes it: behind each offset stands who has it, ``T3`` say.
        svg: a file to write the picture to instead.

    Raises:
        CompileError: the layout is not static, or has more modes.

    >>> from weft.layout import ComposedLayout, Layout, Swizzle, print_layout
    >>> print_layout(ComposedLayout(Layout.row_major(3, 4), Swizzle(1, 0, 2)))
           0    1    2    3
        +----+----+----+----+
     0  |  0 |  1 |  2 |  3 |
        +----+----+----+----+
     1  |  5 |  4 |  7 |  6 |
        +----+----+----+----+
     2  |  8 |  9 | 10 | 11 |
        +----+----+----+----+
    >>> print_layout(Layout.row_major(2, 4), threads=Layout.col_major(2, 2))
             0      1      2      3
        +------+------+------+------+
     0  | 0 T0 | 1 T2 | 2 T0 | 3 T2 |
        +------+------+------+------+
     1  | 4 T1 | 5 T3 | 6 T1 | 7 T3 |
        +------+------+------+------+
    """
    if svg is None:
        sys.stdout.write(format_layout(layout, threads=threads) + "\n")
        return
    with open(svg, "w", encoding="utf-8") as file:
        file.write(layout_svg(layout, threads=threads))


def format_layout(layout: Layout | ComposedLayout, *, threads: Layout | None = None) -> str:
    """What ``print_layout`` prints."""
    offsets, owners = _table(layout), _owners(layout, threads)
    cells = [
        [str(offset) if owner is None else f"{offset} T{owner}" for offset, owner in zip(*row, strict=True)]
        for row in zip(offsets, owners, strict=True)
    ]
    wide = max([2, *(len(cell) for row in cells for cell in row)])
    rule = "    +" + f"{'-' * (wide + 2)}+" * len(cells[0])
    head = "".join(f"{n:>{wide + 1}}  " for n in range(len(cells[0])))
    lines = [f"     {head}".rstrip(), rule]
    for n, row in enumerate(cells):
        lines += [f"{n:2}  |" + "".join(f" {cell:>{wide}} |" for cell in row), rule]
    return "\n".join(lines)


def layout_svg(layout: Layout | ComposedLayout, *, threads: Layout | None = None) -> str:
    """The picture of a layout as SVG: offsets, coloured by thread or, without, by ``offset % 32``: the bank.

    >>> from weft.layout import Layout, layout_svg
    >>> layout_svg(Layout.row_major(2, 2)).count("<rect")
    4
    """
    offsets, owners = _table(layout), _owners(layout, threads)
    rows, columns = len(offsets), len(offsets[0])
    width, height = _EDGE + columns * _CELL, _EDGE + rows * _CELL
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11" text-anchor="middle">'
    ]
    for n in range(columns):
        out.append(_text(_EDGE + n * _CELL + _CELL // 2, _EDGE - 10, n, "#666"))
    for i, (places, who) in enumerate(zip(offsets, owners, strict=True)):
        out.append(_text(_EDGE // 2, _EDGE + i * _CELL + _CELL // 2 + 4, i, "#666"))
        for j, (offset, owner) in enumerate(zip(places, who, strict=True)):
            x, y, named = _EDGE + j * _CELL, _EDGE + i * _CELL, owner is not None
            hue = (owner if owner is not None else offset) % BANKS * 360 // BANKS
            square = f'x="{x}" y="{y}" width="{_CELL}" height="{_CELL}"'
            out.append(f'<rect {square} fill="hsl({hue}, 70%, 82%)" stroke="#444"/>')
            out.append(_text(x + _CELL // 2, y + _CELL // 2 + (-2 if named else 4), offset))
            if named:
                out.append(_text(x + _CELL // 2, y + _CELL // 2 + 12, f"T{owner}", "#666"))
    return "\n".join([*out, "</svg>\n"])


def _text(x: int, y: int, text: object, fill: str = "#000") -> str:
    return f'<text x="{x}" y="{y}" fill="{fill}">{text}</text>'


def _extents(layout: Layout | ComposedLayout) -> tuple[int, int]:
    plain = layout.layout if isinstance(layout, ComposedLayout) else layout
    if not plain.is_static or not 1 <= plain.rank <= 2:
        refuse(
            "layout", f"{layout} is no table", "show a static layout of one or two modes; group() joins modes"
        )
    sizes = plain.static_shape
    if 0 in sizes:
        refuse("layout", f"{layout} has no elements to show", "give it extents from 1 on")
    return (1, sizes[0]) if len(sizes) == 1 else (sizes[0], sizes[1])


def _table(layout: Layout | ComposedLayout) -> list[list[int]]:
    rows, columns = _extents(layout)
    if layout.rank == 1:
        return [[layout(n) for n in range(columns)]]
    return [[layout(i, j) for j in range(columns)] for i in range(rows)]


def _owners(layout: Layout | ComposedLayout, threads: Layout | None) -> list[list[int | None]]:
    """Which thread has each element."""
    rows, columns = _extents(layout)
    found: list[list[int | None]] = [[None] * columns for _ in range(rows)]
    if threads is None:
        return found
    numbers = Layout.col_major(*((columns,) if layout.rank == 1 else (rows, columns)))
    for thread in range(threads.size()):
        part = distribute(numbers, threads, thread)
        for place in _of(part.fragment):
            at = part.offset + place
            found[at % rows][at // rows] = thread
    return found


def _of(fragment: Layout) -> Iterator[int]:
    return (fragment(n) for n in range(fragment.size()))


present(globals())
