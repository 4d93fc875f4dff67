"""Compiling without launching, to see what became of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from weft.compiler.frontend.options import CompileOptions
from weft.compiler.llvm.emit import warm
from weft.compiler.pipeline import EmissionKind, check_emission_kind, elaborate_kernel
from weft.diagnostics import CompileError, a_, caller_location
from weft.lang.accept import Mismatch, note_mismatch, spec_of_annotation
from weft.lang.decorators import Compiled, Kernel
from weft.lang.decorators import kernel as make_kernel
from weft.lang.problems import Problems
from weft.lang.signature import MISSING, Parameter, bind, parameters
from weft.lang.spec import Spec, StaticSpec
from weft.targets import Target, find_target

__all__ = ["Info", "compile_info"]


@dataclass(frozen=True, slots=True)
class Info:
    """What a kernel was compiled to. ``str(info)`` is its text."""

    name: str
    """The kernel's symbol in its machine code."""
    target: str
    """What it was compiled for, such as ``sm_90``."""
    emission_kind: EmissionKind
    """Which form ``code`` has."""
    code: str | bytes
    """The text, or the bytes of an object file."""
    times: Mapping[str, float] = field(compare=False, repr=False)
    """How long each stage took, in milliseconds."""

    def __str__(self) -> str:
        if isinstance(self.code, str):
            return self.code
        return f"<object file of {self.name} for {self.target}, {len(self.code)} bytes>"


def compile_info(
    f: Callable[..., Any] | Compiled,
    /,
    *types: Any,
    emission_kind: EmissionKind = "asm",
    target: str | Target | None = None,
    over: int = 0,
    **named: Any,
) -> Info:
    """Compile a kernel, for this machine or another, and show one of the stages.

    Args:
        f: the kernel, or a function that returns nothing.
        types: for the parameters whose annotations leave something open, in their order: the layout
            of a ``LayoutTensor[T]``, the type of a parameter without annotation.
        emission_kind: ``"ir"`` as elaborated, ``"llvm"`` before and ``"llvm-opt"`` after LLVM's
            optimisation, ``"asm"`` (PTX on NVIDIA) or ``"object"``.
        target: the machine, such as ``"sm_90"`` or ``"aarch64"``; by default the one that
            ``DeviceContext()`` takes here.
        over: for a launch over a range, its number of extents; the edge's guard is compiled in then.
        named: compile-time parameters by name, and types by the name of their parameter.

    Raises:
        CompileError: the kernel cannot be compiled, or there is no such target or emission kind.

    Example:
        >>> from weft import Float32, Int, Pointer, kernel
        >>> from weft.gpu import global_idx
        >>> @kernel
        ... def double(x: Pointer[Float32], n: Int):
        ...     if global_idx.x < n:
        ...         x[global_idx.x] *= 2.0
        >>> info = compile_info(double, target="sm_80")
        >>> info.name, info.target, ".visible .entry double(" in str(info)
        ('double', 'sm_80', True)
    """
    kind = check_emission_kind(emission_kind)
    found = find_target(default_target() if target is None else target)
    kernel = _as_kernel(f)
    from weft.launch.ranges import describe_over

    if type(over) is not int or not 0 <= over <= 3:
        message = f"over={over!r} is no number of extents, which is 0 to 3"
        hint = "write over=2 for a range of rows and columns"
        raise CompileError.at("over", message, caller_location(), hints=(hint,))
    specs = _specs(kernel, types, named)
    if kind not in ("ir", "llvm"):
        warm()
    options = CompileOptions(describe_over(over) if over else None, distinct=True)
    made = elaborate_kernel(kernel, specs, found, options)
    code = made.emit(kind)
    return Info(made.kernels[0].entry, found.name, kind, code, dict(made.times))


def default_target() -> str:
    """The target of the device that ``DeviceContext()`` takes."""
    from weft.runtime.drivers import default_api, find_driver

    return find_driver(default_api()).device_info(0).target


def _as_kernel(f: Callable[..., Any] | Compiled) -> Kernel[...]:
    if isinstance(f, Kernel):
        return f
    if isinstance(f, Compiled):
        return Kernel(f.definition, f.bound)
    if isinstance(f, FunctionType):
        return make_kernel(f)
    problems = Problems()
    what = getattr(f, "__name__", "") or a_(type(f).__name__)
    hint = "pass a function decorated with @kernel"
    problems.add("not-a-kernel", f"{what} is not a function that weft can compile", hint, at=0)
    raise CompileError(problems.placed(caller_location(), 1))


def _specs(kernel: Kernel[...], types: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Spec]:
    """The specs of all parameters: from annotations, from ``types`` where these leave something open."""
    fn = kernel.definition
    problems = Problems()
    specs: dict[str, Spec] = {}
    waiting = list(types)
    for p in parameters(kernel.definition):
        if p.comptime:
            value = {**kernel.bound, **named}.get(p.name, p.default)
            if value is not MISSING:
                specs[p.name] = StaticSpec(value)
            continue
        given = named.get(p.name, MISSING)
        try:
            if given is MISSING and waiting and _is_open(p):
                given = waiting.pop(0)
            specs[p.name] = _spec(p, given)
        except Mismatch as found:
            specs[p.name] = StaticSpec(None)
            if found.annotation and p.annotation is not MISSING:
                note_mismatch(problems, fn, p, found, None)
                continue
            message = f"the type of `{p.name}` is not known: found {found.found}, allowed is {found.allowed}"
            if given is MISSING:
                message = f"compiling {fn.name} without a launch needs to know the type of `{p.name}`"
            hint = f"annotate it, or pass its type: {p.name}=Pointer[Float32], say"
            if p.annotation is not MISSING and found.hint:
                hint = found.hint.replace("e.g. Layout", f"e.g. {p.name}=Layout")
            problems.add("open-type", message, hint)
    if waiting:
        open_count = len(types) - len(waiting)
        message = f"{len(types)} types were given, but the annotations of {fn.name} leave {open_count} open"
        problems.add("open-type", message, "leave out the rest", at=1 + open_count)
    unbound = {n: v for n, v in {**dict.fromkeys(specs), **named}.items() if n not in kernel.bound}
    problems.found += bind(fn, (), unbound, kernel.bound, ("emission_kind", "target", "over"))[1].found
    if problems:
        raise CompileError(problems.placed(caller_location(), 1 + len(types)))
    return specs


def _is_open(p: Parameter) -> bool:
    try:
        spec_of_annotation(p.annotation)
    except Mismatch:
        return True
    return False


def _spec(p: Parameter, given: Any) -> Spec:
    if p.annotation is MISSING and given is not MISSING:
        return spec_of_annotation(given)
    return spec_of_annotation(p.annotation, given)
