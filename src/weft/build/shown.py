"""A program as one module of MLIR: a host half that launches, and the device code that it carries."""

from __future__ import annotations

import re
from collections.abc import Sequence

from weft.abi.artifact import Argument, Artifact
from weft.build.outcome import Outcome
from weft.compiler.ir.printer import quoted
from weft.targets import find_target

_EXTENTS = [f"%{what}_{axis}" for what in ("grid", "block") for axis in "xyz"]


def module_text(outcomes: Sequence[Outcome]) -> str:
    """What was compiled, in MLIR's dialects ``gpu``, ``func`` and ``llvm``.

    A kernel for GPUs is a ``gpu.binary`` with an object for each target, and a host function that launches
    it: of its arguments as a launch packs them, then blocks, threads and bytes of dynamic shared memory. For
    CPUs it is an object file in a constant.
    """
    found: dict[str, list[Artifact]] = {}
    for outcome in outcomes:
        if outcome.artifact is not None and outcome.artifact.format != "python":
            found.setdefault(outcome.item.name, []).append(outcome.artifact)
    lines = ["module attributes {gpu.container_module} {"]
    for name, artifacts in found.items():
        devices = [each for each in artifacts if find_target(each.target).threads == "hardware"]
        lines += _launched(name, devices) if devices else []
        for each in artifacts:
            if each not in devices:
                symbol = quoted(f"{name}.{each.target}")
                lines.append(f"  llvm.mlir.global constant @{symbol}({quoted(each.code)})")
    return "\n".join([*lines, "}", ""])


def _launched(name: str, artifacts: Sequence[Artifact]) -> list[str]:
    """A kernel's code for some targets, and the host's function."""
    [info] = artifacts[0].kernels
    objects = [
        f'#gpu.object<#nvvm.target<chip = "{each.target}">, assembly = {quoted(each.code)}>'
        for each in artifacts
    ]
    given = [f"{_name(n, p)}: {_type(p)}" for n, p in enumerate(info.signature.parameters)]
    more = [*(f"{extent}: index" for extent in _EXTENTS), "%shared: i32"]
    return [
        f"  gpu.binary @{quoted(name)} [{', '.join(objects)}]",
        f"  func.func @{quoted(f'launch {name}')}({', '.join([*given, *more])}) {{",
        f"    gpu.launch_func @{quoted(name)}::@{quoted(info.entry)}",
        f"        blocks in ({', '.join(_EXTENTS[:3])}) threads in ({', '.join(_EXTENTS[3:])})",
        f"        dynamic_shared_memory_size %shared args({', '.join(given).replace(':', ' :')})",
        "    return",
        "  }",
    ]


def _name(number: int, argument: Argument) -> str:
    """The name of an argument, ``image.shape[0]`` say, as MLIR may have it."""
    words = re.findall("[A-Za-z0-9_]+", argument.name)
    return f"%a{number}_{'_'.join(words)}"


def _type(argument: Argument) -> str:
    """An argument as MLIR has it, where integers have no sign.

    >>> from weft.dtype import DType
    >>> [_type(Argument("x", t)) for t in (DType.uint8, DType.bfloat16, DType.float64, DType.bool)]
    ['i8', 'bf16', 'f64', 'i1']
    """
    if argument.pointer:
        return "!llvm.ptr"
    name = argument.dtype.name
    short = {"bool": "i1", "bfloat16": "bf16"}
    return short.get(name) or re.sub("^u?int", "i", name).replace("float", "f")
