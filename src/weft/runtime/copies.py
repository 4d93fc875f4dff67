"""Copies: which ends a copy may have, and what must agree between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from weft.abi.formats import pack
from weft.diagnostics import LaunchError, a_
from weft.dtype import DType
from weft.record import record, replace
from weft.runtime.buffers import Buffer, DeviceBuffer
from weft.runtime.crossing import End, copy_across
from weft.runtime.driver import Copy, CopyKind
from weft.runtime.peers import other_owner

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from weft.lang.memory_types import Arrays
    from weft.runtime.context import BaseContext
    from weft.runtime.driver import Stream

if TYPE_CHECKING:
    CopyEnd = Buffer[Any] | Arrays
else:
    CopyEnd = object
"""A buffer or a contiguous array, of NumPy or another library."""


_POSITION = {"dst": 0, "src": 1}
_BITS: dict[str | DType, str] = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
"""What holds the bits of formats that NumPy has not."""
_NAMES: dict[np.dtype[Any], str] = {}
"""Names of NumPy's types, which it puts together anew each time."""


@record(frozen=False, eq=False)
class _End:
    """One end of a copy."""

    address: int
    size: int
    dtype: str | DType
    """A number's by its name, in which ours and NumPy's agree."""
    itemsize: int
    letter: str
    owner: npt.NDArray[Any] | None = None
    """The array, which owns ordinary host memory."""
    buffer: Buffer[Any] | None = None
    own: bool = False
    """Whether it is a buffer that this context uses as its own."""

    @property
    def shown(self) -> str:
        if self.buffer is None:
            return f"a NumPy array of {self.size} {self.dtype}"
        return f"{a_(type(self.buffer).__name__)} of {self.size} {self.dtype}"

    def across(self) -> End:
        """The end of a copy between contexts."""
        assert self.buffer is not None
        buffer = self.buffer  # whose memory may be another library's, which knows no Device
        return End(buffer.user, self.address, self.letter, buffer.context.handle, buffer.allocation)


def own_buffer(context: BaseContext, buffer: Buffer[Any], what: str = "buffer") -> int:
    """The address of a buffer that work of this context is about to use.

    Raises:
        LaunchError: the buffer is closed, or of another context to which there is no peer access.
    """
    if not isinstance(buffer, Buffer) and not hasattr(buffer, "lend"):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LaunchError.here(
            "copy-type",
            f"the {what} is {a_(type(buffer).__name__)}, not a buffer",
            "create one: ctx.enqueue_create_buffer(Float32, n)",
            at=(what, 0),
        )
    if not buffer.lend(context):
        if not context.reaches(buffer.context):
            raise other_owner(context, buffer.context, what)
        buffer.lend_to_peer(context)
    context.note_use(buffer)
    return buffer.address


def enqueue_copy(context: BaseContext, stream: Stream, dst: object, src: object) -> None:
    """Check both ends of a copy and queue it.

    Raises:
        LaunchError: an end cannot be copied from or to, the ends do not agree, or none of them is a buffer
            of this context.
    """
    target, source = _end(context, dst, "dst"), _end(context, src, "src")
    same = target.dtype == source.dtype or _BITS.get(target.dtype) == source.dtype
    if not same and _BITS.get(source.dtype) != target.dtype:
        target, source = _as_elements(target, source)
    if target.size != source.size:
        longer, size = ("dst", source.size) if target.size > source.size else ("src", target.size)
        raise LaunchError.here(
            "copy-length",
            f"a copy has two ends of one length: dst is {target.shown}, src is {source.shown}",
            f"copy a part of the longer one: `{longer}[:{size}]`",
            at=(longer, int(longer == "src")),
        )
    if target.owner is not None and not target.owner.flags.writeable:
        raise LaunchError.here(
            "copy-readonly",
            "dst is a NumPy array that must not be written (flags.writeable)",
            "copy into another array, such as `np.empty_like(array)`",
            at=("dst", 0),
        )
    foreign = any(end.buffer is not None and not end.own for end in (target, source))
    if foreign and not (target.own or source.own):
        hint = "dst.enqueue_copy_from(src)" if target.buffer is not None else "src.enqueue_copy_to(dst)"
        raise LaunchError.here(
            "copy-context",
            f"neither end of the copy is a buffer of this context, {context!r}",
            notes=[
                f"{name} is {end.shown}" + (f" of {end.buffer.context!r}" if end.buffer is not None else "")
                for name, end in (("dst", target), ("src", source))
            ],
            hint=f"have the buffer's context do it: `{hint}`",
        )
    nbytes = source.size * source.itemsize
    if nbytes and foreign:
        copy_across(context, stream, target.across(), source.across(), nbytes)
    elif nbytes:
        kind = cast("CopyKind", f"{source.letter}2{target.letter}")
        stream.copy(Copy(kind, target.address, source.address, nbytes, target.owner, source.owner))


