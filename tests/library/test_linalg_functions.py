"""Functions of ``weft.math`` on vectors, atomic changes of vectors and matrices, and what is refused."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from weft import CompileError, Float32, Int32, Pointer, UInt32, func, kernel, math
from weft.atomic import Atomic
from weft.bit import pop_count
from weft.compile import compile_info
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.linalg import (
    Matrix,
    determinant,
    diag,
    distance,
    dot,
    inverse,
    length,
    mat22,
    mat44h,
    norm,
    normalize,
    outer,
    quat,
    quatd,
    slerp,
    trace,
    vec2,
    vec3,
    vec3d,
    vec3h,
    vec3i,
    vec3u,
)

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose
V, W, X = np.array([-1.5, 2.5, 0.25], np.float32), np.array([1, 2, 3], np.float32), np.float32(2)


@func
def _several(v: vec3, w: vec3, x: Float32) -> tuple[vec3, vec3, vec3, vec3, vec3, vec3, vec3]:
    return (
        math.max(v, w),
        math.max(x, v),
        math.clamp(v, 0.0, x),
        math.floor(v),
        math.pow(abs(v), x),
        math.fma(v, w, x),
        math.copysign(w, v),
    )


def test_functions_go_number_by_number() -> None:
    expected = [
        np.maximum(V, W),
        np.maximum(V, X),
        np.clip(V, 0, X),
        np.floor(V),
        np.abs(V) ** X,
        V * W + X,
        np.copysign(W, V),
    ]
    found = _several(vec3(*V), vec3(*W), 2.0)
    assert np.array_equal([[float(n) for n in v] for v in found], expected)
    assert [float(n) for n in math.floor(vec3(*V))] == [-2, 2, 0]  # on the host too


@func
def _of_integers(v: vec3i) -> vec3i:
    return math.min(math.max(v, 0), 7)


@func
def _in_two(v: vec2):
    sines, cosines = math.sincos(v)
    return sines, cosines, any(math.isnan(v))


def test_integers_and_functions_of_two_results() -> None:
    assert [int(n) for n in _of_integers(vec3i(-4, 5, 9))] == [0, 5, 7]
    sines, cosines, unknown = _in_two(vec2(0.5, 1.0))
    assert np.allclose([float(n) for n in sines], np.sin([0.5, 1.0]))
    assert np.allclose([float(n) for n in cosines], np.cos([0.5, 1.0]))
    assert unknown is False


@func
def _numbers_first(v: vec3i, n: Int32) -> tuple[vec3i, vec3i, vec3i]:
    return 100 // v, n % v, 2**v


def test_numbers_stand_first() -> None:
    found = _numbers_first(vec3i(3, 4, 7), 50)
    assert [[int(n) for n in v] for v in found] == [[33, 25, 14], [2, 2, 1], [8, 16, 128]]


@kernel
def _gathered(
    forces: Pointer[vec3],
    most: Pointer[vec3i],
    turns: Pointer[quat],
    cells: LayoutTensor[mat22],
    before: Pointer[vec3],
):
    i = global_idx.x
    before[i] = Atomic.fetch_add(forces + i % 2, vec3(1.0, 2.0, i))
    Atomic.fetch_max(most, vec3i(Int32(i), -1, -Int32(i)))
    Atomic.fetch_add(turns, quat(0, 0, 0, 1))
    Atomic.fetch_sub(cells.address(1, 0), 2.0 * mat22.identity())


def test_vectors_and_matrices_are_changed_atomically(device: DeviceContext) -> None:
    n = 96
    forces, most = np.zeros((2, 3), np.float32), np.full((1, 3), -50, np.int32)
    turns, before = np.zeros((1, 4), np.float32), np.zeros((n, 3), np.float32)
    cells = device.enqueue_create_buffer(mat22, 4)
    cells.enqueue_fill(mat22())
    places = cells.tensor(Layout.row_major(2, 2))
    device.enqueue_function(_gathered, forces, most, turns, places, before, grid_dim=3, block_dim=32)
    with cells.map_to_host() as host:
        assert [list(host[k]) for k in range(4)] == [[0] * 4, [0] * 4, [-2 * n, 0, 0, -2 * n], [0] * 4]
    sums = [[n / 2, n, sum(range(start, n, 2))] for start in (0, 1)]
    assert forces.tolist() == sums
    assert most.tolist() == [[n - 1, -1, 0]]
    assert turns.tolist() == [[0, 0, 0, n]]
    assert sorted(before[::2, 0].tolist()) == list(range(n // 2))  # each comes to another sum


def test_each_number_is_one_instruction() -> None:
    @kernel
    def add(x: Pointer[vec3]):
        Atomic.fetch_add(x, vec3(1.0))

    text = str(compile_info(add, target="sm_90"))
    assert text.count(".add.f32") == 3


REFUSED = {
    "v[0] = math.max(v[0], vec2(1, 2))": ("vectors of 3 and of 2 numbers", "take a part, v.xy"),
    "m[0] = math.sqrt(m[0])": ("numbers and vectors, not of a mat33", r"m.map\(sqrt\)"),
    "q[0] = math.max(q[0], 1.0)": ("numbers and vectors, not of a quat", ""),
    "x[0] = 1.0 if v[0] < v[1] else 0.0": ("cannot compare a vec3 with a vec3", "weft.math.min and max take"),
    "v[0] = v[0] + (1.0, 0.0, 0.0)": ("cannot combine a vec3 with a tuple", r"make a vector of it: vec3\("),
    "m[0] = m[0] & 3": ("cannot combine a mat33 with an int", r"v.map\(lambda"),
    "v[0] = [1.0, 2.0, 3.0]": ("a vec3 is stored here", r"write vec3\(\*\[1.0, 2.0, 3.0\]\)"),
    "v[0] = q[0] * v[0]": ("meets quat and vec3", r"write q\[0\].rotate\(v\[0\]\)"),
    "v[0] = m[0][:, 0]": ("a mat33 gives a number, a row or a column", r"m.column\(j\)"),
    "x[0] = v[0].sum()": ("no attribute `sum`", r"write sum\(v\[0\]\)"),
    "x[0] = v[0].max()": ("no attribute `max`", r"write max\(\*v\[0\]\)"),
    "v[0] = v[0].floor()": ("no attribute `floor`", r"write weft.math.floor\(v\[0\]\)"),
    "v[0] = v[0].tanh()": ("no attribute `tanh`", r"write weft.math.tanh\(v\[0\]\)"),
    "m[0] = m[0].exp()": ("no attribute `exp`", r"write m\[0\].map\(exp\), with exp of weft.math"),
    "w = v[0]; v[0] = numpy.sqrt(w)": ("computes at compile time", r"write weft.math.sqrt\(w\)"),
    "n = m[0]; m[0] = numpy.sqrt(n)": ("computes at compile time", r"write n.map\(sqrt\)"),
    "x[0] = x[0].sqrt()": ("no attribute `sqrt`", r"write weft.math.sqrt\(x\[0\]\)"),
    "v[0] = wp.quat_rotate(q[0], v[0])": ("`wp.quat_rotate` is not defined", r"write q.rotate\(v\)"),
    "x[0] = smoothstep(0.0, 1.0, x[1])": ("not defined", "clamp"),
    "Atomic.fetch_add(v, 1.0)": ("takes a vec3 here, not a float", r"write vec3\(...\)"),
    "Atomic.fetch_add(v, vec2(1, 2))": ("takes a vec3 here, not a vec2", ""),
    "Atomic.exchange(v, v[1])": ("no other thread may come between them", "address of a field"),
    "Atomic.fetch_or(v, v[1])": ("takes integers, not Float32", ""),
}


SOURCE = """
import numpy
from weft import Float32, Pointer, kernel, math
from weft.atomic import Atomic
from weft.linalg import mat33, quat, vec2, vec3

