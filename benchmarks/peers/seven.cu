// The seven kernels in CUDA C++, each after a line with its name, and one to warm up with.

// ---- scale
extern "C" __global__ void scale(float* a, float f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] * f;
}

// ---- vadd
extern "C" __global__ void vadd(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

// ---- gray
extern "C" __global__ void gray(const float* rgb, float* out, int h, int w) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) {
    int p = (y * w + x) * 3;
    out[y * w + x] = 0.299f * rgb[p] + 0.587f * rgb[p + 1] + 0.114f * rgb[p + 2];
  }
}

// ---- box
template <int F>
__device__ __forceinline__ void box_body(const float* in, float* out, int h, int w) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) {
    float s = 0.0f;
#pragma unroll
    for (int j = 0; j < F; ++j)
#pragma unroll
      for (int i = 0; i < F; ++i) s += in[(y * F + j) * (w * F) + x * F + i];
    out[y * w + x] = s * (1.0f / (F * F));
  }
}
extern "C" __global__ void box(const float* in, float* out, int h, int w) { box_body<2>(in, out, h, w); }

// ---- mm_naive
extern "C" __global__ void mm_naive(const float* a, const float* b, float* c, int m, int n, int k) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && col < n) {
    float s = 0.0f;
    for (int i = 0; i < k; ++i) s += a[row * k + i] * b[i * n + col];
    c[row * n + col] = s;
  }
}

// ---- mm_tiled
extern "C" __global__ void mm_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[16][16];
  __shared__ float bs[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  int col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
  float s = 0.0f;
  for (int t = 0; t < k; t += 16) {
    as[ty][tx] = (row < m && t + tx < k) ? a[row * k + t + tx] : 0.0f;
    bs[ty][tx] = (t + ty < k && col < n) ? b[(t + ty) * n + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) s += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = s;
}

// ---- bsum
extern "C" __global__ void bsum(const float* in, float* out, int n) {
  __shared__ float sh[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  sh[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (t < s) sh[t] += sh[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = sh[0];
}

// ---- softmax
extern "C" __global__ void softmax(const float* in, float* out, int cols) {
  __shared__ float sh[256];
  int t = threadIdx.x, base = blockIdx.x * cols;
  float m = -3.402823466e+38f;
  for (int i = t; i < cols; i += 256) m = fmaxf(m, in[base + i]);
  sh[t] = m;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (t < s) sh[t] = fmaxf(sh[t], sh[t + s]);
    __syncthreads();
  }
  m = sh[0];
  __syncthreads();
  float sum = 0.0f;
  for (int i = t; i < cols; i += 256) {
    float e = expf(in[base + i] - m);
    out[base + i] = e;
    sum += e;
  }
  sh[t] = sum;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (t < s) sh[t] += sh[t + s];
    __syncthreads();
  }
  sum = sh[0];
  for (int i = t; i < cols; i += 256) out[base + i] = out[base + i] / sum;
}
