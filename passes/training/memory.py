"""The values that training keeps: the layer that each is charged to, what is computed or gathered again, and what is stored in the end."""

from __future__ import annotations

import attrs

from bpir.dialects.dist.facts import Activations, LayerMemory
from bpir.dialects.model.rules.conventions import Calculon, Standard
from bpir.dialects.model.rules.layer_view import Choices
from bpir.ir.expressions.expression import ZERO, Expr, total
from bpir.passes.training.graph import Flow, Graph, Layer
from bpir.passes.training.repeated import attention_of, closure


@attrs.define
class Kept:
    """The values that one layer keeps, and their fate.

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
        self.attention = attention_of(graph)
        self.recomputed: frozenset[Layer] = self._recomputed()
        self.gathered_again: frozenset[Layer] = frozenset(layer for layer in graph if self._redone(layer))
        self.charged: dict[Layer, list[Flow]] = self._charge()
        self.kept: dict[Layer, Kept] = self._calculon() if isinstance(convention, Calculon) else self._standard()

    @property
    def repeated(self) -> frozenset[Layer]:
        """The layers whose forward task is repeated before backward."""
        return self.recomputed | self.gathered_again

    def replaces(self, layer: Layer) -> bool:
        """Whether backward reads what the repeated layer gives: the result of attention's last product is kept all the same."""
        return self.choices.recompute != "core_attention" or layer not in self.attention.products

    def is_made_again(self, flow: Flow) -> bool:
        """Whether backward makes the flow again, so that it need not be kept."""
        producer = flow.producer
        return producer is not None and producer in self.repeated and self.replaces(producer)

    # --- which values

    def reads(self, layer: Layer, weight: bool) -> list[Flow]:
        """The kept values that the activation gradient, or the weight gradient, of a layer reads."""
        found = []
        rule = layer.rule
        for read in () if rule is None else rule.weight_gradient_reads if weight else rule.gradient_reads:
            flow = read.choose(layer.operands, layer.results, layer.mask)
            assert flow is not None
            found.append(flow if flow is layer.mask else self.graph.origin(flow))
        return list(dict.fromkeys(found))

    def _gradients_read(self, layer: Layer) -> list[Flow]:
        return [*self.reads(layer, False), *self.reads(layer, True)]

    def _repetition_reads(self, layer: Layer) -> list[Flow]:
        """The values that a repeated layer reads and nobody repeats."""
        if layer not in self.repeated or self.graph.is_identity(layer) or isinstance(self.convention, Calculon):
            return []
        return [flow for flow in map(self.graph.origin, layer.operands) if not self.is_made_again(flow)]

    def _charge(self) -> dict[Layer, list[Flow]]:
        """Each kept value to its first reader in forward order; a mask to its dropout."""
        seen: set[Flow] = set()
        charged: dict[Layer, list[Flow]] = {}
        for layer in self.graph:
            flows = [*self._gradients_read(layer), *self._repetition_reads(layer)]
            if layer.kind == "input_collective" and self.choices.all_gather_redo and self.choices.sequence_parallel:
                flows = [self.graph.origin(layer.operands[0])]
            charged[layer] = [flow for flow in dict.fromkeys(flows) if flow not in seen]
            seen.update(flows)
        return charged

    # --- which tasks are repeated

    def _redone(self, layer: Layer) -> bool:
        if layer.kind != "input_collective":
            return False
        if isinstance(self.convention, Calculon):
            projections = layer.results[0].readers[0].kind == "fork"  # gathered again before Q, K, V if attention is recomputed
            return self.choices.all_gather_redo or (projections and self.choices.recompute == "attention")
        return self.choices.all_gather_redo and self.choices.sequence_parallel

    def _recomputed(self) -> frozenset[Layer]:
        if self.choices.recompute == "attention":
            return self.attention.repeated
        if self.choices.recompute == "core_attention":
            return self.attention.repeated | self.attention.products
        if self.choices.recompute == "full":
            if isinstance(self.convention, Calculon):
                return frozenset(self.graph)
            return closure(flow for layer in self.graph for flow in self._gradients_read(layer))
        return frozenset()

    # --- what is stored

    def _standard(self) -> dict[Layer, Kept]:
        kept = {}
        for layer, flows in self.charged.items():
            again = [flow for flow in flows if self.is_made_again(flow)]
            dropped = ("activation",) if flows and len(again) == len(flows) else ()
            kept[layer] = Kept(flows, total(self.graph.bytes(flow) for flow in flows), dropped)
        for layer, flows in self.charged.items():
            for flow in flows if "activation" not in kept[layer].dropped else ():
                producer = flow.producer
                if producer is not None and producer is not layer and producer in self.recomputed and self.is_made_again(flow):
                    kept[producer].dropped += ("output",)
        return kept

    def _calculon(self) -> dict[Layer, Kept]:
        """Calculon's flags: inputs shared with a fork are counted at the fork; what backward makes again is not stored."""
        convention = self.convention
        assert isinstance(convention, Calculon)
        full, attention = self.choices.recompute == "full", self.choices.recompute in ("attention", "full")
        kept = {}
        for layer in self.graph:
            dropped: tuple[str, ...] = ()
            shared = any(flow.producer is not None and flow.producer.kind == "fork" for flow in layer.operands)
            if shared:
                dropped += ("activation", "reused")
            elif layer.kind == "output_collective" or (layer in self.graph.heads and self._entry_dropped(layer, full, attention)):
                dropped += ("activation",)
            elif attention and layer in self.attention.repeated:
                dropped += ("activation",) if layer.kind == "dropout" else ("output",)
            kept[layer] = Kept(self.charged[layer], convention.kept(layer.view), dropped)
        return kept

    def _entry_dropped(self, layer: Layer, full: bool, attention: bool) -> bool:
        """Whether what is behind an entry is gathered again: before Q, K, V if attention is recomputed too."""
        return self.choices.all_gather_redo or (attention if layer.kind == "fork" else full)

    def facts(self, layer: Layer, copied: bool) -> LayerMemory:
        """The bytes of one layer, by what they hold; `copied` says that its gradient is another layer's, so it writes none."""
        view, convention = layer.view, self.convention
        weighted = view.owned is not ZERO
        return LayerMemory(
            convention.weight_bytes(view) if weighted else ZERO,
            self.kept[layer].bytes,
            convention.output_bytes(view),
            convention.weight_gradient_bytes(view) if weighted else ZERO,
            convention.weight_gradient_unsharded_bytes(view) if weighted else ZERO,
            ZERO if copied else convention.activation_gradient_bytes(view),
            convention.optimizer_bytes(view) if weighted else ZERO,
        )

    def activations(self) -> Activations:
        """The block's activations: `C_act = sum(A_l - O_l [not stored] - A_l [not stored])`.

        The checkpoint of `full` is what backward reads and nothing makes again: inputs of the block.
        """
        working, stored = [], []
        for layer, kept in self.kept.items():
            if "reused" not in kept.dropped:
                working.append(kept.bytes)
            stored.append(kept.bytes)
            if "activation" in kept.dropped:
                stored.append(-kept.bytes)
            if "output" in kept.dropped:
                stored.append(-self.convention.output_bytes(layer.view))
        if self.choices.recompute != "full":
            return Activations(total(working), total(stored), ZERO)
        if isinstance(self.convention, Calculon):
            return Activations(total(working), ZERO, total(flow.type.bytes for flow in self.graph.arguments))
        read = [flow for flows in self.charged.values() for flow in flows if not self.is_made_again(flow)]
        return Activations(total(working), ZERO, total(map(self.graph.bytes, read)))
