"""Kernels and functions over types: what says a type variable, what it may be, which function is called."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Protocol, TypeVar, assert_type, cast

import numpy as np
import pytest

from weft import (
    SIMD,
    CompileError,
    Comptime,
    DType,
    Float32,
    Float64,
    Floating,
    InlineArray,
    Int,
    Int32,
    Integer,
    LaunchError,
    Number,
    Pointer,
    Scalar,
    SignedInteger,
    UInt8,
    UnsignedInteger,
    func,
    kernel,
    struct,
)
from weft.compile import compile_info
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor

T = TypeVar("T")
N = TypeVar("N", bound=int)
F = TypeVar("F", bound=Floating)
I = TypeVar("I", bound=Integer)  # noqa: E741


class Shape(Protocol):
    """What has an area."""

    def area(self) -> Float32: ...

    def perimeter(self) -> Float32: ...


S = TypeVar("S", bound=Shape)


@struct
class Square:
    side: Float32

    def perimeter(self) -> Float32:
        return 4 * self.side

    def area(self) -> Float32:
        return self.side * self.side


@struct
class Point:
    x: Float32


class Place(NamedTuple):
    at: Int


@kernel
def axpy(a: T, x: Pointer[T], y: LayoutTensor[T], n: Int):
    i: Any = global_idx.x
    if i < n:
        y[i] = a * x[i] + x.element_type(1)  # pyright: ignore[reportOperatorIssue, reportCallIssue]


@func
def doubled(x: F) -> F:
    return x * 2


@func
def size_of(x: I, y: I) -> int:
    kind: Any = type(x * y)
    return kind.dtype.bits


@func
def lanes(v: SIMD[T, N], w: SIMD[T, N]) -> Int:
    n: Any = N
    return n


@func
def volume(base: S, top: S) -> Float32:
    return base.area() * top.perimeter()


@func
def made(like: Pointer[T]) -> T:
    of: Any = T
    return of(7) / 2


def launched(ctx: DeviceContext, made: Any, *args: Any, **named: Any) -> None:
    ctx.enqueue_function(made, *args, **named)
    ctx.synchronize()


CPU = DeviceContext(api="cpu")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
def test_a_number_takes_the_type_of_memory(dtype: Any) -> None:
    x, y = np.arange(5).astype(dtype), np.zeros(5, dtype)
    for a in (3, np.int64(3), np.float64(3.0)) if dtype in (np.float32, np.float64) else (3, np.int16(3)):
        launched(CPU, axpy, a, x, y, 5, over=5)
        np.testing.assert_array_equal(y, x * dtype(3) + dtype(1))
        y[:] = 0
    bound: Any = axpy
    launched(CPU, bound[DType.float32] if dtype is np.float32 else axpy, 2, x, y, 5, over=5)
    np.testing.assert_array_equal(y, x * dtype(2) + dtype(1))


def test_what_a_type_may_be() -> None:
    x, y = np.zeros(2), np.zeros(2, np.float32)
    with pytest.raises(LaunchError, match="takes LayoutTensor\\[Float64\\], not LayoutTensor\\[Float32\\]"):
        launched(CPU, axpy, 2, x, y, 2, over=2)
    of: Any = axpy
    with pytest.raises(LaunchError, match="argument `x` of axpy takes a buffer or array of Float32"):
        launched(CPU, of[Float32], 2, x, y, 2, over=2)
    with pytest.raises(LaunchError, match="argument `a` of axpy takes UInt8"):
        launched(CPU, axpy, 2.5, np.zeros(2, np.uint8), np.zeros(2, np.uint8), 2, over=2)
    with pytest.raises(LaunchError, match="`F` of doubled is a Floating, not Int"):
        doubled(3)
    with pytest.raises(LaunchError, match="`I` of size_of is an Integer, not Float64"):
        size_of(3.0, 1.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(CompileError, match=r"axpy\[\.\.\.\] is no launch"):
        of[Float32, Float64]
    unlike: Any = volume
    with pytest.raises(LaunchError, match="is a Shape, which has `area` and `perimeter`, not Point"):
        unlike(Point(Float32(1)), Point(Float32(2)))


def test_numbers_alone_meet() -> None:
    meet: Any = func(larger)
    assert (meet(1, 2), meet(1, 2.5), meet(np.float32(1), 2.5)) == (2, 2.5, 2.5)
    assert meet(Float64(1), 2) == 2
    with pytest.raises(LaunchError, match="argument `b` of larger takes Int32, not Float32: `T` is Int32 by"):
        meet(Int32(1), Float32(2))
    assert doubled(Float32(1.5)) == 3.0
    assert (size_of(UInt8(1), UInt8(2)), size_of(5, 6)) == (8, 64)
    sizes: Any = size_of
    assert sizes(np.int16(1), 1) == 64
    of: Any = SIMD[Float32, 8]
    assert lanes(of(1.0), of(2.0)) == 8
    assert volume(Square(Float32(2)), Square(Float32(3))) == 48.0
    assert made(np.zeros(1)) == 3.5
    assert made(np.zeros(1, np.float32)) == 3.5


def larger(a: T, b: T) -> T:
    return a if a > b else b  # pyright: ignore[reportOperatorIssue]


def test_the_classes_of_numbers() -> None:
    for cls, kinds in {Float32: Floating, Int32: SignedInteger, UInt8: UnsignedInteger}.items():
        assert issubclass(cls, kinds)
        of: Any = SIMD[cls, 4]
        assert issubclass(of, kinds)
        assert issubclass(of, Number)
    assert issubclass(UInt8, Integer)
    assert not issubclass(UInt8, Floating)
    assert DType.index is DType.int64
    assert DType.float32(2) == Float32(2)
    of = Scalar
    assert (of[DType.float32], of[Int32], of[T]) == (Float32, Int32, T)


UNTYPED = """
from weft import *
from weft.gpu import global_idx

