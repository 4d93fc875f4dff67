"""What the compiler knows of a value: the static part, and the IR values (leaves) that complete it.

One mechanism serves parameters, variables that control flow assigns, calls and results: a value is
taken apart into its spec and its leaves, and built again from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any, Protocol, TypeGuard, cast

from weft.compiler.ir.core import Value
from weft.compiler.ir.types import Type, of_dtype, pointer
from weft.compiler.source.python import scope_of
from weft.diagnostics import a_, refuse
from weft.dtype import DType
from weft.lang.elaboration import current
from weft.lang.maybe import Maybe
from weft.lang.number import Number, number_class, type_name, value_of
from weft.lang.products import class_of, names_of, parts_of, remade
from weft.lang.text import RunTimeText
from weft.lang.told_apart import told_apart
from weft.lang.weak import OPEN, Closed, Open, opened
from weft.record import record


@record
class Leaf:
    """One machine value: the suffix of its name, its type, and what a host packs for it."""

    suffix: str
    type: Type
    dtype: DType
    pointer: bool = False


class Spec(Protocol):
    """The static part of a value; equal specs mean interchangeable code."""

    def leaves(self) -> Sequence[Leaf]:
        """The machine values that complete it, in order."""
        ...

    def build(self, leaves: Sequence[Value]) -> Any:
        """The value, from its leaves."""
        ...

    def describe(self) -> str:
        """How a message names it."""
        ...


def machine_leaves(spec: Spec) -> list[Leaf]:
    """What a launch passes for a value: its leaves, of a vector each lane by itself."""
    return [lane for leaf in spec.leaves() for lane in lanes_of(leaf)]


def lanes_of(leaf: Leaf) -> tuple[Leaf, ...]:
    """A leaf as scalars: itself, or the lanes of a vector."""
    kind, lanes = leaf.type.scalar, leaf.type.lanes
    if lanes == 1:
        return (leaf,)
    return tuple([Leaf(f"{leaf.suffix}[{n}]", kind, leaf.dtype) for n in range(lanes)])


class Composite(Protocol):
    """What gives its own spec and leaves, as pointers, tensors and structs do."""

    def __weft_spec__(self) -> Spec: ...

    def __weft_leaves__(self) -> list[Value]: ...


def is_composite(value: object) -> TypeGuard[Composite]:
    """Whether ``value`` gives its own spec and leaves."""
    return hasattr(type(value), "__weft_leaves__")


@record
class NumberSpec:
    """A number of some class; ``weak`` where literals are of it that nothing typed."""

    dtype: DType
    lanes: int = 1
    weak: Closed | Open | None = None

    def leaves(self) -> Sequence[Leaf]:
        """The machine values that complete it, in order."""
        return (Leaf("", of_dtype(self.dtype, self.lanes), self.dtype),)

    def build(self, leaves: Sequence[Value]) -> Number:
        """The value, from its leaves."""
        cls = number_class(self.dtype, self.lanes)
        return opened(cls.of(leaves[0])) if self.weak is OPEN else cls.of(leaves[0], self.weak)

    def describe(self) -> str:
        """How a message names it."""
        return number_class(self.dtype, self.lanes).__name__


@record
class PointerSpec:
    """An address of elements of one type in one address space."""

    dtype: DType
    space: int

    def leaves(self) -> Sequence[Leaf]:
        """The machine values that complete it, in order."""
        return (Leaf("", pointer(self.space), self.dtype, True),)

    def build(self, leaves: Sequence[Value]) -> Any:
        """The value, from its leaves."""
        from weft.lang.pointer import pointer_at

        return pointer_at(leaves[0], self.dtype, self.space)

    def describe(self) -> str:
        """How a message names it."""
        return f"Pointer[{type_name(self.dtype)}]"


@record
class PartsSpec:
    """A value of several parts: a tuple, a named tuple, a dataclass, a struct, an array."""

    items: tuple[Spec, ...]
    cls: type[Any] = tuple

    @property
    def pythons(self) -> bool:
        """Whether it is of a class of Python's, where each value has parts of its own types."""
        return not hasattr(self.cls, "__weft_leaves__")

    def names(self) -> Sequence[str]:
        """The names of the parts; none of a tuple's or an array's."""
        return names_of(self.cls)

    def leaves(self) -> Sequence[Leaf]:
        """The machine values that complete it, in order."""
        names = [f".{n}" for n in self.names()] or [f"[{n}]" for n in range(len(self.items))]
        return leaves_within(names, self.items)

    def build(self, leaves: Sequence[Value]) -> Any:
        """The value, from its leaves."""
        return remade(self.cls, build_each(self.items, leaves))

    def describe(self) -> str:
        """How a message names it: with the lanes that a struct leaves open."""
        each = [item.describe() for item in self.items]
        if self.cls is Maybe:
            return f"{each[1]} or None"
        if self.cls is tuple:
            return f"({', '.join(each)})"
        opened: Sequence[str] = getattr(self.cls, "__weft_open__", tuple)()
        lanes = [f"{n}: {shown}" for n, shown in zip(self.names(), each, strict=False) if n in opened]
        return f"{self.cls.__name__}({', '.join(lanes)})" if lanes else self.cls.__name__


