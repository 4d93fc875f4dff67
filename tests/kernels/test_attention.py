"""weft.kernels.attention and decode_attention against what their definition gives in float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from placed_arrays import Array, found, placed
from weft import BFloat16, DeviceError, Int, LaunchError
from weft.calls.planned import plans_by_key
from weft.compile import compile_info
from weft.gpu.host import DeviceContext
from weft.kernels import attention, decode_attention
from weft.kernels.flash import decoding, hopper, plan, warps
from weft.layout import Layout
from weft.layout.tma_async import TensorMapSwizzle

CLOSE = {"e": 2e-3, "f": 3e-6, "d": 1e-13}


def expected(
    q: Array, k: Array, v: Array, scale: float | None = None, seen: Any = True
) -> tuple[Array, Array]:
    """The definition: of all scores, where those that are not seen count as nothing."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = q @ k.swapaxes(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    scores = np.where(seen, scores, -np.inf)
    most = scores.max(axis=-1, keepdims=True, initial=-1e300)
    weights = np.exp(scores - most)
    total = weights.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, weights / total, 0) @ v, (most + np.log(total))[..., 0]


def triangle(rows: int, columns: int, diagonal: int) -> Array:
    return np.tri(rows, columns, diagonal, dtype=bool)


def numbers(seed: int, shape: tuple[int, ...], kind: str, order: tuple[int, ...] = (0, 1, 2, 3)) -> Array:
    """Random numbers whose axes lie in another order in memory."""
    made = np.random.default_rng(seed).normal(size=[shape[n] for n in order]).astype(kind)
    return made.transpose(np.argsort(order))


ORDERS = [(0, 1, 2, 3), (0, 2, 1, 3), (2, 1, 0, 3), (3, 1, 2, 0)]


