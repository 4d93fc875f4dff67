"""How a kernel's parameter takes a host's argument."""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import partial
from types import FunctionType, MethodType, NoneType
from typing import Any, cast, get_args, get_origin

from weft.abi.formats import limits, overflows, wrap
from weft.compiler.source.definition import MISSING, Definition, Parameter
from weft.diagnostics import OBJECT, VALUE, CompileError, a_, in_digits
from weft.diagnostics.problems import Problems
from weft.dtype import DType, dtype_hint, no_struct
from weft.lang.any_lanes import closed
from weft.lang.decorators import Func
from weft.lang.elements import ElementType, element_type
from weft.lang.enums import EnumSpec, place_of
from weft.lang.fold import has_lanes
from weft.lang.generic import bound_of, has_variables, is_open_number, type_meant
from weft.lang.maybe import without_none
from weft.lang.number import CLASSES, Number, number_class, type_name
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.products import all_parts, annotations_of, class_of, is_numeric, names_of, part_names
from weft.lang.promote import promote
from weft.lang.signature import describe_annotation
from weft.lang.spec import NumberSpec, PartsSpec, PointerSpec, Spec, StaticSpec
from weft.lang.structs import is_struct, struct_fields
from weft.lang.type_variables import outside, type_of

Accepted = tuple[Spec, list[Any]]
"""A spec, and what to pack for each of its leaves: a number, or an object with ``address``."""
Adopt = Callable[[Any, Any], Any]
"""Of an annotation and a value: an array as a parameter of that annotation takes it, others as they are."""


_FUNCTIONS: frozenset[Any] = frozenset((FunctionType, Func, MethodType, partial))


def _as_given(annotation: Any, value: Any) -> Any:
    return value


class Mismatch(Exception):
    """An argument that a parameter does not take: what was found, what is allowed, what instead."""

    def __init__(
        self, found: str, allowed: str, hint: str = "", annotation: str = "", copied: str = ""
    ) -> None:
        super().__init__(f"found {found}, allowed is {allowed}")
        self.found = found
        self.allowed = allowed
        self.hint: str = (
            f"pass {copied}, which then has what is written{', ' * bool(hint)}{hint}" if copied else hint
        )
        self.annotation = annotation
        """What is wrong with the parameter itself, whatever the argument."""
        self.copied = copied
        """A copy of the array ``x`` that would do."""
        self.instead = hint
        """What would do instead of a copy."""


def note_mismatch(
    problems: Problems, fn: Definition, p: Parameter, found: Mismatch, at: int | str | None
) -> None:
    """Say that a parameter does not take an argument, or anything."""
    if found.annotation:
        message = f"`{p.name}` of {fn.name} {found.annotation}"
        problems.add("annotation", message, found.hint, place=fn.place(p.name))
        return
    message = f"argument `{p.name}` of {fn.name} takes {found.allowed}, not {found.found}"
    hint = found.hint
    if found.copied:
        from weft.compiler.source.writes import how_written

        copy = of_argument(found.copied)
        hint = f"pass {copy}"
        how = how_written(fn, p.name)
        if how:
            hint = f"{fn.name} {how} to it: pass `changed = {copy}`, and after synchronize() write "
            whole = f"np.asarray(memoryview({OBJECT}))" if "memoryview" in copy else OBJECT
            hint += f"`{whole}[...] = changed`"
        hint += f", {found.instead}" if found.instead else ""
    allowed = found.allowed if found.allowed.startswith(("a ", "an ")) else a_(found.allowed)
    problems.add("argument-type", message, hint or f"pass {allowed}", at=at)


def of_argument(advice: str) -> str:
    """Advice about an array ``x``, as advice about the argument that a message is labelled with."""
    return re.sub(r"\bx\b", OBJECT, advice)


