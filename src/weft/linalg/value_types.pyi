"""What type checkers read of ``Vector``, ``Matrix``, ``Quaternion`` in annotations: sequences are taken too.

As with pointers (``lang/memory_types.pyi``), what else is taken is told by a protocol, of the attribute that
all objects have, each with its own type.
"""

# pyright: reportGeneralTypeIssues=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from weft.lang.memory_types import HasDLPack
from weft.lang.number import Number
from weft.linalg import matrices, quaternions, vectors

T = TypeVar("T", bound=Number)
N = TypeVar("N", bound=int)
R = TypeVar("R", bound=int)
C = TypeVar("C", bound=int)

_Numbers = list[Any] | tuple[Any, ...] | HasDLPack

class _Protocols:
    @runtime_checkable
    class Vector(vectors.Vector[T, N], Protocol[T, N]):
        @property
        def __class__(self) -> type[vectors.Vector[T, N] | _Numbers]: ...

    @runtime_checkable
    class Matrix(matrices.Matrix[T, R, C], Protocol[T, R, C]):
        @property
        def __class__(self) -> type[matrices.Matrix[T, R, C] | _Numbers]: ...

    @runtime_checkable
    class Quaternion(quaternions.Quaternion[T], Protocol[T]):
        @property
        def __class__(self) -> type[quaternions.Quaternion[T] | _Numbers]: ...

class _Vectors(Generic[T, N]):
    Vector: type[_Protocols.Vector[T, N]]

class _Matrices(Generic[T, R, C]):
    Matrix: type[_Protocols.Matrix[T, R, C]]

class _Quaternions(Generic[T]):
    Quaternion: type[_Protocols.Quaternion[T]]

Vector = _Vectors[T, N].Vector
Matrix = _Matrices[T, R, C].Matrix
Quaternion = _Quaternions[T].Quaternion
