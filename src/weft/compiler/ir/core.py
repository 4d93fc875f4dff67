"""The IR's data structure: modules, functions, regions, operations, values.

Control flow is structured: an operation may hold regions, each one list of operations. Operations
are described by ``weft.compiler.ir.ops``; printing, cloning, traversal and verification follow from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING

from weft.compiler.ir.types import Type
from weft.record import field, record

if TYPE_CHECKING:
    from fractions import Fraction

    from weft.compiler.ir.sorts import AttributeSorts, OpSignature, RegionSort

Attribute = bool | int | float | str | Type | tuple[int, ...]
Loc = tuple[int, int] | tuple[int, int, "Function", "Loc"]
"""Line (from 1) and column (from 0) in the file of the function; for code taken over from another
function, in the file of that one, and the place that called it."""


class Value:
    """What an operation or a region's head defines, once."""

    __slots__ = ("name", "owner", "type")

    def __init__(self, type: Type, owner: Op | Region | None = None, name: str = "") -> None:
        self.type: Type = type
        self.owner: Op | Region | None = owner
        self.name: str = name

    def __repr__(self) -> str:
        return f"<{self.name or 'value'}: {self.type}>"


class Region:
    """A list of operations with the values that its owner hands in (a loop's index)."""

    __slots__ = ("args", "ops")

    def __init__(self, args: list[Value] | None = None, ops: list[Op] | None = None) -> None:
        self.args: list[Value] = args if args is not None else []
        self.ops: list[Op] = ops if ops is not None else []

    def alike(self, mapping: dict[Value, Value]) -> Region:
        """An empty region with arguments as these, to which they are mapped."""
        made = Region()
        for arg in self.args:
            mapping[arg] = Value(arg.type, made, arg.name)
            made.args.append(mapping[arg])
        return made

    def walk(self) -> Iterator[Op]:
        """Every operation in the region, outer before inner."""
        pending = [iter(self.ops)]
        while pending:
            for op in pending[-1]:
                yield op
                if op.regions:
                    pending.extend([iter(region.ops) for region in reversed(op.regions)])
                    break
            else:
                pending.pop()


class Sync(IntEnum):
    """Which threads an operation may wait for, or hear of what they have written."""

    NONE = 0
    BLOCK = 1
    """Those of its block, or those of the launch that use the same place."""
    ALL = 2
    """Any: those of other blocks, kernels and devices, and the host."""


@record(eq=False)
class OpSpec:
    """The declaration of one kind of operation."""

    name: str
    signature: OpSignature
    """Its operands and results."""
    attributes: AttributeSorts
    regions: tuple[RegionSort, ...]
    verify: Callable[[Op], str | None] | None
    """What is wrong with an operation, or None."""
    pure: bool
    """It neither touches memory nor leaves the region: it may be moved, repeated and dropped."""
    terminator: bool
    """It leaves its region."""
    writes: bool
    """It writes to what its first operand points to."""
    lets_go: bool
    """What its operands point to may be read and written elsewhere, but for what ``effects`` says."""
    derives: bool
    """A pointer that it gives points where its operands do."""
    sync: Callable[[Op], Sync] | None
    """Whom it may wait for; None for nobody."""
    fold: Callable[..., float | Fraction] | None
    """What it gives for numbers, before that is rounded."""


class Op:
    """One operation."""

    __slots__ = ("attrs", "loc", "name", "operands", "regions", "results", "spec")

    def __init__(
        self,
        spec: OpSpec,
        operands: tuple[Value, ...],
        attrs: Mapping[str, Attribute],
        regions: tuple[Region, ...],
        result_types: tuple[Type, ...],
        loc: Loc,
    ) -> None:
        self.spec: OpSpec = spec
        self.name: str = spec.name  # as MLIR spells it: what passes ask for most
        self.operands: tuple[Value, ...] = operands
        self.attrs: Mapping[str, Attribute] = attrs
        self.regions: tuple[Region, ...] = regions
        self.loc: Loc = loc
        self.results: tuple[Value, ...] = (
            (Value(result_types[0], self),)  # of nearly all: half of the time that this takes
            if len(result_types) == 1
            else tuple([Value(t, self) for t in result_types])
        )

    @property
    def result(self) -> Value:
        """The single result."""
        return self.results[0]

    def number_attr(self, name: str) -> bool | int | float:
        """An attribute that is a number."""
        value = self.attrs[name]
        assert isinstance(value, (bool, int, float))
        return value

    def int_attr(self, name: str) -> int:
        """An attribute that is an integer."""
        value = self.attrs[name]
        assert isinstance(value, int)
        return value

    def type_attr(self, name: str) -> Type:
        """An attribute that is a type."""
        value = self.attrs[name]
        assert isinstance(value, Type)
        return value

    def __repr__(self) -> str:
        return f"<{self.spec.name} at line {self.loc[0]}>"


@record(frozen=False, eq=False)
class Function:
    """A function of the module; ``kernel`` marks the entries that a host may launch.

    ``alone`` are the positions of arguments whose memory nothing else reaches. ``block_rank`` is how many
    axes blocks have threads along, 0 where they may along all. ``max_threads`` is how many a block has at
    most, where that is not 0, and ``min_blocks`` how many blocks are to fit on a multiprocessor at once.
    """

    name: str
    args: list[Value]
    results: tuple[Type, ...] = ()
    body: Region = field(default_factory=Region)
    kernel: bool = False
    file: str = ""
    line: int = 0
    source_name: str = ""
    over_rank: int = 0
    block_rank: int = 0
    max_threads: int = 0
    min_blocks: int = 0
    alone: frozenset[int] = frozenset()
    element: bool = False
    inline: bool = False
    rare: bool = False
    """Seldom called: what its callers have in registers stays there."""
    resumable: bool = False
    """A thread that may wait in it (``passes/resumable.py``); its last argument is where its handle lies."""


@record(eq=False)
class Global:
    """Constant or shared memory of a module: ``data`` is the text of a constant, without its end.

    An ``external`` one is sized from outside: the shared memory whose size the launch gives. Several that are
    ``scratch`` are one in a module: nobody needs what is in one when another is used.
    """

    name: str
    space: int
    element: Type
    count: int
    align: int
    data: bytes | None = None
    external: bool = False
    scratch: bool = False


@record(frozen=False, eq=False)
class Module:
    """All that is compiled together for one target."""

    name: str
    target: str
    functions: list[Function] = field(default_factory=list[Function])
    globals: list[Global] = field(default_factory=list[Global])

    def function(self, name: str) -> Function:
        """The function of that name."""
        return next(f for f in self.functions if f.name == name)

    def reaching(self, names: set[str]) -> set[str]:
        """Those functions, and all that call them or what calls them."""
        if not names:
            return set()
        calls = {
            f.name: {op.attrs["callee"] for op in f.body.walk() if op.name == "func.call"}
            for f in self.functions
        }
        found: set[str] = set()
        while names:
            found |= names
            names = {name for name, callees in calls.items() if callees & names} - found
        return found

    def reached(self, start: Function) -> list[Function]:
        """A function, and all that it calls or takes the address of, in the module's order."""
        functions = {f.name: f for f in self.functions}
        found, waiting = {start.name}, [start]
        while waiting:
            for op in waiting.pop().body.walk():
                if op.name in ("func.call", "func.constant"):
                    name = str(op.attrs["callee"])
                    if name not in found:
                        found.add(name)
                        waiting.append(functions[name])
        return [f for f in self.functions if f.name in found]
