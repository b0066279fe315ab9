"""The ranks of a mesh, and the groups in which they communicate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

import attrs


@attrs.frozen
class Group:
    """Ranks that take part in a collective, in ascending order; its number is its name in a trace."""

    number: int
    ranks: tuple[int, ...]


class Ranks:
    """The ranks of a mesh, counted with its last axis fastest, as Megatron-LM and JAX count them.

    Args:
        axes: the size of each axis, in the order of the mesh.
    """

    def __init__(self, axes: Mapping[str, int]) -> None:
        self.axes = dict(axes)
        self.count = prod(self.axes.values())
        self.groups: list[Group] = []  # all that have been asked for
        self._of: dict[tuple[str, ...], dict[int, Group]] = {}

    def group(self, over: Sequence[str], rank: int) -> Group:
        """The group of a rank in a collective over some axes: the ranks that differ from it along these axes only."""
        names = tuple(name for name in self.axes if name in over)
        if names not in self._of:
            self._of[names] = self._partition(names)
        return self._of[names][rank]

    def _partition(self, over: tuple[str, ...]) -> dict[int, Group]:
        members: dict[tuple[int, ...], list[int]] = {}
        for rank, place in enumerate(product(*map(range, self.axes.values()))):
            fixed = tuple(at for name, at in zip(self.axes, place, strict=True) if name not in over)
            members.setdefault(fixed, []).append(rank)
        groups = [Group(len(self.groups) + 1 + index, tuple(ranks)) for index, ranks in enumerate(members.values())]
        self.groups += groups
        return {rank: group for group in groups for rank in group.ranks}
