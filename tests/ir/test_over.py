"""Launches over a range, where threads are hardware: what the compiler makes of one element."""

from __future__ import annotations

import re

from weft import Float32, Int, Kernel, Pointer, kernel
from weft.compiler.frontend.options import CompileOptions
from weft.compiler.ir.verify import verify_module
from weft.compiler.passes.pipeline import run_passes
from weft.compiler.pipeline import Compilation, elaborate_kernel
from weft.gpu import global_idx, thread_idx
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.launch.ranges import describe_over


@kernel
def gray(width: Int, image: Pointer[Float32], out: Pointer[Float32]):
    p = global_idx.y * width + global_idx.x
    out[p] = 0.299 * image[3 * p] + 0.587 * image[3 * p + 1] + 0.114 * image[3 * p + 2]


@kernel
def double(x: Pointer[Float32]):
    x[global_idx.x] *= 2.0


@kernel
def early(x: Pointer[Float32]):
    if x[global_idx.x] < 0.0:
        return
    x[global_idx.x] += 1.0


@kernel
def thread(x: Pointer[Float32]):
    x[global_idx.x] = Float32(thread_idx.x)


def over(
    kernel: Kernel[...], rank: int, per_thread: tuple[int, int], *, distinct: bool = True
) -> Compilation:
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(kernel.definition)}
    return elaborate_kernel(kernel, specs, "sm_90", CompileOptions(describe_over(rank, per_thread), distinct))


def asm(made: Compilation) -> str:
    text = made.emit("asm")
    assert isinstance(text, str)
    return text


def memory(text: str) -> str:
    """The global loads and stores in order, as letters."""
    return "".join(m[0] for m in re.findall(r"\b(ld|st)\.global", text))


def test_loads_come_before_stores() -> None:
    assert memory(asm(over(gray, 2, (4, 1)))).startswith("l" * 12 + "s" * 4)


def test_also_in_place() -> None:
    assert memory(asm(over(double, 1, (4, 1)))).startswith("llllssss")


def test_distinct_buffers_are_read_through_the_read_only_path() -> None:
    assert "ld.global.nc" in asm(over(gray, 2, (4, 1)))
    assert "ld.global.nc" not in asm(over(gray, 2, (4, 1), distinct=False))


def test_a_body_with_branches_stays_a_function() -> None:
    made = over(early, 1, (4, 1))
    run_passes(made.module, made.target)
    verify_module(made.module)
    assert [f.name for f in made.module.functions] == ["early_element", "early"]


def test_a_kernel_that_asks_for_its_thread_gets_one_element() -> None:
    assert over(thread, 1, (4, 1)).kernels[0].per_thread == (1, 1)
    assert over(double, 1, (4, 1)).kernels[0].per_thread == (4, 1)


def test_extents_are_parameters() -> None:
    names = [p.name for p in over(gray, 2, (4, 1)).kernels[0].signature.parameters]
    assert names == ["width", "image", "out", "over.x", "over.y"]


def test_lines_lead_to_the_element() -> None:
    text = over(gray, 2, (4, 1)).llvm()
    line = gray.function.__code__.co_firstlineno + 3
    node = re.search(rf"(!\d+) = !DILocation\(line: {line}, column: 5, scope: !\d+, inlinedAt", text)
    assert node is not None
    assert re.search(rf"load float.*!dbg {node[1]}\n", text)
