"""Small vectors, matrices and quaternions against NumPy: on the host, on the CPU and on GPUs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pytest

from weft import (
    CompileError,
    Comptime,
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
from weft.complex import ComplexFloat32
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.lang.number import Number
from weft.layout import Layout, LayoutTensor
from weft.linalg import (
    Matrix,
    Quaternion,
    Vector,
    cross,
    determinant,
    diag,
    distance,
    dot,
    inverse,
    length,
    mat22,
    mat33,
    mat33d,
    mat44,
    mat44d,
    norm,
    normalize,
    outer,
    quat,
    quatd,
    reflect,
    slerp,
    trace,
    transpose,
    vec2,
    vec3,
    vec3d,
    vec3h,
    vec3i,
    vec4,
)
from weft.memory import SoA

Array = npt.NDArray[Any]
_vector: Any = Vector
_matrix: Any = Matrix
GIVEN = np.random.default_rng(7).uniform(-2, 2, 40)


def flat(value: Any) -> list[Any]:
    """The numbers of a vector or matrix, or a number."""
    return list(value.parts()) if hasattr(value, "parts") else [value]


def run(device: DeviceContext, kind: Any, compute: Callable[..., Any], given: Array, count: int) -> Array:
    """``compute(pointer)`` on a device: all the numbers that it gives."""

    def store(x: Pointer[Any], out: Pointer[Any]) -> None:
        for n, part in enumerate(flat(compute(x))):
            out[n] = part

    store.__annotations__ |= dict.fromkeys(("x", "out"), cast("Any", Pointer)[kind])
    x, out = device.enqueue_create_buffer(kind, given.size), device.enqueue_create_buffer(kind, count)
    device.enqueue_copy(dst=x, src=given.astype(kind.dtype.name))
    device.enqueue_function(kernel(store), x, out, grid_dim=1, block_dim=1)
    with out.map_to_host() as host:
        return np.array(host)


def at(x: Any, start: int, count: int) -> list[Any]:
    """Numbers in a row, of memory, or of a list on the host."""
    return [x[n] for n in range(start, start + count)]


def v(x: Any, start: int, size: int, kind: Any) -> Any:
    return _vector[kind, size](*at(x, start, size))


def m(x: Any, start: int, rows: int, columns: int, kind: Any) -> Any:
    return _matrix[kind, rows, columns](*at(x, start, rows * columns))


G = GIVEN
VECTORS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "sums": (
        lambda x, k: (2 * v(x, 0, 3, k) - v(x, 3, 3, k) / 4 + 1) * v(x, 6, 3, k) + 3 / v(x, 9, 3, k),
        (2 * G[:3] - G[3:6] / 4 + 1) * G[6:9] + 3 / G[9:12],
    ),
    "by a number": (lambda x, k: x[9] * v(x, 0, 4, k) - x[8], G[9] * G[:4] - G[8]),
    "swizzle": (lambda x, k: v(x, 0, 4, k).wzyx + v(x, 4, 3, k).xxyz, G[3::-1] + G[[4, 4, 5, 6]]),
    "parts": (lambda x, k: _vector[k, 4](v(x, 0, 2, k), x[5], v(x, 7, 2, k).y), G[[0, 1, 5, 8]]),
    "dot": (lambda x, k: dot(v(x, 0, 4, k), v(x, 4, 4, k)), G[:4] @ G[4:8]),
    "cross": (lambda x, k: cross(v(x, 0, 3, k), v(x, 3, 3, k)), np.cross(G[:3], G[3:6])),
    "cross of two": (lambda x, k: cross(v(x, 0, 2, k), v(x, 2, 2, k)), G[0] * G[3] - G[1] * G[2]),
    "length": (lambda x, k: length(v(x, 0, 3, k)), np.linalg.norm(G[:3])),
    "distance": (lambda x, k: distance(v(x, 0, 3, k), v(x, 3, 3, k)), np.linalg.norm(G[:3] - G[3:6])),
    "normalize": (lambda x, k: normalize(v(x, 0, 4, k)), G[:4] / np.linalg.norm(G[:4])),
    "reflect": (
        lambda x, k: reflect(v(x, 0, 3, k), v(x, 3, 3, k)),
        G[:3] - 2 * (G[:3] @ G[3:6]) * G[3:6],
    ),
    "outer": (lambda x, k: outer(v(x, 0, 2, k), v(x, 2, 3, k)), np.outer(G[:2], G[2:5])),
    "abs": (lambda x, k: abs(-v(x, 0, 4, k)), np.abs(G[:4])),
    "insert": (lambda x, k: v(x, 0, 3, k).insert(1, x[9]), np.r_[G[0], G[9], G[2]]),
    "wide": (lambda x, k: v(x, 0, 7, k) @ v(x, 7, 7, k), G[:7] @ G[7:14]),
}
M22, M33, M44 = G[:4].reshape(2, 2), G[:9].reshape(3, 3), G[:16].reshape(4, 4)
MATRICES: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "product": (
        lambda x, k: m(x, 0, 2, 3, k) @ m(x, 6, 3, 4, k),
        G[:6].reshape(2, 3) @ G[6:18].reshape(3, 4),
    ),
    "of a vector": (lambda x, k: m(x, 0, 4, 4, k) @ v(x, 16, 4, k), M44 @ G[16:20]),
    "by a vector": (lambda x, k: v(x, 16, 2, k) @ m(x, 0, 2, 3, k), G[16:18] @ G[:6].reshape(2, 3)),
    "sums": (
        lambda x, k: 2 * m(x, 0, 3, 3, k) - m(x, 9, 3, 3, k) / x[20],
        2 * M33 - G[9:18].reshape(3, 3) / G[20],
    ),
    "transpose": (lambda x, k: transpose(m(x, 0, 2, 3, k)), G[:6].reshape(2, 3).T),
    "row": (lambda x, k: m(x, 0, 3, 3, k)[1] + m(x, 0, 3, 3, k).column(-1), M33[1] + M33[:, -1]),
    "trace": (lambda x, k: trace(m(x, 0, 3, 3, k)), np.trace(M33)),
    "norm": (lambda x, k: norm(m(x, 0, 3, 3, k)), np.linalg.norm(M33)),
    "diag": (lambda x, k: diag(v(x, 0, 3, k)), np.diag(G[:3])),
    "insert": (lambda x, k: m(x, 0, 2, 2, k).insert((1, 0), x[9]), [[G[0], G[1]], [G[9], G[3]]]),
    "rows": (
        lambda x, k: (
            _matrix[k, 2, 2].from_rows(v(x, 0, 2, k), v(x, 2, 2, k))
            - _matrix[k, 2, 2].from_columns(v(x, 4, 2, k), v(x, 6, 2, k))
        ),
        M22 - G[4:8].reshape(2, 2).T,
    ),
    **{
        f"determinant {n}": (
            lambda x, k, n=n: determinant(m(x, 0, n, n, k)),
            np.linalg.det(G[: n * n].reshape(n, n)),
        )
        for n in (1, 2, 3, 4)
    },
    **{
        f"inverse {n}": (
            lambda x, k, n=n: inverse(m(x, 0, n, n, k)),
            np.linalg.inv(G[: n * n].reshape(n, n)),
        )
        for n in (1, 2, 3, 4)
    },
}
ALL = VECTORS | MATRICES


def _with(compute: Callable[[Any, Any], Any], kind: Any, x: Any) -> Any:
    return compute(x, kind)


@pytest.mark.parametrize("kind", [Float32, Float64], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", ALL)
def test_as_numpy(device: DeviceContext, kind: Any, name: str) -> None:
    compute, right = ALL[name]
    right = np.ravel(right)
    tolerance = 2e-5 if kind is Float32 else 1e-12
    found = run(device, kind, functools.partial(_with, compute, kind), GIVEN, right.size)
    np.testing.assert_allclose(found, right, rtol=tolerance, atol=tolerance)
    host = compute([kind(number) for number in GIVEN.tolist()], kind)
    np.testing.assert_allclose([float(part) for part in flat(host)], right, rtol=tolerance, atol=tolerance)


@func
def _changed(v: vec3, m: mat33, i: Int) -> vec3:
    w = m @ v + v.zyx * 0.5
    w.x = 7.0
    if i > 1:
        w = normalize(w)
    x, y, z = w
    return vec3(y, z, x) + m[i] + m[1, i] + v[i]


@pytest.mark.parametrize("i", range(3))
def test_through_branches_and_by_indices_of_run_time(i: int) -> None:
    a, b = GIVEN[:3], GIVEN[3:12].reshape(3, 3)
    w = b @ a + a[::-1] * 0.5
    w[0] = 7
    if i > 1:
        w /= np.linalg.norm(w)
    found = _changed(vec3(a), mat33(b), Int(i))
    assert type(found) is cast("Any", vec3)
    np.testing.assert_allclose([float(p) for p in found], w[[1, 2, 0]] + b[i] + b[1, i] + a[i], rtol=1e-5)


@kernel
def _moved(points: Pointer[Float32], turned: Pointer[Float32], m: mat33, n: Int):
    i = global_idx.x
    if i < n:
        given, out = points.bitcast(cast("Any", vec3)), turned.bitcast(cast("Any", vec3))
        out[i] = m @ given[i]
        out[i].y = -out[i].y


def test_a_vec3_takes_twelve_bytes_of_memory(device: DeviceContext) -> None:
    points, matrix = GIVEN[:36].reshape(12, 3).astype(np.float32), GIVEN[:9].reshape(3, 3)
    x, out = device.enqueue_create_buffer(Float32, 36), device.enqueue_create_buffer(Float32, 36)
    device.enqueue_copy(dst=x, src=points.ravel())
    device.enqueue_function(_moved, x, out, mat33(matrix), 12, grid_dim=1, block_dim=32)
    with out.map_to_host() as host:
        found = np.array(host).reshape(12, 3)
    np.testing.assert_allclose(found, points @ matrix.T * [1, -1, 1], rtol=1e-5, atol=1e-6)


@kernel
def _transposed(m: Pointer[mat33], q: Pointer[quat]):
    i = global_idx.x
    m[i] = transpose(m[i])
    q[i] = q[i] * quat(0, 0, 0, 2)


def test_arrays_of_matrices_are_memory_of_them(device: DeviceContext) -> None:
    given = GIVEN[:36].reshape(4, 3, 3).astype(np.float32)
    m, q = device.enqueue_create_buffer(mat33, 4), device.enqueue_create_buffer(quat, 4)
    device.enqueue_copy(dst=m, src=given)
    device.enqueue_copy(dst=q, src=given.reshape(9, 4)[:4])
    device.enqueue_function(_transposed, m, q, over=4)
    found, turns = np.zeros((2, 2, 3, 3), np.float32), np.zeros((4, 4), np.float32)
    device.enqueue_copy(dst=found, src=m)
    device.enqueue_copy(dst=turns, src=q)
    device.synchronize()
    np.testing.assert_array_equal(found.reshape(4, 3, 3), given.transpose(0, 2, 1))
    np.testing.assert_array_equal(turns, 2 * given.reshape(9, 4)[:4])


def test_an_argument_of_matrices_is_an_array_of_arrays() -> None:
    ctx = DeviceContext(api="cpu")
    matrices, turns = GIVEN[:18].reshape(2, 3, 3).astype(np.float32), np.ones((2, 4), np.float32)
    right = matrices.transpose(0, 2, 1).copy()
    ctx.enqueue_function(_transposed, matrices, turns, over=2)
    ctx.synchronize()
    np.testing.assert_array_equal(matrices, right)
    with pytest.raises(LaunchError, match="not a NumPy array of Float32"):
        ctx.enqueue_function(_transposed, np.zeros((3, 2, 3), np.float32), turns, over=2)
    swapped = np.zeros((2, 3, 3), np.float32).transpose(0, 2, 1)
    with pytest.raises(LaunchError, match="not a NumPy array of Float32"):
        ctx.enqueue_function(_transposed, swapped, turns, over=2)


@kernel
def _placed(v: Pointer[vec3], m: Pointer[mat33], q: Pointer[quat], parts: SoA[vec3], n: Int):
    for i in range(n):
        v[0][i] += Float32(i)
        m[0][i, n - 1 - i] *= 2
        q[0][i + 1] = q[0][i]
    v[0][-1] -= v[0][0]
    parts[0][1] = m[0][2, 0]
    one, three = vec3(v[0]), mat33(*m[0])
    for i in range(n):
        one = one.insert(i, one[i] * three[i, i])
        three = three.insert((i, 1), one[n - 1 - i])
    v[1], m[1] = one, three.insert(0, one)


def test_numbers_are_written_where_they_lie(device: DeviceContext) -> None:
    v, m, q = GIVEN[:6].reshape(2, 3), GIVEN[6:24].reshape(2, 3, 3), GIVEN[24:28].reshape(1, 4)
    memory = [(vec3, v.astype(np.float32)), (mat33, m.astype(np.float32)), (quat, q.astype(np.float32))]
    buffers = [device.enqueue_create_buffer(kind, len(given)) for kind, given in memory]
    for buffer, (_, given) in zip(buffers, memory, strict=True):
        device.enqueue_copy(dst=buffer, src=given)
    parts = SoA(device, vec3, 1)
    parts.field("y").enqueue_fill(0.0)
    device.enqueue_function(_placed, *buffers, parts, 3, grid_dim=1, block_dim=1)  # pyright: ignore[reportCallIssue]
    for buffer, (_, given) in zip(buffers, memory, strict=True):
        device.enqueue_copy(dst=given, src=buffer)
    device.synchronize()

    v, m = v.astype(np.float32), m.astype(np.float32)
    v[0] += [0, 1, 2]
    v[0, 2] -= v[0, 0]
    m[0, range(3), [2, 1, 0]] *= 2
    v[1], m[1] = v[0], m[0]
    for i in range(3):
        v[1, i] *= m[1, i, i]
        m[1, i, 1] = v[1, 2 - i]
    m[1, 0] = v[1]
    for (_, found), right in zip(memory, (v, m, np.full((1, 4), q[0, 0], np.float32)), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-6)
    with parts.field("y").map_to_host() as host:
        assert host[0] == m[0, 2, 0]


@struct
class _Ray:
    origin: vec3
    way: vec3


@struct
class _Frame:
    axes: mat33


@kernel
def _along(out: Pointer[vec3], start: vec3, ray: _Ray, m: mat33, z: ComplexFloat32):
    out[0] = m @ (start + ray.origin + z.re * ray.way) * z.im


@kernel
def matrices_written_whole(t: LayoutTensor[Float32], u: LayoutTensor[Float32], x: Pointer[Float32]):
    m = mat22(x[0], 2.0, 3.0, x[1])
    t[1:3, 0:2] = m
    t[3:5, 1:3] += m
    u[0] = m
    u[1, :, :] = m @ m


def test_matrices_are_written_to_parts_of_tensors(device: DeviceContext) -> None:
    t, u = (device.enqueue_create_buffer(Float32, size) for size in (15, 8))
    t.enqueue_fill(7)
    x = device.enqueue_create_buffer(Float32, 2)
    device.enqueue_copy(dst=x, src=np.array([1, 4], np.float32))
    tensors = t.tensor(Layout.row_major(5, 3)), u.tensor(Layout.row_major(2, 2, 2))
    device.enqueue_function(matrices_written_whole, *tensors, x, grid_dim=1, block_dim=1)
    told, m = np.full((5, 3), 7, np.float32), np.array([[1, 2], [3, 4]], np.float32)
    told[1:3, 0:2] = m
    told[3:5, 1:3] += m
    with t.map_to_host() as host:
        assert np.array_equal(host.numpy().reshape(5, 3), told)
    with u.map_to_host() as host:
        assert np.array_equal(host.numpy().reshape(2, 2, 2), np.stack([m, m @ m]))


def test_arguments_and_fields_are_what_they_are_made_of() -> None:
    ctx, out, m = DeviceContext(api="cpu"), np.zeros((1, 3), np.float32), GIVEN[:9].reshape(3, 3)
    ray: Any = _Ray(cast("Any", (1, 2, 3)), cast("Any", np.array([0.5, 0, 1])))
    right = m @ (np.ones(3) + [1, 2, 3] + 2 * np.array([0.5, 0, 1])) * 3
    for start, matrix in ((vec3(1), mat33(m)), ((1, 1, 1), m.tolist()), (np.ones(3), m)):
        out[:] = 0
        ctx.enqueue_function(_along, out, start, ray, matrix, 2 + 3j, over=1)  # pyright: ignore[reportArgumentType]
        ctx.synchronize()
        np.testing.assert_allclose(out[0], right, rtol=1e-5)
    for axes in (mat33(m), cast("Any", m)):
        np.testing.assert_allclose([float(x) for x in _Frame(axes).axes], m.ravel(), rtol=1e-6)
    for wrong in ((1, 2), 1.0, "abc", [1, 2, "c"]):
        with pytest.raises(LaunchError, match="argument `start` of _along takes a vec3, not"):
            ctx.enqueue_function(_along, out, wrong, ray, m, 1j, over=1)  # pyright: ignore[reportArgumentType]


def turned(axis: Array, angle: float, point: Array) -> Array:
    """Rodrigues' formula."""
    across = np.cross(axis, point)
    return point * np.cos(angle) + across * np.sin(angle) + axis * (axis @ point) * (1 - np.cos(angle))


