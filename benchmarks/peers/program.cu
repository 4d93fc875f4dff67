// The two hundred kernels of kernels/program.py in CUDA C++, as templates; compile_program_nvrtc.py names them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T> __device__ inline float wide(T x) { return static_cast<float>(x); }
template <typename T> __device__ inline T narrow(float x) { return static_cast<T>(x); }

struct Same { __device__ float operator()(float x) const { return x; } };
struct Relu { __device__ float operator()(float x) const { return fmaxf(x, 0.0f); } };
struct Silu { __device__ float operator()(float x) const { return x / (1.0f + expf(-x)); } };
struct Gelu {
  __device__ float operator()(float x) const {
    float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
    float e = expf(-2.0f * fabsf(inner)), t = (1.0f - e) / (1.0f + e);
    return 0.5f * x * (1.0f + (inner >= 0.0f ? t : -t));
  }
};

template <typename T>
__device__ float read_or(const T* x, long row, long col, long rows, long cols, float other) {
  return row < rows && col < cols ? wide(x[row * cols + col]) : other;
}

template <typename T> __device__ float clamped(const T* x, long row, long col, long rows, long cols) {
  long r = min(max(row, 0L), rows - 1), c = min(max(col, 0L), cols - 1);
  return wide(x[r * cols + c]);
}

template <int threads> __device__ float block_sum(float value) {
  __shared__ float part[threads];
  int t = threadIdx.x;
  part[t] = value;
  __syncthreads();
  for (int stride = threads / 2; stride > 0; stride >>= 1) {
    if (t < stride) part[t] += part[t + stride];
    __syncthreads();
  }
  float total = part[0];
  __syncthreads();
  return total;
}

template <int threads> __device__ float block_max(float value) {
  __shared__ float part[threads];
  int t = threadIdx.x;
  part[t] = value;
  __syncthreads();
  for (int stride = threads / 2; stride > 0; stride >>= 1) {
    if (t < stride) part[t] = fmaxf(part[t], part[t + stride]);
    __syncthreads();
  }
  float largest = part[0];
  __syncthreads();
  return largest;
}

template <typename T, int tile, int each, typename After>
__global__ void matmul(const T* a, const T* b, T* c, long m, long n, long k) {
  __shared__ float a_tile[tile * each * tile];
  __shared__ float b_tile[tile * tile];
  long x = threadIdx.x, y = threadIdx.y;
  long row = blockIdx.y * (tile * each) + y, col = blockIdx.x * tile + x;
  float sums[each];
#pragma unroll
  for (int e = 0; e < each; ++e) sums[e] = 0.0f;
  for (long t = 0; t < k; t += tile) {
#pragma unroll
    for (int e = 0; e < each; ++e)
      a_tile[(e * tile + y) * tile + x] = read_or(a, row + e * tile, t + x, m, k, 0.0f);
    b_tile[y * tile + x] = read_or(b, t + y, col, k, n, 0.0f);
    __syncthreads();
    for (int i = 0; i < tile; ++i)
#pragma unroll
      for (int e = 0; e < each; ++e) sums[e] += a_tile[(e * tile + y) * tile + i] * b_tile[i * tile + x];
    __syncthreads();
  }
#pragma unroll
  for (int e = 0; e < each; ++e)
    if (row + e * tile < m && col < n) c[(row + e * tile) * n + col] = narrow<T>(After()(sums[e]));
}

