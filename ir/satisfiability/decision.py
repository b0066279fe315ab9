"""Decides whether some positive integers satisfy relations, part by part: relations without a common symbol are independent.

A part is tried in turn by what is cheap: the least values, a search among few values, linear reasoning, a search among more
values, which is a proof where it leaves none out, and the proofs of `refutation`. Each has its share of the effort.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from bpir.ir.effort import Effort, Exhausted
from bpir.ir.expressions.expression import ExpressionError
from bpir.ir.records import Record, evolved
from bpir.ir.satisfiability.constraints import Problem
from bpir.ir.satisfiability.domains import Empty
from bpir.ir.satisfiability.propagation import Propagator

if TYPE_CHECKING:
    from bpir.ir.relations.facts import Relation
    from bpir.ir.satisfiability.search import Point

EFFORT = 1_000_000  # steps for all relations of a module
_NARROW = (1, 2, 4)  # values of each symbol that the first searches try
_WIDE = (12, 40, 200)  # and the later ones
_SHARE = 4  # a search or a proof may use this part of what is left
_EXPLAINED = 12  # relations of which a smaller set is looked for


_SHOWN = 6  # relations that a message names
_LENGTH = 100  # letters of one of them


class Answer(metaclass=Record):
    """Numbers that satisfy all relations; or the relations for which there are none (`impossible`), or none were found."""

    witness: Mapping[str, int] | None = None
    impossible: bool = False
    relations: tuple[Relation, ...] = ()

    def text(self, bindings: Mapping[str, int]) -> str:
        """The message without a witness: the relations, and the bound numbers in them."""
        shown = [f"'{_shortened(r.text)}'" for r in self.relations[:_SHOWN]]
        more = f", and {len(self.relations) - _SHOWN} more" if len(self.relations) > _SHOWN else ""
        names = sorted({name for r in self.relations for name in r.symbols if name in bindings})
        numbers = ", ".join(f"{name} = {bindings[name]}" for name in names[:_SHOWN])
        verb = "no numbers satisfy" if self.impossible else "can't find numbers that satisfy"
        return f"{verb} {', '.join(shown)}{more}{' for ' + numbers if numbers else ''}"


def _shortened(text: str) -> str:
    return text if len(text) <= _LENGTH else text[:_LENGTH] + "..."


def decide(relations: Sequence[Relation], bindings: Mapping[str, int]) -> Answer:
    """Whether positive integers, with the bound numbers, satisfy the relations. The witness was checked by evaluation."""
    return _decide(tuple(relations), tuple(sorted(bindings.items())))


@lru_cache(maxsize=64)
def _decide(relations: tuple[Relation, ...], bindings: tuple[tuple[str, int], ...]) -> Answer:
    numbers = dict(bindings)
    effort = Effort(EFFORT)
    witness: Point = {}
    undecided: Answer | None = None
    for part in independent(relations, numbers):
        try:
            answer = _part(part, numbers, effort)
        except Exhausted:
            answer = Answer(relations=tuple(part))
        if answer.impossible:
            return evolved(answer, relations=_fewest(part, numbers, effort))
        if answer.witness is None:
            undecided = undecided or answer
        else:
            witness.update(answer.witness)
    return undecided or Answer({**witness, **numbers})


def independent(relations: Sequence[Relation], bindings: Mapping[str, int]) -> list[list[Relation]]:
    """The relations in parts that have no symbol without a number in common, in the order declared."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    free = [[name for name in r.symbols if name not in bindings] for r in relations]
    for names in free:
        for name in names[1:]:
            parent[root(name)] = root(names[0])
    parts: dict[str, list[Relation]] = {}
    for index, (relation, names) in enumerate(zip(relations, free, strict=True)):
        parts.setdefault(root(names[0]) if names else f"{index} is bound", []).append(relation)
    return list(parts.values())


def _part(relations: Sequence[Relation], bindings: Mapping[str, int], effort: Effort) -> Answer:
    def holds(point: Mapping[str, int]) -> bool:
        for relation in relations:
            effort.spend(5 + relation.left.size + relation.right.size)
            try:
                if not relation.holds(point):
                    return False
            except ExpressionError:
                return False
        return True

    none = Answer(impossible=True, relations=tuple(relations))
    problem = Problem(relations, bindings, effort)
    if problem.never is not None:
        return Answer(impossible=True, relations=(problem.never,))
    propagator = Propagator(problem, effort)
    try:
        propagator.run(everything=True)
    except Empty:
        return none
    least = {name: propagator.domains.lower[v] or 1 for v, name in enumerate(problem.symbols)}
    return Answer(least) if holds(least) else _searched(relations, propagator, holds, effort)


def _searched(relations: Sequence[Relation], propagator: Propagator, holds: Callable[[Point], bool], effort: Effort) -> Answer:
    """The answer of searches and proofs; they are loaded where the least numbers are no answer."""
    from bpir.ir.satisfiability.linear import excluded
    from bpir.ir.satisfiability.refutation import refuted
    from bpir.ir.satisfiability.search import Search

    none = Answer(impossible=True, relations=tuple(relations))
    for widths, proof in ((_NARROW, excluded), (_WIDE[:1], refuted), (_WIDE[1:], None)):
        for width in widths:
            search = Search(propagator, holds, lambda: excluded(propagator))
            found, ended = None, False
            with effort.at_most(effort.left // _SHARE):
                found = search.run(width)
                ended = True
            if found is not None:
                return Answer(found)
            if ended and search.complete:
                return none
            propagator.domains.undo(search.start)
        if proof is not None:
            mark = propagator.domains.mark()
            shown = False
            with effort.at_most(effort.left // _SHARE):
                shown = proof(propagator)
            if shown:
                return none
            propagator.domains.undo(mark)
    return Answer(relations=tuple(relations))


def _fewest(relations: Sequence[Relation], bindings: Mapping[str, int], effort: Effort) -> tuple[Relation, ...]:
    """Relations of which none can be spared for the proof that no numbers satisfy them, where they are few."""
    kept = list(relations)
    if len(kept) > _EXPLAINED:
        return tuple(kept)
    for relation in relations:
        fewer = [r for r in kept if r is not relation]
        for part in independent(fewer, bindings):
            try:
                impossible = _part(part, bindings, effort).impossible
            except Exhausted:
                return tuple(kept)
            if impossible:
                kept = part
                break
    return tuple(kept)
