"""What the device tests share."""

from __future__ import annotations

import pytest

from weft.launch.native.code import native_code
from weft.launch.native.objects import supported


@pytest.fixture(scope="session", autouse=True)
def prepared() -> None:
    """Native launches from the first context on, which does not wait for their code."""
    if supported():
        native_code()
