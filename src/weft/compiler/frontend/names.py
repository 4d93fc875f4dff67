"""Names that a kernel does not know: where weft has them, and what those of others are called here."""

from __future__ import annotations

from weft.lang.above import above

_ATOMICS = ("Add", "Sub", "Min", "Max", "And", "Or", "Xor")

_SHARED = "stack_allocation(Float32, 256, address_space=AddressSpace.SHARED), from weft.memory"
_LANES = "SIMD[Float32, 4](a, b, c, d)"
_ATOMIC = "Atomic.fetch_{}(pointer + i, value), from weft.atomic"
_OVER = "global_idx.x, from weft.gpu, in a launch over=n"

_ELSEWHERE = {
    "threadIdx": "thread_idx, from weft.gpu",
    "blockIdx": "block_idx, from weft.gpu",
    "blockDim": "block_dim, from weft.gpu",
    "gridDim": "grid_dim, from weft.gpu",
    "syncthreads": "barrier(), from weft.gpu",
    "__syncthreads": "barrier(), from weft.gpu",
    "__threadfence": 'fence("seq_cst"), from weft.atomic',
    "__ldg": "p[i]",
    **dict.fromkeys(("__popc", "__popcll", "popc", "popcount"), "pop_count(x), from weft.bit"),
    **dict.fromkeys(("__clz", "__clzll", "clz"), "count_leading_zeros(x), from weft.bit"),
    **dict.fromkeys(("__ffs", "__ffsll", "ffs"), "count_trailing_zeros(x) + 1, from weft.bit"),
    **dict.fromkeys(("__brev", "__brevll", "brev"), "bit_reverse(x), from weft.bit"),
    "__byte_perm": "byte_permute(a, b, selector), from weft.bit",
    "printf": "print(...)",
    "float4": _LANES,
    "make_float4": _LANES,
    "ndrange": "global_idx.y, global_idx.x, from weft.gpu, in a launch over=(height, width)",
    "UnsafePointer": "Pointer",
    "DType": "the type itself: Float32",
    "List": "stack_allocation(Float32, n), from weft.memory",
    "simdwidthof": "the number of lanes itself: 4, say",
    "debug_assert": "assert condition, message",
    "atomicCAS": "Atomic.compare_exchange(pointer + i, expected, desired), from weft.atomic",
    "atomicExch": "Atomic.exchange(pointer + i, value), from weft.atomic",
    **{f"atomic{n}": _ATOMIC.format(n.lower()) for n in _ATOMICS},
    **{f"atomic_{n.lower()}": _ATOMIC.format(n.lower()) for n in _ATOMICS},
}
"""What CUDA, Numba, Triton, Warp, Taichi and Mojo call so."""

_MODULES = {
    "cuda": {
        "": "global_idx.x for cuda.grid(1), thread_idx.x, barrier() and so on, from weft.gpu",
        "grid": _OVER,
        "gridsize": "grid_dim.x * block_dim.x, from weft.gpu",
        "shared": _SHARED,
        "local": "stack_allocation(Float32, 4), from weft.memory",
        "const": "a list or a NumPy array outside of the kernel",
        "atomic": _ATOMIC.format("add"),
        "threadfence": 'fence("seq_cst"), from weft.atomic',
        "popc": "pop_count(x), from weft.bit",
        "clz": "count_leading_zeros(x), from weft.bit",
        "brev": "bit_reverse(x), from weft.bit",
        "selp": "a if condition else b",
    },
    "tl": {
        "": "the program of one element, global_idx.x, from weft.gpu, in a launch over=n",
        "program_id": "block_idx.x, from weft.gpu; a kernel is the program of one thread",
        "num_programs": "grid_dim.x, from weft.gpu",
        "arange": _OVER + ": a kernel is the program of one element",
        "load": "p[i], which the launch over=n guards; or p.load(i, width=4, mask=mask)",
        "store": "p[i] = x, which the launch over=n guards; or p.store(i, x, mask=mask)",
        "where": "a if condition else b",
        "cdiv": "ceildiv(a, b), from weft.math",
        "constexpr": "Comptime[int]",
        "static_range": "unroll(range(n))",
        "dot": "the sum of the products as a loop",
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
        "printf": "print(...)",
        "static": "the expression itself, of what is known at compile time",
    },
    "ti": {
        "": "global_idx.x for the index, from weft.gpu; math from weft.math, vectors from weft.linalg",
        "ndrange": _ELSEWHERE["ndrange"],
        "grouped": _ELSEWHERE["ndrange"],
        "static": "unroll(range(n))",
        "Vector": "vec3(x, y, z), from weft.linalg",
        "Matrix": "mat33(...), from weft.linalg",
        "random": "rand(seed, i), from weft.random",
        "select": "a if condition else b",
    },
}
"""What the modules of Numba, Triton, Warp and Taichi have, by the names that they go by; "" is all else."""

