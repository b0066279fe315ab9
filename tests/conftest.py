"""Fixtures that several test files use, the tiers of the tests, and the quick selection of `make test-fast`."""

import itertools
import os
from collections.abc import Iterable

import pytest
import tiers
from fake_passes import FAKES
from hypothesis import HealthCheck, settings

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
    parser.addoption(
        "--tier",
        choices=("daily", "campaigns", "all"),
        default="daily",
        help="daily: some cases of each campaign, and few random questions; campaigns: the others, and all questions; all: everything",
    )


def pytest_configure(config: pytest.Config) -> None:
    tiers.full = config.getoption("tier") != "daily"
    if not config.getoption("--hypothesis-profile", None):
        count = tiers.examples(settings.default.max_examples)
        settings.register_profile("tier", max_examples=count, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        settings.load_profile("tier")  # a busy machine is no error


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("long"):
        for item in items:
            if item.get_closest_marker("long") is not None:
                item.add_marker(pytest.mark.skip(reason="takes minutes: make test-long"))
    _keep(config, items, _of_tier(items, config.getoption("tier")))
    few = config.getoption("few")
    if few is not None:
        files = itertools.groupby(items, key=lambda item: item.path)
        _keep(config, items, [item for _, group in files for item in _spread(_quick(group), few)])


def _keep(config: pytest.Config, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


def _of_tier(items: list[pytest.Item], tier: str) -> list[pytest.Item]:
    """The tests of a tier, in the order of the text."""
    if tier == "all":
        return items
    daily: set[pytest.Item] = set()
    for _, group in itertools.groupby(items, key=lambda item: (item.path, getattr(item, "originalname", item.name))):
        members = list(group)
        campaign = members[0].get_closest_marker("campaign")
        daily.update(_spread(members, campaign.kwargs.get("keep", 0)) if campaign is not None else members)
    if tier == "daily":
        return [item for item in items if item in daily]
    return [item for item in items if item not in daily or _asks_at_random(item)]


def _asks_at_random(item: pytest.Item) -> bool:
    """Whether it has fewer examples in the daily tier: of Hypothesis, or of its own."""
    return item.get_closest_marker("random") is not None or getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


def _quick(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    return [item for item in items if item.get_closest_marker("slow") is None]


def _spread(items: list[pytest.Item], count: int) -> list[pytest.Item]:
    """At most so many, evenly spread."""
    return [items[place * len(items) // count] for place in range(count)] if len(items) > count else items
