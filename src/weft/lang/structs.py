"""``@struct``: small records, with methods and operators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NoReturn, TypeGuard, TypeVar, cast, dataclass_transform, overload
from weakref import WeakSet

from weft.compiler.ir.core import Value
from weft.compiler.source.python import definition_of, named_in
from weft.compiler.source.quoted import unquoted
from weft.diagnostics import VALUE, CompileError, a_, caller_location, nearest, refuse, undefined
from weft.diagnostics.unfit import frame_above, told_of
from weft.dtype import DType
from weft.lang.any_lanes import closed, is_open
from weft.lang.decorators import Compiled, Func
from weft.lang.elaboration import current, maybe_current
from weft.lang.equality import compare_fields
from weft.lang.generic import describe_annotation, substitute
from weft.lang.number import Number, to_type
from weft.lang.objects import STATE, Merged, has_copy, is_own, note_copy, note_made, state_of
from weft.lang.products import class_of, copying, part_names, refuse_change, remade
from weft.lang.promote import fits
from weft.lang.python_number import python_number
from weft.lang.spec import PartsSpec, Spec, leaves_of, spec_of

T = TypeVar("T")
_KEEP = frozenset(
    {"__init__", "__new__", "__post_init__", "__repr__", "__iter__", "__init_subclass__", "__class_getitem__"}
)


_declared: WeakSet[type[Any]] = WeakSet()


def is_struct(cls: object) -> bool:
    """Whether ``cls`` is a class made by ``struct``."""
    return isinstance(cls, type) and "__weft_struct__" in cls.__dict__


def declared_structs() -> list[type[Any]]:
    """All classes that ``@struct`` has made structs, while they exist."""
    return list(_declared)


def takes_fields(cls: type[Any]) -> bool:
    """Whether a struct is made of its fields alone, each as it is given."""
    return cls.__weft_takes_fields__


def struct_fields(cls: type[Any]) -> dict[str, Any]:
    """Field names and evaluated annotations, in order."""
    found: dict[str, Any] | None = cls.__dict__.get("__weft_fields__")
    if found is None:
        import dataclasses
        import sys

        module = sys.modules.get(cls.__module__)
        types: dict[str, Any] = cls.__weft_types__
        scope = {**(vars(module) if module else {}), **cls.__weft_locals__, **types}
        found = {}
        for field in dataclasses.fields(cls):
            try:
                annotation = unquoted(field.type, lambda text: eval(text, scope))
            except NameError as error:
                refuse(
                    "annotation",
                    f"the type `{field.type}` of {cls.__name__}.{field.name} does not evaluate: {error}",
                    hint=undefined(error, str(field.type), scope, "define or import what it names"),
                )
            found[field.name] = substitute(annotation, types)
        cls.__weft_fields__ = found
    return found


def _spec(self: object) -> Spec:
    if isinstance(state := state_of(self), Merged):
        return state.blank  # to ask for its fields would be to choose them
    return PartsSpec(tuple([spec_of(getattr(self, n)) for n in struct_fields(type(self))]), type(self))


def _leaves(self: object) -> list[Value]:
    note_copy(self)
    return [leaf for n in struct_fields(type(self)) for leaf in leaves_of(getattr(self, n))]


def _names(cls: type[Any]) -> tuple[str, ...]:
    return tuple(struct_fields(cls))


def _open_fields(cls: type[Any]) -> list[str]:
    """The fields that take any number of lanes."""
    return [name for name, annotation in struct_fields(cls).items() if is_open(annotation)]


def _is_number_class(annotation: object) -> TypeGuard[type[Number]]:
    return isinstance(annotation, type) and issubclass(annotation, Number)


def _convert(self: object) -> None:
    for name, annotation in struct_fields(type(self)).items():
        value = getattr(self, name)
        made = converted(type(self), name, annotation, value)
        if made is not value:
            object.__setattr__(self, name, made)


def converted(owner: type[Any], name: str, annotation: Any, value: Any) -> Any:
    """A value as a field of this annotation, or an element of an array, holds it."""
    held = owner.__name__ + (name if name[:1] == "[" else f".{name}")
    if _is_number_class(annotation):
        cls = closed(annotation, value)
        if type(value) is cls or cls is Number:
            return value
        if maybe_current() is None:
            if isinstance(literal := python_number(value), (bool, int, float)):
                fits(literal, cls)
            return cls(value)
        return cls.of(to_type(value, cls, current(), held))
    if hasattr(annotation, "__weft_given__"):
        value = annotation.__weft_given__(value)
    if is_struct(annotation) and not isinstance(value, annotation):
        wanted = describe_annotation(annotation)
        message = f"{held} is {a_(wanted)}, not {a_(type(value).__name__)}"
        refuse("field-type", message, hint=f"make one: {wanted}(...)", part=VALUE)
    if hasattr(annotation, "__weft_items__"):
        return annotation.of(annotation.given(value))
    return value


_PYTHONS = {"int": "Int, or Int32", "float": "Float32 or Float64", "bool": "Bool"}
"""Python's number types, as classes and as unevaluated annotations name them."""


