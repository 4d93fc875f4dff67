"""What contexts, buffers, tensors, streams, events and graphs are asked for by names of other libraries."""

from __future__ import annotations

from weft.diagnostics.diagnostic import OBJECT
from weft.diagnostics.instead import alike

_TO_DEVICE = (
    f"write Tensor.from_numpy(array, {OBJECT}); or buffer = {OBJECT}.enqueue_create_buffer(Float32, n), "
    f"then {OBJECT}.enqueue_copy(dst=buffer, src=array)"
)
_TO_HOST = f"write with {OBJECT}.map_to_host() as host: and read host.numpy() there"
_CLOSE = f"write {OBJECT}.close(); without it, it is given back when nobody holds it"
_LATER = f"write a kernel, or weft.algorithm.reduce(function, {OBJECT}), or take host.numpy() of it"

_FILLED = "make it, then fill it: t = Tensor(Float32, shape); t.fill({})"

OF_CONTEXTS = {
    **alike(
        _TO_DEVICE,
        "to_device to_gpu cuda array asarray device_put copy_to_device upload from_numpy from_host as_tensor",
    ),
    **alike(
        f"write {OBJECT}.enqueue_create_buffer(Float32, n)",
        "create_buffer alloc malloc mem_alloc allocate empty zeros device_array create_device_buffer "
        "new_buffer enqueue_create_device_buffer buffer device_malloc",
    ),
    **alike(
        f"write {OBJECT}.enqueue_create_host_buffer(Float32, n)",
        "pinned_array pinned create_host_buffer mapped_array malloc_host alloc_host host_alloc",
    ),
    **alike(
        f"write {OBJECT}.enqueue_copy(dst=..., src=...)",
        "copy memcpy memcpy_htod memcpy_dtoh memcpy_dtod copy_to_host copyto copy_from to_host "
        "enqueue_copy_to_device enqueue_copy_from_device copy_to_device_sync copy_from_device_sync",
    ),
    **alike(
        f"write {OBJECT}.enqueue_function(kernel, ..., grid_dim=..., block_dim=...)",
        "launch run call execute enqueue submit launch_kernel enqueue_kernel enqueue_nd_range_kernel "
        "enqueue_function_checked enqueue_function_unchecked enqueue_function_experimental",
    ),
    **alike(
        f"write {OBJECT}.synchronize()",
        "sync wait wait_all finish join flush barrier device_synchronize",
    ),
    **alike(f"write {OBJECT}.compile_function(kernel)", "compile build load_function get_function"),
    **alike(
        f"leave stream= out, or write {OBJECT}.create_stream() for another one",
        "default_stream current_stream get_stream null_stream",
    ),
    **alike(f"write {OBJECT}.record_event()", "event create_event record Event"),
    **alike(f"write {OBJECT}.memory_info()", "mem_info mem_get_info get_memory_info memory free_memory"),
    **alike(
        f"write {OBJECT}.info",
        "attributes properties get_attribute get_device_properties compute_capability",
    ),
    **alike(f"write {OBJECT}.execution_time(...)", "time timeit elapsed_time time_function benchmark"),
    **alike("leave it out: each call names its context", "push pop use set_current set_as_current current"),
    **alike(f"write {OBJECT}.enqueue_fill(buffer, value)", "fill memset memset_d8 enqueue_memset_sync"),
    **alike(f"write {OBJECT}.close()", "free release destroy dispose shutdown detach"),
}

OF_CONTEXTS_THEMSELVES = {
    **alike('write DeviceContext(api="cpu")', "cpu host"),
    **alike("write DeviceContext(): the GPU if there is one", "gpu cuda default current get_default"),
    **alike("write DeviceContext.count()", "device_count number_of_devices num_devices get_device_count"),
}

