"""Line tables, so that every instruction leads back to the Python line that made it; types of variables."""

from __future__ import annotations

import os

from weft.compiler.ir.core import Function, Loc, Module
from weft.compiler.llvm.constants import string_text


def _text(text: str) -> str:
    return string_text(text.encode(errors="replace"))


class DebugInfo:
    """The debug metadata of one module, numbered from 0; with ``variables``, all that debuggers read."""

    def __init__(self, module: Module, *, variables: bool = False) -> None:
        self.variables = variables
        self.nodes: dict[str, str] = {}
        self.lines: list[str] = []
        self.files: dict[str, str] = {}
        self.scope = self.path = ""
        self.locations: dict[Loc, str] = {}
        self.scopes: dict[str, str] = {}
        first = module.functions[0].file if module.functions else module.name
        self.unit = self.node(
            f'distinct !DICompileUnit(language: DW_LANG_C, file: {self.file(first)}, producer: "weft", '
            f"isOptimized: {'false' if variables else 'true'}, runtimeVersion: 0, "
            f"emissionKind: {'FullDebug' if variables else 'DebugDirectivesOnly'})"
        )
        self.void = self.node(f"!DISubroutineType(types: {self.node('!{null}')})")

    def node(self, text: str) -> str:
        """A metadata node; gives its reference."""
        name = f"!{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def once(self, text: str) -> str:
        """A metadata node, the same for the same text."""
        if text not in self.nodes:
            self.nodes[text] = self.node(text)
        return self.nodes[text]

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
        self.locations, self.path = {}, f.file
        if f.name in self.scopes:
            self.scope = self.scopes[f.name]
            return self.scope
        file = self.file(f.file)
        linkage = "" if self.variables else f"linkageName: {_text(f.name)}, "  # gdb shows it before the name
        self.scope = self.scopes[f.name] = self.node(
            f"distinct !DISubprogram(name: {_text(f.source_name or f.name)}, {linkage}"
            f"scope: {file}, file: {file}, line: {f.line}, type: {self.void}, scopeLine: {f.line}, "
            f"spFlags: DISPFlagDefinition{'' if self.variables else ' | DISPFlagOptimized'}, "
            f"unit: {self.unit})"
        )
        return self.scope

    def location(self, loc: Loc) -> str:
        """What an instruction at this place carries."""
        found = self.locations.get(loc)
        if found is None:
            scope, tail = self.scope, ""
            if len(loc) == 4:
                if loc[2].name not in self.scopes:
                    here = self.scope, self.locations, self.path
                    self.enter(loc[2])
                    self.scope, self.locations, self.path = here
                scope = self.scopes[loc[2].name]
                tail = f", inlinedAt: {self.location(loc[3]).removeprefix(', !dbg ')}"
            node = self.node(f"!DILocation(line: {loc[0]}, column: {loc[1] + 1}, scope: {scope}{tail})")
            found = self.locations[loc] = f", !dbg {node}"
        return found

    def variable(self, name: str, kind: str, loc: Loc) -> tuple[str, str]:
        """A variable of the function at a place: its node, and that of a place without a line."""
        nowhere: Loc = (0, 0, loc[2], loc[3]) if len(loc) == 4 else (0, 0)
        place = self.location(nowhere).removeprefix(", !dbg ")
        scope, file = (self.scopes[loc[2].name], loc[2].file) if len(loc) == 4 else (self.scope, self.path)
        made = f"!DILocalVariable(name: {_text(name)}, scope: {scope}, file: {self.file(file)}, type: {kind})"
        return self.once(made), place

    def finish(self) -> list[str]:
        """The metadata's text."""
        flags = [self.node('!{i32 2, !"Debug Info Version", i32 3}')]
        if self.variables:
            flags.append(self.node('!{i32 2, !"Dwarf Version", i32 4}'))
        return [
            f"!llvm.dbg.cu = !{{{self.unit}}}",
            f"!llvm.module.flags = !{{{', '.join(flags)}}}",
            *self.lines,
        ]
