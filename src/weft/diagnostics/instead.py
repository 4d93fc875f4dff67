"""What classes and modules say of names and operators that they have not: the mark ``__weft_instead__``.

It leads from what others have to what to write here: from a name (``"mean"``), an operator (``"@"``; ``"+"``
is all of arithmetic, ``"+list"`` that with a list, ``"<"`` all comparisons), brackets (``"[]"``, ``"[]="``,
``"()"``), an argument (``"keepdims="``), or ``"math."``, which is whatever ``weft.math`` has. ``{}`` in a
text is the object, ``{kind}`` its class, and ``{name}`` what was asked of ``weft.math``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, TypeVar, cast

C = TypeVar("C", bound=type[Any])
MARK, ON_HOST, OF_CLASS = "__weft_instead__", "__weft_instead_on_host__", "__weft_instead_of_class__"
"""What is said in kernels; on the host; and there of the class itself: ``Tensor.zeros``."""
_marked: list[type[Any]] = []


def instead(texts: Mapping[str, str], mark: str = MARK) -> Callable[[C], C]:
    """Mark a class with what to write instead; its subclasses say the same where they say nothing else.

    Example:
        >>> @instead({"@": "write outer({}, other)"})
        ... class Wedge:
        ...     pass
        >>> written_instead(Wedge(), "@", "w")
        'write outer(w, other)'
    """

    def marked(cls: C) -> C:
        setattr(cls, mark, {**getattr(cls, mark, {}), **texts})
        if mark == MARK:
            _marked.append(cls)
        return cls

    return marked


def alike(text: str, names: str) -> dict[str, str]:
    """One text for each of several names, which spaces part."""
    return dict.fromkeys(names.split(), text)


def written_instead(held: object, asked: str, shown: str = "", **more: str) -> str:
    """What an object's class, or a module, says of what it has not; ``shown`` stands for it in the text."""
    own = vars(held) if isinstance(held, ModuleType) else {MARK: getattr(cast("Any", type(held)), MARK, {})}
    return _filled(own.get(MARK, {}), asked, shown, more)


def instead_of_kind(kind: str, asked: str, shown: str = "") -> str:
    """The same by the name of a class, which is all that Python's messages have of it."""
    waiting = [*_marked]
    while waiting:
        cls = waiting.pop()
        if cls.__name__ == kind:
            return _filled(getattr(cls, MARK), asked, shown, {"kind": kind})
        waiting += type.__subclasses__(cls)
    return ""


def _filled(texts: Mapping[str, str], asked: str, shown: str, more: Mapping[str, str]) -> str:
    return texts[asked].format(shown, **more) if asked in texts else ""


def said_by_module(name: str, mark: str) -> Any:
    """What a module has under a mark, or the package that it lies in; None where neither has it."""
    while name:
        found = vars(sys.modules[name]).get(mark) if name in sys.modules else None
        if found is not None:
            return found
        name = name.rpartition(".")[0]
    return None
