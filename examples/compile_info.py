"""What a kernel is compiled to, without a GPU: each stage of the smallest kernel, for an A100."""

from __future__ import annotations

from weft import kernel
from weft.compile import compile_info


@kernel
def hello():
    pass


def main() -> None:
    print(compile_info(hello, emission_kind="ir", target="sm_80"))  # weft's own, in MLIR's syntax
    print(compile_info(hello, emission_kind="llvm", target="sm_80"))  # as LLVM gets it
    print(compile_info(hello, emission_kind="llvm-opt", target="sm_80"))  # as LLVM optimised it
    print(compile_info(hello, emission_kind="asm", target="sm_80"))  # PTX, which the driver takes


if __name__ == "__main__":
    main()
