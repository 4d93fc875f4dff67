"""What the compiler hands to the runtime: machine code and how to call it.

Compiler and runtime share these types and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from weft.dtype import DType

__all__ = ["Artifact", "AssertSite", "LoadedCode", "Parameter", "Piece", "PrintSite", "Signature"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One machine argument of a kernel.

    ``name`` is what a message should call it (``vector``, ``image.shape[0]``). A pointer argument is
    the address of elements of ``dtype``; any other is one value of ``dtype``. Every argument takes
    one slot of 8 bytes in the packed argument block, little end first. ``written`` says that the kernel
    has a write through the pointer.
    """

    name: str
    dtype: DType
    pointer: bool = False
    written: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """The machine arguments of a kernel, in order."""

    name: str
    parameters: tuple[Parameter, ...]


Piece = str | DType | tuple[DType, str]


@dataclass(frozen=True, slots=True)
class PrintSite:
    """One ``print`` in a kernel: pieces of text around values.

    ``pieces`` mixes literal strings with the element types of the values printed there, alone or with
    a format specification (``(DType.float32, ".2f")``); the kernel delivers the values packed in
    8-byte slots, in order, and the host formats them.
    """

    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class AssertSite:
    """One ``assert`` in a kernel: its message, and where it stands in the user's source.

    ``pieces`` are as those of a ``PrintSite``. The column is in bytes, as ``ast`` counts.
    """

    pieces: tuple[Piece, ...]
    file: str
    line: int
    column: int = 0


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled kernel.

    ``format`` says what ``code`` is: ``ptx`` (text for the NVIDIA driver) or ``object`` (a native
    object file). ``entry`` is the symbol to call. ``over_rank`` and ``per_thread`` are those of a launch
    over a range: its extents, and how many elements each thread does along x and y. ``uses`` names what
    the library does in it that a launch must know of, such as ``grid_sync``. ``dynamic_shared`` is how many
    bytes of shared memory it takes at least of those that the launch gives. ``place`` is the file and the
    line of the kernel.
    """

    entry: str
    target: str
    format: Literal["ptx", "object"]
    code: bytes
    signature: Signature
    prints: tuple[PrintSite, ...] = ()
    asserts: tuple[AssertSite, ...] = ()
    over_rank: int = 0
    per_thread: tuple[int, int] = (1, 1)
    uses: frozenset[str] = frozenset()
    dynamic_shared: int = 0
    place: tuple[str, int] = ("", 0)


@dataclass(frozen=True, slots=True)
class LoadedCode:
    """Machine code in this process: the entry's address, and the object that keeps it there."""

    address: int
    keep: object
