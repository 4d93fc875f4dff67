"""Names that a kernel does not know: where weft has them, and what those of others are called here."""

from __future__ import annotations

from weft.compiler.frontend.names_of_cuda import OF_CUDA, OF_GROUPS
from weft.compiler.frontend.names_of_warp import OF_TURNS, UNMISTAKABLE
from weft.diagnostics.instead import alike as _all
from weft.dtype import as_dtype
from weft.lang.above import above
from weft.lang.number import type_name

_ATOMICS = ("add", "sub", "min", "max", "and", "or", "xor")
_SYNCS = {"count": "count", "and": "all", "or": "any"}
_LANES = {
    "shfl": "shuffle_idx(v, lane)",
    "shfl_up": "shuffle_up(v, delta)",
    "shfl_down": "shuffle_down(v, delta)",
    "shfl_xor": "shuffle_xor(v, mask)",
    "ballot": "ballot(p)",
    "any": "any(p)",
    "all": "all(p)",
    "match_any": "match_any(v)",
    "match_all": "match_all(v)",
    "reduce_add": "sum(v)",
    "reduce_min": "min(v)",
    "reduce_max": "max(v)",
}
"""What CUDA and Numba call lanes' operations, with ``_sync`` behind and a mask before the arguments."""

_SHARED = "stack_allocation(Float32, 256, address_space=AddressSpace.SHARED), from weft.memory"
_ATOMIC = "Atomic.fetch_{}(pointer + i, value), from weft.atomic"
_WRAPS = "a loop of Atomic.compare_exchange, from weft.atomic, that writes {}"
_OVER = "global_idx.x, from weft.gpu, in a launch over=n"


