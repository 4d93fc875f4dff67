"""What becomes of a wild access in a compiled kernel: a handler of signals, in weft itself.

It is called in place of what the process has for SIGSEGV, SIGBUS and SIGABRT. Where the code at fault is a
kernel's, it has Python tell of it, on a new thread, and waits for that: a kernel holds no lock that Python
may need. Where a kernel has written over the memory of Python, or of its own thread, that fails in turn: then
the handler writes a text that was made before. Then, and for all other code at once, it does what was done
before.
"""

from __future__ import annotations

import ctypes

from weft.abi.cpu_launch import CRASH_BUSY, CRASH_FREE, CRASH_TOLD, CrashRange, CrashWords
from weft.dtype import DType
from weft.lang.allocate import module_memory
from weft.lang.atomics import atomic_load, compare_exchange
from weft.lang.comptime import unroll
from weft.lang.decorators import func
from weft.lang.external import FunctionPointer, external_call
from weft.lang.pointer import Pointer
from weft.lang.scalars import Int, Int32, UInt8
from weft.memory import stack_allocation

_ROUNDS, _FEW, _MILLISECOND = 3000, 300, 1_000_000
"""How often it looks whether it is told, also where it may be no kernel; how long it sleeps in between."""
(
    _RANGES,
    _COUNT,
    _TELL,
    _SYSCALL,
    _WRITE,
    _PC_AT,
    _CALLER_AT,
    _CALLER_STORED,
    _STAGE,
    _PC,
    _ADDRESS,
    _CODE,
    _BEFORE,
) = [getattr(CrashWords, field[0]).offset // 8 for field in CrashWords._fields_]
_RANGE = ctypes.sizeof(CrashRange) // 8

_Handler = FunctionPointer[[Int, Pointer[Int], Pointer[Int]], None]
_Syscall = FunctionPointer[[Int, Int, Int, Int], Int]


@func
def _words():
    return module_memory("crash", DType.int64, ctypes.sizeof(CrashWords) // 8).bitcast(Int)


@func
def weft_crash_words():
    """Where the words are."""
    return Int(_words())


@func
def weft_crash(signal: Int32, info: Pointer[Int], context: Pointer[Int]):
    """The handler."""
    words, pc = _words(), Int(0)
    at = words[_PC_AT]
    caller = context[words[_CALLER_AT]]
    returned = caller
    if words[_CALLER_STORED] != 0:
        stack = Pointer.from_address(caller, Int)
        caller, returned = stack[0], stack[-1]
    if _is_kernel(words, context[at]):
        pc = context[at]
    elif _is_kernel(words, caller):
        pc = caller
    # a kernel that has written over its stack returns to anywhere; who calls 0 has not returned to it
    if pc != 0 or (context[at] == info[2] and (info[2] != 0 or returned == 0)):
        _tell(words, pc, info)
        _say(words)
    elif atomic_load(words + _STAGE, "seq_cst", "device") == CRASH_BUSY:  # it comes of telling
        _say(words)
    _as_before(words, signal, info, context)


@func
def _is_kernel(words: Pointer[Int], pc: Int):
    ranges = Pointer.from_address(words[_RANGES], Int)
    return any(ranges[_RANGE * n] <= pc < ranges[_RANGE * n + 1] for n in range(words[_COUNT]))


@func
def _tell(words: Pointer[Int], pc: Int, info: Pointer[Int]):
    """Have Python tell of it, or wait where it tells of another."""
    stage, times = words + _STAGE, stack_allocation(Int, 2)
    if compare_exchange(stage, Int(CRASH_FREE), Int(CRASH_BUSY), "seq_cst", "device")[1]:
        words[_PC], words[_ADDRESS], words[_CODE] = pc, info[2], info[1] & 0xFFFF_FFFF
        thread = stack_allocation(Int, 1)
        external_call["pthread_create", Int32](thread, Int(0), words[_TELL], Int(0))
    rounds = Int(0) if pc != 0 else Int(_ROUNDS - _FEW)
    while atomic_load(stage, "seq_cst", "device") == CRASH_BUSY and rounds < _ROUNDS:
        times[0], times[1] = Int(0), Int(_MILLISECOND)
        external_call["nanosleep", Int32](times, Int(0))
        rounds += 1


@func
def _say(words: Pointer[Int]):
    """Write what is known without Python, unless all is told."""
    stage, ranges = words + _STAGE, Pointer.from_address(words[_RANGES], Int)
    before = atomic_load(stage, "seq_cst", "device")
    nothing = before == CRASH_FREE and words[_PC] == 0  # Python knows of no kernel that it may be
    if (
        before != CRASH_TOLD
        and not nothing
        and compare_exchange(stage, before, Int(CRASH_TOLD), "seq_cst", "device")[1]
    ):
        for n in range(words[_COUNT]):
            low, high, at, size, digits = [ranges[_RANGE * n + field] for field in unroll(range(_RANGE))]
            if low <= words[_PC] < high:
                text = Pointer.from_address(at, UInt8) + digits
                for k in range(16):
                    digit = (words[_ADDRESS] >> (60 - 4 * k)) & 15
                    text[k] = UInt8(digit + 48 if digit < 10 else digit + 87)
                (words + _SYSCALL).bitcast(_Syscall)[0](words[_WRITE], Int(2), at, size)


@func
def _as_before(words: Pointer[Int], signal: Int32, info: Pointer[Int], context: Pointer[Int]):
    """Do what was done before: by another handler, or by default, as soon as the access is made again."""
    before = Pointer.from_address(words[_BEFORE + Int(signal)], Int)
    if 0 <= before[0] <= 1:
        external_call["sigaction", Int32](signal, before, Int(0))
    else:
        before.bitcast(_Handler)[0](Int(signal), info, context)
