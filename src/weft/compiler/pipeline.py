"""The stages in order: stage and elaborate, verify, passes, lower, LLVM."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Literal, NamedTuple

from weft.abi.artifact import Argument, Artifact, FaultSite, KernelInfo, Signature, Site
from weft.abi.cpu_limits import STRIP
from weft.compiler.frontend.draft import Draft, assemble, reached, shared_memory
from weft.compiler.frontend.elaborate import Elaborator
from weft.compiler.frontend.garbage import rarely_collected
from weft.compiler.frontend.kept import unchanged
from weft.compiler.frontend.options import PLAIN, CompileOptions
from weft.compiler.frontend.reached import Change
from weft.compiler.frontend.room import with_room
from weft.compiler.ir.core import Function, Module
from weft.compiler.ir.effects import alone, effects_of, may_wait
from weft.compiler.ir.looks import may_look
from weft.compiler.ir.printer import print_module
from weft.compiler.ir.verify import InvalidIR, verify_module
from weft.compiler.lint import doubts
from weft.compiler.llvm.symbols import entry_symbol
from weft.compiler.source.definition import Definition
from weft.diagnostics import CompileError, Diagnostic, Location, caller_location, is_internal, nearest
from weft.diagnostics.timed import timed
from weft.dtype import DType
from weft.lang.captured import note
from weft.lang.decorators import Kernel
from weft.lang.signature import parameters
from weft.lang.spec import Spec, StaticSpec, machine_leaves
from weft.record import field, record, replace
from weft.targets import Target, at_level, find_target

EmissionKind = Literal["ir", "llvm", "llvm-opt", "asm", "object"]
EMISSION_KINDS: tuple[EmissionKind, ...] = ("ir", "llvm", "llvm-opt", "asm", "object")


class Instance(NamedTuple):
    """A kernel as a module has it: for parameters of these specs."""

    kernel: Kernel[...]
    specs: Mapping[str, Spec]
    options: CompileOptions = PLAIN


class Lowered(NamedTuple):
    """A module on its way to LLVM."""

    text: str
    target: Target
    name: str
    """Of its kernels, for messages, as is their place."""
    place: Location
    debug: bool

    def code(self) -> bytes:
        """What a device runs, or its driver assembles.

        Raises:
            LLVMError: LLVM makes no code of it.
        """
        return _bytes(self.emit("asm" if self.target.format == "ptx" else "object"))

    def emit(self, kind: Literal["llvm-opt", "asm", "object"]) -> str | bytes:
        """What LLVM makes of it.

        Raises:
            LLVMError: it makes nothing.
        """
        from weft.compiler.llvm.emit import emit

        made = emit(self.text, self.target, kind, name=self.name, place=self.place, debug=self.debug)
        return made.data if kind == "object" else made.text


@record
class Compilation:
    """Kernels of one module, elaborated; each later stage is made of this anew, and changes nothing of it."""

    module: Module
    """The elaborated IR."""
    target: Target
    kernels: tuple[KernelInfo, ...]
    options: tuple[CompileOptions, ...]
    """Of each kernel, as it was elaborated: one that asks which thread it is has one element a thread."""
    doubts: tuple[Diagnostic, ...]
    """What is legal in them and hardly meant so."""
    times: dict[str, float] = field(compare=False)
    """How long each stage took, in milliseconds."""

    def ir(self, *, locations: bool = False) -> str:
        """The elaborated IR in MLIR's generic syntax."""
        return print_module(self.module, locations=locations)

    def llvm(self, *, places: bool = True) -> str:
        """The LLVM IR before optimisation, with what lines of the source it comes from."""
        start = time.perf_counter()
        with rarely_collected():
            text = with_room(lambda: self._lowered(places))
        self.times["lower"] = (time.perf_counter() - start) * 1e3
        return text

    def _lowered(self, places: bool) -> str:
        from weft.compiler.llvm.lower import lower_module  # here, since what is in the cache needs neither
        from weft.compiler.passes.pipeline import run_passes
        from weft.compiler.support import support

        order = max(options.order for options in self.options)
        even, large = (all(each) for each in zip(*[(o.even, o.large) for o in self.options], strict=True))
        with timed("passes"):
            passed = run_passes(
                self.module, self.target, order=order, even=even, large=large, debug=self.debug
            )
        with timed("lower"):
            return lower_module(passed, self.target, support, places=places, debug=self.debug)

    @property
    def debug(self) -> bool:
        """Whether it is for debuggers of native code."""
        return any(options.debug for options in self.options)

    def emit(self, kind: EmissionKind) -> str | bytes:
        """The kernels in the given form.

        Raises:
            CompileError: the target's code is Python.
        """
        if kind == "ir":
            return self.ir()
        assert kind != "object" or self.target.format != "ptx", "which its assembler makes"
        if self.target.format == "python":
            return self._python_text(kind)
        # An object has lines alone, which debuggers do not read.
        lowered = self.lowered(places=kind != "object")
        return lowered.text if kind == "llvm" else self.by_llvm(lowered, kind)

    def by_llvm(self, lowered: Lowered, kind: Literal["llvm-opt", "asm", "object"]) -> str | bytes:
        """What LLVM makes of this as it was lowered.

        Raises:
            CompileError: it makes nothing.
        """
        from weft.compiler.llvm.emit import LLVMError

        start = time.perf_counter()
        try:
            made = lowered.emit(kind)
        except LLVMError as error:
            from weft.compiler.llvm.blame import blamed

            raise blamed(self.module, self.target) or error from None
        self.times["llvm"] = (time.perf_counter() - start) * 1e3
        return made

    def lowered(self, *, places: bool | None = None) -> Lowered:
        """The module as LLVM gets it; with what lines it comes from where its code has them, if not said."""
        if places is None:
            places = self.target.format == "ptx"
        name = ", ".join([kernel.signature.name for kernel in self.kernels])
        place = Location(*self.kernels[0].place)
        return Lowered(self.llvm(places=places), self.target, name, place, self.debug)

    def code(self) -> bytes:
        """What a device runs, or its driver assembles."""
        if self.target.format == "python":
            return self._python()
        from weft.compiler.llvm.emit import warm

        warm()  # it comes to hand while the passes run
        return _bytes(self.emit("asm" if self.target.format == "ptx" else "object"))

    def _python_text(self, kind: EmissionKind) -> str:
        from weft.compiler.interpreted.generate import text  # here, since few programs ask for it

        if kind != "asm":
            raise CompileError.at(
                "unknown-emission-kind",
                f"{self.target.name} has no LLVM IR and no object files: Python runs the kernel",
                caller_location(),
                hints=("use the emission kind 'asm' for that Python, or the target 'native'",),
            )
        return text(self._interpreted())

    def _interpreted(self) -> Module:
        """The module of which Python is made."""
        from weft.compiler.ir.clone import clone_module
        from weft.compiler.passes.whole_warps import whole_warps

        module = clone_module(self.module)
        whole_warps(module)
        return module

    def _python(self) -> bytes:
        from weft.compiler.interpreted.generate import program  # here, since few programs ask for it
        from weft.compiler.llvm.emit import LLVMError

        try:
            with (
                rarely_collected()
            ):  # where a collection runs Python, CPython 3.11 lets threads parse at once
                return program(
                    self._interpreted(), [kernel.entry for kernel in self.kernels], self.target
                ).packed()
        except LLVMError as error:
            from weft.compiler.llvm.blame import blamed

            raise blamed(self.module, self.target) or error from None

    def artifact(self, code: bytes | None = None) -> Artifact:
        """The kernels as the runtime takes them, with their code where that is known."""
        code = self.code() if code is None else code
        level = self.options[0].opt_level
        return Artifact(self.target.name, self.target.format, code, self.kernels, level)


