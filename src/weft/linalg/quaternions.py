"""Quaternions: turns in space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from weft.diagnostics import a_, refuse
from weft.diagnostics.unfit import tell_of_methods
from weft.dtype import as_dtype
from weft.lang.hints import kind_of
from weft.lang.number import Number, NumberLike, number_class
from weft.lang.operators import part_by_part
from weft.linalg.matrices import Matrix
from weft.linalg.parts import Parts, arguments, made, norm, numbers, picked
from weft.linalg.vectors import SUFFIXES, Vector, cross, dot, normalize
from weft.math import asin, cos, sin

T = TypeVar("T", bound=Number)


@part_by_part
class Quaternion(Parts, Generic[T]):
    """``x i + y j + z k + w``, a value like a number: ``Quaternion[Float32]`` is ``quat``.

    ``p * q`` turns by ``q`` first, then by ``p``. Turns are quaternions of norm 1: ``from_axis_angle``,
    ``normalize``.

    Args:
        parts: ``x``, ``y``, ``z`` and ``w``, the real part last; or none, for the turn by nothing.

    Example:
        >>> import math
        >>> from weft.linalg import quatd, vec3d
        >>> turn = quatd.from_axis_angle(vec3d(0, 0, 1), math.pi / 2)
        >>> [f"{float(part):.3f}" for part in turn.rotate(vec3d(1, 2, 1))]
        ['-2.000', '1.000', '1.000']
    """

    usual = "quat, or Quaternion[Float32]"
    if TYPE_CHECKING:
        x: T
        y: T
        z: T
        w: T
    else:

        def __class_getitem__(cls, item: Any) -> Any:
            """The class for a type."""
            found = arguments(cls, item)
            if not isinstance(found, tuple):
                return found
            element = number_class(as_dtype(found[0]))
            suffix = SUFFIXES.get(element.dtype.name)
            name = f"Quaternion[{element.__name__}]" if suffix is None else f"quat{suffix}"
            return made(Quaternion, name, element, ("x", "y", "z", "w"))

    def __init__(self, *parts: Any) -> None:
        cls = type(self)
        given = numbers(cls, parts or (0, 0, 0, 1), f"write {cls.__name__}(x, y, z, w)")
        for name, part in zip(cls.names, given, strict=True):
            setattr(self, name, part)

    def __getitem__(self, index: NumberLike) -> T:
        return picked(self.parts(), index)

    @classmethod
    def again(cls, element: Any) -> Any:
        """The class of as many numbers of another type."""
        return cls if element is cls.element else cast("Any", Quaternion)[element]

    @classmethod
    def identity(cls) -> Self:
        """The turn by nothing."""
        return cls()

    @classmethod
    def from_axis_angle(cls, axis: Vector[T, Any], angle: NumberLike) -> Self:
        """The turn about an axis of length 1 by an angle in radians, by the right hand."""
        _three("from_axis_angle", axis)
        angle = cls.element(angle) if not isinstance(angle, Number) else angle
        if not angle.dtype.is_float:
            message = f"from_axis_angle takes a float for the angle, not {a_(type(angle).__name__)}"
            refuse("argument-type", message, hint=f"write {cls.element.__name__}(angle)", part=angle)
        half = angle / 2
        return cls(axis * sin(cast("Any", half)), cos(cast("Any", half)))

    @property
    def vector(self) -> Any:
        """``x``, ``y`` and ``z``."""
        return cast("Any", Vector)[type(self).element, 3](self.x, self.y, self.z)

    def conjugate(self) -> Self:
        """The other sign for x, y and z: of a turn, the turn back."""
        return self.of([-self.x, -self.y, -self.z, self.w])

    def inverse(self) -> Self:
        """What gives 1 if multiplied with this one."""
        return self.conjugate() / dot(cast("Any", self), cast("Any", self))

    def __mul__(self, other: Self | NumberLike) -> Self:
        if not isinstance(other, Quaternion):
            return self._each(other, "mul")
        p, q = cast("Any", self), cast("Any", other)
        u, v = p.vector, q.vector
        return self.of([*(p.w * v + q.w * u + cross(u, v)), p.w * q.w - dot(u, v)])

    def rotate(self, v: Vector[T, Any]) -> Any:
        """A vector of three numbers, turned."""
        _three("rotate", v)
        u = self.vector
        t = 2 * cross(u, v)
        return v + cast("Any", self.w) * t + cross(u, t)

    def to_matrix(self) -> Any:
        """The matrix of three rows that turns likewise."""
        x, y, z, w = self
        return cast("Any", Matrix)[type(self).element, 3, 3].of(
            [
                *(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
                *(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
                *(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
            ]
        )


tell_of_methods(Quaternion)


def _three(what: str, v: Any) -> None:
    """Refuse what is no vector of three numbers."""
    if isinstance(v, Vector) and len(cast("Any", v)) == 3:
        return
    shown = type(cast("Any", v)).__name__ if isinstance(v, Parts) else kind_of(v)
    message = f"{what} takes a vector of three numbers, not {shown}"
    refuse("operand", message, hint="write vec3(x, y, z)", part=cast("Any", v))


def slerp(a: Quaternion[T], b: Quaternion[T], t: NumberLike) -> Quaternion[T]:
    """The turn between two, of norm 1, on the shorter way: ``a`` at ``t`` = 0, ``b`` at 1.

    The angle is that of the chord, which small ones are told by, as they are not by their cosine.
    """
    p, q = cast("Any", a), cast("Any", b)
    away = dot(p, q) < 0
    q = q.of([away.select(-part, part) for part in q])
    angle = 2 * asin(norm(p - q) / 2)
    scale = sin(angle)
    same = scale == 0
    t = type(a).element(t) if not isinstance(t, Number) else t
    from_a = same.select(1 - t, sin((1 - t) * angle) / scale)
    from_b = same.select(t, sin(t * angle) / scale)
    return normalize(from_a * p + from_b * q)
