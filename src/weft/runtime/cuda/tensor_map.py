"""What the tensor memory accelerator of a GPU is told of a tensor: ``CUtensorMap``."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from weft.diagnostics import DeviceError
from weft.runtime.cuda.errors import version_text
from weft.runtime.driver import Tiled

if TYPE_CHECKING:
    from weft.runtime.cuda.context import Primary

_BYTES, _ALIGNED, _ROW = 128, 64, 16
_SWIZZLES = (0, 32, 64, 128)
"""By the driver's numbers."""
_L2_128B = 2
_TYPES: tuple[str, ...] = (
    *("uint8", "uint16", "uint32", "int32", "uint64"),
    *("int64", "float16", "float32", "float64", "bfloat16"),
)
_BITS = {1: "uint8", 2: "uint16"}
"""By their size, formats that stand for those that the driver has not."""


def tensor_map(primary: Primary, tiles: Tiled) -> bytes:
    """The map for such tiles.

    Raises:
        DeviceError: the driver is older than CUDA 12.
    """
    # by the driver itself: the binding's memory is not aligned as this wants it
    encode = getattr(primary.library(), "cuTensorMapEncodeTiled", None)
    if encode is None:
        raise DeviceError.here(
            "driver-too-old",
            "tiles that the hardware copies need a driver of CUDA 12.0; "
            f"the one here is of CUDA {version_text(primary.cuda.version)}",
            "install a newer NVIDIA driver",
        )
    if len(tiles.box) == 1:  # of which the hardware takes tiles as of rows
        row = -(-tiles.extents[0] * tiles.strides[0] // _ROW) * _ROW
        tiles = tiles._replace(
            extents=(1, *tiles.extents), strides=(row, *tiles.strides), box=(1, *tiles.box)
        )
    kind = tiles.dtype if tiles.dtype in _TYPES else _BITS[tiles.strides[-1]]
    rank = len(tiles.box)
    memory = ctypes.create_string_buffer(2 * _BYTES)
    made = -(-ctypes.addressof(memory) // _ALIGNED) * _ALIGNED
    primary.enter()
    status = encode(
        ctypes.c_void_p(made),
        _TYPES.index(kind),
        rank,
        ctypes.c_void_p(tiles.address),
        (ctypes.c_uint64 * rank)(*reversed(tiles.extents)),
        (ctypes.c_uint64 * rank)(*reversed(tiles.strides[:-1])),
        (ctypes.c_uint32 * rank)(*reversed(tiles.box)),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        0,
        _SWIZZLES.index(tiles.swizzle),
        _L2_128B,
        0,
    )
    if status:
        raise primary.error(primary.cuda.failure("cuTensorMapEncodeTiled", primary.cu.CUresult(status)))
    return ctypes.string_at(made, _BYTES)
