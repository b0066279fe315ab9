"""The memory facts of training: what each layer keeps, what is stored, and the block's sums (rule distribute-training.R14)."""

from __future__ import annotations

from itertools import chain, filterfalse

from bpir.dialects.bp import TensorType
from bpir.dialects.dist.facts import Activations, LayerMemory, Memory
from bpir.dialects.model.rules.conventions import Calculon
from bpir.dialects.model.rules.layer_view import LayerView
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
        rows = self._rows()
        layers, views = self.trace.layers, self.trace.views
        for layer in dict.fromkeys((*layers, *views)):
            where = layers.get(layer, self.trace.block.operation)
            self.findings.require("R14", layer in rows, where, f"'{layer}' has no memory facts")
        for layer, row in rows.items():
            known = layer in layers or layer in views
            if self.findings.require("R14", known, row, f"'{layer}' is no layer of the block") and layer in views:
                self._row(row, views[layer])  # one without a view has no forward task, which is another rule's finding
        self._sums(list(rows.values()))

    def _rows(self) -> dict[str, Memory]:
        """The memory facts by layer, each once."""
        rows: dict[str, Memory] = {}
        for row in self.trace.block.memory:
            first = rows.setdefault(row.layer, row)
            where = note("the first are here", first.span)
            self.findings.require("R14", first is row, row, f"'{row.layer}' has memory facts twice", where)
        return rows

    def _row(self, row: Memory, view: LayerView) -> None:
        operation = self.trace.layers.get(row.layer)
        if operation is not None:
            self._layer(row, view, operation)
        else:
            self._border(row, view)

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
        return type.bytes if whole else type.local(self.trace.mesh).bytes

    # --- one layer

    def _layer(self, row: Memory, view: LayerView, operation: Operation) -> None:
        charged = self.charged[operation]
        if isinstance(self.convention, Calculon):
            kept, dropped = self.convention.kept(view), self._calculon_dropped(operation, view)
        else:
            kept, dropped = total(self._bytes(k) for k in charged), self._dropped(operation, charged)
        self._keeps(row, [need for need, _ in charged])
        self._compare(row, view, kept, dropped)

    def _keeps(self, row: Memory, needs: list[Value | Operation]) -> None:
        if self.trace.lost.isdisjoint(need if isinstance(need, Operation) else need.owner for need in needs):
            found = [self._meant(value) for value in row.operands]
            message = f"the values charged to '{row.layer}' are not those that its gradients read first"
            self.findings.require("R14", found == needs, row, message)

    def _meant(self, image: Value) -> Value | Operation | None:
        """The value, or the mask, that an image means, if it is not made again."""
        meaning = self.trace.meanings.get(image)
        return None if meaning is None or meaning.again else meaning.mask or meaning.value

    def _dropped(self, operation: Operation, charged: list[Kept]) -> set[str]:
        dropped = {"activation"} if charged and all(map(self.needs.is_made_again, charged)) else set()
        summed = any(map(self.trace.layout.leaves, operation.results))  # then the result of the collective is kept
        elsewhere = any((value, False) in self.stored_elsewhere for value in operation.results)
        return dropped | ({"output"} if elsewhere and not summed else set())

    def _mixed(self) -> set[Kept]:
        """The values that are made again and charged to a layer that stores something else and does not make them itself."""
        return {kept for operation, charged in self.charged.items() for kept in self._mixed_in(operation, charged)}

    def _mixed_in(self, operation: Operation, charged: list[Kept]) -> list[Kept]:
        again = list(filter(self.needs.is_made_again, charged))
        own = (operation, *operation.results)
        return [kept for kept in again if kept[0] not in own] if len(again) < len(charged) else []

    def _calculon_dropped(self, operation: Operation, view: LayerView) -> set[str]:
        """The words for what a layer drops under Calculon's convention."""
        choices = self.convention.choices
        inside = [self.trace.layout.enters_region(operation, index) for index in range(len(operation.operands))]
        if any(map(self._from_fork, operation.operands, inside)):
            return {"activation", "reused"}
        if any(inside) and (choices.all_gather_redo or choices.recompute == "full"):
            return {"activation"}
        return self._of_repeated_attention(view) if self._is_attention_again(operation) else set()

    def _is_attention_again(self, operation: Operation) -> bool:
        return self.convention.choices.recompute in ("attention", "full") and operation in self.needs.attention

    @staticmethod
    def _of_repeated_attention(view: LayerView) -> set[str]:
        return {"activation"} if view.kind == "dropout" else {"output"}

    def _from_fork(self, value: Value, inside: bool) -> bool:
        """Whether a reader inside or outside a region has the value from a fork, which counts it: directly, not through a collective."""
        entering = len(self.needs.entering(value))
        forked = len(self.needs.uses(value)) - entering + bool(entering) > 1
        return (inside and entering > 1) or (forked and not (inside and self.trace.layout.collectives))

    def _border(self, row: Memory, view: LayerView) -> None:
        """A fork or a collective: it keeps nothing of its own, but the shard that is gathered again is charged to it."""
        value = self.trace.borders.get(row.layer)
        gathered = value if view.kind == "input_collective" and value in self.gathered else None
        if isinstance(self.convention, Calculon):
            kept, dropped = self.convention.kept(view), self._calculon_dropped_at_border(row.layer, view)
        else:
            kept = self._bytes((gathered, False)) if gathered is not None else ZERO
            dropped = self._dropped_at_border(view, value, gathered)
        self._keeps(row, [gathered] if gathered is not None else [])
        self._compare(row, view, kept, dropped)

    def _dropped_at_border(self, view: LayerView, value: Value | None, gathered: Value | None) -> set[str]:
        """The words for what a fork or a collective drops: a shard that is made again, or a result that another layer stores."""
        if view.kind == "output_collective" and value is not None and (value, False) in self.stored_elsewhere:
            return {"output"}
        return {"activation"} if gathered is not None and self.needs.is_made_again((gathered, False)) else set()

    def _calculon_dropped_at_border(self, layer: str, view: LayerView) -> set[str]:
        """The same under Calculon's convention."""
        choices = self.convention.choices
        if self._entry_from_fork(layer, view):
            return {"activation", "reused"}
        again = choices.all_gather_redo or choices.recompute in ("attention", "full")
        entry = layer in self.trace.entries and again
        return {"activation"} if view.kind == "output_collective" or entry else set()

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
        self.findings.components("R14", row, "memory", f"of '{row.layer}'", row.facts, self._facts(row.layer, view, kept))
        wanted = note(f"expected {', '.join(sorted(dropped)) or 'nothing'}")
        self.findings.require("R14", set(row.dropped) == dropped, row, f"what '{row.layer}' drops is wrong", wanted)

    def _facts(self, layer: str, view: LayerView, kept: Expr) -> LayerMemory:
        """The memory facts of a layer that keeps so many bytes."""
        convention = self.convention
        of_gradient = ZERO if self._is_copy(layer, view) else convention.activation_gradient_bytes(view)
        if view.owned is ZERO:
            return LayerMemory(ZERO, kept, convention.output_bytes(view), ZERO, ZERO, of_gradient, ZERO)
        return LayerMemory(
            convention.weight_bytes(view),
            kept,
            convention.output_bytes(view),
            convention.weight_gradient_bytes(view),
            convention.weight_gradient_unsharded_bytes(view),
            of_gradient,
            convention.optimizer_bytes(view),
        )

    # --- the block

    def _sums(self, rows: list[Memory]) -> None:
        found = self.trace.block.activations
        if not self.findings.require("R14", len(found) == 1, self.trace.block, "the block needs one dist.activations"):
            return
        name = symbol_of(self.trace.model)
        self.findings.require("R14", found[0].layer == name, found[0], f"the activations are those of '{name}'")
        self.findings.components("R14", found[0], "activations", "of the block", found[0].facts, self._activations(rows))

    def _activations(self, rows: list[Memory]) -> Activations:
        """The activations of a block whose layers have these facts."""
        working = total(row.facts.activation for row in rows if "reused" not in row.dropped)
        if self.convention.choices.recompute == "full":
            return Activations(working, ZERO, self._checkpoint())
        return Activations(working, total(map(_stored, rows)), ZERO)

    def _checkpoint(self) -> Expr:
        """The inputs of the block that `full` keeps: those that backward reads."""
        if isinstance(self.convention, Calculon):
            return total(self.trace.expected(v).bytes for v in self.trace.model.arguments)
        inputs: list[Kept] = [(value, False) for value in self.gathered]
        inputs += chain.from_iterable(self.charged.values())
        return total(map(self._bytes, filterfalse(self.needs.is_made_again, inputs)))


def _stored(row: Memory) -> Expr:
    """The bytes of activations that a layer adds to those of its block: less its result, where another layer stores that."""
    kept = ZERO if "activation" in row.dropped else row.facts.activation
    return kept - row.facts.output if "output" in row.dropped else kept
