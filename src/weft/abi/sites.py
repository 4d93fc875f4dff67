"""Launches that were made before, as the native launch stub looks through them.

A site is a kernel with the keywords and the types of arguments of one call in a program. The stub checks
a site's entries against the arguments, packs them, and calls the driver.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum

BUCKETS = 32
MOST_SLOTS = 32
"""Machine arguments of a launch by the stub."""
MOST_INTS = 16
"""Ints of a tuple that is compared by value."""
STAYS = 256
"""Added to a kind: the next entry is for the same argument."""


class Ask(IntEnum):
    """What an entry asks of an argument; ``runtime/stub_entries.py`` says what a, b and c are."""

    IDENTITY = 0
    BUFFER = 1
    INTEGER = 2
    SINGLE = 3
    DOUBLE = 4
    DIMENSION = 5
    INT_SINGLE = 6
    INT_DOUBLE = 7
    MEMBER = 8
    INSIDE = 9
    ARRAY = 10
    REFUSES = 11
    INTS = 12
    WIDE = 13
    NARROW = 14
    SCALAR = 15
    FIELD = 16


class Entry(ctypes.Structure):
    """What a site asks of one argument."""

    _fields_ = [
        ("kind", ctypes.c_int64),
        ("what", ctypes.c_void_p),
        ("a", ctypes.c_int64),
        ("b", ctypes.c_int64),
        ("c", ctypes.c_int64),
        ("slot", ctypes.c_int64),
    ]


class Held(ctypes.Structure):
    """What was read: of a dictionary the name ``key``; else bytes, or (~size) keys and values of one."""

    _fields_ = [
        ("size", ctypes.c_int64),
        ("of", ctypes.c_void_p),
        ("key", ctypes.c_void_p),
        ("expected", ctypes.c_void_p),
    ]


class Site(ctypes.Structure):
    """A launch as a program has made it."""

    _fields_ = [
        ("next", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("names", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("total", ctypes.c_int64),
        ("entries", ctypes.c_void_p),
        ("slots", ctypes.c_int64),
        ("constants", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
        ("shared", ctypes.c_int64),
        ("used", ctypes.c_int64),
        ("dims", ctypes.c_int64 * 6),
        ("max_threads", ctypes.c_int64),
        ("apart", ctypes.c_int64),
        ("stream_of", ctypes.c_void_p),
        ("device", ctypes.c_int64),
        ("config", ctypes.c_void_p),
        ("held", ctypes.c_void_p),
        ("held_count", ctypes.c_int64),
    ]


class Table(ctypes.Structure):
    """What the stub of one context knows."""

    _fields_ = [
        ("launch", ctypes.c_void_p),
        ("launch_ex", ctypes.c_void_p),
        ("slow", ctypes.c_void_p),
        ("failed", ctypes.c_void_p),
        ("names", ctypes.py_object),
        ("buckets", ctypes.c_void_p * BUCKETS),
        ("inside", ctypes.c_int64),
        ("changes", ctypes.c_int64),
    ]
