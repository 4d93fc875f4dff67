"""More kernels of Triton, ported line by line to tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import Comptime, Float16, Float32, Int, Int32, Pointer, tile
from weft.atomic import Atomic
from weft.gpu import barrier, block_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor
from weft.math import exp, exp2, log, log2, max, tanh

inf = float("inf")


pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

rng = np.random.default_rng(5)


# Layer norm backward, partial sums under a lock
def ln(x: Any, w: Any, b: Any, eps: float = 1e-5) -> Any:
    m = x.mean(1)
    r = 1 / np.sqrt(x.var(1) + eps)
    return ((x - m[:, None]) * r[:, None] * w + b, m, r)


@tile.tile_kernel(threads=128)
def _layer_norm_bwd_dx_fused(
    DX: LayoutTensor[Float32],
    DY: LayoutTensor[Float32],
    DW: LayoutTensor[Float32],
    DB: LayoutTensor[Float32],
    X: LayoutTensor[Float32],
    W: LayoutTensor[Float32],
    Mean: Pointer[Float32],
    Rstd: Pointer[Float32],
    Lock: Pointer[Int32],
    N: Int,
    *,
    GROUP_SIZE_M: Comptime[int],
    BLOCK_SIZE_N: Comptime[int],
):
    row = block_idx.x
    cols = tile.arange(BLOCK_SIZE_N)
    mask = cols < N
    lock_id = row % GROUP_SIZE_M
    Count = Lock + GROUP_SIZE_M + lock_id
    x = tile.load(X[row], 0, BLOCK_SIZE_N, other=0)
    dy = tile.load(DY[row], 0, BLOCK_SIZE_N, other=0)
    w = tile.load(W, 0, BLOCK_SIZE_N)
    mean = Mean[row]
    rstd = Rstd[row]
    xhat = (x - mean) * rstd
    wdy = w * dy
    xhat = tile.where(mask, xhat, 0.0)
    wdy = tile.where(mask, wdy, 0.0)
    c1 = (xhat * wdy).sum(axis=0) / N
    c2 = wdy.sum(axis=0) / N
    dx = (wdy - (xhat * c1 + c2)) * rstd
    tile.store(DX[row], 0, dx)
    partial_dw = (dy * xhat).cast(w.dtype)
    partial_db = dy.cast(w.dtype)
    if thread_idx.x == 0:
        _, ok = Atomic.compare_exchange(Lock + lock_id, 0, 1)
        while not ok:
            _, ok = Atomic.compare_exchange(Lock + lock_id, 0, 1)
    barrier()
    count = Count[0]
    if count == 0:
        pass
    else:
        partial_dw += tile.load(DW[lock_id], 0, BLOCK_SIZE_N)
        partial_db += tile.load(DB[lock_id], 0, BLOCK_SIZE_N)
    barrier()
    tile.store(DW[lock_id], 0, partial_dw)
    tile.store(DB[lock_id], 0, partial_db)
    barrier()
    if thread_idx.x == 0:
        Count[0] = 1
        Atomic.exchange(Lock + lock_id, 0)


@tile.tile_kernel(threads=128)
def _layer_norm_bwd_dwdb(
    DW: LayoutTensor[Float32],
    DB: LayoutTensor[Float32],
    FINAL_DW: LayoutTensor[Float32],
    FINAL_DB: LayoutTensor[Float32],
    M: Int,
    N: Int,
    *,
    BLOCK_SIZE_M: Comptime[int],
    BLOCK_SIZE_N: Comptime[int],
):
    pid = block_idx.x
    dw = tile.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=Float32)
    db = tile.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=Float32)
    for i in range(0, M, BLOCK_SIZE_M):
        dw += tile.load(DW, (i // BLOCK_SIZE_M, pid), (BLOCK_SIZE_M, BLOCK_SIZE_N), other=0.0)
        db += tile.load(DB, (i // BLOCK_SIZE_M, pid), (BLOCK_SIZE_M, BLOCK_SIZE_N), other=0.0)
    sum_dw = dw.sum(axis=0)
    sum_db = db.sum(axis=0)
    tile.store(FINAL_DW, pid, sum_dw.reshape(BLOCK_SIZE_N))
    tile.store(FINAL_DB, pid, sum_db.reshape(BLOCK_SIZE_N))


def test_ln_bwd(device: DeviceContext) -> None:
    M, N, G = (12, 100, 4)
    x, dy = rng.standard_normal((2, M, N)).astype(np.float32)
    w, b = rng.random((2, N), np.float32)
    _, m, r = ln(x, w, b)
    dx = np.zeros_like(x)
    DW, DB = np.zeros((2, G, N), np.float32)
    lock = np.zeros(2 * G, np.int32)
    device.enqueue_function(
        _layer_norm_bwd_dx_fused,
        dx,
        dy,
        DW,
        DB,
        x,
        w,
        m,
        r,
        lock,
        N,
        GROUP_SIZE_M=G,
        BLOCK_SIZE_N=128,
        grid_dim=M,
    )
    fw, fb = np.zeros((2, N), np.float32)
    device.enqueue_function(
        _layer_norm_bwd_dwdb, DW, DB, fw, fb, G, N, BLOCK_SIZE_M=32, BLOCK_SIZE_N=128, grid_dim=1
    )
    device.synchronize()
    xh = (x - m[:, None]) * r[:, None]
    wdy = w * dy
    e = (wdy - (xh * (xh * wdy).mean(1, keepdims=True) + wdy.mean(1, keepdims=True))) * r[:, None]
    assert np.allclose(dx, e, atol=1e-05)
    assert np.allclose(fw, (dy * xh).sum(0), atol=0.0001)
    assert np.allclose(fb, dy.sum(0), atol=0.0001)


# Cross entropy with a soft cap
@tile.tile_kernel(threads=128)
def _cross_entropy_forward(
    logits: LayoutTensor[Float32],
    loss: Pointer[Float32],
    logsumexp: Pointer[Float32],
    labels: Pointer[Int32],
    VOCAB_SIZE: Int,
    *,
    BLOCK_SIZE: Comptime[int],
    DO_SOFTCAPPING: Comptime[bool] = False,
    SOFTCAP: Comptime[float] = 0.0,
):
    row_idx = block_idx.x
    col_offsets = tile.arange(BLOCK_SIZE)
    mask = col_offsets < VOCAB_SIZE
    label_idx = labels[row_idx]
    lg = tile.load(logits[row_idx], 0, BLOCK_SIZE, other=-inf)
    if DO_SOFTCAPPING:
        lg = tile.where(mask, SOFTCAP * tanh(lg / SOFTCAP), -inf)
    c = lg.max()
    lse = c + log(exp(lg - c).sum())
    if label_idx != -100:
        x = logits[row_idx, label_idx]
        if DO_SOFTCAPPING:
            x = SOFTCAP * tanh(x / SOFTCAP)
        ls = lse - x
    else:
        ls = 0.0
    logsumexp[row_idx] = lse
    loss[row_idx] = ls


def test_ce(device: DeviceContext) -> None:
    x = rng.standard_normal((6, 200)).astype(np.float32)
    lab = np.array([3, 199, -100, 0, 17, 42], np.int32)
    loss, lse = np.zeros((2, 6), np.float32)
    device.enqueue_function(_cross_entropy_forward, x, loss, lse, lab, 200, BLOCK_SIZE=256, grid_dim=6)
    device.synchronize()
    e = np.log(np.exp(x).sum(1))
    el = np.where(lab >= 0, e - x[np.arange(6), lab], 0)
    assert np.allclose(lse, e, atol=1e-05)
    assert np.allclose(loss, el, atol=1e-05)
    device.enqueue_function(
        _cross_entropy_forward,
        x,
        loss,
        lse,
        lab,
        200,
        BLOCK_SIZE=256,
        DO_SOFTCAPPING=True,
        SOFTCAP=1.5,
        grid_dim=6,
    )
    device.synchronize()
    x = 1.5 * np.tanh(x / 1.5)
    e = np.log(np.exp(x).sum(1))
    el = np.where(lab >= 0, e - x[np.arange(6), lab], 0)
    assert np.allclose(lse, e, atol=1e-05)
    assert np.allclose(loss, el, atol=1e-05)


# Causal attention with the logarithm of its sums
@tile.tile_kernel(threads=128)
def _attn_fwd(
    Q: LayoutTensor[Float16],
    K: LayoutTensor[Float16],
    V: LayoutTensor[Float16],
    sm_scale: Float32,
    M: LayoutTensor[Float32],
    Out: LayoutTensor[Float16],
    *,
    BLOCK_M: Comptime[int],
    BLOCK_N: Comptime[int],
    HEAD_DIM: Comptime[int],
    STAGE: Comptime[int],
):
    start_m = block_idx.x
    off_hz = block_idx.y
    N_CTX = Q.shape[1]
    offs_m = start_m * BLOCK_M + tile.arange(BLOCK_M)
    offs_n = tile.arange(BLOCK_N)
    m_i = tile.zeros([BLOCK_M, 1], dtype=Float32) - inf
    l_i = tile.zeros([BLOCK_M, 1], dtype=Float32) + 1.0
    acc = tile.zeros([BLOCK_M, HEAD_DIM], dtype=Float32)
    qk_scale = sm_scale
    qk_scale *= 1.44269504
    q = tile.load(Q[off_hz], (start_m, 0), (BLOCK_M, HEAD_DIM))
    hi = (start_m + 1) * BLOCK_M if STAGE == 3 else N_CTX
    for start_n in range(0, hi, BLOCK_N):
        k = tile.load(K[off_hz], (start_n // BLOCK_N, 0), (BLOCK_N, HEAD_DIM))
        qk = tile.dot(q, k.T)
        if STAGE == 3:
            mask = offs_m[:, None] >= start_n + offs_n[None, :]
            qk = qk * qk_scale + tile.where(mask, 0, -1000000.0)
        else:
            qk = qk * qk_scale
        m_ij = max(m_i, qk.max(axis=1))
        qk -= m_ij
        p = exp2(qk)
        l_ij = p.sum(1)
        alpha = exp2(m_i - m_ij)
        l_i = l_i * alpha + l_ij
        acc = acc * alpha
        v = tile.load(V[off_hz], (start_n // BLOCK_N, 0), (BLOCK_N, HEAD_DIM))
        acc = tile.dot(p.cast(Float16), v, acc)
        m_i = m_ij
    m_i += log2(l_i)
    acc = acc / l_i
    tile.store(M[off_hz], start_m, m_i.reshape(BLOCK_M))
    tile.store(Out[off_hz], (start_m, 0), acc.cast(Float16))


def test_attn(device: DeviceContext) -> None:
    H, N, D = (2, 128, 32)
    q, k, v = rng.standard_normal((3, H, N, D)).astype(np.float16)
    out = np.zeros_like(q)
    M = np.zeros((H, N), np.float32)
    device.enqueue_function(
        _attn_fwd, q, k, v, 0.2, M, out, BLOCK_M=64, BLOCK_N=32, HEAD_DIM=D, STAGE=3, grid_dim=(2, H)
    )
    device.synchronize()
    s = 0.2 * np.einsum("hid,hjd->hij", q.astype(np.float32), k.astype(np.float32))
    s = np.where(np.tril(np.ones((N, N))) > 0, s, -1000000000.0)
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    assert np.allclose(out, p @ v.astype(np.float32), atol=0.005)
