"""Functions, limits and objects of CUDA C++ that weft has not, by names without underscores before them."""

from __future__ import annotations

from weft.diagnostics.instead import alike as _all

OF_CUDA = {
    # arithmetic
    **_all("abs(x)", "fabs fabsf"),
    **_all("min(x, y)", "fmin fminf umin llmin"),
    **_all("max(x, y)", "fmax fmaxf umax llmax"),
    **_all("fma(a, b, c), from weft.math", "fmaf_rn fma_rn"),
    **_all("a + b", "fadd_rn dadd_rn"),
    **_all("a * b", "fmul_rn dmul_rn mul24 umul24"),
    **_all("1.0 / x", "frcp_rn drcp_rn"),
    **_all("sqrt(x), from weft.math", "fsqrt_rn dsqrt_rn"),
    **_all("round(x), from weft.math", "rint rintf nearbyint nearbyintf"),
    **_all("Int(round(x)), with round of weft.math", "lrint lrintf llrint llrintf"),
    **_all("Int32(round(x)), with round of weft.math", "float2int_rn double2int_rn"),
    **_all("Int32(floor(x)), with floor of weft.math", "float2int_rd double2int_rd"),
    **_all("Int32(ceil(x)), with ceil of weft.math", "float2int_ru double2int_ru"),
    **_all("Int32(x)", "float2int_rz double2int_rz"),
    **_all("UInt32(x)", "float2uint_rz double2uint_rz"),
    "signbit": "copysign(1.0, x) < 0.0, with copysign of weft.math",
    **_all("sincos(x), from weft.math: it gives both", "sincosf"),
    **_all("sincos(pi * x), of weft.math: it gives both", "sincospi sincospif"),
    **_all("sin(pi * x), of weft.math", "sinpi sinpif"),
    **_all("cos(pi * x), of weft.math", "cospi cospif"),
    **_all("exp10(x), from weft.math", "exp10f"),
    **_all("1.0 / cbrt(x), with cbrt of weft.math", "rcbrt rcbrtf"),
    **_all("1.0 / hypot(x, y), with hypot of weft.math", "rhypot rhypotf"),
    **_all("length(vec3(x, y, z)), from weft.linalg", "norm3d norm3df"),
    **_all("length(vec4(x, y, z, w)), from weft.linalg", "norm4d norm4df"),
    **_all("1.0 / length(vec3(x, y, z)), with length of weft.linalg", "rnorm3d rnorm3df"),
    "umulhi": "UInt32((UInt64(a) * UInt64(b)) >> 32)",
    "mulhi": "Int32((Int64(a) * Int64(b)) >> 32)",
    **_all("abs(a - b) + c, of signed numbers", "sad usad"),
    "dp4a": "(x.cast(Int32) * y.cast(Int32)).reduce_add() + c, of two SIMD[Int8, 4]",
    **_all("Int32(x), or x.bitcast(Int32) for the same bits", "static_cast reinterpret_cast"),
    # limits
    "INT_MAX": "max_finite(Int32), from weft.numerics",
    "INT_MIN": "min_finite(Int32), from weft.numerics",
    "UINT_MAX": "max_finite(UInt32), from weft.numerics",
    **_all("max_finite(Int), from weft.numerics", "LLONG_MAX LONG_MAX"),
    "FLT_MAX": "max_finite(Float32), from weft.numerics",
    "DBL_MAX": "max_finite(Float64), from weft.numerics",
    "FLT_EPSILON": "epsilon(Float32), from weft.numerics",
    "DBL_EPSILON": "epsilon(Float64), from weft.numerics",
    **_all('float("inf")', "INFINITY HUGE_VALF HUGE_VAL CUDART_INF_F CUDART_INF"),
    **_all('float("nan")', "NAN CUDART_NAN_F CUDART_NAN"),
    **_all("pi, from weft.math", "M_PI CUDART_PI_F CUDART_PI"),
    # memory and threads
    **_all("a Bool beside the pointer, which says whether there is one", "nullptr NULL"),
    **_all("stack_allocation(Float32, n), from weft.memory", "malloc"),
    **_all("a loop: p[i] = q[i]", "memcpy"),
    **_all("a loop: p[i] = 0", "memset"),
    **_all(
        "t[i, j] of a LayoutTensor; edges and interpolation are the kernel's", "tex1D tex2D tex3D tex1Dfetch"
    ),
    **_all("t[i, j] of a LayoutTensor", "surf1Dread surf2Dread surf1Dwrite surf2Dwrite"),
    "SharedMemory": "dynamic_shared_memory(Float32), from weft.memory",
    "threadfence_system": 'fence("seq_cst", scope="system"), from weft.atomic',
    "trap": 'assert False, "why"',
    **_all("events around the launch: later.seconds_since(earlier)", "clock clock64 globaltimer"),
    "tiled_partition": "warp.sum(v, width=8) and its kin, from weft.gpu",
    # random numbers
    "curand_init": "Random(seed, subsequence), from weft.random",
    "curand": "philox4x32(seed, i, 0), from weft.random",
    **_all("rand(seed, i), from weft.random", "curand_uniform curand_uniform_double curand_uniform4"),
    **_all("randn(seed, i), from weft.random", "curand_normal curand_normal_double curand_normal4"),
}
"""What to write, by name."""

OF_GROUPS = {
    "": "barrier() for a block, warp.sum(v) and its kin for 32 threads, grid_sync() for all, from weft.gpu",
    "this_grid": "grid_sync(), from weft.gpu, with cooperative=True at the launch",
    "this_thread_block": "barrier() and thread_idx, from weft.gpu",
    "tiled_partition": OF_CUDA["tiled_partition"],
    "coalesced_threads": "warp.ballot(p), from weft.gpu: a bit for each lane",
    "reduce": "warp.sum(v), from weft.gpu",
    "sync": "barrier(), from weft.gpu",
}
"""The same of cooperative groups."""
