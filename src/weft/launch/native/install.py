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
    native = context.stream.native
    if native is None or not supported():
        return None

    def slow(*args: Any, **named: Any) -> None:
        names = launcher.names()
        made = context.enqueue_by_python(*args, **named)
        own = all(_is_own(context, value) for value in (*args[1:], *named.values()))
        if own and made.repeatable and (names or ()) == tuple(named):
            _learn(context.info, launcher, names, args, named, made)

    code, addresses = stub_code(native.elsewhere), native.launch_addresses()
    launcher = Launcher(code, addresses, slow, native.launch_failed, native.number)
    native.add_launcher(launcher)
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
    launch, native = made.launch, made.stream.native
    helds = native_reads(made.reads)
    if helds is None or native is None:
        return
    function, config = native.handles(launch)
    launcher.learn(
        Known(
            args[0],
            names,
            len(args),
            asks,
            launch.arguments,
            (function, native.number),
            (*launch.grid, *launch.block),
            launch.shared_bytes,
            launch.function,
            made.apart,
            exchange,
            config,
            helds,
        )
    )
    native.add_launcher(launcher)
