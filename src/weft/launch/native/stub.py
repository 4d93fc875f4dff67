"""The launch stub: what stands between Python and the driver, the same for all kernels, in weft itself.

Python calls it as a builtin in place of ``enqueue_function``. It looks for a launch that the caller
has made before: the same kernel, keywords and types of arguments. Then it checks the values, packs
them and calls the driver; anything else goes on to Python. What it looks through are the structs of
``tables.py``, which ``launcher.py`` fills.
"""

from __future__ import annotations

from weft.lang.decorators import func
from weft.lang.external import external_call
from weft.lang.pointer import Pointer
from weft.lang.scalars import Float32, Float64, Int, Int32, UInt32
from weft.launch.native import tables
from weft.launch.native.arrays import clear, read_array
from weft.launch.native.direct import launch_direct
from weft.launch.native.tables import (
    Ask,
    Described,
    Entry,
    Expected,
    Held,
    Site,
    Table,
)
from weft.memory import stack_allocation

_PYTHON = -1
"""Beside the driver's statuses: Python makes the launch."""


@func
def _word(at: Int):
    return Pointer.from_address(at, Int)[0]


@func
def weft_enqueue(self: Int, args: Pointer[Int], count: Int, names: Int):
    """A builtin of Python's (``METH_FASTCALL | METH_KEYWORDS``), of which ``self`` is the table."""
    table = Pointer.from_address(_word(self + tables.MEMORY_AT), Table)
    table[0].inside += 1
    result = _enqueue(table, args, count, names)
    table[0].inside -= 1
    return result


@func
def _enqueue(table: Pointer[Table], args: Pointer[Int], count: Int, names: Int):
    status = Int32(_PYTHON)
    table[0].known = 0
    if count > 0:
        status = _find(table, args, count, names)
    if status == 0:
        external_call["Py_IncRef", None](table[0].none)
        return table[0].none
    if status != _PYTHON:
        number = external_call["PyLong_FromLong", Int](Int(status))
        raised = external_call["PyObject_CallOneArg", Int](table[0].failed, number)
        external_call["Py_DecRef", None](number)
        if raised == 0:
            return raised
        external_call["Py_DecRef", None](raised)
    # kept, since another thread may look for its own keywords by then; both may be null
    last = table[0].names
    external_call["Py_IncRef", None](names)
    table[0].names = names
    external_call["Py_DecRef", None](last)
    return external_call["PyObject_Vectorcall", Int](table[0].slow, args, count, names)


@func
def _find(table: Pointer[Table], args: Pointer[Int], count: Int, names: Int) -> Int32:
    """Find the site of a call, and launch; the driver's status."""
    slots, kernel = stack_allocation(Int, tables.ARGUMENTS + tables.MOST_SLOTS + 1), args[0]
    changes = table[0].changes
    at = table[0].buckets[(kernel >> 4) & (tables.BUCKETS - 1)]
    while Int(at) != 0:
        if at[0].kernel == kernel and at[0].count == count and _same_names(at[0].names, names):
            block = at[0].block
            for n in range(at[0].slots):
                slots[n] = block[n]
            known = _pack(table, at, args, slots) and _describe(at[0].tiles, at[0].tile_count, slots)
            if known and _unchanged(table, at[0].helds, at[0].held_count):
                stream = _stream(table, at)
                # reading an array may have run code of Python, which may have closed what the site is for
                threads = slots[3] * slots[4] * slots[5]
                if stream == _PYTHON or threads > at[0].max_threads or table[0].changes != changes:
                    break
                if stream == at[0].stream:
                    return _launch(table, at, slots, args)
        at = at[0].next
    return Int32(_PYTHON)


@func
def _same_names(one: Int, other: Int):
    if one == other or one == 0 or other == 0:
        return one == other
    return external_call["PyObject_RichCompareBool", Int32](one, other, Int32(2)) == 1


@func
def _stream(table: Pointer[Table], at: Pointer[Site]):
    """The stream that a launch must be on: for arrays of another library the one that is current there."""
    current, device = stack_allocation(Int, 1), at[0].device
    current[0] = at[0].stream
    if Int(at[0].stream_of) != 0:
        if at[0].stream_of(device.cast(Int32), (device >> 32).cast(Int32), current) != 0:
            clear(table)
            current[0] = _PYTHON
        elif current[0] == 0:
            current[0] = 1
    return current[0]


@func
def _launch(table: Pointer[Table], at: Pointer[Site], slots: Pointer[Int], args: Pointer[Int]):
    params, status = stack_allocation(Int, tables.MOST_SLOTS), Int32(0)
    for n in range(at[0].slots - tables.ARGUMENTS):
        params[n] = Int(slots + (tables.ARGUMENTS + n))
    at[0].used = 1
    if Int(table[0].launch) == 0:
        return launch_direct(table, at, slots, args)
    config, function, stream = at[0].config, at[0].function, at[0].stream
    gx, gy, gz = slots[0].cast(UInt32), slots[1].cast(UInt32), slots[2].cast(UInt32)
    bx, by, bz = slots[3].cast(UInt32), slots[4].cast(UInt32), slots[5].cast(UInt32)
    shared, launch, launch_ex = at[0].shared.cast(UInt32), table[0].launch, table[0].launch_ex
    state = external_call["PyEval_SaveThread", Int]()
    if config != 0:
        status = launch_ex(config, function, params, 0)
    else:
        status = launch(function, gx, gy, gz, bx, by, bz, shared, stream, params, 0)
    external_call["PyEval_RestoreThread", None](state)
    return status


