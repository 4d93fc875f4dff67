"""The arguments of a launch: which parameter takes which, whether it does, and what the machine is given.

How the calls of one form (a kernel, so many positional arguments, these keywords) are taken apart is
found out once. That way takes only what is right; ``examine`` is the one that says what is wrong.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import is_
from typing import Any, NamedTuple, cast, get_origin

from weft.abi.artifact import Signature
from weft.compiler.source.definition import Definition
from weft.diagnostics import LaunchError, nearest
from weft.diagnostics.problems import Problems
from weft.dtype import DType
from weft.foreign.adopt import adopt
from weft.foreign.arrays import ForeignArray, HostArray, mapping_of
from weft.lang.accept import (
    Mismatch,
    accept,
    element_dtype,
    is_open,
    literal_type,
    note_mismatch,
    of_argument,
)
from weft.lang.decorators import Kernel
from weft.lang.number import Number
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.reads import Reads
from weft.lang.remembered import remembered
from weft.lang.signature import Parameter, argument_key, bind, is_generic, parameters
from weft.lang.spec import NumberSpec, PointerSpec, Spec, StaticSpec
from weft.lang.type_variables import settle
from weft.runtime.buffers import DeviceBuffer, share_nothing
from weft.runtime.context import BaseContext
from weft.runtime.copies import own_buffer

OPTIONS = (
    "grid_dim",
    "block_dim",
    "over",
    "shared_mem_bytes",
    "stream",
    "cluster_dim",
    "cooperative",
    "pdl",
)
"""The keywords of a launch that are no parameters."""


class Specs:
    """What the parameters of a launch are of, by name. It is told apart by content, hashed once."""

    __slots__ = ("_hash", "by_name", "each")

    def __init__(self, by_name: Mapping[str, Spec]) -> None:
        self.by_name: Mapping[str, Spec] = by_name
        self.each: tuple[Spec, ...] = tuple(by_name.values())
        self._hash: int | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Specs) and self.each == other.each

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.each)
        return self._hash


class Taken(NamedTuple):
    """Arguments that the parameters have taken."""

    specs: Specs
    values: list[Any]
    """The machine values, in the order of the parameters."""
    memory: list[Any]
    """The memory among the arguments: what has an address."""
    form: object = None
    """What the parameters were taken for."""


_FOREIGN = (ForeignArray, HostArray)

Taker = Callable[[BaseContext, Any, list[Any], list[Any]], Spec]
"""Of a context and a value: adds to the machine values and the memory. Raises Mismatch or LaunchError."""


class _Source(NamedTuple):
    """Where a call has a parameter's value."""

    kind: str
    key: Any


class _Form:
    """Calls of a function that give the same parameters by the same ways."""

    def __init__(self, fn: Definition, sources: Mapping[str, Any]) -> None:
        self.steps: list[tuple[str, str, Any, Taker]] = []
        self.generic = is_generic(parameters(fn))
        self.last = Specs({})
        """What the parameters were of at the last such call: mostly the same objects at the next."""
        for p in parameters(fn):
            if p.name not in sources:  # a type variable
                continue
            source = sources[p.name]
            kind, key = source if isinstance(source, _Source) else ("default", source)
            self.steps.append((p.name, kind, key, _taker(p)))

    def specs(self, each: list[Spec]) -> Specs:
        """What the parameters are of, in their order."""
        last = self.last
        if len(each) != len(last.each) or not all(map(is_, each, last.each)):
            last = self.last = Specs({name: spec for (name, *_), spec in zip(self.steps, each, strict=True)})
        return last


@remembered
def _form(fn: Definition, count: int, names: tuple[str, ...], bound: tuple[str, ...]) -> _Form | None:
    """The form of calls; None where no such call is right."""
    sources, problems = bind(
        fn,
        tuple(_Source("args", n) for n in range(count)),
        {name: _Source("named", name) for name in names},
        {name: _Source("bound", name) for name in bound},
    )
    return None if problems else _Form(fn, sources)


def take(
    context: BaseContext, kernel: Kernel[...], args: tuple[Any, ...], named: Mapping[str, Any]
) -> Taken | None:
    """What a launch gives its kernel; None where something is wrong.

    The parameters are taken for what they were at the last such call; ``is_current`` tells.
    """
    key = kernel.definition, len(args), tuple(named), tuple(kernel.bound)
    form = _form.last(*key)
    taken = _take(form, context, kernel, args, named)
    if taken is None:
        now = _form(*key)
        if now is not form:
            taken = _take(now, context, kernel, args, named)
    return taken


