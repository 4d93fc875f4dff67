"""What vectors, matrices and quaternions share: a struct of equal numbers, made for each type and size."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from types import GenericAlias
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Self, TypeVar, cast, get_args, get_origin

from weft.diagnostics import INDEX, LEFT, RIGHT, VALUE, a_, refuse
from weft.diagnostics.instead import instead
from weft.diagnostics.unfit import tell_of_methods
from weft.dtype import DType, DTypeLike, as_dtype
from weft.lang import struct
from weft.lang.bracketed import Bracketed
from weft.lang.hints import kind_of, meeting_hint, refuse_quotient
from weft.lang.number import Number, NumberLike, number_class, of_integers
from weft.lang.operators import SIGNS, function_of, part_by_part
from weft.lang.promote import promote
from weft.lang.python_number import python_number
from weft.lang.structs import replace_field
from weft.lang.tables import is_late
from weft.linalg.instead import OF_PARTS
from weft.math import sqrt

P = TypeVar("P", bound="Parts")


_INSIDE = frozenset("again element given map names of parts put usual".split())
"""What these have for each other, and nobody is to complete."""


class Unsaid:
    """In place of what a class has when its type of numbers is known."""

    def __get__(self, _: object, cls: type[Parts]) -> NoReturn:
        refuse("conversion", f"{cls.__name__} needs its type of numbers", hint=f"write {cls.usual}")


@instead(OF_PARTS)
@part_by_part
class Parts:
    """Numbers of one type with names, each a field of a struct; a value, as all structs are."""

    names: ClassVar[tuple[str, ...]] = cast("Any", Unsaid())
    element: ClassVar[type[Number]] = cast("Any", Unsaid())
    given: ClassVar[tuple[Any, ...]] = cast("Any", Unsaid())
    """What stands in the brackets: the type, and sizes."""
    usual: ClassVar[str]
    """A class of this kind by its short name and by its long one, for messages."""

    if TYPE_CHECKING:  # as all structs have

        def __init__(self, *parts: Any) -> None: ...
        def __weft_leaves__(self) -> list[Any]: ...

    @classmethod
    def again(cls, element: Any) -> type[Self]:
        """The class of as many numbers of another type."""
        raise NotImplementedError

    @classmethod
    def __weft_arguments__(cls, found: Any) -> tuple[Any, ...]:
        """What a type has in its brackets that is of this kind, by which variables of types are found."""
        if isinstance(found, type):
            return cast("type[Parts]", found).given if issubclass(found, cls) else ()
        return get_args(found) if get_origin(found) is cls else ()

    @classmethod
    def of(cls, parts: Sequence[Any]) -> Self:
        """The value of these numbers, in the type that they have: of literals alone, ours."""
        numbers = [part for part in parts if isinstance(part, Number)]
        kind = cls.again(number_class(numbers[0].dtype)) if numbers else cls
        value = object.__new__(kind)
        for name, part in zip(kind.names, parts, strict=True):
            setattr(value, name, part)
        return value

    @classmethod
    def __weft_given__(cls, value: Any) -> Any:
        """What is meant by an argument: by a sequence or an array of the numbers the value of these."""
        if isinstance(value, Parts):  # a matrix has a shape as well
            return value
        return cls(value) if isinstance(value, (list, tuple)) or getattr(value, "shape", ()) else value

    @classmethod
    def __weft_even__(cls, index: Any) -> tuple[Any, int, Any] | None:
        """In memory, the type, count and place of the number that ``v[index]`` names; None of a row."""
        return cls.element, len(cls.names), counted(index, len(cls.names))

    def __weft_with__(self, part: Any, value: Any) -> Any:
        """The numbers with some replaced: a field, those that ``v.xy`` or ``v[i]`` names."""
        if not isinstance(part, str):
            return self.insert(part, value)
        several = getattr(type(self), "__weft_several__", None)
        return (
            replace_field(self, part, value)
            if several is None or not several(part)
            else self.put(part, value)
        )

    def insert(self, index: Any, value: Any) -> Self:
        """The value with one number replaced."""
        return type(self)(*replaced(self.parts(), index, value))

    def put(self, names: str, value: Any) -> Self:
        """The value with several numbers replaced."""
        raise NotImplementedError

    def __setitem__(self, index: Any, value: Any) -> None:
        made = self.__weft_with__(index, value)  # on the host; in kernels a variable holds another value then
        for name in self.names:
            setattr(self, name, getattr(made, name))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in _INSIDE]

    def parts(self) -> tuple[Any, ...]:
        """The numbers, in order."""
        return tuple([getattr(self, name) for name in self.names])

    def map(self, function: Callable[..., Any], *others: Any) -> Self:
        """``function`` of each number, and of those of others like it."""
        return self.of(list(map(function, self.parts(), *[other.parts() for other in others])))

    def cast(self, to: DTypeLike) -> Self:
        """The same with numbers of another type, each converted as ``cast`` does."""
        return self.of([part.cast(as_dtype(to)) for part in self.parts()])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts())

    def __repr__(self) -> str:
        shown = [
            repr(p.value) if isinstance(p, Number) and "run time" not in repr(p) else "..." for p in self
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    @part_by_part
    def _each(self, other: Any, operator: str, swapped: bool = False) -> Any:
        """An operator, number by number; of two scalars' kind one for all."""
        if not isinstance(other, Parts):
            if not isinstance(python_number(other), (Number, bool, int, float)):
                return NotImplemented
            others: tuple[Any, ...] = (other,) * len(self.names)
        else:
            if other.names != self.names:
                sign = SIGNS[operator]
                hint = "both have to be of one shape"
                if hasattr(self, "rotate") and len(other.names) == 3:
                    hint = f"write {LEFT}.rotate({RIGHT}), which turns a vector"
                message = f"`{sign}` meets {type(self).__name__} and {type(other).__name__}"
                refuse("operand", message, hint=hint)
            others = other.parts()
        meet_in(f"`{SIGNS[operator]}`", *((other, self) if swapped else (self, other)))
        if operator == "truediv" and of_integers(self.parts()[0]) and of_integers(others[0]):
            refuse_quotient(type(self).__name__, RIGHT if swapped else LEFT)
        function = function_of(operator)
        pairs = zip(self.parts(), others, strict=True)
        return self.of([function(o, p) if swapped else function(p, o) for p, o in pairs])

    def __weft_elements__(self, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
        """What functions of numbers, as those of ``weft.math``, give for it."""
        message = f"functions of weft.math are of numbers and vectors, not of {a_(type(self).__name__)}"
        refuse("operand", message, hint="apply it to each number: m.map(sqrt)")

    def __weft_unlike__(self, other: object) -> Any:
        """What ``==`` gives where the other side has another type: it is refused of what has numbers too."""
        if isinstance(other, Parts):
            hint = f"convert one of them, {LEFT}.cast({other.element.__name__}), or compare their numbers"
        elif isinstance(python_number(other), (Number, bool, int, float, list, tuple)) or getattr(
            other, "shape", ()
        ):
            hint = f"write {type(self).__name__}(...), or compare its numbers: all(p == q for p in {LEFT})"
        else:
            return NotImplemented
        message = f"`==` of {a_(type(self).__name__)} and {kind_of(other)} would never hold"
        refuse("operand", message, hint=hint)

    def __bool__(self) -> bool:
        message = f"{a_(type(self).__name__)} is not a condition"
        refuse("condition", message, hint="write any(...) or all(...) around it, or compare it")

    def __neg__(self) -> Self:
        return self.of([-part for part in self.parts()])

    def __pos__(self) -> Self:
        return self

    def __add__(self, other: Any) -> Self:
        return self._each(other, "add") if isinstance(other, Parts) else cast("Any", NotImplemented)

    def __sub__(self, other: Any) -> Self:
        return self._each(other, "sub") if isinstance(other, Parts) else cast("Any", NotImplemented)

    def __truediv__(self, other: Any) -> Self:
        return cast("Any", NotImplemented) if isinstance(other, Parts) else self._each(other, "truediv")

    def __rmul__(self, other: NumberLike) -> Self:
        return self._each(other, "mul", swapped=True)


tell_of_methods(Parts)


def arguments(cls: Any, given: Any) -> tuple[Any, ...] | GenericAlias:
    """What stands in brackets, a type of numbers and sizes; of a type not known yet, its annotation."""
    items = cast("tuple[Any, ...]", given if type(given) is tuple else (given,))
    found = [get_args(item)[0] if get_origin(item) is Literal else item for item in items]
    if any(item is Any or isinstance(item, TypeVar) for item in found):
        return GenericAlias(cls, tuple(found))
    try:
        as_dtype(found[0])
    except (IndexError, TypeError):
        refuse("simd", f"{cls.__name__} needs its type of numbers first", hint=f"write {cls.usual}, say")
    return tuple([int(item) if isinstance(item, Number) else item for item in found])


@functools.cache
def made(
    base: type[P], name: str, element: type[Number], names: tuple[str, ...], sizes: tuple[int, ...] = ()
) -> type[P]:
    """The struct with these fields whose methods ``base`` has."""
    members: dict[str, Any] = {
        "__module__": base.__module__,
        "__doc__": base.__doc__,
        "__annotations__": dict.fromkeys(names, element),
        "__init__": base.__dict__["__init__"],
        "__repr__": Parts.__repr__,
        "names": names,
        "element": element,
        "given": (element, *sizes),
        "__weft_brackets__": (base, (element, *sizes)),
    }
    return cast("type[P]", struct(Bracketed(name, (base,), members)))


def _is_row(value: Any) -> bool:
    """Whether it is a tensor of which it is known how long it is."""
    return hasattr(value, "__weft_loop__") and isinstance(value.__weft_loop__()[0], int)


def numbers(cls: type[Any], given: Sequence[Any], hint: str) -> list[Any]:
    """The arguments of a constructor as a flat list of as many numbers as ``cls`` has."""
    found: list[Any] = []

    def take(value: Any) -> None:
        value = python_number(value)
        if isinstance(value, Number) and value.lanes > 1:
            found.extend([value[n] for n in range(value.lanes)])
        elif isinstance(value, (Number, bool, int, float)):
            found.append(value)
        elif isinstance(value, (tuple, list)) or hasattr(value, "tolist") or _is_row(value):
            for item in cast("Sequence[Any]", value):
                take(item)
        elif isinstance(value, Parts):
            found.extend(value.parts())
        else:
            refuse("conversion", f"{cls.__name__} is made of numbers, not of {kind_of(value)}", hint=hint)

    for value in given:
        take(value)
    if len(found) != len(cls.names):
        message = f"{cls.__name__} is made of {len(cls.names)} numbers, not of {len(found)}"
        refuse("conversion", message, hint=hint)
    return found


def picked(parts: Sequence[Any], index: Any) -> Any:
    """One of several numbers by its place, which may be known at run time only, and then is not checked."""
    index = python_number(index)
    if isinstance(index, Number) and index.dtype.is_integer and index.lanes == 1:
        if not hasattr(index.value, "owner"):
            return picked(parts, int(index))
        found = parts[0]
        for n, part in enumerate(parts[1:], 1):
            found = (index == n).select(part, found)
        return found
    if not isinstance(index, int) or isinstance(index, bool):
        refuse(
            "index", f"an index must be an integer, not {kind_of(index)}", hint="write an integer", part=INDEX
        )
    if not -len(parts) <= index < len(parts):
        refuse(
            "bounds",
            f"there is no place {index}: there are {len(parts)}",
            hint=f"count from 0 to {len(parts) - 1}",
            part=INDEX,
        )
    return parts[index]


def replaced(parts: Sequence[Any], index: Any, value: Any) -> list[Any]:
    """Numbers with another in one place, which may be known at run time only."""
    at = counted(index, len(parts))
    if is_late(at):
        return [(at == n).select(value, part) for n, part in enumerate(parts)]
    return [value if n == at else part for n, part in enumerate(parts)]


def counted(index: Any, count: int) -> Any:
    """A place among so many, from the start; one of run time is not checked."""
    return index if is_late(index) else picked(range(count), index)


def meet_in(what: str, a: Any, c: Any) -> None:
    """Refuse two of which the numbers meet in no type."""
    p, q = (x.parts()[0] if isinstance(x, Parts) else python_number(x) for x in (a, c))
    if not (isinstance(p, Number) and isinstance(q, Number)) or p.weak is not None or q.weak is not None:
        return  # what is not settled yet is told of by the numbers
    if promote(p.dtype, q.dtype) is None:
        shown = [type(x).__name__ for x in (a, c)]
        many = isinstance(a, Parts), isinstance(c, Parts)
        refuse(
            "mixed-types",
            f"{what} meets {' and '.join(shown)}, and neither holds all values of the other",
            hint=meeting_hint(what, number_class(p.dtype), number_class(q.dtype), many),
        )


def of_floats(what: str, x: Any) -> None:
    """Refuse what has integers where only floats make sense."""
    if isinstance(x, Parts) and not type(x).element.dtype.is_float:
        refuse(
            "argument-type",
            f"{what} takes floats, not {a_(type(x).__name__)}",
            hint="convert it: x.cast(Float32)",
        )


def norm(x: Parts) -> Any:
    """The root of the sum of the squares: of a vector or a quaternion its length, of a matrix Frobenius's.

    Of 16-bit floats it is computed in Float32, as the squares of 300 leave the range of Float16.
    """
    if not isinstance(cast("Any", x), Parts):
        message = f"norm takes a vector, a matrix or a quaternion, not {kind_of(x)}"
        refuse("argument-type", message, hint="write norm(vec3(x, y, z)), or hypot(x, y) of weft.math")
    of_floats("norm", x)
    return widened(lambda wide: sqrt(summed([part * part for part in wide])), x)


def widened(function: Callable[[Any], Any], x: Any) -> Any:
    """A function of vectors or matrices, of those of 16-bit floats in Float32, rounded at the end."""
    kind: DType = cast("type[Parts]", type(x)).element.dtype
    narrow = kind.is_float and kind.bits < 32
    return function(x.cast(DType.float32)).cast(kind) if narrow else function(x)


def summed(terms: Sequence[Any]) -> Any:
    """The sum, first to last."""
    return functools.reduce(lambda a, c: a + c, terms)


def same_kind(what: str, a: Any, c: Any) -> None:
    """Refuse what are not two of one kind and size."""
    if isinstance(a, Parts) and isinstance(c, Parts) and a.names == c.names:
        return meet_in(what, a, c)
    shown = " and ".join(type(x).__name__ if isinstance(x, Parts) else kind_of(x) for x in (a, c))
    message = f"{what} takes two vectors of one size, not {shown}"
    refuse("operand", message, hint=f"write {what}(a, b) for a and b like vec3", part=VALUE)
