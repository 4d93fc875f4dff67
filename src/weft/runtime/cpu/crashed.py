"""Wild accesses in compiled kernels, on Linux: what is said before they end the process.

The handler of signals (``launch/native/crash.py``) has ``_tell`` called. A launch pays next to nothing for
this: what was launched where is looked for when there is something to tell.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

from weft.abi.artifact import KernelInfo
from weft.abi.cpu_launch import (
    CRASH_FREE,
    CRASH_TOLD,
    JOBS_AT,
    MOST_JOBS,
    CrashRange,
    CrashWords,
    JobWords,
    QueueWords,
)
from weft.diagnostics import (
    Diagnostic,
    Label,
    Location,
    calling_frame,
    code_location,
    frame_location,
    hook,
    is_internal,
)
from weft.diagnostics.rendering import render
from weft.runtime.cpu.elf import symbols
from weft.runtime.cpu.native import running
from weft.runtime.cpu.shared import queues
from weft.runtime.cpu.threads import main_thread
from weft.runtime.driver import LoadObject

_PLACES = {"x86_64": (1, 168 // 8, 160 // 8, True), "aarch64": (64, 440 // 8, 424 // 8, False)}
"""By the machine: the number of Linux's ``write``; in which word of a context the place of the code is; in
which its caller's, or whether that is the address of it."""
_SIGNALS = (signal.SIGSEGV, getattr(signal, "SIGBUS", signal.SIGSEGV), signal.SIGABRT)
_SIGINFO, _ONSTACK, _NODEFER = 4, 0x08000000, 0x40000000
_DIGITS = "0123456789abcdef"
_PLAIN = f"""error[wild-access]: kernel {{!r}} accesses memory at 0x{_DIGITS}, which the process does not have
 --> {{}}:{{}}
  |
  = note: it has written over memory of the process itself, which cannot say now where it was launched
  = help: `weft run --check` names the line of the access, and the thread
"""
_ASTRAY = f"""error[wild-access]: {{}} has written over its stack, and returns to 0x{_DIGITS}
  |
  = note: it has written over memory of the process itself, which cannot say now where it was launched
  = help: `weft run --check` names the line of the access, and the thread
"""
"""Of the code at fault nothing is known then; kernels are named while they are few."""
_NAMED = 3
_KERNEL = 128
"""``si_code`` where the processor does not say which address it was."""


class _Action(ctypes.Structure):
    """A ``sigaction`` of Linux."""

    _fields_ = [
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint64 * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    ]


_TELL = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_words: CrashWords | None = None
_ranges: Any = ()
_names: list[str] = []
_room: Any = b""
_taken = 0
_kept: list[object] = []


def watch(code: bytes, kernel: KernelInfo, address: int) -> None:
    """Have accesses told of that end the process, in an object file of which a kernel is at an address."""
    if _words is None or not code.startswith(b"\x7fELF"):
        return
    offset, size = _around(code, kernel.entry)
    low, count = address - offset, _words.count
    if count == len(_ranges):
        _make_room(_words)
    _ranges[count] = low, low + size, *_text(_PLAIN.format(kernel.signature.name, *kernel.place))
    _words.count = count + 1
    if kernel.signature.name not in _names:
        _names.append(kernel.signature.name)
        _note_astray()


def _make_room(words: CrashWords) -> None:
    global _ranges
    count = len(_ranges)
    more = _apart(CrashRange * max(256, 2 * count))
    more[:count] = _ranges
    _ranges, words.ranges = more, ctypes.addressof(more)


def _note_astray() -> None:
    """Say what is known where the code at fault is nobody's."""
    if len(_names) <= _NAMED + 1:
        few = f"kernel {' or '.join(map(repr, _names))}" if 0 < len(_names) <= _NAMED else "a kernel"
        _ranges[0] = 0, 1, *_text(_ASTRAY.format(few))


def _text(said: str) -> tuple[int, int, int]:
    """Where a text lies, how long it is, and where in it an address is to stand."""
    coded = said.encode()
    text = _apart(ctypes.c_char * len(coded))
    text.raw = coded
    return ctypes.addressof(text), len(coded), coded.index(_DIGITS.encode())


