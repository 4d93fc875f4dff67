"""NVIDIA GPUs, sm_70 to sm_121: compiled to PTX of the lowest version that knows the architecture.

PTX versions are those of the PTX ISA's table of target directives; a newer one than needed would
shut out older drivers. Shared memory is the opt-in limit per block of the CUDA programming guide.
"""

from __future__ import annotations

from weft.abi.warp import WARP
from weft.compiler.ir.types import AddressSpace
from weft.targets.target import Feature, Residence, Target, Word, axes

# compute capability: (PTX version, KiB of shared memory that a block may have, of a multiprocessor the KiB of
# shared memory, warps and blocks), by "Technical Specifications per Compute Capability" of the guide
_ARCHITECTURES: dict[int, tuple[int, int, int, int, int]] = {
    70: (60, 96, 96, 64, 32),
    72: (61, 96, 96, 64, 32),
    75: (63, 64, 64, 32, 16),
    80: (70, 163, 164, 64, 32),
    86: (71, 99, 100, 48, 16),
    87: (74, 163, 164, 48, 16),
    88: (90, 99, 100, 48, 16),
    89: (78, 99, 100, 48, 24),
    90: (78, 227, 228, 64, 32),
    100: (86, 227, 228, 64, 32),
    103: (88, 227, 228, 64, 32),
    110: (90, 227, 228, 48, 24),
    120: (87, 99, 100, 48, 24),
    121: (88, 99, 100, 48, 24),
}
_ALIASES = {
    70: ("v100",),
    75: ("t4",),
    80: ("a100",),
    86: ("a10",),
    89: ("l4",),
    90: ("h100", "h200"),
    100: ("b200",),
}

_SYNC_SCOPES = {"block": "block", "cluster": "block", "device": "device", "system": ""}
_SYSTEM_RMW = {
    op: f"atom.relaxed.sys.{instruction}{{bits}} $0, [$1], $2;"
    for op, instruction in {
        "xchg": "exch.b",
        "add": "add.u",
        "fadd": "add.f",
        "and": "and.b",
        "or": "or.b",
        "xor": "xor.b",
        "min": "min.s",
        "max": "max.s",
        "umin": "min.u",
        "umax": "max.u",
    }.items()
}
_LOOPED_RMW = frozenset(
    [f"{op}.i64" for op in ("and", "or", "xor", "min", "max", "umin", "umax")] + ["fadd.float", "fadd.double"]
)
"""The hardware has none of these in shared memory. The assembler makes a loop of each, and where that is all
that an outer loop does, a thread that has to try again goes on with the next round (CUDA 13.0, C++ alike)."""
_WIDTHS = {"h": 16, "r": 32, "l": 64, "q": 128, "f": 32, "d": 64}
_VERSIONS = {
    word: version
    for version, words in {
        62: "activemask",
        63: "nanosleep",
        65: "ldmatrix mma.sync.aligned.m16n8k8",
        70: "cp.async redux.sync",
        74: "createpolicy",
        78: "getctarank griddepcontrol mapa stmatrix movmatrix barrier.cluster",
        80: "barrier.cluster.arrive.relaxed barrier.cluster.arrive.release "
        "barrier.cluster.wait.acquire cp.async.bulk cp.reduce.async.bulk elect.sync "
        "mbarrier.arrive.shared::cluster "
        "fence.mbarrier_init fence.proxy.async mbarrier.arrive.expect_tx mbarrier.expect_tx "
        "setmaxnreg wgmma",
        81: "multimem red.async st.async",
        83: "fence.proxy.tensormap tensormap.replace",
        84: "e4m3.f32 e5m2.f32",
        86: "clusterlaunchcontrol st.bulk tcgen05",
    }.items()
    for word in words.split()
}
"""The version of PTX that a word came with, in names of LLVM's intrinsics and in assembly, by the PTX ISA."""
_REGISTERS = {"i32": "r", "i64": "l", "float": "f", "double": "d"}
_SPACES = {
    AddressSpace.GENERIC: 0,
    AddressSpace.GLOBAL: 1,
    AddressSpace.SHARED: 3,
    AddressSpace.CONSTANT: 4,
    AddressSpace.LOCAL: 0,  # which LLVM finds out
    AddressSpace.SHARED_CLUSTER: 7,
}
_MACHINE = {
    **axes("thread_id", "llvm.nvvm.read.ptx.sreg.tid.{}"),
    **axes("block_id", "llvm.nvvm.read.ptx.sreg.ctaid.{}"),
    **axes("block_dim", "llvm.nvvm.read.ptx.sreg.ntid.{}"),
    **axes("grid_dim", "llvm.nvvm.read.ptx.sreg.nctaid.{}"),
    "barrier": Word("llvm.nvvm.barrier.cta.sync.aligned.all", (0,)),
    "exit": Word("llvm.nvvm.exit"),
}