def _check_annotations(cls: type[Any]) -> None:
    """Refuse fields of Python's number types, which would keep what they are given as it is."""
    for name, annotation in cls.__annotations__.items():
        written = annotation.__name__ if isinstance(annotation, type) else annotation
        if isinstance(written, str) and written in _PYTHONS and annotation in (written, int, float, bool):
            from weft.diagnostics.wrote import field_place

            raise CompileError.at(
                "annotation",
                f"the field {cls.__name__}.{name} is annotated `{written}`, which has no size in memory",
                field_place(caller_location(), cls.__name__, name),
                notes=(f"a value that is known at compile time is annotated Comptime[{written}]",),
                hints=(f"write {_PYTHONS[written]}",),
            )


def _without_fields(cls: type[Any], usual: Callable[..., None]) -> Callable[..., None]:
    """What makes a struct that has no fields: given values, it says so."""
    untyped = [n for n, v in vars(cls).items() if n[:1] != "_" and isinstance(v, (bool, int, float, Number))]

    @functools.wraps(usual)
    def make(self: object, *given: Any, **named: Any) -> None:
        if not untyped or not (given or named):
            usual(self, *given, **named)
            return
        message = f"{cls.__name__} has no fields: `{untyped[0]}` has no type, and is one value for all"
        hint = f"write a type behind each name, as in {untyped[0]}: Float32 = {vars(cls)[untyped[0]]!r}"
        refuse("call", message, hint=hint)

    return make


def check_field(value: object, name: str) -> None:
    """Whether ``value.name`` can be assigned."""
    if not is_struct(type(value)):
        if name in (part_names(class_of(value)) or ()):
            refuse_change(value, name)
        refuse(
            "attribute",
            f"cannot assign to .{name} of {a_(type(value).__name__)} in a kernel",
            notes=("only fields of a @struct that a local variable holds can be assigned",),
            hint="use a local variable, or write to memory",
        )
    fields = struct_fields(type(value))
    if name not in fields:
        if hasattr(value, name):
            refuse(
                "unknown-attribute",
                f"`.{name}` of {a_(type(value).__name__)} is no field, and cannot be assigned",
                notes=(f"its fields are {', '.join(fields)}",),
                hint="assign its fields one by one",
            )
        guess = nearest(name, fields)
        refuse(
            "unknown-attribute",
            f"{type(value).__name__} has no field `{name}`",
            notes=(f"it has {', '.join(fields)}",),
            hint=f"write `.{guess}`" if guess else "declare it in the @struct",
        )


def replace_field(value: object, name: str, new: Any) -> Any:
    """``value`` with one field changed: structs are values, so assignment makes a new one."""
    check_field(value, name)
    fields = struct_fields(type(value))
    new = converted(type(value), name, fields[name], new)
    return remade(type(value), [new if field == name else getattr(value, field) for field in fields])


def is_value(value: Any) -> bool:
    """Whether it has parts and is a value: where one is set, there is another value."""
    if isinstance(value, Number):
        return value.lanes > 1
    kind = cast("type[Any]", type(value))
    return is_struct(kind) or (hasattr(kind, "__weft_items__") and not value.in_memory)


