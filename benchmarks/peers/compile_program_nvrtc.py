"""NVRTC through cuda.bindings: the kernels of program.cu, each as a program of its own or all as one."""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from common import missing

SOURCE = (Path(__file__).parent / "program.cu").read_text(encoding="utf-8")


def names() -> list[str]:
    """The kernels' instances, in the order of kernels/program.py."""
    found: list[str] = []
    for t in ("__half", "__nv_bfloat16", "float", "double"):
        tiles = [(n, e, f) for n in (8, 16, 32) for e in (1, 2, 4) for f in ("Same", "Relu")]
        found += [f"matmul<{t}, {n}, {e}, {f}>" for n, e, f in tiles]
        heads = [(d, n, c) for d in (32, 64, 128) for n in (32, 64) for c in ("false", "true")]
        found += [f"attention<{t}, {d}, {n}, {c}>" for d, n, c in heads]
        found += [f"reduce_rows<{t}, {n}, {w}>" for n in (128, 256) for w in range(3)]
        found += [f"softmax<{t}, {n}, {e}>" for n in (128, 256) for e in (2, 8)]
        found += [f"blur<{t}, {r}, {f}>" for r in (1, 2) for f in ("Same", "Gelu", "Silu")]
        found += [f"edges<{t}, {s}>" for s in (1, 2, 3, 4)]
    return found


def main() -> None:
    try:
        nvrtc: Any = importlib.import_module("cuda.bindings.nvrtc")
        _, major, minor = nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        return missing(error)
    places = [p for p in map(Path, sys.path) if (p / "nvidia").is_dir()]
    headers = {file.parent for place in places for file in (place / "nvidia").glob("*/include/cuda_fp16.h")}
    headers |= {path for path in [Path("/usr/local/cuda/include")] if (path / "cuda_fp16.h").exists()}
    if not headers:
        return missing(ImportError("no cuda_fp16.h"))
    options = [b"--gpu-architecture=compute_90", *(f"-I{path}".encode() for path in sorted(headers)[:1])]

    def compile(parts: list[str]) -> int:
        _, program = nvrtc.nvrtcCreateProgram(SOURCE.encode(), b"program.cu", 0, [], [])
        for part in parts:
            nvrtc.nvrtcAddNameExpression(program, part.encode())
        (error,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if error:
            _, size = nvrtc.nvrtcGetProgramLogSize(program)
            log = b" " * size
            nvrtc.nvrtcGetProgramLog(program, log)
            raise RuntimeError(log.decode()[:600])
        _, size = nvrtc.nvrtcGetPTXSize(program)
        nvrtc.nvrtcDestroyProgram(program)
        return int(size)

    wanted = names()
    groups = [[name] for name in wanted[:: int(sys.argv[2])]] if sys.argv[1] == "alone" else [wanted]
    start, processor = time.perf_counter(), time.process_time()
    size = sum(compile(group) for group in groups)
    wall, cpu = time.perf_counter() - start, time.process_time() - processor
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    version = f"NVRTC {major}.{minor}"
    count = sum(map(len, groups))
    print(
        json.dumps(
            {"version": version, "kernels": count, "wall": wall, "cpu": cpu, "memory": memory, "ptx": size}
        )
    )


if __name__ == "__main__":
    main()