def load_stages() -> None:
    """Import what comes after elaboration, which programs do without whose code is in the cache."""
    for name in ("llvm.lower", "passes.pipeline", "support"):
        importlib.import_module(f"weft.compiler.{name}")


def _bytes(code: str | bytes) -> bytes:
    return code.encode() if isinstance(code, str) else code


class Program:
    """Kernels elaborated one by one, each for a module of its own; what several call is elaborated once.

    Each gives the module that it gives alone. Functions are shared, and named as the last module has them:
    a ``Compilation`` is to be lowered before the next is made.
    """

    def __init__(self, target: str | Target) -> None:
        self.target = find_target(target)
        self._shared = Elaborator(self.target)

    def elaborate(self, instance: Instance) -> Compilation:
        """Elaborate and verify one more kernel."""
        options = instance.options
        own = options.checked or options.debug or options.opt_level is not None
        own = own or self.target.format == "python"
        return _told_of([instance], self.target, None if own else self._shared)


def elaborate_kernel(
    kernel: Kernel[...], specs: Mapping[str, Spec], target: str | Target, options: CompileOptions = PLAIN
) -> Compilation:
    """Elaborate and verify a kernel for parameters of these specs, in a module of its own."""
    return elaborate_kernels([Instance(kernel, specs, options)], target)


