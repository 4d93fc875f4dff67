"""Names that a kernel does not know: where weft has them, and what those of other languages are here."""

from __future__ import annotations

from weft.lang.above import above

_ATOMICS = ("Add", "Sub", "Min", "Max", "And", "Or", "Xor")

_ELSEWHERE = {
    "threadIdx": "write thread_idx, from weft.gpu",
    "blockIdx": "write block_idx, from weft.gpu",
    "blockDim": "write block_dim, from weft.gpu",
    "gridDim": "write grid_dim, from weft.gpu",
    "syncthreads": "write barrier(), from weft.gpu",
    "__syncthreads": "write barrier(), from weft.gpu",
    "cuda": "write global_idx.x for cuda.grid(1), thread_idx.x, barrier() and so on, from weft.gpu",
    "tl": "write the program of one thread: global_idx.x for its element, from weft.gpu",
    "printf": "write print(...)",
    "UnsafePointer": "write Pointer",
    "MutableAnyOrigin": "leave it out: write LayoutTensor[Float32]",
    "DType": "write the type itself: Float32",
    "atomicCAS": "write Atomic.compare_exchange, from weft.atomic",
    "atomicExch": "write Atomic.exchange, from weft.atomic",
    **{
        f"atomic{n}": f"write Atomic.fetch_{n.lower()}(pointer + i, value), from weft.atomic"
        for n in _ATOMICS
    },
}
"""What CUDA, Numba, Triton and Mojo call so."""

_C_MATH = ("sqrt", "rsqrt", "exp", "log", "sin", "cos", "tan", "tanh", "pow", "floor", "ceil", "fma", "erf")


def advice(name: str) -> str | None:
    """What to write for an undefined name: an import of weft's, or its counterpart; None where neither is."""
    if name.removesuffix("f") in _C_MATH and name.endswith("f"):
        return f"write weft.math.{name.removesuffix('f')}"
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    module = above().exporter(name)
    return f"import it: from {module} import {name}" if module else None
