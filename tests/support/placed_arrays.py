"""NumPy arrays as tensors on a device, with the same strides, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor

Array = npt.NDArray[Any]


def placed(device: DeviceContext, array: Array) -> LayoutTensor[Any]:
    """The array on a device: as many axes, the same strides, nan or the greatest integer in the gaps."""
    steps = tuple(step // array.itemsize for step in array.strides)
    reach = 1 + sum((extent - 1) * step for extent, step in zip(array.shape, steps, strict=True))
    fill = np.nan if array.dtype.kind == "f" else np.iinfo(array.dtype).max if array.dtype.kind in "iu" else 0
    memory = np.full(reach if array.size else 1, fill, array.dtype)
    np.lib.stride_tricks.as_strided(memory, array.shape, array.strides)[...] = array
    buffer = device.enqueue_create_buffer(array.dtype, memory.size)
    device.enqueue_copy(dst=buffer, src=memory)
    layout: Any = Layout(array.shape, steps)
    return buffer.tensor(layout)


def found(tensor: Any) -> Array:
    """The elements of a tensor."""
    view: Any = tensor.to_layout_tensor() if hasattr(tensor, "to_layout_tensor") else tensor
    with view.storage.map_to_host() as host:
        memory = np.array(host.numpy())
    steps = [step * memory.itemsize for step in view.layout.stride]
    return np.lib.stride_tricks.as_strided(memory, tuple(view.layout.shape), steps).copy()


@st.composite
def arrays(
    draw: st.DrawFn, *, types: str = "efd", axes: int = 3, most: int = 40, special: bool = True
) -> Array:
    """Arrays of some types of NumPy's, with up to so many axes in any order, with and without gaps."""
    shape = tuple(draw(st.lists(st.integers(0, most), min_size=1, max_size=axes)))
    order = draw(st.permutations(range(len(shape))))
    gaps = draw(st.sampled_from([1, 1, 2]))
    generator = np.random.default_rng(draw(st.integers(0, 1000)))
    name = draw(st.sampled_from(types))
    dtype = np.dtype(name)
    wide = [shape[n] for n in order]
    wide[-1] *= gaps
    if dtype.kind == "f":
        values = generator.normal(scale=3, size=wide)
    else:
        values = generator.integers(0, 100, wide)
    array = values.astype(dtype)[..., ::gaps].transpose(np.argsort(order))
    if special and dtype.kind == "f" and array.size and draw(st.booleans()):
        strange = draw(st.sampled_from([np.nan, np.inf, -np.inf]))
        array[tuple(draw(st.integers(0, extent - 1)) for extent in shape)] = strange
    return array
