"""Which passes a target needs, in order."""

from __future__ import annotations

from weft.compiler.ir.clone import clone_module
from weft.compiler.ir.core import Module
from weft.compiler.passes.backward import backward as turn_round
from weft.compiler.passes.block_functions import block_functions
from weft.compiler.passes.end_threads import branch_at_assertions, return_ends
from weft.compiler.passes.heap_arrays import heap_arrays
from weft.compiler.passes.lockstep import lockstep
from weft.compiler.passes.pairs import pairs
from weft.compiler.passes.registers import registers
from weft.compiler.passes.thread_loops import thread_loops
from weft.targets import Target

_ENDS = frozenset(("weft.assert", "weft.exit_thread"))


def run_passes(
    module: Module, target: Target, *, backward: bool = False, even: bool = False, debug: bool = False
) -> Module:
    """What ``target`` lowers of an elaborated module, which stays as it is.

    Where threads are the machine's, most modules are that themselves: nothing ends threads early in them,
    and no thread does several elements. ``backward``: threads that are loops go from the last to the first;
    ``even``: their blocks have a multiple of ``STRIP`` of them along x; ``debug``: arrays stay.
    """
    if target.threads != "loops" and not _changes(module):
        return module
    made = clone_module(module)
    lockstep(made)
    branch_at_assertions(made)
    if target.threads == "loops":
        if not debug:
            registers(made)
        thread_loops(made, even=even)
        if even:
            pairs(made)
        if backward:
            turn_round(made)
        heap_arrays(made)
        block_functions(made)
    elif "exit" not in target.machine:
        return_ends(made)
    return made


def _changes(module: Module) -> bool:
    return any(f.element or any(op.spec.name in _ENDS for op in f.body.walk()) for f in module.functions)
