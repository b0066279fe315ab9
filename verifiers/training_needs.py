"""What the training of a block needs, read off the model alone: uses, kept values, and what a strategy makes again."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.model.base import ModelOperation
from bpir.dialects.model.conventions import Calculon, Standard
from bpir.dialects.model.sharding import Regions
from bpir.ir.operation import Operation, Value

Use = tuple[Operation, int]


class Needs:
    """The uses and needs of a decomposed block under the choices of a convention."""

    def __init__(self, model: Operation, regions: Regions, convention: Standard) -> None:
        self.model = model
        self.regions = regions
        self.choices = convention.choices
        self.calculon = isinstance(convention, Calculon)
        self._uses: dict[Value, set[Use]] = {}
        for operation in model.body:
            for index, value in enumerate(operation.operands):
                self._uses.setdefault(value, set()).add((operation, index))
        self.recomputed: set[Operation] = set()
        self._gathered: set[Value] = set()
        self._reduced: set[Value] = set()
        self._repeat()

    def uses(self, value: Value) -> frozenset[Use]:
        """Every use of a value of the model, the block's return included."""
        return frozenset(self._uses.get(value, ()))

    def entering(self, value: Value) -> frozenset[Use]:
        """The uses that enter a tensor-parallel region: their gradients are partial sums."""
        return frozenset(use for use in self._uses.get(value, ()) if self.regions.enters(use[0]))

    @staticmethod
    def reads(operation: Operation, weight: bool) -> list[Value | Operation]:
        """The values (or the mask, as its operation) that a gradient of the operation reads."""
        rule = operation.declaration
        assert isinstance(rule, ModelOperation)
        found: dict[Value | Operation, None] = {}
        for what in rule.weight_gradient_reads if weight else rule.gradient_reads:
            kind, _, index = what.partition(" ")
            if kind == "mask":
                found[operation] = None
            else:
                found[(operation.operands if kind == "operand" else operation.results)[int(index)]] = None
        return list(found)

    def kept(self, operation: Operation) -> list[Value | Operation]:
        """Everything that the gradients of the operation read."""
        return list(dict.fromkeys([*self.reads(operation, False), *self.reads(operation, True)]))

    # --- what is made again

    def _operations(self) -> list[Operation]:
        return [o for o in self.model.body if isinstance(o.declaration, ModelOperation)]

    def attention(self) -> Iterable[Operation]:
        """Scores, softmax and the dropout of its result."""
        for operation in self._operations():
            if operation.name == "model.softmax":
                yield operation
                scores = operation.operands[0].owner
                if isinstance(scores, Operation) and scores.name == "model.batch_matmul":
                    yield scores
                yield from (o for o, _ in self.uses(operation.results[0]) if o.name == "model.dropout")

    def _repeat(self) -> None:
        entered = {v for v in self._uses if self.entering(v)} if self.regions.parallel else set()
        gathers = entered if self.regions.sequence_parallel else set()
        if self.choices.recompute == "attention":
            self.recomputed = set(self.attention())
        if self.choices.all_gather_redo:
            self._gathered = set(gathers)
        elif self.calculon and self.choices.recompute == "attention":
            self._gathered = {v for v in gathers if len(self.entering(v)) > 1}
        if self.choices.recompute != "full":
            return
        if self.calculon:
            self.recomputed = set(self._operations())
            self._gathered = set(gathers)
            if self.regions.parallel and self.regions.axes:
                self._reduced = {v for o in self._operations() if self.regions.contracts(o) for v in o.results}
            return
        for operation in self._operations():
            for need in self.kept(operation):
                if isinstance(need, Operation):
                    self._again(need)
                else:
                    self._make(need, need in operation.operands and self.regions.enters(operation))

    def _make(self, value: Value, enters: bool) -> None:
        """Everything on which a value depends, back to the block's arguments."""
        stack = [(value, enters)]
        while stack:
            current, gathered = stack.pop()
            if gathered and self.regions.sequence_parallel:
                self._gathered.add(current)
            owner = current.owner
            if not isinstance(owner, Operation):
                continue
            if self.regions.contracts(owner) and self.regions.parallel:
                self._reduced.add(current)
            if owner not in self.recomputed:
                self.recomputed.add(owner)
                stack.extend((operand, self.regions.enters(owner)) for operand in owner.operands)

    def _again(self, operation: Operation) -> None:
        if operation not in self.recomputed:
            self.recomputed.add(operation)
            for operand in operation.operands:
                self._make(operand, self.regions.enters(operation))

    def is_repeated(self, value: Value, whole_type: bool) -> bool:
        """Whether backward makes the value again: gathers it, where it lies whole inside a region, or computes it."""
        if whole_type:
            return value in self._gathered
        return isinstance(value.owner, Operation) and value.owner in self.recomputed

    def is_gathered_again(self, value: Value) -> bool:
        return value in self._gathered

    def is_reduced_again(self, value: Value) -> bool:
        return value in self._reduced

    def repeated_collectives(self) -> list[Value]:
        """The values whose collective stands under recommunication, in the order of the model."""
        ordered = [*self.model.regions[0].blocks[0].arguments, *(v for o in self.model.body for v in o.results)]
        return [v for v in ordered if v in self._gathered or v in self._reduced]
