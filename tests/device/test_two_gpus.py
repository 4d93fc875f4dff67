"""Two GPUs in one process: each works fully beside the other, and they wait for and reach each other."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft import Float32, Int, Int32, Int64, LaunchError, Pointer, kernel
from weft.atomic import Atomic
from weft.gpu import global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.lang.intrinsics import inline_asm

pytestmark = pytest.mark.gpu
Gpus = tuple[DeviceContext, DeviceContext]
GIB = 1 << 30


@kernel
def add(vector: Pointer[Float32], size: Int, scalar: Float32):
    if global_idx.x < size:
        vector[global_idx.x] += scalar


@kernel
def says(number: Int):
    print("GPU", number, "thread", thread_idx.x)


@kernel
def claims(number: Int):
    assert number == 0, "only on the first"


@kernel
def spin(nanoseconds: Int64):
    begun = inline_asm("mov.u64 $0, %globaltimer;", Int64, constraints="=l")
    now = begun
    while now - begun < nanoseconds:
        now = inline_asm("mov.u64 $0, %globaltimer;", Int64, constraints="=l")


@kernel
def talk(mine: Pointer[Int32], theirs: Pointer[Int32], seen: Pointer[Int32], rounds: Int32):
    """Tell the other kernel each round's number, and wait for its."""
    number = Int32(1)
    patience = Int64(200_000_000)
    while number <= rounds and patience > 0:
        Atomic.store(theirs, number, ordering="release", scope="system")
        while Atomic.load(mine, ordering="acquire", scope="system") < number and patience > 0:
            patience -= 1
        number += 1
    seen[0] = number - 1 if patience > 0 else -number


def read(ctx: DeviceContext, buffer: Any) -> Any:
    out = np.empty(len(buffer), buffer.dtype.name)
    ctx.enqueue_copy(dst=out, src=buffer)
    ctx.synchronize()
    return out.tolist()


def test_each_works_fully(two_gpus: Gpus, capsys: pytest.CaptureFixture[str]) -> None:
    """Launches in turns, by the native stub too; each prints its own."""
    vectors: list[Any] = [ctx.enqueue_create_buffer(Float32, 1000) for ctx in two_gpus]
    for number, vector in enumerate(vectors):
        vector.enqueue_fill(number)
    for _ in range(30):
        for ctx, vector in zip(two_gpus, vectors, strict=True):
            ctx.enqueue_function(add, vector, 1000, 1.0, grid_dim=4, block_dim=256)
    assert [read(ctx, v) for ctx, v in zip(two_gpus, vectors, strict=True)] == [[30.0] * 1000, [31.0] * 1000]
    for number, ctx in enumerate(two_gpus):
        ctx.enqueue_function(says, number, grid_dim=1, block_dim=2)
    two_gpus[1].synchronize()
    assert capsys.readouterr().out == "GPU 1 thread 0\nGPU 1 thread 1\n"
    two_gpus[0].synchronize()
    assert capsys.readouterr().out == "GPU 0 thread 0\nGPU 0 thread 1\n"


def test_an_assertion_is_of_its_gpu(two_gpus: Gpus) -> None:
    for number, ctx in enumerate(two_gpus):
        ctx.enqueue_function(claims, number, grid_dim=1, block_dim=1)
    two_gpus[0].synchronize()
    with pytest.raises(Exception, match="only on the first"):
        two_gpus[1].synchronize()


@pytest.mark.gpu_memory
def test_memory_is_of_its_gpu(two_gpus: Gpus) -> None:
    before = [ctx.memory_info()[0] for ctx in two_gpus]
    buffer = two_gpus[1].enqueue_create_buffer("uint8", 10 * GIB)
    buffer.enqueue_fill(1)
    two_gpus[1].synchronize()
    assert abs(two_gpus[0].memory_info()[0] - before[0]) < GIB
    assert two_gpus[1].memory_info()[0] < before[1] - 9 * GIB
    del buffer
    assert abs(two_gpus[1].memory_info()[0] - before[1]) < GIB


