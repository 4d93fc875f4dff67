"""Comparisons of where a thread is that branches around memory, and choices of indices, go by.

``a[i - 1] if x > 0 else a[i]``, ``i if y == 0 else i - width``: nearly all threads find the same, which is
guessed from how it is written. A place is above a small number, further from the end than one (``x < width -
1``, ``x + 1 < width``), and equal to none. A guess that is wrong costs speed alone, as it is asked for which
threads it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import I64
from weft.compiler.passes.indices import only_global
from weft.compiler.passes.uniformity import LOOPS

_PLACES = frozenset({"gpu.thread_id", "gpu.block_id"})
_MEMORY = frozenset({"llvm.load", "llvm.store"})
_SWAPPED = {"slt": "sgt", "sgt": "slt", "sle": "sge", "sge": "sle"}
_RIM = 16
"""How wide a rim is at most in which threads find something else."""
_APART = frozenset({"func.call", "weft.print", "weft.failed", "weft.while"})
"""With these a loop over threads becomes no vectors, or more code than it is worth."""


def tested_places(ops: Sequence[Op]) -> dict[Op, bool]:
    """Such comparisons in a kernel with several of those, each with what is guessed of it."""
    asked = [v for op in ops for v in _asked(op)]
    if len(asked) < 2 or any(map(_is_apart, ops)) or not only_global(ops):
        return {}
    found, seen, known = dict[Op, bool](), set[Value](), dict[Value, bool]()
    while asked:
        v = asked.pop()
        if v in seen or not isinstance(v.owner, Op) or not v.owner.spec.pure:
            continue
        seen.add(v)
        if v.owner.name == "arith.cmpi":
            guess = _guess(v.owner, known)
            if guess is not None:
                found[v.owner] = guess
        elif v.owner.name in ("arith.andi", "arith.ori", "arith.xori"):
            asked += v.owner.operands
    return {op: found[op] for op in ops if op in found}


def _asked(op: Op) -> tuple[Value, ...]:
    """What a branch around memory, or a choice of an index, goes by."""
    if op.name == "weft.if":
        asks = any(inner.name in _MEMORY for side in op.regions for inner in side.walk())
    else:
        asks = op.name == "arith.select" and op.result.type is I64
    return op.operands[:1] if asks else ()


def _is_apart(op: Op) -> bool:
    return op.name in _APART or (op.name in LOOPS and None in map(integer, op.operands))


def _guess(test: Op, known: dict[Value, bool]) -> bool | None:
    """What nearly all threads find; None where it is not of places, or not known."""
    (left, right), predicate = test.operands, str(test.attrs["predicate"])
    if left.type is not I64 or _is_of_places(left, known) == _is_of_places(right, known):
        return None
    if predicate in ("eq", "ne"):
        return predicate == "ne"
    if known[right]:
        left, right, predicate = right, left, _SWAPPED.get(predicate, "")
    more, others = 0, list[Value]()
    for v, count in (*_parts(left, 1), *_parts(right, -1)):
        number = integer(v)
        if number is not None:
            more += count * number
        elif not _is_of_places(v, known):
            others.append(v)
    if not others and abs(more) <= _RIM:
        return predicate in ("sgt", "sge")
    if others == [_base(right)] and 0 < more <= _RIM:
        return predicate in ("slt", "sle")
    return None


def _base(limit: Value) -> Value:
    """A limit without what is added to it and subtracted."""
    while isinstance(limit.owner, Op) and limit.owner.name in ("arith.addi", "arith.subi"):
        limit = limit.owner.operands[0]
    return limit


def _parts(v: Value, count: int) -> Iterator[tuple[Value, int]]:
    """What a number is the sum of, and how often each is added."""
    op = v.owner
    if isinstance(op, Op) and op.name in ("arith.addi", "arith.subi"):
        yield from _parts(op.operands[0], count)
        yield from _parts(op.operands[1], count if op.name == "arith.addi" else -count)
    else:
        yield v, count


def _is_of_places(v: Value, known: dict[Value, bool]) -> bool:
    """Whether a number goes by where a thread is."""
    if v not in known:
        op = v.owner
        known[v] = isinstance(op, Op) and (
            op.name in _PLACES or any(_is_of_places(operand, known) for operand in op.operands)
        )
    return known[v]
