"""What each pass does to a kernel, weft's own and LLVM's, and takes: ``weft inspect --emit passes``."""

from __future__ import annotations

import difflib
import time
from typing import Any

from weft.compiler.ir.printer import print_module
from weft.compiler.llvm.traced import traced
from weft.compiler.passes.pipeline import run_passes
from weft.compiler.pipeline import Compilation
from weft.record import record

_CONTEXT = 2
"""Lines around each difference."""
_SLOWEST = 15


@record
class Step:
    """A pass on a function: the difference as ``diff -u`` writes it, and milliseconds where known."""

    name: str
    function: str
    difference: list[str]
    took: float | None = None


def own_steps(made: Compilation) -> list[Step]:
    """What weft's own passes do, in their order; the milliseconds are without printing."""
    steps: list[Step] = []
    before = print_module(made.module).splitlines()
    start = time.perf_counter()

    def seen(name: str, module: Any) -> None:
        nonlocal before, start
        took = (time.perf_counter() - start) * 1e3
        after = print_module(module).splitlines()
        steps.append(Step(name, "module", difference(before, after), took))
        before, start = after, time.perf_counter()

    even = all(options.even for options in made.options)
    order = max(options.order for options in made.options)
    run_passes(made.module, made.target, even=even, order=order, debug=made.debug, seen=seen)
    return steps


def difference(before: list[str], after: list[str], names: tuple[str, str] = ("", "")) -> list[str]:
    """Two texts as ``diff -u`` compares them, without a head where they have no names."""
    lines = list(difflib.unified_diff(before, after, *names, n=_CONTEXT, lineterm=""))
    return lines if any(names) else lines[2:]


def passes_text(made: Compilation) -> str:
    """All passes that change a kernel, each with the difference that it makes, and the slowest at the end.

    Raises:
        CompileError: LLVM cannot compile it, or does not show its passes.
    """
    own, llvm = own_steps(made), traced(made.llvm(), made.target)
    steps = [step for step in own if step.difference]
    for change in llvm.changes:
        if change.before is None:
            made_of = [f"{len(change.after)} lines in this form:", *(f" {line}" for line in change.after)]
            steps.append(Step(change.step, change.function, made_of))
        else:
            took = llvm.times.get(change.step)
            steps.append(Step(change.step, change.function, difference(change.before, change.after), took))
    lines: list[str] = []
    for step in steps:
        took = "" if step.took is None else f", {step.took:.1f} ms"
        lines += [f"=== {step.name} on {step.function}{took}", *step.difference, ""]
    times = {f"weft: {step.name}": step.took or 0.0 for step in own} | llvm.times
    slowest = sorted(times.items(), key=lambda item: -item[1])[:_SLOWEST]
    lines += [f"=== the slowest of {len(times)} passes, in milliseconds"]
    return "\n".join([*lines, *(f"{took:8.1f}  {name}" for name, took in slowest), ""])
