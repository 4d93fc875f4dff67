"""NVIDIA's assembler and disassembler as programs, where they are found: to look at code, never to run it."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from weft.diagnostics import CompileError, caller_location
from weft.targets.occupancy import Resources

_WHEELS = {"ptxas": "nvidia-cuda-nvcc-cu12", "nvdisasm": "nvidia-cuda-nvdisasm"}
_NUMBERS = {
    "registers": r"Used (\d+) registers",
    "barriers": r"used (\d+) barriers",
    "stack": r"(\d+) bytes stack frame",
    "spill_stores": r"(\d+) bytes spill stores",
    "spill_loads": r"(\d+) bytes spill loads",
    "shared": r"(\d+) bytes smem",
}


@cache
def find_tool(name: str) -> str | None:
    """The path of ``ptxas`` or ``nvdisasm``: of a wheel of NVIDIA's, of a toolkit, or on the PATH."""
    try:
        finder = importlib.import_module("cuda.pathfinder")
    except ImportError:  # on systems where NVIDIA has no wheels
        return shutil.which(name)
    return finder.find_nvidia_binary_utility(name) or shutil.which(name)


def assemble(ptx: str, opt_level: int | None = None) -> tuple[bytes, Resources]:
    """The cubin of PTX for the machine that it names, and what its kernel uses there.

    ``opt_level`` is how much is optimised, from 0 to 3; by default as the assembler does, which is 3.

    Raises:
        CompileError: there is no assembler here, or it refuses the PTX.
    """
    target = re.search(r"^\.target (\w+)", ptx, re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "kernel.cubin"
        arch = target[1] if target else "sm_70"
        level = () if opt_level is None else (f"-O{opt_level}",)
        said = _run("ptxas", "-v", "-lineinfo", *level, "-arch", arch, "-o", str(made), "-", text=ptx)
        numbers = {name: re.search(form, said) for name, form in _NUMBERS.items()}
        return made.read_bytes(), Resources(arch, **{n: int(m[1]) if m else 0 for n, m in numbers.items()})


def disassemble(cubin: bytes) -> str:
    """A cubin as SASS, with the lines of the source that its instructions come from.

    Raises:
        CompileError: there is no disassembler here, or it refuses the cubin.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        return _run("nvdisasm", "-c", "-g", "-ndf", str(file))


def _run(tool: str, *words: str, text: str = "") -> str:
    path = find_tool(tool)
    if path is None:
        message = (
            f"this needs NVIDIA's {tool}, which is neither in a wheel nor in a toolkit nor on the PATH here"
        )
        hints = (f"pip install {_WHEELS[tool]}; the PTX itself is emission kind 'asm'",)
        raise CompileError.at("no-assembler", message, caller_location(), hints=hints)
    done = subprocess.run([path, *words], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        notes = tuple(done.stderr.strip().splitlines()[:8])
        hints = ("an older program may not know this machine or this PTX; take a newer one",)
        raise CompileError.at("no-assembler", f"{path} fails", caller_location(), notes=notes, hints=hints)
    return done.stdout if tool == "nvdisasm" else done.stderr + done.stdout
