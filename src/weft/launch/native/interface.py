"""A function that reads an array's CUDA array interface as DLPack's exchange API would, as LLVM IR.

https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html, version 3. It fills in a ``DLTensor``,
behind which it writes the stream. Read-only and masked arrays are left to Python, and what tells no stream.
The interface does not tell the device; ``data.device_id`` does, which CuPy's arrays have.
"""

from __future__ import annotations

__all__ = ["ENTRY", "INTERFACE", "NAMES"]

ENTRY = "weft_read_interface"
NAMES = (
    "__cuda_array_interface__",
    "shape",
    "typestr",
    "strides",
    "data",
    "stream",
    "mask",
    "device_id",
)
"""The strings that the code looks up; ``weft_name_`` before each is its symbol."""

_GLOBALS = "\n".join(f"@weft_name_{name} = external global i8" for name in NAMES)

INTERFACE = (
    _GLOBALS
    + """
%Array = type { ptr, i64, i32, i32, ptr, ptr, i64, i64 }
@_Py_NoneStruct = external global i8
@_Py_FalseStruct = external global i8
; the stub has done with them before any other code of Python runs
@shape = internal global [16 x i64] zeroinitializer
@strides = internal global [16 x i64] zeroinitializer

declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyDict_GetItem(ptr, ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyUnicode_AsUTF8AndSize(ptr, ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyErr_Occurred()
declare void @Py_DecRef(ptr)

; 0 where it could be read, else -1, in which case an error of Python may be set
define i32 @weft_read_interface(ptr %object, ptr %array) nounwind {
entry:
  %length = alloca i64
  %interface = call ptr @PyObject_GetAttr(ptr %object, ptr @weft_name___cuda_array_interface__)
  %without = icmp eq ptr %interface, null
  br i1 %without, label %unread, label %memory
unread:
  ret i32 -1
memory:
  %owner = call ptr @PyObject_GetAttr(ptr %object, ptr @weft_name_data)
  %unowned = icmp eq ptr %owner, null
  br i1 %unowned, label %no, label %device
device:
  %ordinal = call ptr @PyObject_GetAttr(ptr %owner, ptr @weft_name_device_id)
  call void @Py_DecRef(ptr %owner)
  %unplaced = icmp eq ptr %ordinal, null
  br i1 %unplaced, label %no, label %placed
placed:
  %id = call i64 @PyLong_AsLongLong(ptr %ordinal)
  call void @Py_DecRef(ptr %ordinal)
  %id_high = shl i64 %id, 32
  %place = or i64 %id_high, 2
  %placep = getelementptr %Array, ptr %array, i64 0, i32 1
  store i64 %place, ptr %placep
  %extents = call ptr @PyDict_GetItem(ptr %interface, ptr @weft_name_shape)
  %typestr = call ptr @PyDict_GetItem(ptr %interface, ptr @weft_name_typestr)
  %steps = call ptr @PyDict_GetItem(ptr %interface, ptr @weft_name_strides)
  %data = call ptr @PyDict_GetItem(ptr %interface, ptr @weft_name_data)
  %stream = call ptr @PyDict_GetItem(ptr %interface, ptr @weft_name_stream)
  %mask = call ptr @PyDict_GetItem(ptr %interface, ptr @weft_name_mask)
  %n0 = icmp eq ptr %extents, null
  %n1 = icmp eq ptr %typestr, null
  %n2 = icmp eq ptr %data, null
  %n3 = icmp eq ptr %stream, null
  %n01 = or i1 %n0, %n1
  %n23 = or i1 %n2, %n3
  %missing = or i1 %n01, %n23
  %mask_none = icmp eq ptr %mask, @_Py_NoneStruct
  %mask_null = icmp eq ptr %mask, null
  %unmasked = or i1 %mask_none, %mask_null
  %masked = xor i1 %unmasked, true
  %bad = or i1 %missing, %masked
  br i1 %bad, label %no, label %type
type:
  %text = call ptr @PyUnicode_AsUTF8AndSize(ptr %typestr, ptr %length)
  %untyped = icmp eq ptr %text, null
  br i1 %untyped, label %no, label %three
three:
  %letters = load i64, ptr %length
  %is_three = icmp eq i64 %letters, 3
  br i1 %is_three, label %order, label %no
order:
  %c0 = load i8, ptr %text
  %little = icmp eq i8 %c0, 60
  %single = icmp eq i8 %c0, 124
  %native = or i1 %little, %single
  %c1p = getelementptr i8, ptr %text, i64 1
  %c1 = load i8, ptr %c1p
  %c2p = getelementptr i8, ptr %text, i64 2
  %c2 = load i8, ptr %c2p
  %digit = sub i8 %c2, 48
  %size = zext i8 %digit to i64
  %sized0 = icmp uge i8 %digit, 1
  %sized1 = icmp ule i8 %digit, 8
  %sized = and i1 %sized0, %sized1
  %typed = and i1 %native, %sized
  br i1 %typed, label %kind, label %no
kind:
  switch i8 %c1, label %no [ i8 105, label %coded
                             i8 117, label %unsigned
                             i8 102, label %float
                             i8 98, label %bool ]
unsigned:
  br label %coded
float:
  br label %coded
bool:
  br label %coded
coded:
  %code = phi i64 [ 0, %kind ], [ 1, %unsigned ], [ 2, %float ], [ 6, %bool ]
  %bits = shl i64 %size, 3
  %bits_high = shl i64 %bits, 8
  %element0 = or i64 %code, %bits_high
  %element1 = or i64 %element0, 65536
  %element = trunc i64 %element1 to i32
  %typep = getelementptr %Array, ptr %array, i64 0, i32 3
  store i32 %element, ptr %typep
  %rank = call i64 @PyTuple_Size(ptr %extents)
  %some = icmp ule i64 %rank, 16
  br i1 %some, label %ranked, label %no
ranked:
  %rank32 = trunc i64 %rank to i32
  %rankp = getelementptr %Array, ptr %array, i64 0, i32 2
  store i32 %rank32, ptr %rankp
  %steps_none = icmp eq ptr %steps, @_Py_NoneStruct
  %steps_null = icmp eq ptr %steps, null
  %dense = or i1 %steps_none, %steps_null
  %stridesp = getelementptr %Array, ptr %array, i64 0, i32 5
  %strides = select i1 %dense, ptr null, ptr @strides
  store ptr %strides, ptr %stridesp
  %shapep = getelementptr %Array, ptr %array, i64 0, i32 4
  store ptr @shape, ptr %shapep
  br label %axis
axis:
  %i = phi i64 [ 0, %ranked ], [ %i1, %next ]
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i, %rank
  br i1 %more, label %extent, label %pointer
extent:
  %eo = call ptr @PyTuple_GetItem(ptr %extents, i64 %i)
  %e = call i64 @PyLong_AsLongLong(ptr %eo)
  %ep = getelementptr i64, ptr @shape, i64 %i
  store i64 %e, ptr %ep
  br i1 %dense, label %next, label %stride
stride:
  %so = call ptr @PyTuple_GetItem(ptr %steps, i64 %i)
  %there = icmp ne ptr %so, null
  br i1 %there, label %stepped, label %no
stepped:
  %s = call i64 @PyLong_AsLongLong(ptr %so)
  %rest = srem i64 %s, %size
  %whole = icmp eq i64 %rest, 0
  %se = sdiv i64 %s, %size
  %sp = getelementptr i64, ptr @strides, i64 %i
  store i64 %se, ptr %sp
  br i1 %whole, label %next, label %no
next:
  br label %axis
pointer:
  %address_object = call ptr @PyTuple_GetItem(ptr %data, i64 0)
  %addressed = icmp ne ptr %address_object, null
  br i1 %addressed, label %writable, label %no
writable:
  %read_only = call ptr @PyTuple_GetItem(ptr %data, i64 1)
  %may_write = icmp eq ptr %read_only, @_Py_FalseStruct
  br i1 %may_write, label %values, label %no
values:
  %address = call i64 @PyLong_AsLongLong(ptr %address_object)
  store i64 %address, ptr %array
  %offsetp = getelementptr %Array, ptr %array, i64 0, i32 6
  store i64 0, ptr %offsetp
  %handle = call i64 @PyLong_AsLongLong(ptr %stream)
  %streamp = getelementptr %Array, ptr %array, i64 0, i32 7
  store i64 %handle, ptr %streamp
  call void @Py_DecRef(ptr %interface)
  %error = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %error, null
  %rc = select i1 %fine, i32 0, i32 -1
  ret i32 %rc
no:
  call void @Py_DecRef(ptr %interface)
  ret i32 -1
}
"""
)
