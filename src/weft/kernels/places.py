"""Where the elements of an array lie, by extents and strides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Shape = tuple[int, ...]


def row_major(shape: Sequence[int]) -> Shape:
    """The strides of an array in row-major order."""
    strides, step = list[int](), 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def merged(shape: Shape, *strides: Shape) -> tuple[Shape, list[Shape]]:
    """The same places by the fewest axes: what several arrays of a shape have in common is one axis.

    Axes of one element are left out; one axis at least remains.

    >>> merged((2, 3, 4), (12, 4, 1), (24, 8, 2))
    ((24,), [(1,), (2,)])
    """
    extents: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for n, extent in enumerate(shape):
        if extent == 1 and (extents or n + 1 < len(shape)):
            continue
        if extents and extents[-1] == 1:
            extents.pop()
            for own in steps:
                own.pop()
        if extents and all(own[-1] == extent * of[n] for own, of in zip(steps, strides, strict=True)):
            extents[-1] *= extent
            for own, of in zip(steps, strides, strict=True):
                own[-1] = of[n]
        else:
            extents.append(extent)
            for own, of in zip(steps, strides, strict=True):
                own.append(of[n])
    if not extents:
        return (1,), [(0,) for _ in strides]
    return tuple(extents), [tuple(own) for own in steps]


def lie_apart(lines: Iterable[tuple[int, int]]) -> bool:
    """Whether no two elements share a place, by strides and extents; of axes within each other's steps no.

    >>> lie_apart([(4, 3), (1, 4)]), lie_apart([(2, 3), (1, 4)]), lie_apart([(-2, 3), (1, 2)])
    (True, False, True)
    """
    reach = 0
    for stride, extent in sorted((abs(stride), extent) for stride, extent in lines if extent > 1):
        if stride <= reach:
            return False
        reach += stride * (extent - 1)
    return True
