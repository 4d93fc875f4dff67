"""How the arguments of a call meet the parameters of what it calls, and what is said where they do not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol, cast

from weft.diagnostics.errors import nearest
from weft.diagnostics.problems import Problems


class _Missing:
    def __reduce__(self) -> str:
        return "MISSING"

    def __repr__(self) -> str:
        return "<no value>"


MISSING: Any = _Missing()
"""In place of an annotation or a default that is not there."""


class Fitted(Protocol):
    """A parameter, as arguments meet it."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def keyword_only(self) -> bool:
        """Whether it is given by name alone."""
        ...

    @property
    def default(self) -> Any:
        """Its value where the call gives none; ``MISSING`` where the call has to."""
        ...

    @property
    def comptime(self) -> bool:
        """Whether its value is known at compile time."""
        ...

    @property
    def variable(self) -> bool:
        """Whether it is a type variable, which the arguments say."""
        ...


_Problem = Callable[..., None]
_ALIKE = (
    "axis dim",
    "less cmp compare comparator",
    "size n count length num numel num_elements",
    "shape size dims",
    "src source input from_",
    "dst dest destination target output to",
    "init initial initial_value start identity",
    "eps epsilon",
    "keepdims keepdim",
    "grid_dim grid blocks num_blocks",
    "block_dim block threads num_threads threads_per_block",
    "shared_mem_bytes smem shared shared_mem shared_memory",
    "over range total n dim",
    "device context ctx",
    "target arch architecture gpu sm",
    "emission_kind emit kind stage",
)
"""Words for one thing: weft's first, where they are not spelt alike."""


def fit(
    name_of: str,
    shown: Callable[[], str],
    params: Sequence[Fitted],
    args: Sequence[Any],
    named: Mapping[str, Any],
    options: Iterable[str] = (),
    otherwise: str = "leave it out, or add the parameter",
    bound: Collection[str] = (),
) -> tuple[dict[str, Any], Problems]:
    """Arguments by parameter name, and what is wrong with them (all of it at once).

    ``shown`` gives the signature. ``options`` are the keywords that the call takes besides, which a misspelt
    name may have meant, ``otherwise`` is the help where it is like none, and ``bound`` are those of ``named``
    that were given before the call.
    """
    problems = Problems()

    def problem(code: str, message: str, hint: str, at: int | str | None = None) -> None:
        problems.add(code, message, hint, notes=(shown(),), at=at)

    values: dict[str, Any] = {}
    positional = [p for p in params if not p.keyword_only]
    options = [*options]
    if len(args) > len(positional):
        by_name = [p for p in params if p.keyword_only and not p.variable and p.name not in named]
        said, hint = _too_many(name_of, positional, by_name, options, args)
        problem("argument-count", said, hint, len(positional))
    for p, value in zip(positional, args, strict=False):
        values[p.name] = value
    known = {p.name for p in params}
    meant: set[str] = set()
    for name, value in named.items():
        if name not in known:
            guess = _meant(name, params, options, {*values, *named, *meant})
            meant.update([guess] if guess else [])
            hint = _written(name, known, options) or (f"did you mean `{guess}`?" if guess else otherwise)
            problem("argument-name", f"{name_of} has no parameter `{name}`", hint, name)
        elif name in values:
            before = name in bound
            message = f"`{name}` is given twice, by position and {'before, by bind' if before else 'by name'}"
            hint = f"give it by name, {name}=..., which takes the place of what is bound; or leave it out"
            at = [p.name for p in positional].index(name) if before else name
            problem("argument-name", message, hint if before else "leave one of them out", at)
        else:
            values[name] = value
    given = {*values, *meant}
    _check_missing(name_of, [p for p in params if p.name not in given], problem)
    for p in params:
        if p.name not in values and p.default is not MISSING:
            values[p.name] = p.default
    return values, problems


_OF_SEVERAL = {
    "shape": "give the shape as one argument: (m, n), or Layout.row_major(m, n)",
    "layout": "give one layout: Layout.row_major(m, n)",
}
"""What to write where a last parameter of this name was given in several arguments."""


_LESS = "write less=lambda a, b: a > b"
_ARGUMENTS = "give the kernel's arguments one by one, behind the kernel"
_AT_LAUNCH = {
    "dump_asm": "give it to ctx.compile_function(kernel, dump_asm=True), and launch what that gives",
    "dump_llvm": "give it to ctx.compile_function(kernel, dump_llvm=True), and launch what that gives",
    "dump_sass": "write compile_info(kernel, emission_kind='sass', target='sm_90'), from weft.compile",
    "ptxas_info_verbose": "write compile_info(kernel, target='sm_90').resources, from weft.compile",
    "func_attribute": "leave it out: shared_mem_bytes= is enough; of registers tells launch_bounds(256, 4)",
    "constant_memory": "leave it out: a list or a NumPy array outside of the kernel is constant memory",
    "attributes": "write cluster_dim=, cooperative=True or pdl=True",
    "location": "leave it out: messages name the line of the launch",
    "num_warps": "write block_dim=32 * num_warps",
    "inputs": _ARGUMENTS,
    "outputs": _ARGUMENTS,
    "args": _ARGUMENTS,
}
"""What others give a launch by name, without the underscores before it."""


