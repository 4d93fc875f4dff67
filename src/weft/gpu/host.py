"""The host's side: a context is a device with a stream of work, which makes buffers and launches kernels.

What is enqueued runs in order, beside the host; ``ctx.synchronize()`` waits for all of it.
"""

from weft.diagnostics.modules import present
from weft.launch.context import CompiledKernel, DeviceContext
from weft.runtime.buffers import DeviceBuffer
from weft.runtime.dim import Dim
from weft.runtime.graphs import DeviceGraph
from weft.runtime.host_buffer import HostBuffer
from weft.runtime.streams import DeviceEvent, DeviceStream

__all__ = [
    "CompiledKernel",
    "DeviceBuffer",
    "DeviceContext",
    "DeviceEvent",
    "DeviceGraph",
    "DeviceStream",
    "Dim",
    "HostBuffer",
]

present(globals())
