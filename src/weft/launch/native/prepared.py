"""Launches that were made once, to be made again with other addresses: natively where a driver can."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from weft.abi.artifact import KernelInfo
from weft.abi.cpu_launch import DirectLaunch
from weft.lang.c_structs import c_struct
from weft.launch.native.builtins import make_builtin, records
from weft.launch.native.code import prepared
from weft.launch.native.objects import WORD, supported, words
from weft.launch.native.replay import MOST_SOURCES, MOST_WORDS, STEP_BITS, Patch, Replay, Step
from weft.launch.native.tables import ARGUMENTS, Ask, Entry, Site, Table
from weft.runtime.driver import Launch, Stream


class Patched(NamedTuple):
    """A launch, and which of its arguments are addresses: slot, number of the address, bytes behind it."""

    launch: Launch
    patches: Sequence[tuple[int, int, int]]

    def at(self, addresses: Sequence[int]) -> Launch:
        """The launch with these addresses."""
        packed = bytearray(self.launch.arguments)
        for slot, source, offset in self.patches:
            packed[WORD * slot : WORD * (slot + 1)] = (addresses[source] + offset).to_bytes(WORD, "little")
        return self.launch._replace(arguments=bytes(packed))


class Prepared:
    """Launches on one stream, which ``run`` makes with addresses.

    Args:
        stream: where.
        steps: the launches, in their order.
        sources: how many addresses ``run`` is given.
    """

    def __init__(self, stream: Stream, steps: Sequence[Patched], sources: int) -> None:
        self._stream, self._steps = stream, steps
        self._native: Callable[..., int] | None = None
        self._note: Callable[[Mapping[str, KernelInfo]], None] = dict[str, KernelInfo]().update
        most = max((len(step.launch.arguments) // WORD for step in steps), default=0)
        self._fits = sources <= MOST_SOURCES and most <= MOST_WORDS
        self._names = {
            step.launch.function.kernel.signature.name: step.launch.function.kernel for step in steps
        }

    def run(self, addresses: Sequence[int]) -> None:
        """Queue the launches.

        Raises:
            DeviceError: the driver refuses one, or work before has failed.
        """
        native, first = self._native, 0
        if native is None and self._fits:
            native = self._make_native()
        if native is not None:
            self._note(self._names)
            failed = native(*addresses)
            if not failed:
                return
            first = failed >> STEP_BITS  # by Python, which finds its way or says what is wrong
        for step in self._steps[first:]:
            self._stream.launch(step.at(addresses))

    def _make_native(self) -> Callable[..., int] | None:
        """What launches by the driver alone; None where nothing can, or the code is not here yet."""
        native = self._stream.native
        if native is None or not supported():
            self._fits = False
            return None
        code = prepared()
        if code is None:
            return None
        launch, launch_ex = native.launch_addresses()
        native.provide(code.pool)
        handles = [native.handles(step.launch) for step in self._steps]
        configs = [config for _, config in handles if config is not None]
        direct = len(configs) == len(handles) and all(isinstance(c, DirectLaunch) for c in configs)
        if not direct and not (launch and (launch_ex or not configs)):
            self._fits = False
            return None
        keep = [records(Patch, step.patches) for step in self._steps]
        steps = [
            _step(step, function, config, patches)
            for step, (function, config), patches in zip(self._steps, handles, keep, strict=True)
        ]
        array, nothing = (c_struct(Step) * max(1, len(steps)))(*steps), c_struct(Table)()
        where = native.number, ctypes.addressof(array), len(steps), ctypes.addressof(nothing)
        table = c_struct(Replay)(launch, launch_ex, *where)
        table.keep = array, steps, keep, handles, code, nothing
        self._note = native.note_launched
        self._native = made = make_builtin("replay", code.replay, table)
        return made


def _step(step: Patched, function: int, config: Any, patches: Any) -> Any:
    launch, configured = step.launch, 0 if config is None else int(config.getPtr())
    packed = words([*launch.grid, *launch.block, *memoryview(launch.arguments).cast("q")])
    parameters = enumerate(launch.function.kernel.signature.parameters, ARGUMENTS)
    slots = [slot for slot, p in parameters if not p.pointer and p.dtype.is_integer]
    entries = records(Entry, [(Ask.INTEGER, 0, 0, 0, 0, 0, slot) for slot in slots])
    site = c_struct(Site)(
        entries=ctypes.addressof(entries),
        total=len(slots),
        slots=len(packed),
        shared=launch.shared_bytes,
        config=configured,
    )
    made = c_struct(Step)(
        function=function,
        shared=launch.shared_bytes,
        config=configured,
        words=ctypes.addressof(packed),
        count=len(packed),
        patches=ctypes.addressof(patches),
        patched=len(step.patches),
        site=ctypes.addressof(site),
    )
    made.keep = packed, entries, site
    return made
