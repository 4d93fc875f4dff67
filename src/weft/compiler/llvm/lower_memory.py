"""Lowering of memory and lanes."""

from __future__ import annotations

from weft.abi.cpu_limits import LINE
from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import I1, AddressSpace, PointerType, Type, pointer
from weft.compiler.llvm.constants import scope_text
from weft.compiler.llvm.lowering import Lowering, LoweringTable
from weft.compiler.llvm.symbols import global_symbol

_DERIVED = frozenset({"llvm.getelementptr", "llvm.addrspacecast"})


def _slot(lw: Lowering, op: Op) -> None:
    lw.set(op, lw.alloca(lw.type(op.type_attr("elem_type")), op.result.type))


def _get(lw: Lowering, op: Op) -> None:
    if _is_byte(op.operands[0], op.result.type):
        byte = lw.new()
        lw.put(f"{byte} = load i8, {lw.typed(op.operands[0])}{lw.group()}")
        lw.set(op, f"icmp ne i8 {byte}, 0")
        return
    lw.set(op, f"load {lw.type(op.result.type)}, {lw.typed(op.operands[0])}{lw.group()}")


def _set(lw: Lowering, op: Op) -> None:
    slot, value = op.operands
    given = lw.typed(value)
    if _is_byte(slot, value.type):
        byte = lw.new()
        lw.put(f"{byte} = zext {given} to i8")
        given = f"i8 {byte}"
    lw.put(f"store {given}, {lw.typed(slot)}{lw.group()}")


def _is_byte(address: Value, kind: Type) -> bool:
    """Whether it is a flag of one of many threads: LLVM stores bytes as vectors, bits one by one."""
    return kind is I1 and not (isinstance(address.owner, Op) and address.owner.name == "weft.slot")


def _alloca(lw: Lowering, op: Op) -> None:
    count = lw.typed(op.operands[0]) if op.operands else f"i64 {op.attrs['count']}"
    text = f"{lw.type(op.type_attr('elem_type'))}, {count}, align {op.attrs['alignment']}"
    lw.set(op, lw.alloca(text, op.result.type))


def _gep(lw: Lowering, op: Op) -> None:
    base, index = op.operands
    kind = lw.type(op.type_attr("elem_type"))
    lw.set(op, f"getelementptr inbounds {kind}, {lw.typed(base)}, {lw.typed(index)}")


def _group(lw: Lowering, address: Value) -> str:
    """The access group, unless all threads of a thread loop use the same memory in turn, as their own."""
    at: Value | None = address
    while at is not None:
        if isinstance(at.type, PointerType) and at.type.space == AddressSpace.LOCAL:
            return ""
        owner = at.owner
        at = owner.operands[0] if isinstance(owner, Op) and owner.name in _DERIVED else None
    return lw.group()


def _load(lw: Lowering, op: Op) -> None:
    tail = f", align {op.attrs['alignment']}"
    if op.attrs["invariant"]:
        tail += f", !invariant.load {lw.meta('!{}')}"
    volatile = "volatile " if op.attrs["volatile"] else ""
    if "ordering" in op.attrs:
        order = f"{_scope(op)}{op.attrs['ordering']}"
        lw.set(op, f"load atomic {lw.type(op.result.type)}, {lw.typed(op.operands[0])} {order}{tail}")
        return
    tail += _group(lw, op.operands[0])
    address = _in_space(lw, op.operands[0], lw.apart[op]) if op in lw.apart else lw.typed(op.operands[0])
    lw.set(op, f"load {volatile}{lw.type(op.result.type)}, {address}{tail}")


def _in_space(lw: Lowering, v: Value, number: int) -> str:
    """An address and its type in another space: places are found there too, as LLVM sees through these."""
    made, owner = lw.new(), v.owner
    if isinstance(owner, Op) and owner.name == "llvm.getelementptr":
        base = _in_space(lw, owner.operands[0], number)
        kind = lw.type(owner.type_attr("elem_type"))
        lw.put(f"{made} = getelementptr inbounds {kind}, {base}, {lw.typed(owner.operands[1])}")
    else:
        lw.put(f"{made} = addrspacecast {lw.typed(v)} to ptr addrspace({number})")
    return f"ptr addrspace({number}) {made}"


