"""Whether each stage of a plan fits into the memory of the deployment: by how much not, and what is largest (stages.R9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from bpir.dialects.bind import as_expr, as_word
from bpir.dialects.levels import PortablePlanIR
from bpir.dialects.plan import Stage
from bpir.ir.diagnostic import Diagnostic, note
from bpir.ir.expressions.error import ExpressionError
from bpir.ir.expressions.expression import Expr
from bpir.verifiers.findings import Findings
from bpir.verifiers.rulebooks import STAGES
from bpir.verifiers.stages.memory import Chunk, StageMemory, chunks_by_device, named
from bpir.verifiers.structure.capacity import Room

_LARGEST = 3  # of what a device holds, what a diagnostic names


@STAGES.rule("R9", "what a device of each stage holds fits into the memory of the one deployment, where that says how much there is")
def verify_stage_capacity(plan: PortablePlanIR) -> list[Diagnostic]:
    """Refuse stages that do not fit, or of which that is not known. A deployment without `memory` claims nothing."""
    findings = Findings("stages", plan.symbols.facts)
    memory = as_expr(plan.deployments[0].fields.get("memory")) if len(plan.deployments) == 1 else None
    if memory is not None and plan.stages and plan.meshes:
        judged = StageMemory(plan, _recomputes_all(plan))
        first = {stage.place: stage for stage in reversed(plan.stages)}
        for place, chunks in enumerate(chunks_by_device(plan)):
            _verify_device(findings, first.get(place), f"a device of stage {place}", partial(_held, plan, judged, chunks), memory)
    return findings.diagnostics


def _recomputes_all(plan: PortablePlanIR) -> bool:
    """Whether backward makes all again but for what is in front of a block."""
    fields = next((one.fields for one in plan.strategies if one.symbol == plan.meshes[0].strategy), {})
    return as_word(fields.get("recompute")) == "full"


def _held(plan: PortablePlanIR, judged: StageMemory, chunks: Sequence[Chunk]) -> dict[str, Expr]:
    return named(plan, judged.device(chunks))


def _verify_device(findings: Findings, stage: Stage | None, what: str, held_by: Callable[[], dict[str, Expr]], memory: Expr) -> None:
    """Refuse a stage unless what one of its devices holds is proved to fit into the memory."""
    try:
        held = held_by()
    except ExpressionError:
        message = f"that {what} fits can't be decided (unknown is not success): too many sizes may be the largest"
        findings.refuse("R9", stage, message, note("bind the symbols to numbers"), undecided=True)
        return
    room = Room.of(findings.facts, held["total"], memory)
    if room.fits is False:
        message = f"{what} does not fit: it needs {room.needed.text} bytes, there are {room.there.text}, {room.excess.text} too few"
        findings.refuse("R9", stage, message, *_largest(held, room.numbers))
    elif room.fits is None:
        message = f"that {what} fits can't be decided (unknown is not success): it depends on {', '.join(room.free)}"
        findings.refuse("R9", stage, message, room.help(), undecided=True)


def _largest(held: dict[str, Expr], numbers: dict[str, Expr]) -> list[Diagnostic]:
    """Notes on what takes the most, where that is a number."""
    sizes = {name: value.substitute(numbers).constant for name, value in held.items() if name != "total"}
    known = sorted(((size, name) for name, size in sizes.items() if size), key=lambda pair: (-pair[0], pair[1]))
    return [note(f"{name.replace('_', ' ')}: {size} bytes") for size, name in known[:_LARGEST]]
