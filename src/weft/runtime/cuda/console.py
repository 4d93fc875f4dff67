"""The console of a GPU: memory where kernels write what they print and which assertions failed.

``abi/console.py`` describes its form. A word of pinned host memory, the bell, says whether
there is anything to read, so that a wait for a quiet kernel costs nothing.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.abi.artifact import FAULTS, KernelInfo, PrintSite
from weft.abi.console import ASSERTION, CONSOLE, IDS, MODULE, MODULES, WORD, WRITTEN, Connection, Head
from weft.abi.records import place_of
from weft.diagnostics import Diagnostic, Report
from weft.diagnostics.reports import to_raise
from weft.record import replace
from weft.runtime.faults import report
from weft.runtime.printing import Console, format_print, value_count

if TYPE_CHECKING:
    from weft.runtime.cuda.context import Primary

_WORDS = 1 << 20
_HEAD = ctypes.sizeof(Head)


class _Module(NamedTuple):
    """What the console knows of a module."""

    kernels: Mapping[int, KernelInfo]
    """By the numbers of their sites."""
    faults: int
    """Where a checked one counts them, or 0."""


class DeviceConsole:
    """The console that all kernels of one context write to."""

    def __init__(self, primary: Primary) -> None:
        self._primary = primary
        self._lock = threading.Lock()
        self._modules: list[_Module] = []
        self._out = Console()
        cu, call = primary.cu, primary.call
        self._address = int(call(cu.cuMemAlloc, _HEAD + WORD * _WORDS))
        self._bell_address = int(call(cu.cuMemHostAlloc, 8, cu.CU_MEMHOSTALLOC_PORTABLE))
        self._bell = ctypes.c_uint64.from_address(self._bell_address)
        self._bell.value = 0
        self._stream = call(cu.cuStreamCreate, cu.CUstream_flags.CU_STREAM_NON_BLOCKING)
        call(cu.cuMemsetD8Async, self._address, 0, _HEAD + WORD * _WORDS, self._stream)
        self._write("size", _WORDS)

    def connect(self, module: Any, kernels: Iterable[KernelInfo]) -> None:
        """Tell a module where the console is."""
        cu, call, faults = self._primary.cu, self._primary.call, 0
        kernels = tuple(kernels)
        if any(kernel.counts_faults for kernel in kernels):
            faults = int(call(cu.cuModuleGetGlobal, module, FAULTS.encode())[0])
        with self._lock:
            number = len(self._modules)
            self._modules.append(_Module({n: k for k in kernels for n in k.sites}, faults))
        place, size = call(cu.cuModuleGetGlobal, module, CONSOLE.encode())
        words = bytes(Connection(self._address, self._bell_address, number))
        call(cu.cuMemcpyHtoD, place, words, size)

    def read(self) -> tuple[list[Diagnostic], list[Report]]:
        """Write out what kernels have printed; what failed, and what checked ones found.

        The context is current.

        Raises:
            DeviceError: work failed.
        """
        if not self._bell.value:
            return [], []
        with self._lock:
            self._bell.value = 0
            found = self._take()
        self._out.flush()
        return found[0], to_raise(found[1])

    def _take(self) -> tuple[list[Diagnostic], list[Report]]:
        known = Head.from_buffer_copy(self._fetch(0, _HEAD))
        start = known.read
        words = self._records(start, known.taken)
        at, failed, reports = 0, list[Diagnostic](), list[Report]()
        while at < len(words) and words[at] & WRITTEN:
            head = words[at]
            module, number = self._modules[head >> MODULE & MODULES - 1], head & (1 << MODULE) - 1
            kernel = module.kernels[number]
            site = kernel.sites[number]
            end = at + 1 + (IDS if head & ASSERTION else 0) + value_count(site)
            values = words[at + 1 : end]
            if isinstance(site, PrintSite):
                self._out.write(format_print(site, values))
            elif module.faults and kernel.checked:
                count = self._count(module.faults + WORD * number)
                reports.append(replace(report(kernel, number, values), count=count))
            else:
                failed.append(report(kernel, number, values).diagnostic())
            at = end
        if at < len(words):
            self._bell.value = 1  # a kernel on another stream is about to write the rest
        self._clear(start, at)
        self._write("read", start + at)
        if known.lost:
            self._write("lost", 0)
            self._out.write(
                f"[weft: {known.lost} prints are missing here; between two waits there is room for "
                f"{_WORDS} values]\n"
            )
        if known.failed:
            self._write("failed", 0)
        return failed, reports

    def _count(self, address: int) -> int:
        """How often a fault has happened, which from now on is counted anew."""
        call, cu = self._primary.call, self._primary.cu
        (count,) = struct.unpack("<Q", self._fetched(address, WORD))
        call(cu.cuMemsetD8Async, address, 0, WORD, self._stream)
        return max(1, count)

    def _records(self, start: int, end: int) -> tuple[int, ...]:
        first, count = start % _WORDS, end - start
        until = min(count, _WORDS - first)
        data = self._fetch(_HEAD + WORD * first, WORD * until)
        if count > until:
            data += self._fetch(_HEAD, WORD * (count - until))
        return struct.unpack(f"<{count}Q", data)

    def _clear(self, start: int, count: int) -> None:
        first = start % _WORDS
        until = min(count, _WORDS - first)
        cu = self._primary.cu
        for place, words in ((first, until), (0, count - until)):
            if words:
                place = self._address + _HEAD + WORD * place
                self._primary.call(cu.cuMemsetD8Async, place, 0, WORD * words, self._stream)

    def _fetch(self, offset: int, nbytes: int) -> bytes:
        return self._fetched(self._address + offset, nbytes)

    def _fetched(self, address: int, nbytes: int) -> bytes:
        out = ctypes.create_string_buffer(nbytes)
        call, cu = self._primary.call, self._primary.cu
        call(cu.cuMemcpyDtoHAsync, ctypes.addressof(out), address, nbytes, self._stream)
        call(cu.cuStreamSynchronize, self._stream)
        return out.raw

    def _write(self, name: str, value: int) -> None:
        call, cu = self._primary.call, self._primary.cu
        word = struct.pack("<Q", value)
        call(cu.cuMemcpyHtoDAsync, self._address + place_of(Head, name)[0], word, WORD, self._stream)
        call(cu.cuStreamSynchronize, self._stream)