class StaticSpec:
    """Any Python object, known at compile time; equal where the objects lead to one code.

    What a container holds counts as it is when specs are first compared.
    """

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value: Any = value
        self._key: tuple[object, ...] | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What tells the object apart."""
        if self._key is None:
            self._key = told_apart(self.value)
        return self._key

    @key.setter
    def key(self, key: tuple[object, ...]) -> None:
        self._key = key

    def leaves(self) -> Sequence[Leaf]:
        """The machine values that complete it, in order."""
        return ()

    def build(self, leaves: Sequence[Value]) -> Any:
        """The value, from its leaves."""
        return self.value

    def describe(self) -> str:
        """How a message names it."""
        shown = getattr(self.value, "__name__", None) or repr(self.value)
        return f"{shown} (known at compile time)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticSpec) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def leaves_within(names: Iterable[str], specs: Iterable[Spec]) -> list[Leaf]:
    """The leaves of several values, each with the name of its value before its own."""
    return [
        Leaf(f"{name}{leaf.suffix}", leaf.type, leaf.dtype, leaf.pointer)
        for name, spec in zip(names, specs, strict=True)
        for leaf in spec.leaves()
    ]


def build_each(specs: Sequence[Spec], leaves: Sequence[Value]) -> list[Any]:
    """Several values from the concatenation of their leaves."""
    out: list[Any] = []
    start = 0
    for spec in specs:
        count = len(spec.leaves())
        out.append(spec.build(leaves[start : start + count]))
        start += count
    return out


def spec_of(value: Any) -> Spec:
    """The spec of any value; a Python object is static, whatever it is."""
    if isinstance(value, Number):
        closed = value.weak if isinstance(value.weak, Closed) else None
        return NumberSpec(value.dtype, value.lanes, closed)
    if is_composite(value):
        return value.__weft_spec__()
    parts = parts_of(value)
    if parts is not None:
        return PartsSpec(tuple(map(spec_of, parts)), class_of(value))
    if isinstance(value, RunTimeText):
        hint = "print it here, or pass the numbers themselves"
        refuse("text", "a text with run-time numbers stays where it is made", hint=hint)
    if type(value) in (list, dict, set) and holds_values(value):
        kind = type(value).__name__
        refuse(
            "compile-time-container",
            f"a {kind} of run-time values is not a value itself: only the code where it was made can use it",
            hint="write a tuple" if kind == "list" else "write a tuple or a @struct",
        )
    if type(value) not in _PLAIN:
        _no_values_inside(value)
    return StaticSpec(value)


_PLAIN = frozenset(
    {bool, int, float, str, tuple, list, dict, set, type, type(None), ModuleType, BuiltinMethodType}
)
"""Python's own, in which nothing is hidden."""


