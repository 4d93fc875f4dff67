"""The host's side: contexts, buffers, streams."""

from weft.launch import CompiledKernel, DeviceContext
from weft.runtime.buffers import DeviceBuffer
from weft.runtime.dim import Dim
from weft.runtime.host_buffer import HostBuffer
from weft.runtime.streams import DeviceStream

__all__ = ["CompiledKernel", "DeviceBuffer", "DeviceContext", "DeviceStream", "Dim", "HostBuffer"]
