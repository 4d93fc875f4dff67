"""What ``weft.algorithm`` is to the model: loops over whole arrays, from first to last."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any, cast

from tests.fuzz.kinds import INT
from tests.fuzz.memories import Pointer
from tests.fuzz.scalars import Number

__all__ = ["ALGORITHMS", "begin", "wait"]


_failed: list[AssertionError] = []
"""Assertions that failed since the last wait, which tells of them; what was launched behind runs before."""


def begin() -> None:
    """Forget what a program before has left, which something else has ended."""
    _failed.clear()


def wait() -> None:
    """Raise what has failed."""
    if _failed:
        error, _failed[:] = _failed[0], []
        raise error


def elementwise(f: Callable[..., None], shape: Any, context: Any = None) -> None:
    extents = cast("tuple[int, ...]", shape) if isinstance(shape, tuple) else (shape,)
    for index in itertools.product(*map(range, extents)):
        try:
            f(*(Number(INT, n) for n in index))
        except AssertionError as error:  # ends that thread
            _failed.append(error)


def _items(src: Pointer) -> list[Any]:
    return [src[n] for n in range(len(src.array.values))]


def reduce(f: Callable[[Any, Any], Any], src: Pointer, init: Any = None) -> Any:
    items = _items(src)
    wait()
    return functools.reduce(f, items) if init is None else functools.reduce(f, items, init)


def map_reduce(of: Callable[[Any], Any], f: Callable[[Any, Any], Any], size: int, init: Any) -> Any:
    if any(isinstance(cell.cell_contents, Pointer) for cell in getattr(of, "__closure__", None) or ()):
        wait()  # as memory of the context's is there
    return functools.reduce(f, (of(Number(INT, n)) for n in range(size)), init)


def scan(
    f: Callable[[Any, Any], Any], src: Pointer, dst: Pointer, init: Any = None, exclusive: bool = False
) -> None:
    items = _items(src)
    found = list(itertools.accumulate(items, f, initial=init))
    if init is not None:
        found = found[:-1] if exclusive else found[1:]
    for n, item in enumerate(found):
        dst[n] = item


def sort(src: Pointer, less: Any = None, key: Any = None) -> None:
    before: Callable[[Any, Any], Any] = operator.lt if less is None else less

    def compared(a: Any, b: Any) -> int:
        x, y = (a, b) if key is None else (key(a), key(b))
        return -1 if before(x, y) else 1 if before(y, x) else 0

    for n, item in enumerate(sorted(_items(src), key=functools.cmp_to_key(compared))):
        src[n] = item


def each(f: Callable[..., None], size: Any) -> None:
    for i in range(int(size)):
        f(Number(INT, i))


def vectorize(f: Callable[..., None], size: Any, *, simd_width: int) -> None:
    tile(f, 0, size, tile_sizes=(simd_width,))


def tile(f: Callable[..., None], offset: Any, upperbound: Any, *, tile_sizes: tuple[int, ...]) -> None:
    done, end = int(offset), int(upperbound)
    for width in (*tile_sizes, 1):
        while done + width <= end:
            f(Number(INT, done), width=width)
            done += width


ALGORITHMS: dict[str, Any] = {
    "elementwise": elementwise,
    "parallelize": elementwise,
    "reduce": reduce,
    "map_reduce": map_reduce,
    "scan": scan,
    "sort": sort,
    "map": each,
    "vectorize": vectorize,
    "tile": tile,
}
