"""How the arrays of each library are read. The reader is chosen once for a type."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any, cast

from weft.diagnostics import a_
from weft.dtype import DType, as_dtype
from weft.foreign import dlpack
from weft.foreign.arrays import Advice, ForeignArray, HostArray
from weft.lang.records import ForeignStruct, number_of

Reader = Callable[[Any], ForeignArray]


class Unreadable(Exception):
    """An array that weft cannot use: what it is, and what to do instead."""

    def __init__(self, found: str, hint: str = "", copied: str = "") -> None:
        self.found = found
        self.hint: str = hint or f"pass {copied}"
        self.copied = copied
        """A copy of the array ``x`` that can be used."""
        super().__init__(f"{found}: {self.hint}")


LEGACY = 1
"""The driver's handle of the default stream, which other libraries also write as 0."""
_readers: dict[type, Reader | None] = {}


def reader_of(value: object) -> Reader | None:
    """How to read a value as another library's array; None where it is none."""
    kind = type(value)
    try:
        return _readers[kind]
    except KeyError:
        found = _readers[kind] = _find(kind, value)
        return found


def array_of(value: object) -> ForeignArray:
    """A value as another library's array.

    Raises:
        Unreadable: it is none, or one that weft cannot use.
    """
    read = reader_of(value)
    if read is not None:
        return read(value)
    kind = type(value)
    hint = "pass a NumPy, PyTorch, CuPy or JAX array, a weft.Tensor or a buffer"
    if kind in (list, tuple, int, float) or kind.__module__ == "numpy":
        hint = "make an array of it: np.array(...)"
    raise Unreadable(a_(kind.__name__), hint)


def _find(kind: type, value: object) -> Reader | None:
    for base in kind.__mro__:
        root = base.__module__.partition(".")[0]
        if root == "weft" or (root, base.__name__) in _NO_ARRAYS:
            return None
        make = _LIBRARIES.get((root, base.__name__))
        if make is not None:
            return make()
    if hasattr(value, "__cuda_array_interface__") and not _is_of(kind, "jax", "jaxlib"):
        return _read_cuda_array_interface
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _read_dlpack
    with contextlib.suppress(*_NOT_SHARED):
        memoryview(cast("Any", value)).release()
        return _through_numpy(kind, memoryview)
    if hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
        return _through_numpy(kind)
    return None


def _is_of(kind: type, *libraries: str) -> bool:
    return kind.__module__.partition(".")[0] in libraries


def _element(name: str, made_by: str) -> DType:
    try:
        return as_dtype(name)
    except TypeError:
        hint = "weft has no such element type: pass x.astype('float32'), say"
        raise Unreadable(f"a {made_by} of {name}", hint) from None


# -- PyTorch ------------------------------------------------------------------------------------------
_TORCH = Advice(
    contiguous="x.contiguous()",
    convert="x.to(torch.{name})",
    to_host="pass x.cpu()",
    to_device='move it: x.to("{place}")',
)


def _torch() -> Reader:
    torch: Any = sys.modules["torch"]
    dtypes: dict[Any, DType] = {}
    for dtype in dlpack.ELEMENTS:
        found = getattr(torch, dtype.name, None)
        if found is not None:
            dtypes[found] = dtype

    def slow(index: int) -> int:
        return torch.cuda.current_stream(index).cuda_stream

    current: Callable[[int], int] = getattr(torch._C, "_cuda_getCurrentRawStream", slow)

    def read(tensor: Any) -> ForeignArray:
        dtype = dtypes.get(tensor.dtype)
        if dtype is None:
            hint = "weft has no such element type; convert it"
            hint = "pass torch.view_as_real(x), with one more axis" if tensor.is_complex() else hint
            raise Unreadable(f"a torch.Tensor of {tensor.dtype}", hint)
        if tensor.is_nested:
            raise Unreadable("a nested torch.Tensor", "pass its parts, one by one: x.unbind()")
        try:
            shape, address = tuple(tensor.shape), tensor.data_ptr()
            strides = tensor.stride()
        except RuntimeError as error:
            hint = "pass a dense tensor; in code that torch.compile traces, call a weft.interop.torch_op"
            text = str(error).partition("\n")[0]
            raise Unreadable(f"{a_(type(tensor).__name__)} without memory ({text})", hint) from error
        if address == 0 and tensor.numel():
            raise Unreadable("a torch.Tensor of zeros without memory", "pass x.clone()")
        if tensor.is_neg():
            raise Unreadable("a torch.Tensor whose negation is pending", "pass x.resolve_neg()")
        if tensor.is_cuda:
            index = tensor.get_device()
            return ForeignArray(
                tensor,
                address,
                dtype,
                shape,
                strides,
                made_by="torch.Tensor",
                advice=_TORCH,
                api="cuda",
                device_id=index,
                stream=current(index) or LEGACY,
                hold=False,
            )
        if not tensor.is_cpu:
            raise Unreadable(
                f"a torch.Tensor on {tensor.device.type}", 'move it: x.to("cpu") or x.to("cuda")'
            )
        return HostArray(tensor, address, dtype, shape, strides, made_by="torch.Tensor", advice=_TORCH)

    return read


