"""Single passes on modules written as text, before and after.

Each file of ``passes/`` is named after a pass and what it shows: a module as it comes to the pass, then what
the pass leaves or finds. ``pytest --update-golden`` writes what follows ``// After``; read the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mlir_text import parse_module
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Module, Value
from weft.compiler.ir.printer import print_module
from weft.compiler.ir.types import I64, AddressSpace, pointer
from weft.compiler.ir.verify import verify_module
from weft.compiler.passes import thread_context as context
from weft.compiler.passes.barrier_split import BarrierBody
from weft.compiler.passes.block_functions import block_functions
from weft.compiler.passes.block_order import goes_down
from weft.compiler.passes.counted import counted
from weft.compiler.passes.end_threads import branch_at_assertions, return_ends
from weft.compiler.passes.first_threads import differs
from weft.compiler.passes.forwarded import forwarded
from weft.compiler.passes.guard_bounds import take_guards
from weft.compiler.passes.heap_arrays import heap_arrays
from weft.compiler.passes.inline_barriers import inline_barriers
from weft.compiler.passes.inline_strides import inline_strides
from weft.compiler.passes.lockstep import lockstep
from weft.compiler.passes.meeting import Decisions
from weft.compiler.passes.pairs import pairs
from weft.compiler.passes.registers import registers
from weft.compiler.passes.short_compares import short_compares
from weft.compiler.passes.thread_loops import thread_loops
from weft.compiler.passes.together import Together
from weft.compiler.passes.uniformity import LOOPS, Uniformity
from weft.compiler.passes.written_out import written_out
from weft.diagnostics import CompileError

FILES = sorted((Path(__file__).parent / "passes").glob("*.mlir"))
AFTER = "// After\n"


def end_threads(module: Module) -> None:
    branch_at_assertions(module)
    return_ends(module)


def guard_bounds(module: Module) -> str:
    """The bounds that a guard stood for: threads along an axis, and what is added to them."""
    out = ""
    for bound in take_guards(kernel_of(module)):
        added = "".join(f" + %{v.name}" for v in bound.place.plus)
        added += "".join(f" - %{v.name}" for v in bound.place.minus)
        sign = "<=" if bound.inclusive else "<"
        out += f"// thread {'xyz'[bound.axis]}{added} {sign} %{bound.limit.name}, "
        out += f"which is from {bound.least} to {bound.greatest}\n"
    return out


def uniformity(module: Module) -> str:
    same = _uniformity(module).same
    return "".join(f"// {'shared' if same(v) else 'own   '} %{v.name}\n" for v in values(kernel_of(module)))


def first_threads(module: Module) -> str:
    same = _uniformity(module).same
    return "".join(
        f"// {'differs' if differs(v, same) else 'unknown'} %{v.name}\n" for v in values(kernel_of(module))
    )


def _uniformity(module: Module) -> Uniformity:
    return Uniformity(kernel_of(module), {f.name: f for f in module.functions})


def together(module: Module) -> str:
    """Which loops, and which variables."""
    k = kernel_of(module)
    plan = Together(k, {f.name: f for f in module.functions}, _uniformity(module))
    out = ""
    for op in k.body.walk():
        if op.name == "weft.slot" and op.result in plan.variables:
            out += f"// variable {op.attrs['name']}\n"
        elif op.name in LOOPS:
            how = "behind each other" if op in plan.strided else "together" if op in plan.chosen else "each"
            out += f"// {how}: {op.regions[0].args[0].name if op.name == 'weft.for' else 'while'}\n"
    return out


def block_order(module: Module) -> str:
    return "".join(f"// {f.name}: along {'y' if goes_down(f) else 'x'}\n" for f in module.functions)


def thread_context(module: Module) -> None:
    """The kernel's own helpers, without the kernel, which is for ``thread_loops`` to make."""
    frame = context.Frame.of(module, kernel_of(module), context.needs_context(module))
    module.functions = [
        context.add_context_parameters(f, frame) if f.name in frame.helpers else f
        for f in module.functions
        if not f.kernel
    ]


_EXTENTS = ("block", "thread", "block_dim", "grid_dim", "cluster_dim")


def barrier_split(module: Module) -> None:
    """One block: a function of the kernel's parameters and of what is known of block and launch."""
    k = kernel_of(module)
    names = [f"{name}_{axis}" for name in _EXTENTS for axis in "xyz"]
    known = [Value(I64, None, name) for name in ("state", *names, "shared_stride")] + [
        Value(pointer(AddressSpace.SHARED), None, "shared")
    ]
    parameters = [Value(a.type, None, a.name) for a in k.args]
    made = Function("block", [*parameters, *known])
    b, head = Builder(), list[context.Op]()
    b.region = made.body
    functions = {f.name: f for f in module.functions}
    decisions = Decisions(k, functions)
    plan = decisions, Together(k, functions, decisions.uniformity)
    at = context.Context.of(known)
    frame = context.Frame.of(module, k, context.needs_context(module))
    BarrierBody(b, k, at, frame, head, parameters, at.block_dim, *plan).emit()
    b.emit("weft.return")
    made.body.ops[:0] = head
    module.functions[:] = [made]


PASSES: list[Callable[[Module], str | None]] = [
    lockstep,
    end_threads,
    inline_barriers,
    guard_bounds,
    uniformity,
    first_threads,
    thread_context,
    together,
    block_order,
    registers,
    inline_strides,
    written_out,
    forwarded,
    counted,
    barrier_split,
    thread_loops,
    heap_arrays,
    block_functions,
    pairs,
    short_compares,
]
ANALYSES = (uniformity, first_threads, together, block_order)


def kernel_of(module: Module) -> Function:
    return next(f for f in module.functions if f.kernel)


def values(f: Function) -> list[Value]:
    """The values of a function that have names."""
    found = [*f.args]
    for op in f.body.walk():
        found += [*op.results, *(a for region in op.regions for a in region.args)]
    return [v for v in found if v.name]


def after(run: Callable[[Module], str | None], text: str) -> str:
    module = parse_module(text)
    verify_module(module)
    try:
        found = run(module) or ""
    except CompileError as error:
        return "".join(f"// {line}".rstrip() + "\n" for line in str(error).splitlines())
    if run in ANALYSES:
        return found
    verify_module(module)
    return found + print_module(module)


def test_every_pass_has_files() -> None:
    assert {path.name.partition(".")[0] for path in FILES} == {run.__name__ for run in PASSES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_pass(path: Path, request: pytest.FixtureRequest) -> None:
    before, _, expected = path.read_text(encoding="utf-8").partition(AFTER)
    [run] = [run for run in PASSES if run.__name__ == path.name.partition(".")[0]]
    found = after(run, before)
    if request.config.getoption("--update-golden"):
        path.write_text(before + AFTER + found, encoding="utf-8", newline="\n")
    else:
        assert found == expected
