"""Atomic access to memory, as LLVM has it: read-modify-write, compare and exchange, load, store, fence."""

from __future__ import annotations

from typing import Any, Literal, cast, get_args

from weft.compiler.ir.core import Region, Value
from weft.compiler.ir.types import I1, SLOT, of_dtype
from weft.diagnostics import STORED, a_, refuse
from weft.dtype import DType, as_dtype
from weft.lang import arith
from weft.lang.elaboration import current
from weft.lang.hints import kind_of
from weft.lang.intrinsics import inline_asm
from weft.lang.number import Number, number_class, to_type
from weft.lang.pointer import AddressSpace, Pointer

Ordering = Literal["relaxed", "acquire", "release", "acq_rel", "seq_cst"]
"""What else other threads see once they see this access; ``relaxed``: nothing."""
Scope = Literal["block", "cluster", "device", "system"]
"""Among which threads an access is atomic."""

_ORDERINGS = {"relaxed": "monotonic", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel"}
_ORDERINGS["seq_cst"] = "seq_cst"
_SCOPES = get_args(Scope)
_SIGNED = {"min": "min", "max": "max"}
_UNSIGNED = {"min": "umin", "max": "umax"}
_FLOAT = {"add": "fadd", "sub": "fsub", "min": "fmin", "max": "fmax", "xchg": "xchg"}


def _order(name: str, ordering: str, allowed: tuple[str, ...] = ()) -> str:
    known = allowed or tuple(_ORDERINGS)
    if ordering not in known:
        refuse("atomic", f"{name} has no ordering {ordering!r}", hint=f"write one of {', '.join(known)}")
    return _ORDERINGS[ordering]


def _sync(scope: str) -> str:
    if scope not in _SCOPES:
        refuse("atomic", f"there is no scope {scope!r}", hint=f"write one of {', '.join(_SCOPES)}")
    return current().target.sync_scopes.get(scope, "")


def _pointer(name: str, pointer: object) -> Pointer[Any]:
    if not isinstance(pointer, Pointer):
        refuse(
            "atomic",
            f"Atomic.{name} takes a Pointer, not {a_(type(pointer).__name__)}",
            hint="write pointer + i for an element of a pointer, tensor.address(i, j) for one of a tensor",
            part=STORED,
            about=pointer,
        )
    return cast("Pointer[Any]", pointer)


def _checked(name: str, given: object) -> Pointer[Any]:
    pointer = _pointer(name, given)
    if not pointer.dtype.is_number:
        message = f"Atomic.{name} takes numbers, not {a_(pointer.dtype.name)}"
        if _is_several(pointer.dtype):
            message += ", which has several: no other thread may come between them"
        refuse("atomic", message, hint="give the address of a field: Pointer(to=p[i].x)")
    if pointer.dtype.kind in ("bool", "float8"):
        kind = number_class(pointer.dtype).__name__
        refuse(
            "atomic",
            f"Atomic.{name} does not take {kind}",
            hint="use Int32 flags" if kind == "Bool" else "use Float32",
        )
    return pointer


def _is_several(dtype: DType) -> bool:
    """Whether an element is a vector, a matrix or a quaternion."""
    return hasattr(getattr(dtype, "annotation", None), "__weft_even__")


def _each_rmw(name: str, op: str, pointer: Pointer[Any], value: Any, ordering: str, scope: str) -> Any:
    """The same of each number of a vector, a matrix or a quaternion."""
    dtype: Any = pointer.dtype
    kind: Any = dtype.annotation
    if type(value) is not kind:
        message = f"Atomic.{name} takes {a_(kind.__name__)} here, not {kind_of(value)}"
        refuse("atomic", message, hint=f"write {kind.__name__}(...)", part=STORED, about=value)
    first = pointer.bitcast(kind.element)
    parts: list[Any] = value.parts()
    made: list[Any] = [atomic_rmw(name, op, first + n, x, ordering, scope) for n, x in enumerate(parts)]
    return cast("Any", kind).of(made)


def _attrs(ordering: str, scope: str) -> dict[str, Any]:
    return {"ordering": ordering, "syncscope": _sync(scope)}


def atomic_rmw(name: str, op: str, pointer: Any, value: Any, ordering: str, scope: str) -> Any:
    """Replace what is at ``pointer`` by its combination with ``value``; gives what was there."""
    if op != "xchg" and _is_several(_pointer(name, pointer).dtype):
        return _each_rmw(name, op, pointer, value, ordering, scope)
    p = _checked(name, pointer)
    d: DType = p.dtype
    if d.is_float and op not in _FLOAT:
        hint = f"take the bits as integers: pointer.bitcast(Int{8 * d.itemsize})"
        refuse("atomic", f"Atomic.{name} takes integers, not {number_class(d).__name__}", hint=hint)
    if d.is_float:
        op = _FLOAT[op]
    elif op in _SIGNED:
        op = (_SIGNED if d.is_signed else _UNSIGNED)[op]
    b, cls = current(), number_class(d)
    operand = to_type(value, cls, b)
    if op == "fsub":  # what the hardware has is addition
        op, operand = "fadd", arith.negate(b, d, operand)
    order, sync = _order(name, ordering), _sync(scope)
    if b.target.rmw_orders:
        return _rmw(op, p, operand, cls, order, sync)
    if order in ("release", "acq_rel", "seq_cst"):
        before = "acq_rel" if order == "release" else order
        b.emit("llvm.fence", (), (), {"ordering": before, "syncscope": sync})
    looped = f"{op}.{operand.type.llvm}" in b.target.looped_rmw
    looped = looped and p.space in (AddressSpace.SHARED, AddressSpace.GENERIC)
    if looped or (scope == "system" and not _has_instruction(op, d)):
        made = cls.of(_looped_rmw(op, p, operand, d, sync))
    elif scope == "system":
        made = _system_rmw(op, p, cls.of(operand))
    else:
        made = _rmw(op, p, operand, cls, "monotonic", sync)
    if order in ("acquire", "acq_rel", "seq_cst"):
        b.emit("llvm.fence", (), (), {"ordering": "acq_rel", "syncscope": sync})
    return made


def _rmw(op: str, pointer: Pointer[Any], operand: Value, cls: type[Number], order: str, sync: str) -> Any:
    attrs = {"bin_op": op, "ordering": order, "syncscope": sync}
    return cls.of(current().value("llvm.atomicrmw", (pointer.value, operand), operand.type, attrs))


_COMBINED = {
    "and": "arith.andi",
    "or": "arith.ori",
    "xor": "arith.xori",
    "add": "arith.addi",
    "sub": "arith.subi",
    "fadd": "arith.addf",
    "fmin": "arith.minnumf",
    "fmax": "arith.maxnumf",
}
_BETTER = {"min": "lt", "umin": "lt", "max": "gt", "umax": "gt"}


def _looped_rmw(op: str, pointer: Pointer[Any], operand: Value, d: DType, sync: str) -> Value:
    """The operation as a loop of compare and exchange, until nobody else came in between."""
    b, kind = current(), operand.type
    bits = of_dtype(as_dtype(f"int{d.bits}"))
    now = b.prologue("weft.slot", SLOT, {"elem_type": bits, "name": "now"})
    relaxed = {"ordering": "monotonic", "syncscope": sync}
    loaded = {"alignment": d.itemsize, "invariant": False, "volatile": False, **relaxed}
    b.emit("weft.set", (now, b.value("llvm.load", (pointer.value,), bits, loaded)))
    again = Region()
    with b.into(again):
        found = b.value("weft.get", (now,), bits)
        value = found if kind is bits else b.value("arith.bitcast", (found,), kind)
        if op in _BETTER:
            made = arith.select(b, arith.compare(b, _BETTER[op], d, operand, value), operand, value)
        elif op == "xchg":
            made = operand
        else:
            exact = {"fastmath": "none"} if op == "fadd" else {}
            made = b.value(_COMBINED[op], (value, operand), kind, exact)
        desired = made if kind is bits else b.value("arith.bitcast", (made,), bits)
        old, done = b.emit("llvm.cmpxchg", (pointer.value, found, desired), (bits, I1), relaxed).results
        b.emit("weft.set", (now, old))
        b.emit("weft.condition", (b.value("arith.xori", (done, b.constant(True, I1)), I1),))
    b.emit("weft.while", (), (), {}, (again, Region()))
    last = b.value("weft.get", (now,), bits)
    return last if kind is bits else b.value("arith.bitcast", (last,), kind)


def _has_instruction(op: str, d: DType) -> bool:
    """Whether the target has one for all devices and the host."""
    target = current().target
    return of_dtype(d).llvm in target.registers and (op == "sub" or op in target.system_rmw)


def _system_rmw(op: str, pointer: Pointer[Any], value: Number) -> Any:
    """The target's instruction for all devices and the host, relaxed."""
    d, target = pointer.dtype, current().target
    if op == "sub":
        op, value = "add", -value
    if d.is_float and op == "xchg":
        bits = as_dtype(f"uint{d.bits}")
        return _system_rmw(op, pointer.bitcast(bits), value.bitcast(bits)).bitcast(d)
    register = target.registers[of_dtype(d).llvm]
    at = pointer.address_space_cast(AddressSpace.GENERIC)
    return inline_asm(
        target.system_rmw[op].format(bits=d.bits),
        type(value),
        at,
        value,
        constraints=f"={register},{target.registers['i64']},{register}",
    )


def compare_exchange(pointer: Any, expected: Any, desired: Any, ordering: str, scope: str) -> tuple[Any, Any]:
    """Write ``desired`` if ``expected`` is there, bit for bit; what was there, and whether it did."""
    p = _checked("compare_exchange", pointer)
    b, d, cls = current(), p.dtype, number_class(p.dtype)
    bits = as_dtype(f"int{d.bits}") if d.is_float else d
    operands = [to_type(v, cls, b) for v in (expected, desired)]
    if d.is_float:
        operands = [arith.bitcast(b, v, bits) for v in operands]
    attrs = _attrs(_order("compare_exchange", ordering), scope)
    made = b.emit("llvm.cmpxchg", (p.value, *operands), (of_dtype(bits), I1), attrs)
    old, swapped = made.results
    return cls.of(arith.bitcast(b, old, d) if d.is_float else old), number_class(DType.bool).of(swapped)


def atomic_load(pointer: Any, ordering: str, scope: str) -> Any:
    """What is at ``pointer``."""
    p = _checked("load", pointer)
    order = _order("load", ordering, ("relaxed", "acquire", "seq_cst"))
    attrs = {"alignment": p.dtype.itemsize, "invariant": False, "volatile": False, **_attrs(order, scope)}
    return number_class(p.dtype).of(current().value("llvm.load", (p.value,), of_dtype(p.dtype), attrs))


def atomic_store(pointer: Any, value: Any, ordering: str, scope: str) -> None:
    """Write ``value``."""
    p = _checked("store", pointer)
    order = _order("store", ordering, ("relaxed", "release", "seq_cst"))
    attrs = {"alignment": p.dtype.itemsize, "volatile": False, **_attrs(order, scope)}
    b = current()
    b.emit("llvm.store", (p.value, to_type(value, number_class(p.dtype), b)), (), attrs)


def memory_fence(ordering: str, scope: str) -> None:
    """Order the accesses before and after, for all threads of the scope."""
    order = _order("fence", ordering, ("acquire", "release", "acq_rel", "seq_cst"))
    current().emit("llvm.fence", (), (), _attrs(order, scope))
