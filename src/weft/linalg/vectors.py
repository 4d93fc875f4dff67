"""Vectors of a few numbers: ``Vector[Float32, 3]``, which is ``vec3``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from weft.diagnostics import refuse
from weft.diagnostics.instead import instead
from weft.diagnostics.unfit import tell_of_methods
from weft.dtype import as_dtype
from weft.lang.hints import kind_of
from weft.lang.number import Number, NumberLike, number_class
from weft.lang.operators import ARITHMETIC, define_operators, part_by_part
from weft.lang.python_number import python_number
from weft.lang.structs import part_of_one
from weft.linalg.instead import OF_VECTORS
from weft.linalg.parts import Parts, arguments, made, norm, numbers, picked, same_kind, summed

T = TypeVar("T", bound=Number)
N = TypeVar("N", bound=int)
_NAMES = "xyzw"
_MOST = 16


@instead(OF_VECTORS)
@part_by_part
class Vector(Parts, Generic[T, N]):
    """``n`` numbers of type ``T``, a value like a number: ``Vector[Float32, 3]`` is ``vec3``.

    Operators and functions of ``weft.math`` work number by number, also with one number for all. The numbers
    are fields ``x``, ``y``, ``z``, ``w`` (``e0``, ``e1``, ... of more than four), ``v[i]``; some of them are
    a vector: ``v.xy``, ``v.zyx``.
    In memory they lie one after the other, aligned as one of them: a ``vec3`` takes 12 bytes.

    Args:
        parts: the numbers, also in vectors, SIMD values and sequences; one for all; or none, for zeros.

    Raises:
        CompileError: they are not as many, or of a type that does not become ``T`` by itself.

    Example:
        >>> from weft import Float32, func
        >>> from weft.linalg import dot, vec2, vec3, vec4
        >>> v = vec3(1, 2, 3)
        >>> 2 * v - v.zyx, vec4(v.xy, 0, 1), v[2]
        (vec3(-1.0, 2.0, 5.0), vec4(1.0, 2.0, 0.0, 1.0), Float32(3.0))
        >>> @func
        ... def height(p: vec3, normal: vec3) -> Float32:
        ...     return dot(p, normal)
        >>> height(v, vec3(0, 0, 1))
        3.0
    """

    usual = "vec3, or Vector[Float32, 3]"
    if TYPE_CHECKING:
        x: T
        y: T
        z: T
        w: T

        def __setattr__(self, name: str, value: Any) -> None: ...  # v.xy = ...
    else:

        def __class_getitem__(cls, item: Any) -> Any:
            """The class for a type and a size."""
            found = arguments(cls, item)
            if not isinstance(found, tuple):
                return found
            element, size = found if len(found) == 2 else (found[0], None)
            if type(size) is not int or not 1 <= size <= _MOST:
                hint = "write Vector[Float32, 3], say"
                refuse("simd", f"a Vector has a type and a size from 1 to {_MOST}, not {size!r}", hint=hint)
            element = number_class(as_dtype(element))
            names = tuple(_NAMES[:size]) if size <= len(_NAMES) else tuple(f"e{n}" for n in range(size))
            return made(Vector, _short(element, size), element, names, (size,))

    def __init__(self, *parts: Any) -> None:
        cls = type(self)
        if not parts:
            parts = (0,)
        if len(parts) == 1 and (not isinstance(parts[0], Number) or parts[0].lanes == 1):
            if isinstance(parts[0], (Number, int, float)):
                parts *= len(cls.names)
        hint = f"write {cls.__name__}({', '.join(cls.names)}), or one number for all"
        for name, part in zip(cls.names, numbers(cls, parts, hint), strict=True):
            setattr(self, name, part)

    @classmethod
    def again(cls, element: Any) -> Any:
        """The class of as many numbers of another type."""
        return cls if element is cls.element else cast("Any", Vector)[element, len(cls.names)]

    def __getattr__(self, name: str) -> Any:
        """``v.zyx``: some of the numbers as a vector."""
        names = type(self).names
        if len(name) < 2 or not all(part in names for part in name):
            return part_of_one(self, name)
        return cast("Any", Vector)[type(self).element, len(name)](*[getattr(self, part) for part in name])

    @classmethod
    def __weft_several__(cls, name: str) -> bool:
        """Whether a name is that of several numbers, as ``xy``."""
        return len(name) > 1 and name not in cls.names and all(part in cls.names for part in name)

    def put(self, names: str, value: Any) -> Self:
        """The vector with several numbers replaced: ``v.xy = value``."""
        if len(set(names)) < len(names):
            again = next(n for n in names if names.count(n) > 1)
            message = f"`.{names} = ...` names `{again}` twice"
            refuse("item-assignment", message, hint="name each number once")
        new = cast("Any", Vector)[type(self).element, len(names)](value)
        kept = dict(zip(names, new.parts(), strict=True))
        return self.of([kept.get(name, part) for name, part in zip(self.names, self.parts(), strict=True)])

    def __getitem__(self, index: NumberLike) -> T:
        return picked(self.parts(), index)

    def __len__(self) -> int:
        return len(type(self).names)

    if TYPE_CHECKING:

        def _sum(self, other: Any) -> Self: ...
        def _with(self, other: Self | NumberLike) -> Self: ...
        def _of(self, other: NumberLike) -> Self: ...

        __add__ = __sub__ = _sum
        __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = _with
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = _of

    def __abs__(self) -> Self:
        return self.map(abs)

    def __weft_elements__(self, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
        """A function of numbers, as those of ``weft.math``, number by number."""
        each = zip(*[self._all_of(operand) for operand in operands], strict=True)
        found = [function(*numbers) for numbers in each]
        return (
            tuple(map(self.of, zip(*found, strict=True))) if isinstance(found[0], tuple) else self.of(found)
        )

    def _all_of(self, operand: Any) -> Sequence[Any]:
        """As many numbers as this has, of a vector or of one number for all."""
        if isinstance(operand, Vector):
            other = cast("Vector[Any, Any]", operand)
            if len(other) != len(self):
                message = f"vectors of {len(self)} and of {len(other)} numbers do not go together"
                refuse("operand", message, hint="take a part, v.xy, or give one number for all")
            return other.parts()
        number = python_number(operand)
        if not isinstance(number, (Number, bool, int, float)) or (
            isinstance(number, Number) and number.lanes > 1
        ):
            hint = "give a vector of the same size, or one number for all"
            refuse(
                "operand", f"a vector goes with vectors and numbers, not with {kind_of(operand)}", hint=hint
            )
        return (number,) * len(self)

    def __matmul__(self, other: Any) -> Any:
        return dot(self, cast("Any", other)) if isinstance(other, Vector) else NotImplemented


@part_by_part
def _operator(name: str, swapped: bool) -> Callable[[Any, Any], Any]:
    return lambda self, other: self._each(other, name, swapped)


define_operators(Vector, ARITHMETIC, _operator)
tell_of_methods(Vector)


SUFFIXES = {"float32": "", "float64": "d", "float16": "h", "int32": "i", "uint32": "u"}


def _short(element: type[Number], size: int) -> str:
    suffix = SUFFIXES.get(element.dtype.name)
    if suffix is None or not 2 <= size <= 4:
        return f"Vector[{element.__name__}, {size}]"
    return f"vec{size}{suffix}"


V = TypeVar("V", bound=Vector[Any, Any])


def dot(a: Vector[T, N], b: Vector[T, N]) -> T:
    """The sum of the products, as ``a @ b``; also of quaternions.

    >>> from weft.linalg import vec3
    >>> dot(vec3(1, 2, 3), vec3(4, 5, 6))
    Float32(32.0)
    """
    same_kind("dot", a, b)
    return summed([p * q for p, q in zip(a, b, strict=True)])


def cross(a: V, b: V) -> V:
    """The vector that stands upright on two of three numbers; of two numbers its length, with a sign.

    >>> from weft.linalg import vec3
    >>> cross(vec3(1, 0, 0), vec3(0, 1, 0))
    vec3(0.0, 0.0, 1.0)
    """
    same_kind("cross", a, b)
    if len(a) == 2:
        return a.x * b.y - a.y * b.x
    if len(a) != 3:
        refuse(
            "operand", f"cross is of vectors of 2 or 3 numbers, not of {len(a)}", hint="take a part: v.xyz"
        )
    return a.of([a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x])


def length(v: Vector[T, N]) -> T:
    """The Euclidean length of a vector, as ``norm``.

    >>> from weft.linalg import vec2
    >>> length(vec2(3, 4))
    Float32(5.0)
    """
    return norm(v)


def distance(a: Vector[T, N], b: Vector[T, N]) -> T:
    """The length of ``a - b``."""
    return norm(cast("Any", a) - b)


def normalize(x: V) -> V:
    """A vector or a quaternion divided by its norm; of zeros, nan, as NumPy gives.

    >>> from weft.linalg import vec2
    >>> normalize(vec2(0, 4))
    vec2(0.0, 1.0)
    """
    return x / norm(x)


def reflect(v: V, normal: V) -> V:
    """``v`` thrown back by a surface with this unit normal."""
    same_kind("reflect", v, normal)
    return v - 2 * dot(v, normal) * normal


def outer(a: Vector[T, Any], b: Vector[T, Any]) -> Any:
    """The matrix of all products ``a[i] * b[j]``."""
    from weft.linalg.matrices import Matrix

    parts = [p * q for p in a for q in b]
    return cast("Any", Matrix)[type(a).element, len(a), len(b)].of(parts)