def _target(capability: int, suffix: str = "") -> Target:
    version, shared, held, warps, blocks = _ARCHITECTURES[capability]
    units = {} if capability >= 80 else {"shared_unit": 256, "reserved_shared": 0}
    units["float_lanes"] = 64 if capability <= 80 else 128  # by the guide's table of throughputs
    if suffix == "a":
        version = max(version, 80)
    supported = {Feature.NVVM, Feature.ASSEMBLER, Feature.COOPERATIVE}
    if capability >= 75:
        supported.add(Feature.MMA_HALF)
    if capability >= 80:
        supported |= {Feature.ASYNC_COPY, Feature.SMALL_FMA, Feature.MMA, Feature.WARP_REDUCTION}
    if capability >= 89:
        supported.add(Feature.MMA_FP8)
    if capability >= 90:
        supported |= {Feature.BF16_ARITHMETIC, Feature.TENSOR_MEMORY_ACCESS, Feature.STORE_MATRIX}
        supported.add(Feature.MMA_FLOAT64)
        supported |= {Feature.CLUSTERS, Feature.DEPENDENT_LAUNCH}
    if capability == 90:
        supported.add(Feature.WGMMA)
    name = f"sm_{capability}{suffix}"
    return Target(
        name=name,
        triple="nvptx64-nvidia-cuda",
        cpu=name,
        features="",
        level=1,  # the driver's assembler optimises again: more made none of 31 kernels faster
        isa=version,
        isa_of=_VERSIONS,
        isa_feature="+ptx",
        registers_bits=_WIDTHS,
        format="ptx",
        threads="hardware",
        kernel_convention="ptx_kernel",
        spaces=_SPACES,
        machine=_MACHINE,
        supported=frozenset(supported),
        warp_size=WARP,
        family="nvvm",
        words=frozenset({"_", "WARP_SZ"}),
        own_words=() if suffix else ("wgmma.", "setmaxnreg.", ".multicast::"),
        contract=True,
        exact_remainder=False,
        shared_limit=shared * 1024,
        static_shared_limit=48 * 1024,
        bounds=("nvvm.maxntid", "nvvm.minctasm"),
        parameter_limit=4096,  # more from PTX 8.1 on
        cluster_limit=16 if capability >= 90 else 0,
        sync_scopes=_SYNC_SCOPES if capability < 90 else {**_SYNC_SCOPES, "cluster": "cluster"},
        rmw_orders=False,
        system_rmw=_SYSTEM_RMW,
        looped_rmw=_LOOPED_RMW,
        mended=_mended,
        orders_zeros=True,
        registers=_REGISTERS,
        residence=Residence(warps, blocks, held * 1024, **units),
        aliases=() if suffix else _ALIASES.get(capability, ()),
    )


def _mended(text: str) -> str:
    from weft.targets.ptxas import mended  # here, since code that the cache has is mended

    return mended(text)


TARGETS: dict[str, Target] = {
    t.name: t
    for t in [*(_target(c) for c in _ARCHITECTURES), *(_target(c, "a") for c in _ARCHITECTURES if c >= 90)]
}
