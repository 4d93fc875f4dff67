"""weft: GPU programming in Python.

The names that programs use most; the rest lives in ``weft.gpu``, ``weft.gpu.host``, ``weft.layout``,
``weft.math``, ``weft.memory``, ``weft.atomic``, ``weft.compile`` and ``weft.sys``. Importing weft loads
neither LLVM nor NumPy.
"""

from weft.diagnostics import CompileError, DeviceError, LaunchError, WeftError
from weft.dtype import DType
from weft.lang import (
    SIMD,
    BFloat16,
    Bool,
    Comptime,
    Float16,
    Float32,
    Float64,
    Func,
    Int,
    Int8,
    Int16,
    Int32,
    Int64,
    Kernel,
    Pointer,
    UInt,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    func,
    iota,
    kernel,
    struct,
    unroll,
)

__all__ = [
    "SIMD",
    "BFloat16",
    "Bool",
    "CompileError",
    "Comptime",
    "DType",
    "DeviceError",
    "Float16",
    "Float32",
    "Float64",
    "Func",
    "Int",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Kernel",
    "LaunchError",
    "Pointer",
    "UInt",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "WeftError",
    "__version__",
    "func",
    "iota",
    "kernel",
    "struct",
    "unroll",
]

__version__ = "0.1.0"