def _store(lw: Lowering, op: Op) -> None:
    address, value = op.operands
    volatile = "volatile " if op.attrs["volatile"] else ""
    if "ordering" in op.attrs:
        order = f"{_scope(op)}{op.attrs['ordering']}, align {op.attrs['alignment']}"
        lw.put(f"store atomic {lw.typed(value)}, {lw.typed(address)} {order}")
        return
    tail = f", align {op.attrs['alignment']}{_group(lw, address)}"
    lw.put(f"store {volatile}{lw.typed(value)}, {lw.typed(address)}{tail}")


def _space_cast(lw: Lowering, op: Op) -> None:
    source = op.operands[0]
    if lw.type(source.type) == lw.type(op.result.type):
        lw.names[op.result] = lw.ref(source)
        return
    lw.set(op, f"addrspacecast {lw.typed(source)} to {lw.type(op.result.type)}")


def _address_of(lw: Lowering, op: Op) -> None:
    lw.names[op.result] = f"@{global_symbol(str(op.attrs['global_name']))}"


def _scope(op: Op) -> str:
    return scope_text(str(op.attrs["syncscope"]))


_UPDATES = frozenset({"add", "sub", "and", "or", "xor", "fadd"})
_BETTER = {"min": "slt", "max": "sgt", "umin": "ult", "umax": "ugt"}


def _updated(lw: Lowering, op: Op) -> None:
    """Read, compute and write where nobody can come in between.

    Rounds of the threads' loop may meet in that place, so the accesses are in no access group.
    """
    (address, value), how, align = op.operands, str(op.attrs["bin_op"]), op.operands[1].type.bits // 8
    kind, given = lw.type(value.type), lw.ref(value)
    lw.set(op, f"load {kind}, {lw.typed(address)}, align {align}")
    found, made = lw.ref(op.result), given
    if how in _UPDATES:
        made = lw.new()
        lw.put(f"{made} = {how} {kind} {found}, {given}")
    elif how in _BETTER:
        better, made = lw.new(), lw.new()
        lw.put(f"{better} = icmp {_BETTER[how]} {kind} {given}, {found}")
        lw.put(f"{made} = select i1 {better}, {kind} {given}, {kind} {found}")
    lw.put(f"store {kind} {made}, {lw.typed(address)}, align {align}")


def _atomicrmw(lw: Lowering, op: Op) -> None:
    address, value = op.operands
    own = lw.target.threads == "loops" and address.type is pointer(AddressSpace.SHARED)
    if own and op.attrs["bin_op"] in (*_UPDATES, *_BETTER, "xchg"):  # one worker runs all of a block
        _updated(lw, op)
        return
    order = f"{_scope(op)}{op.attrs['ordering']}"
    lw.set(op, f"atomicrmw {op.attrs['bin_op']} {lw.typed(address)}, {lw.typed(value)} {order}")


def _cmpxchg(lw: Lowering, op: Op) -> None:
    address, expected, value = op.operands
    pair, kind = lw.new(), lw.type(value.type)
    order = op.attrs["ordering"]
    weaker = "acquire" if order == "acq_rel" else "monotonic" if order == "release" else order
    operands = f"{lw.typed(address)}, {lw.typed(expected)}, {lw.typed(value)}"
    lw.put(f"{pair} = cmpxchg {operands} {_scope(op)}{order} {weaker}")
    for n, r in enumerate(op.results):
        lw.names[r] = lw.new()
        lw.put(f"{lw.names[r]} = extractvalue {{ {kind}, i1 }} {pair}, {n}")


def _fence(lw: Lowering, op: Op) -> None:
    lw.put(f"fence {_scope(op)}{op.attrs['ordering']}")


def _splat(lw: Lowering, op: Op) -> None:
    source, kind = op.operands[0], op.result.type
    first = lw.new()
    lw.put(f"{first} = insertelement {kind.llvm} poison, {lw.typed(source)}, i32 0")
    lw.set(op, f"shufflevector {kind.llvm} {first}, {kind.llvm} poison, <{kind.lanes} x i32> zeroinitializer")


def _extract(lw: Lowering, op: Op) -> None:
    lw.set(op, f"extractelement {lw.args(op)}")


