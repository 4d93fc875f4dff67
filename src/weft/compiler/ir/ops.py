"""Every operation of the IR, declared once: its operands, results, attributes, regions and effects.

Names are upstream MLIR's where MLIR has the operation; ``weft.*`` are the structured control flow
(MLIR's ``scf`` has no break, continue or early return), mutable slots, and what a host formats.

``name:sort`` declares an operand or attribute, and a result is a sort (``weft.compiler.ir.sorts``); where
that is the name of an operand, the type is that one's. A last operand ``*name`` takes any number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from weft.abi import folds
from weft.compiler.ir import rules
from weft.compiler.ir.core import Op, OpSpec, Sync
from weft.compiler.ir.sorts import AttributeSorts, OpSignature, TypeRule, region_sorts

if TYPE_CHECKING:
    from fractions import Fraction

_INT_PREDICATES = "#eq|ne|slt|sle|sgt|sge|ult|ule|ugt|uge"
_FLOAT_PREDICATES = "#false|oeq|ogt|oge|olt|ole|one|ord|ueq|ugt|uge|ult|ule|une|uno"
_ORDERINGS = "monotonic|acquire|release|acq_rel|seq_cst"
_UPDATES = "add|sub|and|or|xor|xchg|min|max|umin|umax|fadd|fmin|fmax"
_EFFECTS = "none|read|write|block|all"
_AXIS = "dimension:x|y|z"

SPECS: dict[str, OpSpec] = {}
GLOBAL = AttributeSorts(
    "sym_name:name kind:external|constant|uninitialized|scratch space:count elem_type:type count:count"
    " alignment:power value?:str"
)
"""What is written of memory of a module."""
FUNCTION = AttributeSorts(
    "gpu.kernel?:bool weft.over_rank?:count weft.block_rank?:count weft.alone?:ints weft.element?:bool"
    " weft.max_threads?:count weft.min_blocks?:count weft.inline?:bool weft.rare?:bool weft.resumable?:bool"
    " weft.source_name?:str"
)
"""What is written of a function beside its name and type: fields of it, where they are not as always."""

# Of many operations they are the same, and what was found right of one is right of all.
_signature = cache(OpSignature)
_attributes = cache(AttributeSorts)
_regions = cache(region_sorts)


def _declare(
    name: str,
    operands: str = "",
    results: str = "",
    attrs: str = "",
    inner: str = "",
    *,
    types: TypeRule | None = None,
    verify: Callable[[Op], str | None] | None = None,
    pure: bool = False,
    terminator: bool = False,
    writes: bool = False,
    lets_go: bool = False,
    derives: bool = True,
    sync: Callable[[Op], Sync] | None = None,
    fold: Callable[..., float | Fraction] | None = None,
) -> None:
    """One operation; the flags are the fields of ``OpSpec``.

    In checked kernels it may have a ``span``: lines and columns of its expression, first and last.
    """
    parts = _signature(operands, results, types), _attributes(f"{attrs} span?:ints"), _regions(inner)
    flags = pure, terminator, writes, lets_go, derives
    SPECS[name] = OpSpec(name, *parts, verify, *flags, sync, fold)


_pure = partial(_declare, pure=True)
_atomic = partial(_declare, types=rules.exchanges, writes=True, sync=rules.atomic_sync)
_foreign = partial(_declare, lets_go=True, sync=rules.declared_sync)
"""What only the library knows: it declares the effects (``weft.lang.intrinsics``)."""

# Numbers.
_pure("arith.constant", "", "data", "value:number", verify=rules.constant_fits)
_FAST = "none|contract|reassoc,nsz,arcp,contract"
BINARY: dict[str, str] = {}
"""What LLVM calls an operation on two numbers."""
_ints = "addi subi muli divsi divui remsi remui andi ori xori shli shrsi shrui".split()
for _n, _llvm in zip(_ints, "add sub mul sdiv udiv srem urem and or xor shl ashr lshr".split(), strict=True):
    BINARY[f"arith.{_n}"] = _llvm
    _pure(f"arith.{_n}", "lhs:int rhs:lhs", "lhs")
for _n in "add sub mul div rem".split():
    BINARY[f"arith.{_n}f"] = f"f{_n}"
    _pure(f"arith.{_n}f", "lhs:float rhs:lhs", "lhs", f"fastmath?:#arith.fastmath<{_FAST}>")
_pure("arith.negf", "operand:float", "operand")
_int, _float = f"predicate:{_INT_PREDICATES}", f"predicate:{_FLOAT_PREDICATES}"
_pure("arith.cmpi", "lhs:int rhs:lhs", "mask", _int, types=rules.compares)
_pure("arith.cmpf", "lhs:float rhs:lhs", "mask", _float, types=rules.compares)
_pure("arith.select", "condition:mask true:any false:true", "true", types=rules.selects)
CASTS: dict[str, str] = {}
"""What LLVM calls a conversion."""
for _n, _llvm, _from, _to, _rule in (
    ("extsi", "sext", "int", "int", rules.widens),
    ("extui", "zext", "int", "int", rules.widens),
    ("trunci", "trunc", "int", "int", rules.narrows),
    ("extf", "fpext", "float", "float", rules.widens),
    ("truncf", "fptrunc", "float", "float", rules.narrows),
    ("sitofp", "sitofp", "int", "float", rules.converts),
    ("uitofp", "uitofp", "int", "float", rules.converts),
    ("bitcast", "bitcast", "data", "data", rules.reinterprets),
):
    CASTS[f"arith.{_n}"] = _llvm
    _pure(f"arith.{_n}", f"in:{_from}", _to, types=_rule)
for _n in ("llvm.intr.fptosi.sat", "llvm.intr.fptoui.sat"):  # arith's leaves open what does not fit
    _pure(_n, "in:float", "int", types=rules.converts)

# Functions of floats; of the two zeros -0 is the less.
_one, _two, _three = "operand:float", "lhs:float rhs:lhs", "a:float b:a c:a"
FUNCTIONS: dict[str, str] = {}
"""What LLVM calls a function of floats."""
for _n, _llvm, _given, _fold in (
    ("math.sqrt", "sqrt", _one, folds.sqrt),
    ("math.floor", "floor", _one, folds.floor),
    ("math.ceil", "ceil", _one, folds.ceil),
    ("math.trunc", "trunc", _one, folds.trunc),
    ("math.roundeven", "roundeven", _one, folds.roundeven),
    ("math.absf", "fabs", _one, math.fabs),
    ("math.copysign", "copysign", _two, math.copysign),
    ("arith.minnumf", "minimumnum", _two, folds.minimum),
    ("arith.maxnumf", "maximumnum", _two, folds.maximum),
    ("math.fma", "fma", _three, folds.fma),
):
    FUNCTIONS[_n] = _llvm
    _pure(_n, _given, _given.partition(":")[0], fold=_fold)

# Lanes.
_pure("vector.splat", "input:data", "vec", types=rules.splats)
_pure("vector.extractelement", "vector:vec position:index", "data", types=rules.extracts)
_pure("vector.insertelement", "source:data dest:vec position:index", "dest", types=rules.inserts)
_pure("vector.shuffle", "v1:vec v2:v1", "vec", "mask:ints", types=rules.shuffles, verify=rules.mask_in_range)

# Memory. ``llvm.alloca`` has the function's life: of one thread, or of ``count`` elements for each of many.
# ``llvm.mlir.addressof`` says of scratch how many bytes it means.
_place = "elem_type:type count:count alignment:power wide?:bool"
_order = f"ordering:{_ORDERINGS} syncscope:str"
_maybe = f"ordering?:{_ORDERINGS} syncscope?:str"
_pure("llvm.getelementptr", "base:ptr index:index", "base", "elem_type:type")
_pure("llvm.addrspacecast", "arg:ptr", "ptr")
_pure("llvm.mlir.addressof", "", "ptr", "global_name:symbol count?:count")
_pure("llvm.inttoptr", "arg:i64", "ptr")
_pure("llvm.ptrtoint", "arg:ptr", "i64", lets_go=True)
CASTS["llvm.inttoptr"], CASTS["llvm.ptrtoint"] = "inttoptr", "ptrtoint"
_access = partial(_declare, sync=rules.access_sync)
_loaded, _stored = (f"alignment:power {more}volatile:bool {_maybe}" for more in ("invariant:bool ", ""))
_access("llvm.load", "addr:ptr", "any", _loaded, verify=rules.load_orders, derives=False)
_access("llvm.store", "addr:ptr value:any", "", _stored, verify=rules.store_orders, writes=True)
_declare("llvm.alloca", "*count", "ptr", _place, types=rules.one_count)
_atomic("llvm.atomicrmw", "ptr:ptr val:data", "val", f"bin_op:{_UPDATES} {_order}")
_atomic("llvm.cmpxchg", "ptr:ptr cmp:data val:cmp", "cmp i1", _order)
_declare("llvm.fence", "", "", _order, verify=rules.fence_orders, sync=rules.atomic_sync)

_foreign("llvm.call_intrinsic", "*args", "*", f"intrin:name effects:{_EFFECTS}")
_foreign("llvm.inline_asm", "*args", "*", f"asm_string:str constraints:str effects:{_EFFECTS}")
_declare(
    "func.call", "*args", "*", "callee:symbol alike?:bool"
)  # all threads of a block ``alike``: one may do

# Functions of C: one of the process by its name, or the one that the first operand points to; and one of the
# module as C calls it.
_foreign("llvm.call", "*args", "*", f"callee?:symbol effects:{_EFFECTS}")
_pure("func.constant", "", "ptr", "callee:symbol")

# Variables and control flow. ``weft.for`` is Python's range; its region's argument is the index. Rounds of a
# ``parallel`` one are threads; of ``few`` rounds LLVM need not make vectors; a ``strip`` is a vector or two;
# those of ``turns`` are threads that may go on in any order. A ``while`` that ``waits`` is ended by others:
# of the block, who come there too (``together``) or not, or by any. Whole kernels have ``versions``, which
# ask what the launch is.
_declare("weft.slot", "", "ptr", "elem_type:type name:str")
_declare("weft.get", "slot:ptr", "any", verify=rules.slot_holds)
_declare("weft.set", "slot:ptr value:any", verify=rules.slot_holds)
_declare("weft.if", "condition:i1", "", "versions?:bool", inner="then else")
_loop = "parallel:bool few?:bool pairs?:bool strip?:bool turns?:bool"
_declare("weft.for", "lower:index upper:lower step:lower", "", _loop, "body(lower)")
_declare(
    "weft.while", "", "", "blocks?:bool waits?:together|block|any", inner="condition!weft.condition body"
)
_declare("weft.condition", "condition:i1", terminator=True)
_declare("weft.break", terminator=True)
_declare("weft.continue", terminator=True)
_declare("weft.return", "*values", terminator=True)
_declare("llvm.unreachable", terminator=True)

# What the host formats: the values of a print, and of the message of an assertion that fails, in 64 bits.
_declare("weft.print", "*words", "", "site:count")
_declare("weft.assert", "condition:i1 *words", "", "site:count")

# Where memory is checked: a copy that goes on beside its thread, which has its loads and stores, ``begins``
# and ``ends``; the thread ends a ``group`` of them, or waits for ``all``, or until so many groups are left.
# Of a copy whose bytes a ``barrier`` counts: it begins, and a thread has waited for that (``arrived``).
_declare("weft.copies", "*barrier", "", "what:begins|ends|group|all|left|arrived count?:count")

# For a debugger: what a variable holds from here on (or its slots) and how that is shown; that a statement
# begins, though nothing else may be done there; a place to stop at.
_declare("weft.named", "*values", "", "name:name shown:str")
_declare("weft.statement")
_declare("weft.breakpoint")

# What an operator of the user's has computed, for checks of it: its operands, its result.
# An assertion that has failed, or another fault (``every``: they are counted at each place, and the
# first is told of), how often it was told of, and the end of a thread.
_declare("weft.failed", "*words", "", "site:count every?:bool")
_declare("weft.faults", "", "i64", "site:count")
_declare("weft.computed", "*values", "", "what:name source:name dtype:name")
_declare("weft.exit_thread", terminator=True)

# A thread that waits for what nobody does any more, since all of its block are there.
_declare("weft.stuck", "", "", "place:str")

# A thread has looked so many times for what others may write, and saw something of which ``digest`` is made;
# with 0 looks it waits no longer. The runtime is told each time (``every``), or seldom.
_declare("weft.look", "looks:i64 digest:i64", "", "place:str every?:bool")

# Where threads are loops: on to the next block; prints and assertions that call the runtime (the rest:
# block and thread, then the values), a thread that decides otherwise than the first (then that one's
# number, and both decisions), one that waits for ever (block and thread, how many more there are, where) or
# looks (block and thread), and ``llvm.alloca`` from the heap.
_declare("weft.exit_block", terminator=True)
_declare("weft.host_tell", "state:i64 *words", "", "site:count every?:bool")
_declare("weft.host_parted", "state:i64 *rest", "", "place:str flag:bool")
_declare("weft.host_stuck", "state:i64 *rest", "", "place?:str")
_declare("weft.host_look", "state:i64 *rest", "", "place:str every?:bool")
_declare("weft.take_memory", "*count", "ptr", _place, types=rules.one_count)
_declare("weft.give_memory", "memory:ptr", writes=True)

# So many words of 4 bytes go past the caches, to the first address; wait until all of them have.
_declare("weft.stream", "to:ptr from:ptr words:i64", writes=True, lets_go=True)
_declare("weft.streamed", lets_go=True)

# In a resumable function: on to other threads, until this one is resumed; ``place`` is noted at an address.
# Others go on with it by its handle, or end it there.
_declare("weft.suspend", "noted:ptr", "", "place:str", sync=rules.barrier_sync)
_declare("weft.resume", "handle:ptr", "", "ends:bool", sync=rules.barrier_sync)

# What is written in weft (``weft.compiler.support``); a worker that has nothing to do for a moment.
_declare("weft.supported", "launch:ptr value:i64", "i64", "callee:name", lets_go=True)
_declare("weft.rest")

# Which thread this is, and all of a block meeting; extents of an over= launch.
for _n in "thread_id block_id block_dim grid_dim over cluster_dim".split():
    _pure(f"gpu.{_n}", "", "i64", _AXIS)
_declare("gpu.barrier", "", "", "whole?:bool", sync=rules.barrier_sync)

# Where they are loops, so many of a block meeting at a named barrier; who only ``arrives`` goes on.
_declare("gpu.named_barrier", "", "", "number:count threads:count arrives:bool", sync=rules.barrier_sync)

# Where threads are loops: all of a grid or of a cluster meeting, and how far the shared memory of a cluster's
# blocks lies apart.
_declare("gpu.meet", "", "", "group:grid|cluster|warp", sync=rules.barrier_sync)
_pure("gpu.shared_stride", "", "i64")

# The same of a warp, whose lanes are threads that follow each other: a thread's number in its block and in
# its warp, the warp's number, how many threads the block has, what ``value`` is in another lane (``mask`` has
# them where all are known), and one bit for each lane. For these two all lanes meet.
_pure("gpu.thread_number", "", "i64")
_pure("gpu.lane_id", "", "i64")
_pure("gpu.subgroup_id", "", "i64")
_pure("gpu.thread_count", "", "i64")
_declare("gpu.shuffle", "value:any lane:i64", "value", "mask?:ints", sync=rules.barrier_sync)
_declare("gpu.ballot", "predicate:i1", "int", sync=rules.barrier_sync)

# What all lanes of a warp do as one: a function is given the addresses of what they have of each value, one
# lane's behind the other's, and of where they get each result.
_declare("gpu.warp_call", "callee:ptr *values", "*", sync=rules.barrier_sync)
_pure("gpu.dynamic_shared_memory", "", "ptr")
