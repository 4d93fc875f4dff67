"""The part of the launch stub that looks whether what a kernel has read is still what it was, as LLVM IR.

What is read are names in dictionaries, all items of one in order, or memory: a captured variable, the items
of a list, the bytes of an array. ``abi/sites.py`` has the struct.
"""

from __future__ import annotations

__all__ = ["HELD"]

HELD = """
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare i64 @PyDict_Size(ptr)
declare i32 @PyDict_Next(ptr, ptr, ptr, ptr)

; Whether so many bytes are the same.
define i1 @weft_alike(ptr %x, ptr %y, i64 %size) nounwind {{
entry:
  %words = and i64 %size, -8
  br label %word
word:
  %i = phi i64 [ 0, %entry ], [ %i8, %one ]
  %more = icmp ult i64 %i, %words
  br i1 %more, label %one, label %byte
one:
  %xp = getelementptr i8, ptr %x, i64 %i
  %xv = load i64, ptr %xp, align 1
  %yp = getelementptr i8, ptr %y, i64 %i
  %yv = load i64, ptr %yp, align 1
  %i8 = add i64 %i, 8
  %is = icmp eq i64 %xv, %yv
  br i1 %is, label %word, label %no
byte:
  %j = phi i64 [ %words, %word ], [ %j1, %rest ]
  %left = icmp ult i64 %j, %size
  br i1 %left, label %rest, label %yes
rest:
  %xbp = getelementptr i8, ptr %x, i64 %j
  %xb = load i8, ptr %xbp
  %ybp = getelementptr i8, ptr %y, i64 %j
  %yb = load i8, ptr %ybp
  %j1 = add i64 %j, 1
  %isb = icmp eq i8 %xb, %yb
  br i1 %isb, label %byte, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}

; Whether a dictionary has these keys and values, in this order.
define i1 @weft_items(ptr %dict, ptr %expected, i64 %count) nounwind {{
entry:
  %at = alloca i64
  %key = alloca ptr
  %value = alloca ptr
  %size = call i64 @PyDict_Size(ptr %dict)
  %equal = icmp eq i64 %size, %count
  store i64 0, ptr %at
  br i1 %equal, label %loop, label %no
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %values ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %one, label %yes
one:
  %i1 = add i64 %i, 1
  %any = call i32 @PyDict_Next(ptr %dict, ptr %at, ptr %key, ptr %value)
  %found = icmp ne i32 %any, 0
  br i1 %found, label %keys, label %no
keys:
  %k = load ptr, ptr %key
  %ekp = getelementptr ptr, ptr %expected, i64 %i
  %ek = load ptr, ptr %ekp
  %is_key = icmp eq ptr %k, %ek
  br i1 %is_key, label %values, label %no
values:
  %v = load ptr, ptr %value
  %at_value = add i64 %i, %count
  %evp = getelementptr ptr, ptr %expected, i64 %at_value
  %ev = load ptr, ptr %evp
  %is_value = icmp eq ptr %v, %ev
  br i1 %is_value, label %loop, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}

; Whether all that was read is what it was.
define i1 @weft_held(ptr %held, i64 %count) nounwind {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %one, label %yes
one:
  %e = getelementptr %Held, ptr %held, i64 %i
  %size = load i64, ptr %e
  %ofp = getelementptr %Held, ptr %e, i64 0, i32 {held.of}
  %of = load ptr, ptr %ofp
  %keyp = getelementptr %Held, ptr %e, i64 0, i32 {held.key}
  %key = load ptr, ptr %keyp
  %expectedp = getelementptr %Held, ptr %e, i64 0, i32 {held.expected}
  %expected = load ptr, ptr %expectedp
  %keyed = icmp ne ptr %key, null
  br i1 %keyed, label %name, label %content
name:
  %value = call ptr @PyDict_GetItemWithError(ptr %of, ptr %key)
  %absent = icmp eq ptr %value, null
  br i1 %absent, label %clear, label %named
clear:
  call void @weft_clear()
  br label %named
named:
  %is = icmp eq ptr %value, %expected
  br i1 %is, label %next, label %no
content:
  %memory = icmp sge i64 %size, 0
  br i1 %memory, label %bytes, label %items
bytes:
  %alike = call i1 @weft_alike(ptr %of, ptr %expected, i64 %size)
  br i1 %alike, label %next, label %no
items:
  %number = xor i64 %size, -1
  %all = call i1 @weft_items(ptr %of, ptr %expected, i64 %number)
  br i1 %all, label %next, label %no
next:
  %i1 = add i64 %i, 1
  br label %loop
yes:
  ret i1 true
no:
  ret i1 false
}}
"""
