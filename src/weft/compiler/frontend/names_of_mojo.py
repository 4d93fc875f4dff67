"""What Mojo calls otherwise than weft, or has and weft has not, by the names that its programs import."""

from __future__ import annotations

import builtins
import sys

from weft.compiler.frontend.names import advice
from weft.diagnostics.instead import alike as _all

MOJOS = {
    # gpu
    **_all("write thread_idx, from weft.gpu", "id"),
    **_all("write llvm_intrinsic, from weft.lang, or see weft.gpu and weft.bit", "intrinsics"),
    "sm_id": 'write inline_asm, from weft.lang, with "mov.u32 $0, %smid;": no kernel should depend on it',
    "WARPGROUP_SIZE": "write 4 * warp.WARP_SIZE, from weft.gpu",
    "MAX_THREADS_PER_BLOCK_METADATA": "write launch_bounds(256), from weft.gpu, in the kernel",
    **_all("write pdl=True at the launch", "PDL PDLLevel pdl_launch_attributes LaunchAttribute"),
    "vote": "write warp.ballot(p), from weft.gpu",
    **{f"lane_group_{n}": f"write warp.{n}(v, width=8), from weft.gpu" for n in ("sum", "max", "min")},
    "lane_group_reduce": "write warp.reduce(v, f, width=8), from weft.gpu",
    "mulhi": "write Int32((Int64(a) * Int64(b)) >> 32)",
    "mulwide": "write Int64(a) * Int64(b)",
    "lop": "write the expression with &, | and ^",
    "load_acquire": 'write Atomic.load(pointer, ordering="acquire"), from weft.atomic',
    "store_release": 'write Atomic.store(pointer, value, ordering="release"), from weft.atomic',
    "Consistency": 'write ordering="acquire", say: it is a word',
    "ReduceOp": 'write "add", "min" or another word',
    **_all("write set_max_registers(n), from weft.gpu.wgmma", "warpgroup_reg_alloc warpgroup_reg_dealloc"),
    # gpu.host
    "DeviceFunction": "write CompiledKernel: what ctx.compile_function gives",
    "DeviceMulticastBuffer": "make a buffer of each context",
    "DeviceAttribute": "write ctx.info",
    **_all("write ctx.info", "GPUInfo info"),
    **_all("write target='sm_90', say, where a target is asked for", "get_gpu_target A100 H100 H200 B200"),
    **_all("write launch_bounds(256, 4), from weft.gpu, in the kernel", "FuncAttribute func_attribute"),
    **_all(
        "write a list or a NumPy array outside of the kernel, and index it",
        "ConstantMemoryMapping constant_memory",
    ),
    **_all("write compile_info(kernel, target=...), from weft.compile", "_compile_code CompiledFunctionInfo"),
    "num_captures": "write compile_info(kernel), from weft.compile",
    **_all(
        "write compile_info(kernel, emission_kind=...), from weft.compile",
        "cubin hsaco ptx dump_asm dump_llvm compile_offload",
    ),
    "get_type_name": "write T.__name__",
    "get_linkage_name": "write compile_info(kernel).name, from weft.compile",
    "ProfileBlock": "write `weft profile program.py`",
    # gpu.memory, gpu.sync
    "CacheOperation": "leave it out, or write inline_asm, from weft.lang",
    "Fill": "leave it out: masked elements are zeros",
    "external_memory": "write dynamic_shared_memory(Float32), from weft.memory",
    **_all(
        "write async_proxy_fence(), from weft.gpu.wgmma",
        "fence_async_view_proxy tma_store_fence fence_mbarrier_init",
    ),
    "multimem_ld_reduce": "there is none: add in a kernel for each GPU",
    **_all(
        "write a SharedMemBarrier, from weft.gpu.mbarrier: it has init, arrive, wait and expect_bytes",
        "mbarrier_init mbarrier_arrive mbarrier_test_wait mbarrier_try_wait_parity_shared async_copy_arrive",
    ),
    **_all("write async_bulk_commit_group, from weft.gpu.bulk", "cp_async_bulk_commit_group"),
    **_all("write async_bulk_wait_group, from weft.gpu.bulk", "cp_async_bulk_wait_group"),
    **_all(
        "write tile.async_copy(...) of a TMATensorTile, from weft.layout.tma_async",
        "cp_async_bulk_tensor_shared_cluster_global cp_async_k_major",
    ),
    **_all("write barrier(), from weft.gpu", "schedule_barrier schedule_group_barrier"),
    "NamedBarrierSemaphore": "write Semaphore, from weft.gpu.semaphore",
    "umma_arrive_leader_cta": "there is none yet: write inline_asm, from weft.lang",
    "clusterlaunchcontrol_try_cancel": "there is none yet: write inline_asm, from weft.lang",
    # gpu.mma
    **_all("write wgmma_async, from weft.gpu.wgmma", "wgmma_async wgmma_fence_aligned WGMMADescriptor"),
    **_all("write wgmma_wait, from weft.gpu.wgmma", "wgmma_commit_group_sync wgmma_wait_group_sync"),
    # layout
    **_all("write Layout.row_major(m, n), from weft.layout", "row_major RuntimeLayout"),
    "col_major": "write Layout.col_major(m, n), from weft.layout",
    "RuntimeTuple": "write a tuple",
    **_all("write LayoutTensor: LayoutTensor[Float32] of a parameter", "TileTensor to_layout_tensor"),
    "TensorLayout": "leave it out: a tensor brings its layout",
    "UNKNOWN_VALUE": "write layout.dynamic()",
    "LayoutTensorBuild": "write stack_allocation(Float32, Layout.row_major(m, n)), from weft.memory",
    "stack_allocation_like": "write stack_allocation(T, layout), from weft.memory",
    "ThreadScope": "leave it out, or give thread_layout=",
    **_all("write t.load(i, j, width=4), t.store(i, j, value)", "aligned_load aligned_store"),
    "copy_local_to_sram": "import it: from weft.layout import copy_local_to_shared",
    **_all(
        "write core.load_a(tile) and its kin, core a TensorCore of weft.layout.tensor_core",
        "load_a load_b load_c mma_op store_d",
    ),
    "get_mma_shape": "give TensorCore its shape: (16, 8, 16), say",
    "load_to_simd": "write core.load_a(tile)",
    "num_matrix_reg": "see what core.load_a gives",
    "outer_product_acc": "write a loop: c[i, j] += a[i] * b[j]",
    "make_ldmatrix_swizzle": "write make_swizzle, from weft.layout",
    "create_tma_tile": "write ctx.create_tma_tile(tensor, box)",
    "TMATensorTileArray": "write a tuple of TMATensorTile",
    "PipelineState": "write Pipeline[4], from weft.gpu.pipeline",
    # algorithm
    "sync_parallelize": "write parallelize, from weft.algorithm",
    "parallel_memcpy": "write ctx.enqueue_copy(dst=..., src=...)",
    "unswitch": "write an if: what is known at compile time is decided there",
    "stencil": "import it: from weft.algorithm import stencil",
    "variance": "import it: from weft.algorithm import variance",
    **_all("import it: from weft.kernels import argmax", "argmax"),
    **_all("import it: from weft.kernels import argmin", "argmin"),
    **_all("write reduce(function, x), from weft.algorithm", "all_true any_true none_true _reduce_generator"),
    "foreach": "write elementwise, from weft.algorithm",
    # utils, builtins
    **_all("write a tuple: (i, j)", "Index IndexList StaticTuple DimList Coord"),
    "type_of": "leave it out: types are those of the arguments",
    **_all("write a struct for each kind, or Comptime", "Variant Some"),
    "Optional": "write Float32 | None, say",
    "Dict": "write a list known at compile time, or a Pointer",
    **_all("write Comptime[str]", "StringSlice StaticString StringLiteral String"),
    "BlockingSpinLock": "write Atomic.compare_exchange, from weft.atomic",
    "FPUtils": "write x.bitcast(Int32)",
    "get_accum_type": "write the type: Float32, say",
    "neg_inf": 'write -inf(Float32), from weft.numerics, or -float("inf")',
    "cast": "write x.cast(Float32), or Float32(x)",
    "reduce_add": "write v.reduce_add(), of a vector",
    "rank": "write t.rank",
    "recip": "write 1.0 / x",
    "bit_not": "write ~x",
    "splatmask": "write -Int32(condition)",
    "select": "write a if condition else b; of vectors condition.select(a, b)",
    "Byte": "write UInt8",
    "rebind": "leave it out: types are compared by what they are",
    "Tuple": "write tuple[Float32, Int]",
    "IntLiteral": "write Comptime[int]",
    "FloatLiteral": "write Comptime[float]",
    **_all("leave it out: any struct may be copied", "Copyable Movable ImplicitlyCopyable AnyType"),
    **_all("leave it out: write the methods", "Stringable Writable Sized Intable Floatable"),
    **_all(
        "leave it out: LayoutTensor[Float32]",
        "Origin ImmutableAnyOrigin MutableOrigin MutAnyOrigin ImmutAnyOrigin",
    ),
    **_all("write @struct", "register_passable value fieldwise_init"),
    **_all("leave it out: a function known at compile time is inlined", "parameter always_inline no_inline"),
    "alias": "write a Python variable outside of the kernel",
    **_all("leave it out", "nonmaterializable export __mlir_op"),
    "swap": "write a, b = b, a",
    "OpaquePointer": "write Pointer[UInt8]",
    # memory, sys
    **_all("write Pointer", "LegacyUnsafePointer OwnedPointer ArcPointer Span pointer NDBuffer"),
    "memcpy": "write a loop; on the host ctx.enqueue_copy(dst=..., src=...)",
    **_all("write a loop; on the host buffer.enqueue_fill(value)", "memset memset_zero"),
    "memcmp": "write a loop",
    "bitcast": "write x.bitcast(Int32), or pointer.bitcast(Int32)",
    "pack_bits": "write warp.ballot(p), from weft.gpu, or shifts",
    "alloc": "write stack_allocation(Float32, n), from weft.memory; on the host ctx.enqueue_create_buffer",
    "simd_width_of": "write the number of lanes itself: 4, say",
    "bit_width_of": "write 8 * size_of(Float32), from weft.sys",
    **_all("write current_target(), from weft.lang", "CompilationTarget"),
    **_all("write False: there are NVIDIA GPUs and CPUs", "is_amd_gpu is_apple_gpu"),
    **_all(
        "write False: there are NVIDIA GPUs and CPUs", "has_amd_gpu_accelerator has_apple_gpu_accelerator"
    ),
    "argv": "write sys.argv, of Python's sys",
    "exit": "write sys.exit(), of Python's sys",
    **_all("write sys.stdout, of Python's sys", "stdout stderr"),
    **_all(
        "write os.environ, of Python's os, outside of the kernel",
        "env_get_int env_get_bool env_get_string is_defined get_defined_int get_defined_bool getenv",
    ),
    "inlined_assembly": "import it: from weft.lang import inline_asm",
    **_all("write os.cpu_count(), of Python's os", "num_physical_cores num_logical_cores"),
    "prefetch": "write inline_asm, from weft.lang",
    "masked_load": "write p.load(i, width=4, mask=mask)",
    "strided_load": "write p[i * stride]",
    "compressed_store": "write p[i] = x under an if",
    "gather": "write p.gather(indices)",
    "scatter": "write p.scatter(indices, values)",
    "abort": 'write assert False, "why"',
    "load": "write p.load(i, width=4)",
    "external_call": "import it: from weft.ffi import external_call",
    "DLHandle": "write external_call, from weft.ffi",
    "index": "write Int",
    # testing, random, benchmark, max, time
    "assert_raises": "write pytest.raises",
    "assert_is": "write assert a is b",
    "TestSuite": "write functions test_..., for pytest",
    "seed": "give rand(seed, i), from weft.random, its seed: it has no state",
    **_all("write rand(seed, i), from weft.random", "random_float64 NormalRandom"),
    **_all("write randint(seed, i, low, high), from weft.random", "random_si64 random_ui64"),
    "randn_float64": "write randn(seed, i), from weft.random",
    "shuffle": "write numpy.random.Generator.permutation, on the host",
    "Philox": "write philox4x32(seed, i, 0), from weft.random",
    **_all("leave it out: run says how often", "Batch"),
    "Unit": "leave it out: reports choose the unit",
    "dump_report": "write bench.dump_report(), of a Bench",
    "black_box": "import it: from weft.benchmark import keep",
    "Accelerator": "write accelerator(), from weft",
    "CPU": "write cpu(), from weft",
    "Device": "import it: from weft.tensor import Device",
    "accelerator_count": "write DeviceContext.number_of_devices(), from weft.gpu.host",
    "move_to": "write tensor.to(device)",
    **_all("write LayoutTensor[Float32]", "InputTensor OutputTensor ManagedTensorSlice"),
    **_all("write Tensor(Float32, (m, n)), from weft", "TensorSpec TensorShape"),
    "DeviceContextPtr": "write DeviceContext, from weft.gpu.host",
    **_all(
        "write torch_op, from weft.interop, and let PyTorch make the graph",
        "register Graph InferenceSession",
    ),
    "ComplexScalar": "write ComplexFloat32, from weft.complex",
    **_all("write time.perf_counter(), of Python's time", "perf_counter_ns monotonic time_function"),
    **_all("leave it out: Python is here", "Python PythonObject"),
}
"""What to write, by name."""

