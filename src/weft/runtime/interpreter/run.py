"""A launch: the threads of each block in turn, which change places where they wait for each other."""

from __future__ import annotations

import ctypes
import itertools
import math
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import cache
from traceback import walk_tb
from types import FunctionType, TracebackType
from typing import Any

import numpy as np

from weft.abi.artifact import KernelInfo, PrintSite
from weft.abi.cpu_limits import MOST_THREADS
from weft.abi.program import Program
from weft.abi.warp import WARP
from weft.diagnostics import Diagnostic, Location, Report
from weft.diagnostics.endless import Waiting, endless_wait
from weft.diagnostics.parted import Parting
from weft.record import replace
from weft.runtime.cpu.queue import Failed
from weft.runtime.driver import Extents, Launch
from weft.runtime.faults import report
from weft.runtime.interpreter import debugging
from weft.runtime.interpreter.machine import At, argument, constant, native, take, words
from weft.runtime.interpreter.views import UNSET, stepped
from weft.runtime.printing import Console, format_print

_MASK = (1 << 64) - 1
_ALIGNED = 128
_PATIENCE = 64
"""So often the threads of a block go round a loop before those of the next begin."""
_words = cache(words)


class EndOfThread(AssertionError):
    """An assertion has failed: its thread ends, others go on."""


class PythonFunction:
    """A kernel as a function of Python's."""

    max_threads_per_block = MOST_THREADS

    def __init__(
        self, kernel: KernelInfo, program: Program, functions: Mapping[str, FunctionType], keep: object
    ) -> None:
        entry = program.entries[kernel.entry]
        self.kernel = kernel
        self.run: Callable[..., Any] = functions[entry.function]
        self.waits = program.functions[entry.function].waits
        self.arguments = entry.arguments
        self.rank = entry.rank
        self.memory = {name: _placed(data, align) for name, (data, align) in program.tables.items()}
        self.shared = program.shared
        self.meets = program.meets
        self._keep = keep

    def residency(self, threads: int, shared: int) -> None:
        """Nothing: Python has no such limits."""


def _placed(data: bytes, alignment: int) -> tuple[object, int]:
    held = take(len(data), alignment)
    ctypes.memmove(held[1], data, len(data))
    return held


def functions_of(program: Program, addresses: Mapping[str, int]) -> dict[str, FunctionType]:
    """The functions of a program: each sees what its module has, and the machine's words.

    ``addresses`` are those of its native code.
    """
    shared = {**_words()}
    for name, form in program.natives.items():
        shared[name] = native(addresses[name], *form)
    for name, (kind, value, lanes) in program.floats.items():
        shared[name] = constant(kind, value, lanes)
    made: dict[str, FunctionType] = {}
    around: dict[str, dict[str, Any]] = {}
    for name, (code, file, _) in program.functions.items():
        names = around.setdefault(file, {**stepped(_module(file)), **shared})
        made[name] = FunctionType(code, names, None, (UNSET,) * code.co_argcount)
    for names in around.values():
        names.update(made)
    return made


def _module(file: str) -> dict[str, Any]:
    """What the module of a file has, for a debugger's questions."""
    for module in tuple(sys.modules.values()):
        if getattr(module, "__file__", None) == file:
            return vars(module)
    return {"__builtins__": __builtins__}


class Thread:
    """What a thread of a kernel knows of where it is."""

    def __init__(self, launch: _Running, block: _Block, thread: Extents) -> None:
        self.launch = launch
        self.memory = block.memory
        self.dynamic_shared = block.dynamic_shared
        self.shared_stride = launch.stride
        self.named = block.named
        self.block, self.thread = block.index, thread
        self.block_id_x, self.block_id_y, self.block_id_z = block.index
        self.thread_id_x, self.thread_id_y, self.thread_id_z = thread
        (x, y, z), (wide, high, _) = thread, launch.queued.block
        self.number = x + wide * (y + high * z)
        self.warp, self.lane = divmod(self.number, WARP)
        self.count = math.prod(launch.queued.block)
        self.block_dim_x, self.block_dim_y, self.block_dim_z = launch.queued.block
        self.grid_dim_x, self.grid_dim_y, self.grid_dim_z = launch.queued.grid
        self.cluster_dim_x, self.cluster_dim_y, self.cluster_dim_z = launch.cluster
        self.over_x, self.over_y, self.over_z = launch.queued.over

    def tell(self, site: int, *values: int) -> None:
        """A print, which is written at once."""
        found = self.launch.kernel.sites[site]
        assert isinstance(found, PrintSite)
        self.launch.console.write(format_print(found, [value & _MASK for value in values]))
        self.launch.console.flush()

    def fault(self, site: int, *values: int, every: bool = False) -> None:
        """Tell of a fault, or of an assertion that has failed; of ``every`` one the first at its place."""
        if every:
            before = self.launch.counts.get(site, 0)
            self.launch.counts[site] = before + 1
            if before:
                return
        words = [value & _MASK for value in (*self.block, *self.thread, *values)]
        found = report(self.launch.kernel, site, words)
        self.launch.tell(site, found)
        if debugging.session is not None:
            frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
            debugging.session.failed(frame, found.diagnostic())

    def faults(self, site: int) -> int:
        """How often a fault was told of at its place."""
        return self.launch.counts.get(site, 0)

    def arrive(self, number: int, threads: int) -> int:
        """Come to a named barrier of so many threads: which round of it this is."""
        came, rounds = self.named.get(number, (0, 0))
        ends = came + 1 == threads
        self.named[number] = (0, rounds + 1) if ends else (came + 1, rounds)
        return rounds

    def waits(self, number: int, round: int) -> bool:
        """Whether not all have come to a round of it."""
        return self.named[number][1] == round

    def end(self, message: str = "") -> None:
        """End here.

        Raises:
            EndOfThread: always.
        """
        raise EndOfThread(message)

    def __repr__(self) -> str:
        return f"block {self.block}, thread {self.thread}"


