"""The stages between Python and LLVM: what they print, in any order, for every target."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from itertools import permutations

import pytest
from tests.ir.staged_kernels import KERNELS, downsample, each_kernel, elaborated, scalar_add

from weft import Kernel
from weft.compiler.frontend.stage import staged_text
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Module, Value
from weft.compiler.ir.types import F32, I64
from weft.compiler.ir.verify import InvalidIR, verify_module
from weft.compiler.passes.pipeline import run_passes
from weft.compiler.pipeline import EMISSION_KINDS, EmissionKind

Golden = Callable[[str, str], None]


TARGETS = ["sm_70", "sm_90", "sm_121", "x86-64", "aarch64"]


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
    text = re.sub(r'"[^"\n]*staged_kernels.py"', '"staged_kernels.py"', text)
    text = re.sub(r'directory: "[^"]*"', 'directory: ""', text)
    golden(f"{kernel.__name__}.{kind}", _without_places(text))


def _without_places(text: str) -> str:
    """The text without line numbers, which move whenever the kernels' file is edited."""
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