def elaborate_kernels(instances: Sequence[Instance], target: str | Target) -> Compilation:
    """Elaborate and verify kernels of one module; what several of them call is there once."""
    return _told_of(instances, find_target(target))


def _told_of(instances: Sequence[Instance], target: Target, shared: Elaborator | None = None) -> Compilation:
    target = at_level(target, instances[0].options.opt_level)
    with rarely_collected(), _untraced() if target.format == "python" else nullcontext():
        made, changed = with_room(lambda: _elaborated(instances, target, shared))
        if changed:
            again, _ = with_room(lambda: _elaborated(instances, target))
            for one in changed:
                one.restore()  # as if there had been one
            if made.ir() != again.ir():
                raise _differs(changed[0])
    if not made.doubts:
        return made
    from weft.diagnostics.warned import told

    return replace(made, doubts=told(made.doubts))


@contextmanager
def _untraced() -> Generator[None]:
    """Debuggers and coverage see the threads that run the code, not who writes it."""
    trace, events = sys.gettrace(), dict[int, int]()
    sys.settrace(None)
    if sys.version_info >= (3, 12):
        monitoring = sys.monitoring
        events = {n: monitoring.get_events(n) for n in range(6) if monitoring.get_tool(n) is not None}
        for tool in events:
            monitoring.set_events(tool, 0)
    try:
        yield
    finally:
        if sys.version_info >= (3, 12):
            for tool, wanted in events.items():
                sys.monitoring.set_events(tool, wanted)
        sys.settrace(trace)
        (lambda: None)()  # a tracer in C takes over again where something is called


def _elaborated(
    instances: Sequence[Instance], target: Target, shared: Elaborator | None = None
) -> tuple[Compilation, list[Change]]:
    """Kernels elaborated, and what that has changed of the program."""
    start = time.perf_counter()
    checked = frozenset(word for *_, wanted in instances for word in wanted.checked)
    debug = any(wanted.debug for *_, wanted in instances)
    elaborator = shared or Elaborator(target, checked=checked, debug=debug)
    with timed("elaborate"):
        drafts, options = _drafts(elaborator, instances)
        if shared is not None:  # what was elaborated before has been read for this kernel too
            for draft in reached(drafts):
                if not draft.definition.within:
                    note(draft.definition)
        module, sites = assemble(drafts, target)
    elaborated = time.perf_counter()
    with timed("verify"):
        _verify(module)
        each = zip(instances, drafts, options, sites, strict=True)
        kernels = tuple([_described(module, target, *kernel) for kernel in each])
        found = doubts(drafts, target)
        if any(each.checked for each in options):
            _check(module, target, drafts, options, sites)
            _verify(module)
    verified = time.perf_counter()
    times = {"elaborate": (elaborated - start) * 1e3, "verify": (verified - elaborated) * 1e3}
    changed, elaborator.helpers.changed = elaborator.helpers.changed, []
    return Compilation(module, target, kernels, tuple(options), found, times), changed


def _differs(change: Change) -> CompileError:
    """What helpers change of the program would make other code the next time."""
    name = change.name
    return CompileError.at(
        "compile-time-state",
        f"`{name}` is changed while this is compiled, and the code depends on what it is",
        change.place,
        notes=("it is compiled once for many launches, where Python goes on from what the last call left",),
        hints=(f"leave `{name}` as it is: take it as a parameter, or have the kernel write it to memory",),
    )


