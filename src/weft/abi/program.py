"""Kernels as Python's code: what the compiler hands to the interpreter."""

from __future__ import annotations

import marshal
from types import CodeType
from typing import NamedTuple

Form = tuple[tuple[str, int], ...]
"""Types of values: of the scalar, and how many lanes."""


class Code(NamedTuple):
    """A function: its code, the file that it is of, and whether calls of it may wait, so are generators."""

    code: CodeType
    file: str
    waits: bool


class Entry(NamedTuple):
    """A kernel: its function, the types of its arguments, along how many axes a range ends its launches."""

    function: str
    arguments: tuple[str, ...]
    rank: int


class Program(NamedTuple):
    """All of a module. What code calls by ``__name`` the runtime has (``runtime/interpreter/machine.py``)."""

    functions: dict[str, Code]
    """By the names that calls use."""
    entries: dict[str, Entry]
    """By the symbols of the kernels."""
    floats: dict[str, tuple[str, float, int]]
    """Constants: type, number and lanes."""
    tables: dict[str, tuple[bytes, int]]
    """Constant memory: bytes and alignment."""
    shared: dict[str, tuple[int, int]]
    """Memory of a block: size and alignment."""
    meets: tuple[str, ...]
    """Whose threads wait for each other: of a block, a cluster, the grid."""
    natives: dict[str, tuple[Form, Form]]
    """What Python has no word for: functions of the object file, and what they take and give."""
    native: bytes
    """That object file."""

    def packed(self) -> bytes:
        """As an artifact's code."""
        plain = {name: tuple(code) for name, code in self.functions.items()}
        entries = {name: tuple(entry) for name, entry in self.entries.items()}
        return marshal.dumps((plain, entries, *self[2:]))

    @staticmethod
    def unpacked(data: bytes) -> Program:
        """What ``packed`` has packed, by the same Python."""
        functions, entries, *rest = marshal.loads(data)
        made = {name: Code(*code) for name, code in functions.items()}
        return Program(made, {name: Entry(*entry) for name, entry in entries.items()}, *rest)
