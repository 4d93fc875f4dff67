"""Accesses next to each other, as of the numbers of a struct that is copied, are checked as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import I8, I64, Type, VectorType
from weft.compiler.passes.origins import accessed, factor_of, size_of

_TOGETHER = frozenset({"llvm.load", "llvm.store"})


class Access(NamedTuple):
    """An access, and how many bytes behind the stretch's pointer it begins."""

    op: Op
    at: int


class Stretch(NamedTuple):
    """Operations that follow each other, of which some access memory around one pointer, all alike."""

    ops: Sequence[Op]
    root: Value
    accesses: Sequence[Access]

    def whole(self, b: Builder) -> Op:
        """All of it as one access, which is only looked at."""
        first = min(access.at for access in self.accesses)
        end = max(access.at + accessed(access.op) for access in self.accesses)
        return self._one(b, first, end - first)

    def pieces(self, b: Builder) -> Iterator[tuple[Op, list[Op]]]:
        """What is accessed without gaps, each as one access, and which accesses these are."""
        piece: list[Access] = []
        for access in [*sorted(self.accesses, key=lambda access: access.at), None]:
            end = piece[-1].at + accessed(piece[-1].op) if piece else 0
            if piece and (access is None or access.at != end):
                yield self._one(b, piece[0].at, end - piece[0].at), [one.op for one in piece]
                piece = []
            if access is not None:
                piece.append(access)

    def _one(self, b: Builder, at: int, size: int) -> Op:
        like = self.accesses[0].op
        place = b.at(self.root, b.constant(at, I64), I8) if at else self.root
        kind: Type = VectorType(size, I8) if size > 1 else I8
        attrs = {**like.attrs, "alignment": 1, "element": max(_element(self.root), size)}
        is_load = like.name == "llvm.load"
        operands = (place,) if is_load else (place, Value(kind))
        return Op(like.spec, operands, attrs, (), (kind,) if is_load else (), like.loc)


def stretches(ops: Sequence[Op]) -> Iterator[Op | Stretch]:
    """Operations, some of them together."""
    n = 0
    while n < len(ops):
        found = _stretch(ops, n) if ops[n].name in _TOGETHER else None
        yield found or ops[n]
        n += len(found.ops) if found else 1


def _stretch(ops: Sequence[Op], begin: int) -> Stretch | None:
    root, like, end = _place(ops[begin])[0], ops[begin], begin
    made: set[Value] = set()
    accesses: list[Access] = []
    for n in range(begin, len(ops)):
        op = ops[n]
        if op.name == like.name:
            found, at = _place(op)
            same = op.attrs.get("span") == like.attrs.get("span") and op.loc[:2] == like.loc[:2]
            if found is not root or not same or _is_special(op) or not made.isdisjoint(op.operands):
                break
            accesses.append(Access(op, at))
            end = n + 1
        elif not op.spec.pure or op.regions or not made.isdisjoint(op.operands):
            break
        made.update(op.results if op.name == like.name else ())
    return Stretch(ops[begin:end], root, accesses) if len(accesses) > 1 else None


def _is_special(op: Op) -> bool:
    return "ordering" in op.attrs or op.attrs.get("volatile") is True


def _place(op: Op) -> tuple[Value, int]:
    """The pointer that an access is around, and how many bytes behind that it begins."""
    pointer, at = op.operands[0], 0
    while isinstance(pointer.owner, Op) and pointer.owner.name == "llvm.getelementptr":
        by = integer(pointer.owner.operands[1])
        if by is None:
            break
        at += by * size_of(pointer.owner.type_attr("elem_type").bits)
        pointer = pointer.owner.operands[0]
    return pointer, at


def _element(pointer: Value) -> int:
    """The size of what a pointer steps by; 1 where that is not known."""
    step = pointer.owner
    is_step = isinstance(step, Op) and step.name == "llvm.getelementptr"
    return factor_of(step.operands[1]) if isinstance(step, Op) and is_step else 1
