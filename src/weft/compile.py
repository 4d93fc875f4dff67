"""Compiling without launching, to see what became of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal

from weft.compiler.frontend.options import CompileOptions
from weft.compiler.pipeline import Compilation, EmissionKind, check_emission_kind, elaborate_kernel
from weft.compiler.source.definition import Definition
from weft.diagnostics import CompileError, Diagnostic, a_, caller_location
from weft.diagnostics.modules import present
from weft.diagnostics.problems import Problems
from weft.lang.accept import Mismatch, accept, is_open, note_mismatch, spec_of_annotation
from weft.lang.decorators import Compiled, Kernel
from weft.lang.decorators import kernel as make_kernel
from weft.lang.generic import describe_annotation, substitute, type_meant, unify
from weft.lang.scalars import Float32
from weft.lang.signature import MISSING, Parameter, bind, parameters
from weft.lang.spec import Spec, StaticSpec
from weft.lang.type_variables import check_types, type_of
from weft.record import field, record, replace
from weft.targets import Target, find_target
from weft.targets.known import check_opt_level

if TYPE_CHECKING:
    from weft.targets.occupancy import Resources

__all__ = ["CodeKind", "Info", "compile_info"]

_OPTIONS = ("emission_kind", "target", "over", "opt_level")
"""What ``compile_info`` is given by name beside parameters."""
CodeKind = EmissionKind | Literal["sass"]
"""The forms that ``compile_info`` shows."""


@record
class Info:
    """What a kernel was compiled to. ``str(info)`` is its text."""

    name: str
    """The kernel's symbol in its machine code."""
    target: str
    """What it was compiled for, such as ``sm_90``."""
    emission_kind: CodeKind
    """Which form ``code`` has."""
    code: str | bytes = field(repr=False)
    """The text, or the bytes of an object file."""
    times: Mapping[str, float] = field(compare=False, repr=False)
    """How long each stage took, in milliseconds."""
    warnings: tuple[Diagnostic, ...] = field(default_factory=tuple, repr=False)
    """What is legal in it and hardly meant so; each was a warning too."""
    _assembly: str = field(default_factory=str, compare=False, repr=False)
    _opt_level: int | None = field(default_factory=lambda: None, compare=False, repr=False)

    @property
    def resources(self) -> Resources:
        """What the kernel uses of an NVIDIA GPU: registers, spills, shared memory, and so its occupancy.

        It is NVIDIA's assembler that tells, so ``ptxas`` has to be found: in the wheel
        ``nvidia-cuda-nvcc-cu12``, in a toolkit or on the PATH. The kinds ``"asm"``, ``"object"`` and
        ``"sass"`` have it.

        Raises:
            CompileError: this is another kind, or for a CPU, or there is no assembler here.

        Example:
            >>> from weft import Float32, Pointer, kernel
            >>> from weft.gpu import global_idx
            >>> @kernel
            ... def clear(x: Pointer[Float32]):
            ...     x[global_idx.x] = 0.0
            >>> used = compile_info(clear, target="sm_90").resources  # doctest: +SKIP
            >>> used.spill_loads, used.occupancy(256).fraction  # doctest: +SKIP
            (0, 1.0)
        """
        from weft.runtime.drivers import toolkit

        tools = toolkit(find_target(self.target).format)
        if not self._assembly or tools is None:
            message = f"the {self.emission_kind} of {self.name} for {self.target} does not tell what it uses"
            hint = "ask compile_info(..., emission_kind='asm', target='sm_90').resources"
            raise CompileError.at("no-assembler", message, caller_location(), hints=(hint,))
        return tools.assemble(self._assembly, self._opt_level)[1]

    def __str__(self) -> str:
        if isinstance(self.code, str):
            return self.code
        return f"<object file of {self.name} for {self.target}, {len(self.code)} bytes>"


