"""The console of a device with memory of its own: where its threads write what they print and assert.

It is an array of words: ``Head``, then records, which wrap around. A record is one word that says whose it
is, written last, and its values. That word is ``WRITTEN``, ``ASSERTION`` for an assertion, the module's
number from bit ``MODULE`` on, and the site. An assertion's values are the thread's place in ``IDS`` words,
then those of its message.
"""

from __future__ import annotations

import ctypes

CONSOLE = "weft$console"
"""The symbol of a module's ``Connection``, which the runtime fills in."""
WORD = ctypes.sizeof(ctypes.c_uint64)
WRITTEN = 1 << 63
ASSERTION = 1 << 62
MODULE = 32
MODULES = ASSERTION >> MODULE
"""How many modules have a number."""
IDS = 6
"""Where a thread is: its block's place, and its own in the block."""


class Head(ctypes.Structure):
    """The console's first words."""

    _fields_ = [
        ("taken", ctypes.c_uint64),  # words of records, all that ever were
        ("read", ctypes.c_uint64),  # as many of them as the runtime has read
        ("size", ctypes.c_uint64),  # words for records that there are, a power of two
        ("lost", ctypes.c_uint64),  # records without room
        ("failed", ctypes.c_uint64),  # whether an assertion has failed
        ("none", ctypes.c_uint64 * 3),
    ]


class Connection(ctypes.Structure):
    """What a module knows of the console."""

    _fields_ = [
        ("console", ctypes.c_void_p),
        ("bell", ctypes.c_void_p),  # a word of the host's that says that there is something to read
        ("module", ctypes.c_uint64),
    ]
