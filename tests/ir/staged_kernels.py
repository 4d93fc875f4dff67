"""Kernels that tests of the stages share: of each kind of statement and type one, in a few lines."""

from __future__ import annotations

import pytest

from weft import Bool, Comptime, Float16, Float32, Int, Kernel, Pointer, func, kernel, struct
from weft.compiler.pipeline import Compilation, elaborate_kernel
from weft.gpu import barrier, block_dim, block_idx, global_idx, thread_idx
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.lang.spec import Spec, StaticSpec


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
each_kernel = pytest.mark.parametrize(
    ("kernel", "comptime"), KERNELS, ids=lambda v: getattr(v, "__name__", "")
)


def elaborated(kernel: Kernel[...], comptime: dict[str, object], target: str) -> Compilation:
    specs: dict[str, Spec] = {
        p.name: StaticSpec(comptime[p.name]) if p.comptime else spec_of_annotation(p.annotation)
        for p in parameters(kernel.definition)
    }
    return elaborate_kernel(kernel, specs, target)
