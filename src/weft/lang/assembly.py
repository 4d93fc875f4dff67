"""What can be seen to be wrong with inline assembly before LLVM reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from weft.compiler.ir.core import Value
from weft.compiler.ir.types import Type
from weft.diagnostics import refuse

_PLACE = re.compile(r"\$(?:\$|(\d+)|\{(\d+)(?::\w+)?\}|\{:\w+\}|[(|)])?")
"""A dollar of assembly: another one, the number of an operand, plain or in braces, a choice."""


def check_operands(
    text: str,
    constraints: str,
    results: tuple[Type, ...],
    arguments: tuple[Value, ...],
    widths: Mapping[str, int],
) -> None:
    """Refuse assembly that names operands that there are not, or registers that are too wide or narrow."""
    parts = [part.strip() for part in constraints.split(",")] if constraints else []
    places = [part for part in parts if not part.startswith("~")]
    out = [part for part in places if part.startswith("=") and "*" not in part]  # a starred one is an address
    if len(out) != len(results) or len(places) - len(out) != len(arguments):
        refuse(
            "assembly",
            f"the constraints {constraints!r} are for results and arguments in numbers of {len(out)} and "
            f"{len(places) - len(out)}, but there are {len(results)} and {len(arguments)}",
            hint="write one for each result (=r), then one for each argument (r), with commas between",
        )
    for found in _PLACE.finditer(text):
        number = found[1] or found[2]
        if found[0] == "$":
            refuse(
                "assembly",
                f"a `$` stands alone in the assembly, before {text[found.end() : found.end() + 8]!r}",
                hint="write $0 for the first operand, and $$ for a dollar",
            )
        if number is not None and int(number) >= len(places):
            have = f"$0 to ${len(places) - 1}" if places else "none"
            refuse(
                "assembly",
                f"the assembly names {found[0]}, but its operands are {have}",
                hint="operands count from 0, results first; each has a constraint",
            )
    for place, type in zip(places, [*results, *(v.type for v in arguments)], strict=True):
        letter = place.lstrip("=&+*")
        narrow = type.bits < min(widths.values(), default=0)  # LLVM widens what no register is so narrow for
        if letter in widths and widths[letter] != type.bits and not narrow:
            fits = [repr(known) for known, bits in widths.items() if bits == type.bits]
            refuse(
                "assembly",
                f"the register of constraint {place!r} has {widths[letter]} bits, its operand {type.bits}",
                hint=f"write {' or '.join(fits)}" if fits else "convert the operand",
            )
