"""Native launches: what joins the stub, its tables and a context's kernels.

A context's ``enqueue_function`` begins as the method in Python. After some launches the stub stands
before it and makes those that it has seen before; see ``launch/native/stub.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from weft.lang.structs import is_struct, struct_fields
from weft.launch.native.asks import ask_all
from weft.launch.native.code import prepared
from weft.launch.native.launcher import Known, Launcher
from weft.launch.native.objects import supported
from weft.launch.native.reads import native_reads
from weft.layout.tma_async import TMATensorTile
from weft.runtime import unwaited
from weft.runtime.buffers import DeviceBuffer
from weft.runtime.context import BaseContext

if TYPE_CHECKING:
    from weft.launch.context import DeviceContext


def install(context: DeviceContext) -> Launcher | None:
    """What launches natively for a context; None where nothing can, or the code is not here yet."""
    native, code = context.stream.native, prepared()
    if native is None or code is None or not supported():
        return None

    def slow(*args: Any, **named: Any) -> None:
        if not args or getattr(args[0], "tuned", False) or isinstance(args[0], partial):  # not known so
            type(context).enqueue_function(context, *args, **named)
            return
        names, known = launcher.names(), launcher.is_known()
        made = context.enqueue_by_python(*args, **named)
        if known:
            return
        own = all(_is_own(context, value) for value in (*args[1:], *named.values()))
        if not (own and made.repeatable and (names or ()) == tuple(named)):
            return
        asked, tiles = ask_all(context.info, args, named, made), context.tiles_of(made.launch)
        helds, stream = native_reads(made.reads), made.stream.native
        if asked is None or tiles is None or helds is None or stream is None:
            return
        (asks, exchange), (function, config) = asked, stream.handles(made.launch)
        handles = function, stream.number
        where = made.apart, exchange, config, helds, tiles
        launcher.learn(Known(args[0], names, len(args), asks, made.launch, handles, *where))
        stream.add_launcher(launcher)

    failed = native.launch_failed
    launcher = Launcher((code.stub, code.keep), native.launch_addresses(), slow, failed, native.number)
    native.provide(code.pool)
    native.add_launcher(launcher)
    return launcher


def native_methods(context: DeviceContext, launcher: Launcher) -> dict[str, Callable[..., None]]:
    """What is to stand before methods of a context: launches, and waits that are not the driver's."""
    methods, native, code = {"enqueue_function": launcher.make_builtin()}, context.stream.native, prepared()
    empties = None if native is None else native.empties()
    ours = type(context).synchronize is BaseContext.synchronize  # or a subclass wants to see all
    if code is not None and empties is not None and ours:
        others = context.guests, unwaited.written, unwaited.arrays
        methods["synchronize"] = launcher.make_wait(code.wait, context.synchronize, (*others, *empties))
    return methods


def _is_own(context: DeviceContext, value: Any) -> bool:
    """Whether an argument is no buffer of a peer, whose memory Python keeps while a kernel uses it."""
    kind = cast("type[Any]", type(value))
    if is_struct(kind):
        return all(_is_own(context, getattr(value, name)) for name in struct_fields(kind))
    if kind is TMATensorTile:
        return _is_own(context, value.tensor)
    storage = getattr(value, "storage", value)
    return not isinstance(storage, DeviceBuffer) or storage.context is context
