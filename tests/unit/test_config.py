"""Settings come from two variables and from scopes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from weft import config


def test_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WEFT_DEVICE", "cpu")
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    assert config.settings() == config.Settings("cpu", tmp_path)
    monkeypatch.setenv("WEFT_DEVICE", "")
    assert config.settings().device is None


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the folder that XDG names")
def test_default_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("WEFT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert config.settings().cache_dir == tmp_path / "weft"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert config.settings().cache_dir == Path.home() / ".cache" / "weft"


def test_scopes_nest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_DEVICE", "cuda")
    before = config.settings()
    with config.scope(device="cpu") as outer, config.scope(cache_dir="elsewhere") as inner:
        assert outer.device == inner.device == "cpu"
        assert inner.cache_dir == Path("elsewhere")
        assert config.settings() == inner
    assert config.settings() == before