def _take(
    form: _Form | None,
    context: BaseContext,
    kernel: Kernel[...],
    args: tuple[Any, ...],
    named: Mapping[str, Any],
) -> Taken | None:
    """``take`` by one form."""
    if form is None:
        return None
    each: list[Spec] = []
    values: list[Any] = []
    memory: list[Any] = []
    given: dict[str, Any] = {}
    try:
        for name, kind, key, taker in form.steps:
            if kind == "args":
                value = args[key]
            elif kind == "named":
                value = named[key]
            else:
                value = kernel.bound[key] if kind == "bound" else key
            if form.generic:
                given[name] = value
            else:
                each.append(taker(context, value, values, memory))
        if form.generic:
            problems = Problems()
            taken = gather(kernel.definition, given, partial(_taken, context), problems, lambda _: None)
            return None if problems else taken._replace(form=form)
    except (Mismatch, LaunchError):
        return None
    return Taken(form.specs(each), values, memory, form)


def _taken(context: BaseContext, p: Parameter, value: Any, values: list[Any], memory: list[Any]) -> Spec:
    return _taker(p)(context, value, values, memory)


def gather(
    fn: Definition,
    given: Mapping[str, Any],
    taker: Callable[[Parameter, Any, list[Any], list[Any]], Spec],
    problems: Problems,
    key: Callable[[str], int | str | None],
) -> Taken:
    """Arguments as far as they are right, and what is wrong.

    Args:
        fn: whose they are.
        given: they, by name.
        taker: adds one to the machine values and the memory; raises Mismatch or LaunchError.
        problems: what is wrong.
        key: how a parameter was given.
    """
    specs: dict[str, Spec] = {}
    each: dict[str, tuple[list[Any], list[Any]]] = {}

    def take(p: Parameter, value: Any) -> Spec | None:
        values: list[Any] = []
        memory: list[Any] = []
        try:
            specs[p.name] = taker(p, value, values, memory)
        except Mismatch as found:
            note_mismatch(problems, fn, p, found, key(p.name))
        except LaunchError as error:  # a closed buffer, or one of another context
            problems.extend(error.diagnostics, key(p.name))
        else:
            each[p.name] = values, memory
        return specs.get(p.name)

    def note(message: str, hint: str, name: str = "") -> None:
        problems.add("argument-type", message, hint, at=key(name))

    params = parameters(fn)
    types = settle(fn.name, params, given, take, literal_type, note)
    specs.update({name: StaticSpec(meant) for name, meant in types.items()})
    order = [p.name for p in params if p.name in specs]
    parts = [each[name] for name in order if name in each]
    flat = [[item for part in parts for item in part[n]] for n in (0, 1)]
    return Taken(Specs({name: specs[name] for name in order}), *flat)


def is_current(
    taken: Taken, reads: Reads | None, kernel: Kernel[...], args: tuple[Any, ...], named: Mapping[str, Any]
) -> bool:
    """Whether the parameters are what ``take`` took them for, which from now on knows what they are.

    Args:
        taken: what ``take`` gave, or ``examine``.
        reads: what the code to be launched has read, which holds; its own walk then was the parameters' too.
        kernel: the kernel.
        args: as for ``take``.
        named: likewise.
    """
    form = taken.form
    if form is None or (reads is not None and form in reads.proved):
        return True
    current = _form(kernel.definition, len(args), tuple(named), tuple(kernel.bound)) is form
    if current and reads is not None and reads.whole:
        reads.proved.add(form)
    return current


