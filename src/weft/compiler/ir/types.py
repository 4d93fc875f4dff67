"""The machine types of the IR: integers without sign, floats, pointers, vectors of them.

Every type is interned, so ``is`` compares. Each knows its spelling in MLIR (for printing) and in
LLVM IR (for lowering).
"""

from __future__ import annotations

from enum import IntEnum

from weft.dtype import DType


class AddressSpace(IntEnum):
    """Where memory lies. Each target has its own numbers for them (``Target.spaces``)."""

    GENERIC = 0
    """Anywhere: found out at each access."""
    GLOBAL = 1
    """The device's memory, where buffers are."""
    SHARED = 3
    """Memory that the threads of a block share, on the chip."""
    CONSTANT = 4
    """Memory that nobody writes while a kernel runs."""
    LOCAL = 5
    """One thread's own."""
    SHARED_CLUSTER = 7
    """Shared memory of any block of the cluster (``weft.gpu.map_shared_rank``)."""


class Type:
    """A machine type; ``mlir`` and ``llvm`` are its spellings, ``bits`` its width."""

    __slots__ = ("bits", "llvm", "mlir")

    def __init__(self, mlir: str, llvm: str, bits: int) -> None:
        self.mlir: str = mlir
        self.llvm: str = llvm
        self.bits: int = bits

    def __repr__(self) -> str:
        return self.mlir

    @property
    def scalar(self) -> Type:
        """The type of one lane."""
        return self

    @property
    def lanes(self) -> int:
        """How many lanes a value of the type has."""
        return 1

    @property
    def suffix(self) -> str:
        """What LLVM's intrinsics on numbers of the type end with: ``f32``, ``v4f16``."""
        name = self.scalar.mlir.replace("!llvm.", "")
        return name if self.lanes == 1 else f"v{self.lanes}{name}"


class IntType(Type):
    """An integer of some width; operations, not types, know about signs."""

    __slots__ = ()


class FloatType(Type):
    """A floating-point number."""

    __slots__ = ()


class PointerType(Type):
    """An address in one address space; how LLVM writes it depends on the target."""

    __slots__ = ("space",)

    def __init__(self, space: AddressSpace) -> None:
        tail = f"<{space:d}>" if space else ""
        super().__init__(f"!llvm.ptr{tail}", "", 64)
        self.space: AddressSpace = space


class VectorType(Type):
    """A fixed number of lanes of one scalar type."""

    __slots__ = ("_element", "_lanes")

    def __init__(self, lanes: int, element: Type) -> None:
        super().__init__(
            f"vector<{lanes}x{element.mlir}>", f"<{lanes} x {element.llvm}>", lanes * element.bits
        )
        self._lanes = lanes
        self._element = element

    @property
    def scalar(self) -> Type:
        """The type of one lane."""
        return self._element

    @property
    def lanes(self) -> int:
        """How many lanes a value of the type has."""
        return self._lanes


I1 = IntType("i1", "i1", 1)
I8 = IntType("i8", "i8", 8)
I16 = IntType("i16", "i16", 16)
I32 = IntType("i32", "i32", 32)
I64 = IntType("i64", "i64", 64)
F16 = FloatType("f16", "half", 16)
BF16 = FloatType("bf16", "bfloat", 16)
F32 = FloatType("f32", "float", 32)
F64 = FloatType("f64", "double", 64)

_BY_DTYPE: dict[str, Type] = {
    "bool": I1,
    "int8": I8,
    "uint8": I8,
    "int16": I16,
    "uint16": I16,
    "int32": I32,
    "uint32": I32,
    "int64": I64,
    "uint64": I64,
    "float8_e4m3fn": I8,
    "float8_e5m2": I8,
    "float16": F16,
    "bfloat16": BF16,
    "float32": F32,
    "float64": F64,
}
_POINTERS: dict[int, PointerType] = {}
_VECTORS: dict[tuple[int, Type], VectorType] = {}


def of_dtype(dtype: DType, lanes: int = 1) -> Type:
    """The machine type of ``lanes`` elements of ``dtype``."""
    scalar = _BY_DTYPE[dtype.name]
    return scalar if lanes == 1 else vector(lanes, scalar)


def pointer(space: int) -> PointerType:
    """The type of addresses in ``space``."""
    found = _POINTERS.get(space)
    if found is None:
        found = _POINTERS[space] = PointerType(AddressSpace(space))
    return found


def vector(lanes: int, element: Type) -> VectorType:
    """The vector type of ``lanes`` times ``element``."""
    found = _VECTORS.get((lanes, element))
    if found is None:
        found = _VECTORS[lanes, element] = VectorType(lanes, element)
    return found


SLOT = pointer(AddressSpace.LOCAL)
"""What ``weft.slot`` gives: the address of a variable."""
