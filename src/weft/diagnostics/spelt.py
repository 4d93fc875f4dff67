"""What kernels, contexts, buffers, tensors, streams and graphs are asked for by names of other libraries.

A method of Mojo's, CuPy's, Numba's, PyCUDA's or PyTorch's is told weft's, and so is what is misspelt.
"""

from __future__ import annotations

import sys
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from weft.diagnostics.diagnostic import OBJECT, Diagnostic
from weft.diagnostics.errors import a_, elaborating, nearest
from weft.diagnostics.location import caller_location, is_internal
from weft.diagnostics.modules import UnknownAttribute
from weft.diagnostics.unfit import tell_of_methods

_INSIDE = {
    "BaseContext": "begin_capture capturing device end_capture enqueue_by_python guests handle instead keep"
    " keys leaks load_object native note_use notes_writes queue_of queued reaches recording refuse_waiting"
    " stream",
    "DeviceContext": "code_of descriptor_of launches_as_usual note_guest ready_launch",
    "Buffer": "allocation called instead key lend lend_to_peer note_written space user",
    "DeviceStream": "native record",
    "DeviceEvent": "capture native place",
    "Compiled": "definition bound",
    "Kernel": "at_level opt_level tuned",
}
"""By class, what it has for weft itself, and nobody is to complete."""


class _SpeltClass(type):
    """What says the same of a class's own line: ``Tensor.zeros``."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            if _is_asked_by_weft(name):
                raise AttributeError(
                    f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls
                )
            raise _unknown(cls, name)


class Spelt(metaclass=_SpeltClass):
    """What says, of a program's own line, what an attribute is called, and what a method takes."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__.startswith("weft."):
            tell_of_methods(cls)

    def __dir__(self) -> list[str]:
        inside = {name for kind in type(self).__mro__ for name in _INSIDE.get(kind.__name__, "").split()}
        return [name for name in super().__dir__() if name not in inside]

    if not TYPE_CHECKING:  # else every name would be one that it has

        def __getattr__(self, name: str) -> Any:
            if _is_asked_by_weft(name):
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
                )
            raise _unknown(self, name)


def _is_asked_by_weft(name: str) -> bool:
    """Whether no line of a program's own asks for the attribute, or Python does."""
    caller = sys._getframe(2).f_code.co_filename  # pyright: ignore[reportPrivateUsage]
    return name.startswith("_") or elaborating.now or is_internal(caller)


def _unknown(held: object, name: str) -> UnknownAttribute:
    from weft.diagnostics.wrote import resolved

    of_class = isinstance(held, type)
    kinds = [kind.__name__ for kind in (held if isinstance(held, type) else type(held)).__mro__]
    what = "the class" if of_class else a_(getattr(held, "called", kinds[0]))
    known = [n for n in dir(held) if n[0] != "_" and _has(held, n)]
    table = OF_CLASSES if of_class else INSTEAD
    texts = {n: text for kind in reversed(kinds) for n, text in table.get(kind, {}).items()}
    guess = name if name in texts else nearest(name, [*known, *texts])
    listed = f"it has {', '.join(known)}" if known else f"make one: {OBJECT}(...)"
    hint = texts.get(guess or "") or (f"write {OBJECT}.{guess}" if guess else listed)
    found = Diagnostic("unknown-attribute", f"`{OBJECT}` ({what}) has no attribute `{name}`", hints=(hint,))
    return UnknownAttribute(resolved(found, caller_location()))


def asked_of(name: str) -> str:
    """What to write for a method of contexts, where a module was asked for it."""
    waiting: list[type] = [Spelt]
    while waiting:
        kind = waiting.pop()
        if kind.__name__.endswith("Context") and name in vars(kind):
            return f"write ctx.{name}(...), with ctx = DeviceContext() of weft.gpu.host"
        waiting += kind.__subclasses__()
    return ""


def _has(held: object, name: str) -> bool:
    """Whether it is a method or a property with a text for users, of a class one of the class's own."""
    if isinstance(held, type):
        return isinstance(getattr(held, name), MethodType)
    found = getattr(type(held), name, None)
    return isinstance(found, (FunctionType, property)) and bool(found.__doc__)


def _all(text: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), text)


_TO_DEVICE = (
    f"write Tensor.from_numpy(array, {OBJECT}); or buffer = {OBJECT}.enqueue_create_buffer(Float32, n), "
    f"then {OBJECT}.enqueue_copy(dst=buffer, src=array)"
)
_TO_HOST = f"write with {OBJECT}.map_to_host() as host: and read host.numpy() there"
_CLOSE = f"write {OBJECT}.close(); without it, it is given back when nobody holds it"
_LATER = f"write a kernel, or weft.algorithm.reduce(function, {OBJECT}), or take host.numpy() of it"

