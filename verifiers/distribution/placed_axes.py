"""Is the placement that of its strategy and about the axes of the model, can the model be computed under it, and could it be larger?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from bpir.dialects.dist.placement import Placement
from bpir.dialects.levels import DistributedTaskIR
from bpir.dialects.model.rules.operation import distinct
from bpir.ir.declaration import Place
from bpir.ir.diagnostic import note
from bpir.ir.expressions.expression import ONE, Expr, ceildiv, symbol
from bpir.ir.operation import Operation
from bpir.ir.relations.verdict import Verdict
from bpir.verifiers.distribution.expert_rows import axes_of_batches, axes_of_experts
from bpir.verifiers.distribution.possible_placements import (
    axes_of,
    copied_axes,
    could_be_placed,
    returned_axes,
    table_axes,
    wrong_placement,
)
from bpir.verifiers.distribution.typing_rule import Placed
from bpir.verifiers.findings import Findings

TENSOR = "tensor"
"""The mesh axis that shards the axes of weights."""
EXPERT = "expert"
"""The mesh axis that shards experts, and the batch."""


def verify_placement(
    findings: Findings,
    rule: str,
    target: Operation,
    blocks: Sequence[Operation],
    degree: Expr,
    between: Collection[str] = (),
    copies: bool = False,
    experts: Expr = ONE,
) -> Placed | None:
    """The placement of a distributed module; None if it is refused.

    Args:
        blocks: of the model.
        degree: of tensor parallelism; 1 if there is one rank.
        between: the axes that the strategy shards between tensor-parallel regions.
        copies: whether several ranks may hold a copy of a head.
        experts: the degree of expert parallelism; 1 if there is one rank.
    """
    distributed = DistributedTaskIR(target)
    written = distributed.placements
    if not _verify_groups(findings, rule, written, {TENSOR: degree, EXPERT: experts}):
        return None
    where = next(iter((*written, *distributed.blocks)), None)
    check = _PlacementCheck(findings, rule, where, _placed(written), blocks)
    if experts is not ONE and not check.experts():
        return None
    return check.placed if degree is ONE or check.tensors(degree, between, copies) else None


def _verify_groups(findings: Findings, rule: str, written: Sequence[Placement], degrees: Mapping[str, Expr]) -> bool:
    """One placement at most, and it names only mesh axes over which the strategy shards something."""
    if len(written) > 1:
        findings.refuse(rule, written[1], "the module has a second dist.placement", note("the first is here", written[0].span))
        return False
    axes = (group.mesh_axis for placement in written for group in placement.groups)
    idle = next((axis for axis in axes if degrees.get(axis, ONE) is ONE), None)
    return findings.require(rule, idle is None, next(iter(written), None), f"the strategy shards no axis over '{idle}'")


class _PlacementCheck:
    """Compares the placement of a module with its strategy and the blocks of its model."""

    def __init__(self, findings: Findings, rule: str, where: Place | None, placed: Placed, blocks: Sequence[Operation]) -> None:
        self.findings = findings
        self.rule = rule
        self.where = where
        self.placed = placed
        self.blocks = blocks

    def _require(self, holds: bool, message: str) -> bool:
        return self.findings.require(self.rule, holds, self.where, message)

    def tensors(self, degree: Expr, between: Collection[str], copies: bool) -> bool:
        """Whether the placement is right for so many tensor-parallel ranks; that it leaves axes whole is refused, and no reason to stop."""
        if not self._axes(between):
            return False
        tables = table_axes(self.blocks)
        more = ", ".join(self._left_whole(degree, tables))
        self._require(not more, f"the placement leaves axes of weights whole that could be sharded, too: {more}")
        known = len(self.findings.diagnostics)
        if self.where is not None:
            self._sizes(self.where, degree, tables, copied_axes(self.blocks) if copies else set())
        return len(self.findings.diagnostics) == known

    def _axes(self, between: Collection[str]) -> bool:
        """Between regions the axes of the strategy are sharded; all axes are of the model, and their shards can be computed."""
        wanted = ", ".join(sorted(between)) or "none"
        message = f"the axes that are sharded between tensor-parallel regions are not the strategy's: expected {wanted}"
        return self._require(set(self.placed.between) == set(between), message) and self._known_axes() and self._typable()

    def _known_axes(self) -> bool:
        """Whether all placed axes are of the model."""
        known = {name for block in self.blocks for operation in distinct(block.body) for name in axes_of(operation)}
        strange = ", ".join(name for name in (*self.placed.axes, *self.placed.between) if name not in known)
        return self._require(not strange, f"the placement names axes that no operation of the model has: {strange}")

    def _typable(self) -> bool:
        """Whether the shards of all operations can be computed."""
        why = next(filter(None, (wrong_placement(block, self.placed) for block in self.blocks)), "")
        return self._require(not why, f"no shards are right under this placement: {why}")

    def _left_whole(self, degree: Expr, tables: Collection[str]) -> list[str]:
        """Axes of weights that could be placed, too; a last axis that is no table's stays whole where the ranks do not divide it."""
        free = {name for block in self.blocks for name in returned_axes(block)}.difference(tables)
        possible = could_be_placed(self.blocks, self.placed, TENSOR)
        return [name for name in possible if name not in free or self._divides(degree, name).proved]

    def _divides(self, degree: Expr, axis: str) -> Verdict:
        return self.findings.facts.divides(degree, symbol(axis))

    def experts(self) -> bool:
        """Whether expert parallelism shards every axis of experts, and every batch between them."""
        rows = (
            ("experts", self.placed.experts, axes_of_experts(self.blocks)),
            ("batches", self.placed.batches, axes_of_batches(self.blocks)),
        )
        return all(self._all_on_experts(what, found, known) for what, found, known in rows)

    def _all_on_experts(self, what: str, found: Collection[str], known: set[str | None]) -> bool:
        named = bool(known) and None not in known
        message = f"the strategy shards {what} over '{EXPERT}', and the model has none that a symbol names"
        if not self._require(named, message):
            return False
        wanted = ", ".join(sorted(name for name in known if name is not None))
        message = f"the axes of {what} on '{EXPERT}' are not those of the model: expected {wanted}"
        return self._require(set(found) == known, message)

    def _sizes(self, where: Place, degree: Expr, tables: Collection[str], copied: Collection[str]) -> None:
        for axis in self.placed.axes:
            self._size(where, axis, degree, tables, copied)

    def _size(self, where: Place, axis: str, degree: Expr, tables: Collection[str], copied: Collection[str]) -> None:
        """An axis has another size where the ranks do not divide it, and it may have: the next one that they divide.

        The rows of a table have it where the numbers say so, and may have it where nothing is known; heads are copied unless the ranks
        are known to divide them.
        """
        found, verdict = self.placed.resized.get(axis), self._divides(degree, axis)
        if verdict.proved or (axis not in tables and axis not in copied):
            self._require(found is None, f"the axis '{axis}' needs no other size than its own")
            return
        size = degree * ceildiv(symbol(axis), degree)
        if found is not None:
            self.findings.equal(self.rule, where, f"the size of the axis '{axis}'", found, size)
        elif axis in copied or verdict.refuted:
            self._require(False, f"nothing says that {degree.text} divides {axis}: expected 'resized [{axis} -> {size.text}]'")


def _placed(written: Sequence[Placement]) -> Placed:
    """The placement of a module; empty if there is none."""
    axes: dict[tuple[str, bool], list[str]] = {}
    for group in (group for placement in written[:1] for group in placement.groups):
        axes.setdefault((group.mesh_axis, group.between), []).extend(group.axes)
    everywhere, inside = (dict.fromkeys(axes.get((TENSOR, between), ()), TENSOR) for between in (False, True))
    experts, batches = (tuple(axes.get((EXPERT, between), ())) for between in (False, True))
    return Placed(everywhere, inside, written[0].resized if written else {}, experts, batches)
