"""What methods that arrays of other libraries have are here, of tensors in kernels."""

from __future__ import annotations

from weft.diagnostics.instead import alike

OF_TENSORS = {
    **alike("loop over its elements, as `for x in t`", "mean prod dot norm"),
    **alike("write t.transpose(), or the indices the other way round: t[j, i]", "T permute mT"),
    **alike("convert its elements: Float32(t[i])", "astype to float"),
    **alike("index it, t[i, j]; its layout has them: t.layout.stride", "strides stride"),
    **alike("copy it into memory of the thread or block: its copy_from(t)", "copy clone"),
    **alike(
        "compute with its elements, or with a copy of a thread's own: t.local()", "+ +list +tuple +ndarray"
    ),
    "<": "compare its elements; of a thread's own copy t.map(lambda x: x > 0.0)",
}
"""What a ``LayoutTensor`` says."""
