"""The fourteen kernels as Numba's users write them: plain loops, the outermost in parallel."""
# pyright: basic, reportMissingTypeStubs=false, reportMissingImports=false

import math

import numpy as np
from numba import njit, prange

F = np.float32


@njit(parallel=True)
def vadd(a, b, c):
    for i in prange(a.size):
        c[i] = a[i] + b[i]


@njit(parallel=True)
def grayscale(image, out):
    height, width, _ = image.shape
    for y in prange(height):
        for x in range(width):
            out[y, x] = F(0.299) * image[y, x, 0] + F(0.587) * image[y, x, 1] + F(0.114) * image[y, x, 2]


@njit(parallel=True)
def stencil(a, b):
    height, width = a.shape
    for y in prange(height):
        if y == 0 or y == height - 1:
            for x in range(width):
                b[y, x] = a[y, x]
        else:
            b[y, 0] = a[y, 0]
            for x in range(1, width - 1):
                b[y, x] = F(0.2) * (a[y, x] + a[y, x - 1] + a[y, x + 1] + a[y - 1, x] + a[y + 1, x])
            b[y, width - 1] = a[y, width - 1]


@njit(parallel=True)
def mandelbrot(out, most):
    height, width = out.shape
    for row in prange(height):
        for col in range(width):
            cx = F(-2.0) + F(col) * (F(3.0) / F(width))
            cy = F(-1.5) + F(row) * (F(3.0) / F(height))
            x, y = F(0.0), F(0.0)
            n = 0
            while n < most and x * x + y * y <= F(4.0):
                x, y = x * x - y * y + cx, F(2.0) * x * y + cy
                n += 1
            out[row, col] = n


@njit(parallel=True, error_model="numpy")
def nbody(bodies, forces):
    n = bodies.shape[1]
    for i in prange(n):
        x, y, z = bodies[0, i], bodies[1, i], bodies[2, i]
        fx, fy, fz = F(0.0), F(0.0), F(0.0)
        for j in range(n):
            dx, dy, dz = bodies[0, j] - x, bodies[1, j] - y, bodies[2, j] - z
            d = dx * dx + dy * dy + dz * dz + F(0.01)
            w = bodies[3, j] / (d * math.sqrt(d))
            fx += w * dx
            fy += w * dy
            fz += w * dz
        forces[0, i], forces[1, i], forces[2, i] = fx, fy, fz


@njit(parallel=True, error_model="numpy")
def black_scholes(price, strike, years, call, put, rate, volatility):
    rate, volatility = F(rate), F(volatility)
    for i in prange(price.size):
        root = math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (rate + F(0.5) * volatility * volatility) * years[i]) / (
            volatility * root
        )
        d2 = d1 - volatility * root
        n1 = F(0.5) + F(0.5) * math.erf(d1 * F(0.70710678))
        n2 = F(0.5) + F(0.5) * math.erf(d2 * F(0.70710678))
        later = strike[i] * math.exp(-rate * years[i])
        call[i] = price[i] * n1 - later * n2
        put[i] = later * (F(1.0) - n2) - price[i] * (F(1.0) - n1)


@njit(parallel=True)
def matmul(a, b, c):
    n = a.shape[0]
    for row in prange(n):
        for col in range(n):
            total = F(0.0)
            for k in range(n):
                total += a[row, k] * b[k, col]
            c[row, col] = total


@njit(parallel=True)
def matmul_tiled(a, b, c):
    n = a.shape[0]
    for block in prange(n // 16):
        sums = np.empty((16, 16), np.float32)
        y = 16 * block
        for x in range(0, n, 16):
            sums[:] = 0
            for s in range(0, n, 16):
                for i in range(16):
                    for k in range(16):
                        left = a[y + i, s + k]
                        for j in range(16):
                            sums[i, j] += left * b[s + k, x + j]
            for i in range(16):
                for j in range(16):
                    c[y + i, x + j] = sums[i, j]


@njit(parallel=True)
def total(values, sums):
    for p in prange(sums.size):
        part = values.size // sums.size
        mine = F(0.0)
        for i in range(p * part, (p + 1) * part):
            mine += values[i]
        sums[p] = mine


@njit(parallel=True, error_model="numpy")
def softmax(values, out):
    rows, columns = values.shape
    for r in prange(rows):
        most = values[r, 0]
        for i in range(columns):
            most = max(most, values[r, i])
        mine = F(0.0)
        for i in range(columns):
            e = math.exp(values[r, i] - most)
            out[r, i] = e
            mine += e
        for i in range(columns):
            out[r, i] /= mine


@njit(parallel=True)
def histogram(values, counts):
    parts = np.zeros((64, 256), np.uint32)
    for p in prange(64):
        for i in range(p * (values.size // 64), (p + 1) * (values.size // 64)):
            parts[p, values[i]] += 1
    for p in range(64):
        for b in range(256):
            counts[b] += parts[p, b]


@njit(parallel=True)
def scan(values, out):
    for p in prange(values.size // 256):
        mine = F(0.0)
        for i in range(256 * p, 256 * p + 256):
            mine += values[i]
            out[i] = mine


@njit(parallel=True, error_model="numpy")
def layer_norm(values, out, epsilon):
    rows, columns = values.shape
    for r in prange(rows):
        mine, squares = F(0.0), F(0.0)
        for i in range(columns):
            v = values[r, i]
            mine += v
            squares += v * v
        mean = mine / F(columns)
        factor = F(1.0) / math.sqrt(squares / F(columns) - mean * mean + F(epsilon))
        for i in range(columns):
            out[r, i] = (values[r, i] - mean) * factor


@njit(parallel=True)
def transpose(a, b):
    n = a.shape[0]
    for block in prange(n // 32):
        for x in range(0, n, 32):
            for j in range(32):
                for i in range(32):
                    b[x + j, 32 * block + i] = a[32 * block + i, x + j]
