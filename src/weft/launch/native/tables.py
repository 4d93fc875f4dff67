"""Launches that were made before, as the native launch stub looks through them.

A site is a kernel with the keywords and the types of arguments of one call in a program. The stub checks
a site's entries against the arguments, packs them, and calls the driver. Objects are their addresses.
"""

from __future__ import annotations

from enum import IntEnum

from weft.lang.external import FunctionPointer
from weft.lang.inline_array import InlineArray
from weft.lang.pointer import Pointer
from weft.lang.scalars import Int, Int32, UInt32
from weft.lang.structs import struct

MEMORY_AT = 16
"""Where an object of ctypes, as the builtin's ``self`` is, has the address of its memory."""
BUCKETS = 32
MOST_SLOTS = 32
"""Machine arguments of a launch by the stub; a slot more is for ints that need only be what they were."""
ARGUMENTS = 6
"""The first of their slots comes behind the extents of the grid and of the block."""
LOOKED_UP = "__cuda_array_interface__ data device_id stream shape strides typestr mask".split()
"""What the reader of array interfaces asks of arrays and looks up in what it gets."""
AS_SINGLE, AS_DOUBLE = 1, 2
"""How a number is packed, where not as an integer."""
MOST_AXES = 16
"""Axes of an array with the CUDA array interface."""
ROOM = 8 + 2 * MOST_AXES
"""Words of an ``Array`` with room for so many extents and strides."""
EMPTIES = 4
STAYS = 256
"""Added to a kind: the next entry is for the same argument."""


class Ask(IntEnum):
    """What an entry asks of an object of the type ``what`` that is not the one seen before."""

    IDENTITY = 0
    """There is none."""
    INTEGER = 1
    """From ``a`` to ``b``; packed as an integer, or as ``c`` says."""
    FLOAT = 2
    """Packed as ``c`` says."""
    BUFFER = 3
    """A buffer with the key ``a``, and an address that is ``b``, as before, or has none of the bits ``c``."""
    ARRAY = 4
    """An array that ``b``, an ``Expected``, describes, at an address that has none of the bits ``c``."""
    WORD = 5
    """It has the word ``b`` at the offset ``a``. The next entry is for the same object."""
    PART = 6
    """The next entry is for the object that it has at the offset ``a``."""
    FIELD = 7
    """The next entry is for its attribute ``a``."""
    DENIES = 8
    """Its method ``a`` returns False. The next entry is for the same object."""


@struct
class Entry:
    """What a site asks of one argument, and the slot that the value goes to."""

    kind: Int
    what: Int
    seen: Int
    """An object whose value is in the block already, so that nothing is asked of it."""
    a: Int
    b: Int
    c: Int
    slot: Int


@struct
class LaneWords:
    """As ``abi/cpu_launch.py`` has them, and the two that follow."""

    submitted: Int
    finished: Int
    inside: Int
    closed: Int
    queue: Pointer[Int]
    """``queues.py`` has its words; null where there is none."""
    told: Int


@struct
class LaunchBlock:
    """What a kernel's entry on the CPU reads."""

    grid: InlineArray[Int32, 3]
    block: InlineArray[Int32, 3]
    next: Int
    total: Int
    chunk: Int
    state: Int
    dynamic_shared: Int
    over: InlineArray[Int, 3]
    cluster: InlineArray[Int, 3]
    """From here on for kernels whose blocks know of each other, which Python launches."""
    origin: InlineArray[Int, 3]
    shared: Int
    stride: Int
    kept: Int
    stop: Int
    led: Int
    piece: Int
    inside: Int
    opened: Int


@struct
class DirectLaunch:
    """A launch of the CPU on the thread that asks for it, or on those of the pool."""

    entry: FunctionPointer[[Pointer[Int], Pointer[LaunchBlock]], None]
    lane: Pointer[LaneWords]
    most: Pointer[Int]
    thread: Int
    state: Int
    over: InlineArray[Int, 3]
    block: InlineArray[Int, 3]
    width: Int
    object: Int


@struct
class Held:
    """What was read: of a dictionary the name ``key``; else bytes, or (~size) keys and values of one."""

    size: Int
    of: Int
    key: Int
    expected: Int


@struct
class Array:
    """DLPack's ``DLTensor``, then what weft's own reader uses; room for its extents and strides follows."""

    data: Int
    device: Int
    rank: Int32
    element: UInt32
    shape: Pointer[Int]
    strides: Pointer[Int]
    offset: Int
    stream: Int
    """The stream, where the reader tells it."""
    table: Pointer[Table]


@struct
class Expected:
    """What an array must be; behind it stand the extents and the strides, unless ``rank`` is negative."""

    read: FunctionPointer[[Int, Pointer[Array]], Int32]
    device: Int
    element: Int
    rank: Int
    size: Int
    stream: Int


@struct
class Described:
    """Tiles that a launch describes: the slot that says where, and the one of the memory that they are of.

    ``known`` has pairs: an address of that memory, and where its tiles are described.
    """

    slot: Int
    source: Int
    known: Pointer[Int]
    count: Int


@struct
class Site:
    """A launch as a program has made it."""

    next: Pointer[Site]
    kernel: Int
    names: Int
    count: Int
    entries: Pointer[Entry]
    total: Int
    helds: Pointer[Held]
    held_count: Int
    tiles: Pointer[Described]
    tile_count: Int
    block: Pointer[Int]
    """The slots with what was launched: constants, and what the arguments overwrite."""
    slots: Int
    apart: Int
    max_threads: Int
    stream: Int
    stream_of: FunctionPointer[[Int32, Int32, Pointer[Int]], Int32]
    device: Int
    function: Int
    shared: Int
    config: Int
    used: Int


@struct
class Table:
    """What the stub of one context knows. On a CPU there is no ``launch``, and sites have a ``config``."""

    launch: FunctionPointer[
        [Int, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, Int, Pointer[Int], Int], Int32
    ]
    launch_ex: FunctionPointer[[Int, Int, Pointer[Int], Int], Int32]
    slow: Int
    failed: Int
    names: Int
    """The keywords of the call that came to Python last."""
    known: Int
    """Whether that call has a site, and came to Python since its stream has other work."""
    buckets: InlineArray[Pointer[Site], BUCKETS]
    inside: Int
    """Calls under way; while there are any, sites that are forgotten stay in memory."""
    changes: Int
    interface: Pointer[Int]
    """What the reader of CUDA array interfaces looks up."""
    none: Int
    false: Int
    interrupt: Int
    """``KeyboardInterrupt``."""
    type_at: Int
    """Where an object has its type; the offsets of a buffer's members follow."""
    key_at: Int
    address_at: Int
    owner_at: Int
    lane: Pointer[LaneWords]
    """Of the CPU's stream that is waited for; null where waits are the driver's."""
    empties: InlineArray[Int, EMPTIES]
    """Objects that are empty where a wait has nothing to do but for the stream."""
    slow_wait: Int
    main: Int
    """The thread that may help with launches, as its stack is large."""
    paused: Int
    """Whether all launches and waits go to Python."""
