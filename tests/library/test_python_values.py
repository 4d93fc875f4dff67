"""Tuples, named tuples, dataclasses and enums as values: arguments, variables, results, constants."""

from __future__ import annotations

import dataclasses
import enum
import itertools
from typing import Any, NamedTuple, assert_never, cast

import numpy as np
import numpy.typing as npt
import pytest

from weft import (
    SIMD,
    Bool,
    CompileError,
    Float32,
    Float64,
    Int,
    Int32,
    LaunchError,
    Pointer,
    func,
    kernel,
    struct,
)
from weft.compile import compile_info
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext


class Mode(enum.IntEnum):
    SLOW = 0
    FAST = 5


class Color(enum.Enum):
    RED = "r"
    GREEN = "g"
    BLUE = "b"


class Weight(enum.Enum):
    LIGHT = 0.5
    HEAVY = 8


class Parts(enum.IntFlag):
    HEAD = 1
    BODY = 2
    TAIL = 4


class Point(NamedTuple):
    x: Float32
    y: Float32

    def swapped(self) -> Point:
        return Point(self.y, self.x)


@dataclasses.dataclass(frozen=True)
class Ball:
    center: Point
    radius: Float64
    color: Color

    def area(self) -> Float64:
        return self.radius * self.radius * 3


@dataclasses.dataclass
class Walk:
    ball: Ball
    steps: Int32
    ends: tuple[Int, Float32]

    def step(self) -> None:
        self.steps += 1


@struct
class Held:
    n: Int32
    v: SIMD[Float32, 2]


def run(ctx: DeviceContext, k: Any, *args: Any) -> npt.NDArray[np.float64]:
    out = ctx.enqueue_create_buffer(Float64, 8)
    ctx.enqueue_fill(out, 0)
    ctx.enqueue_function(k, out, *args, grid_dim=1, block_dim=1)
    with out.map_to_host() as host:
        return np.array(host)


@kernel
def _take(out: Pointer[Float64], walk: Walk, pair: tuple[Int, Held], mode: Mode, parts: Parts):
    if global_idx.x == 0:
        x, y = walk.ball.center.swapped()
        out[0] = 10.0 * x + y
        out[1] = walk.ball.area() + Float64(walk.steps)
        out[2] = 1.0 if walk.ball.color == Color.BLUE else 2.0
        out[3] = walk.ends[0] + walk.ends[1]
        out[4] = Float64(pair[0]) + pair[1].v.reduce_add() * pair[1].n
        out[5] = 1.0 if mode == Mode.FAST else 0.0
        out[6] = (1.0 if Parts.TAIL in parts else 0.0) + (10.0 if parts & Parts.BODY else 0.0)
        out[7] = 1.0 if walk.ball.color is not Color.RED else 2.0


@pytest.mark.parametrize("color", Color)
def test_arguments(device: DeviceContext, color: Color) -> None:
    walk: Any = Walk(Ball(Point(2, 3), 1.5, color), 7, (4, 0.25))
    pair, mode = (9, Held(Int32(2), Float32.simd(1, 2))), Mode.FAST
    found = run(device, _take, walk, pair, mode, Parts.HEAD | Parts.TAIL)
    blue, red = 1 if color is Color.BLUE else 2, 2 if color is Color.RED else 1
    assert found.tolist() == [32, 1.5**2 * 3 + 7, blue, 4.25, 15, 1, 1, red]
    compile_info(_take, target="sm_90")  # from the annotations alone


@kernel
def _vary(out: Pointer[Float64], n: Int):
    color, mode, weight, at = Color.RED, Mode.SLOW, Weight.LIGHT, Point(Float32(0), Float32(1))
    ball = Ball(at, Float64(1), color)
    for i in range(n):
        if i == 2:
            color, mode, weight = Color.BLUE, Mode.FAST, Weight.HEAVY
        at = Point(at.y, at.x + at.y)
        ball = Ball(at, ball.radius * 2, color)
    out[0], out[1] = Float64(at.x), Float64(at.y)
    out[2] = 1.0 if color in (Color.GREEN, Color.BLUE) else 2.0
    out[3] = Float64(mode) + 0.5 * (mode.value + 1)
    out[4] = Float64(weight.value)
    out[5] = ball.radius
    out[6] = 1.0 if ball.color == color else 0.0
    out[7] = Float64(dataclasses.replace(ball, radius=ball.radius + 1).radius)


@pytest.mark.parametrize("n", [0, 2, 6])
def test_variables(device: DeviceContext, n: int) -> None:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    late = n > 2
    expected = [a, b, 1 if late else 2, 5 + 0.5 * 6 if late else 0.5, 8 if late else 0.5, 2**n, 1, 2**n + 1]
    assert run(device, _vary, n).tolist() == expected