_ELSEWHERE = {
    **_all("thread_idx, from weft.gpu", "threadIdx hipThreadIdx_x"),
    **_all("block_idx, from weft.gpu", "blockIdx hipBlockIdx_x"),
    **_all("block_dim, from weft.gpu", "blockDim hipBlockDim_x"),
    "gridDim": "grid_dim, from weft.gpu",
    "get_global_id": "global_idx.x, from weft.gpu",
    "get_local_id": "thread_idx.x, from weft.gpu",
    "get_group_id": "block_idx.x, from weft.gpu",
    "get_local_size": "block_dim.x, from weft.gpu",
    "get_num_groups": "grid_dim.x, from weft.gpu",
    "get_global_size": "grid_dim.x * block_dim.x, from weft.gpu",
    **_all("barrier(), from weft.gpu", "syncthreads threadgroup_barrier work_group_barrier"),
    **_all("barrier(), which orders all memory", "CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE"),
    **{f"syncthreads_{n}": f"block.{m}(p), from weft.gpu" for n, m in _SYNCS.items()},
    "syncwarp": "syncwarp(), from weft.gpu.warp",
    "activemask": "no mask: all lanes of a warp take part, or none",
    **{f"{n}{s}": f"warp.{_LANES[n]}, from weft.gpu" for n in _LANES for s in ("", "_sync")},
    **_all("lane_id(), from weft.gpu", "laneid laneId lane_idx"),
    **_all("warp.WARP_SIZE, from weft.gpu", "warpSize warpsize"),
    "threadfence": 'fence("seq_cst"), from weft.atomic',
    "threadfence_block": 'fence("seq_cst", scope="block"), from weft.atomic',
    "ldg": "p[i]",
    **_all("pop_count(x), from weft.bit", "popc popcll popcount"),
    **_all("count_leading_zeros(x), from weft.bit", "clz clzll"),
    **_all("count_trailing_zeros(x) + 1 if x != 0 else 0, with that of weft.bit", "ffs ffsll"),
    **_all("bit_reverse(x), from weft.bit", "brev brevll"),
    "byte_perm": "byte_permute(a, b, selector), from weft.bit",
    "selp": "a if condition else b",
    "saturatef": "clamp(x, 0.0, 1.0), from weft.math",
    **_all("a / b", "fdividef fdiv_rn"),
    **_all("x.bitcast(Int32)", "float_as_int as_int"),
    **_all("x.bitcast(UInt32)", "float_as_uint as_uint"),
    **_all("x.bitcast(Float32)", "int_as_float uint_as_float as_float"),
    **_all("Float32(x)", "half2float int2float_rn uint2float_rn"),
    "float2half": "Float16(x)",
    "printf": "print(...)",
    **_all("matmul, from weft.kernels", "gemm sgemm hgemm dgemm bmm mm addmm einsum"),
    **_all("layer_norm, from weft.kernels", "layernorm LayerNorm"),
    "rmsnorm": "rms_norm, from weft.kernels",
    **_all("attention, from weft.kernels", "flash_attention scaled_dot_product_attention sdpa"),
    "mad": "a * b + c",
    "relu": "max(x, 0.0)",
    "sigmoid": "1.0 / (1.0 + exp(-x)), with exp of weft.math",
    **_all("x / (1.0 + exp(-x)), with exp of weft.math", "silu swish"),
    "softplus": "log1p(exp(x)), of weft.math",
    "gelu": "0.5 * x * (1.0 + erf(x * 0.7071067811865476)), with erf of weft.math",
    **_all("Tensor.from_numpy(x, ctx), from weft; or a buffer and ctx.enqueue_copy", "to_device from_dlpack"),
    **_all("vec2(x, y), from weft.linalg", "float2 make_float2"),
    **_all("vec3(x, y, z), from weft.linalg", "float3 make_float3"),
    **_all("SIMD[Float32, 4](a, b, c, d)", "float4 make_float4"),
    "ndrange": "global_idx.y, global_idx.x, from weft.gpu, in a launch over=(height, width)",
    "dim3": "Dim, from weft.gpu.host",
    "UnsafePointer": "Pointer",
    "DType": "the type itself: Float32",
    "List": "stack_allocation(Float32, n), from weft.memory",
    "simdwidthof": "the number of lanes itself: 4, say",
    **_all("size_of(Float32), from weft.sys", "sizeof"),
    "debug_assert": "assert condition, message",
    **_all(
        "Atomic.compare_exchange(pointer + i, expected, desired), from weft.atomic",
        "atomicCAS atomic_cas atomic_cmpxchg",
    ),
    **_all("Atomic.exchange(pointer + i, value), from weft.atomic", "atomicExch atomic_xchg"),
    **_all(_WRAPS.format("0 if old >= limit else old + 1"), "atomicInc atomic_inc"),
    **_all(_WRAPS.format("limit if old == 0 or old > limit else old - 1"), "atomicDec atomic_dec"),
    **{f"atomic{n.title()}": _ATOMIC.format(n) for n in _ATOMICS},
    **{f"atomic_{n}": _ATOMIC.format(n) for n in _ATOMICS},
    **_all("@kernel, and a type for each parameter", "jit njit autojit"),
    "prange": "range(n); threads share a loop in a launch over=n",
    **{f"xoroshiro128p_uniform_{t}": "rand(seed, i), from weft.random" for t in ("float32", "float64")},
    **{f"xoroshiro128p_normal_{t}": "randn(seed, i), from weft.random" for t in ("float32", "float64")},
    "create_xoroshiro128p_states": "rand(seed, i) in the kernel, from weft.random, which has no state",
    **UNMISTAKABLE,
    **OF_CUDA,
}
"""What others call so; of CUDA without the underscores before the name."""

_TYPES = {
    **_all("Float32", "f32 float_"),
    **_all("Float64", "f64 double"),
    **_all("Float16", "f16 fp16"),
    **_all("BFloat16", "bf16"),
    **_all("UInt8", "uchar u8"),
    **_all("Int32", "i32"),
    **_all("UInt32", "u32 uint"),
    **_all("Int", "i64 size_t"),
    **_all("UInt64", "u64"),
}
"""Types that have no name of weft's or NumPy's."""

