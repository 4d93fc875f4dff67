"""The interpreter as a device: memory and streams of the CPU, launches by Python, at once.

A launch runs on the thread that asks for it, so that the debugger of that thread stops in the kernel.
"""

from __future__ import annotations

import dataclasses
import faulthandler
import sys
from collections.abc import Generator
from contextlib import contextmanager

from weft.abi.artifact import Artifact
from weft.abi.program import Program
from weft.runtime.cpu.device import CpuDevice, CpuDriver, CpuStream
from weft.runtime.cpu.native import externals
from weft.runtime.driver import DeviceInfo, Kept, Launch, LoadObject, anew
from weft.runtime.interpreter.run import PythonFunction, functions_of, run_launch


class InterpreterDriver(CpuDriver):
    """The driver of the API ``interpreter``, which has one device."""

    api = "interpreter"

    def device_info(self, device_id: int) -> DeviceInfo:
        """The CPU's, for code of Python's."""
        return _info(super().device_info(device_id))

    def open(self, device_id: int, threads: int | None = None) -> InterpreterDevice:
        """A handle with its own streams and memory; one thread runs its launches."""
        return InterpreterDevice(self._load_object)


def _info(cpu: DeviceInfo) -> DeviceInfo:
    return dataclasses.replace(cpu, api="interpreter", target="interpreter", name="Python, thread by thread")


class InterpreterDevice(CpuDevice):
    """One user of the interpreter."""

    def __init__(self, load_object: LoadObject) -> None:
        super().__init__(load_object)
        self.info: DeviceInfo = _info(self.info)

    def create_stream(self, priority: int = 0) -> InterpreterStream:
        """A new stream. The priority means nothing here."""
        return InterpreterStream(self.new_lane(), self)

    def load(self, artifact: Artifact, kept: Kept = anew) -> tuple[PythonFunction, ...]:
        """Make functions of code."""
        if artifact.format != "python":
            raise ValueError(f"the interpreter runs Python, not {artifact.format}")
        program = Program.unpacked(artifact.code)
        symbols = [*program.natives]
        loaded = self._load_object(program.native, symbols, externals()) if symbols else None
        functions = functions_of(program, dict(zip(symbols, loaded.addresses if loaded else (), strict=True)))
        return tuple([PythonFunction(kernel, program, functions, loaded) for kernel in artifact.kernels])


class InterpreterStream(CpuStream):
    """One queue of work, of which launches are done at once."""

    def launch(self, launch: Launch) -> None:
        """Run a launch, behind what is queued.

        What is no fault of the kernel's, such as the end of a debugger's session, is raised as it is.
        """
        self._lane.wait()
        with _stack_shown():
            failed = run_launch(launch, self._lane.console)
        if failed is not None:
            self._lane.failed(failed)
        if failed is not None or self._lane.console.parts:
            self._lane.submit(_nothing)  # its thread shows at the end what nobody has waited for

    @property
    def native(self) -> None:
        """Native code cannot launch here."""
        return None


def _nothing() -> None:
    pass


@contextmanager
def _stack_shown() -> Generator[None]:
    """Meanwhile an access that ends the process shows the lines of kernel and launch on standard error."""
    shows = not faulthandler.is_enabled()
    try:
        if shows and sys.__stderr__ is not None:
            faulthandler.enable(sys.__stderr__, all_threads=False)
    except (OSError, ValueError):  # closed, or without a file
        shows = False
    try:
        yield
    finally:
        if shows:
            faulthandler.disable()
