"""How near what ready kernels choose by themselves is to the best of what they could have chosen.

No ready kernel measures anything: blocks, tiles and what a thread has follow from shapes by the constants of
their modules. Here each constant is varied, and the calls that come of it are measured in turns by events of
the device; then the choice and the best of the others once more, by themselves, as the least of many medians
is too good. Values that a device refuses are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import itertools
import math
import statistics
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from benchmarks.measure import in_turns
from weft import CompileError, LaunchError, Tensor, kernels
from weft.calls.planned import plans_by_key
from weft.gpu.host import DeviceContext
from weft.kernels.products import choice

Call = Callable[[], Any]
Setting = Mapping[str, Any]
NEAR = 1.05
"""What is near enough."""
SAMPLE = 1e-3
"""Seconds that calls take which are measured together."""
WAYS = 6
"""Ways to multiply matrices that are measured: the cheapest by what they are taken to cost."""
CHECKED = 1 << 14
"""Elements of each result that are compared."""


@dataclass
class Case:
    """A ready kernel, a class of shapes, and values of the constants that decide there."""

    name: str
    shapes: str
    make: Callable[[Arrays], Call]
    space: Mapping[str, Sequence[Any]]
    """By module, below ``weft.kernels``, and name."""


class Arrays:
    """Makes arrays of a size: ``side`` squared elements in most of them."""

    def __init__(self, ctx: DeviceContext, side: int) -> None:
        self.ctx, self.side, self.size = ctx, side, side * side

    @lru_cache(6)  # noqa: B019
    def __call__(self, *shape: int, dtype: str = "float32") -> Any:
        numbers, count = random_numbers(dtype), math.prod(shape)
        return Tensor.from_numpy(np.resize(numbers, count).reshape(shape), self.ctx)

    def like(self, *shape: int, dtype: str = "float32") -> Any:
        """An array that a call may write to."""
        return Tensor.from_numpy(np.zeros(shape, dtype), self.ctx)


@cache
def random_numbers(dtype: str) -> Any:
    """Some numbers, of which arrays repeat as many as they have."""
    generator, kind, count = np.random.default_rng(1), np.dtype(dtype), (1 << 20) + 7
    if kind.kind == "f":
        return generator.random(count, np.float32).astype(kind)
    return generator.integers(0, 100, count, kind)


def run(options: argparse.Namespace) -> None:
    print("## What ready kernels choose\n")
    ctx = DeviceContext()
    on_gpu = ctx.api != "cpu"
    arrays = Arrays(ctx, options.size or (8192 if on_gpu else 128))
    chosen = [name for name in options.kernels.split(",") if name]
    print(f"{ctx.name}, {arrays.side}² elements; times of a call in µs, by events\n")
    print("| kernel | shapes | chosen | best | which is | chosen / best |\n|---|---|---|---|---|---|")
    ratios: list[float] = []
    for case in cases(arrays):
        if not chosen or case.name in chosen:
            ratios.append(compared(ctx, case, arrays, options.rounds or 9))
    near = sum(ratio <= NEAR for ratio in ratios)
    print(f"\nWithin {NEAR - 1:.0%} of the best: {near} of {len(ratios)}.\n", flush=True)


def compared(ctx: DeviceContext, case: Case, arrays: Arrays, rounds: int) -> float:
    """Print a row of the table."""
    call, ready = case.make(arrays), dict[str, Call]()
    right = None
    for setting in settings(case, call):
        try:
            planned, found = decided(ctx, call, setting)
        except (CompileError, LaunchError):
            if not setting:
                raise
            continue
        right = found if right is None else right
        for one, other in zip(found, right, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-2, atol=1e-2)
        ready[text(setting)] = planned
    default = next(iter(ready))
    once = ctx.execution_time(lambda _: ready[default]()) / 1e9
    calls = max(1, min(64, int(SAMPLE / once)))

    def median_of(names: Sequence[str], rounds: int) -> dict[str, float]:
        timed = {name: lambda n=name: ctx.execution_time(lambda _: ready[n](), calls) / 1e9 for name in names}
        times = in_turns(timed, rounds)
        return {name: statistics.median(got) * 1e6 / calls for name, got in times.items()}

    first = median_of([*ready], rounds)
    best = min(first, key=lambda name: first[name])
    again = median_of([default, best], 2 * rounds) if best != default else first
    ratio = max(1.0, again[default] / again[best])
    what = best if ratio > 1 else "the same"
    row = case.name, case.shapes, f"{again[default]:.1f}", f"{min(again.values()):.1f}", what, f"{ratio:.3f}"
    print(f"| {' | '.join(row)} |", flush=True)
    return ratio


def decided(ctx: DeviceContext, call: Call, setting: Setting) -> tuple[Call, list[Any]]:
    """What repeats a call as it is decided where constants have these values, and what it has found."""
    plans_by_key.clear()
    with changed(setting):
        results = call()
        kept = dict(plans_by_key)
    several: list[Any] = [*results] if type(results) is tuple else [results]
    found = [first_of(ctx, result) for result in several]

    def again() -> Any:
        plans_by_key.update(kept)
        if kept and all(kept.values()):
            return call()
        with changed(setting):  # it is decided each time
            return call()

    return again, found


def first_of(ctx: DeviceContext, result: Any) -> Any:
    """The first elements of a result."""
    part = result.storage.create_sub_buffer(0, min(CHECKED, result.size))
    found = np.empty(len(part), result.dtype.numpy)
    ctx.enqueue_copy(dst=found, src=part)
    ctx.synchronize()
    return found.astype(float)


@contextlib.contextmanager
def changed(setting: Setting) -> Generator[None]:
    """Constants of modules with other values."""
    with contextlib.ExitStack() as stack:
        for path, value in setting.items():
            owner, name = owner_of(path)
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)
        yield


def owner_of(path: str) -> tuple[Any, str]:
    """The module or class that has a constant, and its name there."""
    module, *inner, name = path.split(".")
    package = "weft.algorithm" if module == "onesweep" else "weft.kernels"
    if module in ("products", "flash"):
        package, module = f"{package}.{module}", inner.pop(0)
    owner: Any = importlib.import_module(f"{package}.{module}")
    for part in inner:
        owner = getattr(owner, part)
    return owner, name


def settings(case: Case, call: Call) -> Iterator[Setting]:
    """The values of constants as they are, and then all others."""
    yield {}
    if "products.tiles.choose" in case.space:
        yield from ({"products.tiles.choose": Fixed(way)} for way in ways_of(call))
        return
    usual = {path: getattr(*owner_of(path)) for path in case.space}
    for values in itertools.product(*case.space.values()):
        setting = dict(zip(case.space, values, strict=True))
        if setting != usual:
            yield setting


def text(setting: Setting) -> str:
    """A setting in short."""
    shown = {path.rpartition(".")[2]: value for path, value in setting.items()}
    return ", ".join(f"{name.strip('_')} {value}" for name, value in shown.items()) or "chosen"


class Fixed:
    """Chooses one way to multiply matrices, whatever they are."""

    def __init__(self, way: choice.Way) -> None:
        self.way = way

    def __call__(self, *_: Any, **__: Any) -> choice.Way:
        return self.way

    def __str__(self) -> str:
        shape, splits, whole = self.way
        more = [f"{n} {word}" for n, word in ((shape.cluster, "beneath"), (shape.along, "along k")) if n > 1]
        parts = [f"{splits} parts of k"] if splits > 1 else []
        return ", ".join(
            [f"{shape.tile[0]} × {shape.tile[1]}", *more, *parts, *([f"{whole} whole"] * bool(whole))]
        )


def ways_of(call: Call) -> list[choice.Way]:
    """The cheapest ways for a product, but for the one that is chosen."""
    asked: list[tuple[Any, ...]] = []

    def noted(*args: Any, **named: Any) -> choice.Way:
        asked.append((args, named))
        return choice.choose(*args, **named)

    plans_by_key.clear()
    with changed({"products.tiles.choose": noted}):
        call()
    if not asked:
        return []
    (shapes, extents, depth, width, units, *rest), named = asked[0]
    most, lines = rest[0] if rest else 64, rest[1] if len(rest) > 1 else (1, 1)
    most = min(most, max(1, -(-extents[2] // depth) // 2))
    taken = choice.choose(*asked[0][0], **named)
    ways = [
        choice.Way(shape, splits)
        for shape in shapes
        for splits in choice.SPLITS
        if splits * shape.along <= most and (shape, splits) != taken[:2]
    ]
    return sorted(ways, key=lambda way: choice.cost(way, extents, depth, width, units, lines))[:WAYS]


def cases(arrays: Arrays) -> Iterator[Case]:
    """All that is measured."""
    side, size = arrays.side, arrays.size
    yield from _reductions(side, size)
    yield from _norms(side, size)
    yield from _scans_and_sorts(side, size)
    yield from _moves(side, size)
    yield from _products(side)
    yield from _attentions(side)


def _reductions(side: int, size: int) -> Iterator[Case]:
    each: Sequence[Any] = (2, 4, 8)
    for name, operation in (("sum", "Sum"), ("argmax", "ArgMax")):
        own = {f"reductions.{operation}.each": each}
        work: Any = getattr(kernels, name)
        for rows, shapes, more in (
            (8, "8 long rows", {"rows.SUMMING": (256, 512, 1024)}),
            (side, "rows of the side", {"rows.SUMMING": (256, 512, 1024)}),
            (size // 64, "rows of 64", {"rows.WARPS": (64, 128, 256)}),
        ):
            shape = rows, size // rows
            yield Case(name, shapes, lambda a, s=shape, f=work: partial(f, a(*s), 1), {**own, **more})
        across = {"rows.BESIDE": (4, 8, 16), "row_strips.ACROSS": (32, 64)}
        yield Case(name, "down columns", lambda a, f=work: partial(f, a(side, side), 0), across)


def _norms(side: int, size: int) -> Iterator[Case]:
    def softmax(a: Arrays, shape: tuple[int, int], axis: int) -> Call:
        return partial(kernels.softmax, a(*shape), axis, out=a.like(*shape))

    def layer_norm(a: Arrays, shape: tuple[int, int], axis: int) -> Call:
        weight = a(shape[1])
        return partial(kernels.layer_norm, a(*shape), weight, weight, out=a.like(*shape))

    held = {"normalizing.HELD": (64, 128, 256), "normalizing.AHEAD": (4, 8, 16)}
    short = {"normalizing.HELD": (64, 128, 256), "normalizing.WARPS": (64, 128, 256)}
    long = {"normalizing.THREADS": (256, 512), "normalizing.EACH": (2, 4, 8)}
    cluster = {"normalizing.CLUSTER": (1, 8, 16), "normalizing.AHEAD": (4, 8, 16)}
    down = {"normalizing.EACH": (2, 4, 8), "row_strips.ACROSS": (32, 64)}
    for name, work in (("softmax", softmax), ("layer_norm", layer_norm)):
        for rows, shapes, space in (
            (8, "8 long rows", long),
            (side // 16, "rows of 16 sides", cluster),
            (side, "rows of the side", held),
            (size // 256, "rows of 256", short),
        ):
            yield Case(name, shapes, lambda a, s=(rows, size // rows), f=work: f(a, s, 1), space)
    yield Case("softmax", "down columns", lambda a: softmax(a, (side, side), 0), down)


def _scans_and_sorts(side: int, size: int) -> Iterator[Case]:
    def cumsum(a: Arrays, shape: tuple[int, int], dtype: str) -> Call:
        return partial(kernels.cumsum, a(*shape, dtype=dtype), out=a.like(*shape, dtype=dtype))

    scans = {"scans._THREADS": (256, 512), "scans._EACH": (64, 128), "scans._RESIDENT": (640, 1280)}
    for rows, shapes in ((1, "one row"), (side, "rows of the side"), (size // 1000 or 1, "rows of 1000")):
        for dtype in ("float32", "int64") if rows != side else ("float32",):
            shape = rows, size // rows
            yield Case("cumsum", f"{shapes}, {dtype}", lambda a, s=shape, d=dtype: cumsum(a, s, d), scans)
    keys = {
        "onesweep._THREADS": (256, 512),
        "onesweep._EACH": (8, 16),
        "onesweep._RESIDENT": (512, 1024),
    }
    few = size // 4  # sorting takes long
    for rows, shapes in ((1, "one row"), (few // 4096 or 1, "rows of 4096")):
        shape = rows, few // rows
        yield Case("sort", shapes, lambda a, s=shape: partial(kernels.sort, a(*s)), keys)
        yield Case("sort_by_key", shapes, lambda a, s=shape: partial(kernels.sort_by_key, a(*s), a(*s)), keys)
    chosen = {"selection._EACH": (4, 8, 16), "selection._BLOCKS": (528, 1056, 2112)}
    for rows, shapes in ((1, "100 of one row"), (max(1, size >> 20), "100 of rows of 2²⁰")):
        yield Case(
            "topk", shapes, lambda a, s=(rows, size // rows): partial(kernels.topk, a(*s), 100), chosen
        )


def _moves(side: int, size: int) -> Iterator[Case]:
    counts = {"histograms.THREADS": (512, 1024), "histograms.COPIES": (4, 8, 16)}

    def histogram(a: Arrays, bins: int, dtype: str) -> Call:
        return partial(kernels.histogram, a(size, dtype=dtype), bins, (0, 256 if dtype == "uint8" else 1))

    for bins, dtype in ((256, "uint8"), (256, "float32"), (4096, "float32")):
        title = f"{bins} bins of {dtype}"
        yield Case("histogram", title, lambda a, b=bins, d=dtype: histogram(a, b, d), counts)

    def take(a: Arrays, width: int) -> Call:
        rows = size // width
        places = Tensor.from_numpy(np.random.default_rng(1).integers(0, rows, rows), a.ctx)
        return partial(kernels.take, a(rows, width), places, 0, out=a.like(rows, width))

    taking = {"gathering.TAKING": (64, 128, 256), "gathering.EACH": (2, 4, 8)}
    for width in (32, 1024):
        yield Case("take", f"rows of {width}", lambda a, w=width: take(a, w), taking)

    def swap(a: Arrays) -> Call:
        last = size // side // 64
        return partial(kernels.transpose, a(side, 64, last), (1, 0, 2), out=a.like(64, side, last))

    copying = {"copies.THREADS": (128, 256, 512), "copies.EACH": (2, 4, 8)}
    yield Case("transpose", "the first axes of three", swap, copying)

    def rope(a: Arrays) -> Call:
        rows = size // 1024 or 1
        x, out = a(1, 8, rows, 128, dtype="float16"), a.like(1, 8, rows, 128, dtype="float16")
        return partial(kernels.rope, x, a(rows, 64), a(rows, 64), out=out)

    yield Case(
        "rope", "8 heads of 128, float16", rope, {"rotary.THREADS": (128, 256, 512), "rotary.EACH": (1, 2, 4)}
    )


def _products(side: int) -> Iterator[Case]:
    def gemv(a: Arrays, turn: bool) -> Call:
        x, matrix = a(side), a(side, side)
        given, out = matrix.to_layout_tensor().transpose() if turn else matrix, a.like(side)
        return partial(kernels.gemv, given, x, out=out)

    warps = {"gemvs._WARPS": (4, 8, 16), "gemvs._BLOCKS": (528, 1056, 2112)}
    yield Case("gemv", "along rows", lambda a: gemv(a, False), warps)
    yield Case("gemv", "along columns", lambda a: gemv(a, True), warps)
    scales = {"quantized._WARPS": (4, 8, 16)}

    def gemv_int8(a: Arrays) -> Call:
        given = a(side, side, dtype="int8"), a(side), a(side, dtype="float16")
        return partial(kernels.gemv_int8, *given)

    yield Case("gemv_int8", "square", gemv_int8, scales)
    half, tall = side // 2, side * 4
    for dtype, name in (("float16", "Float16"), ("float32", "Float32")):
        for (m, n, k), shapes in (
            ((half, half, half), "square"),
            ((64, side, side), "64 rows"),
            ((256, 256, tall), "long k"),
            ((half + 8, half - 40, half), "odd"),
        ):

            def matmul(a: Arrays, m: int = m, n: int = n, k: int = k, dtype: str = dtype) -> Call:
                return partial(kernels.matmul, a(m, k, dtype=dtype), a(k, n, dtype=dtype))

            yield Case("matmul", f"{shapes}, {name}", matmul, {"products.tiles.choose": ()})


def _attentions(side: int) -> Iterator[Case]:
    def attention(a: Arrays, rows: int, width: int, dtype: str) -> Call:
        given = [a(1, 16, rows, width, dtype=dtype) for _ in range(3)]
        return partial(kernels.attention, *given, causal=True)

    rows = side // 4
    first = ((4, 8), (2, 4), (1, 4), (1, 2), (1, 1))
    tiles = {"flash.plan._SHAPES": [first[n:] for n in range(4)]}
    cached = {"flash.plan._CACHED": [8 << 20, 32 << 20, 128 << 20]}
    yield Case("attention", f"{rows} × 64, Float32", lambda a: attention(a, rows, 64, "float32"), tiles)
    yield Case("attention", f"{rows} × 128, Float16", lambda a: attention(a, rows, 128, "float16"), cached)

    def decode(a: Arrays, heads: int, dtype: str, width: int) -> Call:
        cache = [a(2, 8, side, width, dtype=dtype) for _ in range(2)]
        return partial(kernels.decode_attention, a(2, heads, width, dtype=dtype), *cache)

    parts = {"flash.plan._PART": (256, 512, 1024)}
    for dtype, width in (("float16", 128), ("float32", 64)):
        title = f"{side} keys, {dtype}"
        yield Case("decode_attention", title, lambda a, d=dtype, w=width: decode(a, 32, d, w), parts)
