"""The console of a GPU: memory where kernels write what they print and which assertions failed.

``abi/console.py`` describes its form. A word of pinned host memory, the bell, says whether
there is anything to read, so that a wait for a quiet kernel costs nothing.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from weft.abi.artifact import AssertSite, KernelInfo, Site
from weft.abi.console import ASSERTION, CONSOLE, IDS, MODULE, MODULES, WORD, WRITTEN, Connection, Head
from weft.abi.records import place_of
from weft.diagnostics import Diagnostic
from weft.runtime.printing import Console, assertion_failed, format_print, value_count

if TYPE_CHECKING:
    from weft.runtime.cuda.context import Primary

_WORDS = 1 << 20
_HEAD = ctypes.sizeof(Head)


class DeviceConsole:
    """The console that all kernels of one context write to."""

    def __init__(self, primary: Primary) -> None:
        self._primary = primary
        self._lock = threading.Lock()
        self._modules: list[dict[int, tuple[str, Site]]] = []
        """Of each: whose a site is, and what it tells."""
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
        cu, call = self._primary.cu, self._primary.call
        with self._lock:
            number = len(self._modules)
            told = [(n, (k.signature.name, site)) for k in kernels for n, site in k.sites.items()]
            self._modules.append(dict(told))
        place, size = call(cu.cuModuleGetGlobal, module, CONSOLE.encode())
        words = bytes(Connection(self._address, self._bell_address, number))
        call(cu.cuMemcpyHtoD, place, words, size)

    def read(self) -> list[Diagnostic]:
        """Write out what kernels have printed; what they have found wrong. The context is current.

        Raises:
            DeviceError: work failed.
        """
        if not self._bell.value:
            return []
        with self._lock:
            self._bell.value = 0
            found = self._take()
        self._out.flush()
        return found

    def _take(self) -> list[Diagnostic]:
        known = Head.from_buffer_copy(self._fetch(0, _HEAD))
        start = known.read
        words = self._records(start, known.taken)
        at, found = 0, list[Diagnostic]()
        while at < len(words) and words[at] & WRITTEN:
            head = words[at]
            kernel, site = self._modules[head >> MODULE & MODULES - 1][head & (1 << MODULE) - 1]
            begin = at + 1 + (IDS if head & ASSERTION else 0)
            ids, values = words[at + 1 : begin], words[begin : begin + value_count(site)]
            if isinstance(site, AssertSite):
                found.append(assertion_failed(kernel, site, ids[:3], ids[3:], values))
            else:
                self._out.write(format_print(site, values))
            at = begin + len(values)
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
        return found

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
        out = ctypes.create_string_buffer(nbytes)
        call, cu = self._primary.call, self._primary.cu
        call(cu.cuMemcpyDtoHAsync, ctypes.addressof(out), self._address + offset, nbytes, self._stream)
        call(cu.cuStreamSynchronize, self._stream)
        return out.raw

    def _write(self, name: str, value: int) -> None:
        call, cu = self._primary.call, self._primary.cu
        word = struct.pack("<Q", value)
        call(cu.cuMemcpyHtoDAsync, self._address + place_of(Head, name)[0], word, WORD, self._stream)
        call(cu.cuStreamSynchronize, self._stream)