OF_BUFFERS = {
    **alike(
        f"write {OBJECT}.enqueue_copy_from(array)",
        "set set_value copy_from copy_from_host copy_to_device copy_ write upload load from_numpy",
    ),
    **alike(
        f"write {OBJECT}.enqueue_copy_to(other)",
        "copy_to copyto copy clone enqueue_copy reassign_ownership_to",
    ),
    **alike(
        f"write len({OBJECT}), of the bytes {OBJECT}.nbytes; a shape has {OBJECT}.tensor(layout)",
        "size length count numel shape ndim num_elements itemsize",
    ),
    **alike(
        f"write {OBJECT}.tensor(Layout.row_major(m, n))",
        "reshape view as_tensor layout_tensor to_layout_tensor ravel flatten",
    ),
    **alike(f"write {OBJECT}.enqueue_fill(value)", "fill fill_ zero zero_ memset clear enqueue_memset"),
    **alike(f"write {OBJECT}.unsafe_ptr()", "ptr data_ptr pointer gpudata handle"),
    **alike(f"write {OBJECT}.context", "device ctx"),
    **alike(_CLOSE, "free release delete destroy"),
    **alike(_LATER, "sum mean max min prod argmax argmin any all dot cumsum sort"),
    **alike("make a buffer of the other type, and write a kernel that converts", "astype type float half"),
}

OF_HOST_BUFFERS = alike(
    f"write {OBJECT}.numpy()",
    "to_numpy asnumpy array get cpu to_host copy_to_host data map_to_host tolist",
)

OF_DEVICE_BUFFERS = {
    **alike(
        _TO_HOST,
        "to_numpy numpy asnumpy get cpu to_host copy_to_host get_value tolist item host data download",
    ),
}

OF_TENSORS = {
    **alike(f"write {OBJECT}.numpy()", "to_numpy asnumpy get cpu to_host copy_to_host tolist data item"),
    **alike(f"write {OBJECT}.rank", "ndim dim"),
    **alike(f"write {OBJECT}.to(device)", "cuda to_device copy_to_device gpu move"),
    **alike(f"write {OBJECT}.size", "numel length count num_elements"),
    **alike(f"write {OBJECT}.fill(value)", "fill_ zero_ zero memset"),
    **alike("write Tensor.from_dlpack(x)", "from_torch from_jax from_cupy as_tensor"),
    **alike(f"write {OBJECT}.storage.unsafe_ptr()", "ptr data_ptr unsafe_ptr"),
    **alike(f"write {OBJECT}.numpy().reshape(...), or give {OBJECT}.storage.tensor(layout)", "reshape view"),
    **alike(f"write {OBJECT}.close()", "free release"),
    **alike(
        f"take {OBJECT}.numpy() of it, or write a kernel", "sum mean max min prod dot T transpose astype"
    ),
}

OF_TENSORS_THEMSELVES = {
    **{
        f"{name}{like}": _FILLED.format(n)
        for name, n in (("zeros", 0), ("ones", 1))
        for like in ("", "_like")
    },
    **alike(_FILLED.format("value"), "full full_like"),
    **alike("write Tensor(Float32, shape)", "empty empty_like alloc allocate"),
    **alike(
        "take it from NumPy: Tensor.from_numpy(array)",
        "from_list from_array array arange linspace rand randn eye of from_host",
    ),
    **alike("write Tensor.from_dlpack(x)", "from_torch from_jax from_cupy as_tensor from_buffer"),
}

OF_STREAMS = {
    **alike(f"write {OBJECT}.synchronize()", "sync wait finish join"),
    **alike(f"write {OBJECT}.record_event()", "event create_event record"),
    **alike(f"write {OBJECT}.enqueue_wait_for(event)", "wait_event wait_for"),
    **alike("leave it out, and give stream= to each call", "use __enter__"),
    **alike(
        f"write ctx.enqueue_function(kernel, ..., stream={OBJECT})",
        "enqueue_function enqueue launch run submit enqueue_kernel",
    ),
    **alike(
        f"write ctx.enqueue_copy(dst=..., src=..., stream={OBJECT})",
        "enqueue_copy copy memcpy enqueue_memcpy memcpy_async enqueue_copy_from enqueue_copy_to",
    ),
    **alike(
        f"write ctx.enqueue_fill(buffer, value, stream={OBJECT})",
        "enqueue_fill fill memset memset_async enqueue_memset",
    ),
}

OF_EVENTS = {
    **alike(f"write {OBJECT}.synchronize()", "sync wait"),
    **alike(f"write {OBJECT}.done", "query is_done completed complete"),
    **alike(
        f"write later.seconds_since({OBJECT})",
        "elapsed_time time elapsed get_elapsed_time time_till time_since",
    ),
}

OF_CAPTURES = alike(
    "write with ctx.capture() as graph: and the work in it; then graph.replay()",
    "replay launch run begin end begin_capture end_capture start stop synchronize",
)

OF_GRAPHS = alike(f"write {OBJECT}.replay()", "launch run execute upload instantiate")
