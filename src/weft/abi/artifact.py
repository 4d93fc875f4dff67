"""What the compiler hands to the runtime: machine code and how to call it.

Compiler and runtime share these types and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from weft.dtype import DType
from weft.record import field, record


@record
class Argument:
    """One machine argument of a kernel.

    ``name`` is what a message should call it (``vector``, ``image.shape[0]``). A pointer argument is
    the address of elements of ``dtype``; any other is one value of ``dtype``. Every argument takes
    one slot of 8 bytes in the packed argument block, little end first. ``written`` says that the kernel
    has a write through the pointer, ``read`` that it may have a read.
    """

    name: str
    dtype: DType
    pointer: bool = False
    written: bool = False
    read: bool = False


@record
class Signature:
    """The machine arguments of a kernel, in order."""

    name: str
    parameters: tuple[Argument, ...]


Piece = str | DType | tuple["DType | tuple[Piece, ...]", str]


@record
class PrintSite:
    """One ``print`` in a kernel: pieces of text around values.

    ``pieces`` mixes literal strings with the element types of the values printed there, alone or with
    a format specification (``(DType.float32, ".2f")``), which pieces that are formatted as one text have
    too (``((DType.float32, "!"), ">8")``); the kernel delivers the values packed in 8-byte slots, in order,
    and the host formats them.
    """

    pieces: tuple[Piece, ...]


@record
class AssertSite:
    """One ``assert`` in a kernel: its message, and where it stands in the user's source.

    ``pieces`` are as those of a ``PrintSite``. The column is in bytes, as ``ast`` counts.
    """

    pieces: tuple[Piece, ...]
    file: str
    line: int
    column: int = 0


@record
class FaultSite:
    """What a checked kernel asks at one place, and tells of where that is not so.

    ``kind`` is the code of what it is; ``runtime/faults.py`` has what is said of each, by the values that it
    delivers, of the types of ``pieces``. Of an access of memory there is what it does, to what by name, how
    many bytes that takes and is taken to be aligned to, among whom it is atomic, and whether it is of a copy
    whose bytes a barrier counts; of arithmetic, the operator and the format of its result. The expression
    ends where ``end`` says, a line and a column, where that is known, and columns then are in characters;
    ``callers`` are the lines that called the function that it is in, innermost first.
    """

    kind: str
    pieces: tuple[DType, ...]
    file: str
    line: int
    column: int = 0
    end: tuple[int, int] = (0, 0)
    callers: tuple[tuple[str, int], ...] = ()
    verb: Literal["", "reads", "writes", "updates"] = ""
    name: str = ""
    size: int = 0
    alignment: int = 0
    scope: Literal["", "block", "device"] = ""
    counted: bool = False
    result: DType | None = None


FOUND = "->"
"""The name of memory that a pointer leads to which comes from no argument."""
Site = PrintSite | AssertSite | FaultSite

ROUNDS = 1 << 22
"""For how many rounds of loops, and such accesses, a checked thread goes on behind one outside of memory."""
FAULTS = "weft$faults"
"""The symbol of a checked module's counts, one of 64 bits for each site: how often it has told of a fault."""


@record
class AskedTiles:
    """Tiles of a kernel's argument that the hardware copies: what its launch describes to it.

    ``parameter`` is the number of the pointer to the tensor. Extents are in elements and strides in bytes,
    from the outermost axis on; ``swizzle`` is as ``ctx.create_tma_tile`` has it.
    """

    parameter: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int


@record
class KernelInfo:
    """What a launch must know of one kernel: of its own code, and of all that this reaches.

    ``entry`` is the symbol to call, ``place`` the file and the line of the kernel. ``per_thread`` is how many
    elements each thread of a launch over a range does along x and y. ``uses`` names what the library does in
    it that a launch must know of, such as ``grid_sync``. ``shared`` is how many bytes of shared memory of
    fixed size a block has, ``dynamic_shared`` how many it takes at least of those that the launch gives,
    ``max_threads`` how many threads, where that is not 0.
    ``block_rank`` is how many axes its blocks may have threads along, 0 where they may along all; along x
    they have a multiple of ``strip``, where that is not 0.
    ``tiles`` are those that the launch describes, by the slots, behind the parameters, that say where.
    ``sites`` are its prints and assertions, by the numbers that they have in the module. Behind its
    parameters a ``checked`` one takes how many bytes of shared memory the launch gives, then the ends of each
    pointer's memory, in bytes from where that points.
    Where ``granule`` is not 0, it then takes the cells of each pointer, one for so many bytes, those of
    shared memory, and the launch's ``Shadow`` (``abi/shadow.py``); ``shared_cells`` are how many shared
    memory of fixed size has, and for how many bytes each. ``notes_all`` says whether all that it writes is
    noted there, ``finds`` whether it has pointers that come from no argument.
    """

    entry: str
    signature: Signature
    place: tuple[str, int] = ("", 0)
    per_thread: tuple[int, int] = (1, 1)
    uses: frozenset[str] = frozenset()
    shared: int = 0
    dynamic_shared: int = 0
    max_threads: int = 0
    checked: bool = False
    block_rank: int = 0
    strip: int = 0
    granule: int = 0
    shared_cells: tuple[int, int] = (0, 1)
    notes_all: bool = False
    finds: bool = False
    tiles: Mapping[int, AskedTiles] = field(default_factory=dict[int, AskedTiles])
    sites: Mapping[int, Site] = field(default_factory=dict[int, Site])

    @property
    def counts_faults(self) -> bool:
        """Whether its module has ``FAULTS``."""
        return self.checked and any(not isinstance(site, PrintSite) for site in self.sites.values())

    def takes(self, block: Sequence[int]) -> bool:
        """Whether it is compiled for blocks of that extent."""
        flat = not self.block_rank or max(block[self.block_rank :], default=1) == 1
        return flat and not (self.strip and block[0] % self.strip)


@record
class Artifact:
    """Compiled kernels: one module.

    ``format`` says what ``code`` is: ``ptx`` (text for the NVIDIA driver), ``object`` (a native
    object file) or ``python`` (a ``Program``). ``opt_level`` is how much the driver's
    assembler is to optimise, from 0 to 3, or None for what it does by itself.
    """

    target: str
    format: Literal["ptx", "object", "python"]
    code: bytes
    kernels: tuple[KernelInfo, ...]
    opt_level: int | None = None


@record
class LoadedCode:
    """Machine code in this process: the entries' addresses, and the object that keeps it there."""

    addresses: tuple[int, ...]
    keep: object
