"""How long one task takes on a described machine, what it waits for, and which figures say so."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import attrs

from bpir.cost.figures import Evidence
from bpir.cost.seconds import NONE, Seconds
from bpir.cost.system import System
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import Expr
from bpir.tools.reports.report import TaskRow

MATRIX, VECTOR = "matrix", "vector"
REPEATED = "recommunication"
"""The phase of collectives that are done again: what they compute was counted, their message is sent anew."""

P2P = "p2p"


@attrs.frozen(eq=False)
class TaskCost:
    """One run of a task.

    Attributes:
        own: operations and memory traffic, as the system overlaps them; or what was measured.
        network: its message.
        engine: which engine computes; empty if none does.
        bottleneck: `operations`, `memory` or `network`, whichever takes longest; `measured` where only a sum is known; empty if nothing
            takes time.
        share: of the peak of that resource; None where it was measured.
        axis: the mesh axis of its message.
    """

    task: TaskRow
    own: Seconds
    network: Seconds
    engine: str
    bottleneck: str
    share: float | None
    axis: str
    evidence: tuple[Evidence, ...]

    @property
    def seconds(self) -> Seconds:
        return self.own + self.network


class Costs:
    """The costs of tasks on a system.

    Args:
        ranks: the size of each mesh axis.
    """

    def __init__(self, system: System, ranks: Mapping[str, int]) -> None:
        self.system, self.ranks = system, ranks

    def of(self, task: TaskRow, axis: str) -> TaskCost:
        """The cost of one run of a task; `axis` is that of its message.

        Raises:
            DiagnosticError: a figure is missing, in the file of the system or in the plan.
        """
        ops, traffic, message, kind = self._run(task)
        ranks = self.ranks.get(axis, 1) if kind else 1
        key = (task.operation, ops, traffic, message, ranks)
        if key in self.system.measured:
            row = self.system.measured[key]
            return TaskCost(task, row.seconds, NONE, "", "measured", None, axis, (row.evidence,))
        network, proof = self.message(kind, message, axis) if message else (NONE, ())
        if task.phase == REPEATED or kind == P2P:
            return self._cost(task, NONE, NONE, NONE, network, "", axis, proof)
        engine = self.system.engine_of.get(task.operation) or (MATRIX if task.work.matmul.constant != 0 else VECTOR)
        computing = self.system.engine(engine).seconds(ops) if ops else NONE
        moving = self.system.memory.seconds(traffic) if traffic else NONE
        own = computing.or_longer(moving) if self.system.overlap == "roofline" else computing + moving
        if ops:
            rate = self.system.engine(engine)
            proof = (rate.evidence, rate.efficiency.evidence, *proof)
        if traffic:
            proof = (*proof, self.system.memory.evidence, self.system.memory.efficiency.evidence)
        return self._cost(task, own, computing, moving, network, engine if ops else "", axis, proof)

    @staticmethod
    def _run(task: TaskRow) -> tuple[Fraction, Fraction, Fraction, str]:
        """The operations, the bytes of memory, the bytes of the message, and its kind, of one run of a task."""
        ops, traffic = number(task.work.ops, task), number(task.work.read + task.work.write, task)
        return ops, traffic, number(task.work.msg, task), task.collective or (P2P if task.moves == "transfer" else "")

    def message(self, kind: str, message: Fraction, axis: str) -> tuple[Seconds, tuple[Evidence, ...]]:
        """How long a message takes on the network of its mesh axis, and the figures that say so."""
        tier = self.system.tier(axis)
        seconds = tier.seconds(kind, message, self.ranks.get(axis, 1))
        return seconds, (tier.rate.evidence, tier.rate.efficiency.evidence)

    def _cost(
        self,
        task: TaskRow,
        own: Seconds,
        computing: Seconds,
        moving: Seconds,
        network: Seconds,
        engine: str,
        axis: str,
        evidence: tuple[Evidence, ...],
    ) -> TaskCost:
        parts = {"operations": computing.value, "memory": moving.value, "network": network.value}
        longest = max(parts, key=lambda name: parts[name])
        whole = (own + network).value
        share = self._share(task, longest, engine, axis, whole) if whole else None
        return TaskCost(task, own, network, engine, longest if whole else "", share, axis, tuple(dict.fromkeys(evidence)))

    def _share(self, task: TaskRow, resource: str, engine: str, axis: str, seconds: float) -> float:
        """The share of the peak of a resource that a task reaches over its time."""
        if resource == "operations":
            amount, peak = number(task.work.ops, task), self.system.engine(engine).peak.value
        elif resource == "memory":
            amount, peak = number(task.work.read + task.work.write, task), self.system.memory.peak.value
        else:
            amount, peak = number(task.work.msg, task), self.system.tier(axis).rate.peak.value
        return float(amount) / seconds / peak


def number(value: Expr, task: TaskRow | None = None) -> Fraction:
    """The number of an expression.

    Raises:
        DiagnosticError: it holds a symbol.
    """
    found = value.constant
    if found is None:
        what = f"the work of '{task.name}' holds" if task is not None else "the plan holds"
        names = ", ".join(value.symbols)
        raise fail(f"{what} {names}: an estimate needs numbers, --bind {value.symbols[0]}=... or the pass bind-symbols", None)
    return found