def accept(parameter: Parameter, value: Any, adopt: Adopt = _as_given) -> Accepted:
    """The spec and machine values of ``value`` for ``parameter``; ``adopt`` sees it first, or its fields.

    Raises:
        Mismatch: the parameter does not take the value.
    """
    if parameter.comptime:
        value = as_it_is(value)
        if parameter.variable or (get_origin(parameter.annotation) or parameter.annotation) is type:
            value = type_meant(value)
            if isinstance(value, str) and not parameter.variable:
                raise Mismatch(f"the str {value!r}", "a type known at compile time", dtype_hint(value))
        _check_comptime(parameter.annotation, value)
        return StaticSpec(value), []
    return accept_as(parameter.annotation, value, adopt)


def as_it_is(value: Any) -> Any:
    """A value of which the program may change no container any more, where it has such."""
    kind = cast("type[Any]", type(value))
    if kind is list or kind is tuple:
        items: list[Any] = [as_it_is(item) for item in value]
        return items if kind is list else tuple(items)
    if kind is dict:
        return {key: as_it_is(item) for key, item in value.items()}
    return set[Any](value) if kind is set else value


_COMPTIME: dict[Any, tuple[type, ...]] = {
    int: (numbers.Integral,),
    float: (numbers.Real,),
    bool: (bool, numbers.Integral),
    str: (str,),
}
"""What a parameter takes that is annotated ``Comptime[int]``, say; others take any object."""


def _check_comptime(annotation: Any, value: Any) -> None:
    """Refuse a value for ``Comptime[int]`` that is no int, and its like."""
    kinds = _COMPTIME.get(annotation) if isinstance(annotation, type) else None
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()  # of a NumPy scalar
    if kinds is None or isinstance(value, (*kinds, Number)):
        return
    name: str = annotation.__name__
    hint = f"pass {name}({value!r}), if that is what you mean" if isinstance(value, (str, float)) else ""
    raise Mismatch(describe(value), f"{a_(name)} known at compile time", hint)


def is_open(annotation: Any) -> bool:
    """Whether the value alone decides what a parameter is: no annotation, ``Any``, a type variable."""
    known = annotation is MISSING or annotation is Any or is_open_number(annotation)
    return known or bound_of(annotation) is not None


def decides(annotation: Any) -> bool:
    """Whether an annotation says which machine type a parameter has, where it may be None of the value."""
    annotation = without_none(annotation) or annotation
    origin: Any = get_origin(annotation) or annotation
    if not isinstance(origin, type):
        return False
    cls: type[Any] = origin
    machine = issubclass(cls, (Number, Pointer)) or hasattr(cls, "__weft_accept__") or is_struct(cls)
    parts = issubclass(cls, Enum) or _parts_wanted(annotation, origin) is not None
    return machine or parts or bound_of(cls) is not None


_PYTHON: dict[type, DType] = {bool: DType.bool, int: DType.int64, float: DType.float64}


def literal_type(value: Any) -> DType | None:
    """What a number of Python or NumPy is where nothing says another type; None of any other value."""
    kind = cast("type[Any]", type(value))
    if kind in _PYTHON:
        return _PYTHON[kind]
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        cls = CLASSES.get((getattr(getattr(value, "dtype", None), "name", ""), 1))
        return None if cls is None else cls.dtype
    return None


def _accept_any(value: Any, adopt: Adopt) -> Accepted:
    """A value decides by itself what it is."""
    kind = cast("type[Any]", type(value))
    if kind in _FUNCTIONS:
        from weft.lang.host_closures import accept_function  # not for who gives no functions

        return accept_function(value, lambda item: _accept_any(item, adopt))
    if isinstance(value, tuple) or is_numeric(value):
        parts = all_parts(value)
        if parts is not None:
            return accept_parts(class_of(value), [MISSING] * len(parts), parts, adopt)
    dtype = literal_type(value)
    if dtype is not None:
        return accept_as(number_class(dtype), value)
    if isinstance(value, Number) or is_struct(kind) or hasattr(kind, "__weft_accept__"):
        return accept_as(kind, value, adopt)
    value = adopt(MISSING, value)
    if hasattr(value, "to_layout_tensor"):
        value = value.to_layout_tensor()
    kind = cast("type[Any]", type(value))
    if hasattr(kind, "__weft_accept__"):
        return accept_as(kind, value)
    if hasattr(value, "address") and isinstance(getattr(value, "dtype", None), DType):
        return accept_as(Pointer, value)
    return StaticSpec(as_it_is(value)), []


