/* The fourteen kernels as loops for OpenMP. Built by benchmarks/fourteen.py. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef int64_t n_t;
#define EACH _Pragma("omp parallel for schedule(static)")

void vadd(const float *restrict a, const float *restrict b, float *restrict c, n_t n) {
    EACH for (n_t i = 0; i < n; i++) c[i] = a[i] + b[i];
}

void grayscale(const float *restrict image, float *restrict out, n_t height, n_t width) {
    EACH for (n_t i = 0; i < height * width; i++)
        out[i] = 0.299f * image[3 * i] + 0.587f * image[3 * i + 1] + 0.114f * image[3 * i + 2];
}

void stencil(const float *restrict a, float *restrict b, n_t height, n_t width) {
    EACH for (n_t row = 0; row < height; row++) {
        const float *in = a + row * width;
        float *out = b + row * width;
        if (row == 0 || row == height - 1) {
            memcpy(out, in, width * sizeof *out);
            continue;
        }
        out[0] = in[0];
        for (n_t i = 1; i < width - 1; i++)
            out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
        out[width - 1] = in[width - 1];
    }
}

void mandelbrot(int32_t *restrict out, n_t height, n_t width, int32_t most) {
    _Pragma("omp parallel for schedule(dynamic, 8)")
    for (n_t row = 0; row < height; row++)
        for (n_t col = 0; col < width; col++) {
            float cx = -2.0f + (float)col * (3.0f / (float)width);
            float cy = -1.5f + (float)row * (3.0f / (float)height);
            float x = 0, y = 0;
            int32_t n = 0;
            while (n < most && x * x + y * y <= 4.0f) {
                float t = x * x - y * y + cx;
                y = 2.0f * x * y + cy;
                x = t;
                n++;
            }
            out[row * width + col] = n;
        }
}

void nbody(const float *restrict bodies, float *restrict forces, n_t n) {
    const float *xs = bodies, *ys = bodies + n, *zs = bodies + 2 * n, *ms = bodies + 3 * n;
    EACH for (n_t i = 0; i < n; i += 16) {
        float fx[16] = {0}, fy[16] = {0}, fz[16] = {0};
        for (n_t j = 0; j < n; j++)
            for (int l = 0; l < 16; l++) {
                float dx = xs[j] - xs[i + l], dy = ys[j] - ys[i + l], dz = zs[j] - zs[i + l];
                float d = dx * dx + dy * dy + dz * dz + 0.01f;
                float w = ms[j] / (d * sqrtf(d));
                fx[l] += w * dx;
                fy[l] += w * dy;
                fz[l] += w * dz;
            }
        for (int l = 0; l < 16; l++) {
            forces[i + l] = fx[l];
            forces[n + i + l] = fy[l];
            forces[2 * n + i + l] = fz[l];
        }
    }
}

void black_scholes(const float *restrict price, const float *restrict strike, const float *restrict years,
                   float *restrict call, float *restrict put, n_t n, float rate, float volatility) {
    EACH for (n_t i = 0; i < n; i++) {
        float root = sqrtf(years[i]);
        float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) /
                   (volatility * root);
        float d2 = d1 - volatility * root;
        float n1 = 0.5f + 0.5f * erff(d1 * 0.70710678f), n2 = 0.5f + 0.5f * erff(d2 * 0.70710678f);
        float later = strike[i] * expf(-rate * years[i]);
        call[i] = price[i] * n1 - later * n2;
        put[i] = later * (1.0f - n2) - price[i] * (1.0f - n1);
    }
}

void matmul(const float *restrict a, const float *restrict b, float *restrict c, n_t n) {
    EACH for (n_t row = 0; row < n; row++)
        for (n_t col = 0; col < n; col++) {
            float total = 0;
            for (n_t k = 0; k < n; k++) total += a[row * n + k] * b[k * n + col];
            c[row * n + col] = total;
        }
}

void matmul_tiled(const float *restrict a, const float *restrict b, float *restrict c, n_t n) {
    enum { T = 16 };
    EACH for (n_t y = 0; y < n; y += T)
        for (n_t x = 0; x < n; x += T) {
            float sums[T][T] = {{0}};
            for (n_t s = 0; s < n; s += T)
                for (int i = 0; i < T; i++)
                    for (int k = 0; k < T; k++)
                        for (int j = 0; j < T; j++) sums[i][j] += a[(y + i) * n + s + k] * b[(s + k) * n + x + j];
            for (int i = 0; i < T; i++) memcpy(c + (y + i) * n + x, sums[i], sizeof sums[i]);
        }
}

void total(const float *restrict values, float *restrict sums, n_t n, n_t parts) {
    EACH for (n_t p = 0; p < parts; p++) {
        float s[64] = {0};
        for (n_t i = p * (n / parts); i < (p + 1) * (n / parts); i += 64)
            for (int l = 0; l < 64; l++) s[l] += values[i + l];
        float all = 0;
        for (int l = 0; l < 64; l++) all += s[l];
        sums[p] = all;
    }
}

void softmax(const float *restrict values, float *restrict out, n_t rows, n_t columns) {
    EACH for (n_t r = 0; r < rows; r++) {
        const float *in = values + r * columns;
        float *to = out + r * columns, most = in[0], sum = 0;
        for (n_t i = 0; i < columns; i++) most = in[i] > most ? in[i] : most;
        for (n_t i = 0; i < columns; i++) to[i] = expf(in[i] - most);
        for (n_t i = 0; i < columns; i++) sum += to[i];
        for (n_t i = 0; i < columns; i++) to[i] /= sum;
    }
}

void histogram(const uint8_t *restrict values, uint32_t *restrict counts, n_t n) {
    _Pragma("omp parallel") {
        uint32_t own[256] = {0};
        _Pragma("omp for schedule(static)")
        for (n_t i = 0; i < n; i++) own[values[i]]++;
        for (int b = 0; b < 256; b++) __atomic_fetch_add(counts + b, own[b], __ATOMIC_RELAXED);
    }
}

void scan(const float *restrict values, float *restrict out, n_t n) {
    EACH for (n_t p = 0; p < n; p += 256) {
        float sum = 0;
        for (int i = 0; i < 256; i++) out[p + i] = sum += values[p + i];
    }
}

void layer_norm(const float *restrict values, float *restrict out, n_t rows, n_t columns, float epsilon) {
    EACH for (n_t r = 0; r < rows; r++) {
        const float *in = values + r * columns;
        float *to = out + r * columns, s[64] = {0}, q[64] = {0}, sum = 0, squares = 0;
        for (n_t i = 0; i < columns; i += 64)
            for (int l = 0; l < 64; l++) {
                float v = in[i + l];
                s[l] += v;
                q[l] += v * v;
            }
        for (int l = 0; l < 64; l++) sum += s[l], squares += q[l];
        float mean = sum / columns, factor = 1.0f / sqrtf(squares / columns - mean * mean + epsilon);
        for (n_t i = 0; i < columns; i++) to[i] = (in[i] - mean) * factor;
    }
}

void transpose(const float *restrict a, float *restrict b, n_t n) {
    enum { T = 32 };
    EACH for (n_t y = 0; y < n; y += T)
        for (n_t x = 0; x < n; x += T) {
            float tile[T][T + 1];
            for (int i = 0; i < T; i++)
                for (int j = 0; j < T; j++) tile[i][j] = a[(y + i) * n + x + j];
            for (int j = 0; j < T; j++)
                for (int i = 0; i < T; i++) b[(x + j) * n + y + i] = tile[i][j];
        }
}
