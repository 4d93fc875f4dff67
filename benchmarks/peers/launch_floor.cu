// The floor of a launch: scalar_add from C++, sustained, end to end, and in a graph of 100 launches.
// nvcc -O2 launch_floor.cu -ldl -o launch_floor; it prints one line of JSON, in microseconds.
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

__global__ void scalar_add(float* vector, long size, float scalar) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < size) vector[i] += scalar;
}

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int main() {
  const int launches = 5000, replays = 50;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return 3;
  auto launch = (decltype(&cuLaunchKernel))dlsym(driver, "cuLaunchKernel");
  float* vector;
  long size = 1024;
  float scalar = 1;
  if (cudaMalloc(&vector, 4096) != cudaSuccess) return 3;
  cudaFunction_t symbol;
  cudaGetFuncBySymbol(&symbol, (const void*)scalar_add);
  CUfunction function = (CUfunction)symbol;
  void* arguments[] = {&vector, &size, &scalar};
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  std::vector<double> times, graphs;
  for (int round = 0; round < 8; round++) {
    double start = now();
    for (int i = 0; i < launches; i++)
      launch(function, 4, 1, 1, 256, 1, 1, 0, stream, arguments, 0);
    cudaStreamSynchronize(stream);
    if (round) times.push_back((now() - start) / launches * 1e6);
  }
  cudaGraph_t graph;
  cudaGraphExec_t made;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  for (int i = 0; i < 100; i++) launch(function, 4, 1, 1, 256, 1, 1, 0, stream, arguments, 0);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&made, graph, 0);
  for (int round = 0; round < 8; round++) {
    double start = now();
    for (int i = 0; i < replays; i++) cudaGraphLaunch(made, stream);
    cudaStreamSynchronize(stream);
    if (round) graphs.push_back((now() - start) / replays / 100 * 1e6);
  }
  printf("{\"launch\": %.4f, \"graph\": %.4f}\n", median(times), median(graphs));
}
