"""What training keeps: which layer a kept value is charged to, what is computed or gathered again, and what that leaves stored."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from bpir.dialects.dist.facts import Activations, LayerMemory
from bpir.dialects.model.conventions import Calculon, Choices, Standard
from bpir.ir.expression import ZERO, Expr, total
from bpir.passes.training_graph import Flow, Graph, Layer


@attrs.define
class Kept:
    """What one layer keeps, and what becomes of it.

    Attributes:
        flows: the values charged to the layer: its gradients, or those of a later layer, read them.
        dropped: `activation` if none of them is stored until backward, `output` if its result is stored nowhere else, `reused` if the
            working set counts them elsewhere.
    """

    flows: list[Flow]
    bytes: Expr
    dropped: tuple[str, ...] = ()


class Memory:
    """The memory facts of a block's layers under a convention."""

    def __init__(self, graph: Graph, choices: Choices, convention: Standard) -> None:
        self.graph = graph
        self.choices = choices
        self.convention = convention
        self.charged: dict[Layer, list[Flow]] = self._charge()
        self.gathered_again: set[Layer] = {layer for layer in graph if layer.kind == "input_collective" and self._redone(layer)}
        self.recomputed: set[Layer] = self._recomputed()
        self.kept: dict[Layer, Kept] = self._calculon() if isinstance(convention, Calculon) else self._standard()

    @property
    def repeated(self) -> set[Layer]:
        """The layers whose forward task is repeated before backward."""
        return self.recomputed | self.gathered_again

    # --- which values

    def reads(self, layer: Layer, weight: bool) -> list[Flow]:
        """The kept values that the activation gradient, or the weight gradient, of a layer reads."""
        found = []
        rule = layer.rule
        for what in () if rule is None else rule.weight_gradient_reads if weight else rule.gradient_reads:
            kind, _, index = what.partition(" ")
            if kind == "mask":
                assert layer.mask is not None
                found.append(layer.mask)
            else:
                flows = layer.operands if kind == "operand" else layer.results
                found.append(self.graph.origin(flows[int(index)]))
        return list(dict.fromkeys(found))

    def _charge(self) -> dict[Layer, list[Flow]]:
        """Each kept value to its first reader in forward order; a mask to its dropout."""
        seen: set[Flow] = set()
        charged: dict[Layer, list[Flow]] = {}
        for layer in self.graph:
            flows = [*self.reads(layer, False), *self.reads(layer, True)]
            if layer.kind == "input_collective" and self.choices.all_gather_redo and self.choices.sequence_parallel:
                flows = [self.graph.origin(layer.operands[0])]
            charged[layer] = [flow for flow in dict.fromkeys(flows) if flow not in seen]
            seen.update(flows)
        return charged

    def _redone(self, layer: Layer) -> bool:
        if isinstance(self.convention, Calculon):
            projections = layer.results[0].readers[0].kind == "fork"  # gathered again before Q, K, V if attention is recomputed
            return self.choices.all_gather_redo or (projections and self.choices.recompute == "attention")
        return self.choices.all_gather_redo and self.choices.sequence_parallel

    # --- which tasks are repeated

    def _recomputed(self) -> set[Layer]:
        if self.choices.recompute == "attention":
            return set(self._attention())
        if self.choices.recompute == "full":
            if isinstance(self.convention, Calculon):
                return set(self.graph)
            return self._closure(flow for flows in self.charged.values() for flow in flows)
        return set()

    def _attention(self) -> Iterable[Layer]:
        """Scores, softmax and the dropout of its result (Korthikanti et al. 2022, section 5: selective recomputation)."""
        for layer in self.graph:
            if layer.kind == "softmax":
                yield layer
                scores = self.graph.origin(layer.operands[0]).producer
                if scores is not None and scores.kind == "batch_matmul":
                    yield scores
                yield from (reader for reader in layer.results[0].readers if reader.kind == "dropout")

    def _closure(self, flows: Iterable[Flow]) -> set[Layer]:
        """Every layer on which one of the flows depends: all that is computed again from the block's inputs."""
        found: set[Layer] = set()
        stack = [flow.producer for flow in flows]
        while stack:
            layer = stack.pop()
            if layer is not None and layer not in found:
                found.add(layer)
                stack.extend(flow.producer for flow in layer.operands)
        return found

    # --- what is stored

    def _standard(self) -> dict[Layer, Kept]:
        kept = {}
        for layer, flows in self.charged.items():
            again = [flow for flow in flows if flow.producer in self.repeated]
            dropped = ("activation",) if flows and len(again) == len(flows) else ()
            kept[layer] = Kept(flows, total(self.graph.bytes(flow) for flow in flows), dropped)
        for layer, flows in self.charged.items():
            for flow in flows:
                producer = flow.producer
                if producer is not None and producer is not layer and producer in self.recomputed and not kept[layer].dropped:
                    kept[producer].dropped += ("output",)
        return kept

    def _calculon(self) -> dict[Layer, Kept]:
        """Calculon's flags: inputs shared with a fork are counted at the fork; what backward makes again is not stored."""
        convention = self.convention
        assert isinstance(convention, Calculon)
        full, attention = self.choices.recompute == "full", self.choices.recompute in ("attention", "full")
        parts = set(self._attention())
        kept = {}
        for layer in self.graph:
            dropped: tuple[str, ...] = ()
            shared = any(flow.producer is not None and flow.producer.kind == "fork" for flow in layer.operands)
            if shared:
                dropped += ("activation", "reused")
            elif layer.kind == "output_collective" or (layer in self.graph.heads and self._entry_dropped(layer, full, attention)):
                dropped += ("activation",)
            elif attention and layer in parts:
                dropped += ("activation",) if layer.kind == "dropout" else ("output",)
            kept[layer] = Kept(self.charged[layer], convention.kept(layer.view), dropped)
        return kept

    def _entry_dropped(self, layer: Layer, full: bool, attention: bool) -> bool:
        """Whether what stands behind an entry is gathered again: before Q, K, V if attention is recomputed too."""
        return self.choices.all_gather_redo or (attention if layer.kind == "fork" else full)

    def facts(self, layer: Layer) -> LayerMemory:
        """The bytes of one layer, by what they hold."""
        view, convention = layer.view, self.convention
        weighted = view.weights is not ZERO
        return LayerMemory(
            convention.weight_bytes(view) if weighted else ZERO,
            self.kept[layer].bytes,
            convention.output_bytes(view),
            convention.weight_gradient_bytes(view) if weighted else ZERO,
            convention.weight_gradient_unsharded_bytes(view) if weighted else ZERO,
            convention.activation_gradient_bytes(view),
            convention.optimizer_bytes(view) if weighted else ZERO,
        )

    def activations(self) -> Activations:
        """The block's activations: `C_act = sum(A_l - O_l [not stored] - A_l [not stored])`; the checkpoint is the block's input."""
        working, stored = [], []
        for layer, kept in self.kept.items():
            if "reused" not in kept.dropped:
                working.append(kept.bytes)
            stored.append(kept.bytes)
            if "activation" in kept.dropped:
                stored.append(-kept.bytes)
            if "output" in kept.dropped:
                stored.append(-self.convention.output_bytes(layer.view))
        full = self.choices.recompute == "full"
        checkpoint = total(self.graph.bytes(flow) for flow in self.graph.arguments) if full else ZERO
        if full and isinstance(self.convention, Calculon):
            checkpoint = total(flow.type.bytes for flow in self.graph.arguments)
        return Activations(total(working), ZERO if full else total(stored), checkpoint)