def _parts_wanted(annotation: Any, cls: type[Any]) -> list[Any] | None:
    """What the parts of ``tuple[Int, Float32]``, a named tuple or a dataclass are; None of all else."""
    if cls is tuple:
        return list(get_args(annotation)) or None
    names = part_names(cls)
    return None if names is None else [annotations_of(cls).get(name, MISSING) for name in names]


def accept_parts(
    cls: type[Any], wanted: Sequence[Any], parts: Sequence[Any], adopt: Adopt = _as_given
) -> Accepted:
    """A tuple, a named tuple, a dataclass, a struct or an array, part by part."""
    names = names_of(cls) or range(len(parts))
    specs: list[Spec] = []
    values: list[Any] = []
    for name, annotation, part in zip(names, wanted, parts, strict=True):
        try:
            spec, more = accept_as(annotation, part, adopt)
        except Mismatch as wrong:
            raise _within(cls, name, wrong) from None
        specs.append(spec)
        values.extend(more)
    return PartsSpec(tuple(specs), cls), values


def _within(cls: type[Any], name: object, wrong: Mismatch) -> Mismatch:
    """What is wrong with a part, as what is wrong with the whole."""
    kind = "field" if is_struct(cls) else "part"
    where = f"{kind} .{name}" if isinstance(name, str) else f"item {name}"
    if wrong.annotation:
        annotation = f"is {a_(cls.__name__)}, of which {where} {wrong.annotation}"
        return Mismatch(wrong.found, wrong.allowed, wrong.hint.partition(", or with Comptime")[0], annotation)
    hint = wrong.hint.replace(VALUE, "x")  # the whole is what a call gives
    return Mismatch(f"{wrong.found} in its {where}", wrong.allowed, hint)


def _accept_member(cls: type[Enum], value: Any) -> Accepted:
    """A member of an Enum: of one of ints, the int."""
    if not isinstance(value, cls):
        raise Mismatch(describe(value), f"a member of {cls.__name__}")
    if isinstance(value, int):
        return NumberSpec(DType.int64), [int(value)]
    return EnumSpec(cls), [place_of(value)]


def _accept_open(annotation: Any, cls: Any, value: Any, adopt: Adopt) -> Accepted:
    """A value of a class over types that are not known yet: it says itself what they are."""
    kind = cast("type[Any]", type(value))
    if any(
        not has_variables(a) and a != of
        for a, of in zip(get_args(annotation), cls.__weft_arguments__(kind), strict=True)
    ):
        raise Mismatch(a_(describe_annotation(kind)), a_(describe_annotation(annotation)))
    return accept_as(kind, value, adopt)


