"""The meanings of the names in the equations of docstrings: expressions from passes and work rules, for symbolic sizes.

`MEANINGS` has a function for each pass equation by its label, and for each operation by its name. It gives the meanings in which the
equation must hold, by the words that a formula has behind it (`with a bias`); those under "" hold where no such words stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import raw
from formula_proof import Meaning
from raw import text_of

from bpir.dialects.bp import Work
from bpir.dialects.dist.parts import mesh_entries
from bpir.dialects.plan import resources_of_work
from bpir.ir.expressions.expression import Expr, symbol
from bpir.ir.operation import Operation, top_level

Meanings = Mapping[str, Sequence[Meaning]]

MEANINGS: dict[str, Callable[[], Meanings]] = {}
"""By the label of an equation of a pass, or the name of an operation."""

B, S, H, F, c, h, d, e, t, D = map(symbol, ("B", "S", "H", "F", "c", "h", "d", "e", "t", "D"))
SIZES = {"b": B, "B": B, "S": S, "H": H, "F": F, "c": c, "h": h, "d": d, "e": e}
COMPONENTS = ("ops", "read", "write", "msg")


def meaning(*labels: str) -> Callable[[Callable[[], Meanings | list[Meaning]]], Callable[[], Meanings]]:
    """Registers what the names of some equations stand for; a plain list holds whatever words are behind a formula."""

    def register(function: Callable[[], Meanings | list[Meaning]]) -> Callable[[], Meanings]:
        def found() -> Meanings:
            value = function()
            return {"": value} if isinstance(value, list) else value

        for label in labels:
            assert label not in MEANINGS
            MEANINGS[label] = cache(found)
        return found

    return register


def works(values: Mapping[str, Expr], *named: tuple[str, Work]) -> dict[str, Expr]:
    """The names, and the components of works under their names: `ops_dX`."""
    return {**values, **{a + suffix: value for suffix, work in named for a, value in zip(COMPONENTS, work.components, strict=True)}}


QKV = ("attention.query", "attention.key", "attention.value")
MLP = ("mlp.expand", "mlp.contract")


def body(module: Operation) -> list[Operation]:
    return [o for block in top_level(module) if block.name == "dist.block" for o in block.body]


def mesh(module: Operation) -> dict[str, Expr]:
    return {k: v for o in top_level(module) if o.name == "dist.mesh" for k, v in mesh_entries(o.properties.get("axes"))}


def layer(task: Operation) -> str:
    return raw.name_of(task).rpartition(".")[0]


def work(task: Operation) -> Work:
    found = raw.work_of(task)
    assert found is not None
    return found


def tasks_of(module: Operation, plan: Operation) -> list[tuple[Work, Operation]]:
    """The work of each distributed task, and its plan."""
    planned = {text_of(o, "source"): o for o in top_level(plan) if o.name == "plan.task"}
    return [(work(o), planned[raw.name_of(o)]) for o in body(module) if raw.work_of(o) is not None]


def planned_work(modules: Iterable[tuple[Operation, Operation]]) -> list[Meaning]:
    rows = [row for pair in modules for row in tasks_of(*pair)]
    return [
        Meaning({"W_i^dist": ours, "W_i^plan": theirs})
        for source, task in rows
        for ours, theirs in zip(source.components, work(task).components, strict=True)
    ]


def resources(modules: Iterable[tuple[Operation, Operation]]) -> list[Meaning]:
    found = []
    for source, task in (row for pair in modules for row in tasks_of(*pair)):
        needed = task.properties["resources"]
        assert needed is resources_of_work(work(task))
        found.append(Meaning(works({f"Q_{name}": getattr(needed, name) for name in ("compute", "memory", "network")}, ("", source))))
    return found
