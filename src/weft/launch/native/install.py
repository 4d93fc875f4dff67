"""Native launches: what joins the compiler's stub, the runtime's tables and a context's kernels.

A context's ``enqueue_function`` begins as the method in Python. After some launches the stub stands
before it and makes those that it has seen before; see ``launch/native/stub.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from weft.lang.structs import is_struct, struct_fields
from weft.launch.native.asks import Launched, ask_all
from weft.launch.native.code import stub_code
from weft.launch.native.reads import native_reads
from weft.runtime.buffers import DeviceBuffer
from weft.runtime.cuda.attributes import launch_config
from weft.runtime.cuda.device import CudaDevice
from weft.runtime.cuda.module import CudaFunction
from weft.runtime.cuda.stream import CudaStream
from weft.runtime.driver import DeviceInfo
from weft.runtime.native_launch import Known, Launcher
from weft.runtime.stub_entries import supported

if TYPE_CHECKING:
    from weft.launch.context import DeviceContext

__all__ = ["AFTER", "install"]

AFTER = 8
"""Launches by Python before the stub is made, which takes some milliseconds once per process."""


def install(context: DeviceContext) -> Launcher | None:
    """What launches natively for a context; None where nothing can."""
    device, stream = context.device, context.stream
    if not (isinstance(device, CudaDevice) and isinstance(stream, CudaStream) and supported()):
        return None
    primary = device.primary

    def slow(*args: Any, **named: Any) -> None:
        names = launcher.names()
        made = context.enqueue_by_python(*args, **named)
        own = all(_is_own(context, value) for value in (*args[1:], *named.values()))
        if own and made.repeatable and (names or ()) == tuple(named):
            _learn(context.info, launcher, names, args, named, made)

    def failed(status: int) -> None:
        raise primary.status_error("cuLaunchKernel", status)

    launcher = Launcher(stub_code(), primary.launch_addresses(), slow, failed, int(stream.handle))
    stream.add_launcher(launcher)
    return launcher


def _is_own(context: DeviceContext, value: Any) -> bool:
    """Whether an argument is no buffer of a peer, whose memory Python keeps while a kernel uses it."""
    kind = cast("type[Any]", type(value))
    if is_struct(kind):
        return all(_is_own(context, getattr(value, name)) for name in struct_fields(kind))
    storage = getattr(value, "storage", value)
    return not isinstance(storage, DeviceBuffer) or storage.context is context


def _learn(
    info: DeviceInfo,
    launcher: Launcher,
    names: tuple[str, ...] | None,
    args: Sequence[Any],
    named: Mapping[str, Any],
    made: Launched,
) -> None:
    asked = ask_all(info, args, named, made)
    if asked is None:
        return
    asks, exchange = asked
    function, stream = made.function, made.stream
    helds = native_reads(made.reads)
    if helds is None:
        return
    assert isinstance(function, CudaFunction)
    assert isinstance(stream, CudaStream)
    handles = (int(function.handle), int(stream.handle))
    config = None
    if made.attributes is not None:
        place = made.grid, made.block, made.shared
        config = launch_config(function.primary, function, stream.handle, *place, made.attributes)
    launcher.learn(
        Known(
            args[0],
            names,
            len(args),
            asks,
            made.packed,
            handles,
            (*made.grid, *made.block),
            made.shared,
            function,
            made.apart,
            exchange,
            config,
            helds,
        )
    )
    stream.add_launcher(launcher)