template <typename T, int features, int threads, bool causal>
__global__ void attention(const T* q, const T* k, const T* v, T* out, long keys) {
  constexpr int shares = features / threads > 1 ? features / threads : 1;
  __shared__ float row[features];
  __shared__ float weights[threads];
  long t = threadIdx.x, query = blockIdx.x, end = causal ? query + 1 : keys;
  float largest = -1.0e30f, total = 0.0f, kept[shares];
#pragma unroll
  for (int e = 0; e < shares; ++e) kept[e] = 0.0f;
  for (long i = t; i < features; i += threads) row[i] = wide(q[query * features + i]);
  __syncthreads();
  for (long first = 0; first < end; first += threads) {
    long key = first + t;
    float score = -1.0e30f;
    if (key < end) {
      score = 0.0f;
      for (int i = 0; i < features; ++i) score += row[i] * wide(k[key * features + i]);
      score *= rsqrtf(features);
    }
    float top = fmaxf(largest, block_max<threads>(score));
    float scale = expf(largest - top), weight = key < end ? expf(score - top) : 0.0f;
    total = total * scale + block_sum<threads>(weight);
    largest = top;
    weights[t] = weight;
    __syncthreads();
#pragma unroll
    for (int e = 0; e < shares; ++e) {
      kept[e] *= scale;
      for (int j = 0; j < threads; ++j)
        kept[e] += weights[j] * read_or(v, first + j, t + e * threads, end, (long)features, 0.0f);
    }
    __syncthreads();
  }
#pragma unroll
  for (int e = 0; e < shares; ++e)
    if (t + e * threads < features) out[query * features + t + e * threads] = narrow<T>(kept[e] / total);
}

// what: 0 sum, 1 max, 2 mean
template <typename T, int threads, int what> __global__ void reduce_rows(const T* x, T* out, long rows, long cols) {
  long t = threadIdx.x, row = blockIdx.x;
  float value = what == 1 ? -1.0e30f : 0.0f;
  for (long c = t; c < cols; c += threads) {
    float found = read_or(x, row, c, rows, cols, 0.0f);
    value = what == 1 ? fmaxf(value, found) : value + found;
  }
  float made = what == 1 ? block_max<threads>(value) : block_sum<threads>(value);
  if (what == 2) made /= cols;
  if (t == 0) out[row] = narrow<T>(made);
}

template <typename T, int threads, int each> __global__ void softmax(const T* x, T* out, long rows, long cols) {
  long t = threadIdx.x, row = blockIdx.x;
  float values[each], largest = -1.0e30f, total = 0.0f;
#pragma unroll
  for (int e = 0; e < each; ++e) {
    values[e] = read_or(x, row, t + e * threads, rows, cols, -1.0e30f);
    largest = fmaxf(largest, values[e]);
  }
  largest = block_max<threads>(largest);
#pragma unroll
  for (int e = 0; e < each; ++e) {
    values[e] = expf(values[e] - largest);
    total += values[e];
  }
  total = block_sum<threads>(total);
#pragma unroll
  for (int e = 0; e < each; ++e)
    if (t + e * threads < cols) out[row * cols + t + e * threads] = narrow<T>(values[e] / total);
}

template <typename T, int radius, typename After> __global__ void blur(const T* image, T* out, long rows, long cols) {
  long row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row >= rows || col >= cols) return;
  float total = 0.0f;
#pragma unroll
  for (int j = -radius; j <= radius; ++j)
#pragma unroll
    for (int i = -radius; i <= radius; ++i)
      total += 1.0f / ((1 + abs(i)) * (1 + abs(j))) * clamped(image, row + j, col + i, rows, cols);
  out[row * cols + col] = narrow<T>(After()(total));
}

template <typename T, int step> __global__ void edges(const T* image, T* out, long rows, long cols) {
  long row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row >= rows || col >= cols) return;
  float across = 0.0f, down = 0.0f;
#pragma unroll
  for (int j = -1; j <= 1; ++j) {
    float weight = j == 0 ? 2.0f : 1.0f;
    across += weight * clamped(image, row + j * step, col + step, rows, cols);
    across -= weight * clamped(image, row + j * step, col - step, rows, cols);
    down += weight * clamped(image, row + step, col + j * step, rows, cols);
    down -= weight * clamped(image, row - step, col + j * step, rows, cols);
  }
  out[row * cols + col] = narrow<T>(sqrtf(across * across + down * down));
}
