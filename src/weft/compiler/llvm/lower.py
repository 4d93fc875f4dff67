"""IR to LLVM IR, as text: building text and parsing it is faster than building through a binding."""

from __future__ import annotations

from weft.compiler.ir.core import Module
from weft.compiler.llvm import lower_control, lower_host, lower_machine, lower_memory, variables
from weft.compiler.llvm.lowering import Lowering, LoweringTable, Support
from weft.targets import Target

LOWER: LoweringTable = {
    **lower_control.LOWER,
    **lower_memory.LOWER,
    **lower_machine.LOWER,
    **lower_host.LOWER,
    **variables.LOWER,
}


def lower_module(
    module: Module, target: Target, support: Support, *, places: bool = True, debug: bool = False
) -> str:
    """The LLVM IR of a verified module, with line tables where ``places`` are asked for.

    With ``debug`` it has all that debuggers of native code need, and is not to be optimised.
    """
    lw = Lowering(LOWER, module, target, debug=places, variables=debug)
    lw.support = support
    return lw.run()