_MODULES = {
    "shared": {"": _SHARED},
    "cuda": {
        "": "global_idx.x for cuda.grid(1), thread_idx.x, barrier() and so on, from weft.gpu",
        "grid": f"{_OVER}; for cuda.grid(2) x, y = global_idx.x, global_idx.y",
        "cg": "grid_sync(), from weft.gpu, with cooperative=True at the launch",
        "libdevice": "weft.math, which has its functions without the f",
        "random": "rand(seed, i), from weft.random, which has no state",
        "nanosleep": "leave it out: a thread that waits does so by an atomic load or at a barrier",
        "gridsize": "grid_dim.x * block_dim.x, from weft.gpu",
        "shared": _SHARED,
        "local": "stack_allocation(Float32, 4), from weft.memory",
        "const": "a list or a NumPy array outside of the kernel",
        "atomic": _ATOMIC.format("add") + ", which has fetch_max, exchange, compare_exchange and so on",
    },
    "tl": {
        "": "the program of one element, global_idx.x, from weft.gpu, in a launch over=n; "
        "or a @tile_kernel, with the functions of weft.tile",
        "program_id": "block_idx.x, from weft.gpu; a @kernel is the program of one thread, "
        "a @tile_kernel that of a block",
        "num_programs": "grid_dim.x, from weft.gpu",
        "arange": _OVER + ": a @kernel is the program of one element; in a @tile_kernel tile.arange(n)",
        "load": "p[i], which the launch over=n guards; or p.load(i, width=4, mask=mask); "
        "in a @tile_kernel tile.load(x, i, 128), the i-th 128 of a tensor, which knows its edge",
        "store": "p[i] = x, which the launch over=n guards; or p.store(i, x, mask=mask); "
        "in a @tile_kernel tile.store(out, i, t)",
        "where": "a if condition else b; of tiles tile.where(condition, a, b)",
        "cdiv": "ceildiv(a, b), from weft.math",
        "constexpr": "Comptime[int]",
        "static_range": "unroll(range(n))",
        "dot": "the sum of the products as a loop; of tiles tile.dot(a, b, acc)",
        "zeros": "0.0, which takes the type that it meets; in a @tile_kernel tile.zeros((m, n))",
        **{
            n: f"x.{n}(axis=1) of a tile, in a @tile_kernel; of a block's threads see weft.gpu.block"
            for n in ("sum", "max", "min", "argmax", "argmin", "cumsum")
        },
    },
    "wp": {
        "": "global_idx.x for wp.tid(), from weft.gpu; math from weft.math, vectors from weft.linalg",
        "tid": _OVER,
        "vec2": "vec2, from weft.linalg",
        "vec3": "vec3, from weft.linalg",
        "vec4": "vec4, from weft.linalg",
        "array": "Pointer[Float32] or LayoutTensor[Float32]",
        "rand_init": "rand(seed, i), from weft.random, which has no state",
        "randf": "rand(seed, i), from weft.random",
        "static": "the expression itself, of what is known at compile time",
        **OF_TURNS,
    },
    "ti": {
        "": "global_idx.x for the index, from weft.gpu; math from weft.math, vectors from weft.linalg",
        "grouped": _ELSEWHERE["ndrange"],
        "static": "unroll(range(n))",
        "Vector": "vec3(x, y, z), from weft.linalg",
        "Matrix": "mat33(...), from weft.linalg",
        "random": "rand(seed, i), from weft.random",
        "math": "weft.math and weft.linalg, which have its functions",
        **OF_TURNS,
    },
}
"""What the modules of Numba, Triton, Warp and Taichi have, by the names that they go by; "" is all else."""

_MODULES["tm"] = _MODULES["ti"]
_MODULES["cg"] = _MODULES["cooperative_groups"] = OF_GROUPS
_PACKAGES = {"numba": "cuda", "triton": "tl", "warp": "wp", "taichi": "ti"}
"""The packages whose modules these are."""

MATH = frozenset(
    "abs acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist erf erfc exp"
    " exp2 expm1 factorial floor fma fmod frexp gamma hypot isfinite isinf isnan isqrt ldexp lgamma log log10"
    " log1p log2 max min modf nextafter perm pow radians rsqrt sin sinh sqrt tan tanh trunc ulp".split()
)
"""What ``weft.math`` has under the name that others use."""


RENAMED = {"absolute": "abs", "fabs": "abs", "maximum": "max", "minimum": "min", "power": "pow"}

NUMPYS_OF_OBJECTS = {
    "nan_to_num": "write 0.0 if isnan(x) else x, with isnan of weft.math",
    "real": "write z.re",
    "imag": "write z.im",
    "real_if_close": "write z.re",
    "isreal": "write z.im == 0.0",
    "iscomplex": "write z.im != 0.0",
    **_all("write isinstance(z, ComplexSIMD), with that of weft.complex", "isrealobj iscomplexobj"),
}
"""The same of those to which a run-time number is any object, which they give back or take for real."""