# -- NumPy and CuPy -----------------------------------------------------------------------------------
_NUMPY = Advice(
    contiguous="np.ascontiguousarray(x)",
    convert='x.astype("{name}")',
    to_host="",
    to_device="keep it on the device: `buffer = ctx.enqueue_create_buffer({element}, {size})` and "
    "`ctx.enqueue_copy(dst=buffer, src=x)`, or `Tensor.from_numpy(x, ctx)`",
)
_SHARED = Advice(
    _NUMPY.contiguous, 'np.asarray(memoryview(x)).astype("{name}")', _NUMPY.to_host, _NUMPY.to_device
)
_CUPY = Advice(
    contiguous="cupy.ascontiguousarray(x)",
    convert='x.astype("{name}")',
    to_host="pass cupy.asnumpy(x)",
    to_device="copy it inside `with cupy.cuda.Device(n)`",
)


def _numpy() -> Reader:
    return _of_numpy


def _masked() -> Reader:
    def read(array: Any) -> ForeignArray:
        raise Unreadable("a masked array of NumPy", "pass x.filled(value), or x.data for all elements")

    return read


def _through_numpy(kind: type, share: Callable[[Any], Any] | None = None) -> Reader:
    """Of what NumPy makes an array of: by ``memoryview``, or asked for that.

    What makes a new one each time, such as a pandas.DataFrame of several types, is only read.
    """
    made_by = kind.__name__

    def read(value: Any) -> ForeignArray:
        import numpy as np

        try:
            array = np.asarray(value if share is None else share(value))
            same = share is not None or _address(np.asarray(value)) == _address(array)
        except _NOT_SHARED as error:
            text = str(error).partition("\n")[0]
            hint = "convert it"
            if made_by.endswith("Tracer") and _is_of(kind, "jax", "jaxlib"):
                hint = "call it outside of jax.jit, grad and vmap, which trace; or by jax.pure_callback"
            raise Unreadable(f"{a_(made_by)} of which NumPy makes no array ({text})", hint) from None
        found = _of_numpy(array)
        found.made_by, found.advice = made_by, _SHARED
        if not same:
            found.read_only = "write to a copy: changed = np.array(x); this makes copies of itself"
        elif found.read_only:
            copy = "np.array(x)" if share is None else "np.array(memoryview(x))"
            found.read_only = f"write to a copy: changed = {copy}"
        return found

    return read


def _address(array: Any) -> int:
    return array.__array_interface__["data"][0]


def _of_numpy(array: Any) -> ForeignArray:
    if array.dtype.names is not None or array.dtype.kind == "c":
        dtype: DType = ForeignStruct(array.dtype, array.dtype.itemsize)
    else:
        dtype = _numpy_element(array, "NumPy array")
    strides = _in_elements(array.strides, dtype, "NumPy array", _NUMPY)
    return HostArray(
        array,
        _address(array),
        dtype,
        array.shape,
        strides,
        made_by="NumPy array",
        advice=_NUMPY,
        read_only="" if array.flags.writeable else "write to a copy: changed = x.copy()",
    )


def _ctypes() -> Reader:
    import ctypes

    def read(value: Any) -> ForeignArray:
        kind: Any = value.__class__
        made_by, extents = kind.__name__, list[int]()
        while hasattr(kind, "_length_"):
            extents.append(kind._length_)
            kind = kind._type_
        name, size = number_of(kind), ctypes.sizeof(kind)
        dtype = as_dtype(name) if name else DType.uint8 if size == 1 else ForeignStruct(kind, size)
        shape = tuple(extents or [1])
        return HostArray(value, ctypes.addressof(value), dtype, shape, None, made_by=made_by, advice=_NUMPY)

    return read


def _cupy() -> Reader:
    cupy: Any = sys.modules["cupy"]

    def read(array: Any) -> ForeignArray:
        dtype = _numpy_element(array, "CuPy array")
        memory = array.data
        stream: Any = cupy.cuda.get_current_stream()
        return ForeignArray(
            array,
            memory.ptr,
            dtype,
            array.shape,
            _in_elements(array.strides, dtype, "CuPy array", _CUPY),
            made_by="CuPy array",
            advice=_CUPY,
            api="cuda",
            device_id=memory.device_id,
            stream=stream.ptr or LEGACY,
            stream_owner=stream,
            hold=False,
        )

    return read


def _numpy_element(array: Any, made_by: str) -> DType:
    if not array.dtype.isnative:
        found = f"a {made_by} of {array.dtype.str!r}, in foreign byte order"
        raise Unreadable(found, copied="x.astype(x.dtype.newbyteorder('='))")
    return _element(array.dtype.name, made_by)


