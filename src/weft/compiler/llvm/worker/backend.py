"""LLVM, through llvmlite: the only module that imports it, in weft's own process or in a worker's.

It imports nothing of weft, so that a worker starts fast. An error inside LLVM ends the process that
it works in. Code generation changes the module, so each use works on its own parse.
"""

from __future__ import annotations

import functools
import itertools
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import llvmlite.binding as _binding  # pyright: ignore[reportMissingTypeStubs]

llvm: Any = _binding  # it has no types


class Job(NamedTuple):
    """What to make of a module's text.

    ``cpu`` may be ``native``, this machine. ``vectors`` says what becomes vectors: loops (1), also what
    stands side by side (2). Without ``passes`` only the code generator optimises. ``check`` only says whether
    LLVM takes the text.
    """

    text: str
    kind: Literal["llvm-opt", "asm", "object", "check", "warm"]
    triple: str
    cpu: str
    features: str
    level: int = 3
    vectors: int = 0
    passes: bool = True
    orders_zeros: bool = False
    """Whether the machine's extremes of floats tell -0 from 0; comparisons and Python's do not."""


@functools.cache
def _initialise() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    llvm.set_option("weft", "--loop-load-elimination-scev-check-threshold=0")  # see _with_masks_unknown
    # An integer that meets a bfloat's bits behind a branch became a bfloat: x86 quiets nan on the way.
    llvm.set_option("weft", "--cgp-optimize-phi-types=false")
    # Making code of one instruction at a time, as at level 0, it takes a bfloat held as a float for bits.
    llvm.set_option("weft", "--fast-isel=false")


@functools.cache
def host_machine() -> tuple[str, str, str]:
    """Triple, CPU and features of this machine, as far as code may use them."""
    _initialise()
    features = without_wrong(llvm.get_host_cpu_features().flatten())
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), features


_WRONG = {
    "avx512bf16": "conversions to bfloat16 make subnormal numbers 0",
    "avxneconvert": "the same",
    "avx512dq": "LLVM 22's minimumnum and maximumnum give nan beside a number that is known to be none",
    "avx512fp16": "LLVM 22's fptosi.sat of a half that is nan gives the least integer, not 0",
}
"""Features of processors with which the code that LLVM makes is wrong, and what is."""


def without_wrong(features: str) -> str:
    """Features of a processor without those with which code is wrong.

    >>> without_wrong("+avx512f,+avx512bf16")
    '+avx512f,-avx512bf16'
    """
    for name in _WRONG:
        features = features.replace(f"+{name}", f"-{name}")
    return features


@functools.cache
def _machine(triple: str, cpu: str, features: str, level: int) -> Any:
    _initialise()
    if cpu == "native":
        triple, cpu, features = host_machine()
        if "+avx512f" in features:
            features += ",-prefer-256-bit"
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="pic", codemodel="default"
    )


def compile(
    job: Job,
    stage: Callable[[str], object],
    started: Callable[[Any], object] | None = None,
    *,
    alone: bool = False,
) -> str | bytes:
    """Do a job; ``stage`` is told what comes next, ``started`` gets what the passes are built with.

    ``alone``: nobody else in this process uses LLVM, so its options may stay as the job needs them.

    Raises:
        RuntimeError: LLVM refuses the text.
    """
    machine = _machine(job.triple, job.cpu, job.features, job.level)
    stage("read")
    module = _read(job, machine)
    if job.kind == "check":
        return str(module)
    stage("optimise")
    module = _optimised(job, machine, module, started)
    if job.kind == "llvm-opt":
        return str(module)
    stage("make code of")
    _look_for_addresses(not job.vectors)
    try:
        return machine.emit_object(module) if job.kind == "object" else machine.emit_assembly(module)
    finally:
        if not alone:
            _look_for_addresses(True)


def _read(job: Job, machine: Any) -> Any:
    """A job's module."""
    text = job.text
    if job.cpu == "native" and "+avx512f" in host_machine()[2]:  # a vector is a strip of threads
        text = text.replace('"llvm.loop.interleave.count", i32 2', '"llvm.loop.interleave.count", i32 1')
    module = llvm.parse_assembly(text, llvm.create_context())
    if job.cpu == "native" or not module.triple:
        module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    _check_names(module, job.text)
    return module


