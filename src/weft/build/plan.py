"""Which kernels a program has, and what each is to be compiled for."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple, cast

from weft.compile import specs_of
from weft.compiler.frontend.options import CompileOptions, Over
from weft.compiler.pipeline import Instance
from weft.diagnostics import CompileError, LaunchError, a_
from weft.lang.decorators import Kernel
from weft.lang.signature import parameters
from weft.targets import Target

OPEN = frozenset({"open-type", "missing-comptime"})
"""Codes of what only a launch says, or who asks for more."""


class Item(NamedTuple):
    """A kernel to compile, by the name that the program has for it."""

    name: str
    instance: Instance
    target: Target


class LeftOut(NamedTuple):
    """A kernel that is not compiled, since what it lacks is said at its launch."""

    name: str
    kernel: Kernel[...]
    error: CompileError


def kernels_of(module: ModuleType) -> dict[str, Kernel[...]]:
    """The kernels of a module by the expressions that they are: those of its classes and containers too."""
    found: dict[int, tuple[str, Kernel[...]]] = {}

    def look(shown: str, value: Any, deep: bool) -> None:
        if isinstance(value, Kernel):
            kernel: Kernel[...] = value
            if id(kernel) not in found or shown == kernel.__name__:
                found[id(kernel)] = shown, kernel
        elif deep and isinstance(value, type) and value.__module__ == module.__name__:
            for name, part in vars(value).items():
                look(f"{shown}.{name}", getattr(part, "__func__", part), False)
        elif deep and isinstance(value, dict):
            for key, part in cast("dict[Any, Any]", value).items():
                look(f"{shown}[{key!r}]", part, False)
        elif deep and isinstance(value, (list, tuple)):
            for key, part in enumerate(cast("list[Any]", value)):
                look(f"{shown}[{key}]", part, False)

    for name, value in tuple(vars(module).items()):
        look(name, value, not name.startswith("__"))
    return dict(found.values())


def shown(kernel: Kernel[...]) -> str:
    """A kernel with what is bound of it, shortly: ``matmul[T=Float16, tile=32]``."""
    bound = [
        f"{name}={getattr(value, '__name__', None) or repr(value)}" for name, value in kernel.bound.items()
    ]
    return f"{kernel.__name__}[{', '.join(bound)}]" if bound else kernel.__name__


def named(what: object) -> dict[str, Kernel[...]]:
    """The kernels of a kernel, a module, a package with all its modules, or a list of these.

    Raises:
        LaunchError: there is something else among them.
    """
    if isinstance(what, Kernel):
        kernel: Kernel[...] = what
        return {shown(kernel): kernel}
    if isinstance(what, ModuleType):
        found = {f"{what.__name__}.{name}": kernel for name, kernel in kernels_of(what).items()}
        import pkgutil  # here, since few programs name a whole package

        for _, name, _ in pkgutil.walk_packages(getattr(what, "__path__", ()), f"{what.__name__}."):
            if not name.endswith(".__main__"):
                inner = kernels_of(importlib.import_module(name))
                found.update({f"{name}.{part}": kernel for part, kernel in inner.items()})
        return found
    if isinstance(what, Mapping):
        return _all(cast("Mapping[Any, object]", what).values())
    if isinstance(what, Iterable) and not isinstance(what, str):
        return _all(cast("Iterable[object]", what))
    message = f"{a_(type(what).__name__)} names no kernels"
    hint = "give a kernel, a list of kernels, or a module"
    raise LaunchError.here("not-a-kernel", message, hint)


def _all(parts: Iterable[object]) -> dict[str, Kernel[...]]:
    found: dict[str, Kernel[...]] = {}
    for part in parts:
        for name, kernel in named(part).items():
            count = sum(other.partition(" #")[0] == name for other in found)
            if kernel not in found.values():
                found[f"{name} #{count + 1}" if count else name] = kernel
    return found


def planned(
    kernels: Mapping[str, Kernel[...]],
    targets: Sequence[Target],
    over: int,
    given: Mapping[str, Any],
    opt_level: int | None = None,
) -> tuple[list[Item], list[LeftOut]]:
    """What is to be compiled: for launches of blocks, or over so many extents.

    Args:
        kernels: by their names.
        targets: each kernel is compiled for each of them.
        over: how many extents the launches have, or 0.
        opt_level: for those kernels that do not say it themselves.
        given: types and compile-time parameters of those kernels that have parameters of these names.

    Raises:
        CompileError: a kernel's annotations are wrong.
    """
    items: list[Item] = []
    left: list[LeftOut] = []
    launched: Over | None = None
    if over:
        from weft.launch.ranges import describe_over

        launched = describe_over(over)
    for name, kernel in kernels.items():
        known = {p.name for p in parameters(kernel.definition)} - kernel.bound.keys()
        try:
            specs = specs_of(kernel, {n: value for n, value in given.items() if n in known})
        except CompileError as error:
            if not all(d.code in OPEN for d in error.diagnostics):
                raise
            left.append(LeftOut(name, kernel, error))
            continue
        for target in targets:
            even = not over and target.threads == "loops"
            options = CompileOptions(launched, distinct=True, even=even)
            level = opt_level if kernel.opt_level is None else kernel.opt_level
            options = options._replace(opt_level=level)
            items.append(Item(name, Instance(kernel, specs, options), target))
    return items, left
