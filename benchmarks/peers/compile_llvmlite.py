"""The floor: LLVM IR written by hand, through LLVM's O3 pipeline to PTX. Two of the seven kernels."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import missing, run

FOLDER = Path(__file__).parent


def main() -> None:
    try:
        llvm: Any = importlib.import_module("llvmlite.binding")
        version: str = importlib.import_module("llvmlite").__version__
    except ImportError as error:
        return missing(error)
    if not hasattr(llvm, "create_pass_builder"):
        return missing(ImportError(f"llvmlite {version} is too old"))
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    machine = target.create_target_machine(cpu="sm_90", features="+ptx84", opt=3)

    def compile_one(name: str) -> str:
        module = llvm.parse_assembly((FOLDER / f"{name}.ll").read_text(encoding="utf-8"))
        module.data_layout = str(machine.target_data)
        module.verify()
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
        builder.getModulePassManager().run(module, builder)
        return machine.emit_assembly(module)

    def fresh() -> Callable[[str], str]:
        return compile_one  # it keeps nothing

    run(f"llvmlite {version}", fresh, ("vadd", "mm_tiled"))


if __name__ == "__main__":
    main()
