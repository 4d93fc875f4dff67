"""Random numbers that programs are given."""

from __future__ import annotations

import math
from typing import Any

from tests.fuzz.kinds import BOOL, Kind, bits_of, literal
from tests.fuzz.scope import Scope

__all__ = ["numbers"]


def numbers(s: Scope, kind: Kind, count: int) -> list[int]:
    """Numbers of a kind, as bits: edges, small ones, and anything."""
    out: list[int] = []
    for _ in range(count):
        form = s.number(0, 3)
        if kind is BOOL:
            value: Any = s.chance(2)
        elif kind.is_float:
            edges = [
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                1.5,
                -2.5,
                math.inf,
                -math.inf,
                math.nan,
                1e-3,
                1e30,
                1e-38,
                65504.0,
                1e-40,
            ]
            few = s.number(-20, 20)
            wide = (s.number(-(10**6), 10**6) / 1000) * 10.0 ** s.number(-12, 12)
            value = literal([s.pick(edges), float(few), s.number(-4000, 4000) / 1000, wide][form], kind)
        else:
            edges = [kind.low, kind.high, 0, 1, kind.high - 1, kind.low + 1, 2, 3, 7, 31, 63]
            value = kind.wrap(
                [s.pick(edges), s.number(-9, 9), s.number(0, 15), s.number(kind.low, kind.high)][form]
            )
        out.append(bits_of(kind, value))
    return out