def _insert(lw: Lowering, op: Op) -> None:
    value, into, position = op.operands
    lw.set(op, f"insertelement {lw.typed(into)}, {lw.typed(value)}, {lw.typed(position)}")


def _shuffle(lw: Lowering, op: Op) -> None:
    mask = op.attrs["mask"]
    assert isinstance(mask, tuple)
    picks = ", ".join(f"i32 {m}" for m in mask)
    lw.set(op, f"shufflevector {lw.args(op)}, <{len(mask)} x i32> <{picks}>")


def _stream(lw: Lowering, op: Op) -> None:
    """Words up to where a line begins, whole lines, which nothing reads before, and what is left."""
    name, words = "weft.stream", LINE // 4
    if name not in lw.declared:
        single = "i32", "align 4"
        line = f"<{words} x i32>", f"align {LINE}, !nontemporal {lw.meta('!{i32 1}')}"
        lw.declared[name] = "\n".join(
            [
                f"define internal void @{name}(ptr %to, ptr %from, i64 %words) "
                'noinline nounwind "no-builtins" {',
                "entry:",
                "  %at = ptrtoint ptr %to to i64",
                "  %back = sub i64 0, %at",
                f"  %odd = and i64 %back, {LINE - 1}",
                "  %rest = lshr i64 %odd, 2",
                "  %few = icmp ult i64 %words, %rest",
                "  %head = select i1 %few, i64 %words, i64 %rest",
                "  %left = sub i64 %words, %head",
                f"  %lines = and i64 %left, {-words}",
                "  %end = add i64 %head, %lines",
                "  br label %a",
                *_copies(lw, ("entry", "a", "b"), ("0", "%head"), 1, *single),
                *_copies(lw, ("a", "b", "c"), ("%head", "%end"), words, *line),
                *_copies(lw, ("b", "c", "done"), ("%end", "%words"), 1, *single),
                "done:",
                "  ret void",
                "}",
            ]
        )
    lw.put(f"call void @{name}({lw.args(op)})")


def _copies(
    lw: Lowering, labels: tuple[str, str, str], ends: tuple[str, str], step: int, kind: str, how: str
) -> list[str]:
    """A loop that copies words, so many at a time: labels of what is before, its own, of what is behind."""
    (before, name, behind), (first, end) = labels, ends
    loop = lw.meta(
        'distinct !{@self, !{!"llvm.loop.unroll.disable"}, !{!"llvm.loop.vectorize.enable", i1 false}}'
    )
    return [
        f"{name}:",
        f"  %{name}.n = phi i64 [ {first}, %{before} ], [ %{name}.next, %{name}.each ]",
        f"  %{name}.more = icmp ult i64 %{name}.n, {end}",
        f"  br i1 %{name}.more, label %{name}.each, label %{behind}",
        f"{name}.each:",
        f"  %{name}.from = getelementptr i32, ptr %from, i64 %{name}.n",
        f"  %{name}.to = getelementptr i32, ptr %to, i64 %{name}.n",
        f"  %{name}.held = load {kind}, ptr %{name}.from, align 4",
        f"  store {kind} %{name}.held, ptr %{name}.to, {how}",
        f"  %{name}.next = add i64 %{name}.n, {step}",
        f"  br label %{name}, !llvm.loop {loop}",
    ]


def _streamed(lw: Lowering, op: Op) -> None:
    lw.declare(lw.target.waits_for_streams, "void", "")
    lw.put(f"call void @{lw.target.waits_for_streams}()")


LOWER: LoweringTable = {
    "weft.slot": _slot,
    "weft.get": _get,
    "weft.set": _set,
    "llvm.alloca": _alloca,
    "llvm.getelementptr": _gep,
    "llvm.load": _load,
    "llvm.store": _store,
    "llvm.addrspacecast": _space_cast,
    "llvm.mlir.addressof": _address_of,
    "llvm.atomicrmw": _atomicrmw,
    "llvm.cmpxchg": _cmpxchg,
    "llvm.fence": _fence,
    "weft.stream": _stream,
    "weft.streamed": _streamed,
    "vector.splat": _splat,
    "vector.extractelement": _extract,
    "vector.insertelement": _insert,
    "vector.shuffle": _shuffle,
}
