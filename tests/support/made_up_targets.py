"""Targets that nobody runs here: data that says what the compiler must not need to know."""

from __future__ import annotations

from weft.memory import AddressSpace
from weft.targets import Feature, Target, Word, axes

GENERIC, GLOBAL, SHARED = AddressSpace.GENERIC, AddressSpace.GLOBAL, AddressSpace.SHARED
CONSTANT, LOCAL = AddressSpace.CONSTANT, AddressSpace.LOCAL

# LLVM's guide to AMDGPU: address spaces, memory scopes, hidden arguments of code object version 5.
_HIDDEN = "llvm.amdgcn.implicitarg.ptr"
AMD = Target(
    name="gfx90a",
    triple="amdgcn-amd-amdhsa",
    cpu="gfx90a",
    features="",
    format="object",
    threads="hardware",
    spaces={GENERIC: 0, GLOBAL: 1, SHARED: 3, CONSTANT: 4, LOCAL: 5},
    machine={
        **axes("thread_id", "llvm.amdgcn.workitem.id.{}"),
        **axes("block_id", "llvm.amdgcn.workgroup.id.{}"),
        **{f"grid_dim.{axis}": Word(_HIDDEN, offset=4 * n) for n, axis in enumerate("xyz")},
        **{f"block_dim.{axis}": Word(_HIDDEN, bits=16, offset=12 + 2 * n) for n, axis in enumerate("xyz")},
        "barrier": Word("llvm.amdgcn.s.barrier", fenced=True),
    },
    kernel_convention="amdgpu_kernel",
    supported=frozenset({Feature.COOPERATIVE}),
    warp_size=64,
    family="amdgcn",
    contract=True,
    exact_remainder=False,
    shared_limit=64 * 1024,
    sync_scopes={"block": "workgroup", "device": "agent", "system": ""},
)

# LLVM's guide to SPIR-V: storage classes as address spaces, functions' own memory is 0.
SPIRV = Target(
    name="spirv64",
    triple="spirv64-unknown-unknown",
    cpu="",
    features="",
    format="object",
    threads="hardware",
    spaces={GENERIC: 4, GLOBAL: 1, SHARED: 3, CONSTANT: 2, LOCAL: 0},
    machine={
        "thread_id.x": Word("llvm.spv.thread.id.in.group.i64", (0,), bits=64),
        "barrier": Word("llvm.spv.group.memory.barrier.with.group.sync"),
    },
    kernel_convention="spir_kernel",
    warp_size=32,
    family="spv",
    shared_limit=32 * 1024,
    sync_scopes={"block": "workgroup", "device": "device", "system": ""},
)
