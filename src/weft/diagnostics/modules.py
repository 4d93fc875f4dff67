"""What a public module shows: the names that users import, and a word for those that it has not."""

from __future__ import annotations

import functools
import importlib
import opcode
import sys
from collections.abc import Mapping
from types import FrameType, FunctionType, MappingProxyType, ModuleType
from typing import Any, cast

from weft.diagnostics.diagnostic import Diagnostic
from weft.diagnostics.errors import LaunchError, advised_on_import, elaborating, nearest
from weft.diagnostics.instead import MARK, written_instead
from weft.diagnostics.location import caller_location, frame_location, is_internal
from weft.diagnostics.unfit import told_of


class UnknownAttribute(LaunchError, AttributeError):
    """An attribute that is not there; ``hasattr`` and ``getattr`` take it for any other."""

    __module__, __qualname__ = "weft", "LaunchError"  # as which it is shown and caught


class UnknownName(LaunchError, ImportError):
    """A name that an import asks for, and a module has not."""

    __module__, __qualname__ = "weft", "LaunchError"


class UnknownModule(LaunchError, ModuleNotFoundError):
    """A module that an import asks for, and weft has not."""

    __module__, __qualname__ = "weft", "LaunchError"  # as which it is shown and caught


_presented: set[str] = set()
_ALIKE = 0.75
"""How much a name must be like another to be meant: a module has many."""
_LISTED = 16
"""More names than this are not listed in a help."""


def present(
    names: dict[str, Any],
    later: Mapping[str, str] = MappingProxyType({}),
    called: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Have a module show its ``__all__`` and the public modules in it, and tell of names that it has not.

    Of calls of its functions that do not fit is told too. A module calls it at its end.

    Args:
        names: its ``globals()``.
        later: what is loaded when it is asked for, and where it lies: a name of that module, or it itself.
        called: what others call what the module has, and what to write instead.
    """
    if called:
        names[MARK] = {**names.get(MARK, {}), **{asked: f"write {text}" for asked, text in called.items()}}
    name, exported = names["__name__"], names["__all__"]
    _presented.add(name)
    names.setdefault(
        "__path__", []
    )  # a file too is asked for modules in it, so that it can say that there are none
    names.update({n: _told(name, names[n]) for n in exported if n in names})

    def __getattr__(asked: str) -> object:
        where = later.get(asked)
        if where is None:
            raise _unknown(sys._getframe(1), name, asked)  # pyright: ignore[reportPrivateUsage]
        found: Any = importlib.import_module(where)
        if where != f"{name}.{asked}" or asked in exported:
            found = getattr(found, asked)
        names[asked] = _told(name, found)
        return names[asked]

    def __dir__() -> list[str]:
        inside = [n for n, held in names.items() if isinstance(held, ModuleType)]
        public = [n for n in inside if f"{name}.{n}" in _presented]
        return sorted({*exported, *public, *later, *(n for n in names if n[:2] == "__" == n[-2:])})

    names.update(__getattr__=__getattr__, __dir__=__dir__)


def _told(module: str, held: Any) -> Any:
    """A function of weft's, told of, and a module's own dataclass whose constructor is; all else as it is."""
    own = getattr(held, "__module__", "").startswith(module)
    if own and isinstance(held, type) and "__dataclass_fields__" in vars(held):
        make = vars(held).get("__init__")
        if isinstance(make, FunctionType):
            setattr(held, "__init__", told_of(make))  # noqa: B010  (of any class)
    told = isinstance(held, FunctionType) and held.__module__.startswith("weft.")
    return _teller(held) if told else held


@functools.cache
def _teller(function: Any) -> Any:
    """One for each function, whichever modules have it."""
    return told_of(function)


def _unknown(caller: FrameType, module: str, name: str) -> Exception:
    """What is raised where a module is asked for a name that it has not, by an import or not."""
    file = caller.f_code.co_filename
    if name.startswith("_") or file.startswith("<frozen") or is_internal(file) or elaborating.now:
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    from weft.diagnostics.wrote import imported_place, resolved

    known = [n for n in dir(sys.modules[module]) if n[0] != "_"]
    imported = caller.f_code.co_code[caller.f_lasti] == opcode.opmap["IMPORT_FROM"]
    hint = written_instead(sys.modules[module], name) or advised_on_import(name) or _elsewhere(name)
    if not hint:
        from weft.diagnostics.spelt import asked_of

        guess = nearest(name, known, _ALIKE)
        owner = "" if guess else asked_of(name)
        listed = f"it has {', '.join(known)}" if len(known) <= _LISTED else f"dir({module}) lists what it has"
        hint = f"write {guess}" if guess else owner or listed
    found = Diagnostic("unknown-attribute", f"{module} has no `{name}`", hints=(hint,))
    place = caller_location()
    if imported and place is not None:
        place = imported_place(place, name)
    return (UnknownName if imported else UnknownAttribute)(resolved(found, place))


def _elsewhere(name: str) -> str:
    """Where a public name lies that another module was asked for; nothing where none or several have it."""
    _load_all()
    having = [m for m in sorted(_presented) if name in getattr(sys.modules.get(m), "__all__", ())]
    return f"import it: from {having[0]} import {name}" if len(having) == 1 else ""


def _load_all() -> None:
    for each in dir(sys.modules["weft"]):
        if each != "torch":  # which would load PyTorch for seconds, and has its names
            getattr(sys.modules["weft"], each)
    for name in _presented - {"weft"}:
        for each in dir(sys.modules[name]):
            getattr(sys.modules[name], each)


class _Absent:
    """The last to be asked for a module: those of weft's that a program imports, and nobody has found."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        """Say what is meant.

        Raises:
            UnknownModule: a program imports a module of weft's that is not there.
        """
        if not name.startswith("weft."):
            return
        caller: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        while caller is not None and caller.f_code.co_filename.startswith("<frozen importlib"):
            if caller.f_code.co_name == "_handle_fromlist":  # a name, which the module is asked for next
                return
            caller = caller.f_back
        if caller is None or caller.f_code.co_code[caller.f_lasti] != opcode.opmap["IMPORT_NAME"]:
            return
        from weft.diagnostics.wrote import resolved

        _load_all()
        parent, _, last = name.rpartition(".")
        inside = [known for known in sorted(_presented) if known.endswith(f".{last}")]
        guess = inside[0] if len(inside) == 1 else nearest(name, _presented, _ALIKE)
        hint = advised_on_import(name) or (f"write {guess}" if guess else "dir(weft) lists its modules")
        if parent in _presented and not any(known.startswith(f"{parent}.") for known in _presented):
            hint = advised_on_import(name) or f"{parent} has no modules in it, but the names themselves"
        found = Diagnostic("unknown-attribute", f"weft has no module `{name}`", hints=(hint,))
        raise UnknownModule(resolved(found, frame_location(caller)))


def tell_of_modules() -> None:
    """From now on, say what is meant by a module of weft's that is not there."""
    sys.meta_path.append(cast("Any", _Absent()))