def _optimised(job: Job, machine: Any, module: Any, started: Callable[[Any], object] | None) -> Any:
    """The module as the job's passes make it, or another."""
    options = llvm.create_pipeline_tuning_options(speed_level=job.level)
    options.loop_vectorization, options.slp_vectorization = job.vectors > 0, job.vectors > 1
    options.loop_unrolling = True
    options.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, options)
    if started is not None:
        started(builder)
    if job.passes and job.vectors and _NARROWS.search(job.text):
        module = _with_masks_unknown(module, builder)
    if job.passes or "presplitcoroutine" in job.text:  # which only pipelines split, also those of level 0
        manager = builder.getModulePassManager()
    else:
        manager = llvm.create_new_module_pass_manager()
        manager.add_always_inliner_pass()
    if job.passes and job.level == 1 and _ARRAY.search(job.text):  # see targets/ptxas.py
        manager.add_dead_store_elimination_pass()
        manager.add_loop_deletion_pass()
        manager.add_simplify_cfg_pass()
    manager.run(module, builder)
    if job.orders_zeros and "fcmp" in job.text:
        text = str(module)
        apart = _with_zeros_apart(text)
        if apart != text:
            module = llvm.parse_assembly(apart, llvm.create_context())
            module.verify()
    return module


_looks_for_addresses = True


def _look_for_addresses(wanted: bool) -> None:
    """Whether LLVM is to look for cheaper addresses in loops: a processor has few that cost anything.

    It takes up to two thirds of the time in which code is made, and loops were not faster by it. Saying so
    takes LLVM 0.2 ms.
    """
    global _looks_for_addresses
    if wanted != _looks_for_addresses:
        llvm.set_option("weft", f"--disable-lsr={'false' if wanted else 'true'}")
        _looks_for_addresses = wanted


_ARRAY = re.compile(r"= alloca [^,]+, i64 ")
_NARROWS = re.compile(
    r"(?<!\.rounds) = (?:trunc .* to i(?:8|16)|(?:and|shl|[al]shr|[su]div|[su]rem) i\d+ \S+ \d+)\b"
)
"""What may become a mask of few bits. A number of rounds (``_last_round``) does not: it is compared alone."""
_DEFINED = re.compile(r"^  (%\S+) = (?:(?:tail |musttail |notail )?(call) .*?(@llvm\.|@|%)|(\w+))")
_MASK = re.compile(r"^(  %\S+ = and i(\d+) (%\S+), )(\d+)(?=,|$)")
_CUT = re.compile(r"^(  (%\S+) = (?:trunc|shl)) (?:nuw |nsw )*i(\d+) (%\S+?)(?: to i(\d+)|, (\d+))(?=,|$)")
_EXTENDED = re.compile(r"= (?:zext|sext|ashr|lshr) (?:nneg |exact )?i\d+ (%[^\s,]+)")
_NO_COUNTERS = {
    "load",
    "xor",
    "lshr",
    "fptosi",
    "fptoui",
    "bitcast",
    "extractelement",
    "extractvalue",
    "atomicrmw",
}


def _with_masks_unknown(module: Any, builder: Any) -> Any:
    """A module whose loops have no counters of few bits: ``a[i & 31]`` beside ``b[i & 3]`` was wrong.

    LLVM 22 makes vectors of such loops behind a test that the counter of 5 bits does not pass 31, and takes
    that of 2 bits for tested with it (llvm-project issue 191382, mended after LLVM 22). The masks of what may
    be a counter are read from memory here, so that LLVM gathers elements instead: short counters then
    have 32 bits and no fewer.
    """
    first = llvm.create_new_module_pass_manager()
    for add in (first.add_sroa_pass, first.add_instruction_combine_pass, first.add_simplify_cfg_pass):
        add()
    first.run(module, builder)
    lines = str(module).split("\n")
    extended = {found[1] for line in lines if (found := _EXTENDED.search(line))}
    masks: set[tuple[str, int]] = set()
    made: list[str] = []
    counters: dict[str, bool] = {}

    def unknown(bits: str, value: int) -> str:
        masks.add((bits, value))
        name = f"%weft.mask.{len(made)}"
        made.append(f"  {name} = load i{bits}, ptr @weft.mask.{bits}.{value}, !invariant.load !{{}}")
        return name

    for line in lines:
        if line.startswith("define "):
            counters = {}
        if found := _DEFINED.match(line):
            intrinsic = found[3] == "@llvm."
            counters[found[1]] = not intrinsic and found[4] not in _NO_COUNTERS
        if found := _MASK.match(line):
            head, bits, value, mask = found[1], found[2], found[3], int(found[4])
            if mask & (mask + 1) == 0 and mask != 0xFFFFFFFF and counters.get(value, True):
                line = f"{head}{unknown(bits, mask)}{line[found.end() :]}"
        elif (found := _CUT.match(line)) and found[2] in extended and counters.get(found[4], True):
            head, bits, value = found[1], found[3], found[4]
            if found[5] is None:  # shl, of which ashr gives the low bits back
                line = f"{head} i{bits} {value}, {unknown(bits, int(found[6]))}{line[found.end() :]}"
            elif int(found[5]) < 32:
                mask = unknown(bits, (1 << int(found[5])) - 1)
                made.append(f"  %weft.low.{len(made)} = and i{bits} {value}, {mask}")
                line = f"{head} i{bits} %weft.low.{len(made) - 1} to i{found[5]}{line[found.end() :]}"
        made.append(line)
    if not masks:
        return module
    made += [
        f"@weft.mask.{bits}.{value} = internal externally_initialized global i{bits} {value}"
        for bits, value in sorted(masks)
    ]
    module = llvm.parse_assembly("\n".join(made), llvm.create_context())
    module.verify()
    return module


