"""Calling a ``@func`` from Python: compiled for this machine's CPU, run once in one thread.

Arguments meet annotated parameters as a kernel's arguments do. For a parameter without annotation
the argument decides: a Python ``int`` is Int, ``bool`` is Bool, and ``float`` is Float64, which is
what Python computes with (an argument is no literal, and nothing is lost on the way); a NumPy
scalar or a weft number keeps its type; structs and tuples are taken apart; any other object is
known at compile time. Defaults and bound values are literals of the program, so they stay weak.

Results come back as Python numbers, tuples of them (also for the lanes of a SIMD value), and structs
whose fields are constants; what the function knows at compile time comes back as it is. Fields of structs
that are changed are so for Python, too (``weft.launch.lent``).
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from weft.abi.artifact import Artifact
from weft.abi.formats import pack, unpack, wrap
from weft.compiler.cache import compile_kernel
from weft.compiler.frontend.kept import unchanged
from weft.compiler.source.python import definition_of
from weft.diagnostics import LaunchError, a_, caller_location
from weft.diagnostics.problems import Problems
from weft.dtype import DType
from weft.foreign.adopt import adopt
from weft.foreign.arrays import ForeignArray
from weft.lang import Comptime, Kernel, Pointer, UInt8
from weft.lang.accept import Mismatch, accept, as_it_is, decides
from weft.lang.decorators import Func
from weft.lang.elaboration import current
from weft.lang.number import number_class
from weft.lang.objects import looking
from weft.lang.pointer import AddressSpace
from weft.lang.products import remade
from weft.lang.reads import Reads
from weft.lang.signature import MISSING, Parameter, argument_key, bind, parameters
from weft.lang.spec import Leaf, NumberSpec, PartsSpec, PointerSpec, Spec, StaticSpec, leaves_of, spec_of
from weft.launch.arguments import gather
from weft.launch.lent import Lending, Lent, lending
from weft.launch.variants import Variants
from weft.record import replace
from weft.runtime.buffers import DeviceBuffer
from weft.runtime.driver import Launch

if TYPE_CHECKING:
    from weft.launch.context import DeviceContext
    from weft.runtime.driver import Function

_WORD = 8


class _Slot:
    """Where one leaf lies in the memory of a call."""

    __slots__ = ("leaf", "offset", "size")

    def __init__(self, leaf: Leaf, offset: int) -> None:
        self.leaf = leaf
        self.offset = offset
        self.size = _WORD if leaf.pointer else leaf.dtype.itemsize * leaf.type.lanes

    @property
    def end(self) -> int:
        """The next free slot."""
        return self.offset + -(-self.size // _WORD) * _WORD


def _slots(leaves: Sequence[Leaf], start: int = 0) -> list[_Slot]:
    out: list[_Slot] = []
    for leaf in leaves:
        out.append(_Slot(leaf, start))
        start = out[-1].end
    return out


class _Call:
    """A function called with arguments of some specs: one block of memory holds those and the results."""

    def __init__(self, func: Func[..., Any], specs: Mapping[str, Spec], lent: Lending) -> None:
        self.func = func
        self.specs = specs
        self.lent = Lent(lent, func.__name__)
        self.arguments = _slots([leaf for spec in specs.values() for leaf in spec.leaves()])
        self.result: Spec = StaticSpec(None)
        self.results: list[_Slot] = []
        self.function: Function | None = None

    @property
    def size(self) -> int:
        """Bytes of the memory."""
        places = self.results or self.arguments
        return places[-1].end if places else 0

    def emit(self, memory: Pointer[UInt8]) -> None:
        """The code of the call; runs at compile time."""
        loaded = [self._load(memory, place) for place in self.arguments]
        values: dict[str, Any] = {}
        start = 0
        for name, spec in self.specs.items():
            count = len(spec.leaves())
            values[name] = spec.build(loaded[start : start + count])
            start += count
        self.lent.begin(values)
        call = current().elaborator.call
        with unchanged(self.func.definition, values):
            result: Any = call(Func[..., Any](self.func.definition, {}), (), values, DType.float64)
        with looking():  # nothing changes from here on
            given = [*leaves_of(result), *self.lent.end(result)]
            self.result = spec_of(result)
        leaves = [leaf for spec in (self.result, *self.lent.changed) for leaf in spec.leaves()]
        self.results = _slots(leaves, self.arguments[-1].end if self.arguments else 0)
        for place, value in zip(self.results, given, strict=True):
            leaf = place.leaf
            if not leaf.pointer:
                number = number_class(leaf.dtype, leaf.type.lanes).of(value)
                (memory + place.offset).bitcast(leaf.dtype).store(0, number)

    def _load(self, memory: Pointer[UInt8], place: _Slot) -> Any:
        leaf = place.leaf
        at = memory + place.offset
        if leaf.pointer:
            attrs = {"alignment": _WORD, "invariant": False, "volatile": False}
            return current().value("llvm.load", (at.value,), leaf.type, attrs)
        return at.bitcast(leaf.dtype).load(0, width=leaf.type.lanes).value

    def compile(self, target: str) -> Artifact:
        """Compile the call."""
        specs: dict[str, Spec] = {
            "memory": PointerSpec(DType.uint8, AddressSpace.GLOBAL),
            "call": StaticSpec(self),
        }
        artifact = compile_kernel(Kernel(_HOST_CALL, {}), specs, target)
        [made] = artifact.kernels
        made = replace(made, signature=replace(made.signature, name=self.func.__name__))
        return replace(artifact, kernels=(made,))

    def pack(self, values: Sequence[Any]) -> ctypes.Array[ctypes.c_char]:
        """The memory with the arguments in it."""
        block = bytearray(self.size)
        for place, value in zip(self.arguments, values, strict=True):
            leaf = place.leaf
            if leaf.pointer:
                data = struct.pack("<Q", value)
            else:
                lanes = leaf.type.lanes
                items = value if lanes > 1 else (value,)
                data = b"".join([pack(leaf.dtype, wrap(leaf.dtype, item)) for item in items])
            block[place.offset : place.offset + len(data)] = data
        return (ctypes.c_char * max(len(block), _WORD)).from_buffer_copy(bytes(block) or bytes(_WORD))

    def unpack(self, memory: ctypes.Array[ctypes.c_char], values: Mapping[str, Any]) -> Any:
        """The result from the memory; what is changed of the arguments is set."""
        data = memory.raw
        found: list[Any] = []
        for place in self.results:
            d, lanes = place.leaf.dtype, place.leaf.type.lanes
            at = [place.offset + n * d.itemsize for n in range(lanes)]
            items = tuple(unpack(d, data[o : o + d.itemsize]) for o in at)
            found.append(items[0] if lanes == 1 else items)
        count = len(self.result.leaves())
        return self.lent.set(_plain(self.result, found[:count]), found[count:], values, _plain)


def _host_call(memory: Pointer[UInt8], *, call: Comptime[Any]) -> None:
    call.emit(memory)


_HOST_CALL = definition_of(_host_call)


def _plain(spec: Spec, leaves: Sequence[Any]) -> Any:
    if isinstance(spec, NumberSpec):
        return leaves[0]
    if isinstance(spec, PartsSpec) and spec.pythons:
        out: list[Any] = []
        start = 0
        for item in spec.items:
            count = len(item.leaves())
            out.append(_plain(item, leaves[start : start + count]))
            start += count
        return remade(spec.cls, out, plain=True)
    return spec.build(leaves)


_calls: Variants[_Call] = Variants()


def host_call(
    ctx: DeviceContext, func: Func[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Run ``func`` on the CPU that ``ctx`` stands for, wait, and give its result.

    Raises:
        LaunchError: the arguments do not fit; all that is wrong is listed.
        CompileError: the function cannot be compiled for these types.
        DeviceError: an ``assert`` in it failed.
    """
    values, problems = bind(func.definition, args, kwargs, func.bound)
    positional = [p.name for p in parameters(func.definition) if not p.keyword_only]
    given = {*positional[: len(args)], *kwargs}

    def taker(p: Parameter, value: Any, machine: list[Any], _: list[Any]) -> Spec:
        if p.name not in given and not p.comptime and not decides(p.annotation):
            return StaticSpec(as_it_is(value))
        spec, leaves = _accept(ctx, p, value)
        for leaf, item in zip(spec.leaves(), leaves, strict=True):
            machine.append(_address(item, p.name, problems) if leaf.pointer else item)
        return spec

    def key(name: str) -> int | str | None:
        return argument_key(func.definition, name, len(args), kwargs)

    taken = gather(func.definition, values, taker, problems, key)
    problems.check(LaunchError, len(args))
    reads, call = _compiled(ctx, func, taken.specs.by_name, lending(taken.specs.by_name, values))
    call.lent.check(func.__name__, values, reads)
    memory = call.pack(taken.values)
    assert call.function is not None
    ctx.keep((memory, args, kwargs))  # where Ctrl-C ends the wait, the call still runs
    ctx.stream.launch(
        Launch(call.function, (1, 1, 1), (1, 1, 1), struct.pack("<Q", ctypes.addressof(memory)))
    )
    ctx.queued()
    ctx.synchronize()
    return call.unpack(memory, values)


