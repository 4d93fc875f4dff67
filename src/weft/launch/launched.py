"""A launch that has been made, and one that could be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.abi.artifact import Artifact
from weft.compiler.source.definition import Definition
from weft.lang.reads import Reads
from weft.lang.spec import Spec
from weft.record import record
from weft.runtime.driver import Launch, Stream

LaunchOptions = tuple[Any, Any, Any, Any, Any, Any, Any, Any]
"""over, grid_dim, block_dim, shared_mem_bytes, stream, cluster_dim, cooperative and pdl of a launch."""


@record
class Launched:
    """A launch that Python has made."""

    kernel: Definition
    specs: Mapping[str, Spec]
    launch: Launch
    stream: Stream
    repeatable: bool
    """Whether the types of the arguments and the extents alone have decided what was launched, and where."""
    apart: bool
    """Whether it was compiled for buffers that share no memory."""
    guest: bool
    """Whether the stream is that of other libraries' arrays."""
    reads: Reads
    """What the compiled code read of the program."""


@record
class ReadyLaunch:
    """A launch that could be made."""

    artifact: Artifact
    launch: Launch
    memory: Sequence[Any]
    """The memory among its arguments."""
