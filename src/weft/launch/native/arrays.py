"""The part of the launch stub that reads arrays of other libraries.

DLPack's exchange API gives a function that fills in a ``DLTensor`` of an object, which stays the
object's: https://dmlc.github.io/dlpack/latest/python_spec.html. ``weft_read_interface`` is such a function
for arrays with the CUDA array interface, version 3, that say which device they are on, as CuPy's do:
https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html. ``weft_read_buffer`` is one for
writable arrays with Python's buffer protocol, as NumPy's: https://docs.python.org/3/c-api/buffer.html.
"""

from __future__ import annotations

from weft.lang.decorators import func
from weft.lang.external import external_call
from weft.lang.pointer import Pointer
from weft.lang.scalars import Bool, Int, Int32, UInt8, UInt32
from weft.launch.native import tables
from weft.launch.native.tables import Array, Expected, Table
from weft.memory import stack_allocation

_CUDA = 2
"""DLPack's number of the kind of devices."""
_WRITABLE_RECORDS = 0x1D
"""``PyBUF_RECORDS``: with strides and the elements' format."""
_CODES = {0: "bhilq", 1: "BHILQ", 2: "efd", 6: "?"}
"""The letters of formats by DLPack's codes of kinds of numbers."""


@func
def clear(table: Pointer[Table]):
    """Let an error go, since Python will meet it again; but not that the user wants to stop."""
    if external_call["PyErr_Occurred", Int]() != 0:
        stop = external_call["PyErr_ExceptionMatches", Int32](table[0].interrupt)
        external_call["PyErr_Clear", None]()
        if stop != 0:
            external_call["PyErr_SetInterrupt", None]()


@func
def read_array(table: Pointer[Table], given: Int, expected: Pointer[Expected]):
    """Begin and end of an array; an end before the begin where it is not what is expected."""
    array, want = stack_allocation(Int, tables.ROOM).bitcast(Array), expected[0]
    array[0].stream, array[0].table = want.stream, table
    if want.read(given, array) != 0:
        clear(table)
        return Int(0), Int(-1)
    got = array[0]
    begin, rank = got.data + got.offset, Int(got.rank)
    good = got.device == want.device and got.stream == want.stream and Int(got.element) == want.element
    if not good or (want.rank >= 0 and want.rank != rank):
        return Int(0), Int(-1)
    shape, step, reach, axis = (expected + 1).bitcast(Int), Int(1), Int(1), rank
    dense, empty = Bool(True), Bool(False)
    while axis > 0:
        axis -= 1
        extent, stride = got.shape[axis], step
        if extent > 1 and Int(got.strides) != 0:
            stride = got.strides[axis]
        if want.rank >= 0 and (extent != shape[axis] or stride != shape[rank + axis]):
            return Int(0), Int(-1)
        dense, empty = dense and stride == step, empty or extent == 0
        reach += (extent - 1) * stride
        step = stride * extent
    if empty:
        return begin, begin
    if want.rank < 0 and not dense:
        return Int(0), Int(-1)
    return begin, begin + reach * want.size


@func
def weft_read_interface(given: Int, array: Pointer[Array]):
    """Fill in what an array's interface says; 0, or -1 where Python is to, maybe with an error set."""
    names, status = array[0].table[0].interface, Int32(-1)
    interface = external_call["PyObject_GetAttr", Int](given, names[0])
    if interface != 0:
        if _has_device(given, names, array) and _described(interface, names, array):
            status = 0
        external_call["Py_DecRef", None](interface)
        if external_call["PyErr_Occurred", Int]() != 0:
            status = -1
    return status


@func
def _has_device(given: Int, names: Pointer[Int], array: Pointer[Array]):
    ordinal, owner = Int(0), external_call["PyObject_GetAttr", Int](given, names[1])
    if owner != 0:
        ordinal = external_call["PyObject_GetAttr", Int](owner, names[2])
        external_call["Py_DecRef", None](owner)
    if ordinal != 0:
        array[0].device = _CUDA | _integer(ordinal) << 32
        external_call["Py_DecRef", None](ordinal)
    return ordinal != 0