@func
def _moved(ball: Ball, by: Float32, color: Color) -> Ball:
    if by < 0:
        return Ball(ball.center, 1.0, color)
    return Ball(Point(ball.center.x + by, 0.0), ball.radius, ball.color)


def test_results() -> None:
    ball: Any = Ball(Point(1, 2), 3.0, Color.GREEN)
    moved: Any = _moved
    assert moved(ball, 0.5, Color.RED) == Ball(Point(1.5, 0.0), 3.0, Color.GREEN)
    assert moved(ball, -1, Color.RED) == Ball(Point(1.0, 2.0), 1.0, Color.RED)
    assert type(moved(ball, 0.5, Color.RED).center) is Point


CONSTANT: Any = Walk(Ball(Point(1, 2), 3.0, Color.GREEN), 7, (4, 0.25))


@func
def _center(ball: Any) -> Any:
    return ball.center


@kernel
def _captured(out: Pointer[Float64]):
    x, y = _center(CONSTANT.ball)
    out[0], out[1], out[2] = Float64(x), Float64(y), CONSTANT.ball.area()
    out[3] = 1.0 if CONSTANT.ball.color is Color.GREEN else 0.0
    out[4] = {Mode.SLOW: 3.0, Mode.FAST: 4.0}[Mode.FAST]


def test_constants(device: DeviceContext) -> None:
    assert run(device, _captured).tolist()[:5] == [1, 2, 27, 1, 4]


def test_a_method_cannot_change_a_copy() -> None:
    @kernel
    def k(out: Pointer[Float64], walk: Walk):
        walk.step()
        out[0] = Float64(walk.steps)

    with pytest.raises(CompileError, match=r"a Walk is a value here, as a number is: its \.steps cannot"):
        run(DeviceContext(api="cpu"), k, CONSTANT)


def test_a_method_cannot_change_what_a_branch_shares() -> None:
    @kernel
    def k(out: Pointer[Float64], n: Int32):
        walk = Walk(CONSTANT.ball, n, (Int(1), Float32(2)))
        if n > 2:
            walk.step()
        out[0] = Float64(walk.steps)

    with pytest.raises(CompileError, match="changes `walk`"):
        run(DeviceContext(api="cpu"), k, 3)


def test_what_is_no_member() -> None:
    with pytest.raises(LaunchError, match="a member of Mode"):
        run(DeviceContext(api="cpu"), _take, CONSTANT, (9, Held(Int32(2), Float32.simd(1, 2))), 5, Parts(0))


@func
def _compared(a: Ball, b: Ball) -> Any:
    return a == b, a != b, a.center == b.center, a.center < b.center, a in (b, a)


class Gear(enum.Enum):
    LOW = 1
    HIGH = 7

    @property
    def twice(self) -> Int:
        return Int(self.value * 2)

    def plus(self, k: Int) -> Int:
        return Int(self.value + k)

    @func
    def other(self) -> Gear:
        return Gear.HIGH if self is Gear.LOW else Gear.LOW


@func
def _shifted(n: Int) -> Int:
    gear = Gear.LOW if n > 2 else Gear.HIGH
    return gear.twice + gear.plus(n) * 100 + gear.other().plus(0) * 10000


def test_methods_of_members_that_are_known_at_run_time() -> None:
    assert [_shifted(n) for n in (1, 3)] == [14 + 800 + 10000, 2 + 400 + 70000]


@dataclasses.dataclass(frozen=True)
class Choice:
    color: Color
    share: Float64


@func
def _chosen(n: Int) -> Color:
    if n > 3:
        return Color.RED
    if n > 2:
        return Color.GREEN
    return Color.GREEN if n == 1 else Color.BLUE


@func
def _choices(n: Int):
    if n > 3:
        return Choice(Color.RED, 1), 1
    return Choice(_chosen(n), 0.1), n


@kernel
def _returns(out: Pointer[Float64], n: Int):
    choice, count = _choices(n)
    again = Choice(Color.RED, 3)
    if n > 2:
        again = Choice(Color.GREEN, 0.3)
    out[0], out[1], out[2] = choice.share, Float64(count), again.share
    out[3] = 1.0 if choice.color is Color.GREEN else 2.0 if choice.color is Color.RED else 3.0
    out[4] = 1.0 if again.color == _chosen(n) else 0.0


@pytest.mark.parametrize("n", [0, 1, 3, 4])
def test_members_and_dataclasses_are_returned_on_several_paths(device: DeviceContext, n: int) -> None:
    color = 2 if n > 3 else 1 if n in (1, 3) else 3
    again = 1 if n == 3 else 0
    wanted = [1.0 if n > 3 else 0.1, 1 if n > 3 else n, 0.3 if n > 2 else 3, color, again]
    assert run(device, _returns, n).tolist()[:5] == wanted


