"""A kernel cut where more threads wait for each other than one worker runs together.

All blocks of a grid, or of a cluster, do the first piece, then all the second, as threads of a block do
between its barriers (``barrier_split``): each piece is a kernel of its own, and the control flow around the
meetings is for whoever leads (``group_loops``). What lives from piece to piece lies in memory of the group,
in arrays with a place for each thread; cheap pure operations are computed again instead. A thread that has
returned is skipped from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.clone import clone_op
from weft.compiler.ir.core import Function, Op, Region, Value
from weft.compiler.ir.jumps import JUMPS, leaves
from weft.compiler.ir.types import I1, I8, I64, SLOT, AddressSpace, PointerType, Type, VectorType, pointer
from weft.compiler.passes.uniformity import LOOPS, OWN, Uniformity
from weft.record import field, record

GENERIC = pointer(AddressSpace.GENERIC)
PADDING = 128
"""Arrays of a group begin at multiples of so many bytes."""
_VARYING = OWN | {"gpu.block_id"}
_CHEAP = 8
_LINE = 8
"""Bytes of what a group's leader tells all its threads."""


def meets(op: Op, group: str) -> bool:
    """Whether all threads of a group wait for each other there."""
    return op.name == "gpu.meet" and op.attrs["group"] == group


def has_meeting(region: Region, group: str) -> bool:
    """Whether threads of a group wait for each other in the region itself."""
    return any(meets(op, group) for op in region.walk())


def cuts(op: Op, group: str) -> bool:
    """Whether all threads of a group take control flow together, where they do so with what it is in."""
    jumps = op.name == "weft.if" and any(map(leaves, op.regions))
    return jumps or any(has_meeting(region, group) for region in op.regions)


Number = Callable[[str, str], Value]
"""``number("block_id", "x")``: where the code stands, and how large what it stands in is."""


def product(b: Builder, number: Number, name: str) -> Value:
    """Blocks of a grid or a cluster, or threads of a block: its extents multiplied."""
    x, y, z = (number(name, axis) for axis in "xyz")
    return b.arith("muli", b.arith("muli", x, y), z)


def numbered(b: Builder, places: list[Value], extents: list[Value]) -> Value:
    """The number of a place, x counting fastest."""
    row = b.arith("addi", places[1], b.arith("muli", extents[1], places[2]))
    return b.arith("addi", places[0], b.arith("muli", extents[0], row))


def placed(b: Builder, number: Value, extents: list[Value]) -> list[Value]:
    """The place of a number, x counting fastest."""
    rest = b.arith("divui", number, extents[0])
    x, y = b.arith("remui", number, extents[0]), b.arith("remui", rest, extents[1])
    return [x, y, b.arith("divui", rest, extents[1])]


def taken(b: Builder, size: Value) -> Value:
    """Memory of so many bytes, which whoever leads a group takes for it."""
    attrs = {"elem_type": I8, "count": 0, "alignment": PADDING}
    return b.emit("weft.take_memory", (size,), (GENERIC,), attrs).result


def block_number(b: Builder, number: Number, group: str, *, clustered: bool) -> Value:
    """A block's number in its group: in a grid of clusters those of a cluster follow each other."""
    ids, grid = ([number(name, axis) for axis in "xyz"] for name in ("block_id", "grid_dim"))
    if not clustered:
        return numbered(b, ids, grid)
    cluster = [number("cluster_dim", axis) for axis in "xyz"]
    rank = numbered(b, _each(b, "remui", ids, cluster), cluster)
    if group == "cluster":
        return rank
    whole = numbered(b, _each(b, "divui", ids, cluster), _each(b, "divui", grid, cluster))
    return b.arith("addi", b.arith("muli", whole, product(b, number, "cluster_dim")), rank)


def _each(b: Builder, name: str, these: list[Value], those: list[Value]) -> list[Value]:
    return [b.arith(name, one, other) for one, other in zip(these, those, strict=True)]


@record(frozen=False, eq=False)
class Node:
    """A piece (``ops``), or control flow that all threads of the group take together (``op``)."""

    op: Op | None
    ops: list[Op] = field(default_factory=list[Op])
    parts: list[list[Node]] = field(default_factory=list["list[Node]"])
    in_loop: bool = False
    number: int = -1
    """Of a piece that does anything."""


