"""Faults on a GPU: one error that names the kernel; and what happens at the end of a process.

Each test is a program of its own, since a fault loses what every user of the GPU in a process has.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

HEAD = """\
import sys
import numpy as np
from weft import DeviceError, Float32, Int, Int32, LaunchError, Pointer, kernel
from weft.gpu import global_idx, thread_idx
from weft.gpu.host import DeviceContext

@kernel
def fine(x: Pointer[Int32]):
    x[thread_idx.x] += 1

@kernel
def stray(x: Pointer[Int32], far: Int):
    x[far + thread_idx.x] = 1

@kernel
def says(n: Int):
    print("thread", thread_idx.x, "of", n)

def check(ctx):
    buffer = ctx.enqueue_create_buffer(Int32, 8)
    buffer.enqueue_fill(1)
    ctx.enqueue_function(fine, buffer, grid_dim=1, block_dim=8)
    with buffer.map_to_host() as host:
        assert list(host) == [2] * 8
    return buffer

def failing(call):
    try:
        call()
    except (DeviceError, LaunchError) as error:
        return error.diagnostics[0]
    raise AssertionError("it did not fail")

"""


def run(folder: Path, text: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    file = folder / "program.py"
    file.write_text(HEAD + text)
    done = subprocess.run(
        [sys.executable, str(file)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


@pytest.mark.gpu_memory
def test_a_stray_access(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
ctx = DeviceContext(api="cuda")
buffer = check(ctx)
before = ctx.memory_info()[0]
large = ctx.enqueue_create_buffer("uint8", 20 << 30)
ctx.enqueue_function(fine, buffer, grid_dim=1, block_dim=8)
ctx.synchronize()
ctx.enqueue_function(stray, buffer, 1 << 45, grid_dim=1, block_dim=8)
found = failing(ctx.synchronize)
print(found.message)
for attempt in (ctx.synchronize, lambda: ctx.enqueue_create_buffer(Int32, 4), lambda: buffer.enqueue_fill(1)):
    again = failing(attempt)
    assert again.code == "context-lost", again
    print(again.message)
ctx.close()
try:
    new = DeviceContext(api="cuda")
except DeviceError as error:
    print(error.diagnostics[0].message, error.diagnostics[0].hints)
else:
    assert new.memory_info()[0] > before - (2 << 30), (before, new.memory_info())
    check(new)
    assert failing(lambda: new.enqueue_fill(buffer, 0)).code == "buffer-context"
    del buffer, large
    check(new)
    new.close()
    print("was lost: and works again")
""",
    )
    assert "kernel 'stray' failed on NVIDIA" in done.stdout
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in done.stdout
    assert done.stdout.count("was lost: ") == 4
    assert done.stderr == ""


def test_several_kernels_are_suspected(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
ctx = DeviceContext(api="cuda")
buffer = check(ctx)
ctx.enqueue_function(fine, buffer, grid_dim=1, block_dim=8)
ctx.enqueue_function(stray, buffer, 1 << 45, grid_dim=1, block_dim=8)
print(failing(ctx.synchronize).message)
""",
    )
    assert done.stdout.startswith("one of the kernels 'fine' and 'stray' failed on NVIDIA")
    assert done.stderr == ""


def test_the_stub_s_launches_are_named(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
ctx = DeviceContext(api="cuda")
buffer = check(ctx)
for _ in range(20):
    ctx.enqueue_function(stray, buffer, 0, grid_dim=1, block_dim=8)
ctx.synchronize()
for far in (0, 1 << 45, 0, 0):
    ctx.enqueue_function(stray, buffer, far, grid_dim=1, block_dim=8)
print(failing(ctx.synchronize).message)
print(failing(lambda: ctx.enqueue_function(stray, buffer, 0, grid_dim=1, block_dim=8)).code)
""",
    )
    assert done.stdout.startswith("kernel 'stray' failed on NVIDIA"), done.stdout
    assert done.stdout.splitlines()[1] == "context-lost"


def test_forgotten_work_at_the_end(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
ctx = DeviceContext(api="cuda")
ctx.enqueue_function(says, 2, grid_dim=1, block_dim=2)
ctx.stream.call(lambda: sys.stdout.write("called\\n"))
""",
    )
    assert sorted(done.stdout.splitlines()) == ["called", "thread 0 of 2", "thread 1 of 2"]
    assert done.stderr == ""
    done = run(
        tmp_path,
        """
ctx = DeviceContext(api="cuda")
buffer = check(ctx)
ctx.enqueue_function(stray, buffer, 1 << 45, grid_dim=1, block_dim=8)
""",
        status=1,
    )
    assert "kernel 'stray' failed" in done.stderr


def test_printed_text_keeps_its_place(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
ctx = DeviceContext(api="cuda")
for number in range(3):
    print("before", number)
    ctx.enqueue_function(says, number, grid_dim=1, block_dim=1)
    ctx.synchronize()
""",
    )
    expected = [line for n in range(3) for line in (f"before {n}", f"thread 0 of {n}")]
    assert done.stdout.splitlines() == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_fork(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
import os
ctx = DeviceContext(api="cuda")
buffer = check(ctx)
child = os.fork()
if child == 0:
    print(failing(ctx.synchronize).message, flush=True)
    del buffer, ctx
else:
    os.waitpid(child, 0)
    check(ctx)
""",
    )
    assert "CUDA does not survive a fork" in done.stdout