@kernel
def rows(x, out: Pointer, scale, n: Int):
    i = global_idx.x
    if i < n:
        total = x.dtype(0)
        for j in range(x.dim(1)):
            total += x[i, j] * scale
        out[i] = total

@kernel
def stored(x: Pointer[Float64], value):
    x[0] = value / 2 if isinstance(value, Floating) else value // 2

def twice(x):
    return kind(2) * x
"""


def loaded(folder: Path, text: str) -> dict[str, Any]:
    """The names of a module of this text, from a file."""
    file = folder / "generic.py"
    file.write_text(text, encoding="utf-8")
    module: Any = ModuleType("generic")
    sys.modules["generic"] = module
    exec(compile(text, str(file), "exec", dont_inherit=True), module.__dict__)
    return cast("dict[str, Any]", module.__dict__)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_a_kernel_without_annotations(tmp_path: Path, dtype: Any) -> None:
    rows = loaded(tmp_path, UNTYPED)["rows"]
    x = np.arange(12).reshape(3, 4).astype(dtype)
    out = np.zeros(3, dtype)
    launched(CPU, rows, x, out, 2 if dtype is np.int64 else dtype(2), 3, over=3)
    np.testing.assert_array_equal(out, 2 * x.sum(axis=1))


def test_launches_that_are_repeated_keep_the_numbers_apart(tmp_path: Path) -> None:
    stored = loaded(tmp_path, UNTYPED)["stored"]
    x = CPU.enqueue_create_buffer(Float64, 1)
    for _ in range(12):
        for value, expected in ((3, 1.0), (3.0, 1.5), (np.float32(3), 1.5), (np.int32(3), 1.0)):
            launched(CPU, stored, x, value, grid_dim=1, block_dim=1)
            with x.map_to_host() as host:
                assert host[0] == expected


@kernel
def scaled(x: Pointer[T], by: Number):
    value: Any = x[0]
    x[0] = value * by


@kernel
def of_square(x: Pointer[Float32], shape: Shape):
    x[0] = shape.area()


def test_kernels_take_what_a_class_or_a_protocol_allows() -> None:
    x = np.full(1, 3.0)
    for by, expected in ((2, 6.0), (0.5, 3.0), (np.float32(2), 6.0)):
        launched(CPU, scaled, x, by, over=1)
        assert x[0] == expected
    y = np.zeros(1, np.float32)
    launched(CPU, of_square, y, Square(Float32(3)), over=1)
    assert y[0] == 9.0
    with pytest.raises(LaunchError, match="takes a Shape, which has `area` and `perimeter`, not a Point"):
        launched(CPU, of_square, y, Point(Float32(3)), over=1)
    with pytest.raises(LaunchError, match="pass a @struct that has `area` and `perimeter`"):
        launched(CPU, of_square, y, Float32(3), over=1)


def test_compiling_without_a_launch() -> None:
    asked: list[tuple[dict[str, Any], str]] = [
        ({"T": Float64}, "f64"),
        ({"T": np.float64}, "f64"),
        ({"T": np.dtype("int32")}, "i32"),
        ({"x": Pointer[Float64]}, "f64"),
        ({"x": Pointer[Int32]}, "i32"),
    ]
    of: Any = sized
    for types, text in asked:
        shown = str(compile_info(sized, emission_kind="ir", target="sm_90", **types))
        assert text in shown
        assert ("f32" in shown, "i32" in shown) == (False, text == "i32")
    assert str(compile_info(of[Float64], emission_kind="ir", target="sm_90")) == str(
        compile_info(sized, emission_kind="ir", target="sm_90", T=Float64)
    )
    with pytest.raises(CompileError, match="needs to know the type `T`"):
        compile_info(sized, target="sm_90")
    with pytest.raises(CompileError, match="`F` of halved is a Floating, not Int32"):
        compile_info(halved, target="sm_90", F=Int32)


@kernel
def sized(x: Pointer[T], a: T):
    x[0] = a


@kernel
def halved(x: Pointer[F]):
    x[0] /= 2


@func
def described(x: Any) -> int:
    return 0


@described.register
def _(x: Integer) -> int:
    return 1


@described.register
def _(x: Int32) -> int:
    return 2


@described.register
def _(x: Floating) -> int:
    return 3


@described.register
def _(x: Square) -> int:
    return 4


@func
def chosen(a: Any, b: Any) -> int:
    return 0


@chosen.register
def _(a: Int, b: Any) -> int:
    return 1


@chosen.register
def _(a: Any, b: Int) -> int:
    return 2


def test_the_function_that_says_most_is_called() -> None:
    values: list[Any] = [Int32(1), 1, UInt8(1), 1.0, Float32(1), Square(Float32(1)), Point(1), True]
    assert [described(value) for value in values] == [2, 1, 1, 3, 3, 4, 0, 0]
    assert (chosen(1, 1.0), chosen(1.0, 1), chosen(1.0, 1.0)) == (1, 2, 0)
    with pytest.raises(CompileError, match="several functions registered with chosen take Int, Int"):
        chosen(1, 1)


@func
def memory_of(x: Any) -> int:
    return 0


@memory_of.register
def _(x: Pointer[Any]) -> int:
    return 1


@memory_of.register
def _(x: Pointer[F]) -> int:
    return 2


@memory_of.register
def _(x: Pointer[Float32]) -> int:
    return 3


@memory_of.register
def _(x: Pointer[InlineArray[F, N]]) -> int:
    return 4


@memory_of.register
def _(x: LayoutTensor[Float32]) -> int:
    return 5


@memory_of.register
def _(x: SIMD[F, N]) -> int:
    return 6


@memory_of.register
def _(x: Place) -> int:
    return 7


@memory_of.register
def _(x: tuple[Int, Int]) -> int:
    return 8


def test_memory_says_what_its_elements_are() -> None:
    whole, single, double = np.zeros(9, np.int64), np.zeros(1, np.float32), np.zeros(1)
    rows = np.zeros((1, 2), np.float32)

    @kernel
    def k(x: Pointer[Int], s: Pointer[Float32], d: Pointer[Float64], r: Pointer[InlineArray[Float32, 2]]):
        values: Any = (
            x,
            s,
            d,
            r,
            LayoutTensor(s, Layout.row_major(1)),
            Float32.simd(1, 2),
            Place(1),
            (1, 2),
            1.5,
        )
        for n, value in enumerate(values):
            x[n] = memory_of(value)

    launched(CPU, k, whole, single, double, rows, over=1)
    assert whole.tolist() == [1, 3, 2, 4, 5, 6, 7, 8, 6]


def test_a_function_registered_later_is_called_from_then_on() -> None:
    @func
    def told(x: Any) -> int:
        return 0

    x = np.zeros(1, np.int64)

    @kernel
    def k(x: Pointer[Int]):
        x[0] = told(x[0]) * 10 + told(Float32(1))

    launched(CPU, k, x, over=1)
    assert x[0] == 0

    @told.register
    def _(x: Int) -> int:
        return 7

    launched(CPU, k, x, over=1)
    assert x[0] == 70
    assert told(3) == 7


PEP_695 = """
from weft import *
from weft.algorithm import elementwise
from weft.gpu import global_idx