def compile_info(
    f: Callable[..., Any] | Compiled,
    /,
    *types: Any,
    emission_kind: CodeKind = "asm",
    target: str | Target | None = None,
    over: int = 0,
    opt_level: int | None = None,
    **named: Any,
) -> Info:
    """Compile a kernel, for this machine or another, and show one of the stages.

    Args:
        f: the kernel, or a function that returns nothing.
        types: for the parameters whose annotations leave something open, in their order: the layout
            of a ``LayoutTensor[T]``, the type of a parameter without annotation, or the tensor or function
            that it is to be given.
        emission_kind: ``"ir"`` as elaborated, ``"llvm"`` before and ``"llvm-opt"`` after LLVM's
            optimisation, ``"asm"`` (PTX on NVIDIA), ``"object"`` (a cubin on NVIDIA), or ``"sass"``,
            NVIDIA's machine code with the lines of the source. For the last two NVIDIA's ``ptxas`` and
            ``nvdisasm`` have to be found, in the wheels ``nvidia-cuda-nvcc-cu12`` and
            ``nvidia-cuda-nvdisasm``, in a toolkit or on the PATH.
        target: the machine, such as ``"sm_90"`` or ``"aarch64"``; by default the one that
            ``DeviceContext()`` takes here.
        over: for a launch over a range, its number of extents; the edge's guard is compiled in then.
        opt_level: how much LLVM and a GPU's assembler optimise, from 0 to 3; by default as a launch does.
        named: compile-time parameters by name, and types by the name of their parameter.

    Raises:
        CompileError: the kernel cannot be compiled, there is no such target, emission kind or level of
            optimisation, or no assembler.

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
    found = find_target(default_target() if target is None else target)
    sass = type(emission_kind) is str and emission_kind == "sass" and found.format == "ptx"
    kind = "sass" if sass else check_emission_kind(emission_kind)
    made = elaborated(f, types, found, over, named, warmed=kind not in ("ir", "llvm"), opt_level=opt_level)
    code, assembly = _code(made, kind)
    return Info(
        made.kernels[0].entry, found.name, kind, code, dict(made.times), made.doubts, assembly, opt_level
    )


def elaborated(
    f: Callable[..., Any] | Compiled,
    types: tuple[Any, ...],
    target: str | Target | None,
    over: int,
    named: Mapping[str, Any],
    *,
    warmed: bool = True,
    opt_level: int | None = None,
) -> Compilation:
    """A kernel as ``compile_info`` takes it, elaborated. ``warmed``: LLVM will be asked.

    Raises:
        CompileError: the kernel cannot be compiled, or there is no such target or level of optimisation.
    """
    from weft.launch.ranges import describe_over

    found = find_target(default_target() if target is None else target)
    kernel = _as_kernel(f)
    if type(over) is not int or not 0 <= over <= 3:
        message = f"over={over!r} is no number of extents, which is 0 to 3"
        hint = "write over=2 for a range of rows and columns"
        raise CompileError.at("over", message, caller_location(), hints=(hint,))
    specs = specs_of(kernel, named, types)
    if warmed:
        from weft.compiler.llvm.emit import warm

        warm(found)
    even = not over and found.threads == "loops"
    options = CompileOptions(describe_over(over) if over else None, distinct=True, even=even)
    options = options._replace(opt_level=check_opt_level(opt_level))
    return elaborate_kernel(kernel, specs, found, options)


def _code(made: Compilation, kind: CodeKind) -> tuple[str | bytes, str]:
    """A form of a kernel, and the assembly that a vendor's tools take, where that is known."""
    from weft.runtime.drivers import toolkit

    tools = toolkit(made.target.format)
    if tools is None or kind not in ("asm", "object", "sass"):
        return made.emit(check_emission_kind(kind)), ""
    assembly = str(made.emit("asm"))
    if kind == "asm":
        return assembly, assembly
    binary = tools.assemble(assembly, made.options[0].opt_level)[0]
    return binary if kind == "object" else tools.disassemble(binary), assembly


def default_target() -> str:
    """The target of the device that ``DeviceContext()`` takes."""
    from weft.runtime.drivers import default_api, find_driver

    return find_driver(default_api()).device_info(0).target


def _as_kernel(f: Callable[..., Any] | Compiled) -> Kernel[...]:
    if isinstance(f, Kernel):
        return f
    if isinstance(f, Compiled):
        if f.definition.result() not in (MISSING, None):
            message = f"{f.__name__} is a @func with a result: it becomes code within kernels that call it"
            hint = "show one of these kernels, or write one that stores the result"
            raise CompileError.here("not-a-kernel", message, hint, at=("f", 0))
        return Kernel(f.definition, f.bound)
    if isinstance(f, FunctionType) and f.__module__.startswith("weft."):
        message = f"{f.__name__} is called on the host, and launches kernels that it chooses by its arguments"
        hint = f"pass one of these: they stand in {f.__module__}, and in what that imports"
        raise CompileError.here("not-a-kernel", message, hint, at=("f", 0))
    if isinstance(f, FunctionType):
        return make_kernel(f)
    what = getattr(f, "__name__", "") or a_(type(f).__name__)
    hint = "pass a function decorated with @kernel"
    message = f"{what} is not a function that weft can compile"
    raise CompileError.here("not-a-kernel", message, hint, at=("f", 0))


