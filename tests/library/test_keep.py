"""What ``keep`` is given is in the generated code, where without it nothing is; ``clobber_memory``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import (
    SIMD,
    BFloat16,
    Bool,
    Float16,
    Float32,
    Float64,
    Int8,
    Int32,
    Int64,
    Pointer,
    UInt16,
    func,
    kernel,
    struct,
)
from weft.benchmark import clobber_memory, keep
from weft.compile import compile_info
from weft.gpu import barrier, global_idx
from weft.gpu.host import DeviceContext
from weft.math import sqrt

TARGETS = ["sm_75", "sm_90", "x86-64-v3"]


@struct
class Pair:
    low: Int32
    high: SIMD[Float32, 4]


def computing(kept: bool, cls: Any) -> Any:
    def code(x: Any) -> None:
        y = x[global_idx.x]
        made = y ^ 85 if cls.dtype.is_integer else sqrt(y)
        if kept:
            keep((made, 7, "text"))

    code.__annotations__ = {"x": Pointer[cls]}
    return kernel(code)


def code_of(k: Any, target: str) -> str:
    return str(compile_info(k, target=target, emission_kind="llvm-opt"))


NUMBERS = [Int8, UInt16, Int32, Int64, Float16, BFloat16, Float32, Float64]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("cls", [*NUMBERS, SIMD[Float32, 4], SIMD[Int8, 16]], ids=lambda c: c.__name__)
def test_what_is_kept_is_computed(cls: Any, target: str) -> None:
    made = " xor " if cls.dtype.is_integer else "llvm.sqrt"
    kept, lost = (code_of(computing(kept, cls), target) for kept in (True, False))
    assert made in kept
    assert "asm sideeffect" in kept
    assert made not in lost
    assert "asm sideeffect" not in lost


@kernel
def of_a_struct(x: Pointer[Float32]):
    y = x[global_idx.x]
    keep(Pair(Int32(y) ^ 85, Float32.simd(sqrt(y))))


@pytest.mark.parametrize("target", TARGETS)
def test_each_part_of_a_struct_is_computed(target: str) -> None:
    code = code_of(of_a_struct, target)
    assert " xor " in code
    assert "llvm.sqrt" in code


@kernel
def every_kind(x: Pointer[Float32], flags: Pointer[Bool]):
    i = global_idx.x
    y = x[i] * 3
    keep((flags[i], x + i, y.cast(Float16.dtype), y.cast(BFloat16.dtype), Bool.simd(flags[i], True)))
    keep(y)
    keep(Float64(1))
    barrier()
    clobber_memory()
    x[i] = y


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
def test_the_assembler_takes_it(target: str, assemble: Any) -> None:
    assert assemble(str(compile_info(every_kind, target=target)), target) == ""


def test_it_changes_nothing(device: DeviceContext) -> None:
    x = device.enqueue_create_buffer(Float32, 64)
    flags = device.enqueue_create_buffer(Bool, 64)
    flags.enqueue_fill(True)
    device.enqueue_copy(dst=x, src=np.arange(64, dtype=np.float32))
    device.enqueue_function(every_kind, x, flags, grid_dim=2, block_dim=32)
    found = np.zeros(64, np.float32)
    device.enqueue_copy(dst=found, src=x)
    device.synchronize()
    assert (found == 3 * np.arange(64)).all()


@kernel
def written_and_clobbered(x: Pointer[Float32]):
    x[0] = 1.0
    clobber_memory()
    x[0] = 2.0


@kernel
def written(x: Pointer[Float32]):
    x[0] = 1.0
    x[0] = 2.0


@pytest.mark.parametrize("target", TARGETS)
def test_writes_before_it_happen(target: str) -> None:
    assert code_of(written_and_clobbered, target).count("store float 1.0") == 1
    assert code_of(written, target).count("store float 1.0") == 0


def test_in_python_and_in_a_func() -> None:
    @func
    def doubled(x: Float32) -> Float32:
        keep(x * 5)
        return 2 * x

    assert doubled(3) == 6
    keep(doubled(3))
    clobber_memory()
