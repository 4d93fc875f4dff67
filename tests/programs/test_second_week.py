"""Kernels of the sort that authors write in their second week, beside NumPy and plain Python."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft.compile import compile_info
from weft.gpu.host import DeviceContext

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
Array = npt.NDArray[Any]
Run = Callable[..., None]

SOURCE = """
import dataclasses, enum, functools, math
from typing import Generic, Literal, NamedTuple, TypeVar

from weft import *
from weft import Comptime, InlineArray, struct
from weft.gpu import global_idx
from weft.layout import LayoutTensor
from weft.memory import stack_allocation


@struct
class Heap:
    keys: InlineArray[Float32, 4]
    ids: InlineArray[Int32, 4]
    size: Int32 = 0

    def pushed(self, key: Float32, at: Int32) -> "Heap":
        if self.size < 4:
            self.keys[self.size] = key
            self.ids[self.size] = at
            self.size += 1
        else:
            worst = 0
            for i in range(1, 4):
                if self.keys[i] > self.keys[worst]:
                    worst = i
            if key < self.keys[worst]:
                self.keys[worst] = key
                self.ids[worst] = at
        return self


@kernel
def knn(points: LayoutTensor[Float32], out: LayoutTensor[Int32], n: Int):
    q = global_idx.x
    if q >= n:
        return
    heap = Heap(InlineArray[Float32, 4](fill=0.0), InlineArray[Int32, 4](fill=-1))
    for i in range(n):
        if i == q:
            continue
        d = sum((points[i, k] - points[q, k]) ** 2 for k in range(2))
        heap = heap.pushed(d, Int32(i))
    for k in range(4):
        out[q, k] = heap.ids[k]


class State(enum.Enum):
    START = 0
    NUMBER = 1
    SIGN = 2
    BAD = 3


class Token(enum.IntEnum):
    DIGIT = 0
    SIGN = 1
    OTHER = 2


@func
def classify(c: UInt8) -> Int:
    match c:
        case 43 | 45:
            return Token.SIGN
        case c if 48 <= c <= 57:
            return Token.DIGIT
        case _:
            return Token.OTHER


@func
def step(state: State, token: Int) -> State:
    match state, token:
        case (State.START, Token.SIGN):
            return State.SIGN
        case (State.START | State.SIGN | State.NUMBER, Token.DIGIT):
            return State.NUMBER
        case _:
            return State.BAD


@kernel
def parse(text: LayoutTensor[UInt8], out: Pointer[Int]):
    i = global_idx.x
    state = State.START
    value = 0
    negative = False
    for c in text[i]:
        if c == 0:
            break
        token = classify(c)
        state = step(state, token)
        if state is State.NUMBER:
            value = value * 10 + (Int(c) - 48)
        if token == Token.SIGN:
            negative = c == 45
    out[i] = (-value if negative else value) if state is State.NUMBER else -999


class Hit(NamedTuple):
    t: Float32
    index: Int


@func
def intersect(ox: Float32, dx: Float32, spheres: LayoutTensor[Float32]) -> Hit | None:
    best: Hit | None = None
    for i in range(spheres.dim(0)):
        c, r = spheres[i, 0], spheres[i, 1]
        t = (c - r - ox) / dx
        if t > 0 and (best is None or t < best.t):
            best = Hit(t, i)
    return best


