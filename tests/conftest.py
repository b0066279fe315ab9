"""Fixtures that several test files use, and the quick selection of `make test-fast`."""

import itertools
import os

import pytest
from fake_passes import FAKES

from bpir import passes

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each of the processes that tests start compiles all of the project again


@pytest.fixture
def fake_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers the fake passes beside the real ones."""
    for name, where in FAKES.items():
        monkeypatch.setitem(passes.PASSES, name, where)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also the tests that take minutes")
    parser.addoption("--few", type=int, metavar="N", help="of each file at most N tests, evenly spread; none that are marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("long"):
        for item in items:
            if item.get_closest_marker("long") is not None:
                item.add_marker(pytest.mark.skip(reason="takes minutes: make test-long"))
    few = config.getoption("few")
    if few is None:
        return
    kept: list[pytest.Item] = []
    for _, group in itertools.groupby(items, key=lambda item: item.path):
        quick = [item for item in group if item.get_closest_marker("slow") is None]
        kept += [quick[place * len(quick) // few] for place in range(few)] if len(quick) > few else quick
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept
