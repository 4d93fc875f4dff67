"""Matrices of a few numbers: ``Matrix[Float32, 3, 3]``, which is ``mat33``."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Self, TypeVar, cast

from weft.diagnostics import INDEX, LEFT, OBJECT, RIGHT, STORED, a_, refuse
from weft.diagnostics.unfit import tell_of_methods
from weft.dtype import as_dtype
from weft.lang.number import Number, NumberLike, number_class
from weft.lang.operators import part_by_part
from weft.linalg.parts import (
    Parts,
    Unsaid,
    arguments,
    counted,
    made,
    numbers,
    of_floats,
    picked,
    replaced,
    summed,
    widened,
)
from weft.linalg.vectors import SUFFIXES, Vector

T = TypeVar("T", bound=Number)
R = TypeVar("R", bound=int)
C = TypeVar("C", bound=int)
_MOST = 9
_INVERTED = 4


@part_by_part
class Matrix(Parts, Generic[T, R, C]):
    """Numbers of type ``T`` in rows and columns, a value: ``mat33`` is ``Matrix[Float32, 3, 3]``.

    ``a @ b`` is the product, of two matrices or of a matrix and a vector. ``+``, ``-`` and a number times or
    divided into a matrix work number by number; ``*`` of two is refused: systems disagree.
    ``m[i, j]`` is a number, ``m[i]`` a row. In memory the rows lie one after the other, as NumPy's.

    Args:
        parts: the numbers, row by row, also in sequences and arrays of NumPy; or none, for zeros. Of vectors
            make one by ``from_rows`` or ``from_columns``.

    Raises:
        CompileError: they are not as many, or of a type that does not become ``T`` by itself.

    Example:
        >>> from weft.linalg import inverse, mat22, vec2
        >>> m = mat22(1, 2, 3, 4)
        >>> m @ vec2(1, 1), m @ m, m[0, 1], m[1]
        (vec2(3.0, 7.0), mat22(7.0, 10.0, 15.0, 22.0), Float32(2.0), vec2(3.0, 4.0))
        >>> inverse(m)
        mat22(-2.0, 1.0, 1.5, -0.5)
    """

    usual = "mat33, or Matrix[Float32, 3, 3]"
    shape: ClassVar[tuple[int, int]] = cast("Any", Unsaid())
    if not TYPE_CHECKING:

        def __class_getitem__(cls, item: Any) -> Any:
            """The class for a type, a number of rows and one of columns."""
            found = arguments(cls, item)
            if not isinstance(found, tuple):
                return found
            element, *shape = found
            if len(shape) != 2 or not all(type(n) is int and 1 <= n <= _MOST for n in shape):
                refuse(
                    "simd",
                    f"a Matrix has a type, rows and columns, from 1 to {_MOST}, not {tuple(shape)}",
                    hint="write Matrix[Float32, 3, 3], say",
                )
            element, (rows, columns) = number_class(as_dtype(element)), shape
            names = tuple(f"m{i}{j}" for i in range(rows) for j in range(columns))
            found = made(Matrix, _short(element, rows, columns), element, names, (rows, columns))
            found.shape = rows, columns
            return found

    def __init__(self, *parts: Any) -> None:
        cls = type(self)
        if any(isinstance(part, Parts) for part in parts):
            refuse(
                "conversion",
                "a matrix of vectors has them as rows or as columns, and this does not say which",
                hint=f"write {cls.__name__}.from_rows(...) or {cls.__name__}.from_columns(...)",
            )
        hint = f"give them row by row, or write {cls.__name__}() for zeros, {cls.__name__}.identity()"
        parts = parts or (0,) * len(cls.names)
        for name, part in zip(cls.names, numbers(cls, parts, hint), strict=True):
            setattr(self, name, part)

    @classmethod
    def again(cls, element: Any) -> Any:
        """The class of as many numbers of another type."""
        return cls if element is cls.element else cast("Any", Matrix)[element, *cls.shape]

    @classmethod
    def identity(cls) -> Self:
        """Ones from corner to corner, and zeros."""
        return cls(*[int(i == j) for i in range(cls.shape[0]) for j in range(cls.shape[1])])

    @classmethod
    def from_rows(cls, *rows: Vector[T, Any]) -> Self:
        """The matrix with these vectors as its rows."""
        return cls(*[part for row in rows for part in row])

    @classmethod
    def from_columns(cls, *columns: Vector[T, Any]) -> Self:
        """The matrix with these vectors as its columns."""
        if len(lengths := {len(column) for column in columns}) > 1:
            message = (
                f"columns of a matrix are of one length, not of {' and '.join(map(str, sorted(lengths)))}"
            )
            refuse("argument-type", message, hint="give vectors of one type, as vec3")
        return cls(*[part for row in zip(*columns, strict=True) for part in row])

    def __weft_rows__(self) -> list[Any]:
        """Its rows, as what is written to a tensor."""
        return [self[i] for i in range(self.shape[0])]

    def __getitem__(self, index: Any) -> Any:
        columns = self.shape[1]
        parts = self.parts()
        given: tuple[Any, ...] = cast("Any", index) if isinstance(index, tuple) else (index,)
        if any(isinstance(each, slice) for each in given):
            message = f"{a_(type(self).__name__)} gives a number, a row or a column, and no other part"
            refuse("index", message, hint="write m.row(i) or m.column(j)", part=INDEX)
        if isinstance(index, tuple):
            self._flat(index)  # which refuses what is no place
            row = [picked(parts[j::columns], index[0]) for j in range(columns)]
            return picked(row, index[1])
        return self._vector([picked(parts[j::columns], index) for j in range(columns)])

    def _vector(self, parts: Sequence[Any]) -> Any:
        return cast("Any", Vector)[type(self).element, len(parts)].of(parts)

    def row(self, i: NumberLike) -> Any:
        """A row as a vector, as ``m[i]``."""
        return self[i]

    def column(self, j: NumberLike) -> Any:
        """A column as a vector."""
        return transpose(self)[j]

    def insert(self, index: Any, value: Any) -> Self:
        """The matrix with one number replaced, ``m.insert((i, j), x)``, or a row, ``m.insert(i, row)``."""
        parts, given = self.parts(), [(index, value)]
        if not isinstance(index, tuple):
            given = [((index, j), part) for j, part in enumerate(value if hasattr(value, "__iter__") else ())]
            if len(given) != self.shape[1]:
                row = cast("Any", Vector)[type(self).element, self.shape[1]].__name__
                hint = f"write {OBJECT}[{INDEX}] = {row}({STORED}), or one number by {OBJECT}[i, j]"
                refuse("rank", f"a row of a {type(self).__name__} is a {row}", hint=hint, part=INDEX)
        for at, part in given:
            parts = replaced(parts, self._flat(at), part)
        return type(self)(*parts)

    @classmethod
    def _flat(cls, index: Any) -> Any:
        """The place among all numbers of a row and a column."""
        if len(index) != 2:
            message = f"a matrix has two indices, not {len(index)}"
            refuse("rank", message, hint="write m[i, j], or m[i] for a row", part=INDEX)
        (i, j), (rows, columns) = index, cls.shape
        return counted(i, rows) * columns + counted(j, columns)

    @classmethod
    def __weft_even__(cls, index: Any) -> tuple[Any, int, Any] | None:
        return (cls.element, len(cls.names), cls._flat(index)) if isinstance(index, tuple) else None

    def __mul__(self, other: NumberLike) -> Self:
        if isinstance(other, Parts):
            _no_product()
        return self._each(other, "mul")

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Matrix):
            right = cast("Matrix[Any, Any, Any]", other)
            self._meets(right.shape[0], right)
            columns = [right.parts()[j :: right.shape[1]] for j in range(right.shape[1])]
            parts = [_dot(row, column) for row in self._rows() for column in columns]
            return cast("Any", Matrix)[type(self).element, self.shape[0], right.shape[1]].of(parts)
        if isinstance(other, Vector):
            vector = cast("Vector[Any, Any]", other)
            self._meets(len(vector), vector)
            return self._vector([_dot(row, vector.parts()) for row in self._rows()])
        return NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        return transpose(self) @ other if isinstance(other, Vector) else NotImplemented

    def _rows(self) -> list[Any]:
        parts, columns = self.parts(), self.shape[1]
        return [parts[i * columns : (i + 1) * columns] for i in range(self.shape[0])]

    def _meets(self, size: int, other: object) -> None:
        if size != self.shape[1]:
            message = f"`@` meets {type(self).__name__} and {type(other).__name__}"
            hint = f"what stands right of it has to have {self.shape[1]} rows"
            refuse("operand", message, hint=hint)


tell_of_methods(Matrix)


def _no_product() -> NoReturn:
    refuse(
        "operator",
        "`*` of matrices is the product in some systems and number by number in others",
        hint=f"write {LEFT} @ {RIGHT} for the product, or a.map(lambda p, q: p * q, b)",
    )


def _dot(row: Sequence[Any], column: Sequence[Any]) -> Any:
    return summed([p * q for p, q in zip(row, column, strict=True)])


def _short(element: type[Number], rows: int, columns: int) -> str:
    suffix = SUFFIXES.get(element.dtype.name)
    if suffix is None or rows != columns or not 2 <= rows <= 4:
        return f"Matrix[{element.__name__}, {rows}, {columns}]"
    return f"mat{rows}{columns}{suffix}"


def _square(what: str, m: Matrix[Any, Any, Any], most: int = _INVERTED) -> int:
    rows, columns = m.shape
    if rows != columns:
        message = f"{what} is of square matrices, not of {type(m).__name__}"
        refuse("operand", message, hint="give a matrix of as many rows as columns, as m @ transpose(m)")
    if rows > most:
        refuse(
            "operand",
            f"{what} is of square matrices of up to {_INVERTED} rows, not of {type(m).__name__}",
            hint="larger systems are work for a library of linear algebra",
        )
    return rows


def transpose(m: Matrix[T, R, C]) -> Matrix[T, C, R]:
    """Rows as columns.

    >>> from weft.linalg import mat22
    >>> transpose(mat22(1, 2, 3, 4))
    mat22(1.0, 3.0, 2.0, 4.0)
    """
    rows, columns = m.shape
    parts = m.parts()
    return cast("Any", Matrix)[type(m).element, columns, rows].of(
        [p for j in range(columns) for p in parts[j::columns]]
    )


def trace(m: Matrix[T, R, R]) -> T:
    """The sum from corner to corner."""
    return summed([m[n, n] for n in range(_square("trace", m, _MOST))])


def diag(v: Vector[T, Any]) -> Any:
    """The square matrix with a vector's numbers from corner to corner."""
    size, zero = len(v), type(v).element(0)  # which an infinity's product with 0 is not
    parts = [v[i] if i == j else zero for i in range(size) for j in range(size)]
    return cast("Any", Matrix)[type(v).element, size, size].of(parts)


