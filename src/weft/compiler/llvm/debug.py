"""Line tables: every instruction leads back to the Python line that made it."""

from __future__ import annotations

import os

from weft.compiler.ir.core import Function, Loc, Module
from weft.compiler.llvm.constants import string_text


def _text(text: str) -> str:
    return string_text(text.encode(errors="replace"))


class DebugInfo:
    """The debug metadata of one module, numbered from 0."""

    def __init__(self, module: Module) -> None:
        self.lines: list[str] = []
        self.files: dict[str, str] = {}
        self.scope = ""
        self.locations: dict[Loc, str] = {}
        self.scopes: dict[str, str] = {}
        first = module.functions[0].file if module.functions else module.name
        self.unit = self.node(
            f'distinct !DICompileUnit(language: DW_LANG_C, file: {self.file(first)}, producer: "weft", '
            "isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly)"
        )
        self.void = self.node(f"!DISubroutineType(types: {self.node('!{null}')})")

    def node(self, text: str) -> str:
        """A metadata node; gives its reference."""
        name = f"!{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def file(self, path: str) -> str:
        """The node of a source file."""
        found = self.files.get(path)
        if found is None:
            folder, name = os.path.split(os.path.abspath(path) if path and path[0] != "<" else path)
            found = self.files[path] = self.node(
                f"!DIFile(filename: {_text(name)}, directory: {_text(folder)})"
            )
        return found

    def enter(self, f: Function) -> str:
        """The node of a function; instructions lowered next are its own."""
        self.locations = {}
        if f.name in self.scopes:
            self.scope = self.scopes[f.name]
            return self.scope
        file = self.file(f.file)
        self.scope = self.scopes[f.name] = self.node(
            f"distinct !DISubprogram(name: {_text(f.source_name or f.name)}, linkageName: {_text(f.name)}, "
            f"scope: {file}, file: {file}, line: {f.line}, type: {self.void}, scopeLine: {f.line}, "
            f"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: {self.unit})"
        )
        return self.scope

    def location(self, loc: Loc) -> str:
        """What an instruction at this place carries."""
        found = self.locations.get(loc)
        if found is None:
            scope, tail = self.scope, ""
            if len(loc) == 4:
                if loc[2].name not in self.scopes:
                    here, known = self.scope, self.locations
                    self.enter(loc[2])
                    self.scope, self.locations = here, known
                scope = self.scopes[loc[2].name]
                tail = f", inlinedAt: {self.location(loc[3]).removeprefix(', !dbg ')}"
            node = self.node(f"!DILocation(line: {loc[0]}, column: {loc[1] + 1}, scope: {scope}{tail})")
            found = self.locations[loc] = f", !dbg {node}"
        return found

    def finish(self) -> list[str]:
        """The metadata's text."""
        flags = self.node('!{i32 2, !"Debug Info Version", i32 3}')
        return [f"!llvm.dbg.cu = !{{{self.unit}}}", f"!llvm.module.flags = !{{{flags}}}", *self.lines]