_FILLED = "make it, then fill it: t = Tensor(Float32, shape); t.fill({})"

OF_CLASSES: dict[str, dict[str, str]] = {
    "Tensor": {
        **{
            f"{name}{like}": _FILLED.format(n)
            for name, n in (("zeros", 0), ("ones", 1))
            for like in ("", "_like")
        },
        **_all(_FILLED.format("value"), "full full_like"),
        **_all("write Tensor(Float32, shape)", "empty empty_like alloc allocate"),
        **_all(
            "take it from NumPy: Tensor.from_numpy(array)",
            "from_list from_array array arange linspace rand randn eye of from_host",
        ),
        **_all("write Tensor.from_dlpack(x)", "from_torch from_jax from_cupy as_tensor from_buffer"),
    },
    "BaseContext": {
        **_all('write DeviceContext(api="cpu")', "cpu host"),
        **_all("write DeviceContext(): the GPU if there is one", "gpu cuda default current get_default"),
        **_all("write DeviceContext.count()", "device_count number_of_devices num_devices get_device_count"),
    },
}
"""By class and name: what to write where the class itself is asked."""

INSTEAD: dict[str, dict[str, str]] = {
    "Kernel": {
        **_all(
            f"write ctx.enqueue_function({OBJECT}, ..., grid_dim=..., block_dim=...)",
            "launch run call execute enqueue apply grid prepared_call async_call warmup_and_run",
        ),
        **_all(f"write ctx.enqueue_function({OBJECT}, ..., over=n)", "forall map dispatch"),
        **_all(f"write {OBJECT}.bind(name=value)", "specialize partial instantiate configure with_params"),
        **_all(
            f"write ctx.compile_function({OBJECT})",
            "compile warmup build attributes num_regs local_size_bytes shared_size_bytes get_attributes "
            "max_threads_per_block occupancy",
        ),
        **_all(
            f'write compile_info({OBJECT}, emission_kind="asm"), from weft.compile, or `weft inspect`',
            "ptx asm sass ir llvm cubin source inspect_asm inspect_llvm inspect_sass inspect_types code",
        ),
        **_all(f"write {OBJECT}.function", "py_func fn func python_function"),
    },
    "BaseContext": {
        **_all(
            _TO_DEVICE,
            "to_device to_gpu cuda array asarray device_put copy_to_device upload from_numpy from_host "
            "as_tensor",
        ),
        **_all(
            f"write {OBJECT}.enqueue_create_buffer(Float32, n)",
            "create_buffer alloc malloc mem_alloc allocate empty zeros device_array create_device_buffer "
            "new_buffer enqueue_create_device_buffer buffer device_malloc",
        ),
        **_all(
            f"write {OBJECT}.enqueue_create_host_buffer(Float32, n)",
            "pinned_array pinned create_host_buffer mapped_array malloc_host alloc_host host_alloc",
        ),
        **_all(
            f"write {OBJECT}.enqueue_copy(dst=..., src=...)",
            "copy memcpy memcpy_htod memcpy_dtoh memcpy_dtod copy_to_host copyto copy_from to_host "
            "enqueue_copy_to_device enqueue_copy_from_device copy_to_device_sync copy_from_device_sync",
        ),
        **_all(
            f"write {OBJECT}.enqueue_function(kernel, ..., grid_dim=..., block_dim=...)",
            "launch run call execute enqueue submit launch_kernel enqueue_kernel enqueue_nd_range_kernel "
            "enqueue_function_checked enqueue_function_unchecked enqueue_function_experimental",
        ),
        **_all(
            f"write {OBJECT}.synchronize()",
            "sync wait wait_all finish join flush barrier device_synchronize",
        ),
        **_all(f"write {OBJECT}.compile_function(kernel)", "compile build load_function get_function"),
        **_all(
            f"leave stream= out, or write {OBJECT}.create_stream() for another one",
            "default_stream current_stream get_stream null_stream",
        ),
        **_all(f"write {OBJECT}.record_event()", "event create_event record Event"),
        **_all(f"write {OBJECT}.memory_info()", "mem_info mem_get_info get_memory_info memory free_memory"),
        **_all(
            f"write {OBJECT}.info",
            "attributes properties get_attribute get_device_properties compute_capability",
        ),
        **_all(f"write {OBJECT}.execution_time(...)", "time timeit elapsed_time time_function benchmark"),
        **_all(
            "leave it out: each call names its context", "push pop use set_current set_as_current current"
        ),
        **_all(f"write {OBJECT}.enqueue_fill(buffer, value)", "fill memset memset_d8 enqueue_memset_sync"),
        **_all(f"write {OBJECT}.close()", "free release destroy dispose shutdown detach"),
    },
    "HostBuffer": _all(
        f"write {OBJECT}.numpy()",
        "to_numpy asnumpy array get cpu to_host copy_to_host data map_to_host tolist",
    ),
    "DeviceBuffer": {
        **_all(
            _TO_HOST,
            "to_numpy numpy asnumpy get cpu to_host copy_to_host get_value tolist item host data download",
        ),
    },
    "Buffer": {
        **_all(
            f"write {OBJECT}.enqueue_copy_from(array)",
            "set set_value copy_from copy_from_host copy_to_device copy_ write upload load from_numpy",
        ),
        **_all(
            f"write {OBJECT}.enqueue_copy_to(other)",
            "copy_to copyto copy clone enqueue_copy reassign_ownership_to",
        ),
        **_all(
            f"write len({OBJECT}), of the bytes {OBJECT}.nbytes; a shape has {OBJECT}.tensor(layout)",
            "size length count numel shape ndim num_elements itemsize",
        ),
        **_all(
            f"write {OBJECT}.tensor(Layout.row_major(m, n))",
            "reshape view as_tensor layout_tensor to_layout_tensor ravel flatten",
        ),
        **_all(f"write {OBJECT}.enqueue_fill(value)", "fill fill_ zero zero_ memset clear enqueue_memset"),
        **_all(f"write {OBJECT}.unsafe_ptr()", "ptr data_ptr pointer gpudata handle"),
        **_all(f"write {OBJECT}.context", "device ctx"),
        **_all(_CLOSE, "free release delete destroy"),
        **_all(_LATER, "sum mean max min prod argmax argmin any all dot cumsum sort"),
        **_all("make a buffer of the other type, and write a kernel that converts", "astype type float half"),
    },
    "Tensor": {
        **_all(f"write {OBJECT}.numpy()", "to_numpy asnumpy get cpu to_host copy_to_host tolist data item"),
        **_all(f"write {OBJECT}.rank", "ndim dim"),
        **_all(f"write {OBJECT}.to(device)", "cuda to_device copy_to_device gpu move"),
        **_all(f"write {OBJECT}.size", "numel length count num_elements"),
        **_all(f"write {OBJECT}.fill(value)", "fill_ zero_ zero memset"),
        **_all("write Tensor.from_dlpack(x)", "from_torch from_jax from_cupy as_tensor"),
        **_all(f"write {OBJECT}.storage.unsafe_ptr()", "ptr data_ptr unsafe_ptr"),
        **_all(
            f"write {OBJECT}.numpy().reshape(...), or give {OBJECT}.storage.tensor(layout)", "reshape view"
        ),
        **_all(f"write {OBJECT}.close()", "free release"),
        **_all(
            f"take {OBJECT}.numpy() of it, or write a kernel", "sum mean max min prod dot T transpose astype"
        ),
    },
    "Bench": {
        **_all(f"write {OBJECT}.bench_function(function)", "run measure time timeit benchmark add bench"),
        **_all(f"write print({OBJECT})", "show table report results dump_report print"),
    },
    "DeviceStream": {
        **_all(f"write {OBJECT}.synchronize()", "sync wait finish join"),
        **_all(f"write {OBJECT}.record_event()", "event create_event record"),
        **_all(f"write {OBJECT}.enqueue_wait_for(event)", "wait_event wait_for"),
        **_all("leave it out, and give stream= to each call", "use __enter__"),
        **_all(
            f"write ctx.enqueue_function(kernel, ..., stream={OBJECT})",
            "enqueue_function enqueue launch run submit enqueue_kernel",
        ),
        **_all(
            f"write ctx.enqueue_copy(dst=..., src=..., stream={OBJECT})",
            "enqueue_copy copy memcpy enqueue_memcpy memcpy_async enqueue_copy_from enqueue_copy_to",
        ),
        **_all(
            f"write ctx.enqueue_fill(buffer, value, stream={OBJECT})",
            "enqueue_fill fill memset memset_async enqueue_memset",
        ),
    },
    "DeviceEvent": {
        **_all(f"write {OBJECT}.synchronize()", "sync wait"),
        **_all(f"write {OBJECT}.done", "query is_done completed complete"),
        **_all(
            f"write later.seconds_since({OBJECT})",
            "elapsed_time time elapsed get_elapsed_time time_till time_since",
        ),
    },
    "GraphCapture": _all(
        "write with ctx.capture() as graph: and the work in it; then graph.replay()",
        "replay launch run begin end begin_capture end_capture start stop synchronize",
    ),
    "DeviceGraph": _all(f"write {OBJECT}.replay()", "launch run execute upload instantiate"),
}
