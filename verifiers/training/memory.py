"""The memory facts of training: what each layer keeps, what is stored, and the block's sums (rule distribute-training.R14)."""

from __future__ import annotations

from bpir.dialects.bp import TensorType
from bpir.dialects.dist.facts import Activations, LayerMemory, Memory
from bpir.dialects.model.rules.conventions import Calculon, LayerView
from bpir.ir.diagnostic import note
from bpir.ir.expressions.expression import ONE, ZERO, Expr, total
from bpir.ir.operation import Operation, Value
from bpir.ir.property_parts import symbol_of
from bpir.verifiers.findings import Findings
from bpir.verifiers.rulebooks import TRAINING
from bpir.verifiers.training.block import BlockTrace
from bpir.verifiers.training.kept_values import Kept


class MemoryCheck:
    """Compares the memory facts of a distributed block with what its model needs."""

    def __init__(self, findings: Findings, trace: BlockTrace) -> None:
        self.findings = findings
        self.trace = trace
        self.needs = trace.needs
        self.convention = trace.convention
        self.gathered: set[Value] = set()  # the values whose shard is charged to the collective that gathers it
        self.charged = self._charge()
        self.stored_elsewhere = self._mixed()

    @TRAINING.rule("R14", "memory facts")
    def run(self) -> None:
        """Judge every `dist.memory`, then their sums."""
        rows: dict[str, Memory] = {}
        for row in self.trace.block.memory:
            if rows.setdefault(row.layer, row) is not row:
                first = note("the first are here", rows[row.layer].span)
                self.findings.refuse("R14", row, f"'{row.layer}' has memory facts twice", first)
        for layer in dict.fromkeys((*self.trace.layers, *self.trace.views)):
            if layer not in rows:
                where = self.trace.layers.get(layer, self.trace.block.operation)
                self.findings.refuse("R14", where, f"'{layer}' has no memory facts")
        for layer, row in rows.items():
            view = self.trace.views.get(layer)
            if layer in self.trace.layers and view is not None:
                self._layer(row, view, self.charged[self.trace.layers[layer]])
            elif view is not None:
                self._border(row, layer, view)
            elif layer in self.trace.layers:
                continue  # it has no forward task, which is another rule's finding
            else:
                self.findings.refuse("R14", row, f"'{layer}' is no layer of the block")
        self._sums(list(rows.values()))

    # --- what is kept

    def _charge(self) -> dict[Operation, list[Kept]]:
        """Every value that must stay, charged to its first reader in forward order; a shard that is gathered again is read by its
        collective.
        """
        seen: set[Kept] = set()
        found: dict[Operation, list[Kept]] = {}
        for operation in self.trace.layers.values():
            shards = [value for value in self.needs.shards(operation) if (value, False) not in seen]
            self.gathered.update(shards)
            seen.update((value, False) for value in shards)
            found[operation] = [kept for kept in self.needs.kept(operation) if kept not in seen]
            seen.update(found[operation])
        return found

    def _bytes(self, kept: Kept) -> Expr:
        need, whole = kept
        if isinstance(need, Operation):
            type = self.trace.expected(need.results[0])
            return TensorType(type.dims, type.axes, ONE, ()).local(self.trace.mesh).bytes
        type = self.trace.made(need) if self.trace.layout.passes(need) else self.trace.expected(need)
        if whole:
            return type.bytes
        return type.local(self.trace.mesh).bytes

    # --- one layer

    def _layer(self, row: Memory, view: LayerView, charged: list[Kept]) -> None:
        layer = row.layer
        operation = self.trace.layers[layer]
        if isinstance(self.convention, Calculon):
            kept, dropped = self.convention.kept(view), self._calculon_dropped(operation, view)
        else:
            kept, dropped = total(self._bytes(k) for k in charged), self._dropped(operation, charged)
        self._keeps(row, [need for need, _ in charged])
        self._compare(row, view, kept, dropped)

    def _keeps(self, row: Memory, needs: list[Value | Operation]) -> None:
        if any((need if isinstance(need, Operation) else need.owner) in self.trace.lost for need in needs):
            return
        found = []
        for value in row.operands:
            meaning = self.trace.meanings.get(value)
            found.append(None if meaning is None or meaning.again else meaning.mask or meaning.value)
        if found != needs:
            self.findings.refuse("R14", row, f"the values charged to '{row.layer}' are not those that its gradients read first")

    def _dropped(self, operation: Operation, charged: list[Kept]) -> set[str]:
        dropped = set()
        if charged and all(map(self.needs.is_made_again, charged)):
            dropped.add("activation")
        summed = any(map(self.trace.layout.leaves, operation.results))  # then the result of the collective is kept
        if not summed and any((value, False) in self.stored_elsewhere for value in operation.results):
            dropped.add("output")
        return dropped

    def _mixed(self) -> set[Kept]:
        """The values that are made again and charged to a layer that stores something else and does not make them itself."""
        found: set[Kept] = set()
        for operation, charged in self.charged.items():
            if not all(map(self.needs.is_made_again, charged)):
                again = [kept for kept in charged if self.needs.is_made_again(kept)]
                found.update(k for k in again if k[0] is not operation and k[0] not in operation.results)
        return found

    def _calculon_dropped(self, operation: Operation, view: LayerView) -> set[str]:
        choices = self.convention.choices
        inside = [self.trace.layout.enters_region(operation, index) for index in range(len(operation.operands))]
        if any(self._from_fork(v, enters) for v, enters in zip(operation.operands, inside, strict=True)):
            return {"activation", "reused"}
        if any(inside) and (choices.all_gather_redo or choices.recompute == "full"):
            return {"activation"}
        if choices.recompute in ("attention", "full") and operation in self.needs.attention:
            return {"activation"} if view.kind == "dropout" else {"output"}
        return set()

    def _from_fork(self, value: Value, inside: bool) -> bool:
        """Whether a reader inside or outside a region has the value from a fork, which counts it: directly, not through a collective."""
        entering = len(self.needs.entering(value))
        forked = len(self.needs.uses(value)) - entering + bool(entering) > 1
        return (inside and entering > 1) or (forked and not (inside and self.trace.layout.collectives))

    def _border(self, row: Memory, layer: str, view: LayerView) -> None:
        """A fork or a collective: it keeps nothing of its own, but the shard that is gathered again is charged to it."""
        kept: Expr = ZERO
        needs: list[Value | Operation] = []
        dropped: set[str] = set()
        choices = self.convention.choices
        value = self.trace.borders.get(layer)
        if view.kind == "input_collective" and value in self.gathered and value is not None:
            kept, needs = self._bytes((value, False)), [value]
            dropped = {"activation"} if self.needs.is_made_again((value, False)) else set()
        if view.kind == "output_collective" and value is not None and (value, False) in self.stored_elsewhere:
            dropped = {"output"}
        if isinstance(self.convention, Calculon):
            kept, dropped = self.convention.kept(view), set()
            again = choices.all_gather_redo or choices.recompute in ("attention", "full")
            if view.kind == "output_collective" or (layer in self.trace.entries and again):
                dropped = {"activation"}
            if self._entry_from_fork(layer, view):
                dropped = {"activation", "reused"}
        self._keeps(row, needs)
        self._compare(row, view, kept, dropped)

    def _entry_from_fork(self, layer: str, view: LayerView) -> bool:
        """Whether what is at the entry of a region has its value from a fork: the collective, or the fork where there is none."""
        value = self.trace.borders.get(layer)
        first = view.kind == "input_collective" or (layer in self.trace.entries and not self.trace.layout.collectives)
        return first and value is not None and len(self.needs.uses(value)) > len(self.needs.projecting(value))

    def _is_copy(self, layer: str, view: LayerView) -> bool:
        """Whether the gradient behind a collective is gathered by another one, for both: then this one has no task, and writes nothing."""
        scattered = self.trace.layout.scattered and not isinstance(self.convention, Calculon)
        return scattered and view.kind == "output_collective" and (layer, "activation_gradient") not in self.trace.tasks

    def _compare(self, row: Memory, view: LayerView, kept: Expr, dropped: set[str]) -> None:
        layer = row.layer
        convention = self.convention
        weighted = view.owned is not ZERO
        expected = LayerMemory(
            convention.weight_bytes(view) if weighted else ZERO,
            kept,
            convention.output_bytes(view),
            convention.weight_gradient_bytes(view) if weighted else ZERO,
            convention.weight_gradient_unsharded_bytes(view) if weighted else ZERO,
            ZERO if self._is_copy(layer, view) else convention.activation_gradient_bytes(view),
            convention.optimizer_bytes(view) if weighted else ZERO,
        )
        self.findings.components("R14", row, "memory", f"of '{layer}'", row.facts, expected)
        if set(row.dropped) != dropped:
            wanted = ", ".join(sorted(dropped)) or "nothing"
            self.findings.refuse("R14", row, f"what '{layer}' drops is wrong", note(f"expected {wanted}"))

    # --- the block

    def _sums(self, rows: list[Memory]) -> None:
        found = self.trace.block.activations
        if len(found) != 1:
            self.findings.refuse("R14", self.trace.block, "the block needs one dist.activations")
            return
        name = symbol_of(self.trace.model)
        if found[0].layer != name:
            self.findings.refuse("R14", found[0], f"the activations are those of '{name}'")
        working, stored = [], []
        for row in rows:
            working += [row.facts.activation] if "reused" not in row.dropped else []
            stored += [row.facts.activation] if "activation" not in row.dropped else []
            stored += [-row.facts.output] if "output" in row.dropped else []
        full = self.convention.choices.recompute == "full"
        expected = Activations(total(working), ZERO if full else total(stored), self._checkpoint() if full else ZERO)
        self.findings.components("R14", found[0], "activations", "of the block", found[0].facts, expected)

    def _checkpoint(self) -> Expr:
        """The inputs of the block that `full` keeps: those that backward reads."""
        if isinstance(self.convention, Calculon):
            return total(self.trace.expected(v).bytes for v in self.trace.model.arguments)
        inputs: list[Kept] = [(value, False) for value in self.gathered]
        inputs += [kept for charged in self.charged.values() for kept in charged]
        return total(self._bytes(kept) for kept in inputs if not self.needs.is_made_again(kept))