def with_part(value: Any, part: Any, new: Any) -> Any:
    """A value with another field (a name) or item (an index)."""
    hook = getattr(cast("type[Any]", type(value)), "__weft_with__", None)
    if hook is not None:
        return hook(value, part, new)
    if isinstance(part, str):
        return replace_field(value, part, new)
    value[part] = new  # which says that it has no items
    return value


def change(value: Any, made: Any) -> None:
    """Give a struct the fields of another of its class: it is still the object that all its names hold."""
    for name in value.__weft_names__():
        object.__setattr__(value, name, getattr(made, name))


def lost_field(parameter: str, function: str, ready: bool) -> NoReturn:
    """Say no to an assignment that only changes a copy.

    ``function`` is empty in a kernel; one that is ``ready`` is weft's.
    """
    if not function:
        refuse(
            "lost-field",
            f"`{parameter}` is each thread's own copy here, and nothing reads it after this assignment",
            notes=("a struct is passed by value",),
            hint="write the result to memory that the kernel takes a pointer to",
        )
    hint = "change a copy that is the caller's own, and store that where it is to be: `x = copy.copy(x)`"
    if not ready:
        call = f"x = x.{function}(...)" if parameter == "self" else f"x = {function}(x, ...)"
        hint += f"; or return `{parameter}` too and write `{call}`"
    refuse(
        "lost-field",
        f"`{parameter}` is a copy here: what is assigned to its fields is lost when {function} returns",
        notes=("what memory, a branch or a loop gives is a copy, which is neither returned nor passed on",),
        hint=hint,
    )


def lost_copy(name: str, memory: str) -> NoReturn:
    """Say no to an assignment to a part of what was read from memory, which nothing reads."""
    refuse(
        "lost-field",
        f"`{name}` is a copy of what `{memory}` has in memory, and nothing reads it after this assignment",
        notes=("what is read from memory is a value, as a number is: memory does not change with it",),
        hint=f"assign it where it lies, as in `{memory}[i].x = ...`, or store `{name}` there behind this",
    )


def as_read(value: Any, name: str) -> Any:
    """A value as a run-time variable or a parameter gives it, of which a helper would set a copy's fields."""
    kind = cast("type[Any]", type(value))
    if is_struct(kind):
        value.__dict__["__weft_read__"] = name
        for field in struct_fields(kind):
            as_read(getattr(value, field), f"{name}.{field}")
    elif issubclass(kind, tuple):
        for n, part in enumerate(value):
            as_read(part, f"{name}[{n}]")
    return value


def _copied(self: object) -> Any:
    made = remade(type(self), [getattr(self, name) for name in struct_fields(type(self))])
    note_made(made, True)
    return made


def _copied_deep(self: object, memo: Any) -> Any:
    from copy import deepcopy

    with copying(self, memo):
        made = remade(type(self), [deepcopy(getattr(self, n), memo) for n in struct_fields(type(self))])
    # of values nobody knows here which of them are one: what is made of these is a value, too
    note_made(made, state_of(self) is None or is_own(self))
    return made


def _check_region(self: object) -> None:
    """Refuse to change in a run-time branch or loop what was made before it, as if all ways led through."""
    b, name = maybe_current(), type(self).__name__
    if b is None:
        return
    if state_of(self) is None:  # its class has an ``__init__`` of its own, which runs now
        note_made(self, True)
    if has_copy(self):
        refuse(
            "shared-value",
            f"this helper sets a field of {a_(name)} of which there is a copy, and that would not change",
            notes=(f"{a_(name)} that branches, loops or calls have given on is a value, as a number is",),
            hint=f"give the helper copy.copy(...) of it, or make it a @func that returns the {name}",
        )
    state = state_of(self)
    if state is None or (state.region is not b.region and not is_own(self)):
        refuse(
            "lost-field",
            f"a helper sets a field of {a_(name)} in a run-time branch or loop, which was made before it",
            notes=("a helper is Python at compile time, which knows of no branches",),
            hint=f"make the helper a @func that returns the {name}, and assign it at the call",
        )


