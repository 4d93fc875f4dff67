"""What the names of ``memory_types.pyi`` are at run time, where editors jump from them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.lang.external import FunctionPointer as FunctionPointer
    from weft.lang.pointer import Pointer as Pointer
    from weft.lang.soa import SoA as SoA
    from weft.layout.tensor.tensor import LayoutTensor as LayoutTensor
