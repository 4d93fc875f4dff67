"""What a target is: data that the compiler hands on and the library asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Literal

from weft.compiler.ir.types import AddressSpace
from weft.record import field, record

_FAMILIES = frozenset(
    "aarch64 amdgcn arm bpf dx hexagon loongarch mips nvvm ppc r600 riscv s390 spv ve wasm x86 xcore".split()
)
"""Of LLVM's intrinsics for single machines: without a machine that has them LLVM ends the process."""


class Feature(Enum):
    """What a target can do that the library chooses by."""

    NVVM = "NVIDIA's special registers and intrinsics"
    ASSEMBLER = "inline assembly"
    BF16_ARITHMETIC = "native bfloat16 arithmetic"
    SMALL_FMA = "fma of Float16 and BFloat16, rounded once"
    WARP_REDUCTION = "reductions of integers of a warp in one instruction"
    ASYNC_COPY = "asynchronous copies to shared memory"
    COOPERATIVE = "launches whose blocks all run at once, and wait for each other"
    CLUSTERS = "thread block clusters"
    DEPENDENT_LAUNCH = "kernels that begin before the one before them has ended"
    TENSOR_MEMORY_ACCESS = "bulk tensor copies"
    MMA_HALF = "products of matrices of Float16 by warps"
    MMA = "products of matrices of Float16, BFloat16, tf32, Float64 and integers of 8 bits by warps"
    MMA_FP8 = "products of matrices of 8-bit floats by warps"
    MMA_FLOAT64 = "products of matrices of Float64 by warps, of 16 rows"
    STORE_MATRIX = "stores of matrices that lie over the lanes of a warp"
    WGMMA = "products of matrices in shared memory by four warps"
    C_FUNCTIONS = "calls of the process's functions, and functions that these call"


@record
class Word:
    """How a machine says a number or does something: a call of one of LLVM's intrinsics.

    ``arguments`` are constants of 32 bits. With ``offset`` the call gives an address of constant memory, and
    the number is so many bytes behind it. ``bits`` is its width. ``fenced`` says that a barrier orders no
    accesses to memory by itself.
    """

    intrinsic: str
    arguments: tuple[int, ...] = ()
    bits: int = 32
    offset: int | None = None
    fenced: bool = False


def axes(name: str, intrinsic: str) -> dict[str, Word]:
    """The words for a name along x, y and z, which ``{}`` stands for."""
    return {f"{name}.{axis}": Word(intrinsic.format(axis)) for axis in "xyz"}


@record
class Residence:
    """What a multiprocessor has for the blocks that run on it at once. Shared memory is in bytes.

    ``register_unit`` is how many registers a warp is given at a time, ``shared_unit`` the same of shared
    memory for a block, of which the system keeps ``reserved_shared``. ``float_lanes`` are the products and
    sums of Float32 that it begins in a clock.
    """

    warps: int
    blocks: int
    shared: int
    registers: int = 65536
    register_unit: int = 256
    shared_unit: int = 128
    reserved_shared: int = 1024
    float_lanes: int = 128