@kernel
def axpy[T: Floating](a: T, x: Pointer[T], n: Int):
    zero: T = 0
    if global_idx.x < n:
        x[global_idx.x] = a * x[global_idx.x] + T(1) + zero

@struct
class Vec[T, N: int]:
    items: SIMD[T, N]

    def plus(self, other: "Vec[T, N]") -> "Vec[T, N]":
        return Vec(self.items + other.items)

    def total(self) -> T:
        total = T(0)
        for i in unroll(range(N)):
            total += self.items[i]
        return total

@func
def total[T, N: int](v: Vec[T, N], more: T) -> T:
    return v.plus(v).total() + more

def around(unused):
    @func
    def tripled[U](x: U) -> U:
        return U(3) * x + unused
    return tripled

OFFSET = Float32(2)

@func
def offset[T: Floating](x: T) -> T:
    return x + T(OFFSET)

def shifted(ctx, x):
    def each(i: Int) -> None:
        x[i] = offset(x[i])
    elementwise(each, len(x), ctx)
    ctx.synchronize()
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is Python 3.12's")
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_type_parameters_of_python_3_12(tmp_path: Path, future: str) -> None:
    scope = loaded(tmp_path, future + PEP_695)
    for dtype in (np.float32, np.float64):
        x = np.arange(4).astype(dtype)
        launched(CPU, scope["axpy"], 2, x, 4, over=4)
        np.testing.assert_array_equal(x, np.arange(4) * 2 + 1)
    made: Any = SIMD[Float64, 4]
    value = scope["Vec"](made((1, 2, 3, 4)))
    assert type(value) is scope["Vec"][Float64, 4]
    assert scope["total"](value, 0.5) == 20.5
    assert scope["around"](1)(Float32(2)) == 7.0
    x = np.arange(4, dtype=np.float64)
    scope["shifted"](CPU, x)
    np.testing.assert_array_equal(x, np.arange(4) + 2)
    with pytest.raises(LaunchError, match="`T` of axpy is a Floating, not Int"):
        launched(CPU, scope["axpy"], 2, np.zeros(4, np.int64), 4, over=4)