def _assign(self: object, name: str, value: Any) -> None:
    """``p.x = value`` outside of compiled code: as the constructor takes it."""
    held = self.__dict__.get("__weft_read__")
    if held is not None and maybe_current() is not None:
        refuse(
            "lost-field",
            f"this helper is given a copy of `{held}`, whose fields it cannot set",
            notes=("a helper is Python at compile time, which is given what the variable holds",),
            hint=f"make the helper a @func that returns the {type(self).__name__}, and assign it at the call",
        )
    _check_region(self)
    several = getattr(type(self), "__weft_several__", None)
    if several is not None and several(name):
        made = with_part(self, name, value)
        for part in name:
            _assign(self, part, getattr(made, part))
        return
    fields = struct_fields(type(self))
    if name not in fields:
        check_field(self, name)
    b, state = maybe_current(), state_of(self)
    if b is not None and state is not None:
        if state.region is not b.region or isinstance(state, Merged):
            b.change(self, with_part(self, name, value))
            return
        b.moment += 1
    object.__setattr__(self, name, converted(type(self), name, fields[name], value))


def part_of_one(self: object, name: str) -> Any:
    """``__getattr__`` of structs: a field of what is one of several objects, which has none of its own."""
    state = self.__dict__.get(STATE)
    if isinstance(state, Merged) and name in state.fields:
        return current().part_of(self, name)
    raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)


def is_mergeable(cls: type[Any]) -> bool:
    """Whether a value of a struct may be one of several objects: nothing hides that a field is not there."""
    hidden = any(hasattr(cls, name) for name in struct_fields(cls))
    asks = cls.__getattr__ is part_of_one or hasattr(cls, "__weft_several__")
    return asks and not hidden and not _open_fields(cls)


def _element_type(annotation: Any) -> DType:
    from weft.lang.elements import element_type

    return element_type(annotation)


class _NumPyType:
    """What ``np.dtype(S)`` asks of a class."""

    def __get__(self, _: object, cls: type[Any]) -> Any:
        return _element_type(cls).numpy


@overload
@dataclass_transform()
def struct(cls: type[T], /) -> type[T]: ...


@overload
@dataclass_transform()
def struct(*, pack: int = ..., align: int = ...) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform()
def struct(cls: type[T] | None = None, /, *, pack: int = 0, align: int = 1) -> Any:
    """Make a class with annotated fields a struct.

    What a function makes is an object, as in Python: ``p.x = 1`` changes it for all its names, and for the
    code that calls. What is read from memory is a copy. Methods and operators compile like ``weft.func``.
    Fields are numbers, SIMD values, arrays, pointers, other structs; any other object is known at compile
    time. ``==`` compares field by field, unless the class defines it.

    In memory the fields lie as C puts them. ``np.dtype(Particle)`` is NumPy's type of such memory (NumPy 2.4;
    ``as_dtype(Particle).numpy`` with any).

    Args:
        cls: the class.
        pack: in memory, no field is aligned to more bytes than these: 1 leaves no gaps, as NumPy's
            structured types and ``_pack_ = 1`` of ctypes.
        align: in memory, the struct is aligned to these bytes at least: 16 lets it be read at once.

    Example:
        >>> from weft import Float32, struct
        >>> @struct
        ... class Vec2:
        ...     x: Float32
        ...     y: Float32
        ...
        ...     def dot(self, other: "Vec2") -> Float32:
        ...         return self.x * other.x + self.y * other.y
        >>> Vec2(1.0, 2.0)
        Vec2(x=Float32(1.0), y=Float32(2.0))
        >>> Vec2(1.0, 2.0) == Vec2(1.0, 2.0)
        True
    """
    scope = dict(frame_above(1).f_locals)
    for name, value in (("pack", pack or 1), ("align", align)):
        if type(value) is not int or value < 1 or value & (value - 1):
            refuse("alignment", f"{name}={value!r} is not a power of two", hint=f"write {name}=4, say")

    def make(cls: type[T]) -> type[T]:
        return _made(cls, scope, pack, align)

    return make if cls is None else make(cls)


