"""The part of the launch stub that reads arrays of other libraries, as LLVM IR.

DLPack's exchange API gives a function that fills in a ``DLTensor`` of an object, which stays the
object's: https://dmlc.github.io/dlpack/latest/python_spec.html. What a site expects of it is a struct
of ``runtime/stub_entries.py``.
"""

from __future__ import annotations

__all__ = ["ARRAYS"]

ARRAYS = """
%Array = type { ptr, i64, i32, i32, ptr, ptr, i64, i64 }  ; DLTensor, and the stream where its reader tells it
%Expected = type { i64, i64, i64, i64, i64, [0 x i64] }

declare void @PyErr_Clear()
declare ptr @PyErr_Occurred()
declare i32 @PyErr_ExceptionMatches(ptr)
declare void @PyErr_SetInterrupt()
@PyExc_KeyboardInterrupt = external global i8

; Let an error go, since Python will meet it again; but not that the user wants to stop.
define void @weft_clear() nounwind {
entry:
  %error = call ptr @PyErr_Occurred()
  %any = icmp ne ptr %error, null
  br i1 %any, label %which, label %done
which:
  %stop = call i32 @PyErr_ExceptionMatches(ptr @PyExc_KeyboardInterrupt)
  call void @PyErr_Clear()
  %stops = icmp ne i32 %stop, 0
  br i1 %stops, label %again, label %done
again:
  call void @PyErr_SetInterrupt()
  br label %done
done:
  ret void
}
declare ptr @PyObject_VectorcallMethod(ptr, ptr, i64, ptr)
@_Py_FalseStruct = external global i8

; Whether an array is where, of the type and of the layout that a site expects; its address and end.
define i1 @weft_array(ptr %arg, ptr %read, ptr %expected, i64 %odd, ptr %address, ptr %end) nounwind {
entry:
  %array = alloca %Array, align 16
  %its_streamp = getelementptr %Expected, ptr %expected, i64 0, i32 4
  %its_stream = load i64, ptr %its_streamp
  %streamp = getelementptr %Array, ptr %array, i64 0, i32 7
  store i64 %its_stream, ptr %streamp
  %rc = call i32 %read(ptr %arg, ptr %array)
  %read_it = icmp eq i32 %rc, 0
  br i1 %read_it, label %known, label %clear
clear:
  call void @weft_clear()
  br label %no
known:
  %devicep = getelementptr %Array, ptr %array, i64 0, i32 1
  %device = load i64, ptr %devicep
  %its_device = load i64, ptr %expected
  %here0 = icmp eq i64 %device, %its_device
  %stream = load i64, ptr %streamp
  %in_order = icmp eq i64 %stream, %its_stream
  %here = and i1 %here0, %in_order
  %typep = getelementptr %Array, ptr %array, i64 0, i32 3
  %type = load i32, ptr %typep
  %its_typep = getelementptr %Expected, ptr %expected, i64 0, i32 1
  %its_type = load i64, ptr %its_typep
  %type64 = zext i32 %type to i64
  %same = icmp eq i64 %type64, %its_type
  %rankp = getelementptr %Array, ptr %array, i64 0, i32 2
  %rank32 = load i32, ptr %rankp
  %rank = sext i32 %rank32 to i64
  %its_rankp = getelementptr %Expected, ptr %expected, i64 0, i32 2
  %its_rank = load i64, ptr %its_rankp
  %any = icmp slt i64 %its_rank, 0
  %equal = icmp eq i64 %rank, %its_rank
  %ranked = or i1 %any, %equal
  %data = load i64, ptr %array
  %offsetp = getelementptr %Array, ptr %array, i64 0, i32 6
  %offset = load i64, ptr %offsetp
  %begin = add i64 %data, %offset
  %bits = and i64 %begin, %odd
  %aligned = icmp eq i64 %bits, 0
  %ok0 = and i1 %here, %same
  %ok1 = and i1 %ranked, %aligned
  %ok = and i1 %ok0, %ok1
  br i1 %ok, label %layout, label %no
layout:
  %shapep = getelementptr %Array, ptr %array, i64 0, i32 4
  %shape = load ptr, ptr %shapep
  %stridesp = getelementptr %Array, ptr %array, i64 0, i32 5
  %strides = load ptr, ptr %stridesp
  %dense = icmp eq ptr %strides, null
  br label %loop
loop:
  %left = phi i64 [ %rank, %layout ], [ %n, %next ]
  %step0 = phi i64 [ 1, %layout ], [ %step1, %next ]
  %span = phi i64 [ 1, %layout ], [ %span1, %next ]
  %empty = phi i1 [ false, %layout ], [ %empty1, %next ]
  %apart = phi i1 [ false, %layout ], [ %apart1, %next ]
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %axis, label %done
axis:
  %n = sub i64 %left, 1
  %extentp = getelementptr i64, ptr %shape, i64 %n
  %extent = load i64, ptr %extentp
  br i1 %dense, label %stepped, label %strided
strided:
  %stridep = getelementptr i64, ptr %strides, i64 %n
  %stride0 = load i64, ptr %stridep
  br label %stepped
stepped:
  %stride = phi i64 [ %step0, %axis ], [ %stride0, %strided ]
  %wide = icmp sgt i64 %extent, 1
  %step = select i1 %wide, i64 %stride, i64 %step0
  %step1 = mul i64 %step, %extent
  %last = sub i64 %extent, 1
  %reach = mul i64 %last, %step
  %span1 = add i64 %span, %reach
  %none = icmp eq i64 %extent, 0
  %empty1 = or i1 %empty, %none
  %jump = icmp ne i64 %step, %step0
  %apart1 = or i1 %apart, %jump
  br i1 %any, label %next, label %exact
exact:
  %n2 = add i64 %n, %rank
  %its_extentp = getelementptr %Expected, ptr %expected, i64 0, i32 5, i64 %n
  %its_extent = load i64, ptr %its_extentp
  %its_stridep = getelementptr %Expected, ptr %expected, i64 0, i32 5, i64 %n2
  %its_stride = load i64, ptr %its_stridep
  %as_long = icmp eq i64 %extent, %its_extent
  %as_far = icmp eq i64 %step, %its_stride
  %as = and i1 %as_long, %as_far
  br i1 %as, label %next, label %no
next:
  br label %loop
done:
  %full = xor i1 %empty, true
  %loose0 = and i1 %any, %apart
  %loose = and i1 %loose0, %full
  br i1 %loose, label %no, label %yes
yes:
  %sizep = getelementptr %Expected, ptr %expected, i64 0, i32 3
  %size = load i64, ptr %sizep
  %bytes = mul i64 %span, %size
  %length = select i1 %empty, i64 0, i64 %bytes
  %stop = add i64 %begin, %length
  store i64 %begin, ptr %address
  store i64 %stop, ptr %end
  ret i1 true
no:
  ret i1 false
}

; Whether a method without arguments returns False.
define i1 @weft_false(ptr %arg, ptr %name) nounwind {
entry:
  %args = alloca ptr
  store ptr %arg, ptr %args
  %result = call ptr @PyObject_VectorcallMethod(ptr %name, ptr %args, i64 1, ptr null)
  %raised = icmp eq ptr %result, null
  br i1 %raised, label %clear, label %returned
clear:
  call void @weft_clear()
  ret i1 false
returned:
  call void @Py_DecRef(ptr %result)
  %is = icmp eq ptr %result, @_Py_FalseStruct
  ret i1 %is
}
"""
