"""Kernels compiled ahead of their launches: for which types, and several together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from weft.abi.artifact import Artifact
from weft.compiler.cache.program import Pending, Together
from weft.compiler.frontend.options import CompileOptions
from weft.compiler.pipeline import Instance
from weft.compiler.source.definition import Definition
from weft.config import processors
from weft.diagnostics import CompileError, LaunchError
from weft.diagnostics.problems import Problems
from weft.lang.accept import Mismatch, accept, note_mismatch, spec_of_annotation
from weft.lang.decorators import Kernel
from weft.lang.generic import substitute, type_meant
from weft.lang.reads import Reads
from weft.lang.signature import MISSING, parameters
from weft.lang.spec import Spec
from weft.launch.arguments import Specs, check_names
from weft.launch.variants import made_for
from weft.targets import find_target

T = TypeVar("T")
Key = tuple[Definition, Specs, CompileOptions]


def specs_ahead(kernel: Kernel[...]) -> Specs | None:
    """What the parameters of a kernel are by their annotations; None where only a launch says that.

    Raises:
        CompileError: an annotation is none, or a compile-time parameter is not what it asks for.
    """
    fn, bound = kernel.definition, kernel.bound
    specs: dict[str, Spec] = {}
    problems = Problems()
    variables = [p.name for p in parameters(fn) if p.variable]
    types = {name: type_meant(bound[name]) for name in variables if name in bound}
    check_names(kernel, problems)
    for p in parameters(fn):
        value = bound.get(p.name, p.default)
        if p.comptime and value is MISSING:
            return None
        try:
            specs[p.name] = (
                accept(p, value)[0] if p.comptime else spec_of_annotation(substitute(p.annotation, types))
            )
        except Mismatch as found:
            if not (p.comptime or found.annotation):
                return None
            note_mismatch(problems, fn, p, found, None)
    problems.check(CompileError, 0)
    return Specs(specs)


def checked_jobs(jobs: object) -> int:
    """How many workers there may be: as many as this process has cores, if it is not said.

    Raises:
        LaunchError: it is no number from 1 on.
    """
    if jobs is None:
        return processors()
    if type(jobs) is int and jobs >= 1:
        return jobs
    hint = "write jobs=4, say, or leave it out for as many as there are cores"
    raise LaunchError.here("jobs", f"jobs={jobs!r} is no number of workers", hint, at=("jobs", 2))


def compiled_together(
    wanted: Mapping[Key, Kernel[...]], target: str, jobs: int | None, load: Callable[[Artifact], T]
) -> Iterator[tuple[Key, Reads, T]]:
    """Kernels compiled by so many workers, each with what its code read of the program, in their order.

    They are loaded by the threads that wait for the workers, so that drivers assemble several at a time.

    Raises:
        CompileError: one cannot be compiled.
        LaunchError: that is no number of workers.
    """
    found, jobs = find_target(target), checked_jobs(jobs)
    begun: list[tuple[Key, Reads, Pending[T]]] = []
    with Together(found, jobs, load) as together:
        for key, kernel in wanted.items():
            instance, tries = Instance(kernel, key[1].by_name, key[2]), [together, Together(found, 1, load)]

            def begin(instance: Instance = instance, tries: list[Together[T]] = tries) -> Pending[T]:
                # Once more where the program has changed meanwhile: nothing that was made before is shared.
                return tries.pop(0).begin(instance)

            pending, reads = made_for(key, key[1].each, begin)
            begun.append((key, reads, pending))
    for key, reads, pending in begun:
        yield key, reads, pending.result()