_PACKAGES = {"numba": "cuda", "triton": "tl", "warp": "wp", "taichi": "ti"}
"""The packages whose modules these are."""

MATH = frozenset(
    "abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees erf erfc exp exp2 expm1"
    " floor fma fmod frexp gamma hypot isfinite isinf isnan ldexp lgamma log log10 log1p log2 max min modf"
    " nextafter pow radians rsqrt sin sinh sqrt tan tanh trunc".split()
)
"""What ``weft.math`` has under the name that others use."""


RENAMED = {"absolute": "abs", "fabs": "abs", "maximum": "max", "minimum": "min", "power": "pow"}

NUMPYS = {
    "where": "write a if condition else b; of vectors, condition.select(a, b)",
    "clip": "write weft.math.clamp(x, low, high)",
    "round": "write round(x)",
    "rint": "write round(x)",
    "square": "write x * x",
    "sign": "write copysign(1.0, x), from weft.math",
    "array": "write SIMD[Float32, 2](a, b), or take memory of the thread: stack_allocation(Float32, n)",
    "isqrt": "write Int(sqrt(Float64(n))), from weft.math, exact below 2**52",
    **dict.fromkeys(
        ("factorial", "comb", "perm"),
        "take a table: [math.factorial(k) for k in range(21)][n], or weft.math.gamma",
    ),
    "fsum": "add them up as Float64",
    "dist": "write length(a - b), from weft.linalg",
    "ulp": "write nextafter(x, inf) - x, from weft.math",
    **dict.fromkeys(("zeros_like", "empty_like", "ones_like"), "write stack_allocation(Float32, n)"),
    **dict.fromkeys(
        ("sum", "mean", "prod", "dot", "matmul", "amax", "amin"), "write a loop over the elements"
    ),
}
"""What to write for functions of NumPy that ``weft.math`` has not, or under another form."""

ALIASES = {
    "reduce_sum": "reduce_add",
    "sum": "reduce_add",
    "prod": "reduce_mul",
    "min": "reduce_min",
    "max": "reduce_max",
    "any": "reduce_or",
    "all": "reduce_and",
    "astype": "cast",
    "to": "cast",
    "view": "bitcast",
}
"""Methods that other libraries call so."""

TENSOR_ALIASES = {"ndim": "rank", "numel": "size"}
"""The same of tensors."""

OF_TENSORS = {
    **dict.fromkeys(("mean", "prod", "dot", "norm"), "loop over its elements, as `for x in t`"),
    **dict.fromkeys(
        ("T", "permute", "mT"), "write t.transpose(), or the indices the other way round: t[j, i]"
    ),
    **dict.fromkeys(("astype", "to", "float"), "convert its elements: Float32(t[i])"),
    **dict.fromkeys(("copy", "clone"), "copy it into memory of the thread or block: its copy_from(t)"),
}
"""What to write for methods that arrays of other libraries have."""

OF_POINTERS = {
    **dict.fromkeys(
        ("sum", "mean", "max", "min", "prod", "dot", "norm", "any", "all"), "loop over range(n): x[i]"
    ),
    "alloc": "take memory of the thread: stack_allocation(Float32, n), from weft.memory",
    "free": "leave it out: memory of the thread ends with it",
    "offset": "write p + n",
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
        found = _MODULES[name].get(attribute) or _ELSEWHERE.get(attribute)
        if found is None and attribute.removeprefix("f") in MATH:
            found = f"weft.math.{attribute.removeprefix('f')}"
        if found is None and (module := above().exporter(attribute)):
            found = f"{attribute}, from {module}"
        return f"write {found or _MODULES[name]['']}"
    if name.removesuffix("f") in MATH and name.endswith("f"):
        return f"write weft.math.{name.removesuffix('f')}"
    if name == "MutableAnyOrigin":
        return "leave it out: write LayoutTensor[Float32]"
    if name in _ELSEWHERE:
        return f"write {_ELSEWHERE[name]}"
    module = above().exporter(name)
    return f"import it: from {module} import {name}" if module else None
