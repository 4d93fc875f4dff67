"""What lanes of a warp and threads of a block hand each other, as ``weft.gpu`` documents it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

from tests.fuzz.kinds import BOOL, KINDS
from tests.fuzz.lanes import Vector
from tests.fuzz.mathematics import MATH
from tests.fuzz.memories import Array, Pointer
from tests.fuzz.scalars import Number, as_kind

__all__ = ["WARP", "Meeting", "met"]

WARP = 32


class Meeting:
    """What a thread comes to a ``warp`` or a ``block`` with."""

    def __init__(self, room: str, name: str, *args: Any, **named: Any) -> None:
        self.room, self.name, self.args, self.named = room, name, args, named


def met(meetings: Sequence[Meeting]) -> list[Any]:
    """What each of the threads of a warp or block is given."""
    first = meetings[0]
    assert {(m.room, m.name) for m in meetings} == {(first.room, first.name)}, (
        "threads meet for different things"
    )
    columns = [list(column) for column in zip(*(m.args for m in meetings), strict=True)]
    rule = (_OF_WARPS if first.room == "warp" else _OF_BLOCKS)[first.name]
    return rule(*columns, **first.named)


def _zero(like: Any) -> Any:
    zero = as_kind(0, like.kind)
    return Vector(like.kind, [zero] * len(like)) if isinstance(like, Vector) else zero


def _idx(lane: int, by: int, width: int) -> int:
    return lane // width * width + by % width


def _up(lane: int, by: int, width: int) -> int:
    return lane - by if lane % width >= by else lane


def _down(lane: int, by: int, width: int) -> int:
    return lane + by if lane % width + by < width else lane


def _xor(lane: int, by: int, width: int) -> int:
    return lane if (lane ^ by) // width > lane // width else lane ^ by


def _shuffle(source: Callable[[int, int, int], int]) -> Callable[..., list[Any]]:
    def rule(values: list[Any], by: Any = 0, width: int = WARP) -> list[Any]:
        steps: list[Any] = cast("list[Any]", by) if isinstance(by, list) else [by] * WARP
        return [values[source(lane, int(steps[lane]), width)] for lane in range(WARP)]

    return rule


def _reduce(values: list[Any], functions: list[Any], width: int = WARP, stride: int = 1) -> list[Any]:
    step = stride
    while step < width * stride:
        values = [functions[lane](values[lane], values[lane ^ step]) for lane in range(WARP)]
        step *= 2
    return values


def _reducing(function: Callable[[Any, Any], Any]) -> Callable[..., list[Any]]:
    def rule(values: list[Any], width: int = WARP, stride: int = 1) -> list[Any]:
        return _reduce(values, [function] * WARP, width, stride)

    return rule


def _prefix(values: list[Any], exclusive: bool = False, width: int = WARP) -> list[Any]:
    total, step = list(values), 1
    while step < width:
        before = [total[_up(lane, step, width)] for lane in range(WARP)]
        total = [
            t + b if n % width >= step else t for n, (t, b) in enumerate(zip(total, before, strict=True))
        ]
        step *= 2
    if not exclusive:
        return total
    return [total[lane - 1] if lane % width else _zero(values[0]) for lane in range(WARP)]


def _bits(holds: Sequence[Any]) -> Number:
    return Number(KINDS["UInt32"], sum(1 << lane for lane, one in enumerate(holds) if bool(one)))


def _same(kind: Any, value: Callable[[list[bool]], Any]) -> Callable[..., list[Any]]:
    """A rule that tells all the same."""

    def rule(holds: list[Any]) -> list[Any]:
        return [Number(kind, value(list(map(bool, holds))))] * len(holds)

    return rule


def _ballot(holds: list[Any]) -> list[Any]:
    return [_bits(holds)] * WARP


def _match_any(values: list[Any]) -> list[Any]:
    return [_bits([other == own for other in values]) for own in values]


def _match_all(values: list[Any]) -> list[Any]:
    return [Number(BOOL, all(bool(values[0] == own) for own in values))] * WARP


_OF_WARPS: dict[str, Callable[..., list[Any]]] = {
    "shuffle_idx": _shuffle(_idx),
    "shuffle_up": _shuffle(_up),
    "shuffle_down": _shuffle(_down),
    "shuffle_xor": _shuffle(_xor),
    "broadcast": _shuffle(_idx),
    "reduce": _reduce,
    "sum": _reducing(operator.add),
    "max": _reducing(MATH.max),
    "min": _reducing(MATH.min),
    "prefix_sum": _prefix,
    "ballot": _ballot,
    "any": _same(BOOL, any),
    "all": _same(BOOL, all),
    "uniform": _same(BOOL, lambda holds: len(set(holds)) == 1),
    "syncwarp": lambda: [None] * WARP,
    "match_any": _match_any,
    "match_all": _match_all,
}


def _warps(values: list[Any]) -> list[list[Any]]:
    return [values[n : n + WARP] for n in range(0, len(values), WARP)]


def _over(values: list[Any], functions: list[Any]) -> list[Any]:
    """Each warp's first, then those as a tree: the next, the second next and so on, where there is one."""
    parts = [_reduce(warp, functions)[0] for warp in _warps(values)]
    step = 1
    while step < len(parts):
        behind = [parts[n + step] if n + step < len(parts) else None for n in range(len(parts))]
        parts = [
            a if b is None else functions[n](a, b) for n, (a, b) in enumerate(zip(parts, behind, strict=True))
        ]
        step *= 2
    return [parts[0]] * len(values)


