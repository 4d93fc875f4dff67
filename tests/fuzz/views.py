"""Random copies between views of one memory: shifted, turned, transposed, spread over rows."""

from __future__ import annotations

from tests.fuzz.expressions import expression, index
from tests.fuzz.kinds import BOOL
from tests.fuzz.scope import Memory, Scope

__all__ = ["views"]

ANY = """{m}[1:] = {m}[:{h1}]
{m}[:{h1}] = {m}[1:]
{m}[{i}] = {m}[{j}]
{m}[:2] = {m}[{h2}:]
{m}[:, 1:] = {m}[:, :{w1}]
{m}[:, :{w1}] = {m}[:, 1:]
{m}[:, :{w1}] += {m}[:, 1:]
{m}[{i}] += {m}[{j}]
{m}[{i}, :] -= {m}[{j}]
{m}[:] = {m}[{i}]
{m}[0:2] += {m}[{i}]
{m}[:, {k}] = {m}[:, {l}]
{m}[1:].copy_from({m}[:{h1}])
{m}[{i}, 1:] = {m}[{j}, :{w1}]""".splitlines()
SQUARE = """{m}[:] = {m}.transpose()
{m} += {m}.transpose()
{m}[{i}] = {m}[:, {k}]
{m}[:, {k}] = {m}[{i}]
{m}.transpose()[1:] = {m}[:{h1}]
{m}[{i}] += {m}[:, {k}]
{m}.copy_from({m}.transpose())
{m}.transpose()[:, 1:] = {m}[:, :{w1}]""".splitlines()
LINE = """{m}[1:] = {m}[:{h1}]
{m}[:{h1}] = {m}[1:]
{m}[{h2}:] = {m}[:2]
{m}[0:2] = {m}[::{s}][0:2]
{m}[::{s}][0:2] = {m}[0:2]
{m}[1:] -= {m}[:{h1}]
{m}[1:3] = {m}[0:3:2]""".splitlines()
"""``{m}`` is the tensor, ``{h1}`` and ``{w1}`` are its extents less one, ``{h2}`` is the height less two;
``{i}`` and ``{j}`` are rows, ``{k}`` and ``{l}`` columns."""


def views(s: Scope, indent: str) -> list[str]:
    """Memory of the thread whose elements differ, and copies from it into itself."""
    kind, name, i, j = s.kind(), s.fresh("m"), s.fresh("i"), s.fresh("i")
    if kind is BOOL or not s.chance(2):
        return []
    height, width = s.pick([(3, 3), (4, 4), (4, 2), (2, 5), (5, 4), (6, 0)])
    made = s.pick(["row_major", "col_major"])
    shape = f"{height}, {width}" if width else f"{height}"
    lines = [f"{indent}{name} = stack_allocation({kind.name}, Layout.{made}({shape}))"]
    value = f"{kind.name}({i} * {s.number(1, 9)} + {j if width else 1} * {s.number(1, 7)})"
    value = f"{value} - {expression(s, kind, 0)}" if s.chance(2) else value
    lines.append(f"{indent}for {i} in range({height}):")
    at, inner = i, indent + "    "
    if width:
        lines.append(f"{inner}for {j} in range({width}):")
        at, inner = f"{i}, {j}", inner + "    "
    lines.append(f"{inner}{name}[{at}] = {value}")
    forms = [*ANY, *(SQUARE * 2 if height == width else [])] if width else LINE
    for _ in range(s.number(1, 3)):
        holes = {key: _below(s, height) for key in "ij"} | {key: _below(s, width or 1) for key in "kl"}
        text = s.pick(forms).format(
            m=name, h1=height - 1, h2=height - 2, w1=width - 1, s=s.number(2, 3), **holes
        )
        lines.append(indent + text)
    if width:
        s.memories.append(Memory(f"{name}[{{0}}, {s.number(0, width - 1)}]", kind, 2, True))
        s.memories.append(Memory(f"{name}[{s.number(0, height - 1)}, {{0}}]", kind, 2, True))
    else:
        s.memories.append(Memory(f"{name}[{{0}}]", kind, 4, True))
    found = s.fresh("v")
    at = f"{s.number(0, height - 1)}, {s.number(0, width - 1)}" if width else _below(s, height)
    s.names.append((found, kind))
    return [*lines, f"{indent}{found} = {name}[{at}]"]


def _below(s: Scope, count: int) -> str:
    """An index that is known, mostly; else one of run time."""
    return str(s.number(0, count - 1)) if s.chance(2) or count < 2 else index(s, 2)
