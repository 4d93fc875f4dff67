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


def _unequal(name: str, kind: Kind, w: npt.NDArray[Any], g: npt.NDArray[Any]) -> str:
    whole = f"uint{8 * w.itemsize}"
    bad = w.view(whole) != g.view(whole)
    bad &= ~(_nan(w, kind) & _nan(g, kind))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        values = [f"{from_bits(kind, x[at])!r} ({x.view(whole)[at]:#x})" for x in (g, w)]
        count = int(bad.sum())
        return f"{name}[{at}] of {kind.name} is {values[0]}, in the model {values[1]}; {count} differ"
    return ""


def difference(program: Program, wanted: Outcome, got: Outcome) -> str:
    """What differs first, or nothing."""
    if wanted.failed != got.failed:
        return f"an assertion fails: {got.failed}, in the model {wanted.failed}"
    for argument in program.arguments:
        for name, _, kind, _ in argument.parts() if argument.memory else ():
            found = _unequal(name, KINDS[kind], wanted.arrays[name], got.arrays[name])
            if found:
                return found
    if wanted.printed != got.printed:
        pairs = [(w, g) for w, g in zip(wanted.printed, got.printed, strict=False) if w != g]
        shown = pairs[0] if pairs else (len(wanted.printed), len(got.printed))
        return f"prints {shown[1]!r}, in the model {shown[0]!r}"
    return ""
