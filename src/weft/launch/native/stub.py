"""The launch stub: native code between Python and the driver, the same for all kernels.

Python calls it as a builtin in place of ``enqueue_function``. It looks for a launch that the caller
has made before: the same kernel, keywords and types of arguments. Then it checks the values, packs
them and calls the driver; anything else goes on to Python. Arrays of other libraries are read through
DLPack's exchange API, whose functions their types name. What it looks through are the structs of
``abi/sites.py``, which ``runtime/native_launch.py`` fills.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.abi.records import Fields, llvm_record
from weft.abi.sites import BUCKETS, MOST_INTS, MOST_SLOTS, STAYS, Ask, Entry, Held, Site, Table
from weft.dtype import DType
from weft.launch.native.arrays import ARRAYS
from weft.launch.native.held import HELD
from weft.launch.native.pack import PACK

__all__ = ["ENTRY", "stub_text"]

ENTRY = "weft_enqueue"

_TEXT = """
{records}

declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyLong_FromLong(i64)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
@_Py_NoneStruct = external global i8
@PyLong_Type = external global i8
declare i64 @llvm.abs.i64(i64, i1)
declare void @llvm.memcpy.inline.p0.p0.i64(ptr, ptr, i64, i1)

define i1 @weft_same(ptr %x, ptr %y) nounwind {{
entry:
  %x0 = icmp eq ptr %x, null
  %y0 = icmp eq ptr %y, null
  %null = or i1 %x0, %y0
  br i1 %null, label %no, label %sizes
sizes:
  %xp = getelementptr i8, ptr %x, i64 {size_offset}
  %xn = load i64, ptr %xp
  %yp = getelementptr i8, ptr %y, i64 {size_offset}
  %yn = load i64, ptr %yp
  %equal = icmp eq i64 %xn, %yn
  br i1 %equal, label %loop, label %no
loop:
  %i = phi i64 [ 0, %sizes ], [ %i1, %one ]
  %i1 = add i64 %i, 1
  %end = icmp eq i64 %i, %xn
  br i1 %end, label %yes, label %one
one:
  %xi = getelementptr i64, ptr %xp, i64 %i1
  %yi = getelementptr i64, ptr %yp, i64 %i1
  %xv = load i64, ptr %xi
  %yv = load i64, ptr %yi
  %is = icmp eq i64 %xv, %yv
  br i1 %is, label %loop, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}

; The value of an int; where it has more than 64 bits, %overflow is not 0.
define i64 @weft_int(ptr %o, ptr %overflow) alwaysinline nounwind {{
entry:
  %headp = getelementptr i8, ptr %o, i64 16
  %head = load i64, ptr %headp
{digits}
  %few = icmp ule i64 %n, 2
  br i1 %few, label %short, label %long
short:
  %d0p = getelementptr i8, ptr %o, i64 24
  %d0 = load i32, ptr %d0p
  %v0 = zext i32 %d0 to i64
  store i32 0, ptr %overflow
  %two = icmp eq i64 %n, 2
  br i1 %two, label %second, label %done
second:
  %d1p = getelementptr i8, ptr %o, i64 28
  %d1 = load i32, ptr %d1p
  %d1l = zext i32 %d1 to i64
  %high = shl i64 %d1l, 30
  %v1 = or i64 %v0, %high
  br label %done
done:
  %magnitude = phi i64 [ %v0, %short ], [ %v1, %second ]
  %v = mul i64 %magnitude, %sign
  ret i64 %v
long:
  %whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %o, ptr %overflow)
  ret i64 %whole
}}

; The value of a float.
define double @weft_float(ptr %o) alwaysinline nounwind {{
entry:
  %p = getelementptr i8, ptr %o, i64 16
  %v = load double, ptr %p
  ret double %v
}}