def _apart(kind: Any) -> Any:
    """Memory that stays, and does not lie behind that of Python's objects and of small arrays."""
    global _room, _taken
    from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap

    size = -(-ctypes.sizeof(kind) // 8) * 8
    if _taken + size > len(_room):
        _room, _taken = mmap(-1, max(1 << 16, size), MAP_PRIVATE | MAP_ANONYMOUS), 0
    _taken += size
    _kept.append(kind.from_buffer(_room, _taken - size))
    return _kept[-1]


def _around(code: bytes, entry: str) -> tuple[int, int]:
    """Where in its section of an ELF file a function is, and how long that is."""
    return next(((each.start, each.whole) for each in symbols(code) if each.name == entry), (0, 0))


def begin(load_object: LoadObject) -> None:
    """From now on there is a handler, in place of what the process has."""
    global _words
    places = _PLACES.get(os.uname().machine) if sys.platform == "linux" else None
    if _words is not None or places is None:
        return
    loaded = load_object(b"", ["weft_crash", "weft_crash_words"], {})
    if len(loaded.addresses) != 2 or not all(loaded.addresses):  # a loader that has none
        return
    handler, where = loaded.addresses
    words = CrashWords.from_address(ctypes.CFUNCTYPE(ctypes.c_int64)(where)())
    ctypes.memset(ctypes.addressof(words), 0, ctypes.sizeof(words))
    words.write, words.pc_at, words.caller_at, words.caller_stored = places
    tell = _TELL(_tell)
    words.tell = ctypes.cast(tell, ctypes.c_void_p).value or 0
    _make_room(words)
    words.count = 1
    _note_astray()
    _kept.extend((loaded, tell))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kept))  # threads run when the interpreter has ended
    libc = ctypes.CDLL(None)
    words.syscall = ctypes.cast(libc.syscall, ctypes.c_void_p).value or 0
    action = libc.sigaction
    for number in _SIGNALS:
        before, made = _Action(), _Action(handler, flags=_SIGINFO | _ONSTACK | _NODEFER)
        _kept.append(before)
        action(number, None, ctypes.byref(before))
        words.before[number] = ctypes.addressof(before)
        action(number, ctypes.byref(made), None)
    _words = words


def _tell(_: int | None) -> int:
    """What the handler calls, on a thread of its own."""
    assert _words is not None
    told = CRASH_FREE
    try:
        at = _words.pc
        ends = [(0, 1 << 64), *((each.low, each.high) for each in _ranges[1 : _words.count])]
        low, high = next((low, high) for low, high in reversed(ends) if low <= at < high)
        texts = dict.fromkeys(_said(_words, *each) for each in _launches(low, high))
        for text in texts if at or len(texts) == 1 else ():
            os.write(2, f"{text}\n".encode())
            told = CRASH_TOLD
        if told == CRASH_TOLD and hook.alone:
            faulthandler.disable()  # it would show weft's frames
    finally:
        _words.stage = told
    return 0


def _said(words: CrashWords, kernel: KernelInfo, place: Location | None) -> str:
    where = f"at {words.address:#x}, which the process does not have"
    if words.code == _KERNEL:
        where = "at an address past all that a process may have"
    message = f"kernel {kernel.signature.name!r} accesses memory {where}"
    if not words.pc:
        message = (
            f"kernel {kernel.signature.name!r} has written over its stack, and returns to {words.address:#x}"
        )
    labels = () if place is None else (Label(place, "launched here"),)
    return render(Diagnostic("wild-access", message, labels, hints=_HINTS))


_HINTS = ("`weft run --check` names the line of the access, and the thread",)


def _launches(low: int, high: int) -> Iterator[tuple[KernelInfo, Location | None]]:
    """The launches under way of kernels whose code lies there."""
    for kernel, address, place in running():
        if low <= address < high:
            yield kernel, code_location(*place) if place else _main_place()
    for job in _jobs():
        launch, code = map(_object, job.held[:2])
        if low <= job.entry < high and launch is not None and launch.entry == job.entry:
            place = None if code is None else code_location(code, job.instruction)
            yield launch.keep.kernel, None if place is None or is_internal(place.file) else place


def _object(address: int) -> Any:
    return ctypes.cast(address, ctypes.py_object).value if address else None


def _main_place() -> Location | None:
    """Where the main thread is, which runs brief launches itself."""
    frame = sys._current_frames().get(main_thread())  # pyright: ignore[reportPrivateUsage]
    found = calling_frame(frame)
    return None if found is None else frame_location(found)


def _jobs() -> Iterator[JobWords]:
    """The launch of each queue of the pool that is under way."""
    for queue in queues():
        words = QueueWords.from_address(queue)
        if words.ended < words.queued:
            number = words.ended % MOST_JOBS
            yield JobWords.from_address(queue + JOBS_AT + number * ctypes.sizeof(JobWords))
