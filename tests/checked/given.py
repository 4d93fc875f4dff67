"""What the programs of ``cases`` have: names of weft, a checked context, and buffers that are filled."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft import Float32, Int32
from weft.gpu.host import DeviceContext

_NAMES: dict[str, Any] = {}
exec(
    """
import numpy as np
from weft import SIMD, Bool, DType, Float32, Float64, InlineArray, Int, Int8, Int32, Pointer
from weft import UInt, UInt8, UInt32, UInt64
from weft import func, kernel, math, struct
from weft.atomic import Atomic, fence
from weft.gpu import barrier, block, block_dim, block_idx, global_idx, grid_dim, grid_sync, thread_idx, warp
from weft.gpu.host import DeviceContext
from weft.gpu.sync import named_barrier, named_barrier_arrive
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation
SHARED = AddressSpace.SHARED
""",
    _NAMES,
)


def given(ctx: DeviceContext) -> dict[str, Any]:
    """The names of one program."""

    def filled(kind: Any, value: float) -> Any:
        def make(size: int) -> Any:
            buffer = ctx.enqueue_create_buffer(kind, size)
            buffer.enqueue_fill(value)
            return buffer

        return make

    def copied(values: Any, kind: Any = Float32) -> Any:
        buffer = ctx.enqueue_create_buffer(kind, len(values))
        ctx.enqueue_copy(dst=buffer, src=np.asarray(values, np.float32 if kind is Float32 else np.int32))
        return buffer

    def zeros(size: int, kind: Any = Int32) -> Any:
        return filled(kind, 0)(size)

    def back(buffer: Any) -> Any:
        with buffer.map_to_host() as host:
            return np.array(host)

    own = {"ctx": ctx, "go": ctx.enqueue_function, "floats": filled(Float32, 1.0), "ints": filled(Int32, 1)}
    own |= {"zeros": zeros, "copied": copied, "back": back}
    return {**_NAMES, **own}