def _drafts(
    elaborator: Elaborator, instances: Sequence[Instance]
) -> tuple[list[Draft], list[CompileOptions]]:
    """Each kernel elaborated, and what for: one that asks which thread it is has one element a thread."""
    target = elaborator.target
    drafts: list[Draft] = []
    options: list[CompileOptions] = []
    for kernel, specs, wanted in instances:
        if target.format == "python":  # where threads run in turns, and nothing notes what they do to memory
            wanted = wanted._replace(checked=wanted.checked - {"races"})
        over = wanted.over
        if over is not None and target.threads == "loops":
            over = replace(over, per_thread=(1, 1), runner=None)
        given = {name: spec.value for name, spec in specs.items() if isinstance(spec, StaticSpec)}
        with unchanged(kernel.definition, {} if is_internal(kernel.definition.file) else given):
            draft, over = elaborator.kernel(kernel, specs, over)
        drafts.append(draft)
        options.append(wanted._replace(over=over))
    return drafts, options


def _verify(module: Module) -> None:
    try:
        verify_module(module)
    except InvalidIR as error:
        raise _invalid(error, module) from (None if error.escaped else error)


def _check(
    module: Module,
    target: Target,
    drafts: Sequence[Draft],
    options: Sequence[CompileOptions],
    sites: Sequence[dict[int, Site]],
) -> None:
    from weft.compiler.passes.checks import add_checks  # here, since few programs ask for it

    names = [draft.function.name for draft in drafts]
    own = dict(zip(names, sites, strict=True))

    def new_site(kernel: Function, site: FaultSite) -> int:
        number = sum(map(len, sites))
        own[kernel.name][number] = site
        return number

    wanted = {name: each.checked for name, each in zip(names, options, strict=True)}
    loops = target.threads == "loops"
    how = {"loops": loops, "versions": target.format != "python"}
    if not loops or not any("races" in checks for checks in wanted.values()):
        add_checks(module, wanted, new_site, None, **how)
        return
    from weft.compiler.shadow import checks as functions

    any_level = at_level(target, 3)  # they are elaborated once for all levels of optimisation
    add_checks(module, wanted, new_site, lambda name: functions(name, any_level), **how)


def _described(
    module: Module,
    target: Target,
    instance: Instance,
    draft: Draft,
    options: CompileOptions,
    sites: Mapping[int, Site],
) -> KernelInfo:
    """What is known of a kernel; LLVM is told of its arguments what may be told."""
    function, over = draft.function, options.over
    effects = effects_of(module, function)
    if options.distinct:
        function.alone = alone(module, function, effects)
    function.max_threads, function.min_blocks = draft.max_threads, draft.min_blocks
    if target.threads == "loops" and not options.any_block:
        function.block_rank = _block_rank(module, function)
    leaves = [
        (p.name + leaf.suffix, leaf.dtype, leaf.pointer)
        for p in parameters(instance.kernel.definition)
        for leaf in machine_leaves(instance.specs[p.name])
    ]
    arguments = [Argument(*leaf, n in effects.written, n in effects.read) for n, leaf in enumerate(leaves)]
    arguments += _further_arguments(draft, options, arguments)
    noted: dict[str, Any] = {}
    if "races" in options.checked and target.threads == "loops":
        noted = _noted_of_memory(module, function)
        more = [*(f"{p.name}.cells" for p in arguments if p.pointer), "shared.cells", "shadow"]
        arguments += [Argument(name, DType.uint64) for name in more]
    _check_parameters(instance.kernel.definition, arguments, target)
    uses = {*draft.uses, *(["waits"] if _may_wait(module, function, target) else ())}
    if "waits" in uses and may_look(module, function):
        uses.add("looks")
    if over is not None and options.checked:
        uses.add("over")  # whose elements have no order, of one block or not
    return KernelInfo(
        entry=entry_symbol(function.name, target),
        signature=Signature(instance.kernel.definition.name, tuple(arguments)),
        place=(function.file, function.line),
        per_thread=(1, 1) if over is None else over.per_thread,
        uses=frozenset(uses),
        shared=shared_memory([draft]),
        dynamic_shared=draft.dynamic_shared,
        max_threads=draft.max_threads,
        checked=bool(options.checked),
        block_rank=function.block_rank,
        strip=STRIP if target.threads == "loops" and options.even else 0,
        tiles={len(leaves) + n: tiles for n, tiles in enumerate(draft.tiles)},
        sites=sites,
        **noted,
    )


