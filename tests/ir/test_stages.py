"""The stages between Python and LLVM: what they print, and that other tools read it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from itertools import permutations

import pytest
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.dialects.math import Math
from xdsl.parser import Parser

from weft import Bool, Comptime, Float16, Float32, Int, Kernel, Pointer, func, kernel, math, struct
from weft.compiler.frontend.stage import staged_text
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Module, Value
from weft.compiler.ir.types import F32, I64
from weft.compiler.ir.verify import InvalidIR, verify_module
from weft.compiler.passes.pipeline import run_passes
from weft.compiler.pipeline import EMISSION_KINDS, Compilation, EmissionKind, elaborate_kernel
from weft.gpu import barrier, block_dim, block_idx, global_idx, thread_idx
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.lang.spec import Spec, StaticSpec

Golden = Callable[[str, str], None]


@kernel
def scalar_add(vector: Pointer[Float32], size: Int, scalar: Float32):
    idx = block_idx.x * block_dim.x + thread_idx.x
    if idx < size:
        vector[idx] += scalar


@kernel
def downsample(
    width: Int, height: Int, image: Pointer[Float32], out: Pointer[Float32], *, factor: Comptime[int]
):
    row, col = global_idx.y, global_idx.x
    if row < height and col < width:
        acc = 0.0
        for f1 in range(factor):
            for f2 in range(factor):
                acc += image[(row * factor + f1) * width * factor + col * factor + f2]
        out[row * width + col] = acc / (factor * factor)


@struct
class Pair:
    low: Float32
    high: Float32

    def middle(self) -> Float32:
        return 0.5 * (self.low + self.high)


@func
def collatz(n: Int) -> Int:
    count = Int(0)
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
        if count > 1000:
            break
    return count


@kernel
def everything(out: Pointer[Float32], mask: Pointer[Bool], n: Int, half: Float16, pair: Pair):
    i = global_idx.x
    if i >= n:
        return
    acc = 0.0
    lanes = Float32.splat(4, 1.5)
    for j in range(i):
        if j == 3 and not mask[j]:
            continue
        acc += j
        lanes = lanes * acc
    print("thread", i, f"{acc:.3f}", mask[0], half)
    assert i >= 0, "indices count from 0"
    out[i] = acc + collatz(i + 1) + lanes.reduce_add() + Float32(half) + pair.middle()


@kernel
def waits(out: Pointer[Float32], rounds: Int):
    i = thread_idx.x
    for r in range(rounds):
        here = out[i]
        barrier()
        out[(i + 1) % block_dim.x] = here + r
        barrier()


KERNELS: list[tuple[Kernel[...], dict[str, object]]] = [
    (scalar_add, {}),
    (downsample, {"factor": 2}),
    (everything, {}),
    (waits, {}),
]
TARGETS = ["sm_70", "sm_90", "sm_121", "x86-64", "aarch64"]
each_kernel = pytest.mark.parametrize(
    ("kernel", "comptime"), KERNELS, ids=lambda v: getattr(v, "__name__", "")
)


def elaborated(kernel: Kernel[...], comptime: dict[str, object], target: str) -> Compilation:
    specs: dict[str, Spec] = {
        p.name: StaticSpec(comptime[p.name]) if p.comptime else spec_of_annotation(p.annotation)
        for p in parameters(kernel.definition)
    }
    return elaborate_kernel(kernel, specs, target)


@each_kernel
@pytest.mark.parametrize("target", ["sm_90", "x86-64"])
def test_any_order_of_all_kinds_gives_the_same(
    kernel: Kernel[...], comptime: dict[str, object], target: str
) -> None:
    kinds: list[EmissionKind] = [k for k in EMISSION_KINDS if k != "object" or target != "sm_90"]
    fresh = {kind: elaborated(kernel, comptime, target).emit(kind) for kind in ("ir", "llvm")}
    made = elaborated(kernel, comptime, target)
    first = {kind: made.emit(kind) for kind in kinds}
    assert {kind: first[kind] for kind in fresh} == fresh
    cheap: list[EmissionKind] = ["ir", "llvm"]
    for order in permutations(cheap * 2):
        made = elaborated(kernel, comptime, target)
        assert [made.emit(kind) for kind in order] == [first[kind] for kind in order]
    for kind in reversed(kinds):
        assert _steady(made.emit(kind)) == _steady(first[kind])
        assert made.ir() == first["ir"]
    assert made.kernels == elaborated(kernel, comptime, target).kernels
    assert made.ir(locations=True) == elaborated(kernel, comptime, target).ir(locations=True)


def _steady(text: str | bytes) -> str | bytes:
    """Without the numbers that LLVM gives to the calls of a process."""
    return text if isinstance(text, bytes) else re.sub(r"callseq \d+", "callseq", text)


def test_nothing_of_a_compilation_can_be_set() -> None:
    made = elaborated(scalar_add, {}, "sm_90")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.target = None  # pyright: ignore[reportAttributeAccessIssue]


@each_kernel
@pytest.mark.parametrize("target", ["sm_90", "x86-64"])
def test_xdsl_reads_the_ir(kernel: Kernel[...], comptime: dict[str, object], target: str) -> None:
    text = elaborated(kernel, comptime, target).ir(locations=True)
    context = Context(allow_unregistered=True)
    for dialect in (Builtin, Arith, Func):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    names = [op.name if op.name != "builtin.unregistered" else "" for op in module.walk()]
    assert names.count("func.func") == len(re.findall('"func.func"', text))


@kernel
def rounds(x: Pointer[Float32]):
    y = math.fma(math.sqrt(x[0]), abs(x[1]), math.copysign(x[2], x[3]))
    x[0] = math.min(math.floor(y), math.ceil(y)) + math.max(math.trunc(y), math.round(y))


def test_functions_of_floats_are_mlirs() -> None:
    context = Context(allow_unregistered=True)
    for dialect in (Builtin, Arith, Func, Math):
        context.load_dialect(dialect)
    module = Parser(context, elaborated(rounds, {}, "sm_90").ir()).parse_module()
    module.verify()
    names = {op.name for op in module.walk()}  # those that are not known have another name here
    assert names >= {f"math.{n}" for n in "fma sqrt absf copysign floor ceil trunc roundeven".split()}
    assert names >= {"arith.minnumf", "arith.maxnumf"}


@each_kernel
@pytest.mark.parametrize("target", ["sm_90", "x86-64"])
def test_passes_keep_the_rules(kernel: Kernel[...], comptime: dict[str, object], target: str) -> None:
    made = elaborated(kernel, comptime, target)
    verify_module(run_passes(made.module, made.target))


@each_kernel
@pytest.mark.parametrize("target", TARGETS)
def test_every_target_takes_it(kernel: Kernel[...], comptime: dict[str, object], target: str) -> None:
    made = elaborated(kernel, comptime, target)
    text = made.emit("asm")
    assert isinstance(text, str)
    assert made.kernels[0].entry in text


@pytest.mark.parametrize("kind", ["ir", "llvm", "asm"])
@pytest.mark.parametrize(("kernel", "comptime"), KERNELS[:2], ids=["scalar_add", "downsample"])
def test_golden(kernel: Kernel[...], comptime: dict[str, object], kind: str, golden: Golden) -> None:
    text = elaborated(kernel, comptime, "sm_90").emit(kind)  # pyright: ignore[reportArgumentType]
    assert isinstance(text, str)
    text = re.sub(r'"[^"\n]*test_stages.py"', '"test_stages.py"', text)
    text = re.sub(r'directory: "[^"]*"', 'directory: ""', text)
    golden(f"{kernel.__name__}.{kind}", _without_places(text))


def _without_places(text: str) -> str:
    """The text without line numbers, which move whenever this file is edited."""
    text = re.sub(r"(?m)^\s*\.loc\s.*\n", "", text)
    text = re.sub(r"\bline: \d+", "line: _", text)
    return re.sub(r"scopeLine: \d+", "scopeLine: _", text)


def test_golden_staged(golden: Golden) -> None:
    text = staged_text(downsample.definition, True)
    golden("downsample.staged.txt", re.sub(r"loc = \(\d+, ", "loc = (_, ", text) + "\n")


def test_lines_survive_into_llvm() -> None:
    made = elaborated(scalar_add, {}, "sm_90")
    lines = {int(n) for n in re.findall(r"!DILocation\(line: (\d+)", made.llvm())}
    first = scalar_add.function.__code__.co_firstlineno
    assert lines == {first + 2, first + 3, first + 4}
    optimised = elaborated(scalar_add, {}, "sm_90").emit("llvm-opt")
    assert isinstance(optimised, str)
    add = next(line for line in optimised.splitlines() if "fadd" in line)
    node = add.rsplit("!dbg ", 1)[1].split(",")[0]
    assert f"{node} = !DILocation(line: {first + 4}" in optimised


@pytest.mark.parametrize(
    ("target", "version"),
    [("sm_70", "6.0"), ("sm_75", "6.3"), ("sm_80", "7.0"), ("sm_90", "7.8"), ("sm_120", "8.7")],
)
def test_lowest_ptx_version(target: str, version: str) -> None:
    text = elaborated(scalar_add, {}, target).emit("asm")
    assert isinstance(text, str)
    assert f".version {version}\n.target {target}" in text


def _module() -> tuple[Module, Builder, Function]:
    f = Function("f", [Value(F32), Value(I64)])
    module = Module("m", "sm_90", [f])
    b = Builder()
    b.region = f.body
    return module, b, f


def test_verifier_finds_mixed_types() -> None:
    module, b, f = _module()
    b.value("arith.addi", (f.args[0], f.args[1]), I64)
    b.emit("weft.return")
    with pytest.raises(InvalidIR, match=r"f, line 0: arith.addi: the operand lhs is f32, which is no int"):
        verify_module(module)


def test_verifier_finds_use_before_definition() -> None:
    module, b, f = _module()
    loose = Builder().value("arith.addi", (f.args[1], f.args[1]), I64)
    b.value("arith.addi", (loose, f.args[1]), I64)
    b.emit("weft.return")
    with pytest.raises(InvalidIR, match="before its definition"):
        verify_module(module)


def test_verifier_wants_an_end() -> None:
    module, b, f = _module()
    b.value("arith.addi", (f.args[1], f.args[1]), I64)
    with pytest.raises(InvalidIR, match="ends neither"):
        verify_module(module)


def test_verifier_finds_a_loose_break() -> None:
    module, b, _ = _module()
    b.emit("weft.break")
    with pytest.raises(InvalidIR, match="stands outside a loop"):
        verify_module(module)
