"""Blocks that wait for each other by loops of their own, on a CPU: in any launch, also a checked one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft import Bool, Comptime, DeviceError, Int, Int32, Pointer, func, kernel
from weft.atomic import Atomic
from weft.gpu import barrier, block_dim, block_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, stack_allocation

SECONDS = 20
WAYS = "plain", "cooperative", "bounds", "races", "shuffled"
every_way = pytest.mark.parametrize("way", WAYS)


def ran(way: str, function: Any, *arguments: Any, **launch: Any) -> None:
    """A launch in one of the ways, which ends soon or fails."""
    checked: Any = way if way in ("bounds", "races") else False
    ctx = DeviceContext(api="cpu", checked=checked, schedule=5 if way == "shuffled" else None)
    ctx.enqueue_function(function, *arguments, **launch, cooperative=way == "cooperative")
    event, end = ctx.record_event(), time.monotonic() + SECONDS
    while not event.done:
        assert time.monotonic() < end, "it hangs"
        time.sleep(0.002)
    ctx.synchronize()


@func
def lock(place: Pointer[Int32]) -> None:
    taken = Bool(False)
    while not taken:
        _, taken = Atomic.compare_exchange(place, 0, 1, ordering="acquire")


@kernel
def locked(place: Pointer[Int32], total: Pointer[Int32], rounds: Int):
    for _ in range(rounds):
        if thread_idx.x == 0:
            lock(place)
        barrier()
        total[thread_idx.x] += 1
        barrier()
        if thread_idx.x == 0:
            Atomic.store(place, 0, ordering="release")


@every_way
def test_a_spin_lock(way: str) -> None:
    place, total = np.zeros(1, np.int32), np.zeros(8, np.int32)
    ran(way, locked, place, total, 10, grid_dim=50, block_dim=8)
    np.testing.assert_array_equal(total, np.full(8, 500))


@kernel
def unlocked_last(place: Pointer[Int32], total: Pointer[Int32]):
    """All wait until the last block has unlocked it."""
    if block_idx.x == grid_dim.x - 1:
        Atomic.store(place, 0, ordering="release")
    else:
        lock(place)
        total[0] += 1
        Atomic.store(place, 0, ordering="release")


@every_way
def test_a_spin_lock_that_a_later_block_unlocks(way: str) -> None:
    place, total = np.ones(1, np.int32), np.zeros(1, np.int32)
    ran(way, unlocked_last, place, total, grid_dim=30, block_dim=1)
    assert total[0] == 29


@func
def meet(count: Pointer[Int32], goal: Int32) -> None:
    barrier()
    if thread_idx.x == 0:
        Atomic.fetch_add(count, 1, ordering="release")
        while Atomic.load(count, ordering="acquire") < goal:
            pass
    barrier()


@kernel
def rounds_of_sums(count: Pointer[Int32], data: Pointer[Int32], out: Pointer[Int32], rounds: Int):
    """Each block adds up what all wrote, in each round, between barriers of the program's own."""
    blocks, threads = Int32(grid_dim.x), block_dim.x
    for n in range(rounds):
        data[block_idx.x * threads + thread_idx.x] = Int32(block_idx.x + n)
        meet(count, blocks * Int32(2 * n + 1))
        total = Int32(0)
        for other in range(grid_dim.x):
            total += data[other * threads + thread_idx.x]
        out[(n * grid_dim.x + block_idx.x) * threads + thread_idx.x] = total
        meet(count, blocks * Int32(2 * n + 2))


@every_way
@pytest.mark.parametrize("blocks", [2, 32, 700])
def test_a_barrier_of_the_grid_written_by_hand(way: str, blocks: int) -> None:
    count, data, out = (np.zeros(n, np.int32) for n in (1, 4 * blocks, 12 * blocks))
    ran(way, rounds_of_sums, count, data, out, 3, grid_dim=blocks, block_dim=4)
    sums = np.arange(blocks).sum() + blocks * np.arange(3)
    np.testing.assert_array_equal(out.reshape(3, -1), np.repeat(sums[:, None], 4 * blocks, 1))


PART, WHOLE = 1, 2


