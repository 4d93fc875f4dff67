"""Compiled code on disk, by what it was compiled from.

A kernel is staged and elaborated in every process. Its key is what that gives: the module's IR with
its places, types, options, target, weft and LLVM. So whatever a kernel reads at compile time, in
whichever way, is in the key by what became of it; a hit spares the passes, LLVM and what follows. The
folder is ``weft-compiled`` in ``WEFT_CACHE_DIR`` or where the system keeps a user's caches, and stays
under 512 MiB.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, cast

from weft.abi.artifact import Artifact
from weft.compiler.cache.disk import load, store
from weft.compiler.cache.tools import toolchain, whole
from weft.compiler.frontend.options import PLAIN, CompileOptions
from weft.compiler.ir.digest import module_bytes
from weft.compiler.pipeline import Compilation, Instance, elaborate_kernels, load_stages
from weft.lang.decorators import Func, Kernel
from weft.lang.spec import Spec
from weft.targets import Target, find_target

_begun = False
"""Whether this process has opened a device."""
_new = ""
"""The key of this program, while nothing of it is known to have been compiled before."""


@contextmanager
def prepared() -> Generator[None]:
    """Within ``with``, which opens a device, have at hand what the first compilation takes.

    A device takes longer to open than that, and Python has nothing to do meanwhile. LLVM comes up too, if
    this program was never seen to compile anything: that the code is in the cache can be known only
    when it was elaborated; that this program, as its file is now, has filled the cache is known before.
    """
    global _begun
    if _begun:
        yield
        return
    _begun = True
    beside = threading.Thread(target=copy_context().run, args=(_at_hand, _is_new()), name="weft's compiler")
    beside.start()
    try:
        yield
    finally:
        beside.join()


def _at_hand(new: bool) -> None:
    with contextlib.suppress(Exception):  # it goes wrong again where somebody asks for it
        toolchain(False)
        if new:
            load_stages()


def _is_new() -> bool:
    """Whether this program is likely to need LLVM, which begins to come up then."""
    global _new
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    if file is not None:
        with contextlib.suppress(OSError):
            status = os.stat(file)
            program = os.path.abspath(file), status.st_size, status.st_mtime_ns
            key = hashlib.sha256(marshal.dumps(program)).hexdigest()
            if load(key, quiet=True) is not None:
                return False
            _new = key
    _warm()
    return True


def compile_kernel(
    kernel: Kernel[...], specs: Mapping[str, Spec], target: str | Target, options: CompileOptions = PLAIN
) -> Artifact:
    """A kernel compiled for a target, in a module of its own."""
    return compile_kernels([Instance(kernel, specs, options)], target)


def compile_kernels(instances: Sequence[Instance], target: str | Target) -> Artifact:
    """Kernels of one module; its code from the cache, where the same IR has been there before."""
    global _new
    found = find_target(target)
    if found.format == "python":  # which is made sooner than looked for
        return elaborate_kernels(instances, found).artifact()
    new = come_up([instance.kernel for instance in instances], found)
    made = elaborate_kernels(instances, found)
    key = key_of(made)
    artifact = made.artifact(_kept(key, made.code))
    if key is not None and new is not None:
        store(new, b"")
    if key is not None and _new:
        program, _new = _new, ""
        store(program, b"")
    return artifact


def come_up(kernels: Iterable[Kernel[...]], target: Target) -> str | None:
    """Have LLVM come up while Python elaborates, where it is likely to be needed: these were never compiled.

    Returns:
        the key of the cache that is to say that they were; None where it says so.
    """
    seen = hashlib.sha256(
        marshal.dumps(([kernel.definition.digest() for kernel in kernels], target.name))
    ).hexdigest()
    if load(seen) is not None:
        return None
    _warm(target)
    return seen


def _warm(target: Target | None = None) -> None:
    from weft.compiler.llvm.emit import warm

    warm(target)


def key_of(made: Compilation) -> str | None:
    """The key of a kernel's code; None where it is not to be kept."""
    sites = repr([kernel.sites for kernel in made.kernels])
    places = [os.path.abspath(f.file) for f in made.module.functions]  # line tables name folders
    module = module_bytes(made.module)
    support = any(kernel.sites for kernel in made.kernels) or b"f16" in module
    return _key(made.target, _in_order(made.options), module, sites, *places, support=support)


def kept(key: Sequence[str | bytes], make: Callable[[], bytes]) -> bytes:
    """What ``make`` makes of what ``key`` says all of, or made of it in another process."""
    return _kept(key_of_parts(key), make)


def key_of_parts(key: Sequence[str | bytes]) -> str:
    """The key under which the cache has what ``kept`` keeps."""
    return hashlib.sha256(marshal.dumps(tuple(key), 2)).hexdigest()


def kept_object(functions: Callable[[], Sequence[Func[..., Any]]]) -> bytes:
    """The object, for this machine, of functions that are part of weft, as others call them.

    It is found by weft's own sources: what is in the cache is not even elaborated.
    """
    target = find_target("native")

    def make() -> bytes:
        from weft.compiler.exported import exported
        from weft.compiler.llvm.emit import emit

        return emit(exported(functions(), target), target, "object").data

    return _kept(_key(target, f"{functions.__module__}.{functions.__qualname__}", support=None), make)


def _key(target: Target, *parts: str | bytes, support: bool | None = False) -> str | None:
    """``support``: whether functions written in weft are part of it; None where these are all of it."""
    tools = whole() if support is None else toolchain(support)
    if tools is None:
        return None
    machine: tuple[str, ...] = ()
    if target.cpu == "native":
        from weft.compiler.llvm.emit import host_machine

        machine = host_machine()
    return hashlib.sha256(marshal.dumps((tools, _target_in_order(target), machine, parts), 2)).hexdigest()


_targets: dict[int, tuple[Target, str]] = {}
"""What ``_in_order`` gives of targets, by identity: they have hundreds of parts, and stay as they are."""


def _target_in_order(target: Target) -> str:
    found = _targets.get(id(target))
    if found is None or found[0] is not target:
        if len(_targets) >= 64:  # of a program that makes them
            _targets.clear()
        found = _targets[id(target)] = target, _in_order(target)
    return found[1]


def _in_order(value: Any) -> str:
    """All of a target, which may be one that a program made, or of options: the same in every process."""
    if isinstance(value, frozenset):
        return repr(sorted(map(str, cast("frozenset[object]", value))))
    if isinstance(value, Mapping):
        return repr(
            sorted((name, _in_order(part)) for name, part in cast("Mapping[str, Any]", value).items())
        )
    if callable(value):  # whose repr is another one in each process
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "__match_args__"):  # a record
        return _in_order({name: getattr(value, name) for name in value.__match_args__})
    if isinstance(value, tuple):
        return "".join([f"{_in_order(part)}," for part in cast("tuple[object, ...]", value)])
    return repr(value)


def _kept(key: str | None, compile: Callable[[], bytes]) -> bytes:
    found = None if key is None else load(key)
    if found is None:
        found = compile()
        if key is not None:
            store(key, found)
    return found
