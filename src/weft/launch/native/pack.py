"""The part of the launch stub that checks arguments against a site's entries and packs them, as LLVM IR.

What an entry asks is decided by its kind, one of ``abi/sites.py``. Braces are doubled, since
``launch/native/stub.py`` fills in offsets and the numbers of fields by ``str.format``.
"""

from __future__ import annotations

__all__ = ["PACK"]

PACK = """
; Whether a tuple is that many ints, each within its range; the ints.
define i1 @weft_ints(ptr %tuple, ptr %ranges, i64 %count, ptr %into, ptr %overflow) nounwind {{
entry:
  %sizep = getelementptr i8, ptr %tuple, i64 {size_offset}
  %size = load i64, ptr %sizep
  %equal = icmp eq i64 %size, %count
  br i1 %equal, label %loop, label %no
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i, %count
  br i1 %more, label %one, label %yes
one:
  %itemp = getelementptr ptr, ptr %sizep, i64 %i1
  %item = load ptr, ptr %itemp
  %typep = getelementptr i8, ptr %item, i64 {type_offset}
  %type = load ptr, ptr %typep
  %is_int = icmp eq ptr %type, @PyLong_Type
  br i1 %is_int, label %value, label %no
value:
  %x = call i64 @weft_int(ptr %item, ptr %overflow)
  %o = load i32, ptr %overflow
  %fits = icmp eq i32 %o, 0
  %lowp = getelementptr [2 x i64], ptr %ranges, i64 %i, i64 0
  %low = load i64, ptr %lowp
  %highp = getelementptr [2 x i64], ptr %ranges, i64 %i, i64 1
  %high = load i64, ptr %highp
  %above = icmp sge i64 %x, %low
  %below = icmp sle i64 %x, %high
  %within0 = and i1 %above, %below
  %within = and i1 %within0, %fits
  br i1 %within, label %next, label %no
next:
  %intop = getelementptr i64, ptr %into, i64 %i
  store i64 %x, ptr %intop
  br label %loop
yes:
  ret i1 true
no:
  ret i1 false
}}

define i64 @weft_pack(ptr %site, ptr %args, ptr %slots, ptr %dims, ptr %overflow, ptr %owners, ptr %ends)
    alwaysinline nounwind {{
entry:
  %totalp = getelementptr %Site, ptr %site, i64 0, i32 {site.total}
  %total = load i64, ptr %totalp
  %entriesp = getelementptr %Site, ptr %site, i64 0, i32 {site.entries}
  %entries = load ptr, ptr %entriesp
  %apartp = getelementptr %Site, ptr %site, i64 0, i32 {site.apart}
  %apart = load i64, ptr %apartp
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %again ], [ %i1, %owned ], [ %i1, %lies ],
           [ %i1, %member ], [ %i1, %inside ], [ %i1, %found ]
  %place = phi i64 [ 0, %entry ], [ %place2, %again ], [ %place2, %owned ], [ %place2, %lies ],
               [ %place, %member ], [ %place, %inside ], [ %place, %found ]
  %within = phi ptr [ null, %entry ], [ null, %again ], [ null, %owned ], [ null, %lies ],
               [ %arg, %member ], [ %part, %inside ], [ %value_of_field, %found ]
  %taken = phi i64 [ 0, %entry ], [ %taken, %again ], [ %taken1, %owned ], [ %taken2, %lies ],
               [ %taken, %member ], [ %taken, %inside ], [ %taken, %found ]
  %more = icmp ult i64 %i, %total
  br i1 %more, label %one, label %yes
one:
  %i1 = add i64 %i, 1
  %place1 = add i64 %place, 1
  %argp = getelementptr ptr, ptr %args, i64 %place1
  %given = load ptr, ptr %argp
  %whole = icmp eq ptr %within, null
  %arg = select i1 %whole, ptr %given, ptr %within
  %e = getelementptr %Entry, ptr %entries, i64 %i
  %how = load i64, ptr %e
  %kind = urem i64 %how, {stays}
  %stays = icmp uge i64 %how, {stays}  ; the next entry is for the same argument, a struct
  %place2 = select i1 %stays, i64 %place, i64 %place1
  %whatp = getelementptr %Entry, ptr %e, i64 0, i32 {entry.what}
  %what = load ptr, ptr %whatp
  %ap = getelementptr %Entry, ptr %e, i64 0, i32 {entry.a}
  %a = load i64, ptr %ap
  %bp = getelementptr %Entry, ptr %e, i64 0, i32 {entry.b}
  %b = load i64, ptr %bp
  %cp = getelementptr %Entry, ptr %e, i64 0, i32 {entry.c}
  %c = load i64, ptr %cp
  %np = getelementptr %Entry, ptr %e, i64 0, i32 {entry.slot}
  %n = load i64, ptr %np
  %slot = getelementptr i64, ptr %slots, i64 %n
  %same = icmp eq i64 %kind, {ask.IDENTITY}
  br i1 %same, label %identity, label %typed
identity:
  %is = icmp eq ptr %arg, %what
  br i1 %is, label %again, label %no
typed:
  %typep = getelementptr i8, ptr %arg, i64 {type_offset}
  %type = load ptr, ptr %typep
  %right = icmp eq ptr %type, %what
  br i1 %right, label %value, label %no
value:
  switch i64 %kind, label %no [ i64 {ask.BUFFER}, label %buffer
                                i64 {ask.INTEGER}, label %integer
                                i64 {ask.SINGLE}, label %single
                                i64 {ask.DOUBLE}, label %double
                                i64 {ask.DIMENSION}, label %dimension
                                i64 {ask.INT_SINGLE}, label %int_single
                                i64 {ask.INT_DOUBLE}, label %int_double
                                i64 {ask.MEMBER}, label %has
                                i64 {ask.INSIDE}, label %inside
                                i64 {ask.ARRAY}, label %array
                                i64 {ask.REFUSES}, label %asked
                                i64 {ask.INTS}, label %ints
                                i64 {ask.WIDE}, label %wide
                                i64 {ask.NARROW}, label %narrow
                                i64 {ask.SCALAR}, label %scalar
                                i64 {ask.FIELD}, label %field ]
field:
  %field_name = inttoptr i64 %a to ptr
  %value_of_field = call ptr @PyObject_GetAttr(ptr %arg, ptr %field_name)
  %without = icmp eq ptr %value_of_field, null
  br i1 %without, label %fieldless, label %found
fieldless:
  call void @weft_clear()
  br label %no
found:
  call void @Py_DecRef(ptr %value_of_field)  ; the struct keeps it
  br label %loop
ints:
  %rangesp = inttoptr i64 %a to ptr
  %into = getelementptr i64, ptr %dims, i64 %c
  %whole_ints = call i1 @weft_ints(ptr %arg, ptr %rangesp, i64 %b, ptr %into, ptr %overflow)
  br i1 %whole_ints, label %again, label %no
asked:
  %namep = inttoptr i64 %a to ptr
  %denied = call i1 @weft_false(ptr %arg, ptr %namep)
  br i1 %denied, label %member, label %no
array:
  %readp = inttoptr i64 %a to ptr
  %expectedp = inttoptr i64 %b to ptr
  %beginp = getelementptr i64, ptr %owners, i64 %taken
  %endp = getelementptr i64, ptr %ends, i64 %taken
  %suits = call i1 @weft_array(ptr %arg, ptr %readp, ptr %expectedp, i64 %c, ptr %beginp, ptr %endp)
  br i1 %suits, label %region, label %no
region:
  %begin = load i64, ptr %beginp
  store i64 %begin, ptr %slot
  %stop = load i64, ptr %endp
  %taken2 = add i64 %taken, 1
  %compare = icmp ne i64 %apart, 0
  br i1 %compare, label %regions, label %lies
regions:
  %r = phi i64 [ 0, %region ], [ %r1, %beside ]
  %rmore = icmp ult i64 %r, %taken
  br i1 %rmore, label %beside, label %lies
beside:
  %r1 = add i64 %r, 1
  %rbeginp = getelementptr i64, ptr %owners, i64 %r
  %rbegin = load i64, ptr %rbeginp
  %rendp = getelementptr i64, ptr %ends, i64 %r
  %rend = load i64, ptr %rendp
  %starts = icmp ult i64 %begin, %rend
  %ends1 = icmp ult i64 %rbegin, %stop
  %overlap = and i1 %starts, %ends1
  br i1 %overlap, label %no, label %regions
lies:
  br label %loop
has:
  %hasp = getelementptr i8, ptr %arg, i64 %a
  %member_is = load i64, ptr %hasp
  %hasit = icmp eq i64 %member_is, %b
  br i1 %hasit, label %member, label %no
member:
  br label %loop
inside:
  %partp = getelementptr i8, ptr %arg, i64 %a
  %part = load ptr, ptr %partp
  br label %loop
buffer:
  %keyp = getelementptr i8, ptr %arg, i64 %a
  %key = load i64, ptr %keyp
  %mine = icmp eq i64 %key, %b
  br i1 %mine, label %open, label %no
open:
  %addressp = getelementptr i8, ptr %arg, i64 {address_offset}
  %addresso = load ptr, ptr %addressp
  %address = call i64 @weft_int(ptr %addresso, ptr %overflow)
  %odd = and i64 %address, %c
  %aligned = icmp eq i64 %odd, 0
  br i1 %aligned, label %owner, label %no
owner:
  store i64 %address, ptr %slot
  %ownerp = getelementptr i8, ptr %arg, i64 {owner_offset}
  %ownero = load ptr, ptr %ownerp
  %check = icmp ne i64 %apart, 0
  br i1 %check, label %others, label %again
others:
  %q = phi i64 [ 0, %owner ], [ %q1, %other ]
  %qmore = icmp ult i64 %q, %taken
  br i1 %qmore, label %other, label %note
other:
  %q1 = add i64 %q, 1
  %qp = getelementptr ptr, ptr %owners, i64 %q
  %qo = load ptr, ptr %qp
  %shared = icmp eq ptr %qo, %ownero
  br i1 %shared, label %no, label %others
note:
  %notep = getelementptr ptr, ptr %owners, i64 %taken
  store ptr %ownero, ptr %notep
  br label %owned
owned:
  %taken1 = add i64 %taken, 1
  br label %loop
integer:
  %vi = call i64 @weft_int(ptr %arg, ptr %overflow)
  %o = load i32, ptr %overflow
  %o0 = icmp eq i32 %o, 0
  br i1 %o0, label %bounded, label %no
wide:
  %vwp = getelementptr i8, ptr %arg, i64 16
  %vw = load i64, ptr %vwp
  br label %bounded
narrow:
  %vnp = getelementptr i8, ptr %arg, i64 16
  %vn32 = load i32, ptr %vnp
  %vn = sext i32 %vn32 to i64
  br label %bounded
scalar:
  %vsp = getelementptr i8, ptr %arg, i64 16
  %vs = load i32, ptr %vsp
  store i32 %vs, ptr %slot
  br label %again
bounded:
  %v = phi i64 [ %vi, %integer ], [ %vw, %wide ], [ %vn, %narrow ]
  %low = icmp sge i64 %v, %a
  %high = icmp sle i64 %v, %b
  %in = and i1 %low, %high
  br i1 %in, label %keep, label %no
keep:
  store i64 %v, ptr %slot
  br label %again
single:
  %d = call double @weft_float(ptr %arg)
  %f = fptrunc double %d to float
  store float %f, ptr %slot
  br label %again
double:
  %dd = call double @weft_float(ptr %arg)
  store double %dd, ptr %slot
  br label %again
dimension:
  %x = call i64 @weft_int(ptr %arg, ptr %overflow)
  %xo = load i32, ptr %overflow
  %xo0 = icmp eq i32 %xo, 0
  %xlow = icmp sge i64 %x, %a
  %xhigh = icmp sle i64 %x, %b
  %xin0 = and i1 %xlow, %xhigh
  %xin = and i1 %xin0, %xo0
  br i1 %xin, label %extent, label %no
extent:
  %dim = getelementptr i64, ptr %dims, i64 %c
  store i64 %x, ptr %dim
  br label %again
int_single:
  %u = call i64 @weft_int(ptr %arg, ptr %overflow)
  %uo = load i32, ptr %overflow
  %uo0 = icmp eq i32 %uo, 0
  %ulow = icmp sge i64 %u, -{single}
  %uhigh = icmp sle i64 %u, {single}
  %uin0 = and i1 %ulow, %uhigh
  %uin = and i1 %uin0, %uo0
  br i1 %uin, label %uf, label %no
uf:
  %us = sitofp i64 %u to float
  store float %us, ptr %slot
  br label %again
int_double:
  %w = call i64 @weft_int(ptr %arg, ptr %overflow)
  %wo = load i32, ptr %overflow
  %wo0 = icmp eq i32 %wo, 0
  %wlow = icmp sge i64 %w, -{double}
  %whigh = icmp sle i64 %w, {double}
  %win0 = and i1 %wlow, %whigh
  %win = and i1 %win0, %wo0
  br i1 %win, label %wf, label %no
wf:
  %wd = sitofp i64 %w to double
  store double %wd, ptr %slot
  br label %again
again:
  br label %loop
yes:
  ret i64 1
no:
  ret i64 0
}}
"""