@kernel
def looked_back(x: Pointer[Int32], state: Pointer[Int32], part: Pointer[Int32], whole: Pointer[Int32]):
    """Sums of blocks' elements up to each, each of which looks at those before it by their numbers."""
    if thread_idx.x == 0:
        mine, block = Int32(0), block_idx.x
        for n in range(block_dim.x):
            mine += x[block * block_dim.x + n]
        part[block] = mine
        Atomic.store(state + block, Int32(PART), ordering="release")
        before, at = Int32(0), Int(block) - 1
        while at >= 0:
            seen = Atomic.load(state + at, ordering="acquire")
            if seen == WHOLE:
                before += whole[at]
                at = -1
            elif seen == PART:
                before += part[at]
                at -= 1
        whole[block] = before + mine
        Atomic.store(state + block, Int32(WHOLE), ordering="release")


@every_way
def test_look_back_by_the_numbers_of_blocks(way: str) -> None:
    blocks, threads = 2000, 16
    x = np.random.default_rng(1).integers(-9, 9, blocks * threads).astype(np.int32)
    state, part, whole = (np.zeros(blocks, np.int32) for _ in range(3))
    ran(way, looked_back, x, state, part, whole, grid_dim=blocks, block_dim=threads)
    np.testing.assert_array_equal(whole, x.reshape(blocks, -1).sum(1).cumsum())


@kernel
def handed_on(flag: Pointer[Int32], data: Pointer[Int32], out: Pointer[Int32], giver: Int):
    i = thread_idx.x
    if block_idx.x == giver:
        data[i] = Int32(i * i)
        barrier()
        if i == 0:
            Atomic.store(flag, 1, ordering="release")
    else:
        if i == 0:
            while Atomic.load(flag, ordering="acquire") == 0:
                pass
        barrier()
        out[i] = data[i] + 1


def hands_on(way: str, giver: int) -> None:
    flag, data, out = np.zeros(1, np.int32), np.zeros(64, np.int32), np.zeros(64, np.int32)
    ran(way, handed_on, flag, data, out, giver, grid_dim=2, block_dim=64)
    np.testing.assert_array_equal(out, np.arange(64) ** 2 + 1)


@kernel
def patient(flag: Pointer[Int32], out: Pointer[Int32]):
    """A loop that is left, and one that counts."""
    b = block_idx.x
    if b < 2:
        for _ in range(1 << 40):
            if Atomic.fetch_add(flag, 0) > 0:
                break
    elif b == 2:
        times = 0  # weft: ignore[unused-variable]
        while Atomic.load(flag) == 0:
            times += 1
    else:
        Atomic.store(flag, 1, ordering="release")
    out[b] = Int32(b) + 1


@every_way
def test_loops_that_are_left_or_count(way: str) -> None:
    flag, out = np.zeros(1, np.int32), np.zeros(4, np.int32)
    ran(way, patient, flag, out, grid_dim=4, block_dim=1)
    np.testing.assert_array_equal(out, [1, 2, 3, 4])


@every_way
def test_a_block_waits_for_an_earlier_one(way: str) -> None:
    hands_on(way, 0)


@every_way
def test_a_block_waits_for_a_later_one(way: str) -> None:
    hands_on(way, 1)


@kernel
def both_write(flag: Pointer[Int32], x: Pointer[Int32], out: Pointer[Int32], *, early: Comptime[bool]):
    """Block 0 waits for block 1; both write ``x``, before that or behind, where the flag hands it over."""
    if block_idx.x == 0:
        if early:
            x[0] = 3
        while Atomic.load(flag, ordering="acquire") == 0:
            pass
        if not early:
            x[0] = 3
        out[0] = x[0]
    else:
        x[0] = 4
        Atomic.store(flag, 1, ordering="release")


def test_a_race_between_blocks_that_wait() -> None:
    flag, x, out = (np.zeros(1, np.int32) for _ in range(3))
    ran("races", both_write, flag, x, out, early=False, grid_dim=2, block_dim=1)
    assert out[0] == 3
    flag[:] = 0
    with pytest.raises(DeviceError, match="data-race"):
        ran("races", both_write, flag, x, out, early=True, grid_dim=2, block_dim=1)


