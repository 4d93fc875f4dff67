"""What to write in place of an operator that is not there for its operands."""

from __future__ import annotations

from weft.lang.above import above

__all__ = ["INDICES", "compared_hint", "operand_hint"]

INDICES = frozenset({"Dimensions", "GlobalIndex"})
"""What ``thread_idx`` and its kin are."""


def operand_hint(left: str, right: str) -> str:
    """Of two that no operator combines, by the names of their classes."""
    kinds = {left, right}
    if kinds == {"Pointer"}:
        return "compute with their indices, or read their elements: p[i]"
    if "Pointer" in kinds:
        return "read an element, as in p[i], or move a pointer by p + n"
    if "LayoutTensor" in kinds:
        own = "t.tile[2, 2](i, j).local()"
        return f"compute element by element, t[i, j], or with a copy of a thread's own: {own}"
    if kinds & INDICES:
        return "take one of its numbers: thread_idx.x, say"
    if kinds & {"function", "method", "builtin_function_or_method"}:
        return "call it: write the parentheses"
    if "type" in kinds:
        return "make a value of the class: write Float32(...) and so on"
    if "NoneType" in kinds:
        return "give it a value first; a function without `return` gives None"
    if kinds & {"tuple", "list"} and (vector := next((k for k in (left, right) if _is_vector(k)), "")):
        return f"make a vector of it: {vector}(...)"
    if "complex" in kinds:
        return "write ComplexFloat32(re, im), from weft.complex"
    if kinds & {"str", "list", "tuple", "dict", "set", "ndarray"}:
        return "a kernel computes with numbers: take one out of it at compile time"
    if _is_vector(left) or _is_vector(right):
        return "go number by number: v.map(lambda p: ...), v.map(lambda p, q: ..., w)"
    return "convert one of them, or define the operator as a method of the @struct"


def _is_vector(kind: str) -> bool:
    return above().exporter(kind).endswith(".linalg") or kind.startswith("Vector[")


def compared_hint(left: str, right: str) -> str:
    """The same of two that are compared."""
    if _is_vector(left) or _is_vector(right):
        each = "all(p < q for p, q in zip(a, b))"
        return f"compare their numbers, {each}; weft.math.min and max take vectors, number by number"
    if "LayoutTensor" in (left, right):
        return "compare element by element, t[i, j]; of a thread's own copy t.map(lambda x: x > 0.0)"
    return operand_hint(left, right)