def _no_values_inside(value: Any) -> None:
    """Refuse an object that has run-time values in it, where it would be taken for one that is static."""
    kind = cast("type[Any]", type(value))
    refused = getattr(kind, "__weft_spec__", None)
    if refused is not None:
        refused(value)
    if not isinstance(value, type) and any(map(_holds_deep, inside(value))):
        name = kind.__name__
        code = isinstance(value, (FunctionType, MethodType))
        refuse(
            "escaped",
            f"{a_('function' if code else name)} that holds run-time values is Python's own: only the code "
            "that made it can use it",
            hint="write a lambda here that calls it, or give it the values as arguments"
            if code
            else f"make {name} a @struct or a dataclass with annotated fields, or pass its values",
        )


def inside(value: Any) -> list[Any]:
    """What an object of Python's has in it: its attributes, or what a function refers to."""
    if isinstance(value, MethodType):
        return [value.__self__]
    if isinstance(value, FunctionType):
        return [*scope_of(value).captured().values()]
    slots = getattr(cast("type[Any]", type(value)), "__slots__", ())
    names = (slots,) if isinstance(slots, str) else cast("tuple[str, ...]", slots)
    return [*getattr(value, "__dict__", {}).values(), *(getattr(value, name, None) for name in names)]


_DEEPEST = 3
"""How far values are looked for in objects of objects."""


def _holds_deep(value: Any, depth: int = _DEEPEST) -> bool:
    if holds_values(value):
        return True
    if depth == 0 or type(value) in _PLAIN or isinstance(value, type):
        return False
    return any(_holds_deep(held, depth - 1) for held in inside(value))


def given_spec(value: Any, integers: bool = False) -> Spec:
    """The spec of what is given to a function, which may type the float literals in it."""
    if is_literal(value, integers):
        return NumberSpec(value.dtype, value.lanes, OPEN)
    parts = parts_of(value)
    if parts is None:
        return spec_of(value)
    return PartsSpec(tuple([given_spec(part, integers) for part in parts]), class_of(value))


def is_literal(value: Any, integers: bool) -> bool:
    """Whether a value is a run-time float of literals whose type is not settled, or an integer of such."""
    if not isinstance(value, Number) or value.weak is None or isinstance(value.weak, Closed):
        return False
    return value.dtype.is_float or (integers and value.dtype.is_integer)


def holds_values(value: Any) -> bool:
    """Whether a container has something in it that exists at run time."""
    if isinstance(value, Value):
        return True
    if isinstance(value, Number):
        return isinstance(value.value, Value)
    if is_composite(value):
        names = (*getattr(type(value), "__slots__", ()), *getattr(value, "__dict__", ()))
        return any(holds_values(getattr(value, name, None)) for name in names)
    if isinstance(value, dict):
        return any(map(holds_values, cast("dict[Any, Any]", value).values()))
    if isinstance(value, (tuple, list, set)):
        return any(map(holds_values, cast("tuple[Any, ...]", value)))
    return False


def leaves_by(spec: Spec, value: Any) -> list[Value]:
    """The IR values that complete a spec, of the value that it built: what is known within that has none."""
    if not spec.leaves():
        return []
    captured = getattr(value, "captured", None)
    parts = captured() if captured is not None else parts_of(value)
    if parts is None or (is_composite(value) and captured is None):
        return leaves_of(value)
    items: Sequence[Spec] = getattr(spec, "items")  # noqa: B009
    return [leaf for item, part in zip(items, parts, strict=True) for leaf in leaves_by(item, part)]


def leaves_of(value: Any) -> list[Value]:
    """The IR values that complete ``spec_of(value)``."""
    if isinstance(value, Number):
        return [value_of(value, current())]
    if is_composite(value):
        return value.__weft_leaves__()
    return [leaf for part in parts_of(value) or () for leaf in leaves_of(part)]
