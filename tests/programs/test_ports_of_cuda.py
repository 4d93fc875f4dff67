"""Samples of CUDA, ported line by line, with NumPy's arrays handed to their launches."""

from __future__ import annotations

import numpy as np
import pytest

from weft import Comptime, Float32, Int, Int32, Pointer, UInt8, UInt32, func, kernel, unroll
from weft.atomic import Atomic
from weft.gpu import barrier, block_dim, block_idx, global_idx, grid_dim, thread_idx, warp
from weft.gpu.host import DeviceContext, Dim
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

rng = np.random.default_rng(1)


# VectorAdd
@kernel
def vectorAdd(A: Pointer[Float32], B: Pointer[Float32], C: Pointer[Float32], numElements: Int32):
    i = block_dim.x * block_idx.x + thread_idx.x
    if i < numElements:
        C[i] = A[i] + B[i] + 0.0


def test_vector_add(device: DeviceContext) -> None:
    n = 50000
    a, b = rng.random(n, np.float32), rng.random(n, np.float32)
    c = np.empty_like(a)
    threadsPerBlock = 256
    blocksPerGrid = (n + threadsPerBlock - 1) // threadsPerBlock
    device.enqueue_function(vectorAdd, a, b, c, n, grid_dim=blocksPerGrid, block_dim=threadsPerBlock)
    device.synchronize()
    assert np.array_equal(c, a + b)


# Saxpy, grid stride
@kernel
def saxpy(n: Int, a: Float32, x: Pointer[Float32], y: Pointer[Float32]):
    for i in range(block_idx.x * block_dim.x + thread_idx.x, n, block_dim.x * grid_dim.x):
        y[i] = a * x[i] + y[i]


def test_saxpy(device: DeviceContext) -> None:
    n = 1 << 16
    x, y = np.ones(n, np.float32), np.full(n, 2, np.float32)
    device.enqueue_function(saxpy, n, 2.0, x, y, grid_dim=32, block_dim=256)
    device.synchronize()
    assert (y == 4).all()


# MatrixMul with shared memory
BLOCK_SIZE = 16


@kernel
def matrixMulCUDA(C: Pointer[Float32], A: Pointer[Float32], B: Pointer[Float32], wA: Int32, wB: Int32):
    bx = block_idx.x
    by = block_idx.y
    tx = thread_idx.x
    ty = thread_idx.y
    aBegin = wA * BLOCK_SIZE * by
    aEnd = aBegin + wA - 1
    aStep = BLOCK_SIZE
    bBegin = BLOCK_SIZE * bx
    bStep = BLOCK_SIZE * wB
    Csub = 0.0
    As = stack_allocation(Float32, BLOCK_SIZE * BLOCK_SIZE, address_space=AddressSpace.SHARED)
    Bs = stack_allocation(Float32, BLOCK_SIZE * BLOCK_SIZE, address_space=AddressSpace.SHARED)
    a = aBegin
    b = bBegin
    while a <= aEnd:
        As[ty * BLOCK_SIZE + tx] = A[a + wA * ty + tx]
        Bs[ty * BLOCK_SIZE + tx] = B[b + wB * ty + tx]
        barrier()
        for k in unroll(range(BLOCK_SIZE)):
            Csub += As[ty * BLOCK_SIZE + k] * Bs[k * BLOCK_SIZE + tx]
        barrier()
        a += aStep
        b += bStep
    c = wB * BLOCK_SIZE * by + BLOCK_SIZE * bx
    C[c + wB * ty + tx] = Csub