def accept_as(annotation: Any, value: Any, adopt: Adopt = _as_given) -> Accepted:
    """The spec and machine values of ``value`` for what is annotated so.

    Raises:
        Mismatch: it is none.
    """
    wanted = without_none(annotation)
    if wanted is not None:
        return (StaticSpec(None), []) if value is None else accept_as(wanted, value, adopt)
    if is_open(annotation):
        accepted, bound = _accept_any(value, adopt), bound_of(annotation)
        found = type_of(accepted[0])
        wrong = None if bound is None else outside(bound, found)
        if wrong is not None:
            raise Mismatch(a_(describe_annotation(found)), *wrong)
        return accepted
    value = adopt(annotation, value)
    origin: Any = get_origin(annotation) or annotation
    if isinstance(origin, type):
        cls: Any = origin
        if issubclass(cls, Number):
            return _accept_number(cls, value)
        if issubclass(cls, Pointer):
            return _accept_pointer(annotation, value)
        hook: Callable[..., Accepted] | None = getattr(cls, "__weft_accept__", None)
        if hook is not None:
            more = (adopt,) if hasattr(cls, "__weft_accepts_parts__") else ()
            return hook(get_args(annotation), value, *more)
        if is_struct(cls):
            return _accept_struct(cls, value, adopt)
        if issubclass(cls, Enum):
            return _accept_member(cls, value)
        if cls is Callable:
            if not callable(value):
                hint = "pass a function, a @func or a lambda"
                raise Mismatch(describe(value), "a function", hint)
            return _accept_any(value, adopt)
        if isinstance(value, cls) and has_variables(annotation) and hasattr(cls, "__weft_arguments__"):
            return _accept_open(annotation, cls, value, adopt)
        wanted = _parts_wanted(annotation, cls)
        if wanted is not None:
            parts = all_parts(value)
            wanted = wanted[:1] * len(parts or ()) if wanted[1:] == [...] else wanted
            if not isinstance(value, cls) or parts is None or len(parts) != len(wanted):
                raise Mismatch(describe(value), a_(describe_annotation(annotation)))
            return accept_parts(cls, wanted, parts, adopt)
    raise _no_type(annotation, origin, value)


def _no_type(annotation: Any, origin: Any, value: Any) -> Mismatch:
    """What a parameter is annotated with that none has, and what to write for it."""
    shown = describe_annotation(annotation)
    wrong = {int: "Int", float: "Float32", bool: "Bool"}.get(origin) if isinstance(origin, type) else None
    if wrong is not None:
        hint = f"annotate it with {wrong}, or with Comptime[{shown}] to fix its value at compile time"
    elif isinstance(annotation, tuple):
        hint = "one parameter has one type: give each a name of its own"
    elif origin is str:
        hint = "annotate it with Comptime[str], and give it by name"
    elif getattr(origin, "__name__", "") in ("list", "tuple", "ndarray", "Tensor"):
        hint = "annotate it with Pointer[Float32] or LayoutTensor[Float32] and pass a buffer"
    elif NoneType in get_args(annotation):
        hint = "leave the annotation out: the parameter then takes what it is given, and is compiled for each"
    elif isinstance(origin, type) and "__init__" not in vars(origin) and origin.__module__ != "builtins":
        hint = f"decorate {shown} with @struct, its fields annotated with Float32 and the like"
    else:
        hint = (
            "annotate it with Int, Float32, Pointer[Float32], a @struct, or Comptime[...] if it is constant"
        )
    return Mismatch(
        describe(value),
        "nothing",
        hint,
        f"is annotated with `{shown}`, which is no type of a kernel's parameter",
    )


def describe(value: Any) -> str:
    """An argument in a few words, to end ``not ...``."""
    if value is None:
        return "None"
    dtype = getattr(value, "dtype", None)
    name = type(value).__name__
    if isinstance(value, Number):
        return repr(value)
    if isinstance(value, (bool, int, float)):
        return f"the {name} {value!r}"
    scalar = str(dtype) == name  # of NumPy
    return f"{a_(name)} of {dtype}" if dtype is not None and not scalar else a_(name)


