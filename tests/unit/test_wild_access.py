"""A wild access in a kernel on a CPU ends the process: kernel, line of the launch and address are told."""

from __future__ import annotations

import platform
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"),
    reason="elsewhere the process ends without a word",
)
FAR = 0x1234_0000
"""No process has memory at 0x123400000000 and around, unless it asks for it."""

PROGRAM = """
import ctypes, faulthandler, sys, time
from weft import Float32, Int, Pointer, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.memory import stack_allocation

@kernel
def wild(x: Pointer[Float32], base: Int, rounds: Int):
    v = x[global_idx.x]
    for _ in range(rounds):
        v = v * 0.5 + 1.0
    Pointer.from_address(Int(x) * (base == 0) + base * 65536, Float32)[global_idx.x] = v

@kernel
def zero(x: Pointer[Float32], base: Int, rounds: Int):
    y = Pointer.from_address(Int(x) * (base == 0) + base * 65536, Float32)
    for i in range(rounds):
        y[i] = 0.0

@kernel
def fill(x: Pointer[Float32]):
    x[global_idx.x] = 2.0

@kernel
def own(x: Pointer[Float32], n: Int):
    mine = stack_allocation(Float32, 8)
    for i in range(n):
        mine[i] = 3.0
    x[0] = mine[2]

@kernel
def nothing(x: Pointer[Float32], n: Int):
    mine = stack_allocation(Float32, 8)
    for i in range(n):
        mine[i] = 0.0
    x[0] = mine[2]

ctx = DeviceContext(api="cpu", threads=2)
x = ctx.enqueue_create_buffer(Float32, 1 << 12)
x.enqueue_fill(1.0)

def go(kernel, base, rounds, blocks, times=1):
    for _ in range(times):
        ctx.enqueue_function(kernel, x, base, rounds, grid_dim=blocks, block_dim=64)
        ctx.synchronize()

def queued():
    return bool(ctx.stream.native._lane.words.queue)
"""
MODES = {
    "at once": ("wild", "go(wild, FAR, 4, 64)"),
    "by the pool": (
        "wild",
        "while not queued(): go(wild, 0, 2000, 64)\ngo(wild, 0, 2000, 64, 20)\ngo(wild, FAR, 2000, 64)",
    ),
    "by the caller": (
        "wild",
        "while not queued(): go(wild, 0, 2000, 64)\ngo(wild, 0, 4, 1, 50)\ngo(wild, FAR, 4, 1)",
    ),
    "in memset": ("zero", "go(zero, FAR, 4000, 1)"),
    "with others": ("wild", "faulthandler.enable()\ngo(wild, FAR, 4, 64)"),
}


def run(folder: Path, last: str) -> tuple[int, str]:
    program = folder / "program.py"
    program.write_text(PROGRAM + last.replace("FAR", str(FAR)) + "\n")
    ended = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=100, check=False
    )
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("mode", MODES)
def test_kernel_launch_and_address_are_named(mode: str, tmp_path: Path) -> None:
    kernel, last = MODES[mode]
    status, told = run(tmp_path, last)
    assert status == -signal.SIGSEGV, told
    address = re.search(rf"error\[wild-access\]: kernel '{kernel}' accesses memory at 0x(\w+), which", told)
    assert address is not None, told
    assert int(address[1], 16) - FAR * 65536 in range(1 << 14)
    line = (
        PROGRAM.splitlines().index(
            "        ctx.enqueue_function(kernel, x, base, rounds, grid_dim=blocks, block_dim=64)"
        )
        + 1
    )
    assert f"  --> {tmp_path / 'program.py'}:{line}:9\n" in told
    assert "^ launched here" in told
    assert ("Fatal Python error: Segmentation fault" in told) == (mode == "with others")


def test_python_s_own_memory_written_over(tmp_path: Path) -> None:
    """What Python was to tell with is gone: the kernel and the address are told without it."""
    status, told = run(
        tmp_path, "import numpy as np\nctx.enqueue_function(fill, np.zeros(64, np.float32), over=10**9)"
    )
    assert status == -signal.SIGSEGV, told
    assert re.search(
        r"error\[wild-access\]: kernel 'fill' accesses memory at 0x[0-9a-f]+, which the pro", told
    )
    line = PROGRAM.splitlines().index("def fill(x: Pointer[Float32]):")  # where it begins, with @kernel
    assert f" --> {tmp_path / 'program.py'}:{line}\n" in told or "launched here" in told


def test_the_stack_written_over(tmp_path: Path) -> None:
    status, told = run(
        tmp_path, "ctx.enqueue_function(own, x, 80, grid_dim=1, block_dim=1)\nctx.synchronize()"
    )
    assert status == -signal.SIGSEGV, told
    assert "kernel 'own' has written over its stack, and returns to 0x4040000040400000" in told or (
        "kernel 'own' accesses memory at an address past all that a process may have" in told
    )
    assert "launched here" in told


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the array lies behind where it returns to")
@pytest.mark.parametrize("count", [80, 1300, 20_000])
def test_the_stack_written_over_by_zeros(count: int, tmp_path: Path) -> None:
    """It returns to 0. Of what lies behind, the thread that is to tell of it cannot be begun without."""
    status, told = run(
        tmp_path, f"ctx.enqueue_function(nothing, x, {count}, grid_dim=1, block_dim=1)\nctx.synchronize()"
    )
    assert status == -signal.SIGSEGV, told
    assert re.search(r"kernel '\w+'( or '\w+')* has written over its stack, and returns to 0x0+\n", told) or (
        "kernel 'nothing' accesses memory at 0x" in told
    ), told
    assert "launched here" in told or count > 80


def test_a_call_of_nothing_elsewhere_is_no_kernel_s(tmp_path: Path) -> None:
    status, told = run(tmp_path, "go(wild, 0, 4, 64)\nctypes.CFUNCTYPE(None)(0)()")
    assert status == -signal.SIGSEGV
    assert "wild-access" not in told


def test_what_is_no_kernel_s_goes_on_as_before(tmp_path: Path) -> None:
    status, told = run(tmp_path, "go(wild, 0, 4, 64)\nfaulthandler.enable()\nctypes.string_at(4660)")
    assert status == -signal.SIGSEGV
    assert "wild-access" not in told
    assert "Fatal Python error: Segmentation fault" in told


def test_the_interpreter_shows_where_it_stood(tmp_path: Path) -> None:
    """In the function that the kernel called, and where that was launched."""
    file = tmp_path / "interpreted.py"
    file.write_text(
        "from weft import Float32, Pointer, func, kernel\n"
        "from weft.gpu.host import DeviceContext\n"
        "@func\n"
        "def get(x: Pointer[Float32]) -> Float32:\n"
        f"    return Pointer.from_address({FAR << 16}, Float32)[0]\n"
        "@kernel\n"
        "def wild(x: Pointer[Float32]):\n"
        "    x[0] = get(x)\n"
        "ctx = DeviceContext(api='interpreter')\n"
        "x = ctx.enqueue_create_buffer(Float32, 8)\n"
        "ctx.enqueue_function(wild, x, grid_dim=1, block_dim=1)\n"
    )
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGSEGV
    stack = re.findall(r'interpreted\.py", line (\d+) in (\S+)', done.stderr)
    assert stack == [("5", "get"), ("8", "wild"), ("11", "<module>")]
