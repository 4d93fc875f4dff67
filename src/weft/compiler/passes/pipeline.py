"""Which passes a target needs, in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from weft.compiler.ir.clone import clone_module
from weft.compiler.ir.core import Module
from weft.compiler.passes.block_functions import block_functions
from weft.compiler.passes.conversions import conversions
from weft.compiler.passes.counted import counted
from weft.compiler.passes.end_threads import branch_at_assertions, return_ends
from weft.compiler.passes.forwarded import forwarded
from weft.compiler.passes.given_steps import given_steps
from weft.compiler.passes.heap_arrays import heap_arrays
from weft.compiler.passes.inline_strides import inline_strides
from weft.compiler.passes.lockstep import lockstep
from weft.compiler.passes.pairs import pairs
from weft.compiler.passes.registers import registers
from weft.compiler.passes.short_compares import short_compares
from weft.compiler.passes.short_divisions import short_divisions
from weft.compiler.passes.thread_order import groups_turn, in_order
from weft.compiler.passes.written_out import written_out
from weft.targets import Target

_ENDS = frozenset(("weft.assert", "weft.exit_thread"))


def run_passes(
    module: Module,
    target: Target,
    *,
    order: int = 0,
    even: bool = False,
    large: bool = False,
    debug: bool = False,
    seen: Callable[[str, Module], object] | None = None,
) -> Module:
    """What ``target`` lowers of an elaborated module, which stays as it is.

    Where threads are the machine's, most modules are that themselves: nothing ends threads early in them,
    and no thread does several elements. ``order``: that of threads that are loops (``thread_order``);
    ``even``: their blocks have a multiple of ``STRIP`` of them along x; ``large``: a launch may read and
    write more than caches hold; ``debug``: arrays stay. ``seen`` is called with the module after each pass.
    """
    loops = target.threads == "loops"
    if not loops and not _changes(module):
        return module
    passes: list[tuple[bool, Callable[[Module], object]]] = [
        (loops, _whole_warps),
        (True, lockstep),
        (True, branch_at_assertions),
        (loops and not debug, registers),
        (loops and not debug, inline_strides),
        (loops and not debug, written_out),
        (loops and not debug, forwarded),
        (loops and not debug, counted),
        (loops and not debug, given_steps),
        (loops and not debug, short_divisions),
        (loops and not debug, conversions),
        (loops, partial(_thread_loops, even=even, order=order)),
        (loops and not debug, short_compares),
        (loops and large and bool(target.waits_for_streams), _streaming_stores),
        (loops and even, pairs),
        (loops and order > 0, partial(in_order, order=order)),
        (loops, heap_arrays),
        (loops, block_functions),
        (not loops and "exit" not in target.machine, return_ends),
    ]
    made = clone_module(module)
    for wanted, run in passes:
        if wanted:
            run(made)
            if seen is not None:
                seen(getattr(run, "func", run).__name__.strip("_").replace("_", " "), made)
    return made


def _thread_loops(module: Module, *, even: bool, order: int) -> None:
    # Here, since it is most of what passes are, and GPUs need none of it.
    from weft.compiler.passes.thread_loops import thread_loops

    thread_loops(module, even=even, turned=groups_turn(order))


def _whole_warps(module: Module) -> None:
    from weft.compiler.passes.whole_warps import whole_warps  # here, as above

    whole_warps(module)


def _streaming_stores(module: Module) -> None:
    from weft.compiler.passes.streaming_stores import streaming_stores  # here, as above

    streaming_stores(module)


def _changes(module: Module) -> bool:
    return any(f.element or any(op.spec.name in _ENDS for op in f.body.walk()) for f in module.functions)