def _accept_number(cls: type[Number], value: Any) -> Accepted:
    cls = closed(cls, value)
    spec = NumberSpec(cls.dtype, cls.lanes)
    d = cls.dtype
    if cls.lanes > 1:
        return spec, [_lanes(cls, value)]
    if isinstance(value, Number):
        if value.lanes != cls.lanes or promote(value.dtype, d) is not d:
            raise Mismatch(
                describe(value), cls.__name__, f"convert it: {cls.__name__}(...), which may lose information"
            )
        return spec, [wrap(d, value.value)]
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "shape", None) == ():
        value = item()
    if isinstance(value, bool) or (d.kind == "bool" and isinstance(value, int) and value in (0, 1)):
        return spec, [bool(value) if d.kind == "bool" else int(value)]
    if isinstance(value, numbers.Integral):
        number = int(value)
        if d.is_integer:
            if not d.least <= number <= d.greatest:
                allowed = f"{d.least} to {d.greatest}, which {cls.__name__} holds"
                wider = (
                    "use a wider type in the kernel" if d.bits < 64 else "no integer is wider: use Float64"
                )
                if d.bits == 64 and d.is_signed and 0 < number < 2**64:
                    wider = "make the parameter UInt, which holds it"
                raise Mismatch(in_digits(number), allowed, wider)
            return spec, [number]
        value = number
    if isinstance(value, numbers.Real) and d.is_float:
        real = value if isinstance(value, int) else float(value)
        if overflows(d, real):
            most = limits(d)[1]
            allowed = f"{-most!r} to {most!r}, which {cls.__name__} holds, or infinity"
            raise Mismatch(in_digits(real), allowed, "use a wider type in the kernel, or math.inf")
        return spec, [wrap(d, real)]
    hint = ""
    if isinstance(value, float) and d.is_integer:
        hint = f"write {int(value)}" if value.is_integer() else "round it, or make the parameter Float32"
    elif (hasattr(value, "__float__") and not hasattr(value, "__array_interface__")) or _spells(value):
        hint = f"pass {'int' if d.is_integer else 'float'}({VALUE})"
    elif isinstance(value, complex):
        hint = f"pass one of its parts: ({VALUE}).real"
    elif getattr(value, "size", None) == 1 and item is not None:
        hint = f"pass its number: {VALUE}.item()"
    elif hasattr(value, "__array_interface__"):
        hint = f"annotate Pointer[{cls.__name__}], or pass one of its numbers"
    raise Mismatch(describe(value), cls.__name__, hint)


def _spells(value: object) -> bool:
    """Whether a text is one of a number."""
    return isinstance(value, str) and re.fullmatch(r"\s*[-+]?\d+(\.\d*)?\s*", value) is not None


def _lanes(cls: type[Number], value: Any) -> tuple[Any, ...]:
    """The lanes of an argument: of a SIMD value, of a sequence of as many, or one number for all."""
    scalar = number_class(cls.dtype)
    items: Any = value
    if isinstance(value, Number) and value.lanes > 1:
        known: Any = value.value
        if value.lanes != cls.lanes:
            raise Mismatch(describe(value), cls.__name__)
        each = number_class(value.dtype)
        items = [each(lane) for lane in (known if has_lanes(known) else (known,) * cls.lanes)]
    elif not hasattr(value, "__len__"):
        items = (value,) * cls.lanes
    lanes = list(items)
    if len(lanes) != cls.lanes:
        raise Mismatch(f"{len(lanes)} lanes", cls.__name__)
    try:
        return tuple([_accept_number(scalar, lane)[1][0] for lane in lanes])
    except Mismatch as wrong:
        if isinstance(value, Number) and value.lanes > 1:
            hint = f"convert it: {VALUE}.cast({type_name(cls.dtype)}), which may lose information"
            raise Mismatch(describe(value), cls.__name__, hint) from None
        found = describe(value) if items is not value else f"{wrong.found} among its lanes"
        raise Mismatch(found, cls.__name__, wrong.hint) from None


def element_dtype(annotation: Any) -> DType | None:
    """The element type that ``Pointer[T]`` or ``LayoutTensor[T]`` names; None where it names none."""
    args = cast("tuple[Any, ...]", annotation) if isinstance(annotation, tuple) else get_args(annotation)
    try:
        return element_type(args[0]) if args else None
    except TypeError:
        return None


