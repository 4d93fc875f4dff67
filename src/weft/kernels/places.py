"""Where the elements of an array lie, by extents and strides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

Shape = tuple[int, ...]
_TRIES = 10_000


def row_major(shape: Sequence[int]) -> Shape:
    """The strides of an array in row-major order."""
    strides, step = list[int](), 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def merged(shape: Shape, *strides: Shape) -> tuple[Shape, list[Shape]]:
    """The same places by the fewest axes: what several arrays of a shape have in common is one axis.

    Axes of one element are left out, however far they say that the next would be; one axis at least remains.

    >>> merged((2, 3, 4), (12, 4, 1), (24, 8, 2))
    ((24,), [(1,), (2,)])
    >>> merged((1,), (1,))
    ((1,), [(0,)])
    """
    extents: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for n, extent in enumerate(shape):
        if extent == 1:
            continue
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


def lie_apart(lines: Sequence[tuple[int, int]]) -> bool:
    """Whether no two elements share a place, by strides and extents.

    >>> lie_apart([(4, 3), (1, 4)]), lie_apart([(2, 3), (1, 4)]), lie_apart([(-2, 3), (1, 2)])
    (True, False, True)
    >>> lie_apart([(3, 3), (2, 3)]), lie_apart([(3, 3), (2, 4)]), lie_apart([(0, 2)])
    (True, False, False)
    """
    reach = 0
    for stride, extent in sorted((abs(stride), extent) for stride, extent in lines if extent > 1):
        if stride <= reach:
            break
        reach += stride * (extent - 1)
    else:
        return True  # each axis within the steps of the next, as most are
    # two elements at one place are some steps apart along each axis, the first of these forward
    for n, (stride, extent) in enumerate(lines):
        rest = [(step, 2 * count - 1) for step, count in lines[n + 1 :]]
        behind = sum(step * (count - 1) for step, count in lines[n + 1 :])
        if extent > 1 and is_reached(behind - stride, [(stride, extent - 1), *rest]):
            return False
    return True


def is_reached(distance: int, lines: Iterable[tuple[int, int]]) -> bool:
    """Whether a distance is made of steps, each of which is taken less often than it says.

    True too where that is not found out soon.

    >>> is_reached(7, [(5, 2), (2, 2)]), is_reached(8, [(5, 2), (2, 2)]), is_reached(-3, [(5, 2), (-4, 3)])
    (True, False, True)
    """
    most: dict[int, int] = {}
    for step, count in lines:
        most[abs(step)] = most.get(abs(step), 0) + count - 1
        distance -= min(step, 0) * (count - 1)
    steps = sorted((step for step in most if step), reverse=True)
    far = [sum(step * most[step] for step in steps[n:]) for n in range(len(steps) + 1)]
    common = [gcd(*steps[n:]) or 1 for n in range(len(steps) + 1)]
    left = [_TRIES]

    def reached(n: int, away: int) -> bool:
        left[0] -= 1
        if not 0 <= away <= far[n] or away % common[n]:
            return False
        if away == 0 or left[0] < 0:
            return True
        least = max(0, -((far[n + 1] - away) // steps[n]))
        greatest = min(most[steps[n]], away // steps[n])
        return any(reached(n + 1, away - times * steps[n]) for times in range(greatest, least - 1, -1))

    return reached(0, distance)