@func
def _compared_lanes(x: Float32, y: Float32) -> Any:
    v, w = Float32.simd(x, 2), Float32.simd(y, 2)
    a, b = (v, Held(Int32(1), w)), (w, Held(Int32(1), v))
    return a == b, a != b, a in (b, (v, Held(Int32(2), w)))


@pytest.mark.parametrize("y", [1.0, 3.0])
def test_lanes_in_tuples_are_equal_where_all_are(y: float) -> None:
    assert _compared_lanes(1.0, y) == (y == 1, y != 1, y == 1)


@pytest.mark.parametrize("x", [1, 3])
@pytest.mark.parametrize("color", [Color.RED, Color.GREEN])
def test_comparisons(x: int, color: Color) -> None:
    a, b = (
        Ball(cast("Any", Point)(1, 2), cast("Any", 3.0), Color.RED),
        Ball(cast("Any", Point)(x, 2), cast("Any", 3.0), color),
    )
    expected = a == b, a != b, a.center == b.center, a.center < b.center, True
    assert cast("Any", _compared)(a, b) == expected


class Way(enum.Enum):
    UP = "up"
    DOWN = "down"
    STAY = "stay"


@func
def by_if(way: Way) -> Int:
    if way is Way.UP:
        return Int(1)
    elif way == Way.DOWN:
        return Int(2)
    elif way is Way.STAY:
        return Int(3)
    else:
        assert_never(way)


@func
def by_return(way: Way) -> Int:
    if way is Way.UP:
        return Int(1)
    if way in (Way.DOWN, Way.STAY):
        return Int(2)
    assert_never(way)


@func
def by_expression(way: Way) -> Int:
    if way is not Way.UP:
        return Int(2) if way != Way.DOWN else Int(3)
    return Int(1) if way is Way.UP else assert_never(way)


def _walk(way: Any, other: Any, n: Any) -> Any:
    total = 0
    for i in range(n):
        if way is Way.UP:
            total += 1
            continue
        if way is Way.DOWN and i > 1:
            break
        total += 10
    if way is Way.UP or other is Way.DOWN:
        total += 100
    if way is Way.DOWN and other is not Way.UP:
        total += 1000
    if not (way is Way.UP or way is Way.DOWN):
        total += 10000
    if other is Way.STAY:
        return total
    if way is Way.STAY:
        return -total
    return total + (7 if other is Way.UP else 8)


@func
def walk(way: Way, other: Way, n: Int) -> Int:
    return walked(way, other, n)


walked = func(_walk)


def test_tests_of_members_leave_nothing_open() -> None:
    assert [by_if(way) for way in Way] == [1, 2, 3]
    assert [by_return(way) for way in Way] == [1, 2, 2]
    assert [by_expression(way) for way in Way] == [1, 3, 2]
    for way, other, n in itertools.product(Way, Way, (0, 1, 4)):
        assert walk(way, other, Int(n)) == _walk(way, other, n)


LENGTHS = {Way.STAY: 0.5, Way.UP: 1.5, Way.DOWN: 2.5}


@kernel
def lengths(way: Way, turned: Bool, out: Pointer[Float32]):
    now = Way.STAY if turned else way
    out[0] = LENGTHS[way] + 10.0 * LENGTHS[now]


def test_a_dict_is_a_table_by_members(device: DeviceContext) -> None:
    out = device.enqueue_create_buffer(Float32, 1)
    for way, turned in itertools.product(Way, (False, True)):
        device.enqueue_function(lengths, way, turned, out, grid_dim=1, block_dim=1)
        with out.map_to_host() as host:
            assert host[0] == LENGTHS[way] + 10.0 * LENGTHS[Way.STAY if turned else way]


EITHER: Any = np.uint8 | np.int64


def kind(x: Any) -> int:
    """What Python says of an element of an array."""
    one: Any = np.float32
    others: Any = np.float16, np.float64
    if isinstance(x, one):
        return 1
    if isinstance(x, others):
        return 2
    if isinstance(x, EITHER):
        return 3
    return 4 if isinstance(x, np.integer) else 5 if isinstance(x, np.bool_) else 6


@func
def kind_within(x: Any) -> Int:
    match x:
        case np.floating():
            return kind(x) * 10
        case _:
            return kind(x)


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int64", "int8", "uint8", "bool"])
def test_numbers_are_what_elements_of_numpys_arrays_are(name: str) -> None:
    x = np.ones(1, name)[0]
    assert kind_within(x) == kind(x) * (10 if isinstance(x, np.floating) else 1)