_LESS = re.compile(r"^  (%\S+) = fcmp (?:\w+ )*?olt ", re.MULTILINE)
_SELECT = re.compile(
    r"^(  %\S+ = select (?:\w+ )*?(?:i1|<\d+ x i1>) (%\S+), (.+?) %\S+, \3 )"
    r"((?:splat \(\w+ )?(?:-?0\.0*e\+00|0x[HR][08]000)\)?|zeroinitializer)(?=,|$)",
    re.MULTILINE,
)
_FLOATS = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}


def _with_zeros_apart(text: str) -> str:
    """A module whose ``x if x < 0.0 else 0.0`` is not taken for a minimum, for which -0 is less than 0.

    LLVM's code generator does that, and with ``x if x > -0.0 else -0.0``; of other numbers there is no doubt.
    """
    less = set(_LESS.findall(text))
    needed: dict[str, str] = {}

    def apart(found: re.Match[str]) -> str:
        head, condition, kind, zero = found.groups()
        lanes, _, scalar = kind.strip("<>").rpartition(" x ")
        negative = "-0.0" in zero or "8000" in zero
        if scalar not in _FLOATS or negative == (condition in less):
            return found[0]
        suffix = f"{'v' if lanes else ''}{lanes}{_FLOATS[scalar]}"
        needed[f"declare {kind} @llvm.arithmetic.fence.{suffix}({kind})"] = suffix
        name = f"%weft.zero.{found.start()}"
        return f"  {name} = call {kind} @llvm.arithmetic.fence.{suffix}({kind} {zero})\n{head}{name}"

    made = _SELECT.sub(apart, text)
    return "\n".join([made, *(line for line in needed if line not in made)])


_BARE = frozenset({"llvm.coro.resume", "llvm.coro.destroy"})
"""Intrinsics of which LLVM says nothing."""


def _check_names(module: Any, text: str) -> None:
    """LLVM takes an intrinsic that it does not know for a function elsewhere, and mends wrong suffixes.

    Raises:
        RuntimeError: there is such a name.
    """
    names = set(_INTRINSIC.findall(text))
    if names <= _right_names:
        return
    for function in module.functions:
        name = function.name
        if name.startswith("llvm.") and function.is_declaration:
            if name not in _BARE and not any(True for _ in function.attributes):
                raise RuntimeError(f"unknown intrinsic {name}")
            if f"@{name}(" not in text:
                raise RuntimeError(f"for these types the name is {name}")
    _right_names.update(names)


_INTRINSIC = re.compile(r"@(llvm\.[^\s(,)]+)")
_right_names: set[str] = set()
"""Of intrinsics that have been checked: names say the types, so they are right in any module."""


class _Linker:
    """A linker, and what it has linked so far: LLVM keeps some of each until the linker itself goes."""

    def __init__(self) -> None:
        # LLVM's older linker ends the process where code and constants come to lie 2 GiB apart, as they do
        # beside a GPU driver's mappings; this one takes one stretch of memory for both.
        machine = _machine("", "native", "", 3)
        self.jit: Any = llvm.create_lljit_compiler(machine, use_jit_link=sys.platform != "win32")
        self.count = itertools.count(1)


_LINKS = 100
_linkers: list[_Linker] = []


def link(code: bytes, entries: Sequence[str], symbols: dict[str, int]) -> tuple[tuple[int, ...], object]:
    """Put an object file into this process; gives the entries' addresses and what keeps it there."""
    if b".debug_info" in code:
        return _link_for_debuggers(code, entries, symbols)
    if not _linkers:
        _linkers.append(_Linker())
    linker = _linkers[0]
    number = next(linker.count)
    if number == _LINKS:
        _linkers.clear()  # it goes with the last code that it has linked
    builder = llvm.JITLibraryBuilder()
    builder.add_object_img(code)
    for name, address in symbols.items():
        builder.import_symbol(name, address)
    builder.add_current_process()
    for entry in entries:
        builder.export_symbol(entry)
    tracker = builder.link(linker.jit, f"weft{number}")
    keep = linker.jit, tracker  # a tuple gives up its last first
    return tuple([tracker[entry] for entry in entries]), keep


def _link_for_debuggers(
    code: bytes, entries: Sequence[str], symbols: dict[str, int]
) -> tuple[tuple[int, ...], object]:
    """Likewise, by LLVM's older linker, which alone tells gdb and lldb of what it links."""
    for name, address in symbols.items():
        llvm.add_symbol(name, address)
    machine = _machine.__wrapped__("", "native", "", 0)  # which the engine takes for its own
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return tuple([engine.get_function_address(entry) for entry in entries]), engine
