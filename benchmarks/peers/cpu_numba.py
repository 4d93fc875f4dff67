"""The CPU's jobs as Numba's users write them: plain loops, the outermost in parallel."""
# pyright: basic, reportMissingTypeStubs=false, reportMissingImports=false

import numpy as np
from numba import njit, prange


@njit(parallel=True)
def grayscale(image, out):
    height, width, _ = image.shape
    for y in prange(height):
        for x in range(width):
            out[y, x] = (
                np.float32(0.299) * image[y, x, 0]
                + np.float32(0.587) * image[y, x, 1]
                + np.float32(0.114) * image[y, x, 2]
            )


@njit(parallel=True)
def downsample(image, out):
    height, width, channels = out.shape
    for y in prange(height):
        for x in range(width):
            for c in range(channels):
                total = np.float32(0.0)
                for j in range(2):
                    for i in range(2):
                        total += image[2 * y + j, 2 * x + i, c]
                out[y, x, c] = total * np.float32(0.25)


@njit(parallel=True)
def vadd(a, b, c):
    for i in prange(a.size):
        c[i] = a[i] + b[i]


@njit(parallel=True)
def matmul(a, b, c):
    m, k = a.shape
    n = b.shape[1]
    for row in prange(m):
        for col in range(n):
            total = np.float32(0.0)
            for i in range(k):
                total += a[row, i] * b[i, col]
            c[row, col] = total
