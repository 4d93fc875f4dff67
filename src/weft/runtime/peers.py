"""Peer access: kernels of one context that use the memory of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diagnostics import DeviceError, LaunchError, a_
from weft.runtime import drivers
from weft.runtime.driver import Device

if TYPE_CHECKING:
    from weft.runtime.context import BaseContext


class PeerAccess:
    """The part of a context that is about the memory of others."""

    _shares = False
    """Whether kernels may use memory of other contexts of this device."""

    if TYPE_CHECKING:

        @property
        def api(self) -> str:
            """The API's name."""
            ...

        @property
        def id(self) -> int:
            """The device's number."""
            ...

        @property
        def handle(self) -> Device:
            """The driver's handle of the device."""
            ...

        @property
        def device(self) -> Device:
            """The same, of an open context."""
            ...

    def can_access(self, peer: BaseContext) -> bool:
        """Whether kernels of this context can be allowed to use the memory of another context.

        They can where both are of one device, or of two GPUs that are linked.

        Raises:
            LaunchError: this is no context.
        """
        return _can_reach(self, _as_context(peer, "can_access"))

    def enable_peer_access(self, peer: BaseContext) -> None:
        """Let kernels of this context take buffers of another context as arguments.

        It holds for all contexts of both devices, in this direction, and for memory that is allocated
        later too; for another context of the same device it holds for this context. Nothing orders the
        kernels of two contexts: say what waits by ``enqueue_wait_for``. Copies need no peer access.

        Raises:
            DeviceError: the devices are not linked.

        Example:
            >>> from weft.gpu.host import DeviceContext
            >>> one, two = DeviceContext(api="cpu"), DeviceContext(api="cpu")
            >>> one.can_access(two)
            True
            >>> one.enable_peer_access(two)
        """
        other = _as_context(peer, "enable_peer_access")
        if not _can_reach(self, other):
            raise _no_access(repr(self), repr(other))
        if _are_one(self, other):
            self._shares = True
        else:
            self.device.enable_access(other.device)
            if not self.reaches(other):  # the driver allows a limited number
                raise _no_access(repr(self), repr(other))

    @staticmethod
    def enable_all_peer_access(*, api: str | None = None) -> None:
        """``enable_peer_access`` for each pair of devices of an API, in both directions.

        Args:
            api: The API, by default that of ``DeviceContext()``.

        Raises:
            DeviceError: two of the devices are not linked.
        """
        api = drivers.default_api() if api is None else api
        count = drivers.device_count(api)
        if count < 2:
            return
        driver = drivers.find_driver(api)
        devices = [driver.open(number) for number in range(count)]
        for one, device in enumerate(devices):
            for two, peer in enumerate(devices):
                if one != two:
                    if not device.can_access(peer):
                        raise _no_access(f"{api}:{one}, {device.info.name}", f"{api}:{two}, {peer.info.name}")
                    device.enable_access(peer)

    def reaches(self, other: PeerAccess) -> bool:
        """Whether kernels here may use memory of another context now."""
        if _are_one(self, other):
            return self._shares
        return self.api == other.api and self.handle.accesses(other.handle)


def _are_one(context: PeerAccess, other: PeerAccess) -> bool:
    return (context.api, context.id) == (other.api, other.id)


def _can_reach(context: PeerAccess, other: PeerAccess) -> bool:
    if _are_one(context, other):
        return True
    return context.api == other.api and context.handle.can_access(other.handle)


def _as_context(peer: object, call: str) -> PeerAccess:
    if isinstance(peer, PeerAccess):
        return peer
    raise LaunchError.here(
        "peer-type",
        f"{call} takes another DeviceContext, not {a_(type(peer).__name__)}",
        f"write ctx.{call}(DeviceContext({peer}))" if type(peer) is int else "make a DeviceContext",
        at=("peer", 0),
    )


def _no_access(context: str, peer: str) -> DeviceError:
    return DeviceError.here(
        "peer-access",
        f"kernels on {context} cannot use the memory of {peer}",
        notes=["GPUs must be linked for that, by NVLink or by PCIe; `ctx.can_access(other)` tells"],
        hint="copy: `ctx.enqueue_copy(dst, src)` goes between any two devices",
    )


def other_owner(context: BaseContext, owner: BaseContext, what: str) -> LaunchError:
    """The error for memory of another context where there is no peer access."""
    hints = ["copy it: ctx.enqueue_copy(dst=own, src=theirs)"]
    if _can_reach(context, owner):
        allow = "write ctx.enable_peer_access(other) once, and ctx.enqueue_wait_for(other) for order"
        hints.insert(0, allow)
    return LaunchError.here(
        "buffer-context",
        f"the {what} belongs to another DeviceContext of the same device"
        if _are_one(context, owner)
        else f"the {what} belongs to another context: that is {owner!r}, this is {context!r}",
        hint=hints,
    )