{arrays}
{held_code}
{pack}
define ptr @weft_enqueue(ptr %self, ptr %args, i64 %count, ptr %names) nounwind {{
entry:
  %overflow = alloca i32
  %tablep = getelementptr i8, ptr %self, i64 {table_offset}
  %tableo = load ptr, ptr %tablep
  %tablei = call i64 @weft_int(ptr %tableo, ptr %overflow)
  %table = inttoptr i64 %tablei to ptr
  ; while calls are under way, sites that are forgotten stay in memory
  %insidep = getelementptr %Table, ptr %table, i64 0, i32 {table.inside}
  %before = load i64, ptr %insidep
  %more = add i64 %before, 1
  store i64 %more, ptr %insidep
  %result = call ptr @weft_find(ptr %table, ptr %args, i64 %count, ptr %names)
  %after = load i64, ptr %insidep
  %less = sub i64 %after, 1
  store i64 %less, ptr %insidep
  ret ptr %result
}}

define internal ptr @weft_find(ptr %table, ptr %args, i64 %count, ptr %names) alwaysinline nounwind {{
entry:
  %slots = alloca [{most_slots} x i64], align 16
  %params = alloca [{most_slots} x ptr], align 16
  %dims = alloca [{most_dims} x i64], align 16  ; behind the extents, ints that need only be the same
  %owners = alloca [{most_slots} x ptr], align 16
  %ends = alloca [{most_slots} x i64], align 16
  %current_stream = alloca ptr
  %overflow = alloca i32
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %find, label %python
find:
  %kernel = load ptr, ptr %args
  %bits = ptrtoint ptr %kernel to i64
  %shifted = lshr i64 %bits, 4
  %bucket = urem i64 %shifted, {buckets}
  %first = getelementptr %Table, ptr %table, i64 0, i32 {table.buckets}, i64 %bucket
  %changesp = getelementptr %Table, ptr %table, i64 0, i32 {table.changes}
  %changes = load i64, ptr %changesp
  br label %next
next:
  %from = phi ptr [ %first, %find ], [ %site, %miss ]
  %site = load ptr, ptr %from
  %end = icmp eq ptr %site, null
  br i1 %end, label %python, label %compare
compare:
  %kp = getelementptr %Site, ptr %site, i64 0, i32 {site.kernel}
  %k = load ptr, ptr %kp
  %namesp = getelementptr %Site, ptr %site, i64 0, i32 {site.names}
  %ns = load ptr, ptr %namesp
  %countp = getelementptr %Site, ptr %site, i64 0, i32 {site.count}
  %cn = load i64, ptr %countp
  %c0 = icmp eq ptr %k, %kernel
  %c1 = icmp eq i64 %cn, %count
  %c2 = and i1 %c0, %c1
  br i1 %c2, label %keywords, label %miss
keywords:
  %c3 = icmp eq ptr %ns, %names
  br i1 %c3, label %pack, label %tuples
tuples:
  %c4 = call i1 @weft_same(ptr %ns, ptr %names)
  br i1 %c4, label %pack, label %miss
miss:
  br label %next
pack:
  %constp = getelementptr %Site, ptr %site, i64 0, i32 {site.constants}
  %const = load ptr, ptr %constp
  %slotsn = getelementptr %Site, ptr %site, i64 0, i32 {site.slots}
  %nslots = load i64, ptr %slotsn
  br label %prepare
prepare:
  %j = phi i64 [ 0, %pack ], [ %j1, %put ]
  %jmore = icmp ult i64 %j, %nslots
  br i1 %jmore, label %put, label %extents
put:
  %cj = getelementptr i64, ptr %const, i64 %j
  %cv = load i64, ptr %cj
  %sj = getelementptr i64, ptr %slots, i64 %j
  store i64 %cv, ptr %sj
  %pj = getelementptr ptr, ptr %params, i64 %j
  store ptr %sj, ptr %pj
  %j1 = add i64 %j, 1
  br label %prepare
extents:
  %dimsp = getelementptr %Site, ptr %site, i64 0, i32 {site.dims}
  call void @llvm.memcpy.inline.p0.p0.i64(ptr %dims, ptr %dimsp, i64 48, i1 false)
  %packed = call i64 @weft_pack(ptr %site, ptr %args, ptr %slots, ptr %dims, ptr %overflow, ptr %owners,
                            ptr %ends)
  %ok = icmp ne i64 %packed, 0
  br i1 %ok, label %held, label %miss
held:
  %heldp = getelementptr %Site, ptr %site, i64 0, i32 {site.held}
  %helds = load ptr, ptr %heldp
  %held_countp = getelementptr %Site, ptr %site, i64 0, i32 {site.held_count}
  %held_count = load i64, ptr %held_countp
  %unchanged = call i1 @weft_held(ptr %helds, i64 %held_count)
  br i1 %unchanged, label %place, label %miss
place:
  %stream_ofp = getelementptr %Site, ptr %site, i64 0, i32 {site.stream_of}
  %stream_of = load ptr, ptr %stream_ofp
  %own = icmp eq ptr %stream_of, null
  br i1 %own, label %threads, label %guest
guest:
  %devicep = getelementptr %Site, ptr %site, i64 0, i32 {site.device}
  %device = load i64, ptr %devicep
  %device_kind = trunc i64 %device to i32
  %device_high = lshr i64 %device, 32
  %device_id = trunc i64 %device_high to i32
  %told = call i32 %stream_of(i32 %device_kind, i32 %device_id, ptr %current_stream)
  %told_it = icmp eq i32 %told, 0
  br i1 %told_it, label %compare_streams, label %untold
untold:
  call void @weft_clear()
  br label %python
compare_streams:
  %raw = load ptr, ptr %current_stream
  %default = icmp eq ptr %raw, null
  %used_stream = select i1 %default, ptr inttoptr (i64 1 to ptr), ptr %raw
  %its_streamp = getelementptr %Site, ptr %site, i64 0, i32 {site.stream}
  %its_stream = load ptr, ptr %its_streamp
  %the_stream = icmp eq ptr %used_stream, %its_stream
  br i1 %the_stream, label %threads, label %miss
threads:
  %bxp = getelementptr i64, ptr %dims, i64 3
  %bx = load i64, ptr %bxp
  %byp = getelementptr i64, ptr %dims, i64 4
  %by = load i64, ptr %byp
  %bzp = getelementptr i64, ptr %dims, i64 5
  %bz = load i64, ptr %bzp
  %bxy = mul i64 %bx, %by
  %bxyz = mul i64 %bxy, %bz
  %mostp = getelementptr %Site, ptr %site, i64 0, i32 {site.max_threads}
  %most = load i64, ptr %mostp
  %few = icmp ule i64 %bxyz, %most
  ; reading an array may have run code of Python, which may have closed what the site is for
  %changes1 = load i64, ptr %changesp
  %steady = icmp eq i64 %changes, %changes1
  %still = and i1 %few, %steady
  br i1 %still, label %launch, label %python
launch:
  %gx = load i64, ptr %dims
  %gyp = getelementptr i64, ptr %dims, i64 1
  %gy = load i64, ptr %gyp
  %gzp = getelementptr i64, ptr %dims, i64 2
  %gz = load i64, ptr %gzp
  %gx32 = trunc i64 %gx to i32
  %gy32 = trunc i64 %gy to i32
  %gz32 = trunc i64 %gz to i32
  %bx32 = trunc i64 %bx to i32
  %by32 = trunc i64 %by to i32
  %bz32 = trunc i64 %bz to i32
  %usedp = getelementptr %Site, ptr %site, i64 0, i32 {site.used}
  store i64 1, ptr %usedp
  %functionp = getelementptr %Site, ptr %site, i64 0, i32 {site.function}
  %function = load ptr, ptr %functionp
  %streamp = getelementptr %Site, ptr %site, i64 0, i32 {site.stream}
  %stream = load ptr, ptr %streamp
  %sharedp = getelementptr %Site, ptr %site, i64 0, i32 {site.shared}
  %shared = load i64, ptr %sharedp
  %shared32 = trunc i64 %shared to i32
  %configp = getelementptr %Site, ptr %site, i64 0, i32 {site.config}
  %config = load ptr, ptr %configp
  %plain = icmp eq ptr %config, null
  %state = call ptr @PyEval_SaveThread()
  br i1 %plain, label %simple, label %extended
extended:
  %call_exp = getelementptr %Table, ptr %table, i64 0, i32 {table.launch_ex}
  %call_ex = load ptr, ptr %call_exp
  %rc1 = call i32 %call_ex(ptr %config, ptr %function, ptr %params, ptr null)
  br label %launched
simple:
  %call = load ptr, ptr %table
  %rc0 = call i32 %call(ptr %function, i32 %gx32, i32 %gy32, i32 %gz32, i32 %bx32, i32 %by32, i32 %bz32,
                       i32 %shared32, ptr %stream, ptr %params, ptr null)
  br label %launched
launched:
  %rc = phi i32 [ %rc0, %simple ], [ %rc1, %extended ]
  call void @PyEval_RestoreThread(ptr %state)
  %fine = icmp eq i32 %rc, 0
  br i1 %fine, label %done, label %failed
done:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
failed:
  switch i32 %rc, label %raise [ {elsewhere} ]
raise:
  %rc64 = sext i32 %rc to i64
  %number = call ptr @PyLong_FromLong(i64 %rc64)
  %failp = getelementptr %Table, ptr %table, i64 0, i32 {table.failed}
  %fail = load ptr, ptr %failp
  %raised = call ptr @PyObject_CallOneArg(ptr %fail, ptr %number)
  call void @Py_DecRef(ptr %number)
  ret ptr %raised
python:
  ; kept, since another thread may look for its own keywords by then; both may be null
  %lastp = getelementptr %Table, ptr %table, i64 0, i32 {table.names}
  %last = load ptr, ptr %lastp
  call void @Py_IncRef(ptr %names)
  store ptr %names, ptr %lastp
  call void @Py_DecRef(ptr %last)
  %slowp = getelementptr %Table, ptr %table, i64 0, i32 {table.slow}
  %slow = load ptr, ptr %slowp
  %result = call ptr @PyObject_Vectorcall(ptr %slow, ptr %args, i64 %count, ptr %names)
  ret ptr %result
}}
"""


_RECORDS = (Table, Site, Entry, Held)

# How an int has its number of digits, of 30 bits each, and its sign. Python's C API has no such access.
_DIGITS = """  %n = lshr i64 %head, 3
  %kind = and i64 %head, 3
  %sign = sub i64 1, %kind
