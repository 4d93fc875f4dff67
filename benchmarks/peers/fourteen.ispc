// Three of the fourteen kernels as ISPC has them: the loops of fourteen.c, with programs for lanes and tasks for threads.

task void rows_of_mandelbrot(uniform int32 out[], uniform int height, uniform int n, uniform int32 most) {
    uniform int first = 8 * (uniform int)taskIndex;
    foreach (row = first ... min(height, first + 8), col = 0 ... n) {
        float cx = -2.0f + (float)col * (3.0f / n), cy = -1.5f + (float)row * (3.0f / n);
        float x = 0.0f, y = 0.0f;
        int count = 0;
        while (count < most && x * x + y * y <= 4.0f) {
            float next = x * x - y * y + cx;
            y = 2.0f * x * y + cy;
            x = next;
            count++;
        }
        out[row * n + col] = count;
    }
}

export void mandelbrot(uniform int32 out[], uniform int64 height, uniform int64 width, uniform int32 most) {
    launch[((uniform int)height + 7) / 8] rows_of_mandelbrot(out, (uniform int)height, (uniform int)width, most);
}

task void forces_of_some(const uniform float bodies[], uniform float forces[], uniform int n) {
    uniform int first = 256 * (uniform int)taskIndex;
    foreach (i = first ... min(n, first + 256)) {
        float x = bodies[i], y = bodies[n + i], z = bodies[2 * n + i];
        float fx = 0.0f, fy = 0.0f, fz = 0.0f;
        for (uniform int j = 0; j < n; j++) {
            float dx = bodies[j] - x, dy = bodies[n + j] - y, dz = bodies[2 * n + j] - z;
            float d = dx * dx + dy * dy + dz * dz + 0.01f;
            float w = bodies[3 * n + j] / (d * sqrt(d));
            fx += w * dx;
            fy += w * dy;
            fz += w * dz;
        }
        forces[i] = fx;
        forces[n + i] = fy;
        forces[2 * n + i] = fz;
    }
}

export void nbody(const uniform float bodies[], uniform float forces[], uniform int64 n) {
    launch[((uniform int)n + 255) / 256] forces_of_some(bodies, forces, (uniform int)n);
}

// ISPC has no erf; its example of options has this polynomial of the normal distribution (Abramowitz, Stegun 26.2.17).
static inline float normal(float X) {
    float L = abs(X);
    const float k = 1.0f / (1.0f + 0.2316419f * L);
    const float k2 = k * k;
    const float k3 = k2 * k;
    const float k4 = k2 * k2;
    const float k5 = k3 * k2;
    float w = 0.31938153f * k - 0.356563782f * k2 + 1.781477937f * k3 - 1.821255978f * k4 + 1.330274429f * k5;
    w *= 0.39894228040f * exp(-L * L * 0.5f);
    return X > 0.0f ? 1.0f - w : w;
}

task void prices_of_some(const uniform float price[], const uniform float strike[], const uniform float years[],
                         uniform float call[], uniform float put[], uniform int n, uniform float rate,
                         uniform float volatility) {
    uniform int size = (n + (uniform int)taskCount - 1) / (uniform int)taskCount;
    uniform int first = size * (uniform int)taskIndex;
    foreach (i = first ... min(n, first + size)) {
        float root = sqrt(years[i]);
        float d1 = (log(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) /
                   (volatility * root);
        float d2 = d1 - volatility * root;
        float n1 = normal(d1), n2 = normal(d2);
        float later = strike[i] * exp(-rate * years[i]);
        call[i] = price[i] * n1 - later * n2;
        put[i] = later * (1.0f - n2) - price[i] * (1.0f - n1);
    }
}

export void black_scholes(const uniform float price[], const uniform float strike[], const uniform float years[],
                          uniform float call[], uniform float put[], uniform int64 n, uniform float rate,
                          uniform float volatility) {
    launch[64] prices_of_some(price, strike, years, call, put, (uniform int)n, rate, volatility);
}