NUMPYS = {
    "where": "write a if condition else b; of vectors, condition.select(a, b)",
    "clip": "write weft.math.clamp(x, low, high)",
    **_all("write weft.math.round(x), which is a float", "round rint"),
    "square": "write x * x",
    "sign": "write Float32(x > 0) - Float32(x < 0); where x is not 0 that is copysign(1.0, x)",
    "array": "write SIMD[Float32, 2](a, b), or take memory of the thread: stack_allocation(Float32, n)",
    "fsum": "add them up as Float64",
    "conj": "write z.conj()",
    "conjugate": "write z.conj()",
    "angle": "write z.phase()",
    "phase": "write z.phase()",
    "polar": "write z.polar()",
    "rect": "write ComplexFloat32.from_polar(size, phase), from weft.complex",
    **NUMPYS_OF_OBJECTS,
    **_all(
        "write stack_allocation(Float32, n), of a size known at compile time",
        "zeros empty ones full zeros_like empty_like ones_like",
    ),
    **_all("compute it where it is needed: start + i * step", "arange linspace"),
    **dict.fromkeys(
        ("sum", "mean", "prod", "dot", "matmul", "amax", "amin"), "write a loop over the elements"
    ),
}
"""What to write for functions of NumPy that ``weft.math`` has not, or under another form."""

TENSOR_ALIASES = {"ndim": "rank", "numel": "size"}
"""Methods of tensors that other libraries call so."""

OF_NUMBER_TYPES = {
    **_all("max_finite", "max MAX max_value MAX_FINITE"),
    **_all("min_finite", "min MIN min_value MIN_FINITE lowest"),
    **_all("inf", "inf infinity INFINITY Inf"),
    **_all("nan", "nan NAN NaN"),
    **_all("epsilon", "eps epsilon EPSILON"),
}
"""The functions of ``weft.numerics`` that give what others have as attributes of a type of numbers."""

OF_ITEMS = {
    **{name: f"write {name}({{}})" for name in ("sum", "max", "min", "any", "all")},
    **_all("write len({})", "size shape length"),
    "tolist": "leave it out: it is looped over and indexed as it is",
    "copy": "write copy.copy({})",
    **_all("make it as long as it gets, and assign its elements: x[i] = value", "append extend push_back"),
}
"""What to write for methods of arrays elsewhere, of an InlineArray or a tuple."""

OF_POINTERS = {
    **dict.fromkeys(
        ("sum", "mean", "max", "min", "prod", "dot", "norm", "any", "all"), "loop over range(n): x[i]"
    ),
    "alloc": "take memory of the thread: stack_allocation(Float32, n), from weft.memory",
    "free": "leave it out: memory of the thread ends with it",
    "offset": "write p + n",
    **_all(
        "loop over range(n): x[i] = value; on the host buffer.enqueue_fill(value)", "fill zero fill_ zero_"
    ),
    **_all(
        "copy element by element; on the host ctx.enqueue_copy(dst=..., src=...)", "copy copy_to copy_from"
    ),
    **_all("write p[i]", "item get at"),
    "set": "write p[i] = value",
}
"""The same of Mojo's pointers."""


def package_of(module: str) -> str:
    """The name that a module of another language for kernels goes by; empty for all others."""
    return _PACKAGES.get(module.partition(".")[0], "")


def advice(name: str, attribute: str = "") -> str | None:
    """What to write for an undefined name: an import of weft's, or its counterpart; None where neither is.

    ``attribute`` is what is asked of it where it is a module: ``threadIdx`` in ``cuda.threadIdx.x``.
    """
    if name in _MODULES:
        module, found = _MODULES[name], f"__{attribute}" if attribute else ""
        return f"write {module.get(attribute) or _here(found) or module['']}"
    if name == "MutableAnyOrigin":
        return "leave it out: write LayoutTensor[Float32]"
    if found := _here(name):
        return f"write {found}"
    module = above().exporter(name)
    return f"import it: from {module} import {name}" if module else None


def _here(name: str) -> str:
    """What a name of others is called here; empty where nothing is known of it."""
    bare = name.lstrip("_")
    if bare in _ELSEWHERE:
        return _ELSEWHERE[bare]
    if bare.removesuffix("f") in MATH and (bare != name or bare[-1] == "f"):
        return f"weft.math.{bare.removesuffix('f')}"
    if bare != name and (module := above().exporter(bare)):
        return f"{bare}, from {module}"
    try:
        return _TYPES.get(bare) or type_name(as_dtype(bare.removesuffix("_t")))
    except TypeError:
        return ""
