"""PTX to functions that can be launched."""

from __future__ import annotations

import ctypes
import functools
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from weft.abi.artifact import Artifact, KernelInfo
from weft.diagnostics import DeviceError, caller_location
from weft.diagnostics.timed import timed
from weft.runtime.cuda.errors import CudaFailure, version_text
from weft.runtime.driver import Kept, Residency, anew

if TYPE_CHECKING:
    from weft.runtime.cuda.context import Primary

T = TypeVar("T")
_LOG_BYTES = 1 << 14
_UNSUPPORTED_PTX = 222
_WITHOUT_ASKING = 48 << 10
"""Shared memory that a block may have without asking for it."""

_WHOLE = (b"setmaxnreg", b"wgmma.")
"""What the driver's linker assembles for the worse, as part of a program whose other parts it knows not: it
ignores the one, and each of the others waits for the one before. Such modules are loaded as text, for which
the driver has a cache of its own."""

# PTX version: (CUDA version of the first driver that takes it, number of that driver)
_PTX: dict[int, tuple[int, str]] = {
    74: (11040, "470"),
    75: (11050, "495"),
    76: (11060, "510"),
    77: (11070, "515"),
    78: (11080, "520"),
    80: (12000, "525"),
    81: (12010, "530"),
    82: (12020, "535"),
    83: (12030, "545"),
    84: (12040, "550"),
    85: (12050, "555"),
    86: (12070, "565"),
    87: (12080, "570"),
    88: (12090, "575"),
    90: (13000, "580"),
    91: (13010, "590"),
}


def ptx_of_driver(version: int) -> int:
    """The newest PTX version that a driver is known to take, as 78 for 7.8."""
    return max((ptx for ptx, (needed, _) in _PTX.items() if needed <= version), default=73)


class _Module:
    """What the driver has loaded, for as long as any of its functions is there."""

    def __init__(self, primary: Primary, handle: Any) -> None:
        self.handle = handle
        weakref.finalize(self, primary.memory.release, "module", handle).atexit = False


class CudaFunction:
    """A kernel loaded on a GPU."""

    def __init__(self, primary: Primary, kernel: KernelInfo, module: _Module) -> None:
        self.kernel = kernel
        self.primary = primary
        self._module = module
        self.handle = handle = primary.call(
            primary.cu.cuModuleGetFunction, module.handle, kernel.entry.encode()
        )
        self.count: int = len(kernel.signature.parameters)
        attributes = primary.cu.CUfunction_attribute

        def attribute(name: str) -> int:
            return primary.call(primary.cu.cuFuncGetAttribute, getattr(attributes, name), handle)

        self.max_threads_per_block: int = attribute("CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK")
        self.registers: int = attribute("CU_FUNC_ATTRIBUTE_NUM_REGS")
        self.shared_bytes: int = attribute("CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES")
        self.local_bytes: int = attribute("CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES")
        self._dynamic = _WITHOUT_ASKING - self.shared_bytes

    def residency(self, threads: int, shared: int) -> Residency:
        """What a block takes of a multiprocessor."""
        primary, cu = self.primary, self.primary.cu
        self.allow_shared(shared)
        fit = int(primary.call(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor, self.handle, threads, shared))
        limit = cu.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR
        most = int(primary.call(cu.cuDeviceGetAttribute, limit, primary.ordinal))
        taken = self.shared_bytes + shared
        return Residency(self.registers, self.local_bytes, taken, fit, fit * threads / most)

    def allow_shared(self, dynamic: int) -> None:
        """Ask for so much dynamic shared memory, where it is more than a kernel has by default."""
        if dynamic > self._dynamic:
            cu = self.primary.cu
            attribute = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.primary.call(cu.cuFuncSetAttribute, self.handle, attribute, dynamic)
            self._dynamic = dynamic


def load_functions(primary: Primary, artifact: Artifact, kept: Kept = anew) -> tuple[CudaFunction, ...]:
    """Have the driver assemble PTX, or take what it once made of it, and load that.

    Raises:
        DeviceError: the driver is too old for this PTX, or cannot assemble it; the message holds
            what it says.
    """
    if artifact.format != "ptx":
        raise ValueError(f"NVIDIA's driver takes PTX, not {artifact.format}")
    primary.enter()
    _check_version(primary, artifact, certain=False)
    if any(word in artifact.code for word in _WHOLE):
        handle = _with_log(primary, artifact, lambda options: _loaded(primary, artifact, options))
    else:
        level = "" if artifact.opt_level is None else f"-O{artifact.opt_level}"
        info = primary.info
        key = [artifact.code, info.name, info.target, str(primary.cuda.version), _build(), level]
        code = kept(
            key, lambda: _with_log(primary, artifact, lambda options: _assembled(primary, artifact, options))
        )
        handle = primary.call(primary.cu.cuModuleLoadDataEx, code, 0, [], [])
    module = _Module(primary, handle)
    if any(kernel.sites for kernel in artifact.kernels):
        primary.console().connect(module.handle, artifact.kernels)
    return tuple([CudaFunction(primary, kernel, module) for kernel in artifact.kernels])


