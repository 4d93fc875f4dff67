"""Whether two outcomes are the same: bits, but for the kinds of nan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from tests.fuzz.kinds import KINDS, STORED, Kind, from_bits
from tests.fuzz.machine import Outcome
from tests.fuzz.program import Program

__all__ = ["difference"]


def _nan(array: npt.NDArray[Any], kind: Kind) -> npt.NDArray[Any]:
    if kind.name == "BFloat16":
        return (array & 0x7FFF) > 0x7F80
    if kind in STORED:
        return np.array([math.isnan(from_bits(kind, bits)) for bits in array], np.bool_)
    return np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, np.bool_)


def _ordered(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The place of each in the order of all floats of its width; infinity is behind the largest."""
    signed = array.view(f"int{8 * array.itemsize}").astype(object)
    return np.where(signed < 0, -signed - (1 << (8 * array.itemsize - 1)), signed)


def _unequal(name: str, kind: Kind, w: npt.NDArray[Any], g: npt.NDArray[Any], close: int) -> str:
    whole = f"uint{8 * w.itemsize}"
    bad = w.view(whole) != g.view(whole)
    if close:
        bad &= (abs(_ordered(w) - _ordered(g)) > close).astype(np.bool_)
    bad &= ~(_nan(w, kind) & _nan(g, kind))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        values = [f"{from_bits(kind, x[at])!r} ({x.view(whole)[at]:#x})" for x in (g, w)]
        count = int(bad.sum())
        return f"{name}[{at}] of {kind.name} is {values[0]}, in the model {values[1]}; {count} differ"
    return ""


def difference(program: Program, wanted: Outcome, got: Outcome, exact: bool = False) -> str:
    """What differs first, or nothing; ``exact``: also of numbers that may be near the model's."""
    if wanted.failed != got.failed:
        return f"an assertion fails: {got.failed}, in the model {wanted.failed}"
    for argument in program.arguments:
        for name, _, kind, _ in argument.parts() if argument.memory else ():
            close = 0 if exact else argument.close
            found = _unequal(name, KINDS[kind], wanted.arrays[name], got.arrays[name], close)
            if found:
                return found
    if wanted.printed != got.printed:
        pairs = [(w, g) for w, g in zip(wanted.printed, got.printed, strict=False) if w != g]
        shown = pairs[0] if pairs else (len(wanted.printed), len(got.printed))
        return f"prints {shown[1]!r}, in the model {shown[0]!r}"
    return ""
