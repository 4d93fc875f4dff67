"""What a worker does of each block, or row of blocks, in a function of its own.

The loop that takes blocks then stands apart from it, and with it what says which block it is, by divisions
that LLVM makes much of. Little time goes by there, so LLVM is told not to optimise it; what LLVM does to a
kernel's loops takes longer the deeper they lie.
"""

from __future__ import annotations

from weft.compiler.ir.clone import clone_op
from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.compiler.ir.ops import SPECS
from weft.record import replace

_OWN = frozenset({"llvm.alloca", "weft.take_memory", "weft.slot"})
"""What gives memory that nothing else reaches."""


def block_functions(module: Module) -> None:
    """Cut the body of every loop over blocks out of its function."""
    made: list[Function] = []
    for f in module.functions:
        loops = [op for op in f.body.ops if op.name == "weft.while" and "blocks" in op.attrs]
        made += [_cut_out(f, loop) for loop in loops]
        made.append(f)
    module.functions[:] = made


def _cut_out(f: Function, loop: Op) -> Function:
    """A function that does what the loop's body did, and is called there now."""
    blocks = loop.regions[-1]
    first = next((n for n, op in enumerate(blocks.ops) if not _stays(op)), len(blocks.ops))
    begin, blocks.ops[:] = blocks.ops[:first], blocks.ops[first:]
    inner = [*blocks.walk()]
    defined = {v for op in inner for v in (*op.results, *(a for r in op.regions for a in r.args))}
    needed = dict.fromkeys(v for op in inner for v in op.operands if v not in defined)
    elsewhere = {v for op in loop.regions[0].walk() for v in op.operands}
    elsewhere.update(v for op in (*f.body.ops, *begin) if op is not loop for v in op.operands)
    body, mapping = Region(), dict[Value, Value]()
    given: list[Value] = []
    for v in sorted(needed, key=lambda v: v not in f.args):
        owner = v.owner
        if isinstance(owner, Op) and owner.name == "arith.constant":
            body.ops.append(clone_op(owner, mapping))
        elif isinstance(owner, Op) and owner.name == "weft.slot" and v not in elsewhere:
            f.body.ops.remove(owner)
            body.ops.append(owner)
        else:
            given.append(v)
            mapping[v] = Value(v.type, None, v.name)
    for op in inner:
        op.operands = tuple([mapping.get(v, v) for v in op.operands])
    body.ops += _returning(blocks)
    body.ops.append(Op(SPECS["weft.return"], (), {}, (), (), loop.loc))
    alone = frozenset(n for n, v in enumerate(given) if _is_alone(f, v))
    args = [mapping[v] for v in given]
    made = replace(f, name=f"{f.name}.block", args=args, body=body, alone=alone, inline=False)
    call = Op(SPECS["func.call"], tuple(given), {"callee": made.name}, (), (), loop.loc)
    blocks.ops[:] = [*_used(begin, call), call]
    return made


def _stays(op: Op) -> bool:
    """Whether what stands before a block's work may stay in the loop."""
    return op.name == "weft.get" or (op.spec.pure and not op.regions)


def _used(ops: list[Op], call: Op) -> list[Op]:
    """The operations that give what the call takes."""
    wanted, found = set(call.operands), list[Op]()
    for op in reversed(ops):
        if not wanted.isdisjoint(op.results):
            wanted.update(op.operands)
            found.append(op)
    return found[::-1]


def _is_alone(f: Function, v: Value) -> bool:
    """Whether nothing else reaches the memory at an address."""
    if v in f.args:
        return f.args.index(v) in f.alone
    return isinstance(v.owner, Op) and v.owner.name in _OWN


def _returning(region: Region) -> list[Op]:
    """The operations of a region, in which what ends a block returns."""
    for n, op in enumerate(region.ops):
        if op.name == "weft.exit_block":
            region.ops[n] = Op(SPECS["weft.return"], (), {}, (), (), op.loc)
        for inner in op.regions:
            _returning(inner)
    return region.ops
