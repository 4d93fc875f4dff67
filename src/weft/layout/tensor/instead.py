"""What methods that arrays of other libraries have are here, of tensors in kernels."""

from __future__ import annotations


def _all(text: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, text)


OF_TENSORS = {
    **_all("loop over its elements, as `for x in t`", "mean", "prod", "dot", "norm"),
    **_all("write t.transpose(), or the indices the other way round: t[j, i]", "T", "permute", "mT"),
    **_all("convert its elements: Float32(t[i])", "astype", "to", "float"),
    **_all("index it, t[i, j]; its layout has them: t.layout.stride", "strides", "stride"),
    **_all("copy it into memory of the thread or block: its copy_from(t)", "copy", "clone"),
    **_all(
        "compute with its elements, or with a copy of a thread's own: t.local()",
        "+",
        "+list",
        "+tuple",
        "+ndarray",
    ),
    "<": "compare its elements; of a thread's own copy t.map(lambda x: x > 0.0)",
}
"""What a ``LayoutTensor`` says."""
