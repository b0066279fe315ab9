"""Which task is after which: cycles, orders, and whether two modules agree on it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

After = Mapping[str, Collection[str]]
"""For each task the tasks that it is after."""


def disagreeing(found: After, expected: After) -> Iterator[str]:
    """The expected tasks that don't wait for all that they should wait for, or wait for more.

    Where `@c` is after `@b`, and `@b` after `@a`, that `@c` is after `@a` may be said or left out.
    """
    for name, wanted in expected.items():
        ours = found.get(name, ())
        missing, more = set(wanted) - set(ours), set(ours) - set(wanted)
        if not _implied(missing, ours, found) or not _implied(more, wanted, expected):
            yield name


def _implied(sought: set[str], start: Collection[str], after: After) -> bool:
    """Whether all that is sought is among the tasks that the search starts with, and those that they are after."""
    stack = list(start) if sought else []
    seen = set(stack)
    while stack and not sought <= seen:
        new = [other for other in after.get(stack.pop(), ()) if other not in seen]
        seen.update(new)
        stack += new
    return sought <= seen


def reached(after: After, start: str, sought: Collection[str], passes: Callable[[str], bool]) -> str | None:
    """The first of the sought tasks that a task is after, directly or through tasks that the search passes; None if it is after none."""
    stack, seen = list(after[start]), set()
    while stack:
        name = stack.pop()
        if name in sought:
            return name
        if name not in seen and passes(name):
            seen.add(name)
            stack.extend(after[name])
    return None


def ordered(after: After) -> list[str]:
    """The tasks, each behind those that it is after; without those of a cycle, and those that are after them."""
    waiting = {name: len(set(names)) for name, names in after.items()}
    followers = _followers(after)
    ready = [name for name, count in waiting.items() if not count]
    order: list[str] = []
    while ready:
        name = ready.pop()
        order.append(name)
        for follower in followers[name]:
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
    return order


def _followers(after: After) -> dict[str, list[str]]:
    """The tasks that are after each."""
    found: dict[str, list[str]] = {name: [] for name in after}
    for name, names in after.items():
        for other in set(names):
            found[other].append(name)
    return found


def cycle(after: After, stuck: set[str]) -> list[str]:
    """A cycle among tasks of which each is after another of them; the first is the last, too."""
    name = min(stuck)
    seen: list[str] = []
    while name not in seen:
        seen.append(name)
        name = min(other for other in after[name] if other in stuck)
    return [*seen[seen.index(name) :], name]