def wanted_element(annotation: Any, what: str) -> DType | None:
    """``element_dtype`` of a parameter's annotation.

    Raises:
        Mismatch: it names a type that has no elements of weft's, as ``Pointer[float]`` does.
    """
    args = cast("tuple[Any, ...]", annotation) if isinstance(annotation, tuple) else get_args(annotation)
    found = element_dtype(args)
    if args and found is None and not has_variables(args[0]) and args[0] is not Any:
        shown = describe_annotation(args[0])
        wrong = {int: "Int", bool: "Bool", complex: "ComplexFloat32"}.get(args[0], "Float32")
        problem = f"is annotated with `{what}[{shown}]`, but `{shown}` is no type of elements"
        hint = no_struct(args[0]) or f"annotate it with {what}[{wrong}]"
        raise Mismatch(f"a {what} of {shown}", f"{what}[T]", hint, problem)
    return found


def _accept_pointer(annotation: Any, value: Any) -> Accepted:
    wanted = wanted_element(annotation, "Pointer")
    if wanted is not None and not wanted.is_number:
        return _accept_elements(cast("ElementType", wanted), value)
    found = getattr(value, "dtype", None)
    allowed = f"a buffer of {type_name(wanted)}" if wanted is not None else "a buffer"
    if hasattr(value, "layout"):
        hint = "annotate LayoutTensor[...], which honours its layout, or pass the buffer that it views"
        raise Mismatch(describe(value), allowed, hint)
    if not hasattr(value, "address") or not isinstance(found, DType):
        name = "Float32" if wanted is None else type_name(wanted)
        hint = array_hint(value, wanted) or f"create one: ctx.enqueue_create_buffer({name}, n)"
        if value is None:
            hint += "; a parameter without an annotation takes None, too"
        raise Mismatch(describe(value), allowed, hint)
    if wanted is not None and found is not wanted:
        other = type_name(found)
        raise Mismatch(
            f"a buffer of {other}", allowed, f"create it with that type, or annotate Pointer[{other}]"
        )
    return PointerSpec(found, AddressSpace.GLOBAL), [value]


def array_hint(value: Any, wanted: DType | None) -> str:
    """How to make an array of what holds numbers; nothing of what does not."""
    kind, items = cast("type[Any]", type(value)), VALUE
    if getattr(value, "shape", None) == ():
        items = f"[{VALUE}]"
    elif issubclass(kind, (set, frozenset)):
        items = f"[*{VALUE}]"
    elif not issubclass(kind, (list, tuple, range)):
        return ""
    elif any(hasattr(item, "address") or hasattr(item, "__array_interface__") for item in value):
        return "give the arguments one by one, without the brackets"
    dtype = wanted.name if wanted is not None and wanted.is_number and wanted.kind != "bfloat" else "float32"
    return f"pass an array: np.array({items}, np.{dtype})"


def _accept_elements(element: ElementType, value: Any) -> Accepted:
    """Memory of structs, pointers or functions, or their bytes."""
    name, kind = element.name, getattr(value, "dtype", None)
    if not hasattr(value, "address") or kind not in (element, DType.uint8):
        hint = f"create one: ctx.enqueue_create_buffer({name}, n), or pass a NumPy array of np.dtype({name})"
        raise Mismatch(describe(value), f"memory of {name}", hint)
    if value.nbytes % element.itemsize:
        raise Mismatch(f"{value.nbytes} bytes", f"memory of {name}, {element.itemsize} bytes each")
    return PointerSpec(element, AddressSpace.GLOBAL), [value]