def specs_of(kernel: Kernel[...], named: Mapping[str, Any], types: tuple[Any, ...] = ()) -> dict[str, Spec]:
    """The specs of all parameters: from annotations, from ``types`` where these leave something open.

    Raises:
        CompileError: more than these is open, or they do not fit.
    """
    fn = kernel.definition
    problems = Problems()
    specs: dict[str, Spec] = {}
    waiting = list(types)

    def note(message: str, hint: str, name: str = "") -> None:
        problems.add("open-type", message, hint, at=name if name in named else None)

    params = parameters(fn)
    values = {**kernel.bound, **named}
    meanings = {p.name: type_meant(values[p.name]) for p in params if p.variable and p.name in values}
    late: list[Parameter] = []
    for p in params:
        given = values.get(p.name, p.default if p.comptime else MISSING)
        now = replace(p, annotation=substitute(p.annotation, meanings))
        if given is MISSING and not p.comptime and _is_open(now):
            if not waiting:
                late.append(p)  # it may be known by others
                continue
            given = waiting.pop(0)
        if not p.variable and not (p.comptime and given is MISSING):
            specs[p.name] = _spec(fn, now, given, problems)
            for variable, meant in unify(p.annotation, type_of(specs[p.name])):
                meanings.setdefault(variable.__name__, meant)
    unknown = {p.name: 4 if p.annotation.__bound__ is int else Float32 for p in params if p.variable}
    unknown = {name: example for name, example in unknown.items() if name not in meanings}
    for name, example in unknown.items():
        shown = describe_annotation(example)
        message = f"compiling {fn.name} without a launch needs to know the type `{name}`"
        problems.add("open-type", message, f"say which: {fn.name}[{shown}], or {name}={shown}")
    for p in late:
        now = replace(p, annotation=substitute(p.annotation, {**unknown, **meanings}))
        specs[p.name] = _spec(fn, now, MISSING, problems)
    if not problems:
        check_types(fn.name, params, meanings, note)
    specs.update({name: StaticSpec(meant) for name, meant in meanings.items()})
    if waiting:
        open_count = len(types) - len(waiting)
        message = f"{len(types)} types were given, but the annotations of {fn.name} leave {open_count} open"
        problems.add("open-type", message, "leave out the rest", at=1 + open_count)
    specs = {p.name: specs[p.name] for p in params if p.name in specs}
    unbound = {n: v for n, v in {**dict.fromkeys(specs), **named}.items() if n not in kernel.bound}
    problems.found += bind(fn, (), unbound, kernel.bound, _OPTIONS)[1].found
    problems.check(CompileError, 1 + len(types))
    return specs


def _spec(fn: Definition, p: Parameter, given: Any, problems: Problems) -> Spec:
    """The spec of a parameter by its annotation, and by what is given where that leaves something open."""
    try:
        return accept(p, given)[0] if p.comptime else spec_of_annotation(p.annotation, given)
    except Mismatch as found:
        if p.comptime or (found.annotation and p.annotation is not MISSING):
            note_mismatch(problems, fn, p, found, None)
            return StaticSpec(None)
        message = f"the type of `{p.name}` is not known: found {found.found}, allowed is {found.allowed}"
        if given is MISSING:
            message = f"compiling {fn.name} without a launch needs to know the type of `{p.name}`"
        hint = f"annotate it, or pass its type: {p.name}=Pointer[Float32], say"
        if is_open(p.annotation) and "ayout" in found.found:
            hint = f"pass a tensor, which has elements and a layout: {p.name}=buffer.tensor(layout)"
        if p.annotation is not MISSING and found.hint:
            hint = found.hint.replace("e.g. Layout", f"e.g. {p.name}=Layout")
        problems.add("open-type", message, hint)
        return StaticSpec(None)


def _is_open(p: Parameter) -> bool:
    try:
        spec_of_annotation(p.annotation)
    except Mismatch:
        return True
    return False


present(globals())