def test_matrix_mul(device: DeviceContext) -> None:
    a, b = rng.random((64, 32), np.float32), rng.random((32, 48), np.float32)
    c = np.zeros((64, 48), np.float32)
    threads = Dim(BLOCK_SIZE, BLOCK_SIZE)
    grid = Dim(48 // threads.x, 64 // threads.y)
    device.enqueue_function(matrixMulCUDA, c, a, b, 32, 48, grid_dim=grid, block_dim=threads)
    device.synchronize()
    assert np.allclose(c, a @ b, rtol=1e-5)


# Reduce with warp shuffles, template
@func
def warpReduceSum(v: Float32) -> Float32:
    offset = warp.WARP_SIZE // 2
    while offset > 0:
        v += warp.shuffle_down(v, offset)
        offset //= 2
    return v


@kernel
def reduce6(
    g_idata: Pointer[Float32],
    g_odata: Pointer[Float32],
    n: UInt32,
    *,
    blockSize: Comptime[int],
    nIsPow2: Comptime[bool],
):
    sdata = stack_allocation(Float32, blockSize, address_space=AddressSpace.SHARED)
    tid = thread_idx.x
    gridSize = blockSize * 2 * grid_dim.x
    i = block_idx.x * blockSize * 2 + tid
    mySum = 0.0
    while i < n:
        mySum += g_idata[i]
        if nIsPow2 or i + blockSize < n:
            mySum += g_idata[i + blockSize]
        i += gridSize
    sdata[tid] = mySum
    barrier()
    if blockSize >= 512:
        if tid < 256:
            sdata[tid] = mySum = mySum + sdata[tid + 256]
        barrier()
    if blockSize >= 256:
        if tid < 128:
            sdata[tid] = mySum = mySum + sdata[tid + 128]
        barrier()
    if blockSize >= 128:
        if tid < 64:
            sdata[tid] = mySum = mySum + sdata[tid + 64]
        barrier()
    if tid < 32:
        if blockSize >= 64:
            mySum += sdata[tid + 32]
        mySum = warpReduceSum(mySum)
        if tid == 0:
            g_odata[block_idx.x] = mySum


def test_reduction(device: DeviceContext) -> None:
    n = 10000
    x = rng.integers(0, 10, n).astype(np.float32)
    out = np.zeros(8, np.float32)
    device.enqueue_function(reduce6, x, out, n, blockSize=256, nIsPow2=False, grid_dim=8, block_dim=256)
    device.synchronize()
    assert out.sum() == x.sum()


# Scan (Hillis-Steele, dynamic shared memory)
@kernel
def scan(g_odata: Pointer[Float32], g_idata: Pointer[Float32], n: Int32):
    temp = dynamic_shared_memory(Float32)
    thid = thread_idx.x
    pout, pin = 0, 1
    temp[pout * n + thid] = g_idata[thid - 1] if thid > 0 else 0
    barrier()
    offset = 1
    while offset < n:
        pout = 1 - pout
        pin = 1 - pout
        if thid >= offset:
            temp[pout * n + thid] = temp[pin * n + thid] + temp[pin * n + thid - offset]
        else:
            temp[pout * n + thid] = temp[pin * n + thid]
        barrier()
        offset *= 2
    g_odata[thid] = temp[pout * n + thid]


def test_scan(device: DeviceContext) -> None:
    n = 256
    x = np.arange(n, dtype=np.float32)
    out = np.empty(n, np.float32)
    device.enqueue_function(scan, out, x, n, grid_dim=1, block_dim=n, shared_mem_bytes=2 * n * 4)
    device.synchronize()
    assert np.array_equal(out, np.cumsum(x) - x)


# Histogram
@kernel
def histogram256(d_Histogram: Pointer[UInt32], d_Data: Pointer[UInt8], dataCount: UInt32):
    s_Hist = stack_allocation(UInt32, 256, address_space=AddressSpace.SHARED)
    s_Hist[thread_idx.x] = 0
    barrier()
    pos = global_idx.x
    while pos < dataCount:
        Atomic.fetch_add(s_Hist + d_Data[pos], 1)
        pos += block_dim.x * grid_dim.x
    barrier()
    Atomic.fetch_add(d_Histogram + thread_idx.x, s_Hist[thread_idx.x])


def test_histogram(device: DeviceContext) -> None:
    data = rng.integers(0, 256, 10000).astype(np.uint8)
    hist = np.zeros(256, np.uint32)
    device.enqueue_function(histogram256, hist, data, data.size, grid_dim=4, block_dim=256)
    device.synchronize()
    assert np.array_equal(hist, np.bincount(data, minlength=256))


# Transpose
TILE_DIM = 32
BLOCK_ROWS = 8


@kernel
def transposeNoBankConflicts(odata: Pointer[Float32], idata: Pointer[Float32], width: Int32, height: Int32):
    tile = stack_allocation(Float32, TILE_DIM * (TILE_DIM + 1), address_space=AddressSpace.SHARED)
    xIndex = block_idx.x * TILE_DIM + thread_idx.x
    yIndex = block_idx.y * TILE_DIM + thread_idx.y
    index_in = xIndex + yIndex * width
    xIndex = block_idx.y * TILE_DIM + thread_idx.x
    yIndex = block_idx.x * TILE_DIM + thread_idx.y
    index_out = xIndex + yIndex * height
    for i in range(0, TILE_DIM, BLOCK_ROWS):
        tile[(thread_idx.y + i) * (TILE_DIM + 1) + thread_idx.x] = idata[index_in + i * width]
    barrier()
    for i in range(0, TILE_DIM, BLOCK_ROWS):
        odata[index_out + i * height] = tile[thread_idx.x * (TILE_DIM + 1) + thread_idx.y + i]


def test_transpose(device: DeviceContext) -> None:
    x = rng.random((64, 96), np.float32)
    out = np.zeros((96, 64), np.float32)
    device.enqueue_function(
        transposeNoBankConflicts, out, x, 96, 64, grid_dim=(3, 2), block_dim=(TILE_DIM, BLOCK_ROWS)
    )
    device.synchronize()
    assert np.array_equal(out, x.T)


# Convolution with constant memory
KERNEL_RADIUS = 8
c_Kernel = np.hanning(2 * KERNEL_RADIUS + 1).astype(np.float32)


@kernel
def convolutionRows(d_Dst: Pointer[Float32], d_Src: Pointer[Float32], imageW: Int, imageH: Int):
    x, y = global_idx.x, global_idx.y
    if x >= imageW or y >= imageH:
        return
    sum = 0
    for k in range(-KERNEL_RADIUS, KERNEL_RADIUS + 1):
        d = x + k
        if d >= 0 and d < imageW:
            sum += d_Src[y * imageW + d] * c_Kernel[KERNEL_RADIUS - k]
    d_Dst[y * imageW + x] = sum


def test_convolution(device: DeviceContext) -> None:
    img = rng.random((20, 70), np.float32)
    out = np.zeros_like(img)
    device.enqueue_function(convolutionRows, out, img, 70, 20, grid_dim=(5, 3), block_dim=(16, 8))
    device.synchronize()
    want = np.stack([np.convolve(row, c_Kernel, "same") for row in img])
    assert np.allclose(out, want, rtol=1e-4)
