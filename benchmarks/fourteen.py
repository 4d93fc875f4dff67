"""Fourteen kernels on the CPU, beside Numba, C and ISPC: the same arrays, in turns, each result compared.

Under ``taskset -c 0`` it is one thread, and times are of the processor: weft, Numba and OpenMP take the
cores that the process may use.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.kernels import fourteen as kernels
from benchmarks.measure import PEERS, REST, in_turns, module, spread, table
from weft import config
from weft.compile import compile_info
from weft.gpu.host import DeviceContext

Array = npt.NDArray[Any]
Case = Callable[[], None]
FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-fopenmp", "-shared", "-fPIC")
EXACT = "-ffp-contract=off"
"""Products and sums are rounded each, as in weft; without it gcc fuses them."""
ISPC = ("-O3", "--opt=disable-fma", "--target=host", "--pic")
PEERS_IN_TURN = ("Numba", "C", "C, fused", "ISPC")
WARM_UP = 12
"""Rounds that do not count: the first launches go through Python."""


@dataclass
class Work:
    """A kernel, how to launch it, and what it is given; arrays of ``out`` are what it is to have made.

    ``numba`` and ``c`` are the arguments of the peers' functions where they are others than the kernel's.
    """

    name: str
    grid: int | tuple[int, int]
    block: int | tuple[int, int]
    args: Sequence[Any]
    out: Sequence[Array]
    expected: Sequence[Array]
    numba: Sequence[Any]
    c: Sequence[Any] = ()
    zeroed: bool = False
    """Whether the result is added to what is there."""
    summed: bool = False
    """Whether only the sum of the result counts."""


def run(options: argparse.Namespace) -> None:
    scale = options.size or 2048
    alone = hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) == 1
    ctx = DeviceContext(api="cpu")
    numba = None if module("numba") is None else module("benchmarks.peers.fourteen_numba")
    c, fused, ispc = _library(EXACT), _library(), _ispc()
    print(f"## Fourteen kernels on the CPU: {ctx.name}")
    print(f"Numba: {'no' if numba is None else 'yes'}; C: {'no compiler' if c is None else ' '.join(FLAGS)}")
    print(f"and {EXACT}, but for `C, fused`; ISPC: {'no' if ispc is None else ' '.join(ISPC)}\n")
    rows: list[list[str]] = []
    for made in WORKS:
        if options.kernels and made.__name__.lstrip("_") not in options.kernels.split(","):
            continue
        work = made(scale, np.random.default_rng(1))
        compiled = _compile_time(ctx, work)
        cases = {"weft": launches(ctx, work)}
        if numba is not None:
            cases["Numba"] = _call(getattr(numba, work.name), work, work.numba or work.args)
        for peer, library in (("C", c), ("C, fused", fused), ("ISPC", ispc)):
            function = getattr(library, work.name, None)
            if function is not None:
                cases[peer] = _call(function, work, _as_c(work.c or work.args))
        for name, case in cases.items():
            prepared(work, name, case)
        timed = {name: processor_time(case) for name, case in cases.items()} if alone else cases
        times = in_turns(timed, options.rounds or 15, pause=REST, warm_up=WARM_UP)
        least = {name: min(got) for name, got in times.items()}
        row = [work.name]
        row += [
            f"{1e3 * spread(times[n])[0]:.2f} / {1e3 * spread(times[n])[1]:.2f}" if n in times else ""
            for n in ("weft", *PEERS_IN_TURN)
        ]
        row += [f"{least[n] / least['weft']:.2f}" if n in least else "" for n in PEERS_IN_TURN]
        rows.append([*row, f"{compiled:.0f}"])
        print(f"{row[0]:14}" + "".join(f"{cell:>17}" for cell in rows[-1][1:]), flush=True)
    print()
    head = ("ms, least / median", "weft", *PEERS_IN_TURN, *(f"× {n}" for n in PEERS_IN_TURN), "compile ms")
    table(head, rows)


def prepared(work: Work, name: str, case: Callable[[], Any]) -> None:
    """Run a case once, and see that what it makes is right."""
    for array in work.out:
        array.fill(0)
    case()
    for got, wanted in zip(work.out, work.expected, strict=True):
        found = got.sum(dtype=np.float64) if work.summed else got.astype(np.float64)
        off = np.abs(found - wanted) > 1e-3 * np.abs(wanted).max()
        assert np.mean(off) < 0.02, f"{work.name}: {name} is wrong"


def processor_time(case: Case) -> Callable[[], float]:
    """On one core nothing is gained by several threads, and what others do there does not count."""

    def timed() -> float:
        start = time.process_time()
        case()
        return time.process_time() - start

    return timed


def _ispc() -> Any:
    """ISPC's loops, or None without its compiler (``ISPC``, or ``ispc`` on the path)."""
    compiler = os.environ.get("ISPC") or shutil.which("ispc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "fourteen.o"
        command = [compiler, *ISPC, str(PEERS / "fourteen.ispc"), "-o", str(made)]
        tasks = [str(made), str(PEERS / "ispc_tasks.c"), "-o", str(made.with_suffix(".so"))]
        for step in (command, [_c_compiler() or "gcc", *FLAGS, *tasks]):
            if subprocess.run(step, check=False).returncode:
                return None
        return ctypes.CDLL(str(made.with_suffix(".so")))


def _library(*more: str) -> Any:
    """C's loops, or None without a compiler."""
    compiler = _c_compiler()
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "fourteen.so"
        command = [compiler, *FLAGS, *more, str(PEERS / "fourteen.c"), "-o", str(made), "-lm"]
        if subprocess.run(command, check=False).returncode:
            return None
        return ctypes.CDLL(str(made))


def _c_compiler() -> str | None:
    return os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")


def _as_c(args: Sequence[Any]) -> list[Any]:
    kinds: Mapping[type, Any] = {int: ctypes.c_int64, float: ctypes.c_float, np.int32: ctypes.c_int32}
    return [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else kinds[type(a)](a) for a in args]


def _call(function: Any, work: Work, args: Sequence[Any]) -> Case:
    def case() -> None:
        if work.zeroed:
            work.out[0].fill(0)
        function(*args)

    return case


def launches(ctx: DeviceContext, work: Work) -> Case:
    """A case that launches weft's kernel and waits for it."""
    kernel = getattr(kernels, work.name)

    def case() -> None:
        if work.zeroed:
            work.out[0].fill(0)
        ctx.enqueue_function(kernel, *work.args, grid_dim=work.grid, block_dim=work.block)
        ctx.synchronize()

    return case


def _compile_time(ctx: DeviceContext, work: Work) -> float:
    """Milliseconds of the processor from Python to code, without the cache; the least of three."""
    took: list[float] = []
    with tempfile.TemporaryDirectory() as folder, config.scope(cache_dir=folder, compile="in-process"):
        for _ in range(3):
            start = time.process_time()
            compile_info(getattr(kernels, work.name), emission_kind="object", target="native")
            took.append(time.process_time() - start)
    return 1e3 * min(took)


def _floats(rng: np.random.Generator, *shape: int, low: float = -1.0, high: float = 1.0) -> Array:
    return rng.uniform(low, high, shape).astype(np.float32)


def _vadd(n: int, rng: np.random.Generator) -> Work:
    a, b = _floats(rng, n * n), _floats(rng, n * n)
    c = np.empty_like(a)
    return Work("vadd", n * n // 256, 256, (a, b, c, a.size), [c], [a + b], (a, b, c))


def _grayscale(n: int, rng: np.random.Generator) -> Work:
    image, out = _floats(rng, n, n, 3), np.empty((n, n), np.float32)
    expected = image @ np.array([0.299, 0.587, 0.114], np.float32)
    return Work("grayscale", (n // 32, n // 8), (32, 8), (image, out, n, n), [out], [expected], (image, out))


def _stencil(n: int, rng: np.random.Generator) -> Work:
    a = _floats(rng, n, n)
    b, expected = np.empty_like(a), a.copy()
    inner = a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1]
    expected[1:-1, 1:-1] = np.float32(0.2) * inner
    return Work("stencil", (n // 32, n // 8), (32, 8), (a, b, n, n), [b], [expected], (a, b))


def _mandelbrot(n: int, rng: np.random.Generator) -> Work:
    n, most = n // 4, 256
    out = np.empty((n, n), np.int32)
    cx = (np.float32(-2) + np.arange(n, dtype=np.float32) * np.float32(3 / n))[None, :]
    cy = (np.float32(-1.5) + np.arange(n, dtype=np.float32) * np.float32(3 / n))[:, None]
    x, y, count = np.zeros((n, n), np.float32), np.zeros((n, n), np.float32), np.zeros((n, n), np.int32)
    for _ in range(most):
        inside = x * x + y * y <= 4
        count += inside
        x[:], y[:] = np.where(inside, x * x - y * y + cx, x), np.where(inside, 2 * x * y + cy, y)
    args = (out, n, n, np.int32(most))
    return Work("mandelbrot", (n // 32, n // 8), (32, 8), args, [out], [count], (out, most))


def _nbody(n: int, rng: np.random.Generator) -> Work:
    n *= 2
    bodies, out = _floats(rng, 4, n), np.empty((3, n), np.float32)
    expected = np.empty_like(out)
    for i in range(n):
        d = bodies[:3] - bodies[:3, i : i + 1]
        r = (d * d).sum(0) + np.float32(0.01)
        expected[:, i] = (bodies[3] / (r * np.sqrt(r)) * d).sum(1)
    return Work("nbody", n // 256, 256, (bodies, out, n), [out], [expected], (bodies, out))


def _black_scholes(n: int, rng: np.random.Generator) -> Work:
    n = n * n // 4
    price, strike = _floats(rng, n, low=5, high=30), _floats(rng, n, low=1, high=100)
    years = _floats(rng, n, low=0.25, high=10)
    call, put = np.empty_like(price), np.empty_like(price)
    rate, volatility = 0.02, 0.3
    p, s, t = (v.astype(np.float64) for v in (price, strike, years))
    d1 = (np.log(p / s) + (rate + 0.5 * volatility**2) * t) / (volatility * np.sqrt(t))
    d2 = d1 - volatility * np.sqrt(t)
    n1, n2 = (0.5 + 0.5 * np.vectorize(math.erf)(d * 0.70710678) for d in (d1, d2))
    later = s * np.exp(-rate * t)
    expected = [p * n1 - later * n2, later * (1 - n2) - p * (1 - n1)]
    args = (price, strike, years, call, put)
    both = (*args, n, rate, volatility)
    return Work("black_scholes", n // 256, 256, both, [call, put], expected, (*args, rate, volatility))


def _product(name: str, n: int, rng: np.random.Generator) -> Work:
    n //= 4
    a, b = _floats(rng, n, n), _floats(rng, n, n)
    c = np.empty_like(a)
    return Work(name, (n // 16, n // 16), (16, 16), (a, b, c, n), [c], [a @ b], (a, b, c))


def _matmul(n: int, rng: np.random.Generator) -> Work:
    return _product("matmul", n, rng)


def _matmul_tiled(n: int, rng: np.random.Generator) -> Work:
    return _product("matmul_tiled", n, rng)


def _total(n: int, rng: np.random.Generator) -> Work:
    values, sums = _floats(rng, 2 * n * n, low=0), np.empty(64, np.float32)
    expected = values.sum(dtype=np.float64, keepdims=True)
    args, whole = (values, sums, values.size), (values, sums, values.size, 64)
    return Work("total", 64, 256, args, [sums], [expected], (values, sums), whole, summed=True)


def _softmax(n: int, rng: np.random.Generator) -> Work:
    values = _floats(rng, n, n)
    out = np.empty_like(values)
    e = np.exp(values - values.max(1, keepdims=True))
    expected = e / e.sum(1, keepdims=True)
    return Work("softmax", n, 256, (values, out, n), [out], [expected], (values, out), (values, out, n, n))


def _histogram(n: int, rng: np.random.Generator) -> Work:
    values, counts = rng.integers(0, 256, 2 * n * n, np.uint8), np.zeros(256, np.uint32)
    expected = np.bincount(values, minlength=256)
    args = (values, counts, values.size)
    return Work("histogram", 64, 256, args, [counts], [expected], (values, counts), zeroed=True)


def _scan(n: int, rng: np.random.Generator) -> Work:
    values = _floats(rng, n * n)
    out = np.empty_like(values)
    expected = np.cumsum(values.reshape(-1, 256), 1, dtype=np.float64).reshape(-1)
    args = (values, out)
    return Work("scan", n * n // 256, 256, args, [out], [expected], args, (*args, n * n))


def _layer_norm(n: int, rng: np.random.Generator) -> Work:
    values, epsilon = _floats(rng, n, n), 1e-5
    out = np.empty_like(values)
    expected = (values - values.mean(1, keepdims=True)) / np.sqrt(values.var(1, keepdims=True) + epsilon)
    args = (values, out, n, epsilon)
    whole = (values, out, n, n, epsilon)
    return Work("layer_norm", n, 256, args, [out], [expected], (values, out, epsilon), whole)


def _transpose(n: int, rng: np.random.Generator) -> Work:
    a = _floats(rng, n, n)
    b = np.empty_like(a)
    return Work("transpose", (n // 32, n // 32), (32, 8), (a, b, n), [b], [a.T], (a, b))


WORKS: tuple[Callable[[int, np.random.Generator], Work], ...] = (
    _vadd,
    _grayscale,
    _stencil,
    _mandelbrot,
    _nbody,
    _black_scholes,
    _matmul,
    _matmul_tiled,
    _total,
    _softmax,
    _histogram,
    _scan,
    _layer_norm,
    _transpose,
)