@kernel
def to_and_fro(flags: Pointer[Int32], x: Pointer[Int32], out: Pointer[Int32]):
    """Block 0 waits for block 1, meets, and hands over what block 1 waits for."""
    if block_idx.x == 0:
        if thread_idx.x == 0:
            while Atomic.load(flags, ordering="acquire") == 0:
                pass
        barrier()
        if thread_idx.x == 1:
            x[0] = 7
            Atomic.store(flags + 1, 1, ordering="release")
    elif thread_idx.x == 0:
        Atomic.store(flags, 1, ordering="release")
        while Atomic.load(flags + 1, ordering="acquire") == 0:
            pass
        out[0] = x[0]


@every_way
def test_blocks_hand_over_to_and_fro(way: str) -> None:
    flags, x, out = np.zeros(2, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    ran(way, to_and_fro, flags, x, out, grid_dim=2, block_dim=2)
    assert out[0] == 7


@kernel
def own_memory(flag: Pointer[Int32], out: Pointer[Int32]):
    """Shared memory of two blocks is no memory of both."""
    held = stack_allocation(Int32, 1, address_space=AddressSpace.SHARED)
    if block_idx.x == 0:
        if thread_idx.x == 0:
            held[0] = 5
            while Atomic.load(flag, ordering="acquire") == 0:
                pass
            out[0] = held[0]
    elif thread_idx.x == 1:
        Atomic.store(flag, 1, ordering="release")
        held[0] = 6


@every_way
def test_shared_memory_of_a_block_that_waits_is_its_own(way: str) -> None:
    flag, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    ran(way, own_memory, flag, out, grid_dim=2, block_dim=2)
    assert out[0] == 5


@kernel
def blocks_share(count: Pointer[Int32], out: Pointer[Int32], rounds: Int):
    """Shared memory and threads' own numbers last while others run."""
    held = stack_allocation(Int32, 32, address_space=AddressSpace.SHARED)
    t, b = thread_idx.x, block_idx.x
    held[t] = Int32(b * 100 + t)
    own = held[t] * 2
    for n in range(rounds):
        meet(count, Int32(grid_dim.x) * Int32(n + 1))
        own += held[31 - t]
        barrier()
        held[t] += 1
    out[b * 32 + t] = own


@every_way
def test_shared_memory_lasts_while_others_run(way: str) -> None:
    count, out = np.zeros(1, np.int32), np.zeros(9 * 32, np.int32)
    ran(way, blocks_share, count, out, 4, grid_dim=9, block_dim=32)
    b, t = np.arange(9)[:, None] * 100, np.arange(32)
    expected = 2 * (b + t) + sum(b + 31 - t + n for n in range(4))
    np.testing.assert_array_equal(out.reshape(9, 32), expected)


PROGRAM = """
import numpy as np
from weft import Int32, Pointer, kernel
from weft.atomic import Atomic
from weft.gpu import block_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceContext

@kernel
def waits(flags: Pointer[Int32]):
    if thread_idx.x == {thread}:
        while Atomic.load(flags + (block_idx.x + 1) % grid_dim.x) == 0:
            pass
        Atomic.store(flags + block_idx.x, 1)

ctx = DeviceContext(api="cpu"{more})
ctx.enqueue_function(waits, np.zeros({blocks}, np.int32), grid_dim={blocks}, block_dim=4)
print("begins", flush=True)
try:
    ctx.synchronize()
except KeyboardInterrupt:
    print("interrupted")
ctx.enqueue_function(waits, np.ones(1, np.int32), grid_dim=1, block_dim=4)
ctx.synchronize()
"""
TOLD = "error[endless-wait]: kernel 'waits' never ends: {} round a loop, and nothing changes any more"


def run(path: Path, text: str, *, interrupt: bool = False) -> tuple[int, str, str]:
    path.write_text(text)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    ) as child:
        try:
            if interrupt:
                assert child.stdout is not None
                assert child.stdout.readline() == "begins\n"
                time.sleep(0.5)
                child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=SECONDS)
        finally:
            child.kill()
    return child.returncode, out, err


