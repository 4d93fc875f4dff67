"""CPUs: kernels become loops over threads in a native object file.

The names without a level stand for a baseline that every machine of the kind runs; ``native`` is
resolved to the machine at hand when compiling.
"""

from __future__ import annotations

import os

from weft.abi.warp import WARP
from weft.compiler.ir.types import AddressSpace
from weft.record import replace
from weft.targets.target import Feature, Target

_SPACES = dict.fromkeys(AddressSpace, 0)
_FAMILIES = {"x86": "x86", "aarch64": "aarch64"}


def _machine() -> str:
    if hasattr(os, "uname"):
        return os.uname().machine
    import platform  # which takes a millisecond to load

    return platform.machine().lower()


_FAMILIES["native"] = {"x86_64": "x86", "amd64": "x86", "arm64": "aarch64"}.get(_machine(), _machine())


def _target(name: str, triple: str, cpu: str, features: str = "", aliases: tuple[str, ...] = ()) -> Target:
    family = _FAMILIES.get(name.partition("-")[0], "")
    return Target(
        name=name,
        triple=triple,
        cpu=cpu,
        features=features,
        format="object",
        threads="loops",
        level=3,
        converts_halves=False,
        spaces=_SPACES,
        supported=frozenset({Feature.ASSEMBLER, Feature.C_FUNCTIONS, Feature.COOPERATIVE, Feature.CLUSTERS}),
        warp_size=WARP,
        shared_limit=227 * 1024,
        cluster_limit=16,
        family=family,
        sync_scopes={"block": "block"},
        rare_convention="preserve_allcc" if family in ("x86", "aarch64") else "",
        telling_convention="preserve_mostcc" if family in ("x86", "aarch64") else "",
        waits_for_streams="llvm.x86.sse.sfence" if family == "x86" else "",
        aliases=aliases,
    )


TARGETS: dict[str, Target] = {
    t.name: t
    for t in (
        _target("native", "", "native", aliases=("cpu",)),
        _target("x86-64", "x86_64-unknown-linux-gnu", "x86-64", aliases=("x86_64", "amd64")),
        _target("x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3"),
        _target("x86-64-v4", "x86_64-unknown-linux-gnu", "x86-64-v4"),
        _target("aarch64", "aarch64-unknown-linux-gnu", "generic", "+neon", aliases=("arm64",)),
    )
}
TARGETS["interpreter"] = replace(
    TARGETS["native"],
    name="interpreter",
    format="python",
    aliases=("python",),
)
"""The machine at hand, whose kernels become Python: what debuggers stop in (``compiler/interpreted``)."""