def _in_elements(strides: tuple[int, ...], dtype: DType, made_by: str, advice: Advice) -> tuple[int, ...]:
    size = dtype.itemsize
    if any(stride % size for stride in strides):
        found = f"a {made_by} whose strides {strides} are no multiples of its {size}-byte elements"
        raise Unreadable(found, copied=advice.contiguous)
    return tuple([stride // size for stride in strides])


_LIBRARIES: dict[tuple[str, str], Callable[[], Reader]] = {
    ("torch", "Tensor"): _torch,
    ("numpy", "MaskedArray"): _masked,
    ("numpy", "ndarray"): _numpy,
    ("cupy", "ndarray"): _cupy,
    ("_ctypes", "Structure"): _ctypes,
    ("_ctypes", "Array"): _ctypes,
}

_NO_ARRAYS = {("numpy", "generic"), *(("builtins", name) for name in ("list", "tuple", "str", "type"))}

# -- the protocols ------------------------------------------------------------------------------------
_PLAIN = Advice(
    contiguous="a contiguous copy",
    convert="convert it to {name} with its own library",
    to_host="copy it to the host with its own library",
    to_device="copy it to {place} with its own library",
)
_JAX = Advice(
    contiguous="a contiguous copy",
    convert='x.astype("{name}")',
    to_host="pass np.asarray(x)",
    to_device="move it: jax.device_put(x, jax.devices()[n])",
)
_COPY = "pass a copy made with its own library"
_CONSTANT = "write to a weft.Tensor, and share that: jax.dlpack.from_dlpack(tensor)"
_NOT_SHARED = (BufferError, RuntimeError, TypeError, ValueError)
_ARROW = "pass x.to_numpy(zero_copy_only=False).copy(), and take the results from that"
_TYPES = {"c": "complex", "b": "bool", "i": "int", "u": "uint", "f": "float"}


def _read_cuda_array_interface(value: Any) -> ForeignArray:
    made_by = type(value).__name__
    interface: dict[str, Any] = value.__cuda_array_interface__
    order, code, bits = interface["typestr"][0], interface["typestr"][1], 8 * int(interface["typestr"][2:])
    name = {"b": "bool"}.get(code, f"{_TYPES.get(code, code)}{bits}")
    if order == ">":
        raise Unreadable(f"a {made_by} in foreign byte order", "convert it with its own library")
    if code not in _TYPES and hasattr(value, "__dlpack__"):
        return _read_dlpack(value)
    dtype = _element(name, made_by)
    strides = interface.get("strides")
    stream = interface.get("stream")
    return ForeignArray(
        value,
        interface["data"][0] or 0,
        dtype,
        tuple(interface["shape"]),
        None if strides is None else _in_elements(tuple(strides), dtype, made_by, _PLAIN),
        made_by=made_by,
        advice=_PLAIN,
        api="cuda",
        device_id=None,
        stream=stream or LEGACY,
        read_only=_COPY if interface["data"][1] else "",
    )


def _unshared(made_by: str, error: Exception) -> Unreadable:
    text = str(error).partition("\n")[0]
    return Unreadable(f"{a_(made_by)} that does not share its memory ({text})", "copy it first")


def _read_dlpack(value: Any) -> ForeignArray:
    kind_of = cast("type[Any]", type(value))
    jax = _is_of(kind_of, "jax", "jaxlib")
    made_by = "JAX array" if jax else type(value).__name__
    try:
        where, _ = value.__dlpack_device__()
    except _NOT_SHARED as error:
        raise _unshared(made_by, error) from error
    on_host = where in (dlpack.CPU, dlpack.CUDA_HOST)
    if not on_host and where not in (dlpack.CUDA, dlpack.CUDA_MANAGED):
        hint = "copy it to the host, or to an NVIDIA GPU, with its own library"
        raise Unreadable(f"a {made_by} on a device of DLPack's kind {int(where)}", hint)
    stream = None if on_host else LEGACY
    try:
        try:
            capsule = value.__dlpack__(stream=stream, max_version=(1, 0))
        except TypeError as error:
            if "argument" not in str(error):  # else it is of the time before versions
                raise
            capsule = value.__dlpack__(stream=stream)
    except _NOT_SHARED as error:
        raise _unshared(made_by, error) from error
    found = dlpack.read_capsule(capsule)
    if isinstance(found.element, str):
        hint = "weft has no such element type; convert it"
        hint = "pass its parts: x.real and x.imag" if found.element.startswith("complex") else hint
        raise Unreadable(f"a {made_by} of {found.element}", hint)
    advice = _JAX if jax else _PLAIN
    read_only = _CONSTANT if jax else _ARROW if _is_of(kind_of, "pyarrow") else _COPY * found.read_only
    kind = HostArray if on_host else ForeignArray
    return kind(
        capsule,
        found.address,
        found.element,
        found.shape,
        found.strides,
        made_by=made_by,
        advice=advice,
        api=None if on_host else "cuda",
        device_id=found.device[1],
        stream=stream,
        read_only=read_only,
    )
