"""Launches that are made again with other addresses: what calls the driver for one or several at once.

``prepared.py`` fills the structs, and has a builtin of Python made of the code.
"""

from __future__ import annotations

from weft.lang.decorators import func
from weft.lang.external import FunctionPointer, external_call
from weft.lang.pointer import Pointer
from weft.lang.scalars import Int, Int32, UInt32
from weft.lang.structs import struct
from weft.launch.native.direct import launch_direct
from weft.launch.native.tables import ARGUMENTS, MEMORY_AT, Site, Table
from weft.memory import stack_allocation

MOST_SOURCES = 48
"""Addresses that a replay is given."""
MOST_WORDS = 96
"""Arguments of a launch that is replayed."""
STEP_BITS = 32
"""A failure is the driver's status in so many bits, and then the number of the launch."""


@struct
class Patch:
    """An argument that is one of the addresses given, and so many bytes."""

    slot: Int
    source: Int
    offset: Int


@struct
class Step:
    """A launch, whose extents and arguments are ``words``. With a ``config`` that has extents and stream.

    On a CPU all is in ``site``, whose entries are the integers among the arguments.
    """

    function: Int
    shared: Int
    config: Int
    words: Pointer[Int]
    count: Int
    patches: Pointer[Patch]
    patched: Int
    site: Pointer[Site]


@struct
class Replay:
    """Launches on one stream, one after the other. On a CPU there is no ``launch``, and a ``table``."""

    launch: FunctionPointer[
        [Int, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, Int, Pointer[Int], Int], Int32
    ]
    launch_ex: FunctionPointer[[Int, Int, Pointer[Int], Int], Int32]
    stream: Int
    steps: Pointer[Step]
    count: Int
    table: Pointer[Table]


@func
def weft_replay(self: Int, args: Pointer[Int], count: Int):
    """A builtin of Python's (``METH_FASTCALL``) of addresses: 0, or what failed.

    ``self`` is the ``Replay``. Whoever calls gives as many addresses as there are sources.
    """
    replay = Pointer.from_address(Pointer.from_address(self + MEMORY_AT, Int)[0], Replay)
    sources = stack_allocation(Int, MOST_SOURCES)
    for n in range(count):
        sources[n] = external_call["PyLong_AsLongLong", Int](args[n])
    status, step, state, direct = Int32(0), Int(0), Int(0), Int(replay[0].launch) == 0
    if not direct:
        state = external_call["PyEval_SaveThread", Int]()
    while status == 0 and step < replay[0].count:
        status = _launch(replay, replay[0].steps + step, sources)
        step += 1
    if not direct:
        external_call["PyEval_RestoreThread", None](state)
    failed = Int(0)
    if status != 0:
        failed = Int(status.cast(UInt32)) | step - 1 << STEP_BITS
    return external_call["PyLong_FromLongLong", Int](failed)


@func
def _launch(replay: Pointer[Replay], step: Pointer[Step], sources: Pointer[Int]) -> Int32:
    words, params = stack_allocation(Int, ARGUMENTS + MOST_WORDS), stack_allocation(Int, MOST_WORDS)
    for n in range(step[0].count):
        words[n] = step[0].words[n]
    for n in range(step[0].patched):
        patch = step[0].patches[n]
        words[ARGUMENTS + patch.slot] = sources[patch.source] + patch.offset
    if Int(replay[0].launch) == 0:
        return launch_direct(replay[0].table, step[0].site, words, words)
    for n in range(step[0].count - ARGUMENTS):
        params[n] = Int(words + (ARGUMENTS + n))
    function, shared = step[0].function, step[0].shared.cast(UInt32)
    if step[0].config != 0:
        return replay[0].launch_ex(step[0].config, function, params, 0)
    gx, gy, gz = words[0].cast(UInt32), words[1].cast(UInt32), words[2].cast(UInt32)
    bx, by, bz = words[3].cast(UInt32), words[4].cast(UInt32), words[5].cast(UInt32)
    return replay[0].launch(function, gx, gy, gz, bx, by, bz, shared, replay[0].stream, params, 0)