@settings(max_examples=10)
@given(
    batch=st.integers(1, 2),
    heads=st.sampled_from([(1, 1), (4, 2), (3, 1)]),
    rows=st.integers(1, 70),
    keys=st.integers(1, 90),
    width=st.sampled_from([5, 64]),
    kind=st.sampled_from("ef"),
    order=st.sampled_from(ORDERS),
    diagonal=st.none() | st.integers(-80, 80),
)
@example(batch=1, heads=(2, 1), rows=1, keys=1, width=64, kind="e", order=ORDERS[0], diagonal=0)
@example(batch=1, heads=(1, 1), rows=33, keys=20, width=256, kind="d", order=ORDERS[1], diagonal=-40)
def test_attention_of_any_shape(
    device: DeviceContext,
    batch: int,
    heads: tuple[int, int],
    rows: int,
    keys: int,
    width: int,
    kind: str,
    order: tuple[int, ...],
    diagonal: int | None,
) -> None:
    q = numbers(1, (batch, heads[0], rows, width), kind, order)
    k, v = (numbers(n, (batch, heads[1], keys, width), kind, order) for n in (2, 3))
    causal = diagonal is not None
    on = [placed(device, x) for x in (q, k, v)]
    out, lse = attention(on[0], on[1], on[2], causal=causal, diagonal=diagonal or 0, return_lse=True)
    seen = triangle(rows, keys, diagonal) if causal else True
    right, right_lse = expected(q, k, v, seen=seen)
    assert found(out).dtype == q.dtype
    np.testing.assert_allclose(found(out), right, rtol=CLOSE[kind], atol=CLOSE[kind])
    np.testing.assert_allclose(found(lse), right_lse, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("diagonal", [None, 3])
@pytest.mark.parametrize(("rows", "width", "kind"), [(37, 24, "f"), (1, 64, "e"), (70, 40, "d")])
def test_the_way_of_gpus_runs_on_a_cpu_too(
    monkeypatch: pytest.MonkeyPatch, diagonal: int | None, rows: int, width: int, kind: str
) -> None:
    """By tiles of shared memory, which CPUs have no need of."""
    monkeypatch.setattr(plan.Attending, "_by_lanes", plan.Attending._by_tiles)  # pyright: ignore[reportPrivateUsage]
    q, k, v = (numbers(n, (1, 2, rows if n == 0 else 90, width), kind) for n in range(3))
    right, _ = expected(q, k, v, seen=True if diagonal is None else triangle(rows, 90, diagonal))
    with DeviceContext(api="cpu") as ctx:
        given = [placed(ctx, x) for x in (q, k, v)]
        made = attention(*given, causal=diagonal is not None, diagonal=diagonal or 0)
        np.testing.assert_allclose(found(made), right, rtol=0, atol=3 * CLOSE[kind])


@pytest.mark.parametrize("scale", [-0.7, 0.0, 3.0])
def test_scale_and_out(device: DeviceContext, scale: float) -> None:
    q, k, v = (numbers(n, (1, 2, 9, 8), "f") for n in range(3))
    target = placed(device, np.full((1, 2, 9, 16), 7, np.float32)[..., ::2])
    assert (
        attention(placed(device, q), placed(device, k), placed(device, v), scale=scale, out=target) is target
    )
    np.testing.assert_allclose(found(target), expected(q, k, v, scale)[0], rtol=1e-5, atol=1e-5)


def test_scores_that_are_large_or_no_numbers(device: DeviceContext) -> None:
    q, k, v = (numbers(n, (1, 1, 3, 16), "f") for n in range(3))
    q[0, 0, 0] *= 1e4
    q[0, 0, 2, 3] = np.nan
    out = found(attention(*(placed(device, x) for x in (q, k, v))))
    np.testing.assert_allclose(out[0, 0, :2], expected(q, k, v)[0][0, 0, :2], rtol=1e-5, atol=1e-5)
    assert np.isnan(out[0, 0, 2]).all()


def test_many_keys_of_few_queries_are_parted(device: DeviceContext) -> None:
    q, k, v = numbers(0, (1, 2, 3, 32), "f"), *(numbers(n, (1, 2, 2500, 32), "f") for n in (1, 2))
    on = [placed(device, x) for x in (q, k, v)]
    out, lse = attention(on[0], on[1], on[2], causal=True, diagonal=1200, return_lse=True)
    right, right_lse = expected(q, k, v, seen=triangle(3, 2500, 1200))
    np.testing.assert_allclose(found(out), right, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found(lse), right_lse, rtol=1e-5)
    again = attention(on[0], on[1], on[2], causal=True, diagonal=1200)
    np.testing.assert_array_equal(found(again), found(out))


@settings(max_examples=10)
@given(
    batch=st.integers(1, 3),
    heads=st.sampled_from([(1, 1), (8, 2), (6, 2)]),
    pages=st.integers(1, 5),
    page=st.sampled_from([None, 1, 16, 100]),
    width=st.sampled_from([16, 64]),
    kind=st.sampled_from("ef"),
    ragged=st.booleans(),
    order=st.sampled_from(ORDERS[:3]),
)
@example(2, (8, 2), 13, 100, 128, "e", True, ORDERS[1])
def test_decoding_of_any_cache(
    device: DeviceContext,
    batch: int,
    heads: tuple[int, int],
    pages: int,
    page: int | None,
    width: int,
    kind: str,
    ragged: bool,
    order: tuple[int, ...],
) -> None:
    chosen, count = np.random.default_rng(batch), 17 * pages if page is None else pages * page
    q = numbers(1, (batch, heads[0], 1, width), kind)
    named: dict[str, Any] = {}
    table, shape = np.arange(batch)[:, None], (batch, heads[1], count, width)
    if page is not None:
        table = chosen.permutation(batch * pages + 2)[: batch * pages].reshape(batch, pages).astype(np.int32)
        shape = batch * pages + 2, heads[1], page, width
        named["page_table"] = placed(device, table)
    k, v = numbers(2, shape, kind, order), numbers(3, shape, kind, order)
    lengths = np.full(batch, count, np.int32)
    if ragged:
        lengths = chosen.integers(0, count + 1, batch).astype(np.int32)
        named["lengths"] = placed(device, lengths)
    out, lse = decode_attention(
        placed(device, q[:, :, 0]), placed(device, k), placed(device, v), return_lse=True, **named
    )
    whole = [x[table].swapaxes(1, 2).reshape(batch, heads[1], count, width) for x in (k, v)]
    right, right_lse = expected(
        q, whole[0], whole[1], seen=(np.arange(count) < lengths[:, None])[:, None, None]
    )
    np.testing.assert_allclose(found(out), right[:, :, 0], rtol=CLOSE[kind], atol=CLOSE[kind])
    np.testing.assert_allclose(found(lse), right_lse[:, :, 0], rtol=1e-5, atol=1e-5)


def test_nothing_to_attend_to(device: DeviceContext) -> None:
    q = np.ones((1, 2, 3, 16), np.float32)
    none = np.ones((1, 1, 0, 16), np.float32)
    out, lse = attention(placed(device, q), placed(device, none), placed(device, none), return_lse=True)
    assert (found(out) == 0).all()
    assert (found(lse) == -np.inf).all()
    assert found(attention(*(placed(device, x) for x in (q[:, :, :0], q, q)))).shape == (1, 2, 0, 16)
    np.testing.assert_array_equal(attention(q, none, none), np.zeros((1, 2, 3, 16)))
    np.testing.assert_array_equal(decode_attention(q[:, :, 0], none, none), np.zeros((1, 2, 16)))


def test_a_cache_that_is_not_as_told() -> None:
    q, cache = np.ones((1, 1, 4), np.float32), np.ones((3, 1, 2, 4), np.float32)
    unused = np.array([[2, 0, -1, 999]], np.int32)
    out = decode_attention(q, cache, cache, lengths=np.array([4], np.int32), page_table=unused)
    np.testing.assert_array_equal(out, np.ones((1, 1, 4)))
    with pytest.raises(DeviceError, match="page_table names a page that is not there"):
        decode_attention(q, cache, cache, lengths=np.array([5], np.int32), page_table=unused)
    for length in (-1, 3):
        with pytest.raises(DeviceError, match="a length is below 0, or more than there are keys"):
            decode_attention(q, cache[:1], cache[:1], lengths=np.array([length], np.int32))


@pytest.fixture
def by_warpgroups(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the kernels for Hopper run on any device, and each call decided anew."""

    def always(target: str) -> bool:
        return bool(target)

    monkeypatch.setattr(plan, "multiplies_by_warpgroups", always)
    plans_by_key.clear()
    yield
    plans_by_key.clear()


@pytest.mark.usefixtures("by_warpgroups")
@pytest.mark.parametrize(
    ("keys", "diagonal", "features", "groups"),
    [
        (140, None, 64, 2),
        (140, 30, 80, 2),
        (17, None, 136, 2),
        (200, 130, 32, 2),
        (140, None, 64, 1),
        (200, 130, 40, 1),
    ],
)
def test_the_kernel_for_hopper(
    device: DeviceContext,
    monkeypatch: pytest.MonkeyPatch,
    keys: int,
    diagonal: int | None,
    features: int,
    groups: int,
) -> None:
    def warpgroups(keys: int, width: int, share: float) -> int:
        assert (keys, width, share > 0) == (keys, hopper.filled(features), True)
        return groups

    monkeypatch.setattr(hopper, "warpgroups", warpgroups)
    rows = 130 if diagonal is None and features == 64 else 70
    q = numbers(1, (1, 2, rows, features), "e", ORDERS[1])
    k, v = (numbers(n, (1, 1, keys, features), "e") for n in (2, 3))
    on = [placed(device, x) for x in (q, k, v)]
    causal = diagonal is not None
    out, lse = attention(on[0], on[1], on[2], causal=causal, diagonal=diagonal or 0, return_lse=True)
    right, right_lse = expected(q, k, v, seen=triangle(rows, keys, diagonal) if causal else True)
    np.testing.assert_allclose(found(out), right, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(found(lse), right_lse, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("by_warpgroups")
@pytest.mark.parametrize(
    ("heads", "features", "blocks", "parts"),
    [
        (6, 64, 1, 1),
        (6, 80, 3, 1),
        (6, 32, 1, 3),
        (6, 128, 2, 2),
        (40, 64, 1, 1),
        (40, 80, 1, 3),
        (6, 256, 1, 1),
    ],
)
def test_the_kernels_for_hopper_that_decode(
    device: DeviceContext,
    monkeypatch: pytest.MonkeyPatch,
    heads: int,
    features: int,
    blocks: int,
    parts: int,
) -> None:
    """Few rows by warps and many by a warpgroup; parts of the keys are joined by a cluster or a kernel."""
    part = -(-192 // (blocks * parts * 64)) * 64

    def clusters(call: plan.Attending, pairs: int) -> tuple[int, int, int]:
        assert (call.keys, pairs) == (192, 4)
        return blocks, parts, part

    def of_keys(call: plan.Attending, blocks: int, step: int, waves: int) -> tuple[int, int]:
        assert (call.keys, blocks, step, waves) == (192, 4, 64, 1)
        return parts, part

    monkeypatch.setattr(plan.Attending, "clusters", clusters)
    monkeypatch.setattr(plan.Attending, "parts", of_keys)
    q, table = numbers(1, (2, heads, 1, features), "e"), np.array([[3, 0, 5, 9], [1, 4, 2, 9]], np.int32)
    k, v = (numbers(n, (6, 2, 48, features), "e", ORDERS[1]) for n in (2, 3))
    lengths = np.array([130, 50], np.int32)
    k[4, :, 2:] = v[4, :, 2:] = np.nan  # nobody has written these, nor is there a page 9
    named: dict[str, Any] = {"page_table": placed(device, table), "lengths": placed(device, lengths)}
    out, lse = decode_attention(
        placed(device, q[:, :, 0]), placed(device, k), placed(device, v), return_lse=True, **named
    )
    whole = [np.nan_to_num(x[table % 6]).swapaxes(1, 2).reshape(2, 2, 192, features) for x in (k, v)]
    seen = (np.arange(192) < lengths[:, None])[:, None, None]
    right, right_lse = expected(q, whole[0], whole[1], seen=seen)
    np.testing.assert_allclose(found(out), right[:, :, 0], rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(found(lse), right_lse[:, :, 0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "few", "keys"),
    [((1, 16, 128), 4, 700), ((2, 8, 64), 1, 9000), ((3, 6, 96), 2, 1500), ((40, 4, 128), 4, 300)],
)
def test_long_caches(device: DeviceContext, shape: tuple[int, int, int], few: int, keys: int) -> None:
    """Of which clusters have parts on Hopper, and a kernel joins those of the longest."""
    batch, heads, features = shape
    q = numbers(1, (batch, heads, 1, features), "e")
    k, v = (numbers(n, (batch, few, keys, features), "e") for n in (2, 3))
    out, lse = decode_attention(
        placed(device, q[:, :, 0]), placed(device, k), placed(device, v), return_lse=True
    )
    right, right_lse = expected(q, k, v)
    np.testing.assert_allclose(found(out), right[:, :, 0], rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(found(lse), right_lse[:, :, 0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("width", [128, 256])
def test_the_kernels_for_hopper_spill_nothing(width: int) -> None:
    ctx = DeviceContext(api="cpu")
    shape = 1, 2, 16, width
    x = ctx.enqueue_create_buffer(BFloat16, 32 * width).tensor(Layout.row_major(*shape).dynamic())

    def tiles(rows: int) -> Any:
        return ctx.create_tma_tile(x, (1, 1, rows, 64), swizzle=TensorMapSwizzle.SWIZZLE_128B)

    lse: Any = Layout.row_major(1, 2, 16).dynamic()
    named: dict[str, Any] = {"out": x, "lse": lse, "width": width, "target": "sm_90"}
    named |= {"q": tiles(64), "k": tiles(hopper.KEYS[width]), "v": tiles(hopper.KEYS[width])}
    known = {"bn": hopper.KEYS[width], "groups": 2, "features": width}
    used = compile_info(
        hopper.attention_hopper, **known, **{x: named[x] for x in named if x != "width"}
    ).resources
    assert (used.spill_stores, used.spill_loads, used.stack) == (0, 0, 0)
    named |= {"q": x, "k": tiles(64), "v": tiles(64), "lengths": Int, "table": Int}  # which are no tensors
    used = compile_info(decoding.decoding_hopper, **named).resources
    assert (used.spill_stores, used.spill_loads, used.stack) == (0, 0, 0)
    if width <= warps.WIDEST:
        used = compile_info(warps.decoding_warps, **named, blocks=8).resources
        assert (used.spill_stores, used.spill_loads, used.stack) == (0, 0, 0)


def test_arrays_of_numpy() -> None:
    q = np.random.default_rng(0).normal(size=(1, 2, 5, 8)).astype(np.float32)
    out = attention(q, q, q)
    assert isinstance(out, np.ndarray)
    np.testing.assert_allclose(out, expected(q, q, q)[0], rtol=1e-5, atol=1e-6)


def test_what_does_not_fit_is_refused() -> None:
    q, k = np.zeros((2, 4, 5, 8), np.float32), np.zeros((2, 3, 5, 8), np.float32)
    for wrong, message in [
        ((q, k, k), r"k is of shape \(2, 3, 5, 8\)"),
        ((q, q.astype(np.float16), q), "k is of Float16"),
        ((q, q, q[:, :, :3]), r"v is of shape \(2, 4, 3, 8\)"),
        ((q, q[:1], q[:1]), r"k is of shape \(1, 4, 5, 8\)"),
        ((q[0], q[0], q[0]), r"q is of shape \(4, 5, 8\)"),
        ((q.astype(np.int32),) * 3, "which is no float"),
        ((np.zeros((1, 1, 1, 300), np.float32),) * 3, "300 features"),
    ]:
        with pytest.raises(LaunchError, match=message):
            attention(*wrong)
    with pytest.raises(LaunchError, match="scale is nan"):
        attention(q, q, q, scale=float("nan"))
    with pytest.raises(LaunchError, match=r"lengths is of shape \(3,\)"):
        decode_attention(q[:, :, 0], q, q, lengths=np.zeros(3, np.int32))
    with pytest.raises(LaunchError, match="page_table is of Int,"):
        decode_attention(q[:, :, 0], q, q, page_table=np.zeros((2, 1), np.int64))