def examine(
    context: BaseContext, kernel: Kernel[...], args: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[Taken, Problems]:
    """What a launch gives its kernel, as far as it is right, and all that is wrong."""
    given, problems = bind(kernel.definition, args, named, kernel.bound, OPTIONS)
    fn = kernel.definition

    def key(name: str) -> int | str | None:
        return argument_key(fn, name, len(args), named)

    return gather(fn, given, partial(_taken, context), problems, key), problems


def check_names(kernel: Kernel[...], problems: Problems) -> None:
    """Whether the bound values are parameters of the kernel, and compile-time ones."""
    known = {p.name: p.comptime for p in parameters(kernel.definition)}
    for name in kernel.bound:
        if name not in known:
            guess = nearest(name, known)
            hint = f"did you mean `{guess}`?" if guess else "leave it out, or add the parameter"
            problems.add("argument-name", f"{kernel.__name__} has no parameter `{name}`", hint, at=name)
        elif not known[name]:
            message = f"`{name}` of {kernel.__name__} is no Comptime parameter"
            problems.add("argument-name", message, "give it at the launch", at=name)


def check_writes(
    signature: Signature, kernel: Kernel[...], taken: Taken, args: tuple[Any, ...], named: Mapping[str, Any]
) -> None:
    """Whether the kernel leaves arrays alone that are read-only.

    Raises:
        LaunchError: it writes to one.
    """
    problems = Problems()
    for p, array in zip((p for p in signature.parameters if p.pointer), taken.memory, strict=True):
        if p.written and isinstance(array, ForeignArray) and array.read_only:
            name = p.name.partition(".")[0]
            message = f"{kernel.__name__} writes to `{p.name}`, but the {array.made_by} is read-only"
            problems.add(
                "array-readonly",
                message,
                of_argument(array.read_only),
                at=argument_key(kernel.definition, name, len(args), named),
            )
    problems.check(LaunchError, len(args))


def _taker(p: Parameter) -> Taker:
    """How a parameter takes its argument: quickly where it is of the usual kind."""

    def general(context: BaseContext, value: Any, values: list[Any], memory: list[Any]) -> Spec:
        spec, leaves = accept(p, value, lambda annotation, item: adopt(context, annotation, item))
        for leaf, item in zip(spec.leaves(), leaves, strict=True):
            if leaf.type.lanes > 1:
                values.extend(item)
                continue
            if leaf.pointer:
                memory.append(item)
                item = own_buffer(context, item, f"argument `{p.name}`")
            values.append(item)
        return spec

    origin: Any = get_origin(p.annotation) or p.annotation
    if p.comptime or is_open(p.annotation) or not isinstance(origin, type):
        return general
    if issubclass(origin, Number) and origin.lanes == 1:
        return _number_taker(origin.dtype, general)
    dtype = element_dtype(p.annotation) if origin is Pointer else None
    return general if dtype is None else _pointer_taker(p, dtype, general)


_RANGES = {"float32": 3.4028234e38, "float64": math.inf}
"""Floats of Python between these and their negatives are taken as they are."""


def _number_taker(dtype: DType, general: Taker) -> Taker:
    spec = NumberSpec(dtype)
    exact = _RANGES.get(dtype.name, 0.0)
    if not dtype.is_integer and not exact:
        return general
    low, high = dtype.least, dtype.greatest

    def take_number(context: BaseContext, value: Any, values: list[Any], memory: list[Any]) -> Spec:
        kind = cast("type[Any]", type(value))
        if (kind is int and low <= value <= high) or (kind is float and -exact < value < exact):
            values.append(value)
            return spec
        return general(context, value, values, memory)

    return take_number


def _pointer_taker(p: Parameter, dtype: DType, general: Taker) -> Taker:
    spec = PointerSpec(dtype, AddressSpace.GLOBAL)

    def take_pointer(context: BaseContext, value: Any, values: list[Any], memory: list[Any]) -> Spec:
        if type(value) is not DeviceBuffer:
            value = adopt(context, p.annotation, value)
            if type(value) not in _FOREIGN or not dtype.is_number:
                return general(context, value, values, memory)
        elif value.key is not context.keys[dtype]:
            return general(context, value, values, memory)
        memory.append(value)
        values.append(value.address)
        if context.recording is not None:
            context.note_use(cast("Any", value))
        return spec

    return take_pointer


OWN: frozenset[type] = frozenset((DeviceBuffer,))


def are_apart(memory: Sequence[Any]) -> bool:
    """Whether no two arguments share memory."""
    if len(memory) < 2:
        return True
    if OWN.issuperset(map(type, memory)):
        return share_nothing(memory)
    maps = {id(m) for m in map(mapping_of, memory) if m is not None}
    if len(maps) > 1:  # of one file, perhaps, at two addresses
        return False
    parts = sorted((m.allocation.address, m.allocation.nbytes) for m in memory)
    return all(one + size <= two for (one, size), (two, _) in itertools.pairwise(parts))