@func
def _pack(table: Pointer[Table], at: Pointer[Site], args: Pointer[Int], slots: Pointer[Int]):
    """Put the arguments into the slots; whether they are what the site asks."""
    begins, ends = stack_allocation(Int, tables.MOST_SLOTS), stack_allocation(Int, tables.MOST_SLOTS)
    place, within, taken = Int(1), Int(0), Int(0)
    entries, apart, type_at = at[0].entries, at[0].apart, table[0].type_at
    for n in range(at[0].total):
        entry = entries[n]
        kind, given = entry.kind & (tables.STAYS - 1), within
        if given == 0:
            given = args[place]
        within = 0
        if given != entry.seen:
            if _word(given + type_at) != entry.what:
                return False
            if kind >= Ask.WORD:
                within = _led(table, entry, kind, given)
                if within == 0:
                    return False
            elif kind >= Ask.BUFFER:
                begin, end = _memory(table, entry, kind, given, slots)
                if end < begin or slots[entry.slot] & entry.c != 0:
                    return False
                if apart != 0:
                    for other in range(taken):
                        if begin < ends[other] and begins[other] < end:
                            return False
                    begins[taken] = begin
                    ends[taken] = end
                    taken += 1
            elif not _number(entry, kind, given, slots):
                return False
        if within == 0 and entry.kind < tables.STAYS:
            place += 1
    return True


@func
def _led(table: Pointer[Table], entry: Entry, kind: Int, given: Int):
    """The object that the next entry is for; 0 where this one has not what it asks."""
    found = Int(0)
    if kind == Ask.WORD:
        if _word(given + entry.a) == entry.b:
            found = given
    elif kind == Ask.PART:
        found = _word(given + entry.a)
    elif kind == Ask.FIELD:
        found = external_call["PyObject_GetAttr", Int](given, entry.a)
        external_call["Py_DecRef", None](found)  # the struct keeps it
    else:
        method = stack_allocation(Int, 1)
        method[0] = given
        result = external_call["PyObject_VectorcallMethod", Int](entry.a, method, Int(1), Int(0))
        external_call["Py_DecRef", None](result)
        if result == table[0].false:
            found = given
    if found == 0:
        clear(table)
    return found


@func
def _memory(table: Pointer[Table], entry: Entry, kind: Int, given: Int, slots: Pointer[Int]):
    """Put an address into its slot; gives a range that others of that memory overlap, -1 long for none."""
    begin, end = Int(0), Int(-1)
    if kind == Ask.ARRAY:
        begin, end = read_array(table, given, Pointer.from_address(entry.b, Expected))
        slots[entry.slot] = begin
    elif _word(given + table[0].key_at) == entry.a:
        address = _word(given + table[0].address_at)
        if address != entry.b:
            slots[entry.slot] = _integer(address, stack_allocation(Int32, 1))
        begin = _word(given + table[0].owner_at)
        end = begin + 1
    return begin, end


@func
def _integer(given: Int, overflow: Pointer[Int32]):
    return external_call["PyLong_AsLongLongAndOverflow", Int](given, overflow)


@func
def _number(entry: Entry, kind: Int, given: Int, slots: Pointer[Int]):
    if kind == Ask.FLOAT:
        real = external_call["PyFloat_AsDouble", Float64](given)
        slots[entry.slot] = real.bitcast(Int)
        if entry.c == tables.AS_SINGLE:
            single = real.cast(Float32)
            slots[entry.slot] = Int(single.bitcast(UInt32))
            return single - single == 0.0 or real - real != 0.0  # Python refuses what became infinite
        return True
    overflow = stack_allocation(Int32, 1)
    value = _integer(given, overflow)
    slots[entry.slot] = value
    if entry.c == tables.AS_SINGLE:
        slots[entry.slot] = Int(Float32(value).bitcast(UInt32))
    elif entry.c == tables.AS_DOUBLE:
        slots[entry.slot] = Float64(value).bitcast(Int)
    return overflow[0] == 0 and entry.a <= value and value <= entry.b


@func
def _describe(tiles: Pointer[Described], count: Int, slots: Pointer[Int]):
    """Put where tiles are described into their slots; whether that is known of all."""
    for n in range(count):
        each, found = tiles[n], False
        for k in range(each.count):
            if each.known[2 * k] == slots[tables.ARGUMENTS + each.source]:
                slots[tables.ARGUMENTS + each.slot] = each.known[2 * k + 1]
                found = True
                break
        if not found:
            return False
    return True


@func
def _unchanged(table: Pointer[Table], helds: Pointer[Held], count: Int):
    """Whether all that the kernel's code has read is what it was."""
    for n in range(count):
        held, same = helds[n], False
        if held.key != 0:
            value = external_call["PyDict_GetItemWithError", Int](held.of, held.key)
            same = value == held.expected
            if value == 0:
                clear(table)
        elif held.size >= 0:
            same = external_call["memcmp", Int32](held.of, held.expected, held.size) == 0
        else:
            same = _has_items(held.of, Pointer.from_address(held.expected, Int), ~held.size)
        if not same:
            return False
    return True


@func
def _has_items(dictionary: Int, expected: Pointer[Int], count: Int):
    """Whether a dictionary has these keys, then these values, in this order."""
    at = stack_allocation(Int, 3)  # where the dictionary is at, a key and its value
    at[0] = 0
    same = external_call["PyDict_Size", Int](dictionary) == count
    for n in range(count):
        same = same and external_call["PyDict_Next", Int32](dictionary, at, at + 1, at + 2) != 0
        if not same or at[1] != expected[n] or at[2] != expected[n + count]:
            return False
    return same
