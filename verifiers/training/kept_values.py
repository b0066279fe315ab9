"""The values that the training of a block needs, read off the model alone: uses, kept values, and what a strategy makes again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from bpir.dialects.model.attention import BatchMatmul
from bpir.dialects.model.elementwise import Softmax
from bpir.dialects.model.rules.conventions import Calculon, Standard
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.operation import Operation, Value
from bpir.verifiers.model_operations import rule_of
from bpir.verifiers.training.layout import Layout

Use = tuple[Operation, int]
Kept = tuple[Value | Operation, bool]
"""A kept value (or a mask, as its dropout), and whether it lies whole inside a region, gathered from the shards of the sequence."""


class Needs:
    """The uses and needs of a decomposed block under the choices of a convention."""

    def __init__(self, model: Operation, layout: Layout, convention: Standard) -> None:
        self.model = model
        self.layout = layout
        self.choices = convention.choices
        self.calculon = isinstance(convention, Calculon)
        self.operations = [o for o in model.body if isinstance(o.declaration, ModelOperation)]
        self._uses = _uses_with_gradient(model)
        self._all_uses: dict[Value, frozenset[Use]] = {}
        self._reads: dict[Use, list[Value | Operation]] = {}
        self.products: set[Operation] = set()  # attention's last ones, whose result is kept though they are repeated
        self.recomputed: set[Operation] = set()
        self.attention, behind = self._attention()
        self.gathered_again: set[Value] = set()
        self.reduced_again: set[Value] = set()
        self._repeat(behind)

    def uses(self, value: Value) -> frozenset[Use]:
        """Every use of a value of the model, the block's return included."""
        found = self._all_uses.get(value)
        if found is None:
            found = self._all_uses[value] = frozenset(self._uses.get(value, ()))
        return found

    def entering(self, value: Value) -> frozenset[Use]:
        """The uses that enter a tensor-parallel region of several ranks: their gradients are partial sums."""
        return frozenset(use for use in self._uses.get(value, ()) if self.layout.enters(*use))

    def projecting(self, value: Value) -> frozenset[Use]:
        """The uses that bring an axis in which ranks could share: the entries of regions, of one rank too."""
        return frozenset(use for use in self._uses.get(value, ()) if self.layout.enters_region(*use))

    def enters(self, operation: Operation, value: Value | Operation) -> bool:
        """Whether the operation reads the value whole inside a region."""
        return any(self.layout.enters(operation, index) for index, operand in enumerate(operation.operands) if operand is value)

    def reads(self, operation: Operation, weight: bool) -> list[Value | Operation]:
        """The values (or the mask, as its operation) that a gradient of the operation reads."""
        found = self._reads.get((operation, weight))
        if found is None:
            found = self._reads[operation, weight] = self._read(operation, weight)
        return found

    @staticmethod
    def _read(operation: Operation, weight: bool) -> list[Value | Operation]:
        rule = rule_of(operation)
        reads = rule.weight_gradient_reads if weight else rule.gradient_reads
        operands: list[Value | Operation] = [*operation.operands]
        return list(dict.fromkeys(read.choose(operands, [*operation.results], operation) for read in reads))

    def _of_gradients(self, operation: Operation) -> list[Kept]:
        """The values that the gradients of an operation read, as these lie on the mesh there."""
        return [self.read_as(operation, need) for weight in (False, True) for need in self.reads(operation, weight)]

    def read_as(self, operation: Operation, need: Value | Operation) -> Kept:
        """How the value lies on the mesh where the operation reads it."""
        gathered = self.layout.scattered and self.enters(operation, need)
        return need, gathered

    def kept(self, operation: Operation) -> list[Kept]:
        """Everything that must stay for the operation: what its gradients read; repeated, what it reads and nobody repeats."""
        needs = self._of_gradients(operation)
        if operation in self.recomputed and not self.calculon:
            needs += [k for k in (self.read_as(operation, v) for v in operation.operands) if not self.is_made_again(k)]
        return list(dict.fromkeys(needs))

    def shards(self, operation: Operation) -> list[Value]:
        """The operands of which the shard must stay, for the collective that gathers it again before the operation."""
        if not self.layout.scattered:
            return []
        entering = [v for v in dict.fromkeys(operation.operands) if self.enters(operation, v)]
        if self.choices.all_gather_redo:
            return entering
        return [] if self.calculon else list(filter(self._is_kept_as_shard, entering))

    def _is_kept_as_shard(self, value: Value) -> bool:
        return value in self.gathered_again and not self.is_made_again((value, False))

    # --- attention

    def _attention(self) -> tuple[set[Operation], set[Operation]]:
        """Scores, softmax and the dropout of its result; then the products that read them.

        Of every softmax that a batched product feeds and that feeds one, with nothing but operations element by element between.
        """
        products = [o for o in self.operations if isinstance(o.declaration, BatchMatmul)]
        feeding = _walk(products, self._producers)
        between = _walk(products, self._readers) & feeding
        softmaxes = [o for o in self.operations if isinstance(o.declaration, Softmax) and o in between]
        before, behind = (_walk(softmaxes, step).intersection(products) for step in (self._producers, self._readers))
        return {*softmaxes, *before, *(self._dropouts(softmaxes) & feeding)}, behind

    def _dropouts(self, softmaxes: Iterable[Operation]) -> set[Operation]:
        """The dropouts that read a softmax."""
        return {reader for softmax in softmaxes for reader in self._readers(softmax) if _is(reader, "masked")}

    @staticmethod
    def _producers(operation: Operation) -> list[Operation]:
        return [value.producer for value in operation.operands if value.producer is not None]

    def _readers(self, operation: Operation) -> list[Operation]:
        return [reader for value in operation.results for reader, _ in self.uses(value)]

    # --- what is made again

    def _repeat(self, behind: set[Operation]) -> None:
        """Find what backward makes again: what the strategy recomputes, and the collectives that it repeats."""
        recompute = self.choices.recompute
        if recompute == "full":
            self._everything()
        elif recompute != "none":
            self.products = behind if recompute == "core_attention" else set()
            self.recomputed = self.attention | self.products
        if self.choices.all_gather_redo:
            self.gathered_again |= self._gathers()
        elif self.calculon and recompute == "attention":
            self.gathered_again = {value for value in self._gathers() if len(self.entering(value)) > 1}

    def _gathers(self) -> set[Value]:
        """The values that are gathered where a region begins."""
        return {value for value in self._uses if self.entering(value)} if self.layout.scattered else set()

    def _everything(self) -> None:
        if self.calculon:
            self.recomputed = set(self.operations)
            self.gathered_again = self._gathers()
            self.reduced_again = {v for o in self.operations for v in o.results if self.layout.leaves(v)}
            return
        for operation in self.operations:
            for kept in self._of_gradients(operation):
                self._make(kept)

    def _make(self, kept: Kept) -> None:
        """Everything on which a value or a mask depends, back to the block's arguments."""
        stack = [kept]
        while stack:
            current, gathered = stack.pop()
            if isinstance(current, Value):
                self._collect_again(current, gathered)
            owner = current if isinstance(current, Operation) else current.owner
            if isinstance(owner, Operation) and owner not in self.recomputed:
                self.recomputed.add(owner)
                stack.extend(self.read_as(owner, operand) for operand in owner.operands)

    def _collect_again(self, value: Value, gathered: bool) -> None:
        """The collectives of a value are repeated: the one that gathers it, and the one that reduces it where a region ends."""
        if gathered:
            self.gathered_again.add(value)
        if isinstance(value.owner, Operation) and self.layout.leaves(value):
            self.reduced_again.add(value)

    def is_made_again(self, kept: Kept) -> bool:
        """Whether backward makes the value again: gathers it, where it lies whole inside a region, or computes it."""
        need, gathered = kept
        return need in self.gathered_again if gathered else self._is_computed_again(_maker(need))

    def _is_computed_again(self, maker: object) -> bool:
        """Whether backward computes again, and does not keep, what an operation makes; nothing else is computed."""
        return maker in self.recomputed and maker not in self.products

    @cached_property
    def unread(self) -> set[Operation]:
        """The values that are repeated, and read by no gradient and by nothing else that is repeated."""
        reads = [kept for o in self.operations for kept in self._of_gradients(o)]
        reads += [self.read_as(o, value) for o in self.recomputed for value in o.operands]
        again = {need for need, _ in filter(self.is_made_again, reads)} | self.gathered_again | self.reduced_again
        return self.recomputed.difference(map(_maker, again))

    def repeated_collectives(self) -> list[Value]:
        """The values whose collective is under recommunication, in the order of the model."""
        ordered = [*self.model.regions[0].blocks[0].arguments, *(v for o in self.model.body for v in o.results)]
        return [v for v in ordered if v in self.gathered_again or v in self.reduced_again]


def _uses_with_gradient(model: Operation) -> dict[Value, set[Use]]:
    """The uses of each value through which a gradient comes back; the block's return is among them."""
    found: dict[Value, set[Use]] = {}
    for operation in model.body:
        rule = operation.declaration
        places = rule.with_gradient(operation) if isinstance(rule, ModelOperation) else range(len(operation.operands))
        for index in places:
            found.setdefault(operation.operands[index], set()).add((operation, index))
    return found


def _maker(need: Value | Operation) -> object:
    """The operation that makes a value, or a mask; the block whose argument the value is."""
    return need if isinstance(need, Operation) else need.owner


def _is(operation: Operation, trait: str) -> bool:
    return bool(getattr(operation.declaration, trait, False))


def _walk(start: list[Operation], next: Callable[[Operation], list[Operation]]) -> set[Operation]:
    """The operations that are reached through operations element by element, up to the first other one on each way."""
    found: set[Operation] = set()
    stack = list(start)
    while stack:
        for operation in next(stack.pop()):
            if operation not in found:
                found.add(operation)
                if _is(operation, "pointwise"):
                    stack.append(operation)
    return found