AXIS = np.array([1.0, 2.0, -2.0]) / 3


def test_quaternions_turn(device: DeviceContext) -> None:
    point, angle = GIVEN[:3], 0.7

    def compute(x: Any) -> Any:
        turn = quatd.from_axis_angle(vec3d(*at(x, 3, 3)), x[6])
        there = turn.rotate(v(x, 0, 3, Float64))
        twice = (turn * turn).to_matrix() @ v(x, 0, 3, Float64)
        back = turn.inverse().rotate(there)
        return _vector[Float64, 9](there, twice, back)

    right = [turned(AXIS, angle, point), turned(AXIS, 2 * angle, point), point]
    found = run(device, Float64, compute, np.r_[point, AXIS, angle], 9)
    np.testing.assert_allclose(found, np.ravel(right), atol=1e-14)


@pytest.mark.parametrize("t", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize(("start", "end"), [(0.3, 1.9), (0.3, 0.301), (-1.0, 3.0)])
def test_slerp_turns_evenly(t: float, start: float, end: float) -> None:
    a, b = (quatd.from_axis_angle(vec3d(*AXIS), angle) for angle in (start, end))
    middle = slerp(a, b, t)
    way = end - start if end - start < np.pi else end - start - 2 * np.pi  # the shorter way round
    point = GIVEN[:3]
    found = [float(p) for p in middle.rotate(vec3d(point))]
    np.testing.assert_allclose(found, turned(AXIS, start + t * way, point), atol=1e-9)


def test_values_and_types() -> None:
    assert vec3(1, 2, 3) == vec3(1, 2, 3)
    assert vec3(1, 2, 3) != vec3(1, 2, 4)
    assert repr(vec3i(1, 2, 3) // 2) == "vec3i(0, 1, 1)"
    assert repr(vec3(1.5, 2, 3).cast(Int32)) == "vec3i(1, 2, 3)"
    assert repr(vec3h(1, 2, 3) * Float32(0.1)).startswith("vec3(")  # Float16 meets Float32 in that
    assert repr(_vector[Float32, 5]()) == "Vector[Float32, 5](0.0, 0.0, 0.0, 0.0, 0.0)"
    assert repr(quat()) == "quat(0.0, 0.0, 0.0, 1.0)"
    assert repr(mat22.identity()) == "mat22(1.0, 0.0, 0.0, 1.0)"
    assert repr(vec4(Float32.simd(1, 2, 3, 4)).wx) == "vec2(4.0, 1.0)"
    assert [
        type(x).__name__ for x in (vec2(), mat44(), mat44d(), mat33d(), cast("Any", Quaternion)[Int32]())
    ] == [
        "vec2",
        "mat44",
        "mat44d",
        "mat33d",
        "quati",
    ]


T = TypeVar("T", bound=Number)
N = TypeVar("N", bound=int)


@func
def _scaled(v: Vector[T, N], by: Vector[T, N]) -> T:
    return dot(v, 2 * by)


def test_types_and_sizes_are_found() -> None:
    scaled: Any = _scaled
    assert scaled(vec3(1, 2, 3), vec3(1, 1, 1)) == 12.0
    assert scaled(vec3i(1, 2, 3), vec3i(1, 1, 1)) == 12
    assert scaled(vec2(1, 2), vec2(3, 1)) == 10.0


def test_parts_are_set_on_the_host_too() -> None:
    v, m = vec3(1, 2, 3), mat22(1, 2, 3, 4)
    v.zx = (7, 8)
    v[1] = 9
    m[0, 1] = 5
    m[1] = (6, 0.5)
    q = quat(1, 2, 3, 4)
    q[1] = 6
    q[-1] = 7
    assert [float(x) for x in q] == [1.0, 6.0, 3.0, 7.0]
    assert [float(x) for x in v] == [8.0, 9.0, 7.0]
    assert [float(x) for x in m] == [1.0, 5.0, 6.0, 0.5]
    with pytest.raises(CompileError, match="names `x` twice"):
        v.xx = (1, 2)
    for row in (3.0, (1, 2, 3)):
        with pytest.raises(CompileError, match="a row of a mat22 is a vec2"):
            m[0] = row


@func
def _set_in_turns(i: Int) -> quat:
    q = quat(1, 2, 3, 4)
    q[0] = 5.0
    q[i] = 6.0
    return q


@pytest.mark.parametrize("i", range(4))
def test_numbers_of_a_quaternion_are_set(i: int) -> None:
    expected = [5.0, 2.0, 3.0, 4.0]
    expected[i] = 6.0
    assert [float(x) for x in _set_in_turns(i)] == expected


@func
def unlike(x: Float32, *, way: Comptime[str]) -> Any:
    v: Any = vec3(x, 0.0, 0.0)
    match way:
        case "number":
            return v == 1
        case "tuple":
            return v in ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        case "width":
            return v != vec3d(1, 0, 0)
        case "size":
            return v == v.xy
        case "none":
            return v == None  # noqa: E711
        case "condition":
            return 1 if v else 0
        case "not":
            return not v
        case _:
            return v and x


@pytest.mark.parametrize("way", ["number", "tuple", "width", "size"])
def test_what_would_never_equal_is_refused(way: str) -> None:
    with pytest.raises(CompileError, match=r"of a vec3 and .* would never hold"):
        unlike(1.0, way=way)
    assert unlike(1.0, way="none") is False
    assert vec3(1, 2, 3) != "vec3"


@pytest.mark.parametrize("way", ["condition", "not", "and"])
def test_vectors_are_no_conditions(way: str) -> None:
    with pytest.raises(CompileError, match="a vec3 is not a condition"):
        unlike(1.0, way=way)