def _methods_of(cls: type[Any]) -> tuple[dict[str, FunctionType], list[FunctionType]]:
    """The methods, which are to be compiled, and all functions; static methods are compiled here."""
    methods: dict[str, FunctionType] = {}
    functions: list[FunctionType] = []
    for name, item in list(vars(cls).items()):
        if name in _KEEP and isinstance(item, Compiled):
            message = f"{name} of {cls.__name__} runs as Python where one is made, and cannot be a @func"
            hint = (
                "leave @func out, and call one in it for what is decided at run time: self.x = f(self.x, y)"
            )
            refuse("decorator", message, hint=hint)
        if name not in _KEEP and isinstance(item, FunctionType):
            methods[name] = item
            functions.append(item)
        elif isinstance(item, staticmethod) and not isinstance(item.__func__, Compiled):
            functions.append(cast("FunctionType", item.__func__))
            compiled: Func[..., Any] = Func(definition_of(functions[-1]), {})
            setattr(cls, name, staticmethod(compiled))
    return methods, functions


def _name_around(
    made: Any, functions: Sequence[FunctionType], scope: dict[str, Any], variables: tuple[Any, ...]
) -> None:
    """Let the struct and its functions know the names that annotations use, the struct's own among them."""
    annotations = [a for each in (made, *functions) for a in each.__annotations__.values()]
    made.__weft_locals__ = {**named_in(annotations, scope), made.__name__: made}
    for function in functions:  # whose annotations may name the struct
        function.__dict__["__weft_locals__"] = made.__weft_locals__
        function.__dict__["__weft_variables__"] = variables


def _made(cls: type[T], scope: dict[str, Any], pack: int, align: int) -> type[T]:
    """The class as a struct."""
    import dataclasses

    if not isinstance(cls, type):  # pyright: ignore[reportUnnecessaryIsInstance]
        what = "a function" if callable(cls) else a_(type(cls).__name__)
        refuse("decorator", f"@struct goes on a class, not on {what}", hint="write @func for a function")
    methods, functions = _methods_of(cls)
    _check_annotations(cls)
    own: Any = getattr(cls, "__post_init__", None)
    takes_fields = own is None and "__init__" not in vars(cls)

    def finish(self: object) -> None:
        note_made(self, True)
        _convert(self)
        if own is not None:
            own(self)

    setattr(cls, "__post_init__", finish)  # noqa: B010  (before dataclass, whose __init__ calls it)
    try:
        made: Any = dataclasses.dataclass(eq=False)(cls)
    except ValueError:
        message = f"a default of {cls.__name__} is a list or the like, which all its values would share"
        refuse("field-type", message, hint="leave it out, and give a value where one is made")
    except TypeError:
        message = f"a field of {cls.__name__} without a default stands behind one that has one"
        refuse("field-type", message, hint="put those with defaults last")
    made.__init__ = told_of(made.__init__)
    if takes_fields and not dataclasses.fields(made):
        made.__init__ = _without_fields(made, made.__init__)
    for name, method in methods.items():
        setattr(made, name, Func(definition_of(method), {}))
    compare_fields(made, tuple(field.name for field in dataclasses.fields(made)))
    made.__weft_names__, made.__weft_open__ = classmethod(_names), classmethod(_open_fields)
    made.__setattr__ = _assign
    if not hasattr(made, "__getattr__"):
        made.__getattr__ = part_of_one
    made.__copy__, made.__deepcopy__ = _copied, _copied_deep
    made.__weft_struct__ = True
    _declared.add(made)
    made.__weft_takes_fields__ = takes_fields
    made.__weft_pack__, made.__weft_align__ = pack, align
    made.__weft_element__ = staticmethod(_element_type)
    made.__numpy_dtype__ = _NumPyType()
    variables: tuple[Any, ...] = getattr(made, "__parameters__", ())
    made.__weft_types__ = {v.__name__: v for v in variables}
    _name_around(made, functions, scope, variables)
    if variables:
        from weft.lang.generic_struct import make_generic

        make_generic(made)
    made.__weft_spec__ = _spec
    made.__weft_leaves__ = _leaves
    return made