def _compiled(
    ctx: DeviceContext, func: Func[..., Any], specs: Mapping[str, Spec], lent: Lending
) -> tuple[Reads, _Call]:
    key = (func.definition, ctx.target, tuple(specs.items()), lent)

    def make() -> _Call:
        call = _Call(func, specs, lent)
        artifact = call.compile(ctx.target)
        if any(p.leaf.pointer for p in call.results):
            raise LaunchError.at(
                "result-type",
                f"{func.__name__} returns {a_(call.result.describe())}, which means nothing to Python",
                caller_location(),
                hints=("return numbers, tuples or structs, or write through the pointer",),
            )
        [call.function] = ctx.device.load(artifact)
        return call

    return _calls.find(key) or _calls.make(key, specs.values(), make)


def _accept(ctx: DeviceContext, p: Parameter, value: Any) -> tuple[Spec, list[Any]]:
    if not p.comptime and not decides(p.annotation):
        p = replace(p, annotation=MISSING)  # of @funcs, whatever it says, the value decides
    found = accept(p, value, lambda annotation, item: adopt(ctx, annotation, item))
    for item in found[1]:
        if isinstance(item, ForeignArray) and item.read_only:  # it may write: nobody has looked
            raise Mismatch(f"a read-only {item.made_by}", "memory that may be written", item.read_only)
    return found


def _address(value: Any, name: str, problems: Problems) -> int:
    """The address of an array or a buffer, once the work queued on that has ended."""
    if isinstance(value, ForeignArray):
        return value.address
    context = value.context
    if isinstance(value, DeviceBuffer) and not context.info.shares_host:
        message = f"argument `{name}` is memory of {context.name}, but calls from Python run on the CPU"
        problems.add("buffer-context", message, "pass a host buffer, or launch a kernel", at=name)
        return 0
    context.synchronize()
    if isinstance(value, DeviceBuffer):
        value.note_written()
    return value.address