def _over_all(function: Callable[[Any, Any], Any]) -> Callable[..., list[Any]]:
    def rule(values: list[Any]) -> list[Any]:
        return _over(values, [function] * WARP)

    return rule


def _exchange(values: list[Any], threads: list[Any], most: int = 0) -> list[Any]:
    return [values[int(n)] for n in threads]


def _scan(values: list[Any], exclusive: bool = False) -> list[Any]:
    zero, warps = _zero(values[0]), [_prefix(warp) for warp in _warps(values)]
    lasts = [through[-1] for through in warps]
    befores = _prefix([*lasts, *[zero] * (WARP - len(lasts))], exclusive=True)
    return [
        before + one
        for before, through in zip(befores, warps, strict=False)
        for one in ([zero, *through[:-1]] if exclusive else through)
    ]


def _histogram(numbers: list[Any], bins: int) -> list[Any]:
    kind = KINDS["UInt32"]
    counts = Pointer(Array(kind, [sum(int(one) == n for one in numbers) for n in range(bins)]))
    return [counts] * len(numbers)


def _sorted(keys: list[Any], values: Any = None, descending: bool = False, most: int = 0) -> list[Any]:
    """Equal keys stay in order, also where the least comes last."""
    order = sorted(range(len(keys)), key=lambda n: keys[n].value, reverse=descending)
    return [keys[n] if values is None else (keys[n], values[n]) for n in order]


def _striped(items: list[Any], most: int = 0) -> list[Any]:
    every, count = [lane for one in items for lane in one.lanes], len(items)
    return [Vector(items[0].kind, every[n::count]) for n in range(count)]


def _blocked(items: list[Any], most: int = 0) -> list[Any]:
    every = [one.lanes[n] for n in range(len(items[0])) for one in items]
    size = len(items[0])
    return [Vector(items[0].kind, every[n * size : n * size + size]) for n in range(len(items))]


_OF_BLOCKS: dict[str, Callable[..., list[Any]]] = {
    "reduce": _over,
    "sum": _over_all(operator.add),
    "max": _over_all(MATH.max),
    "min": _over_all(MATH.min),
    "prefix_sum": _scan,
    "broadcast": _exchange,
    "exchange": _exchange,
    "count": _same(KINDS["Int32"], sum),
    "any": _same(BOOL, any),
    "all": _same(BOOL, all),
    "histogram": _histogram,
    "radix_sort": _sorted,
    "blocked_to_striped": _striped,
    "striped_to_blocked": _blocked,
}