def test_closing_one_leaves_the_other(two_gpus: Gpus) -> None:
    first, second = two_gpus
    kept = first.enqueue_create_buffer(Float32, 100)
    kept.enqueue_fill(3)
    first.close()
    vector = second.enqueue_create_buffer(Float32, 100)
    second.enqueue_copy(dst=vector, src=kept)
    second.enqueue_function(add, vector, 100, 1.0, grid_dim=1, block_dim=128)
    assert read(second, vector) == [4.0] * 100
    with DeviceContext(0, api="cuda") as again:
        again.enqueue_copy(dst=again.enqueue_create_buffer(Float32, 100), src=vector)
        again.synchronize()


def test_one_waits_for_the_other(two_gpus: Gpus) -> None:
    """For a context, a stream and an event, while kernels run."""
    first, second = two_gpus
    for ctx in two_gpus:
        ctx.compile_function(spin)
        ctx.enqueue_function(spin, 1000, grid_dim=1, block_dim=1)
        ctx.synchronize()
    with first.create_stream() as side:
        for other in (first, side, None):
            stream = side if other is side else None
            first.enqueue_function(spin, 50_000_000, grid_dim=1, block_dim=1, stream=stream)
            ran = first.record_event(stream=stream)
            second.enqueue_wait_for(ran if other is None else other)
            after = second.record_event()
            assert not after.done
            after.synchronize()
            assert ran.done


def test_time_on_the_second(two_gpus: Gpus) -> None:
    def launch(ctx: DeviceContext) -> None:
        ctx.enqueue_function(spin, 10_000_000, grid_dim=1, block_dim=1)

    two_gpus[1].execution_time(launch)
    assert 29e6 <= two_gpus[1].execution_time(launch, 3) < 60e6


def test_kernels_of_two_gpus_talk_while_both_run(two_gpus: Gpus) -> None:
    """Nothing makes one of them wait for the other's end."""
    first, second = two_gpus
    if not (first.can_access(second) and second.can_access(first)):
        pytest.skip("these GPUs are not linked")
    DeviceContext.enable_all_peer_access(api="cuda")
    mine, theirs = (ctx.enqueue_create_buffer(Int32, 1) for ctx in two_gpus)
    seen: list[Any] = [ctx.enqueue_create_buffer(Int32, 1) for ctx in two_gpus]
    for ctx in two_gpus:
        ctx.compile_function(talk)
    for buffer in (mine, theirs):
        buffer.enqueue_fill(0)
    first.synchronize()
    second.synchronize()
    first.enqueue_function(talk, mine, theirs, seen[0], 1000, grid_dim=1, block_dim=1)
    second.enqueue_function(talk, theirs, mine, seen[1], 1000, grid_dim=1, block_dim=1)
    assert [read(ctx, s) for ctx, s in zip(two_gpus, seen, strict=True)] == [[1000], [1000]]


def test_large_copies_run_both_ways_at_once(two_gpus: Gpus) -> None:
    """On streams of their own, copies in the two directions overlap."""
    first, second = two_gpus
    size = GIB // 4
    buffers = [[ctx.enqueue_create_buffer("uint8", size) for _ in range(2)] for ctx in two_gpus]
    for number, (one, two) in enumerate(buffers):
        one.enqueue_fill(number + 1)
        two.enqueue_fill(0)
    for ctx in two_gpus:
        ctx.synchronize()
    with first.create_stream() as one, second.create_stream() as two:
        first.enqueue_copy(dst=buffers[1][1], src=buffers[0][0], stream=one)
        second.enqueue_copy(dst=buffers[0][1], src=buffers[1][0], stream=two)
        one.synchronize()
        two.synchronize()
    for ctx, [_, out], value in ((first, buffers[0], 2), (second, buffers[1], 1)):
        array = np.empty(size, np.uint8)
        ctx.enqueue_copy(dst=array, src=out)
        ctx.synchronize()
        assert (array == value).all()


