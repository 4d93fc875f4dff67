"""The model's vectors, matrices and complex numbers, each sum in its order."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

from tests.fuzz.kinds import BOOL, KINDS, Kind
from tests.fuzz.lanes import Vector as Lanes
from tests.fuzz.mathematics import MATH
from tests.fuzz.scalars import Number, as_kind

__all__ = ["ALGEBRA"]


def _total(terms: Sequence[Any]) -> Any:
    return functools.reduce(operator.add, terms)


class Parts:
    """A value of several numbers of one format."""

    def __init__(self, kind: Kind, shape: tuple[int, ...], items: Sequence[Any]) -> None:
        self.kind, self.shape = kind, shape
        self.items = [as_kind(item, kind) for item in items]

    def of(self, items: Sequence[Any]) -> Any:
        return type(self)(items[0].kind, self.shape, items)

    def each(self, function: Callable[[Any, Any], Any], other: Any) -> Any:
        others = other.items if isinstance(other, Parts) else [other] * len(self.items)
        return self.of([function(a, c) for a, c in zip(self.items, others, strict=True)])

    def __eq__(self, other: Any) -> Any:
        return Number(BOOL, all(bool(a == c) for a, c in zip(self.items, other.items, strict=True)))

    def __ne__(self, other: Any) -> Any:
        return ~(self == other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __neg__(self) -> Any:
        return self.of([-item for item in self.items])

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self.of([abs(item) for item in self.items])

    def cast(self, to: Any) -> Any:
        return self.of([item.cast(to) for item in self.items])

    @property
    def names(self) -> list[str]:
        """The fields."""
        if len(self.shape) == 1:
            return list("xyzw"[: self.shape[0]])
        return [f"m{i}{j}" for i in range(self.shape[0]) for j in range(self.shape[1])]

    def __getattr__(self, name: str) -> Any:
        if name not in self.names:
            raise AttributeError(name)
        return self.items[self.names.index(name)]

    def replaced(self, **changed: Any) -> Any:
        made = list(self.items)
        for name, value in changed.items():
            made[self.names.index(name)] = as_kind(value, self.kind)
        return type(self)(self.kind, self.shape, made)


def _install() -> None:
    def method(rule: Callable[[Any, Any], Any], swapped: bool) -> Callable[[Parts, Any], Any]:
        def apply(self: Parts, other: Any) -> Any:
            return self.each((lambda a, c: rule(c, a)) if swapped else rule, other)

        return apply

    for name in "add sub mul truediv floordiv mod".split():
        rule: Any = getattr(operator, name)
        setattr(Parts, f"__{name}__", method(rule, False))
        setattr(Parts, f"__r{name}__", method(rule, True))


_install()


class Point(Parts):
    """``Vector[T, n]``."""

    def __getattr__(self, name: str) -> Any:
        if not name or not set(name) <= set(self.names):
            raise AttributeError(name)
        found = [self.items["xyzw".index(part)] for part in name]
        return found[0] if len(found) == 1 else Point(self.kind, (len(found),), found)

    def __getitem__(self, n: Any) -> Number:
        return self.items[int(n)]

    def insert(self, n: int, value: Any) -> Any:
        return self.replaced(**{"xyzw"[n]: value})

    def __matmul__(self, other: Point) -> Any:
        return dot(self, other)


def dot(a: Any, c: Any) -> Any:
    return _total([x * y for x, y in zip(a.items, c.items, strict=True)])


def cross(a: Any, c: Any) -> Any:
    if len(a.items) == 2:
        return a.x * c.y - a.y * c.x
    return a.of([a.y * c.z - a.z * c.y, a.z * c.x - a.x * c.z, a.x * c.y - a.y * c.x])


class Grid(Parts):
    """``Matrix[T, rows, columns]``."""

    def row(self, n: Any) -> Point:
        width = self.shape[1]
        return Point(self.kind, (width,), self.items[int(n) * width : (int(n) + 1) * width])

    def column(self, n: Any) -> Point:
        return Point(self.kind, self.shape[:1], self.items[int(n) :: self.shape[1]])

    def __getitem__(self, n: Any) -> Any:
        return self.row(n[0])[n[1]] if isinstance(n, tuple) else self.row(n)

    def insert(self, n: tuple[int, int], value: Any) -> Any:
        return self.replaced(**{f"m{n[0]}{n[1]}": value})

    def __matmul__(self, other: Any) -> Any:
        rows = [self.row(n) for n in range(self.shape[0])]
        if isinstance(other, Point):
            return Point(self.kind, self.shape[:1], [dot(row, other) for row in rows])
        columns = [other.column(n) for n in range(other.shape[1])]
        return Grid(self.kind, (len(rows), len(columns)), [dot(r, c) for r in rows for c in columns])


def transpose(m: Grid) -> Grid:
    rows, columns = m.shape
    return Grid(m.kind, (columns, rows), [m[i, j] for j in range(columns) for i in range(rows)])


def trace(m: Grid) -> Any:
    return _total([m[n, n] for n in range(m.shape[0])])


def _minor(m: Grid, rows: Sequence[int], columns: Sequence[int]) -> Any:
    """The determinant of some rows and columns, along the first of the rows."""
    if not rows:
        return 1
    terms: list[Any] = []
    for n, j in enumerate(columns):
        rest = _minor(m, rows[1:], [k for k in columns if k != j])
        term = m[rows[0], j] * rest if rows[1:] else m[rows[0], j]
        terms.append((n % 2, term))
    return functools.reduce(lambda a, c: a - c[1] if c[0] else a + c[1], terms[1:], terms[0][1])


def _widened(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Of 16-bit floats it is computed in Float32 and rounded once."""

    def computed(x: Parts) -> Any:
        if not x.kind.is_float or x.kind.bits >= 32:
            return function(x)
        wide = function(type(x)(KINDS["Float32"], x.shape, x.items))
        return type(wide)(x.kind, x.shape, wide.items) if isinstance(wide, Parts) else as_kind(wide, x.kind)

    return computed