@pytest.mark.parametrize("blocks", [1, 40])
@pytest.mark.parametrize("checked", [False, True])
def test_blocks_that_wait_for_ever_are_told_of(tmp_path: Path, blocks: int, checked: bool) -> None:
    more = ", checked='races'" if checked else ""
    status, _, said = run(tmp_path / "program.py", PROGRAM.format(thread=2, blocks=blocks, more=more))
    assert status == 1
    assert TOLD.format("a thread goes" if blocks == 1 else f"{blocks} threads go") in said
    assert re.search(r"program.py:11:15\n.*\n.*while .*\n.*in block \(0, 0, 0\), thread \(2, 0, 0\)", said)


@pytest.mark.parametrize("checked", ["'bounds'", "True"])
def test_who_looks_outside_of_memory_is_told_of(tmp_path: Path, checked: str) -> None:
    """It sees 0 for ever."""
    text = PROGRAM.format(thread=2, blocks=4, more=f", checked={checked}").replace(" % grid_dim.x", " + 4")
    status, _, said = run(tmp_path / "program.py", text)
    assert status == 1
    assert TOLD.format("4 threads go") in said
    assert "error[out-of-bounds]: kernel 'waits' reads element 5 of `flags`, which has 4 elements" in said


def test_a_stream_that_waited_for_ever_goes_on(tmp_path: Path) -> None:
    text = PROGRAM.replace("KeyboardInterrupt", "DeviceError").replace(
        "from weft import", "from weft import DeviceError,"
    )
    status, out, _ = run(
        tmp_path / "program.py", text.format(thread=0, blocks=8, more="") + "print('goes on')\n"
    )
    assert (status, out) == (0, "begins\ninterrupted\ngoes on\n")


def test_the_host_may_write_what_is_waited_for(tmp_path: Path) -> None:
    """No time limit ends it, though it is said that it takes long."""
    lines = (
        PROGRAM.format(thread=0, blocks=1, more="").split("ctx = ")[0]
        + """
import time
from weft.runtime.cpu import waiting
waiting._PATIENCE, waiting._NOTE = 0.01, 0.3
ctx, flags = DeviceContext(api="cpu"), np.zeros(1, np.int32)
ctx.enqueue_function(waits, flags, grid_dim=1, block_dim=4)
time.sleep(2.5)
ctypes.c_int32.from_address(flags.ctypes.data).value = 1
ctx.synchronize()
print("ends")
"""
    )
    status, out, said = run(tmp_path / "program.py", "import ctypes\n" + lines)
    assert (status, out) == (0, "ends\n")
    assert said.count("warning[endless-wait]") == 1


def test_a_block_may_work_long_while_others_wait(tmp_path: Path) -> None:
    lines = (
        PROGRAM.format(thread=0, blocks=3, more="").split("@kernel")[0]
        + """
from weft import Int
from weft.runtime.cpu import waiting
waiting._PATIENCE = waiting._NOTE = 0.001

@kernel
def works(flag: Pointer[Int32], rounds: Int):
    if block_idx.x == 1:
        x = Int32(1)
        for n in range(rounds):
            x = x * 5 + Int32(n)
        Atomic.store(flag, x | 1)
    else:
        while Atomic.load(flag) == 0:
            pass

ctx = DeviceContext(api="cpu")
ctx.enqueue_function(works, np.zeros(1, np.int32), 1_000_000_000, grid_dim=3, block_dim=1)
ctx.synchronize()
print("ends")
"""
    )
    assert run(tmp_path / "program.py", lines) == (0, "ends\n", "")


def test_a_launch_that_waits_is_interrupted(tmp_path: Path) -> None:
    """The process ends, without what its threads would do when Python has ended."""
    text = PROGRAM.format(thread=0, blocks=8, more="").replace("from weft", "import threading\nfrom weft", 1)
    text = text.split("ctx.enqueue_function(waits, np.ones")[0]
    beside = "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    text = text.replace("ctx = ", beside + "ctx = ")  # it may write, so the launch is not ended
    status, out, said = run(tmp_path / "program.py", text, interrupt=True)
    assert (status, out, said) == (0, "interrupted\n", "")
