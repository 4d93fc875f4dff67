"""Structs of arrays that are there already: a launch takes them by the names of their fields."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import numpy as np
import pytest

from weft import Float32, Float64, InlineArray, Int, Int32, LaunchError, Pointer, kernel, struct
from weft.algorithm import elementwise
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.linalg import Vector, vec2
from weft.memory import SoA

K = TypeVar("K", Float32, Float64)


@struct
class Vec2:
    x: Float32
    y: Float32


@struct
class Body:
    at: Vec2
    hits: Int32
    pair: InlineArray[Float32, 2]


@struct
class Scene:
    bodies: SoA[Body]
    count: Int


@kernel
def move(p: SoA[Body], n: Int):
    i = global_idx.x
    if i < n:
        p[i].at.x += p[i].at.y
        p[i].hits = Int32(i)
        p[i].pair[1] = p[i].at.x * 2.0


@kernel
def move_in(scene: Scene):
    i = global_idx.x
    if i < scene.count:
        scene.bodies[i].at.x += scene.bodies[i].at.y


def arrays() -> dict[str, Any]:
    x, y = np.arange(5, dtype=np.float32), np.full(5, 0.5, np.float32)
    return {"at.x": x, "at.y": y, "pair": np.zeros((5, 2), np.float32), "hits": np.zeros(5, np.int32)}


def test_buffers_by_the_names_of_fields(device: DeviceContext) -> None:
    given = arrays()
    buffers: dict[str, Any] = {
        name: device.enqueue_create_buffer(str(array.dtype), array.size) for name, array in given.items()
    }
    for name, array in given.items():
        device.enqueue_copy(dst=buffers[name], src=array.reshape(-1))
    buffers["pair"] = device.enqueue_create_buffer(InlineArray[Float32, 2], 5)
    for _ in range(12):  # from the ninth on without Python, where that is known
        device.enqueue_function(move, buffers, 4, grid_dim=1, block_dim=8)
    device.enqueue_function(move_in, Scene(buffers, 4), grid_dim=1, block_dim=8)
    found = np.empty(5, np.float32)
    device.enqueue_copy(dst=found, src=buffers["at.x"])
    with buffers["hits"].map_to_host() as hits, buffers["pair"].map_to_host() as pair:
        assert list(hits) == [0, 1, 2, 3, 0]
        assert np.asarray(pair)[:4, 1].tolist() == [2 * (n + 6.0) for n in range(4)]
    assert found.tolist() == [n + 6.5 for n in range(4)] + [4.0]


def test_arrays_of_numpy() -> None:
    ctx, given = DeviceContext(api="cpu"), arrays()
    ctx.enqueue_function(move, given, 4, grid_dim=1, block_dim=8)
    ctx.synchronize()
    assert given["at.x"].tolist() == [0.5, 1.5, 2.5, 3.5, 4.0]
    assert given["pair"][:, 1].tolist() == [1.0, 3.0, 5.0, 7.0, 0.0]


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        (
            {"hits": np.zeros(5)},
            r"takes a buffer or array of Int32, not a NumPy array of Float64 in its field \.hits",
        ),
        (
            {"hits": np.zeros(4, np.int32)},
            r"not arrays of different lengths \(5 of at\.x, 5 of at\.y, 4 of hits\)",
        ),
        ({"hit": np.zeros(5, np.int32)}, r"takes a SoA\[Body\], not arrays of at\.x, at\.y, pair, hits, hit"),
        ({"hits": 3}, r"takes a buffer of Int32, not the int 3 in its field \.hits"),
    ],
)
def test_what_does_not_fit(changed: dict[str, Any], found: str) -> None:
    ctx = DeviceContext(api="cpu")
    with pytest.raises(LaunchError, match=found):
        ctx.enqueue_function(move, {**arrays(), **changed}, 4, grid_dim=1, block_dim=8)


@kernel
def weighted(p: SoA[Vector[K, Literal[2]]], by: Vector[K, Literal[2]], out: Pointer[K]):
    i = global_idx.x
    out[i] = p[i].x * by.x + p[i][1] * by[1]


def test_what_is_over_types_says_itself_which(device: DeviceContext) -> None:
    points = SoA(device, vec2, 3)
    points.field("x").enqueue_fill(2.0)
    points.field("y").enqueue_fill(0.5)
    out = device.enqueue_create_buffer(Float32, 3)
    device.enqueue_function(weighted, points, vec2(3.0, 8.0), out, grid_dim=1, block_dim=3)
    with out.map_to_host() as host:
        assert host[:].tolist() == [10.0] * 3
    with pytest.raises(LaunchError, match=r"vec3, not a Vector\[K, 2\]|takes a Vector\[K, 2\], not a vec3"):
        device.enqueue_function(weighted, points, Vector[Float32, 3](1.0), out, grid_dim=1, block_dim=3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(LaunchError, match="`K` is Float32 by `p`"):
        device.enqueue_function(weighted, points, Vector[Float64, 2](1.0), out, grid_dim=1, block_dim=3)  # pyright: ignore[reportArgumentType]


def test_a_function_captures_one(device: DeviceContext) -> None:
    bodies = SoA(device, Vec2, 4)

    def fill(i: Int) -> None:
        bodies[i].x = Float32(i)
        bodies[i].y += bodies[i].x * 2.0

    bodies.field("y").enqueue_fill(1.0)
    elementwise(fill, 4, device)
    assert bodies.numpy()["y"].tolist() == [1.0, 3.0, 5.0, 7.0]
