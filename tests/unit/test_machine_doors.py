"""Intrinsics and assembly of a wrong form end in a message at their line, never the process."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft import (
    SIMD,
    Bool,
    CompileError,
    Float32,
    Float64,
    Int8,
    Int32,
    Int64,
    Pointer,
    UInt32,
    kernel,
)
from weft.compile import compile_info
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.lang import inline_asm, llvm_intrinsic
from weft.lang.number import Number

V4: Any = SIMD[Float32, 4]
V2: Any = SIMD[Int64, 2]
SHUFFLE = "llvm.nvvm.shfl.sync.idx.i32"
FIVE: Any = 5
TID = "llvm.nvvm.read.ptx.sreg.tid.x"
AES = "llvm.x86.aesni.aesimc"
Form = Callable[[Any, Any, Any], Any]

WRONG: dict[str, tuple[str, Form, str]] = {
    # the result
    "pair": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic("llvm.nvvm.elect.sync", Int32, i),
        r"\(Int32\) -> \(Int32, Bool\)",
    ),
    "wide": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic(TID, Int64),
        r"found \(\) -> Int64.*allowed is \(\) -> Int32",
    ),
    "float": ("sm_90", lambda x, i, f: llvm_intrinsic(TID, Float32), r"allowed is \(\) -> Int32"),
    "none": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic(TID, None),
        r"found \(\) -> None.*allowed is \(\) -> Int32",
    ),
    "two": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic("llvm.sqrt.f32", (Float32, Float32), f),
        r"allowed is \(Float32\) -> Float32",
    ),
    "one": (
        "x86-64",
        lambda x, i, f: llvm_intrinsic("llvm.sadd.with.overflow.i32", Int32, i, i),
        r"-> \(Int32, Bool\)",
    ),
    "double": (
        "x86-64",
        lambda x, i, f: llvm_intrinsic("llvm.sqrt.f32", Float64, f),
        r"found \(Float32\) -> Float64",
    ),
    "python": (
        "x86-64",
        lambda x, i, f: llvm_intrinsic("llvm.ctpop.i32", int, i),
        "int is no class of a result",
    ),
    # how many arguments
    "more": ("sm_90", lambda x, i, f: llvm_intrinsic(TID, Int32, i), r"allowed is \(\) -> Int32"),
    "fewer": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic(SHUFFLE, Int32, i, i),
        r"allowed is \(Int32, Int32, Int32, Int32\) -> Int32",
    ),
    "fma": (
        "x86-64",
        lambda x, i, f: llvm_intrinsic("llvm.fma.f32", Float32, f, f),
        r"allowed is \(Float32, Float32, Float32\)",
    ),
    # their types
    "operand": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic(SHUFFLE, Int32, i, f, i, i),
        r"found \(Int32, Float32, Int32, Int32\)",
    ),
    "pointer": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic("llvm.sqrt.f32", Float32, x),
        r"found \(Pointer\) -> Float32",
    ),
    "mixed": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic("llvm.fma.v4f32", V4, V4(f), f, f),
        r"found \(SIMD\[Float32, 4\], Float32, Float32\)",
    ),
    "literal": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic("llvm.ctpop.i32", Int32, 5),
        r"argument 1 is an int.*Int32\(5\)",
    ),
    "flag": (
        "x86-64",
        lambda x, i, f: llvm_intrinsic("llvm.ctlz.i32", Int32, i, Int32(1)),
        r"allowed is \(Int32, Bool\) -> Int32",
    ),
    # the name
    "suffix": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic("llvm.ctpop.i64", Int32, i),
        r"the name is llvm\.ctpop\.i32",
    ),
    "no suffix": (
        "x86-64",
        lambda x, i, f: llvm_intrinsic("llvm.ctpop", Int32, i),
        r"the name is llvm\.ctpop\.i32",
    ),
    "lanes": (
        "x86-64",
        lambda x, i, f: llvm_intrinsic("llvm.sqrt.v4f32", Float32, f),
        r"the name is llvm\.sqrt\.f32",
    ),
    "no lanes": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic("llvm.sqrt.f32", V4, V4(f)),
        r"the name is llvm\.sqrt\.v4f32",
    ),
    "unknown": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic("llvm.nvvm.foo", Int32, i),
        "LLVM has no intrinsic llvm.nvvm.foo",
    ),
    "nobody's": (
        "x86-64",
        lambda x, i, f: llvm_intrinsic("llvm.foo.i32", Int32, i),
        "LLVM has no intrinsic llvm.foo.i32",
    ),
    "x86's": (
        "x86-64",
        lambda x, i, f: llvm_intrinsic("llvm.x86.foo", Int32),
        "LLVM has no intrinsic llvm.x86.foo",
    ),
    "other's": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic("llvm.x86.rdtsc", Int64),
        "sm_90 has no llvm.x86.rdtsc",
    ),
    "GPU's": ("x86-64", lambda x, i, f: llvm_intrinsic(TID, Int32), "x86-64 has no llvm.nvvm"),
    "stem": ("sm_90", lambda x, i, f: llvm_intrinsic("llvm.", Int32, i), "'llvm.' is no name"),
    "C's": (
        "x86-64",
        lambda x, i, f: llvm_intrinsic("malloc", Int64, i),
        "'malloc' is no name of an intrinsic",
    ),
    "quote": ("sm_90", lambda x, i, f: llvm_intrinsic('llvm.ctpop"', Int32, i), "is no name of an intrinsic"),
    "number": ("sm_90", lambda x, i, f: llvm_intrinsic(FIVE, Int32, i), "is a str, not an int"),
    # what must be in the instruction
    "at run time": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic("llvm.ctlz.i32", Int32, i, i > 0),
        "argument 2 of llvm.ctlz.i32 is known at run time only",
    ),
    "registers": (
        "sm_90a",
        lambda x, i, f: llvm_intrinsic("llvm.nvvm.setmaxnreg.inc.sync.aligned.u32", None, i),
        "argument 1 of",
    ),
    "x86 at run time": (
        "x86-64",
        lambda x, i, f: llvm_intrinsic("llvm.x86.sse41.dpps", V4, V4(f), V4(f), Int8(i)),
        "argument 3 of",
    ),
    # what the target lacks
    "clusters": (
        "sm_80",
        lambda x, i, f: llvm_intrinsic("llvm.nvvm.barrier.cluster.arrive", None),
        "sm_80 has no",
    ),
    "wgmma": (
        "sm_89",
        lambda x, i, f: llvm_intrinsic("llvm.nvvm.wgmma.fence.sync.aligned", None),
        "sm_89 has no",
    ),
    "aes": ("x86-64", lambda x, i, f: llvm_intrinsic(AES, V2, V2(Int64(i))), "x86-64 has no"),
    # odd ones
    "variable arguments": ("x86-64", lambda x, i, f: llvm_intrinsic("llvm.va_start.p0", None, x), "va_start"),
    "exceptions": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic("llvm.eh.typeid.for.p1", Int32, x),
        "llvm.eh.typeid.for",
    ),
    # assembly
    "$9": (
        "sm_90",
        lambda x, i, f: inline_asm("mov.u32 $9, %clock;", UInt32, constraints="=r"),
        r"names \$9, but its operands are \$0 to \$0",
    ),
    "$9 of x86": (
        "x86-64",
        lambda x, i, f: inline_asm("mov $9, %eax", UInt32, constraints="=r"),
        r"names \$9",
    ),
    "${1}": (
        "sm_90",
        lambda x, i, f: inline_asm("mov.u32 $0, ${1};", UInt32, constraints="=r"),
        r"names \$\{1\}",
    ),
    "$": (
        "sm_90",
        lambda x, i, f: inline_asm("mov.u32 $0, $;", UInt32, constraints="=r"),
        "a `[$]` stands alone",
    ),
    "${": (
        "sm_90",
        lambda x, i, f: inline_asm("mov.u32 $0, ${1;", UInt32, i, constraints="=r,r"),
        "a `[$]` stands alone",
    ),
    "no result": (
        "sm_90",
        lambda x, i, f: inline_asm("mov.u32 $0, 1;", UInt32, constraints="r"),
        "in numbers of 0 and 1, but there are 1 and 0",
    ),
    "nothing": (
        "sm_90",
        lambda x, i, f: inline_asm("mov.u32 $0, 1;", UInt32, constraints=""),
        "in numbers of 0 and 0, but there are 1 and 0",
    ),
    "one place": (
        "sm_90",
        lambda x, i, f: inline_asm("mov.u32 $0, 1;", UInt32, i, constraints="=r"),
        "but there are 1 and 1",
    ),
    "width": (
        "sm_90",
        lambda x, i, f: inline_asm("mov.u32 $0, $1;", UInt32, i, constraints="=r,l"),
        "'l' has 64 bits, its operand 32",
    ),
    "vector": (
        "sm_90",
        lambda x, i, f: inline_asm("mov.u32 $0, $1;", UInt32, V4(f), constraints="=r,r"),
        "32 bits, its operand 128",
    ),
    "letter": (
        "sm_90",
        lambda x, i, f: inline_asm("mov.u32 $0, $1;", UInt32, i, constraints='=r,"'),
        "does not take this assembly",
    ),
    "tied": (
        "sm_90",
        lambda x, i, f: inline_asm("mov.u32 $0, $1;", UInt32, i, constraints="=r,5"),
        "failed to parse constraints",
    ),
    "immediate": (
        "sm_90",
        lambda x, i, f: inline_asm("mov.u32 $0, $1;", UInt32, i, constraints="=r,n"),
        "constraint 'n' expects",
    ),
    "modifier": (
        "sm_90",
        lambda x, i, f: inline_asm("mov.u32 $0, ${1:Z};", UInt32, i, constraints="=r,r"),
        "invalid operand",
    ),
    "mnemonic": (
        "x86-64",
        lambda x, i, f: inline_asm("nonsense $0, $1", UInt32, i, constraints="=r,r"),
        "invalid instruction mnemonic 'nonsense'",
    ),
    "register": (
        "x86-64",
        lambda x, i, f: inline_asm("mov $1, $0", UInt32, i, constraints="={nosuch},r"),
        "nosuch",
    ),
    "class": (
        "x86-64",
        lambda x, i, f: inline_asm("mov $1, $0", UInt32, V4(f), constraints="=r,r"),
        "couldn't allocate",
    ),
    "NUL": ("x86-64", lambda x, i, f: inline_asm("nop\0", None, constraints=""), "a character NUL"),
}


def using(form: Form) -> Any:
    @kernel
    def uses(x: Pointer[Float32], o: Pointer[Int32], i: Int32, f: Float32):
        g = global_idx.x
        made = form(x, i, f)
        x[g] = stored(made)

    return uses


def stored(made: Any) -> Any:
    """A Float32 that depends on what was made, so that nothing is left out."""
    if isinstance(made, tuple):
        made = made[0]  # pyright: ignore[reportUnknownVariableType]
    if made is None:
        return Float32(0.0)
    assert isinstance(made, Number)
    return Float32(made.reduce_add() if made.lanes > 1 else made)


def compiled(form: Form, target: str) -> str:
    info = compile_info(using(form), target=target, emission_kind="asm" if target[:2] == "sm" else "object")
    return str(info)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_form_is_a_message_at_its_line(name: str) -> None:
    target, form, says = WRONG[name]
    with pytest.raises(CompileError) as caught:
        compiled(form, target)
    (found,) = caught.value.diagnostics
    text = " ".join((found.message, *found.notes, *found.hints))
    assert re.search(says, text, re.DOTALL), text
    assert found.code in ("intrinsic", "assembly")
    assert found.location is not None
    assert found.location.file == __file__
    here = form.__code__.co_firstlineno
    assert found.location.line in (*range(here, here + 4), using(form).function.__code__.co_firstlineno + 3)
    assert found.location.end_column is not None


RIGHT: dict[str, tuple[str, Form, str]] = {
    "elect": ("sm_90", lambda x, i, f: llvm_intrinsic("llvm.nvvm.elect.sync", (Int32, Bool), i), "8.0"),
    "relaxed": (
        "sm_90",
        lambda x, i, f: llvm_intrinsic("llvm.nvvm.barrier.cluster.arrive.relaxed", None),
        "8.0",
    ),
    "arrive": ("sm_90", lambda x, i, f: llvm_intrinsic("llvm.nvvm.barrier.cluster.arrive", None), "7.8"),
    "wgmma": ("sm_90a", lambda x, i, f: llvm_intrinsic("llvm.nvvm.wgmma.fence.sync.aligned", None), "8.0"),
    "nanosleep": ("sm_70", lambda x, i, f: llvm_intrinsic("llvm.nvvm.nanosleep", None, i), "6.3"),
    "constant": ("sm_90", lambda x, i, f: llvm_intrinsic("llvm.ctlz.i32", Int32, i, Bool(False)), "7.8"),
    "overflow": (
        "sm_80",
        lambda x, i, f: llvm_intrinsic("llvm.sadd.with.overflow.i32", (Int32, Bool), i, i),
        "7.0",
    ),
    "assembly": (
        "sm_90",
        lambda x, i, f: inline_asm('mov.u32 $0, $1; // $$5 " \\', UInt32, i, constraints="=r,r"),
        "7.8",
    ),
    "cluster": (
        "sm_90",
        lambda x, i, f: inline_asm("barrier.cluster.arrive.relaxed;", None, constraints="~{memory}"),
        "8.0",
    ),
    "narrow": (
        "sm_90",
        lambda x, i, f: inline_asm("cvt.u32.u16 $0, $1;", UInt32, Int8(i), constraints="=r,h"),
        "7.8",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_version_of_ptx_follows_from_what_is_used(name: str, assemble: Callable[[str, str], str]) -> None:
    target, form, version = RIGHT[name]
    text = compiled(form, target)
    assert f"\n.version {version}\n" in text
    if target != "sm_70":  # which this assembler may not know any more
        assert assemble(text, target) == ""


def test_forms_that_are_right_compute() -> None:
    @kernel
    def bits(o: Pointer[Int32], i: Int32):
        o[0] = llvm_intrinsic("llvm.ctpop.i32", Int32, i)
        o[1] = llvm_intrinsic("llvm.ctlz.i32", Int32, i, Bool(False))
        total, over = llvm_intrinsic("llvm.sadd.with.overflow.i32", (Int32, Bool), i, i)
        o[2] = total
        o[3] = Int32(over)

    o = np.zeros(4, np.int32)
    with DeviceContext(api="cpu") as ctx:
        ctx.enqueue_function(bits, o, 0x6000_0001, grid_dim=1, block_dim=1)
        ctx.synchronize()
    assert o.tolist() == [3, 1, np.array([0x6000_0001], np.int32).__mul__(2).item(), 1]