def _minors(m: Matrix[Any, Any, Any]) -> Any:
    """The determinant of the numbers in some rows and columns, each computed once."""

    @functools.cache
    def minor(rows: tuple[int, ...], columns: tuple[int, ...]) -> Any:
        if not rows:
            return 1
        first, *rest = rows
        found: Any = None
        for n, j in enumerate(columns):
            others = columns[:n] + columns[n + 1 :]
            term = m[first, j] * minor(tuple(rest), others) if rest else m[first, j]
            found = term if found is None else found - term if n % 2 else found + term
        return found

    return minor


def determinant(m: Matrix[T, R, R]) -> T:
    """The determinant, of up to 4 rows; of 16-bit floats computed in Float32.

    >>> from weft.linalg import mat22
    >>> determinant(mat22(1, 2, 3, 4))
    Float32(-2.0)
    """
    each = tuple(range(_square("determinant", m)))
    return widened(lambda wide: _minors(wide)(each, each), m)


def inverse(m: Matrix[T, R, R]) -> Matrix[T, R, R]:
    """The inverse, of up to 4 rows, by its cofactors; of a singular matrix, infinities and nan.

    So it is where the determinant leaves the type's range: scale matrices of very large or small numbers.
    Those of 16-bit floats are computed in Float32.

    >>> from weft.linalg import mat22
    >>> inverse(mat22(4, 2, 2, 2))
    mat22(0.5, -0.5, -0.5, 1.0)
    """
    each = tuple(range(_square("inverse", m)))
    of_floats("inverse", m)
    return widened(lambda wide: _inverse(wide, each), m)


def _inverse(m: Matrix[Any, Any, Any], each: tuple[int, ...]) -> Any:
    minor = _minors(m)
    whole = minor(each, each)
    parts: list[Any] = []
    for i in each:
        for j in each:
            part = minor(each[:j] + each[j + 1 :], each[:i] + each[i + 1 :])
            parts.append((-part if (i + j) % 2 else part) / whole)
    return m.of(parts)