@kernel
def k(v: Pointer[vec3], m: Pointer[mat33], q: Pointer[quat], x: Pointer[Float32]):
    {}
"""


@pytest.mark.parametrize("line", REFUSED)
def test_refused(line: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(SOURCE.format(line))
    made = runpy.run_path(str(file))["k"]
    with pytest.raises(CompileError, match=REFUSED[line][0]) as found:
        compile_info(made, target="cpu", emission_kind="ir")
    assert re.search(REFUSED[line][1], str(found.value))


def test_a_diagonal_has_zeros_beside_it() -> None:
    m = diag(vec2(np.inf, -1))
    found = np.array([float(part) for part in m]).reshape(2, 2)
    np.testing.assert_array_equal(found, np.diag([np.inf, -1.0]))
    assert not np.signbit(found[:, 0]).any()


def test_short_floats_are_measured_in_float32() -> None:
    @func
    def measured(v: vec3h, m: mat44h) -> Any:
        return length(v), normalize(v), norm(m), determinant(m), inverse(m)

    v, scale = np.array([300, -400, 120], np.float16), np.float16(32)
    m = np.eye(4, dtype=np.float16) * scale
    m[3] = [1, 2, 3, 0.5]
    on_host = vec3h(*v), mat44h(*m.ravel())
    for found in (
        measured(*on_host),
        (
            length(on_host[0]),
            normalize(on_host[0]),
            norm(on_host[1]),
            determinant(on_host[1]),
            inverse(on_host[1]),
        ),
    ):
        size, unit, of_matrix, determined, back = found
        wide, matrix = v.astype(float), m.astype(float)
        assert float(size) == np.float16(np.linalg.norm(wide))
        np.testing.assert_allclose([float(x) for x in unit], wide / np.linalg.norm(wide), rtol=1e-3)
        assert float(of_matrix) == np.float16(np.linalg.norm(matrix))
        assert float(determined) == np.float16(np.linalg.det(matrix))
        np.testing.assert_allclose(
            np.array([float(x) for x in back]).reshape(4, 4), np.linalg.inv(matrix), rtol=1e-3, atol=1e-6
        )


@pytest.mark.parametrize(("kind", "axis", "tolerance"), [(quat, vec3, 3e-7), (quatd, vec3d, 1e-15)])
def test_the_way_between_turns_is_that_of_their_angles(kind: Any, axis: Any, tolerance: float) -> None:
    for apart in (0.0, 1e-9, 1e-3, 0.05, 0.0632, 0.064, 1.0, 3.0):
        a, b = (kind.from_axis_angle(axis(0, 0, 1), angle) for angle in (0.3, 0.3 + apart))
        start, end = (2 * np.arctan2(float(turn.z), float(turn.w)) for turn in (a, b))
        for t in (0.0, 0.3, 0.5, 1.0):
            found, angle = slerp(a, b, t), (start + (end - start) * t) / 2
            np.testing.assert_allclose(
                [float(part) for part in found], [0, 0, np.sin(angle), np.cos(angle)], rtol=0, atol=tolerance
            )


CURED: list[tuple[Callable[[Any, Any], Any], str, Callable[[Any, Any], Any]]] = [
    (
        lambda u, n: u + n,
        "convert one of them: n.cast(UInt32) or u.cast(Int32)",
        lambda u, n: u + n.cast(UInt32),
    ),
    (lambda u, n: dot(u, n), "convert one of them: n.cast(UInt32)", lambda u, n: dot(u.cast(Int32), n)),
    (lambda u, n: length(n), "norm takes floats, not a vec3i", lambda u, n: length(n.cast(Float32))),
    (lambda u, n: distance(n, n), "x.cast(Float32)", lambda u, n: distance(n.cast(Float32), n.cast(Float32))),
    (
        lambda u, n: quat.from_axis_angle(vec3(0, 0, 1), n.x),
        "write Float32(angle)",
        lambda u, n: quat.from_axis_angle(vec3(0, 0, 1), Float32(n.x)),
    ),
    (lambda u, n: quat().rotate(n.xy), "rotate takes a vector of three numbers, not vec2i", lambda u, n: n),
    (lambda u, n: trace(outer(n, n.xy)), "trace is of square matrices", lambda u, n: trace(outer(n, n))),
    (
        lambda u, n: inverse(outer(n, n)),
        "inverse takes floats",
        lambda u, n: inverse(outer(n, n).cast(Float32)),
    ),
]


@pytest.mark.parametrize(("wrong", "told", "right"), CURED)
def test_cures_can_be_followed(wrong: Any, told: str, right: Any) -> None:
    @func
    def computed(u: vec3u, n: vec3i) -> Any:
        return wrong(u, n)

    @func
    def mended(u: vec3u, n: vec3i) -> Any:
        return right(u, n)

    with pytest.raises(CompileError) as caught:
        computed(vec3u(1, 2, 3), vec3i(1, 2, 3))
    assert told in str(caught.value)
    mended(vec3u(1, 2, 3), vec3i(1, 2, 3))


def test_the_trace_is_of_any_square() -> None:
    assert float(trace(Matrix[Float32, Literal[9], Literal[9]].identity())) == 9.0


of_any: Any = math
OF_FUNCTIONS: list[tuple[Callable[[Any], Any], str, Callable[[Any], Any]]] = [
    (lambda n: of_any.sqrt(n), "write sqrt(x.cast(Float32))", lambda n: of_any.sqrt(n.cast(Float32))),
    (
        lambda n: of_any.pow(n, 2),
        "write pow(x.cast(Float32), y.cast(Float32))",
        lambda n: of_any.pow(n.cast(Float32), n.cast(Float32)),
    ),
    (lambda n: of_any.pow(n.x, n.y), "write pow(Float32(x), Float32(y))", lambda n: n),
    (lambda n: pop_count(n), "apply it to each number: x.map(pop_count)", lambda n: n.map(pop_count)),
]


@pytest.mark.parametrize(("wrong", "told", "right"), OF_FUNCTIONS)
def test_cures_of_functions_can_be_followed(wrong: Any, told: str, right: Any) -> None:
    @func
    def computed(n: vec3i) -> Any:
        return wrong(n)

    @func
    def mended(n: vec3i) -> Any:
        return right(n)

    with pytest.raises(CompileError) as caught:
        computed(vec3i(1, 2, 3))
    assert told in str(caught.value)
    mended(vec3i(1, 2, 3))