@kernel
def trace(rays: LayoutTensor[Float32], spheres: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    i = global_idx.x
    hit = intersect(rays[i, 0], rays[i, 1], spheres)
    match hit:
        case None:
            out[i, 0], out[i, 1] = -1.0, -1.0
        case Hit(t, k):
            out[i, 0] = t
            out[i, 1] = Float32(k)


@struct
class Linear:
    a: Float32
    b: Float32

    def __call__(self, x):
        return self.a * x + self.b

    def slope(self, x):
        return self.a


@struct
class Quadratic:
    a: Float32

    def __call__(self, x):
        return self.a * x * x

    def slope(self, x):
        return 2.0 * self.a * x


@func
def newton(f, x: Float32, target: Float32, steps: Int) -> Float32:
    for _ in range(steps):
        s = f.slope(x)
        if abs(s) < 1e-6:
            break
        x -= (f(x) - target) / s
    return x


@kernel
def solve(t: Pointer[Float32], out: Pointer[Float32], which: Int):
    i = global_idx.x
    if which == 0:
        out[i] = newton(Linear(2.0, 1.0), 0.0, t[i], 3)
    else:
        out[i] = newton(Quadratic(0.5), 1.0, t[i], 20)


@dataclasses.dataclass(frozen=True)
class Stencil:
    radius: int
    weights: tuple[float, ...]

    @property
    def taps(self):
        return [(k - self.radius, w) for k, w in enumerate(self.weights)]

    def __post_init__(self):
        assert len(self.weights) == 2 * self.radius + 1


@kernel
def convolve(
    x: LayoutTensor[Float32],
    out: LayoutTensor[Float32],
    *,
    st: Comptime[Stencil],
    mode: Comptime[Literal["clamp", "wrap"]],
):
    i = global_idx.x
    n = len(x)
    total = 0.0
    for off, w in st.taps:
        j = i + off
        match mode:
            case "clamp":
                j = min(max(j, 0), n - 1)
            case "wrap":
                j = j % n
        total += w * x[j]
    out[i] = total


T = TypeVar("T")


@struct
class Stack(Generic[T]):
    items: InlineArray[T, 8]
    top: Int = 0

    def push(self, x: T) -> "Stack[T]":
        self.items[self.top] = x
        self.top += 1
        return self

    def pop(self) -> tuple["Stack[T]", T]:
        self.top -= 1
        return self, self.items[self.top]


@func
def rpn(code: LayoutTensor[Int32], x: Float32) -> Float32:
    st = Stack[Float32](InlineArray[Float32, 8](fill=0.0))
    for c in code:
        match c:
            case -1:
                st, a = st.pop()
                st, b = st.pop()
                st = st.push(a + b)
            case -2:
                st, a = st.pop()
                st, b = st.pop()
                st = st.push(a * b)
            case -3:
                st = st.push(x)
            case 0:
                break
            case n:
                st = st.push(Float32(n))
    st, r = st.pop()
    return r


@kernel
def evaluate(code: LayoutTensor[Int32], x: Pointer[Float32], out: Pointer[Float32]):
    i = global_idx.x
    out[i] = rpn(code, x[i])


@struct
class Node:
    lo: Float32
    hi: Float32
    left: Int32
    right: Int32
    leaf: Int32


@kernel
def query(nodes: Pointer[Node], x: Pointer[Float32], out: Pointer[Int32]):
    i = global_idx.x
    stack = stack_allocation(Int32, 16)
    stack[0] = 0
    depth = 1
    hits = Int32(0)
    while depth > 0:
        depth -= 1
        node = nodes[stack[depth]]
        if not node.lo <= x[i] <= node.hi:
            continue
        if node.leaf >= 0:
            hits |= Int32(1) << node.leaf
            continue
        for child in (node.left, node.right):
            stack[depth] = child
            depth += 1
    out[i] = hits


@kernel
def life(a: LayoutTensor[UInt8], b: LayoutTensor[UInt8]):
    y, x = global_idx.y, global_idx.x
    h, w = a.shape[0], a.shape[1]
    alive = sum(
        Int(a[(y + dy) % h, (x + dx) % w]) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx
    )
    b[y, x] = 1 if alive == 3 or (alive == 2 and a[y, x]) else 0


@kernel
def edit(
    a: LayoutTensor[UInt8], la: Pointer[Int32], b: LayoutTensor[UInt8], lb: Int, out: Pointer[Int32]
):
    i = global_idx.x
    prev = InlineArray[Int32, 16](*range(16))
    for r in range(la[i]):
        row = InlineArray[Int32, 16](fill=0)
        row[0] = Int32(r + 1)
        for c in range(lb):
            row[c + 1] = min(prev[c + 1] + 1, row[c] + 1, prev[c] + Int32(a[i, r] != b[c]))
        prev = row
    out[i] = prev[lb]


Mat = tuple[UInt64, UInt64, UInt64, UInt64]


@func
def mm(a: Mat, b: Mat, m: UInt64) -> Mat:
    return (
        (a[0] * b[0] + a[1] * b[2]) % m,
        (a[0] * b[1] + a[1] * b[3]) % m,
        (a[2] * b[0] + a[3] * b[2]) % m,
        (a[2] * b[1] + a[3] * b[3]) % m,
    )


@kernel
def fib(n: Pointer[UInt32], out: Pointer[UInt64]):
    i = global_idx.x
    r, base, k = (
        (UInt64(1), UInt64(0), UInt64(0), UInt64(1)),
        (UInt64(1), UInt64(1), UInt64(1), UInt64(0)),
        n[i],
    )
    while k:
        if k & 1:
            r = mm(r, base, 1000007)
        base = mm(base, base, 1000007)
        k >>= 1
    out[i] = r[1]


@struct
class Pcg:
    state: UInt64
    inc: UInt64 = 1442695040888963407

    def next(self) -> tuple["Pcg", UInt32]:
        old = self.state
        self.state = old * 6364136223846793005 + (self.inc | 1)
        shifted = UInt32(((old >> 18) ^ old) >> 27)
        rot = UInt32(old >> 59)
        return self, (shifted >> rot) | (shifted << ((-rot) & 31))


@kernel
def shuffle(out: LayoutTensor[Int32], seeds: Pointer[UInt64]):
    i = global_idx.x
    rng = Pcg(seeds[i])
    row = out[i]
    for k in range(len(row)):
        row[k] = Int32(k)
    for k in range(len(row) - 1, 0, -1):
        rng, r = rng.next()
        j = r % UInt32(k + 1)
        row[k], row[j] = row[j], row[k]


@functools.singledispatch
def area(s):
    raise NotImplementedError


@struct
class Circle:
    r: Float32


@struct
class Rect:
    w: Float32
    h: Float32


@area.register
def _(s: Circle):
    return s.r * s.r * math.pi


@area.register
def _(s: Rect):
    return s.w * s.h


@kernel
def areas(x: Pointer[Float32], out: LayoutTensor[Float32]):
    i = global_idx.x
    shapes = [Circle(x[i]), Rect(x[i], 2.0)]
    out[i, 0], out[i, 1] = map(area, shapes)
    out[i, 2] = sum(area(s) for s in shapes)


WEIGHTS = {"r": 0.299, "g": 0.587, "b": 0.114}


def weighted(*channels, **weights):
    return sum(c * w for c, w in zip(channels, weights.values(), strict=True))


@kernel
def luma(img: LayoutTensor[UInt8], out: LayoutTensor[UInt8]):
    y, x = global_idx.y, global_idx.x
    px = img[y, x]
    v = weighted(*(Float32(px[k]) for k in range(3)), **WEIGHTS)
    out[y, x] = UInt8(round(v))
"""


@pytest.fixture(scope="module")
def programs(load: Any) -> Any:
    return load(SOURCE)


@pytest.fixture
def run(device: DeviceContext, programs: Any) -> Run:
    """``run(name, *arguments, over=)``: a kernel on a device."""

    def launched(name: str, *arguments: Any, over: Any, **options: Any) -> None:
        device.enqueue_function(getattr(programs, name), *arguments, over=over, **options)
        device.synchronize()

    return launched


def floats(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).random(shape).astype(np.float32)


def texts(words: list[bytes], width: int) -> Array:
    return np.array([[*word.ljust(width, b"\0")] for word in words], np.uint8)


def test_nearest_points_in_a_heap(run: Run) -> None:
    points, out = floats(0, 50, 2), np.zeros((50, 4), np.int32)
    run("knn", points, out, 50, over=50)
    distances = ((points[:, None] - points[None]) ** 2).sum(-1)
    np.fill_diagonal(distances, 9)
    assert np.array_equal(np.sort(out, 1), np.sort(np.argsort(distances, 1)[:, :4], 1))


def test_numbers_by_a_state_machine(run: Run) -> None:
    out = np.zeros(6, np.int64)
    run("parse", texts([b"12", b"-7", b"+345", b"4-5", b"x", b"-"], 5), out, over=6)
    assert out.tolist() == [12, -7, 345, -999, -999, -999]


def test_a_hit_or_none_by_match(run: Run) -> None:
    rays, spheres = (
        np.array([[0, 1], [10, 1], [3, -1], [5, 1]], np.float32),
        np.array([[4, 1], [8, 0.5]], np.float32),
    )
    out = np.zeros((4, 2), np.float32)
    run("trace", rays, spheres, out, over=4)
    assert out.tolist() == [[3, 0], [-1, -1], [-1, -1], [2.5, 1]]


def test_newton_on_callable_structs(run: Run) -> None:
    targets, out = np.array([1, 2, 3, 8], np.float32), np.zeros(4, np.float32)
    run("solve", targets, out, 0, over=4)
    assert np.allclose(out, (targets - 1) / 2)
    run("solve", targets, out, 1, over=4)
    assert np.allclose(out, np.sqrt(2 * targets))


@pytest.mark.parametrize(("mode", "pad"), [("clamp", "edge"), ("wrap", "wrap")])
def test_a_stencil_of_a_dataclass(run: Run, programs: Any, mode: str, pad: Any) -> None:
    x, weights = floats(3, 12), (0.1, 0.2, 0.4, 0.2, 0.1)
    out = np.zeros_like(x)
    run("convolve", x, out, st=programs.Stencil(2, weights), mode=mode, over=12)
    assert np.allclose(out, np.convolve(np.pad(x, 2, pad), weights, "valid"), rtol=1e-5)


def test_a_generic_stack_machine(run: Run) -> None:
    x, out = np.array([1, 2, 3], np.float32), np.zeros(3, np.float32)
    run("evaluate", np.array([2, -3, -2, 3, -1, -3, -2, 0], np.int32), x, out, over=3)
    assert out.tolist() == ((2 * x + 3) * x).tolist()


def test_a_tree_with_a_stack(run: Run, programs: Any) -> None:
    nodes, low, x, out = (
        np.zeros(7, np.dtype(programs.Node)),
        floats(0, 4),
        floats(1, 40),
        np.zeros(40, np.int32),
    )
    high = low + np.float32(0.4)
    for k in range(4):
        nodes[3 + k] = (low[k], high[k], -1, -1, k)
    nodes[1] = (low[:2].min(), high[:2].max(), 3, 4, -1)
    nodes[2] = (low[2:].min(), high[2:].max(), 5, 6, -1)
    nodes[0] = (low.min(), high.max(), 1, 2, -1)
    run("query", nodes, x, out, over=40)
    assert out.tolist() == [sum(1 << k for k in range(4) if low[k] <= v <= high[k]) for v in x]


def test_life(run: Run) -> None:
    cells = (floats(1, 9, 11) < 0.4).astype(np.uint8)
    out, moves = np.zeros_like(cells), [*itertools.product((-1, 0, 1), repeat=2)]
    run("life", cells, out, over=(9, 11))
    around = np.sum([np.roll(cells, move, (0, 1)) for move in moves if any(move)], axis=0)
    assert np.array_equal(out, ((around == 3) | ((around == 2) & (cells == 1))).astype(np.uint8))


def distance(a: bytes, c: bytes) -> int:
    row = [*range(len(c) + 1)]
    for i, x in enumerate(a):
        new = [i + 1]
        for j, y in enumerate(c):
            new.append(min(row[j + 1] + 1, new[j] + 1, row[j] + (x != y)))
        row = new
    return row[-1]


def test_edit_distances_by_two_rows(run: Run) -> None:
    words, target, out = [b"kitten", b"mitten", b"a", b"sittin", b""], b"sitting", np.zeros(5, np.int32)
    lengths = np.array([len(word) for word in words], np.int32)
    run("edit", texts(words, 8), lengths, texts([target], 7)[0], 7, out, over=5)
    assert out.tolist() == [distance(word, target) for word in words]


def test_matrices_that_are_tuples(run: Run) -> None:
    n, out = np.array([0, 1, 2, 10, 90, 12345], np.uint32), np.zeros(6, np.uint64)
    run("fib", n, out, over=6)
    series = [0, 1]
    while len(series) <= 12345:
        series.append((series[-1] + series[-2]) % 1000007)
    assert out.tolist() == [series[k] for k in n]


def shuffled(state: int) -> list[int]:
    row = [*range(9)]
    for k in range(8, 0, -1):
        old, state = state, (state * 6364136223846793005 + 1442695040888963407) % 2**64
        bits, turn = (((old >> 18) ^ old) >> 27) % 2**32, old >> 59
        j = ((bits >> turn) | (bits << ((-turn) & 31))) % 2**32 % (k + 1)
        row[k], row[j] = row[j], row[k]
    return row


def test_a_generator_of_random_numbers_that_shuffles(run: Run) -> None:
    seeds, out = np.array([1, 42, 2**63 + 5], np.uint64), np.zeros((3, 9), np.int32)
    run("shuffle", out, seeds, over=3)
    assert out.tolist() == [shuffled(int(seed)) for seed in seeds]


def test_functions_by_the_class_of_a_struct(run: Run) -> None:
    x, out = np.array([1, 2, 3], np.float32), np.zeros((3, 3), np.float32)
    run("areas", x, out, over=3)
    disc = x * x * np.float32(math.pi)
    assert np.allclose(out, np.stack([disc, x * 2, disc + x * 2], 1))


def test_a_helper_with_star_arguments(run: Run) -> None:
    image, out = (
        np.random.default_rng(3).integers(0, 256, (4, 5, 3)).astype(np.uint8),
        np.zeros((4, 5), np.uint8),
    )
    run("luma", image, out, over=(4, 5))
    weights = np.array([0.299, 0.587, 0.114], np.float32)
    assert np.array_equal(out, np.rint((image * weights).sum(-1, dtype=np.float32)))


@pytest.mark.parametrize("name", ["query", "fib", "solve"])
def test_the_kernels_become_ptx(name: str, programs: Any) -> None:
    assert ".entry" in str(compile_info(getattr(programs, name), emission_kind="asm", target="sm_90"))
