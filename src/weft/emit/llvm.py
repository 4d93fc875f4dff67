"""LLVM, through llvmlite: the only module that imports it.

Every llvmlite call takes one lock in the process, so compilations in threads wait for each other.
An error inside LLVM ends the process, so modules are verified first; code generation changes the
module, so each use works on its own parse.
"""

from __future__ import annotations

import functools
import itertools
import sys
import threading
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as _binding  # pyright: ignore[reportMissingTypeStubs]

from weft.targets import TARGETS, Target

__all__ = ["Emission", "LoadedCode", "emit", "host_machine", "load_object"]

llvm: Any = _binding  # it has no types
_lock = threading.RLock()
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Emission:
    """What code generation produced: ``text`` for assembly and IR, ``data`` for an object file."""

    text: str = ""
    data: bytes = b""


@functools.cache
def _initialise() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()


@functools.cache
def host_machine() -> tuple[str, str, str]:
    """Triple, CPU and features of this machine."""
    _initialise()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), features


@functools.cache
def _machine(target: Target, level: int) -> tuple[Any, Any]:
    _initialise()
    triple, cpu, features = target.triple, target.cpu, target.features
    if cpu == "native":
        triple, cpu, features = host_machine()
        if "+avx512f" in features:
            features += ",-prefer-256-bit"
    # For GPUs O2 is O3 without some unrolling that the driver's assembler does itself, and lanes of one
    # thread are not worth looking for: 15 % less time for the same code.
    loops = target.kind == "object"
    level = level if loops else min(level, 2)
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="pic", codemodel="default"
    )
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = loops
    options.slp_vectorization = loops
    options.loop_unrolling = True
    options.loop_interleaving = False
    return machine, options


def _parse(text: str, target: Target, machine: Any) -> Any:
    module = llvm.parse_assembly(text, llvm.create_context())
    if target.cpu == "native":
        module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    return module


def emit(text: str, target: Target, kind: str, *, level: int = 3, passes: bool = True) -> Emission:
    """Compile LLVM IR: ``kind`` is ``llvm-opt``, ``asm`` or ``object``.

    Without ``passes`` only the code generator optimises, which is enough for IR written by hand.
    """
    with _lock:
        machine, options = _machine(target, level)
        module = _parse(text, target, machine)
        builder = llvm.create_pass_builder(machine, options)
        if passes:
            manager = builder.getModulePassManager()
        else:
            manager = llvm.create_new_module_pass_manager()
            manager.add_always_inliner_pass()
        manager.run(module, builder)
        if kind == "llvm-opt":
            return Emission(text=str(module))
        if kind == "asm":
            return Emission(text=machine.emit_assembly(module))
        return Emission(data=machine.emit_object(module))


@dataclass(frozen=True, slots=True)
class LoadedCode:
    """Machine code in memory: the entry's address, and what keeps it there."""

    address: int
    keep: object


@functools.cache
def _jit() -> Any:
    _initialise()
    machine, _ = _machine(_NATIVE, 3)
    # LLVM's older linker ends the process where code and constants come to lie 2 GiB apart, as they do
    # beside a GPU driver's mappings; this one takes one stretch of memory for both.
    return llvm.create_lljit_compiler(machine, use_jit_link=sys.platform != "win32")


_NATIVE = TARGETS["native"]


def load_object(code: bytes, entry: str, symbols: dict[str, int]) -> LoadedCode:
    """Link an object file for this machine into the process; ``symbols`` are what it may call."""
    with _lock:
        builder = llvm.JITLibraryBuilder()
        builder.add_object_img(code)
        for name, address in symbols.items():
            builder.import_symbol(name, address)
        builder.add_current_process()
        builder.export_symbol(entry)
        tracker = builder.link(_jit(), f"weft{next(_numbers)}")
        return LoadedCode(tracker[entry], tracker)