def _further_arguments(draft: Draft, options: CompileOptions, own: Sequence[Argument]) -> list[Argument]:
    """What a launch adds to a kernel's own arguments: tiles, the extents of a range, ends of memory."""
    over = options.over
    found = [Argument(value.name, DType.uint64, True, read=True) for value in draft.tiles.values()]
    if over is not None and over.runner is not None:
        found += [Argument(f"over.{axis}", DType.int64) for axis in "xyz"[: over.rank]]
    if options.checked:
        pointers = [p.name for p in (*own, *found) if p.pointer]
        found.append(Argument("shared_mem_bytes", DType.int64))
        found += [Argument(f"{name}.{end}", DType.int64) for name in pointers for end in ("low", "high")]
    return found


def _noted_of_memory(module: Module, function: Function) -> dict[str, Any]:
    """What a CPU notes of memory to find races, as ``KernelInfo`` has it."""
    from weft.compiler.passes.origins import granule_of, in_launches
    from weft.compiler.passes.races import finds, notes_all, shared_cells

    reached = module.reached(function)
    return {
        "granule": granule_of(reached, in_launches),
        "shared_cells": shared_cells(module, reached),
        "notes_all": notes_all(reached),
        "finds": finds(reached),
    }


def _block_rank(module: Module, function: Function) -> int:
    """How many axes a kernel's blocks extend along, going by which it asks for."""
    ops = [op for f in module.reached(function) for op in f.body.walk()]
    asked = [op.attrs["dimension"] for op in ops if op.name in ("gpu.thread_id", "gpu.block_dim")]
    return max([1, function.over_rank, *("xyz".index(str(axis)) + 1 for axis in asked)])


def _may_wait(module: Module, function: Function, target: Target) -> bool:
    """Whether the thread that launches it must not run it, since it may wait for what that does later."""
    return target.threads == "loops" and may_wait(module, function)


def _check_parameters(kernel: Definition, arguments: Sequence[Argument], target: Target) -> None:
    """Whether the target takes so many bytes of parameters."""
    size, limit = 0, target.parameter_limit
    for p in arguments:
        width = 8 if p.pointer else p.dtype.itemsize
        size = -(-size // width) * width + width
    if limit and size > limit:
        raise CompileError.at(
            "parameters",
            f"{kernel.name} has {size} bytes of parameters, and {target.name} takes {limit}",
            kernel.place(""),
            hints=("write what is large into a buffer and pass that",),
        )


def _invalid(error: InvalidIR, module: Module) -> CompileError:
    """What broke the IR's rules: a value of another compilation, or a defect of weft."""
    from weft.diagnostics.wrote import statement_place

    function = next((f for f in module.functions if error.op in [*f.body.walk()]), module.functions[-1])
    line, column = (function.line, 0) if error.op is None else error.op.loc[:2]
    place = statement_place(function.file, line, column)
    if error.escaped:
        message = "this uses a value that belongs to a kernel compiled before"
        hint = "write it to memory in that kernel; nothing else leaves one"
        return CompileError.at("escaped", message, place, hints=(hint,))
    message = f"weft made code that breaks its own rules: {error}"
    hint = "this is a defect of weft: please report it with the lines above"
    return CompileError.at("internal-error", message, place, hints=(hint,))


def check_emission_kind(kind: str) -> EmissionKind:
    """The emission kind of that name.

    Raises:
        CompileError: there is none.
    """
    for known in EMISSION_KINDS:
        if type(kind) is str and kind == known:
            return known
    guess = nearest(str(kind), EMISSION_KINDS)
    raise CompileError.at(
        "unknown-emission-kind",
        f"there is no emission kind {kind!r}",
        caller_location(),
        notes=(f"known are {', '.join(EMISSION_KINDS)}",),
        hints=(f"did you mean {guess!r}?" if guess else "write emission_kind='asm' for PTX or assembly",),
    )