class _Block:
    """A block that runs: its memory, and its threads that have not ended, with what they wait for."""

    def __init__(self, launch: _Running, index: Extents, arguments: Sequence[Any], start: int) -> None:
        self.index = index
        self.memory = {name: start + offset for name, offset in launch.offsets.items()}
        self.memory |= {name: address for name, (_, address) in launch.function.memory.items()}
        self.dynamic_shared = start + launch.static
        self.named: dict[int, tuple[int, int]] = {}
        """Of each named barrier, how many have come, and how often all had."""
        self.arguments = arguments
        size, over, rank = launch.queued.block, launch.queued.over, launch.function.rank
        ends = [min(n, over[a] - index[a] * n) if a < rank else n for a, n in enumerate(size)]
        each = itertools.product(*[range(max(0, n)) for n in reversed(ends)])
        self.threads = [Thread(launch, self, (x, y, z)) for z, y, x in each]
        self.live: list[_Live] = []


class _Live:
    """A thread that has not ended: what it waits for, and what it is told when it goes on."""

    __slots__ = ("answer", "at", "thread", "waits")

    def __init__(self, thread: Thread, waits: Generator[At, Any, None]) -> None:
        self.thread = thread
        self.waits = waits
        self.at: At | None = None
        self.answer: Any = None

    def state(self) -> list[object]:
        """Where a thread is that waits, and what it computes with: what it does next depends on no more."""
        found: list[object] = []
        waits: Any = self.waits
        while waits is not None and (frame := getattr(waits, "gi_frame", None)) is not None:
            held = {n: v for n, v in frame.f_locals.items() if n[:2] == "__" and n[2:3].isdigit()}
            found += [frame.f_lasti, held]
            waits = waits.gi_yieldfrom
        return found

    def step(self) -> None:
        """Run until the thread waits, or ends."""
        if self.at is None and debugging.session is not None:
            thread = self.thread
            debugging.session.begins(thread.launch.kernel.signature.name, thread.block, thread.thread)
        answer, self.answer = self.answer, None
        try:
            self.at = self.waits.send(answer)
        except StopIteration:
            self.at = None
        except EndOfThread as end:
            self.at = None
            self.thread.launch.ended(end)
        except IndexError as error:
            self.at = None
            self.thread.launch.wild(self.thread, error)


