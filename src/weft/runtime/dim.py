"""Extents of a grid or a block."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import NamedTuple, SupportsIndex, cast

from weft.diagnostics import LaunchError, a_
from weft.diagnostics.unfit import told_of


class Dim(NamedTuple):
    """Extents in x, y and z: of a grid in blocks, of a block in threads.

    Example:
        >>> Dim(32, 8)
        Dim(x=32, y=8, z=1)
        >>> Dim(32, 8) == (32, 8, 1), Dim(32, 8).total
        (True, 256)
    """

    x: int
    y: int = 1
    z: int = 1

    @property
    def total(self) -> int:
        """How many blocks or threads these extents make."""
        return self.x * self.y * self.z


setattr(Dim, "__new__", told_of(Dim.__new__))  # noqa: B010  (which a NamedTuple may not define)

DimLike = int | SupportsIndex | Sequence[int] | Dim


def as_dim(value: DimLike, name: str = "dim") -> Dim:
    """The ``Dim`` meant by an int (x alone), a tuple of one to three ints, or a Dim.

    Args:
        value: The extents; those not given are 1.
        name: What a message calls them (``grid_dim``, ``block_dim``).

    Raises:
        LaunchError: not one to three ints, or one of them is zero or negative.

    Example:
        >>> as_dim((2, 2))
        Dim(x=2, y=2, z=1)
    """
    if type(value) is int and value > 0:
        return Dim(value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        given: tuple[object, ...] = tuple(cast("Sequence[object]", value))
        shown = f"({', '.join(map(repr, given))}{',' if len(given) == 1 else ''})"
    else:
        given, shown = (value,), repr(value)
    if not 1 <= len(given) <= 3:
        raise LaunchError.here(
            "dim-rank",
            f"{name}={shown} has {len(given)} extents; a grid or a block has one to three (x, y, z)",
            f"write {name}={_joined(given[:3])}" if given else f"write {name}=1",
        )
    extents = Dim(*(_extent(value, name, shown) for value in given))
    if min(extents) < 0:
        raise LaunchError.here(
            "dim-negative",
            f"{name}={shown} has a negative extent; extents are 1 or more",
            f"count from 1: {name}=1 is the smallest",
        )
    if extents.total == 0:
        raise LaunchError.here("dim-empty", empty(name, extents), EMPTY_HINT)
    return extents


EMPTY_HINT = "leave the launch out where there is no work: `if count: ctx.enqueue_function(...)`"


def empty(name: str, dim: Dim) -> str:
    """The message for extents that hold nothing."""
    return f"{name}={tuple(dim)} launches nothing; every extent must be 1 or more"


def as_index(value: object) -> int | None:
    """The int that a value stands for; None where it is no integer, or a truth value."""
    try:
        return None if isinstance(value, bool) else operator.index(cast("SupportsIndex", value))
    except TypeError:  # arrays, too, have the method
        return None


def _joined(given: tuple[object, ...]) -> str:
    return f"({', '.join(map(repr, given))})"


def _extent(value: object, name: str, shown: str) -> int:
    hints: list[str] = []
    if isinstance(value, bool):
        hints.append(f"write {name}={int(value)}")
    elif (number := as_index(value)) is not None:
        return number
    elif isinstance(value, float):
        whole = f"; {int(value)} would be an int" if value.is_integer() else ""
        hints.append(f"divide with `ceildiv(a, b)` or `a // b`, which give ints{whole}")
    elif isinstance(value, str):
        hints.append("write the number without quotes")
    else:
        hints.append(f"write {name}=(x, y, z)")
    raise LaunchError.here(
        "dim-type",
        f"{name}={shown} is not made of ints: {value!r} is {a_(type(value).__name__)}",
        notes=[f"{name} takes an int, a tuple of one to three ints, or a Dim"],
        hint=hints,
    )


def index_of(text: str) -> tuple[int, int, int]:
    """``3`` or ``3, 0, 1`` as the index of a block or a thread.

    Raises:
        ValueError: it is none.
    """
    parts = text.split(",")
    if len(parts) > 3 or not all(part.strip().isdecimal() for part in parts):
        raise ValueError(f"{text!r} is no index such as 3 or 3,0,1")
    x, y, z = [int(part) for part in (*parts, "0", "0")][:3]
    return x, y, z
