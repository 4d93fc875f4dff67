"""Products of matrices in shared memory by four warps together: the tensor cores of Hopper, ``wgmma``.

A *warpgroup* is 128 threads that follow each other in the block. It multiplies 64 rows of ``a`` with up to
256 rows of ``b``, which both lie in shared memory in rows of 128 bytes along k, *swizzled*: of row r the 16
bytes number c lie at ``c ^ (r % 8)``, so that eight rows meet all banks (``swizzled`` says where an element
goes). ``a`` may also be in registers, and ``b`` in rows along n. The sums stay in registers. The hardware
goes on by itself: ``wait`` says how many products may still run.

On an NVIDIA GPU of compute capability 9.0 these are ``wgmma.mma_async`` (PTX ISA, "Asynchronous Warpgroup
Level Matrix Instructions"). On a CPU each warp computes its 16 rows where the product begins.

Example:
    >>> from weft import BFloat16, Float32, Pointer, kernel
    >>> from weft.gpu import barrier, thread_idx
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.memory import AddressSpace, stack_allocation
    >>> @kernel
    ... def product(out: Pointer[Float32]):
    ...     a = stack_allocation(BFloat16, 64 * 64, address_space=AddressSpace.SHARED, alignment=1024)
    ...     b = stack_allocation(BFloat16, 8 * 64, address_space=AddressSpace.SHARED, alignment=1024)
    ...     for i in range(thread_idx.x, 64 * 64, 128):
    ...         a[swizzled(BFloat16, i // 64, i % 64)] = 1.0
    ...     for i in range(thread_idx.x, 8 * 64, 128):
    ...         b[swizzled(BFloat16, i // 64, i % 64)] = 0.5
    ...     async_proxy_fence()
    ...     barrier()
    ...     sums = wgmma_async(a, b, warpgroup_zero(8))
    ...     for n, (row, column) in enumerate(warpgroup_places(8)):
    ...         out[row * 8 + column] = sums[n]
    >>> ctx = DeviceContext(api="cpu")
    >>> out = ctx.enqueue_create_buffer(Float32, 512)
    >>> ctx.enqueue_function(product, out, grid_dim=1, block_dim=128)
    >>> with out.map_to_host() as host:
    ...     print({float(x) for x in host})
    {32.0}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar, cast, overload

from weft.diagnostics import refuse
from weft.diagnostics.modules import present
from weft.dtype import DType, DTypeLike, as_dtype
from weft.gpu.by_warp import multiplied
from weft.gpu.lanes import lane_id, warp_id
from weft.lang.comptime import Comptime, unroll
from weft.lang.decorators import func
from weft.lang.hints import kind_of
from weft.lang.intrinsics import Feature, current_target, inline_asm
from weft.lang.machine import by_warp, note_use, threads_are_loops, uses_thread
from weft.lang.number import Number, NumberLike, number_class
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Float32, Int, UInt32
from weft.memory import stack_allocation

__all__ = [
    "async_proxy_fence",
    "set_max_registers",
    "swizzled",
    "warpgroup_pairs",
    "warpgroup_places",
    "warpgroup_zero",
    "wgmma_async",
    "wgmma_wait",
]

_LINE = 128
"""Bytes of a row along k."""
_CHUNK = 16
_WORD = 4
_KINDS = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "tf32",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "int8": "s8",
    "uint8": "u8",
}
_ALIKE = ({"float16"}, {"bfloat16"}, {"float32"}, {"float8_e4m3fn", "float8_e5m2"}, {"int8"}, {"uint8"})
"""Types that are multiplied with each other."""
_SUMS = {"float32": "f32", "float16": "f16", "int32": "s32"}
_STEP = 32
"""Bytes along k that one instruction takes."""
_MOST_STEPS = 16
_FORM = 8 * _LINE // 16 | 1 << 30
"""The high word of a descriptor: eight rows of a swizzled tile follow each other, the next eight these."""

N = TypeVar("N", bound=Number)


def swizzled(dtype: DTypeLike, row: NumberLike, column: NumberLike) -> Any:
    """Where an element lies in a tile of swizzled rows of 128 bytes, counted in elements.

    Args:
        dtype: the elements' type, whose 128 bytes are a row.
        row: the element's row.
        column: its place in the row.
    """
    each = _CHUNK // as_dtype(dtype).itemsize
    line = _LINE // as_dtype(dtype).itemsize
    row, column = Int(row), Int(column)
    return row * line + (column // each ^ row % 8) * each + column % each


def async_proxy_fence() -> None:
    """Let ``wgmma_async`` and bulk copies see what this thread wrote to shared memory, by ``async_copy`` too.

    After the writes, and before the barrier behind which the product or the copy begins. It does nothing
    where the target has neither. PTX: ``fence.proxy.async``.
    """
    uses_thread()
    if current_target().supports(Feature.TENSOR_MEMORY_ACCESS):
        inline_asm("fence.proxy.async.shared::cta;", None, constraints="", effects="block")


def set_max_registers(count: int, *, more: bool) -> None:
    """Give registers to the other warps of the block, or take some of them. PTX: ``setmaxnreg``.

    Args:
        count: how many each thread of this warpgroup may have from now on: 24 to 256, a multiple of 8.
        more: whether these are more than before. All warps of a warpgroup come to it together.

    The kernel says by ``launch_bounds`` how many threads a block has, from which follows how many registers
    each begins with: 65536 by the threads, down to a multiple of 8. All together never have more than that
    times the threads: who asks for what no other has given up waits for ever. With 384 threads that is 168
    for each, so 40 and twice 232, or 24 and twice 240. It does nothing where registers cannot be handed on.
    """
    uses_thread()
    if not 24 <= count <= 256 or count % 8:
        refuse("mma", f"{count} registers", hint="from 24 to 256, a multiple of 8")
    if current_target().supports(Feature.TENSOR_MEMORY_ACCESS):
        word = "inc" if more else "dec"
        inline_asm(f"setmaxnreg.{word}.sync.aligned.u32 {count};", None, constraints="", effects="block")


@overload
def warpgroup_zero(n: int) -> tuple[Float32, ...]: ...
@overload
def warpgroup_zero(n: int, dtype: type[N]) -> tuple[N, ...]: ...
def warpgroup_zero(n: int, dtype: Any = Float32) -> tuple[Any, ...]:
    """A thread's sums of 64 x ``n`` to begin with: ``n // 2`` of them. n is 8 to 256, a multiple of 8.

    Args:
        n: columns of the product.
        dtype: Float32; Float16 for products of Float16 and 8-bit floats; Int32 for those of 8-bit integers.
    """
    if not 8 <= n <= 256 or n % 8:
        refuse("mma", f"a warpgroup multiplies with 8 to 256 columns, not {n}", hint="a multiple of 8")
    return (dtype(0),) * (n // 2)


def warpgroup_places(n: int) -> list[tuple[Any, Any]]:
    """Row and column of each of this thread's sums: two neighbours in a row, then two eight rows below."""
    lane = lane_id()
    row, column = warp_id() % 4 * 16 + (lane >> 2), 2 * (lane & 3)
    return [
        (row + 8 * half, column + 8 * j + i) for j in range(n // 8) for half in range(2) for i in range(2)
    ]


def warpgroup_pairs(sums: tuple[Float32, ...], dtype: DTypeLike) -> list[tuple[tuple[Any, Any], Any]]:
    """Each two neighbours in a row, as a vector of a type, with row and column of the first.

    Args:
        sums: this thread's, which were waited for: all of them, or those of some eights of columns.
        dtype: the type that they are converted to.
    """
    pair = number_class(Float32.dtype, 2)
    found = range(0, len(sums), 2)
    places = warpgroup_places(2 * len(sums))
    return [(places[i], pair(sums[i], sums[i + 1]).cast(as_dtype(dtype))) for i in found]


def wgmma_async(
    a: Pointer[Any] | Sequence[Number],
    b: Pointer[Any],
    sums: tuple[N, ...],
    *,
    wait: int | None = 0,
    a_major: Literal["k", "m"] = "k",
    b_major: Literal["k", "n"] = "k",
) -> tuple[N, ...]:
    """``a @ b.T + sums`` by the 128 threads of a warpgroup; ``a @ b`` where ``b`` lies in rows along n.

    Args:
        a: 64 swizzled rows of 128 bytes in shared memory, at a multiple of 1024 bytes: 32 elements of Float32
            (taken as tf32, so without its low 13 bits), 64 of 16 bits or 128 of 8 along k. Or up to four
            fragments, each this lane's part of 16 rows and 32 bytes along k, as ``mma`` and
            ``TensorCore.load_a`` have it: each warp has 16 of the rows. Where ``b`` lies along n, any number.
        b: as many rows as the product has columns, likewise.
        sums: this thread's, by ``warpgroup_zero`` (which is not added then), or what an earlier product gave:
            Float32; Float16 of Float16 and 8-bit floats; Int32 of 8-bit integers, where n is 8, 24 or a
            multiple of 16.
        wait: how many products of this warpgroup may still run when it returns, this one included; at compile
            time. Before the sums are read, ``wgmma_wait`` waits for the last ones. None waits for none.
        a_major: along what the rows of ``a`` lie in shared memory. ``"m"``, for elements of 16 bits: 64 rows
            along k of 64 elements each.
        b_major: along what the rows of ``b`` lie. ``"n"``, for elements of 16 bits: as many rows as ``a`` has
            columns, of 64 columns each, then those of the next 64 columns; swizzled too.

    Returns:
        the sums; they and the tiles are the hardware's until the product was waited for. PTX:
        ``wgmma.mma_async``, four times.

    Raises:
        CompileError: the tiles are no shared memory, of types that are not multiplied, or the target is a GPU
            other than ``sm_90``; code for that is ``sm_90a`` then.
    """
    uses_thread()
    note_use("warps")
    kind, held = _left(a, b_major), isinstance(a, Sequence)
    steps = len(a) if isinstance(a, Sequence) else _LINE // _STEP
    _check("b", b)
    n = 2 * len(sums)
    _check_types(kind, b.dtype, sums[0].dtype, n, b_major)
    if a_major not in ("k", "m") or (a_major == "m" and (held or kind.itemsize != 2)):
        hint = "rows along m are of elements of 16 bits, in shared memory"
        refuse("mma", f"wgmma_async() takes no a of {kind} with a_major={a_major!r}", hint=hint)
    if threads_are_loops():
        left = a if isinstance(a, Pointer) else tuple(a)
        return _computed(left, b, sums, n=n, a_major=a_major, b_major=b_major, steps=steps)
    _has("wgmma_async")
    whole = sums[0].dtype.name == "int32"
    registers = _packed(sums)
    count, letter = len(registers), "f" if sums[0].dtype.name == "float32" else "r"
    added = [] if all(_is_zero(x) for x in sums) else registers
    left = [_registers(part) for part in cast("Any", a)] if held else []
    names = "{" + ", ".join(f"${i}" for i in range(count)) + "}"
    word = f"wgmma.mma_async.sync.aligned.m64n{n}k{_STEP // kind.itemsize}.{_SUMS[sums[0].dtype.name]}"
    word += f".{_KINDS[kind.name]}.{_KINDS[b.dtype.name]}"
    turned = [*([] if held else [a_major == "m"]), b_major == "n"] if kind.itemsize == 2 else []
    flags = ", ".join(["p", *([] if whole else ["1", "1"]), *[str(int(t)) for t in turned]])
    along_a, along_b = (  # steps of the addresses, in 16 bytes
        (_STEP if major == "k" else _STEP // 2 * _LINE) // _CHUNK for major in (a_major, b_major)
    )
    each, place = "", count + len(added)
    for s in range(steps):
        from_a = "{" + ", ".join(f"${place + 4 * s + i}" for i in range(4)) + "}" if held else "da"
        if not held:
            each += f"add.u32 at, ${place + 1}, {along_a * s}; mov.b64 da, {{at, form}}; "
        at_b = place + 4 * steps if held else place
        each += f"add.u32 at, ${at_b}, {along_b * s}; mov.b64 db, {{at, form}}; "
        each += f"setp.ne.b32 p, {int(s > 0 or bool(added))}, 0; {word} {names}, {from_a}, db, {flags}; "
    text = (
        f"{{ .reg .pred p; .reg .b32 at, form; .reg .b64 da, db; mov.b32 form, {_FORM}; "
        f"wgmma.fence.sync.aligned; {each}"
        f"wgmma.commit_group.sync.aligned; {'' if wait is None else _waited(wait)} }}"
    )
    inputs = [str(i) for i in range(len(added))] + ["r"] * (4 * steps + 1 if held else 2)
    places = ",".join([f"={letter}"] * count + inputs)
    next_columns = steps * (_STEP // 2) * _LINE // _CHUNK if b_major == "n" else 1
    tiles = [_descriptor(b, next_columns), *([] if held else [_descriptor(cast("Any", a), 1)])]
    given = [register for part in left for register in part] + tiles if held else tiles
    made = inline_asm(
        text, (type(registers[0]),) * count, *added, *given, constraints=places, effects="write"
    )
    return _unpacked(made, sums)


def _waited(pending: int) -> str:
    return f"wgmma.wait_group.sync.aligned {pending};"


def _is_zero(number: Number) -> bool:
    """Whether it is known to be 0, so that the hardware need not add it."""
    return isinstance(number.value, (int, float)) and number.value == 0


def _left(a: Any, b_major: str) -> DType:
    """The type of the left side's elements."""
    if isinstance(a, Sequence):
        parts = cast("Sequence[Any]", a)
        kinds = {(part.dtype.name, part.lanes) if isinstance(part, Number) else None for part in parts}
        most = _LINE // _STEP if b_major == "k" else _MOST_STEPS
        if not 1 <= len(parts) <= most or len(kinds) > 1 or None in kinds:
            found = f"a of wgmma_async() is {len(parts)} parts, not 1 to {most} fragments of one type"
            refuse("mma", found, hint="see TensorCore.load_a")
        dtype = parts[0].dtype
        if dtype.name not in _KINDS or parts[0].lanes * dtype.itemsize != _CHUNK:
            have = f"{parts[0].lanes} x {dtype}"
            refuse("mma", f"a fragment of wgmma_async() is {have}", hint="it has 16 bytes of each lane")
        return dtype
    _check("a", a)
    return a.dtype


def _check_types(a: DType, b: DType, sums: DType, n: int, b_major: str) -> None:
    if not any({a.name, b.name} <= kinds for kinds in _ALIKE):
        hint = f"it multiplies {', '.join(sorted('with '.join(sorted(kinds)) for kinds in _ALIKE))}"
        refuse("mma", f"wgmma_async() does not multiply {a} with {b}", hint=hint)
    have = {"float32"} if not a.is_integer else {"int32"}
    if a.name == "float16" or (a.bits == 8 and a.is_float):
        have.add("float16")
    if sums.name not in have:
        found = " or ".join(sorted(have))
        refuse(
            "mma", f"sums of {a} are {found} in wgmma_async(), not {sums}", hint=f"warpgroup_zero(n, {found})"
        )
    if a.is_integer and n % 16 and n not in (8, 24):
        refuse(
            "mma",
            f"wgmma_async() multiplies {a} with {n} columns by none of its forms",
            hint="8, 24, or 16 k",
        )
    if b_major not in ("k", "n") or (b_major == "n" and a.bits != 16):
        hint = "rows along n are of elements of 16 bits"
        refuse("mma", f"wgmma_async() takes no b of {a} with b_major={b_major!r} and {n} columns", hint=hint)


def _registers(part: Any) -> list[Any]:
    """A fragment as four words."""
    words = part.bitcast(number_class(UInt32.dtype, 4))
    return [words[i] for i in range(4)]


def _packed(sums: tuple[Any, ...]) -> list[Any]:
    """The sums as the instruction holds them: two of 16 bits in a register."""
    if sums[0].dtype.bits == 32:
        return list(sums)
    pair = number_class(sums[0].dtype, 2)
    return [pair(*sums[i : i + 2]).bitcast(UInt32) for i in range(0, len(sums), 2)]


def _unpacked(registers: tuple[Any, ...], sums: tuple[N, ...]) -> tuple[N, ...]:
    kind: Any = type(sums[0])
    if kind.dtype.bits == 32:
        return registers
    pairs = [register.bitcast(number_class(kind.dtype, 2)) for register in registers]
    return tuple([pair[i] for pair in pairs for i in range(2)])


def wgmma_wait(sums: tuple[N, ...], pending: int = 0) -> tuple[N, ...]:
    """Wait for products of this warpgroup, and give the sums of one that has ended to be read.

    Args:
        sums: what the product gave.
        pending: how many of those that were begun last may still run; at compile time.

    PTX: ``wgmma.wait_group``.
    """
    uses_thread()
    if threads_are_loops():
        return sums
    _has("wgmma_wait")
    registers = _packed(sums)
    count, letter = len(registers), "f" if sums[0].dtype.name == "float32" else "r"
    places = ",".join([f"={letter}"] * count + [str(i) for i in range(count)])
    kind, text = _type_of(registers[0]), _waited(pending)
    made = inline_asm(text, (kind,) * count, *registers, constraints=places, effects="write")
    return _unpacked(made, sums)


def wgmma_settle(pending: int = 0) -> None:
    """Wait for products of this warpgroup, but so many groups that were begun last; for no sums to be read.

    PTX: ``wgmma.wait_group``.
    """
    uses_thread()
    if not threads_are_loops():
        _has("wgmma_settle")
        inline_asm(_waited(pending), None, constraints="", effects="write")


def _check(name: str, tile: Any) -> None:
    if isinstance(tile, Pointer):
        pointer = cast("Pointer[Any]", tile)
        if pointer.space == AddressSpace.SHARED and pointer.dtype.name in _KINDS:
            return
        found = f"{pointer.dtype} in AddressSpace.{AddressSpace(pointer.space).name}"
    else:
        found = kind_of(tile)
    refuse(
        "mma",
        f"{name} of wgmma_async() is {found}",
        hint=f"give a pointer to {', '.join(_KINDS)} in AddressSpace.SHARED",
    )


def _has(name: str) -> None:
    target = current_target()
    if not target.supports(Feature.WGMMA):
        refuse(
            "unsupported",
            f"{target.name} has no {name}()",
            hint="it is for sm_90, and for CPUs; weft.gpu.mma has products by warps for the others",
        )


def _descriptor(tile: Pointer[Any], leading: int) -> UInt32:
    """The low word of what says to the hardware where a tile lies and how; ``leading``: the next 64 columns.

    Both in 16 bytes. Of 32 bits, since the arithmetic of 64 took small tiles longer than their products.
    """
    return UInt32(Int(tile)) >> 4 & 0x3FFF | leading << 16


@func
def _computed(
    a: Any,
    b: Any,
    sums: Any,
    *,
    n: Comptime[int],
    a_major: Comptime[str],
    b_major: Comptime[str],
    steps: Comptime[int],
) -> tuple[Any, ...]:
    """The same where threads are loops: products of fragments by each warp, of 8 columns after the others."""
    kind = _type_of(sums[0])
    each, k = _WORD // b.dtype.itemsize, _STEP // b.dtype.itemsize
    lane = lane_id()
    g, t = lane >> 2, lane & 3
    left = a
    if isinstance(a, Pointer):
        row = warp_id() % 4 * 16 + g
        left = [_of_a(a, row, k * s + t * each, each, a_major) for s in range(steps)]
    held = stack_allocation(kind, len(sums))
    for i, x in enumerate(sums):
        held[i] = x
    for j in range(n // 8):
        some = held.load(4 * j, width=4)
        for s in unroll(range(steps)):
            along = [k * s + (4 * half + t) * each for half in range(2)]
            right = _joined([_along_k(b, at, 8 * j + g, each, b_major, k * steps) for at in along])
            some = by_warp(multiplied, (left[s], right, some), _type_of(some), m=16, k=k)
        held.store(4 * j, some)
    return tuple([held[i] for i in range(len(sums))])


def _of_a(a: Any, row: Any, k: Any, each: int, major: str) -> Any:
    """A fragment: of each other word eight rows below, and the last two 16 bytes along k."""
    places = [(row + r % 2 * 8, k + r // 2 * 4 * each) for r in range(4)]
    return _joined([_along_k(a, k, row, each, major) for row, k in places])


def _along_k(x: Any, k: Any, row: Any, each: int, major: str, rows: int = 64) -> Any:
    """Some elements along k of a row of ``a`` or a column of ``b``; ``rows`` of a tile lie along k."""
    if major == "k":
        return x.load(swizzled(x.dtype, row, k), width=each)
    first = row // 64 * (rows * 64)
    return number_class(x.dtype, each)(*[x[first + swizzled(x.dtype, k + i, row % 64)] for i in range(each)])


def _joined(parts: list[Any]) -> Any:
    """Vectors, or numbers, one behind the other."""
    numbers = [part[i] if part.lanes > 1 else part for part in parts for i in range(part.lanes)]
    return number_class(parts[0].dtype, len(numbers))(*numbers)


def _type_of(value: object) -> Any:
    return type(value)


present(globals())
