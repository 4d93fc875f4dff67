"""Loops in which a thread waits until others have written: where it may have to be left and gone on with."""

from __future__ import annotations

from collections.abc import Iterator

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.compiler.ir.effects import NAMED, reads_anew
from weft.compiler.ir.looks import AGAIN
from weft.compiler.ir.types import AddressSpace, PointerType
from weft.compiler.passes.faults import places_of
from weft.compiler.passes.inline_barriers import inline
from weft.compiler.passes.settled import settled_loads
from weft.compiler.passes.uniformity import LOOPS, Uniformity, branches_that_jump

_DOES_MORE = frozenset({"func.call", "llvm.call", "llvm.inline_asm", "weft.print", "weft.failed"})


def mark_waits(module: Module) -> bool:
    """Put loops in which threads wait into the kernels, and say of them who ends them, in place.

    Gives whether there may be any.
    """

    def may_wait(f: Function) -> bool:
        return any(op.name == NAMED or _looks(op) for op in f.body.walk())

    if not any(map(may_wait, module.functions)):
        return False
    inline(module, may_wait)
    found = [f for f in module.functions if f.kernel and any(map(_waits, f.body.walk()))]
    if found:
        inline(module, lambda f: any(map(reads_anew, f.body.walk())))
    functions = {f.name: f for f in module.functions}
    for kernel in found:
        ops = [op for op in kernel.body.walk() if op.name == "weft.while"]
        loops = [op for op in ops if any(map(reads_anew, _within(op)))]
        for op in loops:
            op.attrs = {**op.attrs, "waits": "block" if _ends_by_block(op) else "any"}
        if _all_come(kernel.body, Uniformity(kernel, functions, settled=settled_loads(kernel)), ()):
            for op in loops:
                op.attrs = {**op.attrs, "waits": "together"}
    return True


def is_left(kernel: Function) -> bool:
    """Whether a thread of a kernel waits where others go on, so that it is to be left there."""
    return any(op.name == NAMED or op.attrs.get("waits") in ("block", "any") for op in kernel.body.walk())


def _waits(op: Op) -> bool:
    """Whether it is a named barrier, or a loop that looks at shared memory and writes none, as others do."""
    if op.name != "weft.while" or "waits" in op.attrs:
        return op.name == NAMED
    inner = [*_within(op)]
    return any(map(_looks, inner)) and not any(each.spec.writes for each in inner)


def _ends_by_block(op: Op) -> bool:
    """Whether only other threads of the block can end such a loop.

    Its rounds change nothing, and it looks at nothing but the block's memory.
    """
    inner = [*_within(op)]
    given = {each.operands[0] for each in inner if each.name == "weft.set"}
    changing = set[Value]()
    size = -1
    while size != len(changing):
        size = len(changing)
        for each in inner:
            held = each.name == "weft.get" and each.operands[0] in given
            if held or not changing.isdisjoint(each.operands):
                changing.update(each.results)
    for each in inner:
        again = each.name == "llvm.cmpxchg" or each.attrs.get("bin_op") in AGAIN
        if each.name in _DOES_MORE or (each.spec.writes and not again):
            return False
        if (each.spec.writes or each.name == "weft.set") and not changing.isdisjoint(each.operands[1:]):
            return False
        if reads_anew(each) and not _is_shared(each.operands[0]):
            return False
    return True


def _looks(op: Op) -> bool:
    return op.name == "llvm.load" and reads_anew(op) and _is_shared(op.operands[0])


def _is_shared(v: Value) -> bool:
    return isinstance(v.type, PointerType) and v.type.space == AddressSpace.SHARED


def _within(op: Op) -> Iterator[Op]:
    return (each for region in op.regions for each in region.walk())


def place_text(kernel: Function, op: Op, way: str) -> str:
    """Where a thread waits and in what way, for messages."""
    file, line, column = places_of(kernel, op.loc)[0][0]
    return f"{way}\n{file}\n{line}\n{column}"


def _all_come(region: Region, uniformity: Uniformity, decisions: tuple[Value, ...]) -> bool:
    """Whether all threads of a block come to each loop in which one waits, and wait for the same there."""
    same = all(map(uniformity.same, decisions))
    for op in region.ops:
        if op.name == "weft.return" and not same:
            return False
        if op.attrs.get("waits"):
            if not (same and op.attrs["waits"] == "block" and _all_wait_alike(op, uniformity)):
                return False
            continue
        if op.name == NAMED:
            return False
        inner = (*decisions, *op.operands) if op.regions else ()
        if op.name == "weft.while":
            inner = (*inner, *op.regions[0].ops[-1].operands)
        if op.name in LOOPS:
            inner = (*inner, *(jump.operands[0] for jump in branches_that_jump(op.regions[-1])))
        if not all(_all_come(each, uniformity, inner) for each in op.regions):
            return False
    return True


def _all_wait_alike(op: Op, uniformity: Uniformity) -> bool:
    """Whether all threads wait for the same, and do nothing else meanwhile."""
    looks = [*op.regions[0].walk()]
    made = {v for each in looks for v in each.results}
    given = {v for each in looks for v in each.operands} - made
    return not op.regions[1].ops and all(map(uniformity.same, given))


def meet_to_wait(kernel: Function, region: Region) -> None:
    """Have all threads of a block come to each loop in which they wait together before any looks.

    What they wait for has then been done, or never is: no thread needs to be left.
    """
    out: list[Op] = []
    for op in region.ops:
        if op.attrs.get("waits") != "together":
            for inner in op.regions:
                meet_to_wait(kernel, inner)
            out.append(op)
            continue
        b = Builder()
        b.loc = op.loc
        *looks, last = op.regions[0].ops
        with b.into(Region()) as made:
            b.emit("gpu.barrier")
            made.ops += looks
            with b.into(Region()) as stuck:
                b.emit("weft.stuck", (), (), {"place": place_text(kernel, op, "loop")})
            b.branch(last.operands[0], stuck)
        out += made.ops
    region.ops[:] = out