def test_a_tensor_of_torch_on_the_other_gpu(two_gpus: Gpus) -> None:
    pytest.importorskip("torch")
    torch: Any = importlib.import_module("torch")
    x = torch.zeros(10, device="cuda:1")
    with pytest.raises(
        LaunchError, match=r"Float32 on cuda:0, not a torch.Tensor of Float32 on cuda:1"
    ) as refused:
        two_gpus[0].enqueue_function(add, x, 10, 1.0, grid_dim=1, block_dim=32)
    text = str(refused.value)
    assert "DeviceContext(1)" in text
    assert "cuda:0" in text
    for _ in range(12):
        two_gpus[1].enqueue_function(add, x, 10, 1.0, grid_dim=1, block_dim=32)
    two_gpus[1].synchronize()
    assert x.tolist() == [12.0] * 10


HEAD = """\
from weft import DeviceError, Int, Int32, LaunchError, Pointer, kernel
from weft.gpu import thread_idx
from weft.gpu.host import DeviceContext

@kernel
def stray(x: Pointer[Int32], far: Int):
    x[far + thread_idx.x] = 1

def failing(call):
    try:
        call()
    except (DeviceError, LaunchError) as error:
        print(error.diagnostics[0].code, error.diagnostics[0].message)

zero, one = DeviceContext(0, api="cuda"), DeviceContext(1, api="cuda")
here, there = zero.enqueue_create_buffer(Int32, 8), one.enqueue_create_buffer(Int32, 8)
here.enqueue_fill(1)
there.enqueue_fill(2)
zero.synchronize()
one.synchronize()
"""


def test_many_copies_each_way_while_kernels_hold_both(two_gpus: Gpus) -> None:
    """What copies keep alive is given back now and then, by events of the GPU whose copies they are."""
    zero, one = two_gpus
    streams = zero.create_stream(), one.create_stream()
    here, there = (context.enqueue_create_buffer(Float32, 1 << 20) for context in two_gpus)
    back, away = (context.enqueue_create_buffer(Float32, 1 << 20) for context in two_gpus)
    here.enqueue_fill(1.0)
    there.enqueue_fill(2.0)
    for _ in range(300):
        zero.enqueue_copy(dst=away, src=here, stream=streams[0])
        one.enqueue_copy(dst=back, src=there, stream=streams[1])
    for stream in streams:
        stream.synchronize()
    with away.map_to_host() as away_here, back.map_to_host() as back_here:
        assert np.all(away_here.numpy() == 1.0)
        assert np.all(back_here.numpy() == 2.0)


def program(folder: Path, text: str) -> str:
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
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_fault_is_of_its_gpu(two_gpus: Gpus, tmp_path: Path) -> None:
    """It is named, and what has to do with that GPU is refused.

    Drivers may refuse all GPUs' work from then on; if so the message says whose fault it was.
    """
    lines = program(
        tmp_path,
        """
one.enqueue_function(stray, there, 1 << 45, grid_dim=1, block_dim=8)
failing(one.synchronize)
failing(lambda: zero.enqueue_copy(dst=here, src=there))
failing(lambda: zero.enqueue_wait_for(one))
failing(lambda: here.enqueue_fill(5))
failing(zero.synchronize)
""",
    ).splitlines()
    assert lines[0].startswith("device-fault kernel 'stray' failed on NVIDIA")
    assert "(cuda:1): a thread accessed memory" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["context-lost"] * (len(lines) - 1)
    assert all("(cuda:1)" in line for line in lines[1:])


@pytest.mark.parametrize("call", ["zero.enqueue_copy(dst=here, src=there)", "zero.synchronize()"])
def test_a_fault_that_nobody_has_noticed_yet(two_gpus: Gpus, tmp_path: Path, call: str) -> None:
    """It is not blamed on the GPU whose call meets it."""
    lines = program(
        tmp_path,
        f"""
import time
one.enqueue_function(stray, there, 1 << 45, grid_dim=1, block_dim=8)
time.sleep(0.2)
failing(lambda: {call})
failing(one.synchronize)
failing(zero.synchronize)
""",
    ).splitlines()
    assert lines[0].startswith("device-fault kernel 'stray' failed on NVIDIA")
    assert "(cuda:1): a thread accessed memory" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["context-lost"] * (len(lines) - 1)
