"""What NVIDIA's assembler tells of a kernel, and how full that makes a multiprocessor."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from weft import Comptime, Float32, InlineArray, Int, Pointer, kernel
from weft.compile import compile_info
from weft.gpu import global_idx, thread_idx
from weft.runtime.cuda import toolkit
from weft.targets.occupancy import Resources


@kernel
def twice(x: Pointer[Float32], y: Pointer[Float32]):
    i = global_idx.x
    y[i] = x[i] * 2.0


@kernel
def held(x: Pointer[Float32], *, n: Comptime[int]):
    own = InlineArray[Float32, n](fill=0.0)
    for i in range(n):
        own[Int(x[i]) % n] = 2.0 * x[i]
    x[thread_idx.x] = own[Int(x[n]) % n]


def need(tool: str) -> None:
    if toolkit.find_tool(tool) is None:
        pytest.skip(f"no {tool} here")


def test_what_a_kernel_uses() -> None:
    need("ptxas")
    used = compile_info(twice, target="sm_80").resources
    assert used.target == "sm_80"
    assert 4 <= used.registers <= 16
    assert (used.spill_loads, used.spill_stores, used.stack, used.shared, used.barriers) == (0, 0, 0, 0, 0)
    assert used.occupancy(1024).fraction == 1.0
    assert compile_info(held, n=64, target="sm_90").resources.stack >= 256


def test_machine_code_has_the_lines_of_the_source() -> None:
    need("ptxas")
    need("nvdisasm")
    info = compile_info(twice, target="sm_90", emission_kind="sass")
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = lines.index("    y[i] = x[i] * 2.0") + 1
    after = str(info).partition(f'File "{__file__}", line {line}')[2]
    assert re.search(r"FADD|FMUL", after)
    assert info.resources == compile_info(twice, target="sm_90").resources


def test_a_cubin() -> None:
    need("ptxas")
    code = compile_info(twice, target="sm_90", emission_kind="object").code
    assert isinstance(code, bytes)
    assert code.startswith(b"\x7fELF")


# By cuda_occupancy.h of CUDA 13: registers, shared memory, threads, then blocks and what limits them.
@pytest.mark.parametrize(
    ("target", "registers", "shared", "threads", "blocks", "limit"),
    [
        ("sm_90", 32, 0, 256, 8, "warps"),
        ("sm_90", 40, 0, 256, 6, "registers"),
        ("sm_90", 255, 0, 256, 1, "registers"),
        ("sm_90", 16, 100 * 1024, 128, 2, "shared memory"),
        ("sm_90", 16, 0, 32, 32, "blocks"),
        ("sm_90", 168, 200 * 1024, 384, 1, "registers"),
        ("sm_75", 32, 16 * 1024, 128, 4, "shared memory"),
        ("sm_86", 32, 0, 1024, 1, "warps"),
        ("sm_89", 16, 0, 32, 24, "blocks"),
        ("sm_90", 255, 0, 1024, 0, "registers"),
    ],
)
def test_occupancy(target: str, registers: int, shared: int, threads: int, blocks: int, limit: str) -> None:
    used = Resources(target, registers, 0, 0, 0, shared, 0).occupancy(threads)
    assert (used.blocks, used.limited_by) == (blocks, limit)
    assert used.warps == blocks * -(-threads // 32)


def test_without_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    from weft import CompileError

    monkeypatch.setattr(toolkit, "find_tool", dict[str, str]().get)
    with pytest.raises(CompileError, match="needs NVIDIA's ptxas") as caught:
        _ = compile_info(twice, target="sm_90").resources
    assert "pip install nvidia-cuda-nvcc-cu12" in str(caught.value)
