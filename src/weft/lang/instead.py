"""What kernels are asked for by names of other libraries."""

from __future__ import annotations

from weft.diagnostics.diagnostic import OBJECT
from weft.diagnostics.instead import alike

OF_KERNELS = {
    **alike(
        f"write ctx.enqueue_function({OBJECT}, ..., grid_dim=..., block_dim=...)",
        "launch run call execute enqueue apply grid prepared_call async_call warmup_and_run",
    ),
    **alike(f"write ctx.enqueue_function({OBJECT}, ..., over=n)", "forall map dispatch"),
    **alike(f"write {OBJECT}.bind(name=value)", "specialize partial instantiate configure with_params"),
    **alike(
        f"write ctx.compile_function({OBJECT})",
        "compile warmup build attributes num_regs local_size_bytes shared_size_bytes get_attributes "
        "max_threads_per_block occupancy",
    ),
    **alike(
        f'write compile_info({OBJECT}, emission_kind="asm"), from weft.compile, or `weft inspect`',
        "ptx asm sass ir llvm cubin source inspect_asm inspect_llvm inspect_sass inspect_types code",
    ),
    **alike(f"write {OBJECT}.function", "py_func fn func python_function"),
}