def _as_elements(target: _End, source: _End) -> tuple[_End, _End]:
    """Ends of different types, where one is an array that has what the other calls a struct.

    Raises:
        LaunchError: they are of different types.
    """
    message = f"a copy converts nothing: dst is {target.shown}, src is {source.shown}"
    for end, array in ((target, source), (source, target)):
        if isinstance(end.dtype, DType) and array.owner is not None:
            element = cast("Any", end.dtype)
            size, why, hint = element.counted(array.owner.dtype, array.owner.shape)
            if why:
                raise LaunchError.here("copy-dtype", f"{message}: {why}", hint)
            alike = replace(array, size=size, dtype=end.dtype, itemsize=end.itemsize)
            return (end, alike) if array is source else (alike, end)
    convert = source.owner is not None and target.dtype not in _BITS
    hint = f"give the source as {target.dtype}: `array.astype(np.{target.dtype})`"
    hint = hint if convert else f"make both of {source.dtype}"
    if convert and source.itemsize == 1 < target.itemsize and source.size == target.size * target.itemsize:
        hint = f"have its bytes read as such: `np.frombuffer(array, np.{target.dtype})`"
    raise LaunchError.here("copy-dtype", message, hint, at=("src", 1))


def _end(context: BaseContext, end: object, name: str) -> _End:
    if isinstance(end, Buffer):
        buffer = cast("Buffer[Any]", end)
        letter = "d" if isinstance(buffer, DeviceBuffer) else "h"
        own, address = buffer.lend(context), buffer.address
        context.note_use(buffer)
        dtype: DType = buffer.dtype
        kind = dtype.name if dtype.is_number else dtype
        return _End(address, len(buffer), kind, dtype.itemsize, letter, None, buffer, own)
    if not hasattr(end, "__array_interface__"):
        if end is None:
            raise LaunchError.here(
                "copy-missing",
                f"enqueue_copy needs dst= and src=; {name} is missing",
                "write ctx.enqueue_copy(dst=..., src=...)",
            )
        hint = "copy into a buffer or an array, and take the values from there"
        if isinstance(getattr(end, "storage", None), Buffer):
            hint = f"copy the tensor's buffer: {name}=t.storage"
        elif name == "src":
            hint = "make it an array: `np.array(values, dtype=np.float32)`"
        raise LaunchError.here(
            "copy-type",
            f"{name} is {a_(type(end).__name__)}; a copy goes between buffers and NumPy arrays",
            hint,
            at=(name, _POSITION[name]),
        )
    import numpy as np

    array: npt.NDArray[Any] = np.asarray(end)
    if not array.flags.c_contiguous:
        raise LaunchError.here(
            "copy-contiguous",
            f"{name} is an array of shape {array.shape} with strides {array.strides} bytes, "
            "not one contiguous stretch in row-major order",
            "copy from `np.ascontiguousarray(array)`"
            if name == "src"
            else "copy into a contiguous array, then assign it to the part that you want",
            at=(name, _POSITION[name]),
        )
    if not array.dtype.isnative:
        raise LaunchError.here(
            "copy-byte-order",
            f"{name} is an array of {array.dtype.str!r}, in foreign byte order",
            "convert it: `array.astype(array.dtype.newbyteorder('='))`",
            at=(name, _POSITION[name]),
        )
    name_of = _NAMES.get(array.dtype) or _NAMES.setdefault(array.dtype, array.dtype.name)
    address: int = array.__array_interface__["data"][0]
    return _End(address, array.size, name_of, array.itemsize, "h", array)


def pattern_of(dtype: DType, value: object) -> bytes:
    """The bytes of one element, of which a fill copies many."""
    if dtype.is_number:
        return pack(dtype, value)
    import numpy as np

    made = np.zeros((), dtype.numpy)
    made[...] = cast("Any", dtype.taken(value))
    return made.tobytes()
