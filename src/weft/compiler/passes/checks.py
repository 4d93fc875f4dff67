"""What is done to kernels that are checked, by the words of ``abi/checks.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from weft.abi.artifact import FaultSite
from weft.compiler.ir.core import Function, Module
from weft.compiler.passes.arithmetic import check_arithmetic, forget_arithmetic
from weft.compiler.passes.bounds import check_memory
from weft.compiler.passes.faults import count_assertions
from weft.compiler.passes.inline_barriers import inline
from weft.compiler.passes.races import Checks
from weft.compiler.passes.under_way import forget_copies
from weft.compiler.passes.waits import mark_waits


def add_checks(
    module: Module,
    wanted: Mapping[str, frozenset[str]],
    new_site: Callable[[Function, FaultSite], int],
    races: Checks | None,
    *,
    loops: bool,
    versions: bool,
) -> None:
    """Have the kernels of a module check what is wanted of them, by their names, in place.

    What they call is put into them; a kernel that is checked takes two more arguments for every pointer among
    its own. ``new_site`` gives a site its number, ``races`` the functions that note accesses, where there are
    any.
    """
    ops = [op for f in module.functions for op in f.body.walk()]
    pointed = {str(op.attrs["callee"]) for op in ops if op.name == "func.constant"}
    inline(module, lambda f: f.name not in pointed)
    if loops:
        mark_waits(module)
    count_assertions(module)
    for kernel in [f for f in module.functions if f.kernel and wanted[f.name]]:
        checks = wanted[kernel.name]

        def new(site: FaultSite, kernel: Function = kernel) -> int:
            return new_site(kernel, site)

        check_arithmetic(kernel, checks, new)
        shadow = races if "races" in checks else None
        how = {"loops": loops, "versions": versions}
        check_memory(module, kernel, new, bounds="bounds" in checks, races=shadow, **how)
    forget_arithmetic(module)
    forget_copies(module)
