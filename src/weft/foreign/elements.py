"""Another library's array where memory of structs is meant: records laid out alike, bytes, rows."""

from __future__ import annotations

from weft.dtype import DType
from weft.foreign.arrays import ForeignArray
from weft.lang.accept import Mismatch
from weft.lang.elements import ElementType
from weft.lang.records import ForeignStruct, difference, fits_exactly, last_axes


def as_elements(array: ForeignArray, wanted: ElementType, allowed: str) -> ForeignArray:
    """The array with elements of a struct.

    Raises:
        Mismatch: its elements are no such structs, and no bytes or rows of numbers which they are made of.
    """
    dtype, size = array.dtype, wanted.itemsize
    if isinstance(dtype, ForeignStruct):
        found, hint = difference(wanted, dtype.described)
        if found:
            raise Mismatch(f"{array.describe()} that differ from it: {found}", allowed, hint)
        array.dtype = wanted
        return array
    if fits_exactly(wanted, dtype):
        count = size // dtype.itemsize
        if dtype is DType.uint8 and len(array.shape) == 1 and array.is_row_major:
            if array.nbytes % size:
                raise Mismatch(f"{array.nbytes} bytes", f"memory of {wanted}, {size} bytes each")
            return array.of(wanted, (array.nbytes // size,), (1,))
        axes = last_axes(array.shape, count)
        if axes and _dense(array, axes) and not any(step % count for step in array.strides[:-axes]):
            return array.of(wanted, array.shape[:-axes], tuple([s // count for s in array.strides[:-axes]]))
    raise Mismatch(array.describe(), allowed, f"pass an array of np.dtype({wanted}), or its bytes")


def _dense(array: ForeignArray, axes: int) -> bool:
    """Whether along the last axes element follows on element."""
    size = 1
    for extent, step in zip(array.shape[: -axes - 1 : -1], array.strides[::-1], strict=False):
        if extent != 1 and step != size:
            return False
        size *= extent
    return True


def as_bytes(array: ForeignArray) -> ForeignArray:
    """The array's structs as bytes."""
    step = 1 if array.is_row_major else 2
    return array.of(DType.uint8, (array.size * array.dtype.itemsize,), (step,))
