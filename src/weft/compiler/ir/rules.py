"""What operations demand beyond the sort of each operand, result and attribute."""

from __future__ import annotations

from weft.compiler.ir.core import Op, Sync
from weft.compiler.ir.sorts import Types
from weft.compiler.ir.types import FloatType, IntType, Type


# -- of the types of operands and results ---------------------------------------------------------
def compares(operands: Types, results: Types) -> str | None:
    """One i1 for each lane."""
    a, r = operands[0], results[0]
    return None if a.lanes == r.lanes else f"gives {r} for operands of {a}"


def selects(operands: Types, results: Types) -> str | None:
    """One condition, or one for each lane."""
    c, a = operands[:2]
    return None if c.lanes in (1, a.lanes) else f"chooses by {c} between {a}"


def widens(operands: Types, results: Types) -> str | None:
    """More bits a lane."""
    a, r = operands[0], results[0]
    return _lanes(a, r) or (None if a.scalar.bits < r.scalar.bits else f"{r} is not wider than {a}")


def narrows(operands: Types, results: Types) -> str | None:
    """Fewer bits a lane."""
    a, r = operands[0], results[0]
    return _lanes(a, r) or (None if a.scalar.bits > r.scalar.bits else f"{r} is not narrower than {a}")


def converts(operands: Types, results: Types) -> str | None:
    """As many lanes."""
    return _lanes(operands[0], results[0])


def reinterprets(operands: Types, results: Types) -> str | None:
    """As many bits."""
    a, r = operands[0], results[0]
    return None if a.bits == r.bits else f"{a} and {r} have not as many bits"


def splats(operands: Types, results: Types) -> str | None:
    """The operand is one lane of the result."""
    return _lane_of(operands[0], results[0])


def extracts(operands: Types, results: Types) -> str | None:
    """The result is one lane of the operand."""
    return _lane_of(results[0], operands[0])


def inserts(operands: Types, results: Types) -> str | None:
    """The first operand is one lane of the second."""
    return _lane_of(operands[0], operands[1])


def shuffles(operands: Types, results: Types) -> str | None:
    """The lanes of the result are some of those of the operands."""
    return _lane_of(results[0].scalar, operands[0])


def exchanges(operands: Types, results: Types) -> str | None:
    """What atomic operations take: one number."""
    value = operands[1]
    return None if isinstance(value, (IntType, FloatType)) else f"no atomic operation takes {value}"


def one_count(operands: Types, results: Types) -> str | None:
    """Memory whose size is known, or so many times it."""
    if len(operands) > 1:
        return f"takes one count, not {len(operands)}"
    return None if not operands or isinstance(operands[0], IntType) else f"counts by {operands[0]}"


def _lanes(a: Type, r: Type) -> str | None:
    return None if a.lanes == r.lanes else f"makes {r} of {a}"


def _lane_of(one: Type, many: Type) -> str | None:
    return None if one is many.scalar else f"{one} is no lane of {many}"


# -- of one operation with its attributes ---------------------------------------------------------
def constant_fits(op: Op) -> str | None:
    """A number that the type of the result holds."""
    value, kind = op.attrs["value"], op.result.type.scalar
    if isinstance(kind, IntType):
        fits = isinstance(value, int) and -(1 << kind.bits - 1) <= value < 1 << kind.bits
    else:
        fits = type(value) in (int, float) and isinstance(kind, FloatType)
    return None if fits else f"{value!r} is no {kind}"


def mask_in_range(op: Op) -> str | None:
    """Each lane of the result is one of the lanes given."""
    mask, kind = op.attrs["mask"], op.operands[0].type
    assert isinstance(mask, tuple)
    if len(mask) != op.result.type.lanes:
        return f"gives {op.result.type} by {len(mask)} lanes"
    return None if all(0 <= i < 2 * kind.lanes for i in mask) else f"takes lanes {mask} of two {kind}"


def slot_holds(op: Op) -> str | None:
    """What is read from a slot or a cell of memory, or written, is of the type that it was made for."""
    at = op.operands[0].owner
    kind = op.operands[1].type if len(op.operands) > 1 else op.result.type
    if isinstance(at, Op) and "elem_type" in at.attrs and at.attrs["elem_type"] is not kind:
        return f"takes {kind} from or to a place of {at.attrs['elem_type']}"
    return None


def load_orders(op: Op) -> str | None:
    """An atomic load releases nothing."""
    return _access_orders(op, ("release", "acq_rel"))


def store_orders(op: Op) -> str | None:
    """An atomic store acquires nothing."""
    return _access_orders(op, ("acquire", "acq_rel"))


def _access_orders(op: Op, never: tuple[str, ...]) -> str | None:
    ordering = op.attrs.get("ordering")
    if (ordering is None) != ("syncscope" not in op.attrs):
        return "has an ordering without a scope, or a scope without an ordering"
    return f"cannot have the ordering {ordering}" if ordering in never else None


def fence_orders(op: Op) -> str | None:
    """A fence orders something."""
    return "orders nothing" if op.attrs["ordering"] == "monotonic" else None


# -- whom an operation makes wait, or hears -------------------------------------------------------
def declared_sync(op: Op) -> Sync:
    """What the library says of an intrinsic or of assembly."""
    return _DECLARED.get(str(op.attrs["effects"]), Sync.NONE)


_DECLARED = {"block": Sync.BLOCK, "all": Sync.ALL}


def access_sync(op: Op) -> Sync:
    """A plain access orders nothing; a volatile one is of what others change meanwhile."""
    if "ordering" in op.attrs:
        return atomic_sync(op)
    return Sync.BLOCK if op.attrs["volatile"] else Sync.NONE


def atomic_sync(op: Op) -> Sync:
    """What acquires sees what others have written, those of the scope."""
    acquires = op.attrs["ordering"] in ("acquire", "acq_rel", "seq_cst")
    return Sync.ALL if acquires and op.attrs["syncscope"] != "block" else Sync.BLOCK


def barrier_sync(op: Op) -> Sync:
    """All threads of the block wait for each other."""
    return Sync.BLOCK
