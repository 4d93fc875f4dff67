"""Products of small matrices by the 32 lanes of a warp together: tensor cores, and their loads.

A matrix lies spread over the lanes, each of which holds a few elements of it, its *fragment*, as a SIMD
vector. Lane ``4 * g + t`` of a product of 16 rows has of ``a`` rows g and g + 8, of ``b`` column g, and of
the sums rows g and g + 8 of columns 2 t and 2 t + 1: "Matrix Fragments for mma" in the PTX ISA has pictures.
``weft.layout.tensor_core.TensorCore`` loads and stores fragments of tiles.

On an NVIDIA GPU these are ``mma.sync``, ``ldmatrix`` and ``stmatrix``. On a CPU the warp computes the same
product at once, in the type of the sums. Elements of 16 and 8 bits have exact
products; of how a tensor core rounds sums NVIDIA says nothing, so their last bits may differ.

Example:
    >>> from weft import BFloat16, Float32, Pointer, SIMD, kernel
    >>> from weft.gpu import lane_id
    >>> from weft.gpu.host import DeviceContext
    >>> @kernel
    ... def ones(out: Pointer[Float32]):
    ...     a = SIMD[BFloat16, 8](1.0)  # 16 x 16
    ...     b = SIMD[BFloat16, 4](0.5)  # 16 x 8
    ...     d = mma(a, b, SIMD[Float32, 4](100.0))  # 16 x 8
    ...     out.store(4 * lane_id(), d)
    >>> ctx = DeviceContext(api="cpu")
    >>> out = ctx.enqueue_create_buffer(Float32, 128)
    >>> ctx.enqueue_function(ones, out, grid_dim=1, block_dim=32)
    >>> with out.map_to_host() as host:
    ...     print({float(x) for x in host})
    {108.0}
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

from weft.diagnostics import a_, refuse
from weft.diagnostics.modules import present
from weft.gpu.by_warp import gathered, multiplied, spread
from weft.gpu.lanes import LANES, lane_id
from weft.lang.comptime import Comptime
from weft.lang.decorators import func
from weft.lang.intrinsics import Feature, current_target, inline_asm
from weft.lang.machine import by_warp, note_use, threads_are_loops, uses_thread
from weft.lang.number import Number, number_class
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Float32, Int, UInt32
from weft.record import record

__all__ = ["ld_matrix", "mma", "st_matrix"]

_MATRIX = 8
"""Rows of the matrices that ``ldmatrix`` loads."""
_ROW = 16
"""Bytes of such a row."""

D = TypeVar("D", bound="Number")
_WORD = UInt32.dtype


@record
class MatrixShape:
    """A product that tensor cores have: m x k by k x n, as PTX writes its types.

    ``since`` is the feature of targets that have it.
    """

    m: int
    n: int
    k: int
    words: tuple[str, str, str]
    since: Feature

    @property
    def instruction(self) -> str:
        """Its name in PTX."""
        a, b, sums = self.words
        return f"mma.sync.aligned.m{self.m}n{self.n}k{self.k}.row.col.{sums}.{a}.{b}.{sums}"


def _shapes() -> dict[tuple[str, str, int, str], MatrixShape]:
    """By the types of ``a`` and ``b``, the number of ``a``'s elements in a lane, and the type of the sums."""
    turing, ampere, ada, hopper = Feature.MMA_HALF, Feature.MMA, Feature.MMA_FP8, Feature.MMA_FLOAT64
    found: dict[tuple[str, str, int, str], MatrixShape] = {}

    def add(
        types: tuple[str, str, str], words: tuple[str, str, str], k: int, since: Feature, m: int = 16
    ) -> None:
        found[types[0], types[1], m * k // LANES, types[2]] = MatrixShape(m, 8, k, words, since)

    for sums, word in (("float32", "f32"), ("float16", "f16")):
        add(("float16", "float16", sums), ("f16", "f16", word), 8, turing)
        add(("float16", "float16", sums), ("f16", "f16", word), 16, ampere)
    for k in (8, 16):
        add(("bfloat16", "bfloat16", "float32"), ("bf16", "bf16", "f32"), k, ampere)
    for k in (4, 8):
        add(("float32", "float32", "float32"), ("tf32", "tf32", "f32"), k, ampere)
    doubles = ("float64", "float64", "float64"), ("f64", "f64", "f64")
    add(*doubles, 4, ampere, m=8)
    for k in (4, 8, 16):
        add(*doubles, k, hopper)
    bytes_ = {"int8": "s8", "uint8": "u8"}
    for a, b in ((a, b) for a in bytes_ for b in bytes_):
        for k in (16, 32):
            add((a, b, "int32"), (bytes_[a], bytes_[b], "s32"), k, ampere)
    eights = {"float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}
    for a, b in ((a, b) for a in eights for b in eights):
        add((a, b, "float32"), (eights[a], eights[b], "f32"), 32, ada)
    return found


SHAPES = _shapes()


def shape_of(a: Any, b: Any, c: Any) -> MatrixShape:
    """The product that fragments are of; refused where there is none."""
    for what, value in (("a", a), ("b", b), ("c", c)):
        if not isinstance(value, Number):
            hint = "give a SIMD vector: each lane's part of a matrix"
            refuse("mma", f"{what} of mma() is {a_(type(value).__name__)}", hint=hint)
    shape = SHAPES.get((a.dtype.name, b.dtype.name, a.lanes, c.dtype.name))
    if shape is None or b.lanes != shape.k * shape.n // LANES or c.lanes != shape.m * shape.n // LANES:
        same = [(key, s) for key, s in SHAPES.items() if key[:2] == (a.dtype.name, b.dtype.name)]
        same = [pair for pair in same if pair[0][3] == c.dtype.name] or same
        have = " or ".join(
            f"{s.m * s.k // LANES}, {s.k * s.n // LANES} and {s.m * s.n // LANES} ({s.m} x {s.n} x {s.k}"
            f"{'' if key[3] == c.dtype.name else f', sums of {key[3]}'})"
            for key, s in same
        )
        kinds = sorted({f"{x} x {y}" if x != y else x for x, y, _, _ in SHAPES})
        others = f"tensor cores multiply {', '.join(kinds)}"
        refuse(
            "mma",
            f"no product of fragments {a.lanes} x {a.dtype.name}, {b.lanes} x {b.dtype.name} and "
            f"{c.lanes} x {c.dtype.name} is known",
            hint=f"a lane has of a, b and c {have} elements" if same else others,
        )
    return shape


def _for_warps() -> None:
    """The launch is to have whole warps."""
    uses_thread()
    note_use("warps")


def mma(a: Number, b: Number, c: D) -> D:
    """``a @ b + c`` of matrices that lie over the lanes of a warp.

    Args:
        a: this lane's elements of the left matrix, m x k in rows: ``m * k / 32`` of them.
        b: of the right one, k x n.
        c: of the sums, m x n. For n = 8, ``SIMD[T, 4]`` where m is 16.

    Which product it is follows from the vectors: Float16 (m = 16, n = 8, k = 8 or 16; sums of Float16 or
    Float32), BFloat16 (k = 8 or 16), Float32, taken as tf32: the low 13 bits are left out (k = 4 or 8),
    Float64 (m = 8, n = 8, k = 4, or m = 16, n = 8, k = 4, 8 or 16), Int8 and UInt8 (k = 16 or 32, sums of
    Int32, which wrap), Float8_e4m3fn and Float8_e5m2 (k = 32).

    Returns:
        this lane's elements of the result.

    Raises:
        CompileError: no such product is known, or the target has none. NVIDIA GPUs have Float16 with k = 8
            from compute capability 7.5 (Turing) on, 8-bit floats from 8.9, Float64 with m = 16 from 9.0, the
            others from 8.0.
    """
    _for_warps()
    shape = shape_of(a, b, c)
    if threads_are_loops():
        known = {"m": shape.m, "k": shape.k}
        return by_warp(multiplied, (a, b, c), type(c), **known)
    target = current_target()
    if not target.supports(shape.since):
        others = sorted({s.words[0] for s in SHAPES.values() if target.supports(s.since)})
        known = f"it multiplies {', '.join(others)}" if others else "compile for sm_80 or later"
        refuse("unsupported", f"{target.name} has no {shape.instruction}", hint=known)
    packed = [_registers(a), _registers(b), _registers(c, sums=True)]
    kinds: list[Any] = [type(registers[0]) for registers in packed]
    letters = ["d" if k.dtype.bits == 64 else "f" if k is Float32 else "r" for k in kinds]
    count = len(packed[2])
    names, place = list[str](), 0
    for group in (packed[2], *packed):
        names.append("{" + ", ".join(f"${place + n}" for n in range(len(group))) + "}")
        place += len(group)
    constraints = [f"={letters[2]}"] * count
    constraints += [letter for letter, group in zip(letters, packed, strict=True) for _ in group]
    made = inline_asm(
        f"{shape.instruction} {', '.join(names)};",
        (kinds[2],) * count,
        *packed[0],
        *packed[1],
        *packed[2],
        constraints=",".join(constraints),
        effects="none",
    )
    return cast("D", _unpacked(cast("Any", type(c)), made))


def _registers(value: Any, sums: bool = False) -> list[Any]:
    """A fragment as the instruction takes it: 32 bits by 32, sums of wider types as they are."""
    if value.dtype.bits == 64 or (sums and value.dtype.bits == 32):
        return [value[n] for n in range(value.lanes)] if value.lanes > 1 else [value]
    count = value.lanes * value.dtype.bits // 32
    words = value.bitcast(number_class(_WORD, count) if count > 1 else UInt32)
    return [words[n] for n in range(count)] if count > 1 else [words]


def _unpacked(kind: Any, registers: tuple[Any, ...]) -> Any:
    if registers[0].dtype.bits == kind.dtype.bits:
        return kind(*registers)
    return number_class(_WORD, len(registers))(*registers).bitcast(kind)


def ld_matrix(row: Pointer[Any], width: int, *, transpose: bool = False) -> Any:
    """Load one, two or four matrices of 8 rows of 16 bytes from shared memory, spread over the lanes.

    Args:
        row: where a row begins, in shared memory, at a multiple of 16 bytes: lane n has row n modulo 8 of
            matrix n // 8. Only the lanes of matrices that are loaded count.
        width: elements for each lane: one, two or four times those that 32 bits hold.
        transpose: hand out columns as rows; of elements of 16 bits alone.

    Returns:
        ``SIMD[T, width]``: of each matrix, lane ``4 * g + t`` has 32 bits of row g, the t-th of them. PTX:
        ``ldmatrix.sync``; elsewhere lanes ask each other where the rows are.

    Raises:
        CompileError: the pointer is not to shared memory, the width is another, or the target has no such
            instruction: NVIDIA GPUs do from compute capability 7.5 on.
    """
    return _loaded(row, _count("ld_matrix", row, width, transpose), transpose)


def st_matrix(row: Pointer[Any], value: Any, *, transpose: bool = False) -> None:
    """Store one, two or four matrices of 8 rows of 16 bytes to shared memory: the reverse of ``ld_matrix``.

    Args:
        row: where a row begins; as ``ld_matrix``'s.
        value: a SIMD vector, this lane's 32 bits of each matrix; of elements of 16 bits.
        transpose: store what lanes have of rows as columns.

    PTX: ``stmatrix.sync``, on NVIDIA GPUs of compute capability 9.0 or newer.
    """
    count = _count("st_matrix", row, getattr(value, "lanes", 0), transpose, Feature.STORE_MATRIX)
    if getattr(value, "dtype", None) != row.dtype:
        refuse("mma", f"st_matrix() stores {value!r} where elements are {row.dtype}", hint="convert it")
    if threads_are_loops():
        rows = by_warp(gathered, (value,), _row_of(row), count=count, transpose=transpose)
        _store_row(row, rows, lanes=_MATRIX * count)
        return
    registers = _registers(value)
    names = ", ".join(f"${n + 1}" for n in range(count))
    form = f"x{count}{'.trans' if transpose else ''}"
    inline_asm(
        f"stmatrix.sync.aligned.m8n8.{form}.shared.b16 [$0], {{{names}}};",
        None,
        _shared_address(row),
        *registers,
        constraints=",".join(["r"] * (count + 1)),
        effects="write",
    )


def _count(name: str, row: Any, width: Any, transpose: bool, feature: Feature = Feature.MMA_HALF) -> int:
    """How many matrices are meant."""
    _for_warps()
    if not isinstance(row, Pointer) or cast("Any", row).space != AddressSpace.SHARED:
        refuse("mma", f"{name}() takes a pointer to shared memory, not {row!r}", hint="see weft.memory")
    bits = row.dtype.bits
    counts = {count * 32 // bits: count for count in (1, 2, 4)}
    if not isinstance(width, int) or width not in counts or bits > 32 or (transpose and bits != 16):
        known = "of elements of 16 bits" if transpose else f"{', '.join(map(str, counts))} elements a lane"
        refuse("mma", f"{name}() has no form for {width} x {row.dtype}", hint=f"it takes {known}")
    target = current_target()
    if not threads_are_loops() and not target.supports(feature):
        refuse("unsupported", f"{target.name} has no {name.replace('_', '')}", hint="compile for a later one")
    return counts[width]


def _loaded(row: Any, count: int, transpose: bool) -> Any:
    each = 32 // row.dtype.bits
    kind = number_class(row.dtype, count * each) if count * each > 1 else number_class(row.dtype)
    if not threads_are_loops():
        names = ", ".join(f"${n}" for n in range(count))
        form = f"x{count}{'.trans' if transpose else ''}"
        made = inline_asm(
            f"ldmatrix.sync.aligned.m8n8.{form}.shared.b16 {{{names}}}, [${count}];",
            (UInt32,) * count,
            _shared_address(row),
            constraints=",".join(["=r"] * count + ["r"]),
            effects="read",
        )
        registers = made if count > 1 else (made,)
        return number_class(_WORD, count)(*registers).bitcast(kind) if count > 1 else made.bitcast(kind)
    rows = _load_row(row, lanes=_MATRIX * count)
    return by_warp(spread, (rows,), kind, count=count, transpose=transpose)


def _row_of(row: Pointer[Any]) -> Any:
    return number_class(row.dtype, _ROW * 8 // row.dtype.bits)


@func
def _load_row(row: Pointer[Any], *, lanes: Comptime[int]) -> Any:
    """The 16 bytes of a lane's row, where it has one."""
    kind = _row_of(row)
    held = kind(0)
    if lane_id() < lanes:
        held = row.load(width=kind.lanes)
    return held


@func
def _store_row(row: Pointer[Any], value: Any, *, lanes: Comptime[int]) -> None:
    if lane_id() < lanes:
        row.store(value)


def _shared_address(row: Pointer[Any]) -> UInt32:
    return UInt32(Int(row))


present(globals())
