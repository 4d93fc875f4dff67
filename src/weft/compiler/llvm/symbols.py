"""Names in machine code: none of a user meets one of weft, of LLVM or of a library in the process.

What LLVM gets is ``kernel$double`` for a kernel, ``func$half`` for a function, ``global$shared_1`` for
memory, ``weft$console`` for what the runtime knows by name. A name of a user keeps its letters, digits and
underscores and has all else by number between two dollars, so it has an even number of them and ours an odd
one. PTX has a name space for each module, and there LLVM knows no names by heart any more: a kernel's entry
is its plain name.
"""

from __future__ import annotations

import re

from weft.targets import Target

_KERNEL = "kernel$"
_CALL = "// callseq "
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def _escaped(name: str) -> str:
    """A name in letters that every assembler takes; other names become others."""
    text = "".join(c if c in _PLAIN else f"${ord(c):x}$" for c in name)
    return f"${ord(text[0]):x}${text[1:]}" if text[:1].isdigit() else text or "$$"


def kernel_symbol(name: str, target: Target) -> str:
    """The symbol of a kernel as LLVM gets it."""
    return f"{_KERNEL}{_escaped(name)}{'$' if name in target.words else ''}"


def function_symbol(name: str) -> str:
    """The symbol of a function that only the module calls."""
    return f"func${_escaped(name)}"


def global_symbol(name: str) -> str:
    """The symbol of memory of the module."""
    return f"global${_escaped(name)}"


def entry_symbol(name: str, target: Target) -> str:
    """The symbol by which the runtime finds a kernel in its code."""
    symbol = kernel_symbol(name, target)
    return symbol.removeprefix(_KERNEL) if target.format == "ptx" else symbol


def plain_entries(ptx: str) -> str:
    """PTX whose kernels have their plain names, and whose calls have numbers of their own.

    In LLVM's comments these go on from what its process has compiled before.
    """
    numbers: dict[str, str] = {}
    text = ptx.replace(_KERNEL, "")
    if _CALL not in text:
        return text
    return re.sub(rf"{_CALL}(\d+)", lambda m: _CALL + numbers.setdefault(m[1], str(len(numbers))), text)
