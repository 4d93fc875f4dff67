/* What ISPC's `launch` calls: tasks taken in turn by OpenMP's threads, as in ISPC's own examples. Built by benchmarks/fourteen.py. */
#include <stdint.h>
#include <stdlib.h>

typedef void (*task_t)(void *data, int thread, int threads, int task, int tasks, int x, int y, int z, int width,
                       int height, int depth);

void *ISPCAlloc(void **handle, int64_t size, int32_t alignment) {
    return *handle = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void ISPCLaunch(void **handle, void *task, void *data, int width, int height, int depth) {
    int tasks = width * height * depth;
    (void)handle;
    _Pragma("omp parallel for schedule(dynamic)")
    for (int i = 0; i < tasks; i++)
        ((task_t)task)(data, 0, 1, i, tasks, i % width, i / width % height, i / width / height, width, height, depth);
}

void ISPCSync(void *handle) { free(handle); }
