"""Which steps of the model a task claims to do, from its source, its kind and its name."""

from __future__ import annotations

from bpir.dialects.dist import tasks as dist
from bpir.ir.diagnostic import fail, suggestion
from bpir.run.model.graph import Graph, Step
from bpir.run.operations import SEMANTICS


class Lineage:
    """Finds the steps of tasks; a layer keeps the step that its first task has."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.known: dict[tuple[str, str], list[Step]] = {}

    def steps(self, task: dist.Task) -> list[Step]:
        """The steps that a task does, one for each result where a linear has several.

        Raises:
            DiagnosticError: the model has no such operation.
        """
        kind, source, layer = task.kind_of_work, task.source, task.layer
        known = self.known.get((layer, kind))
        if known is None:
            known = self.known[layer, kind] = self._found(task, kind, source, layer)
        return known

    def _found(self, task: dist.Task, kind: str, source: str, layer: str) -> list[Step]:
        candidates = [step for step in self.graph.steps if step.layer == source and step.kind == kind]
        if not candidates:
            layers = {step.layer for step in self.graph.steps}
            what = f"'{source}' of the model computes no '{kind}'" if source in layers else f"the model has no layer '{source}'"
            raise fail(f"'{task.label}' can't run: {what}{suggestion(source, layers)}", task.span)
        if len(task.results) == len(candidates) and isinstance(task, dist.Compute) and task.is_whole:
            return candidates
        return [self._likeliest(candidates, layer.rpartition(".")[2])]

    def _likeliest(self, candidates: list[Step], part: str) -> Step:
        """Of several steps one of the part that no task was found for; else one of the part, else one that is free, else the first."""
        taken = {step.index for steps in self.known.values() for step in steps}
        return max(candidates, key=lambda step: (step.part == part, step.index not in taken))

    def shared(self, shares: dist.Shares) -> Step:
        """The step whose weights ranks share.

        Raises:
            DiagnosticError: the model has no such operation with weights.
        """
        found = [step for step in self.graph.steps if step.layer == shares.source and has_weights(step)]
        if not found:
            raise fail(f"'{shares.label}' can't run: '{shares.source}' of the model has no weights", shares.span)
        return max(found, key=lambda step: step.part == shares.layer.rpartition(".")[2])

    def updated(self, task: dist.Task) -> Step:
        """The step whose weights an optimizer task updates.

        Raises:
            DiagnosticError: the model has no such operation with weights.
        """
        layer, source = task.layer, task.source
        for step in self.graph.steps:
            if step.layer == source and has_weights(step):
                known = self.known.get((layer, step.kind))
                if known is None or step in known:
                    return step
        raise fail(f"'{task.label}' can't run: '{source}' of the model has no weights", task.span)


def is_activation(task: dist.Task) -> bool:
    """Whether a task is of an activation function, which may be fused with what is before it."""
    semantics = SEMANTICS.get(task.kind_of_work)
    return semantics is not None and semantics.activation


def weight_count(step: Step) -> int:
    """The number of weights of a step."""
    return len(SEMANTICS[step.kind].weight_dims((0, 0, 0), (0, 0, 0), step.says))


def has_weights(step: Step) -> bool:
    return weight_count(step) > 0
