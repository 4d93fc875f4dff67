"""Every operation of the IR, declared once.

Names are upstream MLIR's where MLIR has the operation; ``weft.*`` are the structured control flow
(MLIR's ``scf`` has no break, continue or early return), mutable slots, and what a host formats.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.ir.core import Op, OpSpec
from weft.ir.types import I1, FloatType, IntType, PointerType, VectorType

__all__ = ["CASTS", "FLOAT_PREDICATES", "INT_PREDICATES", "SPECS"]

INT_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = ("oeq", "une", "olt", "ole", "ogt", "oge", "uno", "ord")

SPECS: dict[str, OpSpec] = {}


def _declare(
    name: str,
    operands: str = "",
    attrs: str = "",
    regions: str = "",
    *,
    results: int = 1,
    pure: bool = False,
    terminator: bool = False,
    verify: Callable[[Op], str | None] | None = None,
    doc: str = "",
) -> None:
    names = [tuple(text.split()) for text in (operands, attrs, regions)]
    SPECS[name] = OpSpec(name, names[0], names[1], names[2], results, pure, terminator, verify, doc)


def _same_ints(op: Op) -> str | None:
    a, b = op.operands
    if a.type is not b.type or a.type is not op.result.type:
        return f"operands and result must have one type, not {a.type}, {b.type}, {op.result.type}"
    return None if isinstance(a.type.scalar, IntType) else f"takes integers, not {a.type}"


def _same_floats(op: Op) -> str | None:
    a = op.operands[0]
    if any(v.type is not op.result.type for v in op.operands):
        return f"operands and result must have one type, not {[v.type for v in op.operands]}"
    return None if isinstance(a.type.scalar, FloatType) else f"takes floats, not {a.type}"


def _compare(op: Op) -> str | None:
    a, b = op.operands
    wanted = IntType if op.name == "arith.cmpi" else FloatType
    if a.type is not b.type or not isinstance(a.type.scalar, wanted):
        return f"cannot compare {a.type} with {b.type}"
    known = INT_PREDICATES if wanted is IntType else FLOAT_PREDICATES
    if op.attrs["predicate"] not in known:
        return f"unknown predicate {op.attrs['predicate']}"
    return None if op.result.type.scalar is I1 and op.result.type.lanes == a.type.lanes else "gives i1 lanes"


def _select(op: Op) -> str | None:
    c, a, b = op.operands
    if c.type.scalar is not I1 or c.type.lanes not in (1, a.type.lanes):
        return f"condition must be i1 or a mask, not {c.type}"
    return None if a.type is b.type is op.result.type else f"chooses between {a.type} and {b.type}"


def _condition(op: Op) -> str | None:
    return None if op.operands[0].type is I1 else f"condition must be i1, not {op.operands[0].type}"


def _loop(op: Op) -> str | None:
    types = {v.type for v in op.operands} | {op.regions[0].args[0].type}
    return None if len(types) == 1 and isinstance(next(iter(types)), IntType) else f"bounds differ: {types}"


def _address(op: Op) -> str | None:
    p = op.operands[0].type
    return None if isinstance(p, PointerType) else f"needs a pointer, not {p}"


def _shuffle(op: Op) -> str | None:
    a = op.operands[0].type
    mask = op.attrs["mask"]
    ok = isinstance(mask, tuple) and all(0 <= i < 2 * a.lanes for i in mask)
    return None if ok and isinstance(a, VectorType) else f"bad mask {mask} for {a}"


_declare("arith.constant", attrs="value", pure=True)
for _n in "addi subi muli divsi divui remsi remui andi ori xori shli shrsi shrui".split():
    _declare(f"arith.{_n}", "lhs rhs", pure=True, verify=_same_ints)
for _n in "addf subf mulf divf remf".split():
    _declare(f"arith.{_n}", "lhs rhs", "fastmath", pure=True, verify=_same_floats)
_declare("arith.negf", "operand", pure=True, verify=_same_floats)
_declare("arith.cmpi", "lhs rhs", "predicate", pure=True, verify=_compare)
_declare("arith.cmpf", "lhs rhs", "predicate", pure=True, verify=_compare)
_declare("arith.select", "condition true false", pure=True, verify=_select)
CASTS = {
    "arith.extsi": "sext",
    "arith.extui": "zext",
    "arith.trunci": "trunc",
    "arith.extf": "fpext",
    "arith.truncf": "fptrunc",
    "arith.sitofp": "sitofp",
    "arith.uitofp": "uitofp",
    "arith.bitcast": "bitcast",
}
for _n in CASTS:
    _declare(_n, "in", pure=True)

_declare("vector.splat", "input", pure=True)
_declare("vector.extractelement", "vector position", pure=True)
_declare("vector.insertelement", "source dest position", pure=True)
_declare("vector.shuffle", "v1 v2", "mask", pure=True, verify=_shuffle)

_declare("llvm.getelementptr", "base index", "elem_type", pure=True, verify=_address)
_declare("llvm.addrspacecast", "arg", pure=True)
_declare("llvm.mlir.addressof", attrs="global_name", pure=True)
_declare("llvm.load", "addr", "alignment invariant volatile", verify=_address)
_declare("llvm.store", "addr value", "alignment volatile", results=0, verify=_address)
_declare(
    "llvm.alloca",
    "*count",
    "elem_type count alignment",
    doc="memory with the function's life: of one thread, or of ``count`` elements for each of many",
)
_declare("llvm.atomicrmw", "ptr val", "bin_op ordering syncscope", verify=_address)
_declare("llvm.cmpxchg", "ptr cmp val", "ordering syncscope", results=2, verify=_address)
_declare("llvm.fence", attrs="ordering syncscope", results=0)
_declare("llvm.call_intrinsic", "*args", "intrin pure", results=-1)
_declare("llvm.inline_asm", "*args", "asm_string constraints has_side_effects", results=-1)
_declare("llvm.extractvalue", "container", "position", pure=True)
_declare("func.call", "*args", "callee", results=-1)

_declare("weft.slot", attrs="elem_type name", doc="a mutable local variable")
_declare("weft.get", "slot", doc="reads a slot")
_declare("weft.set", "slot value", results=0, doc="writes a slot")
_declare("weft.if", "condition", regions="then else", results=0, verify=_condition)
_declare(
    "weft.for",
    "lower upper step",
    "parallel",
    regions="body",
    results=0,
    verify=_loop,
    doc="Python's range; the region's argument is the index",
)
_declare("weft.while", regions="condition body", results=0, doc="condition ends in weft.condition")
_declare("weft.condition", "condition", results=0, terminator=True, verify=_condition)
_declare("weft.break", results=0, terminator=True)
_declare("weft.continue", results=0, terminator=True)
_declare("weft.return", "*values", results=0, terminator=True)
_declare("llvm.unreachable", results=0, terminator=True)
_declare("weft.print", "*values", "site", results=0, doc="delivers values to the host, which formats them")
_declare(
    "weft.assert",
    "condition *values",
    "site",
    results=0,
    verify=_condition,
    doc="delivers the values of its message if it fails",
)

_declare("weft.exit_thread", results=0, terminator=True, doc="on to the next thread of a thread loop")
_declare("weft.host_print", "state *values", "site", results=0, doc="weft.print where the runtime is called")
_declare("weft.take_memory", "*count", "elem_type count alignment", doc="llvm.alloca from the heap")
_declare("weft.give_memory", "memory", results=0, doc="what weft.take_memory took")
_declare(
    "weft.host_assert",
    "condition state *rest",
    "site",
    results=0,
    verify=_condition,
    doc="weft.assert where the runtime is called; the rest: block and thread, then the values",
)

_declare("gpu.thread_id", attrs="dimension", pure=True, doc="where no hardware register holds it")
_declare("gpu.block_id", attrs="dimension", pure=True)
_declare("gpu.block_dim", attrs="dimension", pure=True)
_declare("gpu.grid_dim", attrs="dimension", pure=True)
_declare("gpu.over", attrs="dimension", pure=True, doc="extent of an over= launch; y and z as x")
_declare("gpu.barrier", results=0)
_declare("gpu.dynamic_shared_memory", pure=True)
