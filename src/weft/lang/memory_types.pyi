"""What type checkers read of ``Pointer`` and its kin in annotations: what else is taken there.

A launch and a call of a function take buffers and arrays for them. As with numbers (``scalars.pyi``), what
is taken is told by a protocol, of the attribute that all objects have, each with its own type, and
``__class_getitem__`` tells tensors from what is none. Names of generic classes come from a generic class.
"""

# pyright: reportGeneralTypeIssues=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

import ctypes
from _ctypes import CFuncPtr
from array import array
from collections.abc import Mapping
from mmap import mmap
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload, runtime_checkable

from weft.lang import external, pointer, soa
from weft.layout.algebra.layout import Layout
from weft.layout.algebra.swizzle import ComposedLayout
from weft.layout.tensor import tensor
from weft.runtime.buffers import Buffer
from weft.runtime.context import BaseContext

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
N = TypeVar("N")

class HasDLPack(Protocol):
    """An array of NumPy, PyTorch, CuPy, JAX."""

    def __dlpack_device__(self) -> tuple[Any, Any]: ...

class HasNumpy(Protocol):
    """A column of pandas, Polars or Arrow."""

    def __array__(self) -> Any: ...
    def to_numpy(self) -> Any: ...

class HasCudaInterface(Protocol):
    """An array of a GPU, such as Numba's."""

    @property
    def __cuda_array_interface__(self) -> Any: ...

Python = bytes | bytearray | memoryview[Any] | mmap | array[Any] | ctypes.Array[Any] | ctypes.Structure
"""Memory of Python's own; what else has the buffer protocol may be a number of NumPy's."""
Arrays = HasDLPack | HasNumpy | HasCudaInterface | Python
"""Memory of others, of whose elements nothing is told."""

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

class _SoA(soa.SoA[T]):
    def __new__(cls, context: BaseContext, dtype: type[N], size: int) -> _Protocols.SoA[N]: ...

class _Protocols:
    @runtime_checkable
    class Pointer(_Pointer[T], Protocol[T]):
        @property
        def __class__(self) -> type[Buffer[T] | pointer.Pointer[T] | Arrays]: ...
        def __class_getitem__(cls, item: Any) -> Any: ...

    @runtime_checkable
    class LayoutTensor(_LayoutTensor[T], Protocol[T]):
        @property
        def __class__(self) -> type[Buffer[T] | tensor.LayoutTensor[T] | Arrays]: ...
        def __class_getitem__(cls, item: Any) -> Any: ...

    @runtime_checkable
    class SoA(_SoA[T], Protocol[T]):
        @property
        def __class__(self) -> type[soa.SoA[T] | Mapping[str, Buffer[Any] | Arrays]]: ...

    @runtime_checkable
    class FunctionPointer(external.FunctionPointer[P, R], Protocol[P, R]):
        @property
        def __class__(self) -> type[external.FunctionPointer[P, R] | CFuncPtr]: ...

class _Functions(Generic[P, R]):
    FunctionPointer: type[_Protocols.FunctionPointer[P, R]]

class _Classes(Generic[T]):
    Pointer: type[_Protocols.Pointer[T]]
    LayoutTensor: type[_Protocols.LayoutTensor[T]]
    SoA: type[_Protocols.SoA[T]]

Pointer = _Classes[T].Pointer
LayoutTensor = _Classes[T].LayoutTensor
SoA = _Classes[T].SoA
FunctionPointer = _Functions[P, R].FunctionPointer