MODULES = {
    "gpu.id": "gpu",
    "gpu.globals": "gpu.warp",
    "gpu.intrinsics": "lang",
    "gpu.random": "random",
    "gpu.profiler": "benchmark",
    "gpu.primitives": "gpu",
    "gpu.host.compile": "compile",
    "gpu.host.info": "gpu.host",
    "gpu.tensor_ops": "layout.tensor_core",
    "layout.layout_tensor": "layout",
    "layout.layout": "layout",
    "layout.tile_layout": "layout",
    "layout.tile_tensor": "layout",
    "layout.int_tuple": "layout",
    "layout.tensor_builder": "memory",
    "layout.math": "layout",
    "layout.swizzle": "layout",
    "layout.runtime_layout": "layout",
    "layout.runtime_tuple": "layout",
    "sys.info": "sys",
    "sys.intrinsics": "lang",
    "sys.ffi": "ffi",
    "sys.param_env": "sys",
    "os.atomic": "atomic",
    "os": "atomic",
    "utils": "lang",
    "utils.numerics": "numerics",
    "utils.index": "lang",
    "utils.static_tuple": "lang",
    "buffer": "layout",
    "buffer.dimlist": "layout",
    "compiler.register": "torch",
    "runtime.asyncrt": "gpu.host",
    "max.driver": "tensor",
    "max.tensor": "tensor",
    "builtin.dtype": "dtype",
    "collections": "lang",
}
"""Which of weft's modules has what one of Mojo's has, where the names differ."""


