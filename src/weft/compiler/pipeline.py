"""The stages in order: stage and elaborate, verify, passes, lower, LLVM."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from weft.abi.artifact import Artifact, Parameter, Signature
from weft.compiler.frontend.draft import Program
from weft.compiler.frontend.elaborate import Elaborator
from weft.compiler.frontend.options import PLAIN, CompileOptions
from weft.compiler.frontend.room import with_room
from weft.compiler.ir.core import Function, Module
from weft.compiler.ir.effects import alone, effects_of
from weft.compiler.ir.printer import print_module
from weft.compiler.ir.verify import InvalidIR, verify_module
from weft.compiler.llvm.symbols import entry_symbol
from weft.compiler.source.definition import Definition
from weft.diagnostics import CompileError, Location, caller_location, nearest
from weft.dtype import DType
from weft.lang.decorators import Kernel
from weft.lang.signature import parameters
from weft.lang.spec import Spec, machine_leaves
from weft.targets import Target, find_target

__all__ = ["EMISSION_KINDS", "Compilation", "EmissionKind", "check_emission_kind", "elaborate_kernel"]

EmissionKind = Literal["ir", "llvm", "llvm-opt", "asm", "object"]
EMISSION_KINDS: tuple[EmissionKind, ...] = ("ir", "llvm", "llvm-opt", "asm", "object")


@dataclass(frozen=True, slots=True)
class Compilation:
    """One kernel, elaborated; every later stage is made of this anew, and changes nothing of it."""

    source: Definition
    program: Program
    target: Target
    specs: Mapping[str, Spec]
    options: CompileOptions
    """As it was elaborated: a kernel that asks which thread it is has one element a thread."""
    written: frozenset[int]
    """The positions of arguments that it writes through."""
    times: dict[str, float] = field(compare=False)
    """How long each stage took, in milliseconds."""

    @property
    def module(self) -> Module:
        """The elaborated IR."""
        return self.program.module

    @property
    def function(self) -> Function:
        """The kernel's entry."""
        return self.program.function

    def ir(self, *, locations: bool = False) -> str:
        """The elaborated IR in MLIR's generic syntax."""
        return print_module(self.module, locations=locations)

    def llvm(self) -> str:
        """The LLVM IR before optimisation."""
        start = time.perf_counter()
        text = with_room(self._lowered)
        self.times["lower"] = (time.perf_counter() - start) * 1e3
        return text

    def _lowered(self) -> str:
        from weft.compiler.llvm.lower import lower_module  # here, since what is in the cache needs neither
        from weft.compiler.passes.pipeline import run_passes

        passed = run_passes(self.module, self.target)
        return lower_module(passed, self.target, self.program.prints, self.program.asserts)

    def emit(self, kind: EmissionKind) -> str | bytes:
        """The kernel in the given form.

        Raises:
            CompileError: the target has no object files.
        """
        if kind == "ir":
            return self.ir()
        if kind == "object" and self.target.format == "ptx":
            raise CompileError.at(
                "unknown-emission-kind",
                f"{self.target.name} has no object files: weft compiles to PTX, which the driver assembles",
                caller_location(),
                hints=("use the emission kind 'asm'",),
            )
        text = self.llvm()
        if kind == "llvm":
            return text
        from weft.compiler.llvm.emit import LLVMError, emit

        start = time.perf_counter()
        place = Location(self.function.file, self.function.line)
        try:
            made = emit(text, self.target, kind, name=self.source.name, place=place)
        except LLVMError as error:
            from weft.compiler.llvm.blame import blamed

            raise blamed(self.module, self.target) or error from None
        self.times["llvm"] = (time.perf_counter() - start) * 1e3
        return made.data if kind == "object" else made.text

    def signature(self) -> Signature:
        """The machine arguments, in order."""
        leaves = [
            (p.name + leaf.suffix, leaf.dtype, leaf.pointer)
            for p in parameters(self.source)
            for leaf in machine_leaves(self.specs[p.name])
        ]
        arguments = [Parameter(*leaf, n in self.written) for n, leaf in enumerate(leaves)]
        over = self.options.over
        if over is not None and over.runner is not None:
            arguments += [Parameter(f"over.{axis}", DType.int64) for axis in "xyz"[: over.rank]]
        return Signature(self.function.name, tuple(arguments))

    def code(self) -> bytes:
        """What a device runs, or its driver assembles."""
        from weft.compiler.llvm.emit import warm

        warm()  # it comes to hand while the passes run
        code = self.emit("asm" if self.target.format == "ptx" else "object")
        return code.encode() if isinstance(code, str) else code

    def artifact(self, code: bytes | None = None) -> Artifact:
        """The kernel as the runtime takes it, with its code where that is known."""
        over = self.options.over
        return Artifact(
            entry=entry_symbol(self.function.name, self.target),
            target=self.target.name,
            format=self.target.format,
            code=self.code() if code is None else code,
            signature=self.signature(),
            prints=self.program.prints,
            asserts=self.program.asserts,
            over_rank=0 if over is None else over.rank,
            per_thread=(1, 1) if over is None else over.per_thread,
            place=(self.function.file, self.function.line),
            uses=self.program.uses,
            dynamic_shared=self.program.dynamic_shared,
        )


def elaborate_kernel(
    kernel: Kernel[...],
    specs: Mapping[str, Spec],
    target: str | Target,
    options: CompileOptions = PLAIN,
) -> Compilation:
    """Elaborate and verify a kernel for parameters of these specs."""
    found = find_target(target)
    return with_room(lambda: _elaborated(kernel, specs, found, options))


def _elaborated(
    kernel: Kernel[...], specs: Mapping[str, Spec], found: Target, options: CompileOptions
) -> Compilation:
    start = time.perf_counter()
    over = options.over
    if over is not None and found.threads == "loops":
        over = replace(over, per_thread=(1, 1), runner=None)
    program, over = Elaborator(found).kernel(kernel, specs, over)
    options = options._replace(over=over)
    module, function = program.module, program.function
    elaborated = time.perf_counter()
    try:
        verify_module(module)
    except InvalidIR as error:
        raise _invalid(error, function) from (None if error.escaped else error)
    effects = effects_of(module, function)
    if options.distinct:
        function.alone = alone(module, function, effects)
    verified = time.perf_counter()
    times = {"elaborate": (elaborated - start) * 1e3, "verify": (verified - elaborated) * 1e3}
    made = Compilation(kernel.definition, program, found, specs, options, effects.written, times)
    _check_parameters(made)
    return made


def _check_parameters(made: Compilation) -> None:
    """Whether the target takes so many bytes of parameters."""
    size, limit = 0, made.target.parameter_limit
    for p in made.signature().parameters:
        width = 8 if p.pointer else p.dtype.itemsize
        size = -(-size // width) * width + width
    if limit and size > limit:
        raise CompileError.at(
            "parameters",
            f"{made.source.name} has {size} bytes of parameters, and {made.target.name} takes {limit}",
            made.source.place(""),
            hints=("write what is large into a buffer and pass that",),
        )


def _invalid(error: InvalidIR, function: Function) -> CompileError:
    """What broke the IR's rules: a value of another compilation, or a defect of weft."""
    from weft.diagnostics.wrote import source_of

    line, column = (function.line, 0) if error.op is None else error.op.loc[:2]
    source = source_of(function.file)
    statement = None if source is None else source.statement(line, column)
    place = Location(function.file, line) if source is None or statement is None else source.place(statement)
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
