"""Where no hardware holds them: thread and block indices, shared memory and the runtime's handle.

They travel as values: computed by the entry, and handed to helpers as extra parameters (which
inlining removes).
"""

from __future__ import annotations

from weft.abi.warp import WARP
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.clone import clone_op
from weft.compiler.ir.core import Function, Global, Module, Op, Region, Value
from weft.compiler.ir.types import I8, I64, AddressSpace, pointer
from weft.record import field, record, replace

_AXES = {"x": 0, "y": 1, "z": 2}
_OPS = frozenset(
    {
        "gpu.thread_id",
        "gpu.block_id",
        "gpu.block_dim",
        "gpu.grid_dim",
        "gpu.cluster_dim",
        "gpu.shared_stride",
        "gpu.thread_number",
        "gpu.lane_id",
        "gpu.subgroup_id",
        "gpu.thread_count",
        "gpu.dynamic_shared_memory",
        "weft.print",
        "weft.failed",
        "weft.look",
    }
)
_SHARED = pointer(AddressSpace.SHARED)


@record(frozen=False)
class Context:
    """The values behind ``gpu.*`` for the code being written."""

    state: Value
    block_id: list[Value]
    thread_id: list[Value]
    block_dim: list[Value]
    grid_dim: list[Value]
    cluster_dim: list[Value]
    shared_stride: Value
    shared: Value
    rank: int = 3
    """How many axes blocks have threads along; along the others they have one, with the index 0."""
    thread: Value | None = None
    """The thread's number in its block, where it is known."""
    lane: Value | None = None
    """And in its warp."""
    warp: Value | None = None
    """And the warp's number."""

    def number(self, name: str, axis: str) -> Value:
        """One of them along an axis."""
        numbers: list[Value] = getattr(self, name)
        return numbers[_AXES[axis]]

    def values(self) -> list[Value]:
        """All of them, in the order of a helper's extra parameters."""
        places = *self.block_id, *self.thread_id, *self.block_dim, *self.grid_dim, *self.cluster_dim
        return [self.state, *places, self.shared_stride, self.shared]

    @staticmethod
    def of(values: list[Value]) -> Context:
        """The context that ``values`` gave."""
        state, *places = values
        block, thread, size, grid, cluster = (places[n : n + 3] for n in range(0, 15, 3))
        return Context(state, block, thread, size, grid, cluster, places[15], places[16])


