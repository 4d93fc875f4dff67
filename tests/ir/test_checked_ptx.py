"""NVIDIA's assembler takes checked kernels, with all that a GPU can be asked for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.ptxas import find_ptxas

from weft import Float32, Int, Int8, Int32, Pointer, UInt32, kernel, math
from weft.abi.checks import CHECKS
from weft.atomic import Atomic
from weft.compiler.frontend.options import CompileOptions
from weft.compiler.pipeline import elaborate_kernel
from weft.gpu import barrier, thread_idx
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation


@kernel
def memory(x: Pointer[Float32], counts: Pointer[Int32], n: Int):
    ours = stack_allocation(Float32, 64, address_space=AddressSpace.SHARED)
    more = dynamic_shared_memory(Float32)
    t = thread_idx.x
    ours[t] = x.load(4 * t, width=4, alignment=16)[0]
    more[t] = ours[t]
    barrier()
    Atomic.fetch_add(counts + t, 1)
    Atomic.compare_exchange(counts + n, 0, 1)
    assert more[n - t] > 0.0, f"at {t}"
    print(t, more[n - t])
    x[n] = more[n - t]


@kernel
def arithmetic(x: Pointer[Int32], y: Pointer[Float32], u: Pointer[UInt32], n: Int32):
    v = x[0] * n + (n << x[1]) // x[2] - x[3] % n
    x[0] = abs(-v) + Int32(Int8(v)) + Int32(y[0])
    x.store(0, x.load(0, width=4) * n)
    y[0] = math.sqrt(y[1]) / y[2] + math.log(y[3])
    u[0] -= u[1] * u[2]


@kernel
def search(x: Pointer[Int32], out: Pointer[Int32], key: Int32):
    i = thread_idx.x
    while x[i] != key:
        i += 1
        barrier()
    out[0] = Int32(i)


@pytest.mark.parametrize("program", [memory, arithmetic, search], ids=lambda k: k.__name__)
def test_ptxas_takes_it(program: Any, tmp_path: Path) -> None:
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("no ptxas")
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(program.definition)}
    options = CompileOptions(checked=frozenset(CHECKS))
    text = elaborate_kernel(program, specs, "sm_90", options).emit("asm")
    assert isinstance(text, str)
    assert "weft$faults" in text
    file = tmp_path / "checked.ptx"
    file.write_text(text)
    done = subprocess.run(
        [str(ptxas), "-arch=sm_90", str(file), "-o", str(tmp_path / "out")], capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
