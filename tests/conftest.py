"""Fixtures that several test files use."""

import pytest
from fake_passes import FAKES

from bpir import passes


@pytest.fixture
def fake_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers the fake passes beside the real ones."""
    for name, where in FAKES.items():
        monkeypatch.setitem(passes.PASSES, name, where)