@record(frozen=False)
class Frame:
    """What the code of one kernel is written for, its own copies of helpers included."""

    offsets: dict[str, int] = field(default_factory=dict[str, int])
    """Where its shared memory lies in a block's share."""
    size: int = 0
    """How much of it there is: behind it the dynamic part begins."""
    room: int = 0
    """How much more a block's share has, for places beyond its arrays (``own_places``)."""
    helpers: dict[str, str] = field(default_factory=dict[str, str])
    """Names of its copies of those that use the context."""
    clustered: bool = False
    """Whether it knows of clusters."""
    meets: bool = False
    """Whether blocks of a cluster meet, or use each other's shared memory."""
    even: bool = False
    """Whether blocks have a multiple of ``STRIP`` threads along x."""
    turned: bool = False
    """Whether blocks that meet begin with the last."""
    looks: bool = False
    """Whether blocks wait for each other in loops of their own, so that each goes by itself."""

    @staticmethod
    def of(module: Module, kernel: Function, users: set[str]) -> Frame:
        """The frame of a kernel of the module, of which ``users`` use the context."""
        made, reached = Frame(), module.reached(kernel)
        ops = [op for f in reached for op in f.body.walk()]
        named = {op.attrs.get("global_name") for op in ops}
        made.meets = any(op.name == "gpu.shared_stride" or op.attrs.get("group") == "cluster" for op in ops)
        made.clustered = made.meets or any(op.name == "gpu.cluster_dim" for op in ops)
        made.looks = any(op.name == "weft.look" for op in ops)
        for g in module.globals:
            if g.space == AddressSpace.SHARED and g.name in named:
                made.size = -(-made.size // g.align) * g.align
                made.offsets[g.name] = made.size
                made.size += _bytes(g)
        made.size = -(-made.size // 128) * 128
        made.helpers = {
            f.name: f"{f.name}.{kernel.name}" for f in reached if f.name in users and not f.kernel
        }
        return made


def _bytes(g: Global) -> int:
    return g.count * max(1, g.element.bits // 8)


def needs_context(module: Module) -> set[str]:
    """The helpers that use the context, themselves or through what they call."""
    shared = {g.name for g in module.globals if g.space == AddressSpace.SHARED}

    def uses(op: Op) -> bool:
        return op.name in _OPS or op.attrs.get("global_name") in shared

    return module.reaching({f.name for f in module.functions if any(map(uses, f.body.walk()))})


def threads_of(context: Context) -> tuple[list[Region], Context]:
    """Bodies of loops over the threads of a block, from x on, and the context within."""
    regions, ids = indexed(*("thread_x", "thread_y", "thread_z")[: context.rank])
    return regions, replace(context, thread_id=[*ids, *context.thread_id[context.rank :]])


def linear(b: Builder, context: Context) -> Value:
    """The thread's number in its block."""
    if context.thread is not None:
        return context.thread
    made = context.thread_id[context.rank - 1]
    for axis in reversed(range(context.rank - 1)):
        made = b.arith("addi", context.thread_id[axis], b.arith("muli", context.block_dim[axis], made))
    return made


def warp_of(b: Builder, context: Context) -> Value:
    """The number of the thread's warp in its block."""
    return context.warp or b.arith("divui", linear(b, context), b.constant(WARP, I64))


def threads_in(b: Builder, context: Context) -> Value:
    """How many threads a block has."""
    size, *others = context.block_dim[: context.rank]
    for threads in others:
        size = b.arith("muli", size, threads)
    return size


def indexed(*names: str) -> tuple[list[Region], list[Value]]:
    """Bodies of loops whose indices have these names, and the indices."""
    regions = [Region() for _ in names]
    for region, name in zip(regions, names, strict=True):
        region.args.append(Value(I64, region, name))
    return regions, [region.args[0] for region in regions]


def loop_nest(
    b: Builder,
    regions: list[Region],
    ranges: list[tuple[Value, Value]],
    *,
    parallel: bool = True,
    step: Value | None = None,
) -> None:
    """A loop over each range with the region as its body, the first one innermost, and parallel if asked.

    ``step`` is the innermost one's, where it is not 1.
    """
    one = b.constant(1, I64)
    for n, ((begin, end), body) in enumerate(zip(ranges, regions, strict=True)):
        with b.into(regions[n + 1] if n + 1 < len(regions) else b.region):
            b.live = True
            by = one if n or step is None else step
            b.emit("weft.for", (begin, end, by), (), {"parallel": parallel and n == 0}, (body,))


def clamp(b: Builder, v: Value, low: int, high: int) -> Value:
    """The number from ``low`` to ``high`` that is nearest to ``v``."""
    for predicate, end in (("sgt", low), ("slt", high)):
        limit = b.constant(end, I64)
        v = b.select(b.compare(predicate, v, limit), v, limit)
    return v


class Rewriter:
    """Copies operations, replacing what the context provides. ``head`` receives slots."""

    def __init__(self, b: Builder, context: Context, frame: Frame, head: list[Op]) -> None:
        self.b = b
        self.context = context
        self.frame = frame
        self.head = head
        self.mapping: dict[Value, Value] = {}

    def lookup(self, v: Value) -> Value:
        """The copy of a value."""
        return self.mapping.get(v, v)

    def lookups(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """The copies of several values."""
        return tuple([self.lookup(v) for v in values])

    def region(self, region: Region) -> Region:
        """A copy of a region."""
        with self.b.into(region.alike(self.mapping)) as made:
            self.b.live = True
            for op in region.ops:
                self.op(op)
        return made

    def returns(self, op: Op) -> None:
        """A return: helpers keep theirs."""
        self.b.emit("weft.return", self.lookups(op.operands))

    def looks(self, op: Op) -> tuple[Value, ...]:
        """What the runtime is told of a thread that looks at memory again and again."""
        c = self.context
        return c.state, *c.block_id, linear(self.b, c), *self.lookups(op.operands)

    def op(self, op: Op) -> None:
        """Copy one operation to where the builder stands."""
        b, c, name = self.b, self.context, op.name
        b.loc = op.loc
        if name.startswith("gpu."):
            self._gpu(op)
        elif name == "weft.return":
            self.returns(op)
        elif name in ("weft.slot", "llvm.alloca"):
            made = clone_op(op, self.mapping, self.lookup)
            self.head.append(made)
        elif name == "weft.print":
            b.emit("weft.host_tell", (c.state, *self.lookups(op.operands)), (), {"site": op.attrs["site"]})
        elif name == "weft.stuck":
            left = b.constant(0, I64)
            b.emit("weft.host_stuck", (c.state, *c.block_id, linear(b, c), left), (), op.attrs)
        elif name == "weft.look":
            b.emit("weft.host_look", self.looks(op), (), op.attrs)
        elif name == "weft.failed":
            operands = (c.state, *c.block_id, *c.thread_id, *self.lookups(op.operands))
            b.emit("weft.host_tell", operands, (), op.attrs)
        elif name == "llvm.mlir.addressof" and op.attrs["global_name"] in self.frame.offsets:
            offset = self.frame.offsets[str(op.attrs["global_name"])]
            self.mapping[op.result] = self.shared(b.constant(offset, I64))
        else:
            self._copy(op)

    def _copy(self, op: Op) -> None:
        operands, attrs = self.lookups(op.operands), op.attrs
        own = self.frame.helpers.get(str(attrs["callee"])) if op.name == "func.call" else None
        if own is not None:
            operands, attrs = (*operands, *self.context.values()), {"callee": own}
        regions = tuple([self.region(r) for r in op.regions])
        made = Op(op.spec, operands, attrs, regions, tuple([r.type for r in op.results]), op.loc)
        if self.b.live:
            self.b.region.ops.append(made)
            self.b.live = not made.spec.terminator
        for old, new in zip(op.results, made.results, strict=True):
            self.mapping[old] = new

    def _gpu(self, op: Op) -> None:
        c = self.context
        if op.name == "gpu.dynamic_shared_memory":
            start = self.b.constant(self.frame.size, I64)
            self.mapping[op.result] = self.shared(start)
            return
        if op.name == "gpu.thread_number":
            self.mapping[op.result] = linear(self.b, c)
            return
        if op.name == "gpu.lane_id":
            last = self.b.constant(WARP - 1, I64)
            self.mapping[op.result] = c.lane or self.b.arith("andi", linear(self.b, c), last)
            return
        if op.name == "gpu.subgroup_id":
            self.mapping[op.result] = warp_of(self.b, c)
            return
        if op.name == "gpu.thread_count":
            self.mapping[op.result] = threads_in(self.b, c)
            return
        if op.name == "gpu.shared_stride":
            self.mapping[op.result] = c.shared_stride
            return
        self.mapping[op.result] = c.number(op.name.removeprefix("gpu."), str(op.attrs["dimension"]))

    def shared(self, offset: Value) -> Value:
        """The address at a byte offset in the block's shared memory."""
        return self.b.at(self.context.shared, offset, I8)


def add_context_parameters(f: Function, frame: Frame) -> Function:
    """A kernel's own copy of a helper, which takes its context as further parameters."""
    extra = [Value(I64, None, f"context{n}") for n in range(17)] + [Value(_SHARED, None, "shared")]
    made = replace(f, name=frame.helpers[f.name], args=[*f.args, *extra], body=Region())
    b = Builder()
    b.region = made.body
    rewriter = Rewriter(b, Context.of(extra), frame, [])
    for op in f.body.ops:
        rewriter.op(op)
    made.body.ops[:0] = rewriter.head
    return made
