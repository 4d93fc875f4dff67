"""What type checkers read of ``Pointer`` and ``LayoutTensor`` in annotations: what else is taken there.

A launch and a call of a function take buffers and arrays for them. As with numbers (``scalars.pyi``), what
is taken is told by a protocol, of the method that arrays of all libraries have, and buffers of weft's as
far as checkers know, whose result names their elements. Names of generic classes come from a generic class.
"""

# pyright: reportGeneralTypeIssues=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar, overload, runtime_checkable

from weft.lang import pointer
from weft.layout.algebra.layout import Layout
from weft.layout.algebra.swizzle import ComposedLayout
from weft.layout.tensor import tensor
from weft.runtime.buffers import Buffer

T = TypeVar("T")
N = TypeVar("N")

class OfBuffer(Generic[T]):
    """Elements of a buffer, which any of them takes."""

    element: T

class OfPointer(Generic[T]):
    """Elements of a pointer."""

    element: T

class OfTensor(Generic[T]):
    """Elements of a tensor."""

    element: T

class _Pointer(pointer.Pointer[T]):
    def __new__(cls, *, to: N) -> _Protocols.Pointer[N]: ...

class _LayoutTensor(tensor.LayoutTensor[T]):
    @overload
    def __new__(
        cls, storage: pointer.Pointer[N] | Buffer[N], layout: Layout | ComposedLayout, *, alignment: int = 0
    ) -> _Protocols.LayoutTensor[N]: ...
    @overload
    def __new__(
        cls, storage: Any, layout: Layout | ComposedLayout, *, alignment: int = 0
    ) -> _Protocols.LayoutTensor[Any]: ...

class _Protocols:
    @runtime_checkable
    class Pointer(_Pointer[T], Protocol[T]):
        def __dlpack_device__(self) -> tuple[Any, Any] | OfBuffer[T] | OfPointer[T]: ...

    @runtime_checkable
    class LayoutTensor(_LayoutTensor[T], Protocol[T]):
        def __dlpack_device__(self) -> tuple[Any, Any] | OfBuffer[T] | OfTensor[T]: ...

class _Classes(Generic[T]):
    Pointer: type[_Protocols.Pointer[T]]
    LayoutTensor: type[_Protocols.LayoutTensor[T]]

Pointer = _Classes[T].Pointer
LayoutTensor = _Classes[T].LayoutTensor
