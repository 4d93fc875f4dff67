"""Tensors on the host: elements of a host buffer, as NumPy sees them, and as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from weft.diagnostics import VALUE, a_, refuse
from weft.layout.algebra.divisions import coalesce
from weft.layout.algebra.int_tuple import flatten, is_tuple
from weft.layout.algebra.layout import Layout
from weft.layout.algebra.swizzle import ComposedLayout
from weft.layout.algebra.values import is_static
from weft.layout.tensor.access import Element

if TYPE_CHECKING:
    import numpy.typing as npt


def check_storage(storage: Any, layout: Layout, whole: Layout | ComposedLayout) -> None:
    """Refuse a layout that reaches outside of its buffer, with the swizzle of the ``whole``.

    Raises:
        CompileError: it does.
    """
    if not hasattr(storage, "address") or not hasattr(storage, "dtype"):
        refuse(
            "tensor-storage",
            f"a LayoutTensor views a buffer, not {a_(type(storage).__name__)}",
            f"write as_tensor({VALUE}), from weft.interop"
            if hasattr(storage, "__array_interface__") or hasattr(storage, "__dlpack__")
            else "create one with ctx.enqueue_create_buffer(...) or ctx.enqueue_create_host_buffer(...)",
        )
    if any(is_static(step) and step < 0 for step in flatten(layout.stride)):
        refuse("tensor-size", f"{layout} has a stride below 0 and reaches before the buffer")
    needed, given = whole.cosize(), len(storage)
    if needed > given:
        refuse(
            "tensor-size",
            f"the layout {whole} spans {needed} elements, but the {type(storage).__name__} has {given}",
            f"create the buffer with {needed} elements, or use a smaller layout",
        )


def host_memory(storage: Any, what: str) -> Any:
    """The storage, if the host can read it.

    Raises:
        CompileError: it is memory of a device.
    """
    if hasattr(storage, "numpy"):
        return storage
    refuse(
        "device-element",
        f"{what} needs the elements on the host, but the tensor is in memory of the device",
        "map its buffer, `with t.storage.map_to_host() as host:`, and view host.tensor(t.layout)",
    )


def array(storage: Any, layout: Layout, element: Element | None) -> npt.NDArray[Any]:
    """The elements as an array over the same memory, one axis for each mode (and one for lanes)."""
    from numpy.lib.stride_tricks import as_strided

    buffer = host_memory(storage, ".numpy()")
    parts = [coalesce(mode) for mode in layout] if layout.rank else []
    if element is not None:
        parts.append(coalesce(element.layout))
    if any(is_tuple(part.shape) for part in parts):
        refuse(
            "layout", f"a nested mode of {layout} has no single stride", "view the buffer through .flatten()"
        )
    flat = buffer.numpy()
    shape = [part.static_shape[0] for part in parts]
    strides = [int(part.stride) * flat.itemsize for part in parts]  # pyright: ignore[reportArgumentType]
    return as_strided(flat, shape, strides)


def text(read: Callable[[tuple[int, ...]], Any], shape: Sequence[int], at: tuple[int, ...] = ()) -> str:
    """The elements in rows, as Mojo prints them: behind each of a matrix's elements stands a space.

    A vector is one row; of higher ranks, matrices are separated by an empty line.
    """
    if len(shape) > 2:
        return "\n\n".join(text(read, shape[1:], (*at, i)) for i in range(shape[0]))
    if len(shape) == 2:
        rows = ("".join(f"{read((*at, i, j))} " for j in range(shape[1])) for i in range(shape[0]))
        return "\n".join(rows)
    return " ".join(str(read((*at, i))) for i in range(shape[0])) if shape else str(read(at))