@record(eq=False)
class Target:
    """One machine to compile for.

    ``format`` says what the compiler produces. ``threads`` are the hardware's, or loops around the kernel's
    body that the compiler makes. ``spaces`` are the target's numbers of the address spaces that it has.
    ``machine`` has the words of the hardware's threads: ``thread_id.x`` and the like, ``block_id``,
    ``block_dim``, ``grid_dim``, ``barrier``, and ``exit``, which ends a thread; without it a thread whose
    assertion fails returns from all it is in. ``converts_halves`` says that LLVM computes with 16-bit floats
    by instructions that round right; else weft uses integers, or brings the functions that LLVM calls.
    ``contract`` lets a product and a sum become one fma, as CUDA does; a CPU's floats then are exactly
    NumPy's. ``exact_remainder`` says that LLVM's ``frem`` is exact, as C's ``fmod`` is. ``shared_limit`` is
    what a block may have of shared memory in bytes, ``static_shared_limit`` what of it may be of static size
    (0: all). ``local_limit`` is what a thread may have of its own memory in bytes, CUDA's limit everywhere.
    ``cluster_limit`` is how many blocks a cluster may have at most, where a device allows them.
    ``bounds`` are LLVM's attributes for how many threads a block of a kernel has at most, and how many
    blocks are to fit at once.
    ``parameter_limit`` is how many bytes of parameters a kernel may have (0: any number).

    Of atomic accesses, ``sync_scopes`` has LLVM's names for the scopes that the target tells apart (none: it
    tells none apart). ``rmw_orders`` says that LLVM's backend keeps the ordering and the scope of an
    ``atomicrmw``; where it makes all of them relaxed and of device scope, fences order them, and
    ``system_rmw`` has the instruction for the whole system of each operation that has one, ``{bits}`` being
    its width. ``looped_rmw`` names those, by operation and type, that are made of compare and exchange in a
    block's shared memory, because the target's own are wrong there. ``registers`` has the letter that inline
    assembly wants for a value of an LLVM type.
    ``registers_bits`` has the width of each of these letters and of others. ``mended`` makes of the target's
    assembly one that means the same, where the target's assembler makes wrong code of what LLVM writes.
    ``orders_zeros`` says that its instructions for the lesser and the greater number take -0 for less than 0,
    which Python's ``min`` and ``max`` do not.
    ``isa`` is the version of the target's language that its code is made of, by LLVM's ``isa_feature``; where
    it uses a word of ``isa_of``, the version that this one came with.
    ``own_words`` are what later machines will not have: code with one of them is for this machine alone,
    ``sm_90a`` say.
    ``rare_convention`` is LLVM's for functions that are seldom called, and leave registers to their callers;
    ``telling_convention`` for those of them that call C. On x86 these cannot leave vectors alone: LLVM clears
    their upper halves (``vzeroupper``) where a function returns that has kept them.
    ``waits_for_streams`` is the intrinsic by which a thread waits for its stores that go past the caches;
    where there is none, none does.
    ``level`` is how much LLVM optimises for it, from 0 to 3. ``residence`` says how many blocks its
    multiprocessors hold.
    ``words`` are names that the target's assembler gives a meaning of its own.
    ``family`` is the word after ``llvm.`` in the names of LLVM's intrinsics that this machine alone has.
    """

    name: str
    triple: str
    cpu: str
    features: str
    format: Literal["ptx", "object", "python"]
    threads: Literal["hardware", "loops"]
    spaces: Mapping[AddressSpace, int]
    machine: Mapping[str, Word] = field(default_factory=dict[str, Word])
    kernel_convention: str = ""
    rare_convention: str = ""
    telling_convention: str = ""
    waits_for_streams: str = ""
    supported: frozenset[Feature] = frozenset()
    warp_size: int = 1
    converts_halves: bool = True
    contract: bool = False
    exact_remainder: bool = True
    shared_limit: int = 0
    static_shared_limit: int = 0
    local_limit: int = 512 * 1024
    cluster_limit: int = 0
    parameter_limit: int = 0
    bounds: tuple[str, ...] = ()
    sync_scopes: Mapping[str, str] = field(default_factory=dict[str, str])
    rmw_orders: bool = True
    system_rmw: Mapping[str, str] = field(default_factory=dict[str, str])
    looped_rmw: frozenset[str] = frozenset()
    mended: Callable[[str], str] = str
    orders_zeros: bool = False
    registers: Mapping[str, str] = field(default_factory=dict[str, str])
    isa: int = 0
    isa_of: Mapping[str, int] = field(default_factory=dict[str, int])
    isa_feature: str = ""
    registers_bits: Mapping[str, int] = field(default_factory=dict[str, int])
    family: str = ""
    words: frozenset[str] = frozenset()
    own_words: tuple[str, ...] = ()
    residence: Residence | None = None
    level: int = 2
    aliases: tuple[str, ...] = ()

    def features_for(self, text: str) -> str:
        """LLVM's features for a module of that text."""
        if not self.isa:
            return self.features
        isa = max([self.isa, *(isa for word, isa in self.isa_of.items() if word in text)])
        return f"{self.features}{self.isa_feature}{isa}"

    def cpu_for(self, text: str) -> str:
        """LLVM's name of the machine for a module of that text."""
        return f"{self.cpu}a" if any(word in text for word in self.own_words) else self.cpu

    def has_intrinsic(self, name: str) -> bool:
        """Whether LLVM can make code of an intrinsic here: it is nobody's, or of this family."""
        family = name.removeprefix("llvm.").partition(".")[0]
        return family not in _FAMILIES or family == self.family

    @property
    def static_limit(self) -> int:
        """Bytes of shared memory that a block may have of static size."""
        return self.static_shared_limit or self.shared_limit

    def supports(self, feature: Feature) -> bool:
        """Whether the target has ``feature``."""
        return feature in self.supported