def _accept_struct(cls: type[Any], value: Any, adopt: Adopt) -> Accepted:
    if not isinstance(value, cls) and hasattr(cls, "__weft_given__"):
        try:
            value = cls.__weft_given__(value)
        except CompileError as wrong:
            raise Mismatch(describe(value), f"a {cls.__name__}", wrong.diagnostics[0].message) from None
    if not isinstance(value, cls):
        raise Mismatch(describe(value), f"a {cls.__name__}")
    cls = cast("type[Any]", type(value))  # which says what the types of a generic one are
    fields = struct_fields(cls)
    for name in fields:
        if not hasattr(value, name):
            hint = f"assign it before: x.{name} = ..."
            found = f"a {cls.__name__} whose field .{name} was deleted"
            raise Mismatch(found, f"a whole {cls.__name__}", hint)
    return accept_parts(cls, [*fields.values()], [getattr(value, name) for name in fields], adopt)


def _specs_of_parts(cls: type[Any], wanted: Sequence[Any]) -> Iterator[Spec]:
    for name, annotation in zip(names_of(cls) or range(len(wanted)), wanted, strict=True):
        try:
            yield spec_of_annotation(annotation)
        except Mismatch as wrong:
            raise _within(cls, name, wrong) from None


def spec_of_annotation(annotation: Any, given: Any = MISSING) -> Spec:
    """The spec of a parameter for compiling without a launch; ``given`` says what the annotation leaves open.

    Raises:
        Mismatch: the annotation does not say enough.
    """
    if (wanted := without_none(annotation)) is not None and given is not MISSING:
        return StaticSpec(None) if given is None else spec_of_annotation(wanted, given)
    if wanted is not None or is_open(annotation):
        if given is MISSING or is_open(given):
            raise Mismatch("no type", "a type")
        if given is None:
            return StaticSpec(None)
        if type(given) is tuple:
            parts = cast("tuple[Any, ...]", given)
            return PartsSpec(tuple([spec_of_annotation(annotation, part) for part in parts]), tuple)
        if isinstance(given, (int, float, str)):
            raise Mismatch(describe(given), "a type")
        if type(given) in _FUNCTIONS or isinstance(given, Func):
            return _accept_any(given, _as_given)[0]
        hook = None if isinstance(given, type) else getattr(given, "__weft_spec_of_annotation__", None)
        if hook is not None and get_origin(given) is None:  # a tensor, which has elements and a layout
            return hook((), given)
        try:
            return spec_of_annotation(given)
        except Mismatch as wrong:
            if wrong.annotation and not isinstance(given, type):
                raise Mismatch(describe(given), "a type") from None
            raise
    origin: Any = get_origin(annotation) or annotation
    if isinstance(origin, type):
        cls: Any = origin
        if issubclass(cls, Number):
            return NumberSpec(cls.dtype, cls.lanes)
        if issubclass(cls, Pointer):
            dtype = (
                wanted_element(annotation, "Pointer") or element_dtype(given) or getattr(given, "dtype", None)
            )
            if not isinstance(dtype, DType):
                raise Mismatch("a Pointer without element type", "Pointer[T]", "write e.g. Pointer[Float32]")
            return PointerSpec(dtype, AddressSpace.GLOBAL)
        hook = getattr(cls, "__weft_spec_of_annotation__", None)
        if hook is not None:
            return hook(get_args(annotation), given)
        if is_struct(cls):
            cls = given if isinstance(given, type) and issubclass(given, cls) else cls
            return PartsSpec(tuple(_specs_of_parts(cls, [*struct_fields(cls).values()])), cls)
        if issubclass(cls, Enum):
            return NumberSpec(DType.int64) if issubclass(cls, int) else EnumSpec(cls)
        wanted = _parts_wanted(annotation, cls)
        if wanted is not None and wanted[1:] == [...]:
            if given is MISSING:
                hint = (
                    f"say how many: tuple[{describe_annotation(wanted[0])}, {describe_annotation(wanted[0])}]"
                )
                raise Mismatch("a tuple of any length", "one of a known length", hint)
            return spec_of_annotation(given)
        if wanted is not None:
            return PartsSpec(tuple(_specs_of_parts(cls, wanted)), cls)
    return accept_as(annotation, given)[0]
