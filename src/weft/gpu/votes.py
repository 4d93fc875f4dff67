"""What all lanes of a warp say together, by target: votes, matches, and reductions of integers."""

from __future__ import annotations

from typing import Any, Literal, get_args

from weft.diagnostics import refuse
from weft.gpu.by_warp import matching
from weft.gpu.lanes import ALL, check, lane_id, numbers_of
from weft.lang.hints import kind_of
from weft.lang.intrinsics import Feature, current_target, llvm_intrinsic
from weft.lang.machine import balloted, by_warp, threads_are_loops
from weft.lang.number import Number
from weft.lang.scalars import Bool, Float32, Int32, Int64, UInt8, UInt32
from weft.lang.spec import leaves_of

Word = Literal["add", "and", "or", "xor", "min", "max"]
"""How two values become one, as PTX calls it."""
_WORDS: tuple[str, ...] = get_args(Word)


def combined(function: Any, a: Any, b: Any) -> Any:
    """Two values as one."""
    if callable(function):
        return function(a, b)
    if not isinstance(function, str) or function not in _WORDS:
        hint = f"write one of {', '.join(_WORDS)}, or a function of two values"
        shown = repr(function) if isinstance(function, str) else f"by {kind_of(function)}"
        refuse("lanes", f"there is no reduction {shown}", hint=hint)
    if isinstance(a, tuple):
        hint = "combine its values one by one, or give a function of two tuples"
        refuse("lanes", f"{function!r} combines numbers, vectors and structs, not tuples", hint=hint)
    if function in ("min", "max"):
        from weft import math

        return math.min(a, b) if function == "min" else math.max(a, b)
    if function == "add":
        return a + b
    return a & b if function == "and" else a | b if function == "or" else a ^ b


def told(word: Literal["any", "all", "uni", "ballot"], predicate: Any) -> Any:
    """A vote: ``any``, ``all``, whether all say the same (``uni``), or the bits of ``ballot``."""
    check(f"{word}()")
    holds = Bool(predicate)
    if not threads_are_loops():
        kind = UInt32 if word == "ballot" else Bool
        return llvm_intrinsic(f"llvm.nvvm.vote.{word}.sync", kind, UInt32(ALL), holds, effects="none")
    bits = UInt32.of(balloted(leaves_of(holds)[0]))
    if word == "uni":
        return (bits == 0) | (bits == ALL)
    return bits if word == "ballot" else bits != 0 if word == "any" else bits == ALL


def elected() -> Any:
    """Whether this is the one lane of its warp that is to act for all."""
    check("elect_one_sync()")
    if threads_are_loops() or not current_target().supports(Feature.CLUSTERS):
        return lane_id() == 0
    _, is_it = llvm_intrinsic("llvm.nvvm.elect.sync", (UInt32, Bool), UInt32(ALL), effects="none")
    return is_it


def matched(value: Any) -> Any:
    """One bit for each lane that has the same: of each of its numbers."""
    check("match_any()")
    bits = UInt32(ALL)
    for number in numbers_of(value):
        for n in range(number.lanes):
            bits &= _matched(number if number.lanes == 1 else number[n])
    return bits


def _matched(number: Any) -> Any:
    if threads_are_loops():
        return by_warp(matching, (number.cast(UInt8) if type(number) is Bool else number,), UInt32)
    kind = number.dtype
    if kind.is_float:  # both zeros are one, and no nan is like another
        if kind.bits < 32:
            number = number.cast(Float32)
        wide = Int64 if number.dtype.bits == 64 else Int32
        bits = (number == 0.0).select(type(number)(0.0), number).bitcast(wide)
        return (number == number).select(_instruction(bits), UInt32(0))
    return _instruction(number.cast(Int64 if kind.bits == 64 else Int32))


def _instruction(bits: Any) -> Any:
    name = f"llvm.nvvm.match.any.sync.i{bits.dtype.bits}"
    return llvm_intrinsic(name, UInt32, UInt32(ALL), bits, effects="none")


def has_reduction(value: Any) -> bool:
    """Whether the target reduces such a value in one instruction."""
    known = (
        isinstance(value, Number) and value.lanes == 1 and value.dtype.is_integer and value.dtype.bits <= 32
    )
    return known and not threads_are_loops() and current_target().supports(Feature.WARP_REDUCTION)


def reduced(word: str, value: Any) -> Any:
    """An integer of up to 32 bits of all lanes combined, in all lanes."""
    check(f"{word}()")
    signed = value.dtype.is_signed
    wide = Int32 if signed else UInt32
    name = f"u{word}" if word in ("min", "max") and not signed else word
    made = llvm_intrinsic(f"llvm.nvvm.redux.sync.{name}", wide, value.cast(wide), UInt32(ALL), effects="none")
    return made.cast(type(value))