@functools.cache
def _build() -> str:
    """Which build of the driver this is, where the system tells: two of a version may assemble otherwise."""
    try:
        return Path("/proc/driver/nvidia/version").read_text(errors="replace")
    except OSError:
        return ""


def _with_log(primary: Primary, artifact: Artifact, do: Callable[[dict[Any, Any]], T]) -> T:
    """What ``do`` gives, which takes options; a refusal has what the driver wrote to the log."""
    option, log = primary.cu.CUjit_option, bytearray(_LOG_BYTES)
    options: dict[Any, Any] = {
        option.CU_JIT_ERROR_LOG_BUFFER: log,
        option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
    }
    if artifact.opt_level is not None:
        options[option.CU_JIT_OPTIMIZATION_LEVEL] = artifact.opt_level
    try:
        return do(options)
    except CudaFailure as failure:
        if failure.status == _UNSUPPORTED_PTX:
            _check_version(primary, artifact, certain=True)
        said = bytes(log).split(b"\0")[0].decode(errors="replace").strip()
        if not said:
            raise primary.error(failure) from None
        raise _refused(primary, artifact, failure, said) from None


def _loaded(primary: Primary, artifact: Artifact, options: dict[Any, Any]) -> Any:
    text = artifact.code + b"\0"
    return primary.cuda(
        primary.cu.cuModuleLoadDataEx, text, len(options), list(options), list(options.values())
    )


@timed("assemble")
def _assembled(primary: Primary, artifact: Artifact, options: dict[Any, Any]) -> bytes:
    cu = primary.cu
    linker = primary.call(cu.cuLinkCreate, len(options), list(options), list(options.values()))
    text, name = artifact.code + b"\0", artifact.kernels[0].entry.encode()
    kind = cu.CUjitInputType.CU_JIT_INPUT_PTX
    try:
        primary.cuda(cu.cuLinkAddData, linker, kind, text, len(text), name, 0, [], [])
        address, size = primary.cuda(cu.cuLinkComplete, linker)
        return ctypes.string_at(address, size)
    finally:
        primary.cuda(cu.cuLinkDestroy, linker)


def _kernels(artifact: Artifact) -> str:
    names = [repr(kernel.signature.name) for kernel in artifact.kernels]
    return f"{'kernels' if len(names) > 1 else 'kernel'} {', '.join(names)}"


def _refused(primary: Primary, artifact: Artifact, failure: CudaFailure, log: str) -> DeviceError:
    name = artifact.kernels[0].signature.name
    return DeviceError.at(
        "ptx-refused",
        f"the NVIDIA driver cannot assemble {_kernels(artifact)} for {primary.info.name} ({failure.name})",
        caller_location(),
        notes=tuple(f"it says: {line}" for line in log.splitlines()),
        hints=(f"`compile_info({name}, target={artifact.target!r})` shows the PTX",),
    )


def _check_version(primary: Primary, artifact: Artifact, *, certain: bool) -> None:
    found = re.search(rb"^\s*\.version\s+(\d+)\.(\d+)", artifact.code, re.MULTILINE)
    ptx = int(found[1]) * 10 + int(found[2]) if found else 0
    version = primary.cuda.version
    newest = ptx_of_driver(version)
    if not certain and (ptx <= newest or version > max(needed for needed, _ in _PTX.values())):
        return
    needed = next((line for number, line in sorted(_PTX.items()) if number >= ptx), None)
    hint = "install a newer NVIDIA driver"
    if needed is not None:
        hint += f": PTX {ptx / 10:.1f} came with CUDA {version_text(needed[0])}, driver {needed[1]}"
    raise DeviceError.here(
        "driver-too-old",
        f"{_kernels(artifact)} needs a driver that takes PTX {ptx / 10:.1f}; "
        f"the one here is of CUDA {version_text(version)} and takes PTX up to {newest / 10:.1f}",
        notes=[f"{primary.info.name} was compiled for as {artifact.target}"],
        hint=hint,
    )
