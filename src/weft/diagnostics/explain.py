"""What there is to say of each code: why it is, a program that is wrong, one that is right.

The Markdown files of ``codes`` say it, each once: ``weft explain`` prints them, the documentation's pages are
made of them, and tests run their programs. They are read when somebody asks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from weft.record import record

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "codes")

GROUPS = {
    "text": (
        "The text of a function",
        "Found when a kernel is compiled, before any of it runs: everything in the function at once.",
    ),
    "types": ("Types and values", "Found when a function is elaborated for the types of its arguments."),
    "memory": ("Tensors, layouts and memory", "Found when a function is elaborated, or on the host."),
    "launches": (
        "Launches",
        "Found before anything reaches the driver: everything that is wrong with the call at once.",
    ),
    "devices": ("Buffers, streams and devices", "Found on the host, or told by the device."),
    "warnings": (
        "Warnings",
        "Found when a kernel is compiled: what is legal and hardly meant so. It is compiled as it stands.",
    ),
    "tools": ("Targets and tools", "Found for one target, on the command line or in the environment."),
}
"""The folders of the pages in their order: what each is called, and when its mistakes are found."""


@record
class Page:
    """What a code means."""

    code: str
    group: str
    path: str
    text: str
    """Markdown, its title first."""

    @property
    def title(self) -> str:
        """When it happens, in one line."""
        return self.text.partition("\n")[0].removeprefix("# ")

    @property
    def body(self) -> str:
        """What stands below the title."""
        return self.text.partition("\n")[2]


def page(code: str) -> Page | None:
    """What a code means, or None where no message has it."""
    for group in GROUPS:
        path = os.path.join(_FOLDER, group, f"{code}.md")
        if os.path.basename(path) == f"{code}.md" and os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return Page(code, group, path, file.read())
    return None


def pages(group: str) -> Iterator[Page]:
    """The pages of a group by the names of their codes."""
    for name in sorted(os.listdir(os.path.join(_FOLDER, group))):
        found = page(name.removesuffix(".md"))
        if found is not None:
            yield found