NAMED_TYPES = """
from weft import *

type Number = Float64
type Row = Pointer[Number]
type Memory[T] = Pointer[T]
type Pair[T, U] = tuple[T, U]
type Late = Pointer[Undefined]


@struct
class Line:
    at: Row
    slope: Number


@kernel
def drawn[T](line: Line, out: Memory[T], first: T, *, n: Comptime[int]):
    for i in range(n):
        out[i] = T(line.at[i] * line.slope) + first


@func
def turned(pair: Pair[Int, Number]) -> Pair[Number, Int]:
    x: Number = pair[1]
    return x, pair[0]


@kernel
def late(x: Late):
    pass
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is Python 3.12's")
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_names_of_types(tmp_path: Path, future: str) -> None:
    scope = loaded(tmp_path, future + NAMED_TYPES)
    x, out = np.arange(3.0), np.zeros(3, np.int32)
    launched(CPU, scope["drawn"], scope["Line"](x, 2.0), out, 5, n=3, grid_dim=1, block_dim=1)
    assert out.tolist() == [5, 7, 9]
    assert scope["turned"]((1, 2.5)) == (2.5, 1)
    with pytest.raises(CompileError, match=r"does not evaluate: name 'Undefined' is not defined"):
        launched(CPU, scope["late"], x, grid_dim=1, block_dim=1)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is Python 3.12's")
def test_type_parameters_of_a_function_in_a_function(tmp_path: Path) -> None:
    text = """from weft import Float64, func

@func
def outer(x: Float64) -> Float64:
    def doubled{}:
        return v * type(v)(2)
    return doubled(x)
"""
    with pytest.raises(CompileError, match=r"`doubled`, a function in a function, has no type parameters"):
        loaded(tmp_path, text.format("[T](v: T) -> T"))["outer"](2.0)
    assert loaded(tmp_path, text.format("(v)"))["outer"](2.0) == 4.0


@pytest.mark.skipif(sys.version_info < (3, 13), reason="defaults of type parameters are Python 3.13's")
def test_a_type_parameter_has_a_default(tmp_path: Path) -> None:
    text = "from weft import *\n@func\ndef one[T = Float64]() -> T:\n    return T(1) / 3\n"
    one = loaded(tmp_path, text)["one"]
    assert (one(), one[Float32]()) == (1 / 3, np.float32(1) / np.float32(3))


def test_a_parameter_may_be_called_as_a_type_variable() -> None:
    @func
    def made(T: Int, x: Any) -> Any:
        return T + x

    unlike: Any = made
    assert unlike(2, 3) == 5
    assert doubled_by(np.full(2, 4.0), T=2) == 8.0


@func
def doubled_by(x: Pointer[T], *, T: Comptime[int]) -> Any:
    return x[0] * T  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType]


def test_type_parameters_that_no_syntax_made(tmp_path: Path) -> None:
    scope = loaded(tmp_path, UNTYPED)
    twice: Any = scope["twice"]
    kind: Any = TypeVar("kind")
    twice.__annotations__ = {"x": kind, "return": kind}
    twice.__dict__["__type_params__"] = (kind,)
    assert func(twice)(Float32(1.5)) == 3.0


@kernel
def pyright_follows(p: Pointer[Float32], q: LayoutTensor[Int32]):
    assert_type(p.element_type(0), Float32)
    assert_type(q.element_type(0), Int32)
    assert_type(doubled(p[0]), Float32)
