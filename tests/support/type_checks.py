"""What pyright says of a folder of programs, which import weft as it is installed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from pages import ROOT

Complaints = dict[tuple[str, int], str]
"""What is said, by file and line, of which the first is 1."""


def configure(folder: Path) -> None:
    """Have pyright take a folder's programs as those of a user, in its strict mode.

    In a package that is installed, what no annotation says is unknown, and what a module imports is not its
    own. So weft lies in an environment here, beside all that is installed.
    """
    packages = folder / "env" / "lib" / "python3.12" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "weft").symlink_to(ROOT / "src" / "weft", target_is_directory=True)
    found = importlib.util.find_spec("numpy")
    assert found is not None and found.origin is not None  # noqa: PT018
    for at in Path(found.origin).parents[1].iterdir():
        if "weft" not in at.name and at.is_dir():
            (packages / at.name).symlink_to(at, target_is_directory=True)
    config: dict[str, Any] = {"typeCheckingMode": "strict", "pythonVersion": "3.12", "include": ["."]}
    config |= {"exclude": ["env"], "venvPath": str(folder), "venv": "env"}
    (folder / "pyrightconfig.json").write_text(json.dumps(config), encoding="utf-8")


def complaints(folder: Path) -> Complaints:
    """What pyright says of the files of a folder: the rules that lines break."""
    configure(folder)
    command = [sys.executable, "-m", "pyright", "--outputjson", "-p", str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    found: Complaints = {}
    for said in json.loads(ran.stdout)["generalDiagnostics"]:
        at = Path(said["file"]).name, int(said["range"]["start"]["line"]) + 1
        rule = str(said.get("rule", said["message"]))
        if found.get(at, "reportUnknown").startswith("reportUnknown"):  # which follows from another
            found[at] = rule
    return found


def expected(name: str, text: str) -> Complaints:
    """The rules that comments of a program name, each at a line that breaks it."""
    lines = enumerate(text.splitlines(), 1)
    return {(name, n): line.split("# ")[-1] for n, line in lines if "# report" in line}
