// Grayscale, downsampling and scalar_add in CUDA C++, for NVRTC.
extern "C" __global__ void grayscale(int width, int height, const float* image, float* out) {
  int row = blockDim.y * blockIdx.y + threadIdx.y, col = blockDim.x * blockIdx.x + threadIdx.x;
  if (col < width && row < height) {
    long p = (long)row * width + col;
    out[p] = 0.299f * image[p * 3] + 0.587f * image[p * 3 + 1] + 0.114f * image[p * 3 + 2];
  }
}
extern "C" __global__ void downsample(int width, int height, int channels, const float* image, float* out) {
  int row = blockDim.y * blockIdx.y + threadIdx.y, col = blockDim.x * blockIdx.x + threadIdx.x;
  int channel = blockDim.z * blockIdx.z + threadIdx.z;
  if (col < width && row < height && channel < channels) {
    float total = 0;
    for (int a = 0; a < 2; a++)
      for (int b = 0; b < 2; b++) total += image[((long)(row * 2 + a) * (width * 2) + col * 2 + b) * 3 + channel];
    out[((long)row * width + col) * 3 + channel] = total * 0.25f;
  }
}
extern "C" __global__ void scalar_add(float* vector, int size, float scalar) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) vector[i] += scalar;
}
