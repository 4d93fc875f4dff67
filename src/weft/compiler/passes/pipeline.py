"""Which passes a target needs, in order."""

from __future__ import annotations

from weft.compiler.ir.clone import clone_module
from weft.compiler.ir.core import Module
from weft.compiler.passes.end_threads import branch_at_assertions, return_ends
from weft.compiler.passes.heap_arrays import heap_arrays
from weft.compiler.passes.lockstep import lockstep
from weft.compiler.passes.thread_loops import thread_loops
from weft.targets import Target


def run_passes(module: Module, target: Target) -> Module:
    """What ``target`` lowers of an elaborated module, which stays as it is."""
    made = clone_module(module)
    lockstep(made)
    branch_at_assertions(made)
    if target.threads == "loops":
        thread_loops(made)
        heap_arrays(made)
    elif "exit" not in target.machine:
        return_ends(made)
    return made
