"""NVRTC through cuda.bindings: each kernel of seven.cu a program of its own."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import missing, run

SOURCE = (Path(__file__).parent / "seven.cu").read_text(encoding="utf-8")


def kernels() -> dict[str, str]:
    """The parts of the file, by the kernel in each."""
    parts = SOURCE.split("// ---- ")[1:]
    return {part.partition("\n")[0].strip(): part.partition("\n")[2] for part in parts}


def main() -> None:
    try:
        nvrtc: Any = importlib.import_module("cuda.bindings.nvrtc")
        _, major, minor = nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        return missing(error)
    sources = kernels()

    def compile_one(name: str) -> str:
        _, program = nvrtc.nvrtcCreateProgram(sources[name].encode(), b"k.cu", 0, [], [])
        (error,) = nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_90"])
        assert error == 0, error
        _, size = nvrtc.nvrtcGetPTXSize(program)
        ptx = b" " * size  # which the call below fills
        nvrtc.nvrtcGetPTX(program, ptx)
        nvrtc.nvrtcDestroyProgram(program)
        return ptx.decode()

    def fresh() -> Callable[[str], str]:
        return compile_one  # it keeps nothing

    run(f"NVRTC {major}.{minor}", fresh)


if __name__ == "__main__":
    main()