"""
_DIGITS_3_11 = """  %n = call i64 @llvm.abs.i64(i64 %head, i1 false)
  %negative = icmp slt i64 %head, 0
  %some = icmp ne i64 %head, 0
  %positive = zext i1 %some to i64
  %sign = select i1 %negative, i64 -1, i64 %positive
"""
_UNKNOWN = """  %n = add i64 3, 0
  %sign = add i64 1, 0
"""


def _digits(version: tuple[int, int]) -> str:
    if version > (3, 14):
        return _UNKNOWN
    return _DIGITS if version >= (3, 12) else _DIGITS_3_11


def stub_text(
    *,
    version: tuple[int, int],
    type_offset: int,
    table_offset: int,
    address_offset: int,
    owner_offset: int,
    elsewhere: Sequence[int],
) -> str:
    """The stub as LLVM IR.

    Args:
        version: Python's, which decides on the form of its ints.
        type_offset: where an object has its type; a tuple has its length and items behind.
        table_offset: where the builtin's ``self`` has the number that is the table's address.
        address_offset: where a buffer has its address.
        owner_offset: where a buffer has the owner of its memory.
        elsewhere: the driver's statuses with which Python tries again.
    """
    facts = {
        "type_offset": type_offset,
        "size_offset": type_offset + 8,
        "table_offset": table_offset,
        "address_offset": address_offset,
        "owner_offset": owner_offset,
        "most_slots": MOST_SLOTS,
        "most_dims": Site.dims.size // 8 + MOST_INTS,
        "buckets": BUCKETS,
        "stays": STAYS,
        "single": DType.float32.greatest,
        "double": DType.float64.greatest,
        "ask": Ask,
        **{record.__name__.lower(): Fields(record) for record in _RECORDS},
    }
    return _TEXT.format(
        **facts,
        records="\n".join(map(llvm_record, _RECORDS)),
        pack=PACK.format(**facts),
        elsewhere=" ".join(f"i32 {status}, label %python" for status in elsewhere),
        arrays=ARRAYS,
        held_code=HELD.format(**facts),
        digits=_digits(version),
    )
