"""What the programs of ``cases`` have: names of weft, a checked context, and buffers that are filled."""

from __future__ import annotations

from typing import Any

from weft import Float32, Int32
from weft.gpu.host import DeviceContext

_NAMES: dict[str, Any] = {}
exec(
    """
import numpy as np
from weft import SIMD, DType, Float32, Float64, InlineArray, Int, Int8, Int32, Pointer, UInt, UInt8, UInt32
from weft import func, kernel, math, struct
from weft.atomic import Atomic
from weft.gpu import barrier, block_idx, global_idx, grid_sync, thread_idx, warp
from weft.gpu.host import DeviceContext
from weft.gpu.sync import named_barrier, named_barrier_arrive
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation
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

    own = {"ctx": ctx, "go": ctx.enqueue_function, "floats": filled(Float32, 1.0), "ints": filled(Int32, 1)}
    return {**_NAMES, **own}