@record(eq=False)
class KeptArray:
    """An array with a place for each thread: ``count`` elements each, behind so many bytes a thread."""

    kind: Type
    count: int
    offset: int

    def address(self, b: Builder, kept: Value, begin: int, threads: Value, thread: Value) -> Value:
        """Where a thread's part lies, of so many threads; ``begin`` is where the arrays do."""
        behind = b.arith("muli", threads, b.constant(self.offset, I64))
        array = b.at(kept, b.arith("addi", behind, b.constant(begin, I64)), I8)
        if self.count != 1:
            thread = b.arith("muli", thread, b.constant(self.count, I64))
        return b.at(array, thread, self.kind)


def load(b: Builder, address: Value, kind: Type) -> Value:
    """What the address holds; a flag is a byte."""
    size = max(1, kind.bits // 8)
    attrs = {"alignment": size & -size, "invariant": False, "volatile": False}
    if kind is I1:
        return b.compare("ne", b.value("llvm.load", (address,), I8, attrs), b.constant(0, I8))
    return b.value("llvm.load", (address,), kind, attrs)


def store(b: Builder, address: Value, value: Value) -> None:
    """Let the address hold a value."""
    size = max(1, value.type.bits // 8)
    if value.type is I1:
        value = b.value("arith.extui", (value,), I8)
    b.emit("llvm.store", (address, value), (), {"alignment": size & -size, "volatile": False})


class Cut:
    """One kernel, cut where threads of a group meet; ``functions`` are its module's."""

    def __init__(
        self, kernel: Function, group: str, functions: Mapping[str, Function], *, clustered: bool
    ) -> None:
        self.kernel = kernel
        self.group = group
        self.clustered = clustered
        self.last = kernel.body.ops[-1]
        self.returns_early = any(
            op.name == "weft.return" and op is not self.last for op in kernel.body.walk()
        )
        self.uniformity = Uniformity(kernel, functions, _VARYING)
        self.nodes = self._nodes(kernel.body.ops, in_loop=False)
        if self.returns_early:
            self.nodes.insert(0, Node(None))
        self.home: dict[Value, Node] = {}
        self.used_in: dict[Value, list[Node]] = {}
        self.decisions: set[Value] = set()
        """What control flow goes by and only threads know."""
        self.cells: dict[Value, int] = {}
        """Indices of loops, which the leader tells."""
        self._indices: set[Value] = set()
        self.places: dict[Value, KeptArray] = {}
        self.bytes_each = 0
        """Of the arrays, for a thread."""
        self._survey(self.nodes)
        self._allocate()
        self.begin = -(-_LINE * len(self.cells) // PADDING) * PADDING
        """Where the arrays begin in the group's memory."""
        self.gone = self._place(I8) if self.returns_early else None
        self.pieces: list[Function] = []
        self._number(self.nodes)

    # -- what is cut --------------------------------------------------------------------------
    def _nodes(self, ops: list[Op], *, in_loop: bool) -> list[Node]:
        out: list[Node] = []
        piece: list[Op] = []

        def flush() -> None:
            if piece:
                out.append(Node(None, list(piece), in_loop=in_loop))
                piece.clear()

        for op in ops:
            if op is self.last or op.name == "llvm.unreachable":
                continue
            if not cuts(op, self.group) and op.name not in JUMPS and not meets(op, self.group):
                piece.append(op)
                continue
            flush()
            if op.name == "gpu.meet":
                continue
            node = Node(op, in_loop=in_loop)
            for n, region in enumerate(op.regions):
                is_condition = op.name == "weft.while" and n == 0
                inner = region.ops[:-1] if is_condition else region.ops
                node.parts.append(self._nodes(inner, in_loop=in_loop or op.name in LOOPS))
            out.append(node)
        flush()
        return out

    def decides(self, op: Op) -> tuple[Value, ...]:
        """What control flow goes by."""
        return (*op.operands, *(op.regions[0].ops[-1].operands if op.name == "weft.while" else ()))

    def known(self, v: Value) -> bool:
        """Whether the leader can compute it: all follows from the launch and from loops around."""
        owner = v.owner
        if not isinstance(owner, Op):
            return owner is None or v in self._indices
        if not owner.spec.pure or owner.name in _VARYING or isinstance(v.type, PointerType):
            return False
        return all(map(self.known, owner.operands))

    def _survey(self, nodes: list[Node]) -> None:
        for node in nodes:
            if node.op is not None:
                if node.op.name == "weft.for":
                    self._indices.update(node.op.regions[0].args)
                for part in node.parts:
                    self._survey(part)
                self.decisions.update(v for v in self.decides(node.op) if not self.known(v))
            for op in Region([], node.ops).walk():
                for v in (*op.results, *(a for r in op.regions for a in r.args)):
                    self.home[v] = node
                for v in op.operands:
                    users = self.used_in.setdefault(v, [])
                    if node not in users:
                        users.append(node)

    # -- what is kept -------------------------------------------------------------------------
    def _cost(self, v: Value, room: int = _CHEAP) -> int:
        """Of computing ``v`` anew, from indices and arguments; more than ``room`` is not counted."""
        owner = v.owner
        if not isinstance(owner, Op):
            return 0 if owner is None or v in self._indices else 100
        if owner.name in ("llvm.alloca", "weft.slot"):
            return 1
        if not owner.spec.pure or owner.regions:
            return 100
        total = 1
        for operand in owner.operands:
            total += self._cost(operand, room - total)
            if total > room:
                break
        return total

    def _allocate(self) -> None:
        for v in self._indices:
            if self._told(v):
                self.cells[v] = _LINE * len(self.cells)
        for v, home in self.home.items():
            owner, users = v.owner, self.used_in.get(v, [])
            if not isinstance(owner, Op):
                continue
            if owner.name == "llvm.alloca":  # its address may be anywhere
                kind, count = owner.type_attr("elem_type"), owner.int_attr("count")
                while count * _bytes(kind) % owner.int_attr("alignment"):
                    count += 1
                self.places[v] = self._place(kind, count)
            elif owner.name == "weft.slot":
                if len(users) > 1 or (users and users[0].in_loop and not _set_first(users[0].ops, v)):
                    self.places[v] = self._place(owner.type_attr("elem_type"))
            elif v in self.decisions or (any(u is not home for u in users) and self._cost(v) > _CHEAP):
                self.places[v] = self._place(v.type)

    def _told(self, index: Value) -> bool:
        """Whether a piece needs a loop's index, itself or for what it computes anew."""
        return any(index in op.operands for node in _pieces(self.nodes) for op in Region([], node.ops).walk())

    def _place(self, kind: Type, count: int = 1) -> KeptArray:
        made = KeptArray(kind, count, self.bytes_each)
        self.bytes_each += _bytes(kind) * count
        return made

    def _number(self, nodes: list[Node]) -> None:
        for node in _pieces(nodes):
            first = self.returns_early and not self.pieces
            if first or any(map(self._matters, node.ops)):
                node.number = len(self.pieces)
                self.pieces.append(_Piece(self, node, first=first).made())

    def _matters(self, op: Op) -> bool:
        if op.spec.pure:
            return any(v in self.places for v in op.results)
        return op.name not in ("weft.slot", "llvm.alloca")

    def threads(self, b: Builder, number: Number) -> Value:
        """How many threads the arrays have places for."""
        blocks = product(b, number, f"{self.group}_dim")
        every = b.arith("muli", blocks, product(b, number, "block_dim"))
        more = b.arith("addi", every, b.constant(PADDING - 1, I64))
        return b.arith("andi", more, b.constant(-PADDING, I64))


def _pieces(nodes: list[Node]) -> list[Node]:
    """The pieces among nodes, in order."""
    out: list[Node] = []
    for node in nodes:
        out += [node] if node.op is None else [piece for part in node.parts for piece in _pieces(part)]
    return out


def _bytes(kind: Type) -> int:
    """Bytes of an element in an array."""
    size = max(1, -(-kind.bits // 8))
    return 1 << (size - 1).bit_length() if isinstance(kind, VectorType) else size


def _set_first(ops: list[Op], slot: Value) -> bool:
    """Whether a variable is given a value before anything else is done with it."""
    first = next((op for op in ops if any(slot in o.operands for o in Region([], [op]).walk())), None)
    return first is not None and first.name == "weft.set" and first.operands[0] is slot


class _Piece:
    """Makes one piece a kernel, whose last argument is the group's memory."""

    def __init__(self, cut: Cut, node: Node, *, first: bool) -> None:
        k = cut.kernel
        self.thread = self.threads = Value(I64)
        self.cut, self.node, self.first = cut, node, first
        self.b = b = Builder()
        b.loc = (k.line, 0)
        self.mapping = {a: Value(a.type, None, a.name) for a in k.args}
        self.kept = Value(GENERIC, None, "kept")
        name = f"{k.name}.{cut.group}{len(cut.pieces)}"
        args = [*self.mapping.values(), self.kept]
        place = k.file, k.line, k.source_name, k.over_rank, k.block_rank
        self.function = Function(name, args, (), Region(), True, *place, alone=k.alone)
        b.region = self.function.body
        self.addresses: dict[Value, Value] = {}
        self.gone: Value | None = None

    def made(self) -> Function:
        """The kernel."""
        b, cut = self.b, self.cut

        def number(name: str, axis: str) -> Value:
            return b.value(f"gpu.{name}", (), I64, {"dimension": axis})

        ids, extents = ([number(name, axis) for axis in "xyz"] for name in ("thread_id", "block_dim"))
        block = block_number(b, number, cut.group, clustered=cut.clustered)
        before = b.arith("muli", block, product(b, number, "block_dim"))
        self.thread = b.arith("addi", before, numbered(b, ids, extents))
        self.threads = cut.threads(b, number)
        if cut.gone is not None:
            self.gone = self.address(cut.gone)
            if self.first:
                store(b, self.gone, b.constant(0, I8))
            else:
                gone = b.compare("ne", load(b, self.gone, I8), b.constant(0, I8))
                with b.into(Region()) as leave:
                    b.emit("weft.return")
                b.branch(gone, leave)
        inner = {v for op in Region([], self.node.ops).walk() for v in op.results}
        for op in Region([], self.node.ops).walk():
            inner.update(a for region in op.regions for a in region.args)
            for v in op.operands:
                if v not in inner or v in cut.places:
                    self.bring(v, inner)
        for op in self.node.ops:
            self.copy(op)
        b.emit("weft.return")
        return self.function

    def address(self, place: KeptArray) -> Value:
        """Where this thread's part of an array lies."""
        return place.address(self.b, self.kept, self.cut.begin, self.threads, self.thread)

    def bring(self, v: Value, inner: set[Value]) -> Value:
        """A value of another piece, here at the head."""
        found = self.mapping.get(v)
        if found is not None:
            return found
        b, owner = self.b, v.owner
        if v in self.cut.cells:
            cell = b.at(self.kept, b.constant(self.cut.cells[v], I64), I8)
            self.mapping[v] = load(b, cell, v.type)
        elif v in self.cut.places:
            place = self.cut.places[v]
            address = self.addresses.get(v)
            if address is None:
                address = self.addresses[v] = self.address(place)
            if isinstance(owner, Op) and owner.name == "llvm.alloca":
                self.mapping[v] = b.value("llvm.addrspacecast", (address,), v.type)
            elif v.type is SLOT:
                self.mapping[v] = address
            elif v in inner:
                return address
            else:
                self.mapping[v] = load(b, address, v.type)
        else:
            assert isinstance(owner, Op)
            if owner.name == "weft.slot":
                return self._slot(owner)
            for operand in owner.operands:
                self.bring(operand, inner)
            b.region.ops.append(clone_op(owner, self.mapping))
        return self.mapping[v]

    def _slot(self, op: Op) -> Value:
        made = clone_op(op, self.mapping)
        self.function.body.ops.insert(0, made)
        return made.result

    def copy(self, op: Op) -> None:
        """One operation of the piece."""
        b, places = self.b, self.cut.places
        b.loc = op.loc
        if op.name in ("weft.slot", "llvm.alloca"):
            if op.name == "weft.slot" and op.result not in places and op.result not in self.mapping:
                self._slot(op)
            return
        if op.name == "weft.get" and op.operands[0] in places:
            self.mapping[op.result] = load(b, self.addresses[op.operands[0]], op.result.type)
        elif op.name == "weft.set" and op.operands[0] in places:
            store(b, self.addresses[op.operands[0]], self.mapping[op.operands[1]])
        elif op.name == "weft.return":
            assert self.gone is not None
            store(b, self.gone, b.constant(1, I8))
            b.emit("weft.return")
        else:
            operands = tuple([self.mapping[v] for v in op.operands])
            regions = tuple([self._region(region) for region in op.regions])
            made = Op(op.spec, operands, op.attrs, regions, tuple([r.type for r in op.results]), op.loc)
            if b.live:
                b.region.ops.append(made)
                b.live = not made.spec.terminator
            self.mapping.update(zip(op.results, made.results, strict=True))
        for v in op.results:
            place = places.get(v)
            if place is not None and v.type is not SLOT:
                store(b, self.addresses.get(v) or self.address(place), self.mapping[v])

    def _region(self, region: Region) -> Region:
        with self.b.into(region.alike(self.mapping)) as made:
            self.b.live = True
            for op in region.ops:
                self.copy(op)
        return made
