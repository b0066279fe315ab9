"""Which task is after which: two modules agree if each dependency of one is a dependency, direct or through others, of the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

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