_ARRAYS = (
    "pass an array of NumPy's, or make a buffer: ctx.enqueue_create_buffer(Float32, n), "
    "and .enqueue_fill(0.0); tiles have {} in weft.tile"
)
_OF_ARRAYS = {
    **{name: _ARRAYS.format(name) for name in ("zeros", "full")},
    **dict.fromkeys(("ones", "empty", "asarray"), _ARRAYS.partition(";")[0]),
    "array": "annotate Pointer[Float32] or LayoutTensor[Float32]; " + _ARRAYS.partition(";")[0],
    **dict.fromkeys(("RawKernel", "RawModule"), "write the kernel in Python, a function under @kernel"),
    "ElementwiseKernel": "write a function under @kernel, and launch it over=n",
    "ReductionKernel": "write reduce(...), from weft.algorithm",
}
"""What to write for functions of array libraries that a module is asked for."""


def advice_on_import(name: str) -> str:
    """What to write for a name that a module of weft's has not, or for a module; or nothing."""
    if name.startswith("weft."):
        module = MODULES.get(name.removeprefix("weft."))
        own = name.removeprefix("weft.").partition(".")[0]
        python = f"leave weft out: `{own}` is a module of Python's" if own in sys.stdlib_module_names else ""
        return f"write from weft.{module} import ..." if module else python
    found = MOJOS.get(name) or _OF_ARRAYS.get(name) or advice(name)
    return found or (f"leave it out: `{name}` is Python's own" if hasattr(builtins, name) else "")
