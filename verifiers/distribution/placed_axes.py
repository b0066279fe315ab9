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
from bpir.verifiers.distribution.expert_rows import axes_of_batches, axes_of_experts
from bpir.verifiers.distribution.typing_rule import (
    Placed,
    axes_of,
    copied_axes,
    could_be_placed,
    returned_axes,
    table_axes,
    wrong_placement,
)
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
    where = written[0] if written else next(iter(distributed.blocks), None)
    placed = _placed(written)
    if experts is not ONE and not _verify_experts(findings, rule, where, placed, blocks):
        return None
    if degree is ONE:
        return placed
    if not _verify_axes(findings, rule, where, placed, blocks, between):
        return None
    tables = table_axes(blocks)
    more = _left_whole(findings, placed, degree, blocks, tables)
    if more:
        findings.refuse(rule, where, f"the placement leaves axes of weights whole that could be sharded, too: {', '.join(more)}")
    said = len(findings.diagnostics)
    if where is not None:
        _verify_sizes(findings, rule, where, placed, degree, tables, copied_axes(blocks) if copies else set())
    return placed if len(findings.diagnostics) == said else None


def _verify_groups(findings: Findings, rule: str, written: Sequence[Placement], degrees: Mapping[str, Expr]) -> bool:
    """One placement at most, and it names only mesh axes over which the strategy shards something."""
    if len(written) > 1:
        findings.refuse(rule, written[1], "the module has a second dist.placement", note("the first is here", written[0].span))
        return False
    for group in written[0].groups if written else ():
        if degrees.get(group.mesh_axis, ONE) is ONE:
            findings.refuse(rule, written[0], f"the strategy shards no axis over '{group.mesh_axis}'")
            return False
    return True


def _verify_axes(
    findings: Findings, rule: str, where: Place | None, placed: Placed, blocks: Sequence[Operation], between: Collection[str]
) -> bool:
    """Between regions the axes of the strategy are sharded; all axes are of the model, and their shards can be computed."""
    if set(placed.between) != set(between):
        wanted = ", ".join(sorted(between)) or "none"
        findings.refuse(rule, where, f"the axes that are sharded between tensor-parallel regions are not the strategy's: expected {wanted}")
        return False
    known = {name for block in blocks for operation in distinct(block.body) for name in axes_of(operation)}
    strange = [name for name in (*placed.axes, *placed.between) if name not in known]
    if strange:
        findings.refuse(rule, where, f"the placement names axes that no operation of the model has: {', '.join(strange)}")
        return False
    why = next(filter(None, (wrong_placement(block, placed) for block in blocks)), "")
    if why:
        findings.refuse(rule, where, f"no shards are right under this placement: {why}")
    return not why


def _left_whole(findings: Findings, placed: Placed, degree: Expr, blocks: Sequence[Operation], tables: Collection[str]) -> list[str]:
    """Axes of weights that could be placed, too; a last axis that is no table's stays whole where the ranks do not divide it."""
    free = {name for block in blocks for name in returned_axes(block)}.difference(tables)
    return [name for name in could_be_placed(blocks, placed, TENSOR) if name not in free or _divides(findings, degree, name)]


def _placed(written: Sequence[Placement]) -> Placed:
    """The placement of a module; empty if there is none."""
    said: dict[tuple[str, bool], list[str]] = {}
    for group in written[0].groups if written else ():
        said.setdefault((group.mesh_axis, group.between), []).extend(group.axes)
    axes, inside = (dict.fromkeys(said.get((TENSOR, between), ()), TENSOR) for between in (False, True))
    experts, batches = (tuple(said.get((EXPERT, between), ())) for between in (False, True))
    return Placed(axes, inside, written[0].resized if written else {}, experts, batches)


def _verify_experts(findings: Findings, rule: str, where: Place | None, placed: Placed, blocks: Sequence[Operation]) -> bool:
    """Expert parallelism shards every axis of experts, and every batch between them."""
    for what, said, known in (
        ("experts", placed.experts, axes_of_experts(blocks)),
        ("batches", placed.batches, axes_of_batches(blocks)),
    ):
        if not known or None in known:
            findings.refuse(rule, where, f"the strategy shards {what} over '{EXPERT}', and the model has none that a symbol names")
            return False
        if set(said) != known:
            wanted = ", ".join(sorted(name for name in known if name is not None))
            findings.refuse(rule, where, f"the axes of {what} on '{EXPERT}' are not those of the model: expected {wanted}")
            return False
    return True


def _verify_sizes(
    findings: Findings, rule: str, where: Place, placed: Placed, degree: Expr, tables: Collection[str], copied: Collection[str]
) -> None:
    """An axis has another size where the ranks do not divide it, and it may have: the next one that they divide.

    The rows of a table have it where the numbers say so, and may have it where nothing is known; heads are copied unless the ranks are
    known to divide them.
    """
    for axis in placed.axes:
        found = placed.resized.get(axis)
        verdict = findings.facts.divides(degree, symbol(axis))
        if (axis in tables or axis in copied) and not verdict.proved:
            size = degree * ceildiv(symbol(axis), degree)
            if found is None and (axis in copied or verdict.refuted):
                findings.refuse(rule, where, f"nothing says that {degree.text} divides {axis}: expected 'resized [{axis} -> {size.text}]'")
            elif found is not None:
                findings.equal(rule, where, f"the size of the axis '{axis}'", found, size)
        elif found is not None:
            findings.refuse(rule, where, f"the axis '{axis}' needs no other size than its own")


def _divides(findings: Findings, degree: Expr, axis: str) -> bool:
    """Whether the ranks are known to divide an axis: a last axis that a block returns may stay whole where they are not."""
    return findings.facts.divides(degree, symbol(axis)).proved