@_widened
def determinant(m: Grid) -> Any:
    each = range(m.shape[0])
    return _minor(m, each, each)


@_widened
def inverse(m: Grid) -> Grid:
    each, whole, parts = range(m.shape[0]), determinant(m), list[Any]()
    for i in each:
        for j in each:
            part = _minor(m, [k for k in each if k != j], [k for k in each if k != i])
            parts.append((-part if (i + j) % 2 else part) / whole)
    return m.of(parts)


@_widened
def norm(x: Parts) -> Any:
    return MATH.sqrt(_total([item * item for item in x.items]))


class Turn(Parts):
    """``Quaternion[T]``."""

    @property
    def vector(self) -> Point:
        return Point(self.kind, (3,), self.items[:3])

    def conjugate(self) -> Any:
        return self.of([-item for item in self.items[:3]] + self.items[3:])

    def inverse(self) -> Any:
        return self.conjugate() / dot(self, self)

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Turn):
            return self.each(operator.mul, other)
        u, v = self.vector, other.vector
        turned = (self.w * v + other.w * u) + cross(u, v)
        return self.of([*turned.items, self.w * other.w - dot(u, v)])

    def rotate(self, v: Point) -> Any:
        u = self.vector
        t = 2 * cross(u, v)
        return (v + self.w * t) + cross(u, t)

    def to_matrix(self) -> Grid:
        x, y, z, w = self.items
        rows = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
        return Grid(self.kind, (3, 3), [item for row in rows for item in row])


class Complex:
    """``ComplexFloat32`` and its kin."""

    def __init__(self, re: Number, im: Number) -> None:
        self.kind, self.re, self.im = re.kind, re, im

    def _other(self, x: Any) -> tuple[Any, Any]:
        return (x.re, x.im) if isinstance(x, Complex) else (as_kind(x, self.kind), as_kind(0, self.kind))

    def __add__(self, x: Any) -> Complex:
        c, d = self._other(x)
        return Complex(self.re + c, self.im + d)

    def __sub__(self, x: Any) -> Complex:
        c, d = self._other(x)
        return Complex(self.re - c, self.im - d)

    def __mul__(self, x: Any) -> Complex:
        (a, b), (c, d) = (self.re, self.im), self._other(x)
        return Complex(a * c - b * d, a * d + b * c)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, x: Any) -> Complex:
        c, d = self._other(x)
        return Complex(c - self.re, d - self.im)

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def conj(self) -> Complex:
        return Complex(self.re, -self.im)

    def squared_norm(self) -> Any:
        return self.re * self.re + self.im * self.im

    def __eq__(self, x: Any) -> Any:
        return Number(BOOL, bool(self.re == x.re) and bool(self.im == x.im))

    def __ne__(self, x: Any) -> Any:
        return ~(self == x)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def replaced(self, re: Any = None, im: Any = None) -> Complex:
        parts = (self.re if re is None else re, self.im if im is None else im)
        return Complex(*(as_kind(part, self.kind) for part in parts))


class _Type:
    """What brackets give: makes values of the numbers that it is called with, or of one for all."""

    def __init__(self, made: Any, kind: Kind, shape: tuple[int, ...]) -> None:
        self.made, self.kind, self.shape = made, kind, shape

    def __call__(self, *given: Any) -> Any:
        size = functools.reduce(operator.mul, self.shape)
        if len(given) == 1 and isinstance(given[0], Parts) and given[0].shape == self.shape:
            return given[0]
        items: list[Any] = []
        for one in given:
            items += one.items if isinstance(one, Parts) else one.lanes if isinstance(one, Lanes) else [one]
        return self.made(self.kind, self.shape, items * size if len(items) == 1 else items)

    def from_rows(self, *rows: Any) -> Any:
        return self(*rows)

    def from_columns(self, *columns: Any) -> Any:
        return self(*(item for row in zip(*(c.items for c in columns), strict=True) for item in row))

    def identity(self) -> Any:
        if len(self.shape) == 1:
            return self(0, 0, 0, 1)
        return self(*(int(i == j) for i in range(self.shape[0]) for j in range(self.shape[1])))


class _Family:
    def __init__(self, made: Any) -> None:
        self.made = made

    def __getitem__(self, item: Any) -> _Type:
        kind, *shape = cast("Any", item) if isinstance(item, tuple) else (item, 4)
        return _Type(self.made, kind.kind, tuple(shape))


def _complex(kind: Kind) -> Callable[..., Complex]:
    def made(re: Any = 0, im: Any = 0) -> Complex:
        return re if isinstance(re, Complex) else Complex(as_kind(re, kind), as_kind(im, kind))

    return made


ALGEBRA: dict[str, Any] = {
    "Vector": _Family(Point),
    "Matrix": _Family(Grid),
    "Quaternion": _Family(Turn),
    "inverse": inverse,
    "norm": norm,
    "dot": dot,
    "cross": cross,
    "transpose": transpose,
    "trace": trace,
    "determinant": determinant,
    **{f"Complex{name}": _complex(KINDS[name]) for name in ("Float16", "Float32", "Float64")},
}
"""What ``weft.linalg`` and ``weft.complex`` are to the model."""
