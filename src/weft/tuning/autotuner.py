"""Tuned kernels: what a launch takes, from what is known or by measuring."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, cast

from weft.compiler.source.pickled import by_name, find, sent
from weft.config import settings
from weft.diagnostics import LaunchError, WeftError, caller_location, note_slow
from weft.lang.decorators import Kernel
from weft.lang.signature import parameters
from weft.tuning import sessions
from weft.tuning.candidates import Call, Candidate, prepare
from weft.tuning.classes import Class, class_of, counted
from weft.tuning.config import OPTIONS, Config, asked_by, refuse
from weft.tuning.known import Choice, cache_key, recall, remember
from weft.tuning.measuring import begun, measured
from weft.tuning.rules import Rules
from weft.tuning.search import Failed

if TYPE_CHECKING:
    from weft.launch.context import Blocks, DeviceContext

P = ParamSpec("P")
_LAUNCH = (*OPTIONS, "over", "stream")


class Autotuner(Kernel[...], Generic[P]):
    """A kernel that is launched by the fastest of several configurations; ``autotune`` makes it."""

    tuned = True

    def __init__(self, kernel: Kernel[P], rules: Rules) -> None:
        super().__init__(kernel.definition, kernel.bound)
        self.kernel: Kernel[P] = kernel
        """The kernel without its tuned parameters, to be given these by ``bind``."""
        self.rules = rules
        self._chosen: dict[object, Config] = {}
        self._bound: dict[Config, Kernel[...]] = {}
        self._names: list[str] | None = None
        self._asks: dict[int, tuple[str, ...]] = {}
        self._lock = threading.RLock()

    @property
    def configs(self) -> list[Config]:
        """All configurations."""
        return list(self.rules.space)

    def bind(self, **values: Any) -> Kernel[...]:
        """The kernel with compile-time parameters given; with tuned ones among them it is tuned no more."""
        bound = self.kernel.bind(**values)
        return bound if self.rules.names & values.keys() else Autotuner(bound, self.rules)

    def forget(self) -> None:
        """As of any kernel, and what was chosen in this process."""
        super().forget()
        self._chosen.clear()

    def __reduce__(self) -> tuple[Any, ...]:
        if by_name(self.definition.module, self.definition.qualname, self):
            return find, (self.definition.module, self.definition.qualname)
        parts = {name: sent(value) for name, value in self.rules.given.items()}
        of = {name: sent(function) for name, function in self.rules.key.items()}
        return _remade, (self.kernel, [dict(config) for config in self.rules.space], of, parts)

    def choice(
        self,
        ctx: DeviceContext,
        *args: Any,
        grid_dim: Blocks | Callable[[Config], Blocks] | None = None,
        block_dim: Blocks | Callable[[Config], Blocks] | None = None,
        **named: Any,
    ) -> Config:
        """What a launch with these arguments and options takes; it is tuned if need be, and not made.

        Example:
            >>> from weft import Comptime, Float32, Int, Pointer, kernel
            >>> from weft.gpu import global_idx
            >>> from weft.gpu.host import DeviceContext
            >>> from weft.tuning import autotune
            >>> @autotune({"EACH": [1, 4]}, key=["n"], measure=lambda config, launch: 1 / config["EACH"])
            ... @kernel
            ... def double(x: Pointer[Float32], n: Int, *, EACH: Comptime[int]):
            ...     for i in range(global_idx.x * EACH, min(n, (global_idx.x + 1) * EACH)):
            ...         x[i] *= 2.0
            >>> ctx = DeviceContext(api="cpu")
            >>> x = ctx.enqueue_create_buffer(Float32, 64)
            >>> double.choice(ctx, x, 64, grid_dim=lambda c: 64 // c["EACH"], block_dim=1)
            Config(EACH=4)
        """
        return self._choose(self._call(ctx, args, {**named, "grid_dim": grid_dim, "block_dim": block_dim}))

    def tune(
        self,
        ctx: DeviceContext,
        *args: Any,
        grid_dim: Blocks | Callable[[Config], Blocks] | None = None,
        block_dim: Blocks | Callable[[Config], Blocks] | None = None,
        **named: Any,
    ) -> Choice:
        """Measure for such launches, whatever is known of them, and remember what was found.

        Raises:
            LaunchError: no configuration can be launched, or measured; the message has all reasons.
        """
        call = self._call(ctx, args, {**named, "grid_dim": grid_dim, "block_dim": block_dim})
        reason = self._hindered(ctx)
        if reason == "":
            try:
                return self._tune(call, self._class(call), self._known(call)[0])
            except Failed as problem:
                reason = str(problem)
        message = (
            f"{self.__name__} cannot be tuned: {reason or 'the interpreter says nothing of how fast it is'}"
        )
        raise LaunchError.here("autotune", message, "launch it, which takes what is known, or the default")

    def launch(self, ctx: DeviceContext, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        """What ``ctx.enqueue_function`` does with it."""
        named = {n: v for n, v in named.items() if v is not None or n not in _LAUNCH}
        if chosen := (self.rules.names - {*OPTIONS}) & named.keys():
            self._check_chosen(chosen, named)
            kernel = self.kernel.for_blocks(named["block_dim"]) if "block_dim" in named else self.kernel
            ctx.enqueue_function(kernel, *args, **named)
            return
        call = self._call(ctx, args, named)
        config = self._choose(call)
        kernel = self._bound.get(config)
        if kernel is None:  # the same object each time, whose launches are remembered
            kernel = self._bound[config] = call.with_values(config)
        args, rest = call.with_arguments(config)
        ctx.enqueue_function(kernel, *args, **rest, **call.with_options(config))

    def _check_chosen(self, chosen: Iterable[str], named: Mapping[str, Any]) -> None:
        """Refuse functions of a configuration where the launch says itself what is tuned."""
        for name in (n for n in OPTIONS if callable(named.get(n))):
            given = " and ".join(f"{n}=" for n in sorted(chosen))
            raise LaunchError.here(
                "autotune",
                f"{name} is a function of the configuration, and a launch that gives {given} takes none",
                f"write {name}= as numbers, or leave {given} out",
                at=(name, 9),
            )

    def _call(self, ctx: DeviceContext, args: tuple[Any, ...], named: Mapping[str, Any]) -> Call:
        options = {n: v for n, v in named.items() if n in _LAUNCH and v is not None}
        for name in options.keys() & self.rules.names:
            raise LaunchError.here(
                "autotune",
                f"the configurations of {self.__name__} say what {name} is, and so does the launch",
                f"leave {name}= out of one of them",
                at=(name, 9),
            )
        if self.definition.threads and "block_dim" not in self.rules.names:
            self._check_block(options.setdefault("block_dim", self.definition.threads))
        rest = {n: v for n, v in named.items() if n not in _LAUNCH}
        return Call(ctx, self.kernel, args, rest, options)

    def _check_block(self, block: Any) -> None:
        """Refuse another size of blocks than that for which the kernel is written."""
        if block != (threads := self.definition.threads):
            raise LaunchError.here(
                "autotune",
                f"{self.__name__} is a tile kernel of {threads} threads, not of block_dim={block!r}",
                'leave out block_dim=, or tune it: "block_dim": [64, 128] in the configurations',
                at=("block_dim", 9),
            )

    def _values(self, call: Call, config: Config | None = None) -> dict[str, Any]:
        """The arguments of a launch by name, those of a configuration where it says."""
        names = self._names
        if names is None:
            every = parameters(self.definition)
            names = self._names = [p.name for p in every if not p.keyword_only and not p.variable]
        args, named = (call.args, call.named) if config is None else call.with_arguments(config)
        return {**dict(zip(names, args, strict=False)), **named}

    def _class(self, call: Call) -> Class:
        """The class of a launch."""
        info = call.ctx.info
        device = info.name if not info.shares_host else f"{info.name}, {info.multiprocessors} threads"
        return class_of(self.__name__, device, self.rules.key, self._values(call))

    def _key(self, call: Call) -> object:
        """What a class is in this process: found in a microsecond or two."""
        values, ctx = self._values(call), call.ctx
        types: list[Any] = [(type(value), getattr(value, "dtype", None)) for value in values.values()]
        key: list[Any] = [
            repr(counted(self.__name__, n, of, values[n])) for n, of in self.rules.key.items() if n in values
        ]
        return ctx.api, ctx.id, ctx.info.multiprocessors, *types, *key

    def _choose(self, call: Call) -> Config:
        key, found = self._known(call)
        if found is None:
            with self._lock:
                found = self._chosen.get(key) or self._find(call, key)
        return found

    def _known(self, call: Call) -> tuple[object, Config | None]:
        """What a launch is here, and what is known for it.

        That of a launch's class, unless ``when=`` says no to it for this launch: then that of the launches
        for which ``when=`` says what it says here.
        """
        key = self._key(call)
        found = self._chosen.get(key)
        if found is not None and self.rules.when is not None and not self._wanted(call)(found):
            key = key, *self._tried(call)
            found = self._chosen.get(key)
        return key, found

    def _tried(self, call: Call) -> list[Config]:
        """The part of the space that is worth a try."""
        return [*filter(self._wanted(call), self.rules.space)]

    def _find(self, call: Call, key: object) -> Config:
        """What is known of a class, or can be found out."""
        rules, ctx, of = self.rules, call.ctx, self._class(call)
        session = sessions.current
        if session is None:
            found = rules.table.find(self._name, of, rules.space) if rules.table else None
            if found is None or not self._wanted(call)(found):  # to this launch of the class
                found = self._recalled(call, of)
            if found is not None:
                self._chosen[key] = found
                return found
        default = self._default(call)
        if not (session or (settings().tune and rules.on_launch)):
            return default
        reason = None if 0 in _extents(call) else self._hindered(ctx)
        if reason == "":
            try:
                return self._tune(call, of, key).config
            except Failed as problem:
                reason = str(problem)
                self._chosen[key] = default
        if reason:
            note_slow(f"{self.__name__} takes {default}, untuned: {reason}", caller_location())
        return default

    def _hindered(self, ctx: DeviceContext) -> str | None:
        """Why nothing can be measured now; None where that goes without saying."""
        if ctx.recording is not None:
            return "within a capture nothing can be measured; launch it once before"
        if ctx.info.api == "interpreter":
            return None
        if ctx.checked or ctx.schedule is not None:
            return "a context with checks, or with a schedule, says nothing of how fast it is elsewhere"
        return ""

    @property
    def _name(self) -> str:
        return f"{Path(self.definition.file).stem}.{self.__qualname__}"  # as a program and as a module

    def _default(self, call: Call) -> Config:
        rules = self.rules
        if rules.default is None:
            space = self._wanted(call)
            return next((config for config in rules.space if space(config)), rules.space[0])
        if isinstance(rules.default, Config):
            return rules.default
        given = self._asked(rules.default, call, None)
        found = next((config for config in rules.space if config == Config(given)), None) if given else None
        if found is None:
            message = f"default= of {self.__name__} gives {given!r}, which is none of its configurations"
            refuse(message, f"give one of them, such as {rules.space[0]}", ("default", 9))
        return found

    def _asked(self, function: Callable[..., Any], call: Call, config: Config | None) -> Any:
        """What a user's function says, which is given what it asks for by name."""
        values = {**self._values(call), "config": config}
        names = self._asks.get(id(function))  # which ``rules`` keeps
        if names is None:
            names = self._asks[id(function)] = asked_by(function, "when", list(self.definition.names()))
        return function(**{name: values[name] for name in names if name in values})

    def _wanted(self, call: Call) -> Callable[[Config], bool]:
        when = self.rules.when
        return (lambda config: True) if when is None else lambda config: bool(self._asked(when, call, config))

    def _cache_key(self, call: Call, of: Class) -> str | None:
        tried = self._tried(call)
        for config in tried:
            try:
                code = call.code(config)
            except WeftError:
                continue
            return None if code is None else cache_key(code, tried, of)
        return None

    def _recalled(self, call: Call, of: Class) -> Config | None:
        key = self._cache_key(call, of)
        return None if key is None else recall(key, self.rules.space)

    def _tune(self, call: Call, of: Class, key: object) -> Choice:
        """Measure.

        Raises:
            Failed: nothing could be measured.
            LaunchError: nothing can be launched.
        """
        rules = self.rules
        run = sessions.begin(self._name, of, len(rules.space))
        process = begun(rules.how)
        try:
            found = prepare(call, rules.space, self._wanted(call), rules.min_occupancy, run.prepared)
            if all(candidate.left_out for candidate in found):
                self._none_left(call, found)
            timings = measured(
                call.ctx, found, rules.how, process, lambda config: self._values(call, config), run.sampled
            )
        finally:
            if process is not None:
                process.kill()
        best = min(range(len(found)), key=lambda n: timings[n].seconds)
        run.end(found, timings)
        if timings[best].seconds == math.inf:
            reasons = dict.fromkeys(c.left_out for c in found if c.ready is not None and c.left_out)
            raise Failed("; ".join(reasons) or "measure= gives inf for each configuration")
        default = self._default(call)
        seconds = {c.config: t.seconds for c, t in zip(found, timings, strict=True)}
        left_out = tuple([(c.config, c.left_out) for c in found if c.left_out])
        taken = Choice(self._name, of, found[best].config, timings[best].seconds, seconds[default], left_out)
        self._chosen[key] = taken.config
        sessions.keep(taken)
        name = self._cache_key(call, of)
        if name is not None:
            remember(name, taken)
        failed = [f"{c.config}: {t.left_out}" for c, t in zip(found, timings, strict=True) if t.left_out]
        if failed:
            text = f"{self.__name__} is tuned without what failed as it was measured: {'; '.join(failed)}"
            note_slow(text, caller_location())
        return taken

    def _none_left(self, call: Call, found: list[Candidate]) -> None:
        """Say why nothing can be launched: as any launch would, where it is not for a configuration.

        Raises:
            LaunchError, CompileError: always.
        """
        reasons = {candidate.left_out for candidate in found}
        if len(reasons) == 1 and found[0].ready is None:
            call.ready(found[0].config)
        raise LaunchError.here(
            "autotune",
            f"no configuration of {self.__name__} can be launched",
            "add one that takes less, or let when= keep one",
            notes=[f"{candidate.config}: {candidate.left_out}" for candidate in found],
        )


def _extents(call: Call) -> tuple[Any, ...]:
    """What a launch over a range has; one without elements launches nothing."""
    over: Any = call.options.get("over", ())
    return cast("tuple[Any, ...]", over) if isinstance(over, tuple) else (over,)


def _remade(kernel: Kernel[...], configs: Any, key: Any, given: Mapping[str, Any]) -> Autotuner[...]:
    """One that was pickled."""
    return Autotuner(kernel, Rules(kernel, configs, key, given))