_INSTEAD = {
    **dict.fromkeys(
        ("attn_mask", "mask"), "there is causal=, with diagonal=; a kernel for tiles may mask as it likes"
    ),
    "dropout_p": "multiply the result, or leave it out where it is 0",
    "enable_gqa": "leave it out: each head of k serves as many of q's as there are for it",
    "beta": "write bias=c, which is added; c * beta for another factor than 1",
    "activation": "write epilogue=f, a function of an element",
    **dict.fromkeys(("transpose_a", "transpose_b", "trans_a", "trans_b"), "pass a transposed view: x.T"),
    "stable": "leave it out: equals keep their order",
    "kind": "leave it out: equals keep their order",
    "sorted": "leave it out: they are sorted",
    "weights": "put(totals, places, weights, add=True) adds weights up by place",
    "density": "leave it out, and divide by x.size and the width of a bin",
    "dtype": "convert the array first, x.astype(dtype) or x.to(dtype)",
    "reverse": "pass it reversed, x[::-1], and reverse the result",
    "gamma": "write weight=gamma",
    "normalized_shape": "leave it out: each row along the last axis is one",
    **dict.fromkeys(("block_table", "block_tables"), "write page_table=pages"),
    **dict.fromkeys(("seq_lens", "seqlens", "context_lens", "cache_seqlens"), "write lengths=lengths"),
    "positions": "pass the angles of these: take(cos, positions, 0), and of sin",
    "padding_idx": "leave it out, and set that row of weight to 0",
    "alpha": "multiply the result by it, or call matmul, which has alpha=",
    **dict.fromkeys(("min", "max"), "write range=(low, high)"),
    "mode": "bring the indices into range first: indices % n wraps, and a minimum with n - 1 clips",
}
"""What others give an operation by name that it has not, and what to write."""


_OF_REDUCTIONS = {
    "where": "set the others before to what changes nothing: np.where(mask, x, 0) for a sum",
    "initial": "combine it with the result: sum(x) + initial",
}
"""Likewise what others give a reduction."""


def _written(name: str, known: Collection[str], options: Collection[str]) -> str:
    """What to write for a keyword that has no counterpart of the same meaning; empty for all others."""
    if name in ("reverse", "descending") and "less" in known:
        return _LESS
    operation = "grid_dim" not in options and ("out" in known or "axis" in known)
    if name in _INSTEAD and operation:
        return _INSTEAD[name]
    if "keepdims" in known and name in _OF_REDUCTIONS:
        return _OF_REDUCTIONS[name]
    return _AT_LAUNCH.get(name.lstrip("_"), "") if "grid_dim" in options else ""


def _meant(name: str, params: Sequence[Fitted], options: Iterable[str], given: Collection[str]) -> str | None:
    """The parameter that a keyword most likely means, of those that nothing has given."""
    free = [n for n in (*[p.name for p in params], *options) if n not in given]
    alike = [words.split()[0] for words in _ALIKE if name in words.split()]
    needed = [p.name for p in params if p.name in free and p.default is MISSING and not p.variable]
    found = next((n for n in alike if n in free), None) or nearest(name, free)
    return found or (needed[0] if len(needed) == 1 else None)


def _too_many(
    name_of: str,
    positional: Sequence[Fitted],
    by_name: Sequence[Fitted],
    options: Iterable[str],
    args: Sequence[Any],
) -> tuple[str, str]:
    """What is said of too many values by position, and what to write; some are given by name alone."""
    most, given, free = len(positional), len(args), [p.name for p in by_name]
    takes, extra = f"{most} positional argument{'s' * (most != 1)}", given - most
    meant = [(p.name, text) for value in args[most:] for p in by_name if (text := _text_of(value, p))]
    if len(meant) == extra:
        hint = f"give {'it' if extra == 1 else 'them'} by name: {', '.join('='.join(each) for each in meant)}"
    elif positional and positional[0].name == "pointer" and extra == 1:
        hint = "write pointer + i for an element of a pointer, tensor.address(i, j) for one of a tensor"
    elif positional and positional[-1].name in _OF_SEVERAL:
        hint = _OF_SEVERAL[positional[-1].name] + (
            f"; {', '.join(f'{n}=' for n in free)} by name" if free else ""
        )
    elif [*options] and extra == 2:
        hint = "leave out the rest; how many blocks and threads is given by name: grid_dim=, block_dim="
    elif len(free) == extra:
        hint = f"give {' and '.join(f'{n}=' for n in free)} by name"
    else:
        hint = "leave it out" if extra == 1 else "leave out the rest"
        hint += f"; by name it takes {', '.join(f'{n}=' for n in free)}" if free else ""
    return f"{name_of} takes {takes}, but {given} {'was' if given == 1 else 'were'} given", hint


def _text_of(value: Any, parameter: Fitted) -> str:
    """How a value is written, or the expression of one, that is of the kind of a parameter's default."""
    import ast  # here, since calls that fit do without

    kind = cast("type[Any]", type(parameter.default))
    if isinstance(value, ast.Attribute):
        text = ast.unparse(value)
        return text if text.rpartition(".")[0].rpartition(".")[2] == kind.__name__ else ""
    return str(value) if issubclass(kind, Enum) and isinstance(value, kind) else ""


def _check_missing(name_of: str, absent: Iterable[Fitted], problem: _Problem) -> None:
    """Say which parameters have no value; those absent are not given by the call."""
    missing = [p for p in absent if p.default is MISSING and not p.variable]
    for p in missing:
        if p.comptime:
            problem(
                "missing-comptime",
                f"{name_of} needs a compile-time value for `{p.name}`",
                f"pass {p.name}=..., or bind it before with .bind({p.name}=...)",
            )
    runtime = [p for p in missing if not p.comptime]
    if runtime:
        listed = ", ".join(f"`{p.name}`" for p in runtime)
        message = f"{name_of} misses {'an argument' if len(runtime) == 1 else 'arguments'}: {listed}"
        hint = f"pass {'it' if len(runtime) == 1 else 'them in this order'}"
        if all(p.keyword_only for p in runtime):
            hint = f"pass {' and '.join(f'{p.name}=...' for p in runtime)} by name"
        problem("argument-count", message, hint)