class _Running:
    """One launch under way."""

    def __init__(self, queued: Launch, console: Console) -> None:
        function, attributes = queued.function, queued.attributes
        assert isinstance(function, PythonFunction)
        self.queued = queued
        self.function = function
        self.kernel = function.kernel
        self.console = console
        self.cluster: Extents = (attributes and attributes.cluster) or (1, 1, 1)
        self.failure: Diagnostic | None = None
        self.trace: TracebackType | None = None
        """Where the first thread that failed stands, for who looks after it has: the user's frames."""
        self.reports: dict[int | str, Report] = {}
        self.counts: dict[int, int] = {}
        self.rounds = self.passed = 0
        """How often blocks that wait for others went on; how often a thread came to no loop's end."""
        self.parted = False
        """Whether threads have parted before a barrier: then the launch ends."""
        size, self.offsets = 0, dict[str, int]()
        for name, (nbytes, align) in function.shared.items():
            size = -(-size // align) * align
            self.offsets[name] = size
            size += nbytes
        self.static = _aligned(size)
        self.stride = _aligned(self.static + queued.shared_bytes)

    def tell(self, where: int | str, found: Report) -> None:
        """Take what a kernel tells: the first, or of a checked one the first of each site."""
        if self.kernel.checked:
            self.reports.setdefault(where, found)
        elif self.failure is None:
            self.failure = found.diagnostic()

    def run(self) -> Failed | None:
        """Run all blocks, x fastest; what has failed."""
        packed, kinds = self.queued.arguments, self.function.arguments
        arguments = [argument(kind, packed[8 * n : 8 * n + 8]) for n, kind in enumerate(kinds)]
        spinning: list[Generator[list[_Live]]] = []
        with np.errstate(all="ignore"):
            for group in self.groups():
                held, start = take(self.stride * len(group), _ALIGNED)
                blocks = [_Block(self, at, arguments, start + n * self.stride) for n, at in enumerate(group)]
                if self.function.waits:
                    under_way = self.together(blocks, held)
                    if any(n == _PATIENCE for n, _ in enumerate(under_way)):
                        spinning.append(under_way)
                else:
                    for thread in (thread for block in blocks for thread in block.threads):
                        self.alone(thread, arguments)
                del held
                if self.parted:
                    break
            self.turns(spinning)
        if self.failure is None and not self.reports:
            return None
        counted = [
            replace(each, count=self.counts.get(where, 1) if isinstance(where, int) else 1)
            for where, each in self.reports.items()
        ]
        found = sorted(counted, key=lambda r: (r.location.file, r.location.line, r.location.column))
        return Failed(self.failure, found).with_traceback(self.trace)

    def groups(self) -> Iterator[list[Extents]]:
        """Blocks that run beside each other: one, those of a cluster, or all of them."""
        grid, size = self.queued.grid, self.cluster
        if "grid" in self.function.meets:
            yield [at for cluster in _within((0, 0, 0), _divided(grid, size)) for at in self.members(cluster)]
            return
        for cluster in _within((0, 0, 0), _divided(grid, size)):
            yield self.members(cluster)

    def members(self, cluster: Extents) -> list[Extents]:
        """The blocks of a cluster, in order."""
        x, y, z = (n * size for n, size in zip(cluster, self.cluster, strict=True))
        return _within((x, y, z), self.cluster)

    def alone(self, thread: Thread, arguments: Sequence[Any]) -> None:
        """Run a thread that waits for nobody."""
        if debugging.session is not None:
            debugging.session.begins(self.kernel.signature.name, thread.block, thread.thread)
        try:
            self.function.run(thread, *arguments)
        except EndOfThread as end:
            self.ended(end)
        except IndexError as error:
            self.wild(thread, error)

    def ended(self, error: BaseException) -> TracebackType:
        """A thread has ended in the midst: where it stood, in its innermost frame."""
        frames = [each for each in walk_tb(error.__traceback__) if "__t" in each[0].f_locals]
        made = None
        for frame, line in reversed(frames):
            made = TracebackType(made, frame, frame.f_lasti, line)
        self.trace = self.trace or made
        frame, line = frames[-1]
        return TracebackType(None, frame, frame.f_lasti, line)

    def wild(self, thread: Thread, error: IndexError) -> None:
        """A thread ends by an access where no process has memory."""
        trace = self.ended(error)
        place = Location(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        name = self.kernel.signature.name
        message, hint = (
            f"kernel {name!r} accesses what is no memory",
            "`weft run --check` says which index it is",
        )
        found = Report("out-of-bounds", message, place, name, thread.block, thread.thread, hints=(hint,))
        self.tell(f"{place.file}:{place.line}", found)

    def turns(self, spinning: list[Generator[list[_Live]]]) -> None:
        """Blocks whose threads wait for what those of others write: each goes on, in turn.

        All have gone round their loops, and nothing that they compute with has changed: so it stays.
        """
        before: object = None
        while spinning and not self.parted:
            found = [(each, next(each, None)) for each in spinning]
            spinning = [each for each, turning in found if turning is not None]
            turning = [live for _, each in found if each is not None for live in each]
            self.rounds += 1
            if self.rounds % _PATIENCE < 2:
                now = [(live, live.state()) for live in turning], self.passed
                if turning and now == before:
                    self.stuck(turning)
                before = now
        for each in spinning:
            each.close()

    def stuck(self, turning: list[_Live]) -> None:
        """Threads wait for what nobody writes."""
        self.parted = True
        waiting = [
            Waiting(live.thread.block, live.thread.thread, "loop", live.at.place)
            for live in turning
            if live.at is not None
        ]
        found = endless_wait(self.kernel.signature.name, waiting)
        self.tell("endless-wait", found)

    def together(self, blocks: list[_Block], memory: object) -> Generator[list[_Live]]:
        """Run blocks whose threads wait for each other; gives those that go round a loop until others write.

        ``memory`` is what they share, which lives as long.
        """
        for block in blocks:
            block.live = [_Live(t, self.function.run(t, *block.arguments)) for t in block.threads]
        self.step([each for block in blocks for each in block.live], blocks)
        while not self.parted and any(block.live for block in blocks):
            turning = [each for block in blocks for each in block.live if _turns(each)]
            if turning:
                yield turning
                self.step(turning, blocks)
            self.meet(blocks)
        for each in (each for block in blocks for each in block.live):
            each.waits.close()
        del memory

    def step(self, part: Sequence[_Live], blocks: Sequence[_Block]) -> None:
        """Let threads go on; those that end are no more waited for."""
        for each in part:
            each.step()
            self.passed += not _turns(each)
        for block in blocks:
            block.live = [each for each in block.live if each.at is not None]

    def meet(self, blocks: list[_Block]) -> None:
        """Let those go on who wait for their warp; if nobody does, for their block, cluster, or grid."""
        members = math.prod(self.cluster)
        clusters = [blocks[n : n + members] for n in range(0, len(blocks), members)]
        ways = {"block": [[block] for block in blocks], "cluster": clusters, "grid": [blocks]}
        parts = {
            group: [([each for block in some for each in block.live], some) for some in way]
            for group, way in ways.items()
        }
        warps = [([*lanes], [block]) for block in blocks for _, lanes in itertools.groupby(block.live, _warp)]
        for group, each in {"warp": warps, **parts}.items():
            found = [
                (part, some)
                for part, some in each
                if any(live.at.group == group for live in part if live.at) and not any(map(_turns, part))
            ]
            for part, some in found:
                if not self.agreed([(live.thread, live.at) for live in part if live.at]):
                    return
                _exchange(part)
                self.step(part, some)
            if found:
                return

    def agreed(self, found: Sequence[tuple[Thread, At]]) -> bool:
        """Whether threads wait for the same, and decide as the first does."""
        for thread, at in found:
            first, other = found[0]
            if at.asked == other.asked:
                continue
            self.parted = True
            same = at.place == other.place
            parting = Parting(other.place, at.barrier if same else at.place, at.group)
            where = _decided(first, other, thread, at) if same else _places(first, thread)
            name = self.kernel.signature.name
            self.tell(parting.text(), parting.happened(name, thread.block, thread.thread, where))
            return False
        return True


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _within(first: Extents, size: Sequence[int]) -> list[Extents]:
    ranges = [range(n, n + count) for n, count in zip(first, size, strict=True)]
    return [(x, y, z) for z, y, x in itertools.product(*reversed(ranges))]


def _divided(grid: Extents, size: Extents) -> list[int]:
    return [n // m for n, m in zip(grid, size, strict=True)]


def _decided(first: Thread, one: At, thread: Thread, other: At) -> str:
    """How two threads decide."""
    begin, end, where = str(first.thread), str(thread.thread), f"in block {thread.block} "
    if one.group != "block":
        begin, end, where = f"{begin} of block {first.block}", f"{end} of block {thread.block}", ""
    if not isinstance(one.value, bool):
        return f"{where}it is {one.value} for thread {begin} and {other.value} for thread {end}"
    yes, no = (begin, end) if one.value else (end, begin)
    return f"{where}it holds for thread {yes} and not for thread {no}"


def _places(first: Thread, thread: Thread) -> str:
    one, other = (f"thread {t.thread} of block {t.block}" for t in (first, thread))
    return f"{one} waits here, and {other} elsewhere"


def _turns(live: _Live) -> bool:
    """Whether a thread is at the end of a loop that may go on until another writes."""
    return live.at is not None and live.at.group == "turn"


def _warp(live: _Live) -> int:
    return live.thread.warp


def _exchange(part: Sequence[_Live]) -> None:
    """Hand lanes what they take from others (from one that is not there, their own), or a bit of each."""
    lanes = {live.thread.lane: live.at.share for live in part if live.at and live.at.share}
    first = next((live.at for live in part if live.at and live.at.call), None)
    if first is not None and first.call is not None and first.share is not None:
        function, address = first.call
        taken = [lanes.get(lane, first.share) for lane in range(WARP)]
        made = function(address, *[value for each in zip(*taken, strict=True) for value in each])
        for live in part:
            live.answer = made[live.thread.lane]
        return
    bits = 0
    for lane, (own, *_) in lanes.items():
        bits |= bool(own) * (-1 << lane if lane == WARP - 1 else 1 << lane)
    for live in part:
        if live.at and live.at.share:
            own, *lane = live.at.share
            live.answer = lanes.get(lane[0], (own,))[0] if lane else bits


def run_launch(launch: Launch, console: Console) -> Failed | None:
    """Run a launch; what has failed, or None."""
    return _Running(launch, console).run()
