"""compile_info: every form, every target, and what it says when something is not known."""

from __future__ import annotations

from typing import Any

import pytest

from weft import CompileError, Comptime, Float32, Int, Int32, Pointer, func, kernel
from weft.compile import compile_info
from weft.compiler.pipeline import EMISSION_KINDS, EmissionKind
from weft.gpu import global_idx
from weft.layout import Layout, LayoutTensor
from weft.sys import has_accelerator, has_nvidia_gpu_accelerator, is_cpu, is_gpu, is_nvidia_gpu
from weft.targets import TARGETS


@kernel
def hello():
    pass


@kernel
def vector_addition(
    lhs: LayoutTensor[Float32], rhs: LayoutTensor[Float32], out: LayoutTensor[Float32], size: Int
):
    i = global_idx.x
    if i < size:
        out[i] = lhs[i] + rhs[i]


def scaled(x: Pointer[Int32], n, *, by: Comptime[int]):  # pyright: ignore
    x[0] = n * by


SCALED: Any = kernel(scaled)  # pyright: ignore


@kernel
def where(out: Pointer[Int32]):
    if is_nvidia_gpu():
        out[0] = 1
    elif is_cpu():
        out[0] = 2
    out[1] = 3 if is_gpu() else 4


VECTOR = Layout.row_major(10)


def test_an_empty_kernel_as_ptx() -> None:
    info = compile_info(hello, target="sm_80")
    assert (info.name, info.target, info.emission_kind) == ("hello", "sm_80", "asm")
    assert ".version 7.0\n.target sm_80\n.address_size 64\n" in str(info)
    head, _, body = str(info).partition(".visible .entry hello()")
    assert head
    instructions = [line.strip() for line in body.splitlines() if line.strip().endswith(";")]
    assert instructions == ["ret;"]
    assert set(info.times) >= {"elaborate", "verify", "lower", "llvm"}


def test_an_empty_kernel_as_llvm_ir() -> None:
    before = str(compile_info(hello, emission_kind="llvm", target="sm_80"))
    assert 'target triple = "nvptx64-nvidia-cuda"' in before
    assert "define dso_local ptx_kernel void @kernel$hello()" in before
    assert "memory(none)" not in before
    after = str(compile_info(hello, emission_kind="llvm-opt", target="sm_80"))
    assert 'define dso_local ptx_kernel void @"kernel$hello"()' in after
    assert "memory(none)" in after


@pytest.mark.parametrize("target", TARGETS)
def test_every_target(target: str) -> None:
    info = compile_info(vector_addition, VECTOR, VECTOR, VECTOR, target=target)
    assert "vector_addition" in str(info)
    if target.startswith("sm_"):
        assert f".target {target}\n" in str(info)


@pytest.mark.parametrize("kind", EMISSION_KINDS)
def test_every_kind_on_the_cpu(kind: EmissionKind) -> None:
    info = compile_info(vector_addition, VECTOR, VECTOR, VECTOR, emission_kind=kind, target="x86-64")
    if kind == "object":
        assert isinstance(info.code, bytes)
        assert info.code.startswith(b"\x7fELF")
        assert str(info).startswith("<object file of kernel$vector_addition for x86-64")
    else:
        assert info.code == str(info)
        assert "vector_addition" in str(info)


def test_types_by_name_and_by_position() -> None:
    by_position = compile_info(vector_addition, VECTOR, VECTOR, VECTOR, target="sm_90")
    by_name = compile_info(vector_addition, VECTOR, lhs=VECTOR, out=VECTOR, target="sm_90")
    assert by_position == by_name
    assert compile_info(SCALED, Int32, by=2, target="sm_90") == compile_info(
        SCALED, n=Int32, by=2, target="sm_90"
    )
    assert compile_info(SCALED.bind(by=2), Int32, target="h100") == compile_info(
        SCALED, Int32, by=2, target="sm_90"
    )


def test_none_and_tuples_where_the_annotation_is_open() -> None:
    @kernel
    def shifted(x: Pointer[Float32], by: Any, extents: Any):
        place = extents[0] * extents[1] if extents else global_idx.x
        x[place] = 0.0 if by is None else by

    def made(**named: Any) -> str:
        return str(compile_info(shifted, target="sm_90", emission_kind="asm", **named))

    assert "mul.lo.s64" not in made(by=None, extents=())
    assert "mul.lo.s64" in made(by=Float32, extents=(Int, Int))
    assert made(by=None, extents=(Int, Int32)) == made(by=None, extents=tuple[Int, Int32])
    with pytest.raises(CompileError, match="found the int 3, allowed is a type"):
        made(by=None, extents=(Int, 3))


def test_plain_functions() -> None:
    def nothing(x: Pointer[Float32]) -> None:
        x[0] = 1.0

    plain = compile_info(nothing, target="sm_75")
    assert ".visible .entry nothing(" in str(plain)
    assert str(compile_info(func(nothing), target="sm_75")) == str(plain)


def test_the_guard_of_a_launch_over_a_range() -> None:
    def body(x: Pointer[Float32]) -> None:
        x[global_idx.x] = 0.0

    assert "setp" not in str(compile_info(body, target="sm_90"))
    assert "setp" in str(compile_info(body, target="sm_90", over=1))


def test_the_default_is_the_device_of_this_machine() -> None:
    from weft.gpu.host import DeviceContext

    assert compile_info(hello).target == DeviceContext().target


def test_what_is_compiled_for_is_known_at_compile_time() -> None:
    def stored(target: str) -> list[str]:
        text = str(compile_info(where, emission_kind="ir", target=target))
        assert "weft.if" not in text
        return [value for value in "1234" if f'"value" = {value} : i32' in text]

    assert stored("sm_90") == ["1", "3"]
    assert stored("aarch64") == ["2", "4"]
    assert (is_cpu(), is_gpu(), is_nvidia_gpu()) == (True, False, False)
    assert has_accelerator() >= has_nvidia_gpu_accelerator()


def refused(*types: object, **named: object) -> str:
    options: dict[str, object] = {"target": "sm_90", **named}
    with pytest.raises(CompileError) as error:
        compile_info(SCALED, *types, **options)  # pyright: ignore
    assert "test_compile_info.py" in str(error.value)
    return str(error.value)


def test_errors() -> None:
    text = refused()
    assert "compiling scaled without a launch needs to know" in text
    assert "`n`" in text
    assert "scaled needs a compile-time value for `by`" in text
    assert "2 types were given, but the annotations of scaled leave" in refused(Int32, Int32, by=1)
    assert "scaled has no parameter `bye`" in refused(Int32, by=1, bye=2)
    assert "did you mean 'llvm'?" in refused(Int32, by=1, emission_kind="lvm")
    assert "did you mean 'sm_90'?" in refused(Int32, by=1, target="sm90")
    assert "no emission kind 'sass'" in refused(Int32, by=1, emission_kind="sass", target="x86-64")
    with pytest.raises(CompileError, match="is not a function that weft can compile"):
        compile_info(3)  # pyright: ignore


def test_a_function_that_launches_is_no_kernel() -> None:
    from weft.kernels import softmax

    with pytest.raises(CompileError, match=r"softmax is called on the host(.|\n)*weft.kernels.softmaxes"):
        compile_info(softmax, target="sm_90")
