"""Memory that kernels bring along: of one thread, and shared by the threads of a block.

>>> from weft import Float32, kernel
>>> from weft.gpu import barrier, thread_idx
>>> from weft.gpu.host import DeviceContext
>>> from weft.layout import Layout, LayoutTensor
>>> from weft.memory import AddressSpace, stack_allocation
>>> @kernel
... def reverse(x: LayoutTensor[Float32]):
...     tile = stack_allocation(Float32, Layout.row_major(4), address_space=AddressSpace.SHARED)
...     tile[thread_idx.x] = x[thread_idx.x]
...     barrier()
...     x[thread_idx.x] = tile[3 - thread_idx.x]
>>> ctx = DeviceContext(api="cpu")
>>> buffer = ctx.enqueue_create_buffer(Float32, 4)
>>> with buffer.map_to_host() as host:
...     host[:] = range(4)
>>> ctx.enqueue_function(reverse, buffer.tensor(Layout.row_major(4)), grid_dim=1, block_dim=4)
>>> with buffer.map_to_host() as host:
...     print(host)
HostBuffer([3.0, 2.0, 1.0, 0.0])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from weft.diagnostics import RIGHT, refuse
from weft.diagnostics.modules import present
from weft.dtype import DType, as_dtype
from weft.lang.allocate import dynamic_shared_memory as _dynamic
from weft.lang.allocate import local_memory, shared_memory
from weft.lang.intrinsics import current_target
from weft.lang.machine import note_dynamic_shared
from weft.lang.number import Number
from weft.lang.pointer import AddressSpace
from weft.lang.python_number import python_number
from weft.layout import ComposedLayout, Layout, LayoutTensor

if TYPE_CHECKING:
    from weft.lang.memory_types import Pointer, SoA
else:
    from weft.lang.pointer import Pointer
    from weft.lang.soa import SoA

__all__ = ["AddressSpace", "Pointer", "SoA", "dynamic_shared_memory", "stack_allocation"]

T = TypeVar("T")
AnyLayout = Layout | ComposedLayout
_WIDEST = 16
"""Bytes of the widest access, to which memory is aligned unless said otherwise."""


@overload
def stack_allocation(
    dtype: type[T], shape: AnyLayout, *, address_space: AddressSpace = ..., alignment: int = 0
) -> LayoutTensor[T]: ...
@overload
def stack_allocation(
    dtype: type[T], shape: int, *, address_space: AddressSpace = ..., alignment: int = 0
) -> Pointer[T]: ...
def stack_allocation(
    dtype: type[T],
    shape: AnyLayout | int,
    *,
    address_space: AddressSpace = AddressSpace.LOCAL,
    alignment: int = 0,
) -> LayoutTensor[T] | Pointer[T]:
    """Memory of a size known at compile time, for as long as the kernel runs; its elements are undefined.

    ``AddressSpace.LOCAL`` is each thread's own, in registers where every index is known at compile
    time. ``AddressSpace.SHARED`` is one for all threads of a block. A line that runs several times, in
    a loop or a @func, gives the same memory each time.

    Args:
        dtype: the element type: a number, a struct, ``Pointer[...]``.
        shape: a static layout, for a tensor, which ``ComposedLayout(layout, swizzle)`` swizzles; or a number
            of elements, for a pointer to the first.
        address_space: LOCAL or SHARED.
        alignment: in bytes; by default 16, so that vectors are.

    Raises:
        CompileError: the layout is not static, or the block would take more than the target has; the
            message names both sizes.
    """
    kind = as_dtype(cast(Any, dtype))
    shared = address_space == AddressSpace.SHARED
    layout = shape if isinstance(shape, (Layout, ComposedLayout)) else Layout.row_major(_count(shape, shared))
    size = _static_size(layout, shared)
    aligned = _alignment(alignment, kind)
    if shared:
        memory = shared_memory(kind, size, aligned)
    elif address_space == AddressSpace.LOCAL:
        memory = local_memory(kind, size, aligned)
    else:
        refuse(
            "address-space",
            f"memory is allocated in AddressSpace.SHARED or LOCAL, not in {address_space!r}",
            hint="write address_space=AddressSpace.SHARED"
            if isinstance(address_space, str)
            else "memory of the device is a buffer: ctx.enqueue_create_buffer(...)",
        )
    return _view(memory, shape, aligned)


@overload
def dynamic_shared_memory(dtype: type[T], shape: AnyLayout, *, alignment: int = 0) -> LayoutTensor[T]: ...
@overload
def dynamic_shared_memory(dtype: type[T], shape: int | None = None, *, alignment: int = 0) -> Pointer[T]: ...
def dynamic_shared_memory(
    dtype: type[T], shape: AnyLayout | int | None = None, *, alignment: int = 0
) -> LayoutTensor[T] | Pointer[T]:
    """The block's shared memory whose size the launch gives: ``enqueue_function(..., shared_mem_bytes=n)``.

    It may be larger than what ``stack_allocation`` gives. Every call names the same memory from its
    start; several arrays are parts of it: ``memory + n``, ``.bitcast(Int32)``. A launch that gives less than
    the shapes say is refused; what a kernel takes behind them is not known to weft.

    Args:
        dtype: the element type.
        shape: a static layout, for a tensor; or a number of elements, for a pointer to the first. Without
            it the launch alone says how many there are.
        alignment: in bytes, of the start; by default 16.

    Raises:
        CompileError: the elements take more than a block can have on the target.

    Example:
        >>> import numpy as np
        >>> from weft import Float32, Pointer, kernel
        >>> from weft.gpu import barrier, block_dim, thread_idx
        >>> from weft.gpu.host import DeviceContext
        >>> @kernel
        ... def reverse(x: Pointer[Float32]):
        ...     tile = dynamic_shared_memory(Float32)
        ...     tile[thread_idx.x] = x[thread_idx.x]
        ...     barrier()
        ...     x[thread_idx.x] = tile[block_dim.x - 1 - thread_idx.x]
        >>> ctx, x = DeviceContext(api="cpu"), np.arange(4, dtype=np.float32)
        >>> ctx.enqueue_function(reverse, x, grid_dim=1, block_dim=4, shared_mem_bytes=4 * 4)
        >>> ctx.synchronize()
        >>> x
        array([3., 2., 1., 0.], dtype=float32)
    """
    kind = as_dtype(cast(Any, dtype))
    if shape is None:
        shape = 1
    elif shape == 0:
        hint = "leave the number out; shared_mem_bytes= at the launch says how many there are"
        refuse("allocation-size", "this dynamic shared memory has no elements", hint=hint)
    layout = Layout.row_major(_count(shape)) if not isinstance(shape, (Layout, ComposedLayout)) else shape
    size, target = _static_size(layout) * kind.itemsize, current_target()
    note_dynamic_shared(size)
    if size > target.shared_limit:
        refuse(
            "shared-memory",
            f"{layout} of {kind} takes {size} bytes of shared memory; "
            f"{target.name} allows {target.shared_limit} bytes per block",
            hint="use a smaller tile",
        )
    aligned = _alignment(alignment, kind)
    return _view(_dynamic(kind, aligned), shape, aligned)


def _view(memory: Pointer[Any], shape: AnyLayout | int, alignment: int) -> Any:
    if not isinstance(shape, (Layout, ComposedLayout)):
        return memory
    return LayoutTensor[Any](memory, shape, alignment=alignment)


_AT_RUN_TIME = (
    "take what the launch gives: dynamic_shared_memory(...), and shared_mem_bytes= at the launch",
    "or make the number a Comptime parameter",
)
_AT_COMPILE_TIME = ("make the number a Comptime parameter, or allocate the most that is needed",)


def _count(shape: object, shared: bool = True) -> int:
    if isinstance(shape, Number) and not isinstance(shape.value, int):
        hint = _AT_RUN_TIME if shared else _AT_COMPILE_TIME
        message = "memory is allocated at compile time, and this number of elements exists only at run time"
        refuse("allocation-size", message, hint=hint, part=RIGHT)
    value = int(shape) if isinstance(shape, Number) else python_number(shape)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        refuse(
            "allocation-size",
            f"memory has a number of elements or a Layout, not {shape!r}",
            hint=f"write {_layout_for(shape)}",
        )
    return value


def _layout_for(shape: object) -> str:
    if isinstance(shape, (tuple, list)):
        return f"Layout.row_major({', '.join(map(str, cast('tuple[object, ...]', shape)))})"
    return "e.g. Layout.row_major(16, 16)"


def _static_size(layout: AnyLayout, shared: bool = True) -> int:
    whole, layout = layout, layout.layout if isinstance(layout, ComposedLayout) else layout
    if not layout.is_static or layout.runtime_shape or layout.runtime_stride:
        refuse(
            "allocation-size",
            f"the layout {layout} has run-time extents, but memory is allocated at compile time",
            hint=_AT_RUN_TIME if shared else _AT_COMPILE_TIME,
        )
    size: int = whole.cosize()
    if size < 1:
        refuse("allocation-size", f"the layout {layout} has no elements")
    return size


def _alignment(alignment: int, dtype: DType) -> int:
    if alignment == 0:
        return max(_WIDEST, dtype.alignment)
    if alignment < dtype.alignment or alignment & (alignment - 1):
        refuse(
            "alignment",
            f"{alignment} bytes are no alignment of {dtype}",
            hint=f"write a power of two of at least {dtype.alignment}",
        )
    return alignment


present(globals())