@func
def _described(interface: Int, names: Pointer[Int], array: Pointer[Array]):
    none, false = array[0].table[0].none, array[0].table[0].false
    data, stream, shape = _item(interface, names[1]), _item(interface, names[3]), _item(interface, names[4])
    steps, typestr, mask = _item(interface, names[5]), _item(interface, names[6]), _item(interface, names[7])
    if data == 0 or stream == 0 or shape == 0 or typestr == 0 or (mask != 0 and mask != none):
        return False
    size, rank = _element(typestr, array), external_call["PyTuple_Size", Int](shape)
    if size == 0 or rank < 0 or rank > tables.MOST_AXES:
        return False
    extents = (array + 1).bitcast(Int)
    strides, dense = extents + tables.MOST_AXES, steps == 0 or steps == none
    for n in range(rank):
        extents[n] = _integer(external_call["PyTuple_GetItem", Int](shape, n))
        if not dense:
            item = external_call["PyTuple_GetItem", Int](steps, n)
            if item == 0 or _integer(item) % size != 0:
                return False
            strides[n] = _integer(item) // size
    address = external_call["PyTuple_GetItem", Int](data, Int(0))
    if address == 0 or external_call["PyTuple_GetItem", Int](data, Int(1)) != false:
        return False
    array[0].data, array[0].offset, array[0].stream = _integer(address), 0, _integer(stream)
    array[0].rank, array[0].shape = rank.cast(Int32), extents
    array[0].strides = Pointer.from_address(0 if dense else Int(strides), Int)
    return True


@func
def weft_read_buffer(given: Int, array: Pointer[Array]):
    """Fill in what an array's buffer is; 0, or -1 where Python is to, maybe with an error set."""
    view = stack_allocation(Int, 10)  # a Py_buffer
    if external_call["PyObject_GetBuffer", Int32](given, view, Int32(_WRITABLE_RECORDS)) != 0:
        return Int32(-1)
    size, rank, status = view[3], Int(view.bitcast(Int32)[9]), Int32(-1)
    letters, code = Pointer.from_address(view[5], UInt8), Int(-1)
    shape, steps = Pointer.from_address(view[6], Int), Pointer.from_address(view[7], Int)
    if letters[1] == 0 and rank <= tables.MOST_AXES:
        for known, names in _CODES.items():
            for name in names:
                if letters[0] == ord(name):
                    code = known
    if code >= 0:
        status = Int32(0)
        extents = (array + 1).bitcast(Int)
        strides = extents + tables.MOST_AXES
        for n in range(rank):
            extents[n], strides[n] = shape[n], steps[n] // size
            if steps[n] % size != 0:
                status = Int32(-1)
        array[0].data, array[0].offset, array[0].device = view[0], 0, 0
        array[0].rank, array[0].shape, array[0].strides = rank.cast(Int32), extents, strides
        array[0].element = (code | size << 11 | 1 << 16).cast(UInt32)
    external_call["PyBuffer_Release", None](view)
    return status


@func
def _item(interface: Int, name: Int):
    return external_call["PyDict_GetItem", Int](interface, name)


@func
def _integer(value: Int):
    return external_call["PyLong_AsLongLong", Int](value)


@func
def _element(typestr: Int, array: Pointer[Array]):
    """Note the type of the elements; their bytes, 0 where it is none of C's numbers."""
    length = stack_allocation(Int, 1)
    text = external_call["PyUnicode_AsUTF8AndSize", Pointer[UInt8]](typestr, length)
    if Int(text) == 0 or length[0] != 3:
        return Int(0)
    order, kind, size, code = text[0], text[1], Int(text[2]) - ord("0"), Int(-1)
    for n, letter in ((0, "i"), (1, "u"), (2, "f"), (6, "b")):
        if kind == ord(letter):
            code = n
    if (order != ord("<") and order != ord("|")) or size < 1 or size > 8 or code < 0:
        return Int(0)
    array[0].element = (code | size << 11 | 1 << 16).cast(UInt32)
    return size
