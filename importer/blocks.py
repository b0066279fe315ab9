"""The operations of a decoder's blocks, as text: embedding, layers, head.

Layer names are those that all models of this project use (`attention.qkv`, `mlp.gate`). A block is a list of lines; an operation is
written where the model has what it does, and left out elsewhere.
"""

from __future__ import annotations

import attrs

from bpir.importer.decoder import Decoder, Layer


@attrs.define
class Lines:
    """The lines of one block, and names for its values."""

    lines: list[str] = attrs.field(factory=list)
    taken: set[str] = attrs.field(factory=set)

    def add(self, name: str, operation: str, layer: str, operands: str, rest: str = "", comment: str = "") -> str:
        """Write `%name = model.operation "layer" operands rest`, and give the value: `%name`; several names give several values."""
        values = ", ".join(self._fresh(part) for part in name.split())
        text = f'{values} = model.{operation} "{layer}" {operands}' + (f" {rest}" if rest else "")
        self.lines.append(text + (f"  // {comment}" if comment else ""))
        return values

    def space(self) -> None:
        self.lines.append("")

    def end(self, value: str) -> list[str]:
        return [*self.lines, f"model.return {value}"]

    def _fresh(self, name: str) -> str:
        found, count = name, 1
        while found in self.taken:
            found, count = f"{name}{count}", count + 1
        self.taken.add(found)
        return f"%{found}"


@attrs.frozen
class Blocks:
    """Writes the blocks of one model; `notes` says for each property which field it is from."""

    model: Decoder
    notes: dict[str, str]

    def note(self, name: str, condition: object = True) -> str:
        """The field of a property, for a comment at the operation; "" where there is nothing to say."""
        return self.notes.get(name, "") if condition else ""

    def _stored(self, experts: bool = False) -> str:
        """The format of a matrix, where it is another than that of activations."""
        kept = self.model.stored_matrices == "all" or (experts and self.model.stored_matrices == "experts")
        return f"stored {self.model.stored} " if kept else ""

    def embedding(self) -> list[str]:
        model, lines = self.model, Lines()
        width = "w" if model.embedding_width else "H"
        value = lines.add("x", "embedding", "embedding.tokens", "%ids", f": [V] -> !bp.tensor<B x S x {width}, {model.element}>")
        if model.embedding_scale:
            value = lines.add("s", "scale", "embedding.scale", value, comment=self.note("embedding_scale"))
        if model.embedding_width:
            value = lines.add("p", "linear", "embedding.projection", value, ": [H]", self.note("embedding_width"))
        if model.positions:
            value = lines.add("p", "positions", "embedding.positions", value, ": [P]")
        if model.embedding_norm:
            value = self._norm(lines, "n", "embedding.norm", value)
        if model.embedding_dropout:
            value = lines.add("d", "dropout", "embedding.dropout", value, comment=self.note("embedding_dropout"))
        return lines.end(value)

    def head(self) -> list[str]:
        model, lines = self.model, Lines(taken={"x"})
        value = lines.add("l", "last_token", "head.last_token", "%x")
        if model.final_norm:
            value = self._norm(lines, "n", "head.norm", value)
        if model.embedding_width:
            value = lines.add("p", "linear", "head.projection", value, ": [w]", self.note("embedding_width"))
        how = 'tied "embedding.tokens" ' if model.tied else "bias " if model.head_bias else ""
        value = lines.add("y", "linear", "head.logits", value, f"{how}: [V]", self.note("tied", model.tied))
        if model.logit_scale:
            value = lines.add("s", "scale", "head.logit_scale", value, comment=self.note("logit_scale"))
        if model.logit_cap:
            value = lines.add("c", "softcap", "head.softcap", value, comment=self.note("logit_cap"))
        return lines.end(value)

    def layer(self, layer: Layer) -> list[str]:
        """One layer, its norms where `order` says."""
        lines = Lines(taken={"x"})
        orders = {
            "before": self._before,
            "after": self._after,
            "between": self._between,
            "around": self._around,
            "parallel": self._parallel,
            "parallel_two": self._parallel_two,
        }
        return orders[self.model.order](lines, layer)

    def _before(self, lines: Lines, layer: Layer) -> list[str]:
        """Radford et al. 2019; Touvron et al. 2023: `r = x + attention(norm(x))`, then `z = r + mlp(norm(r))`."""
        y = self._attention(lines, layer, self._norm(lines, "n", "attention.norm", "%x"))
        r = lines.add("r", "add", "attention.residual", f"{y}, %x")
        lines.space()
        group = "moe" if layer.routed else "mlp"
        m = self._norm(lines, "m", f"{group}.norm", r)
        w = self._experts(lines, m) if layer.routed else self._mlp(lines, m)
        return lines.end(lines.add("z", "add", f"{group}.residual", f"{w}, {r}"))

    def _after(self, lines: Lines, layer: Layer) -> list[str]:
        """Vaswani et al. 2017: `r = norm(x + attention(x))`, then `z = norm(r + mlp(r))`."""
        y = self._attention(lines, layer, "%x")
        r = self._norm(lines, "n", "attention.norm", lines.add("r", "add", "attention.residual", f"{y}, %x"))
        lines.space()
        z = lines.add("z", "add", "mlp.residual", f"{self._mlp(lines, r)}, {r}")
        return lines.end(self._norm(lines, "m", "mlp.norm", z))

    def _between(self, lines: Lines, layer: Layer) -> list[str]:
        """OLMo team 2024: `r = x + norm(attention(x))`, then `z = r + norm(mlp(r))`."""
        y = self._norm(lines, "n", "attention.norm", self._attention(lines, layer, "%x"))
        r = lines.add("r", "add", "attention.residual", f"{y}, %x")
        lines.space()
        w = self._norm(lines, "m", "mlp.norm", self._mlp(lines, r))
        return lines.end(lines.add("z", "add", "mlp.residual", f"{w}, {r}"))

    def _around(self, lines: Lines, layer: Layer) -> list[str]:
        """Gemma team 2024, Gemma 2: `r = x + norm(attention(norm(x)))`, then `z = r + norm(mlp(norm(r)))`."""
        y = self._attention(lines, layer, self._norm(lines, "n", "attention.norm", "%x"))
        r = lines.add("r", "add", "attention.residual", f"{self._norm(lines, 'yn', 'attention.output_norm', y)}, %x")
        lines.space()
        w = self._mlp(lines, self._norm(lines, "m", "mlp.norm", r))
        return lines.end(lines.add("z", "add", "mlp.residual", f"{self._norm(lines, 'wn', 'mlp.output_norm', w)}, {r}"))

    def _parallel(self, lines: Lines, layer: Layer) -> list[str]:
        """Wang and Komatsuzaki 2021: `z = x + (attention(n) + mlp(n))` with `n = norm(x)`; the sum is reduced once."""
        n = self._norm(lines, "n", "attention.norm", "%x")
        return self._side_by_side(lines, layer, n, n)

    def _parallel_two(self, lines: Lines, layer: Layer) -> list[str]:
        """Black et al. 2022: `z = x + (attention(norm(x)) + mlp(norm(x)))` with a norm for each; the sum is reduced once."""
        n = self._norm(lines, "n", "attention.norm", "%x")
        return self._side_by_side(lines, layer, n, self._norm(lines, "m", "mlp.norm", "%x"))

    def _side_by_side(self, lines: Lines, layer: Layer, n: str, m: str) -> list[str]:
        y = self._attention(lines, layer, n)
        lines.space()
        w = self._mlp(lines, m)
        s = lines.add("s", "add", "mlp.sum", f"{y}, {w}")
        return lines.end(lines.add("z", "add", "mlp.residual", f"{s}, %x"))

    def _attention(self, lines: Lines, layer: Layer, value: str) -> str:
        model = self.model
        if model.latent:
            return self._latent_attention(lines, value)
        g = "h" if model.kv_heads == model.heads else "g"
        bias = "bias " if model.qkv_bias else ""
        q, k, v = lines.add(
            "q k v", "linear", "attention.qkv", value, f"{bias}{self._stored()}: [h x d], [{g} x d], [{g} x d]", self.note("qkv_bias", bias)
        ).split(", ")
        if model.query_key_norm != "none":
            over = {"head": "over d", "heads": "over d per_head"}.get(model.query_key_norm, "")
            q = self._norm(lines, "qn", "attention.query_norm", q, over, self.note("query_key_norm"))
            k = self._norm(lines, "kn", "attention.key_norm", k, over)
        if model.rotary and layer.rotary:
            part = "dims r" if model.rotary != model.head_size else ""
            q, k = lines.add("qr kr", "rope", "attention.rope", f"{q}, {k}", part, self.note("rotary", part)).split(", ")
        settings = ["context c"]
        settings += ["window W"] if layer.window else []
        settings += ["softcap"] if model.score_cap else []
        settings += ["sinks"] if model.sinks else []
        settings += ["dropout"] if model.attention_dropout else []
        remark = "ALiBi, a bias of the scores without weights, is not counted" if model.alibi else self.note("score_cap", model.score_cap)
        o = lines.add("o", "attention", "attention.core", f"{q}, {k}, {v}", " ".join(settings), remark)
        bias = "bias " if model.output_bias else ""
        y = lines.add("y", "linear", "attention.output_projection", o, f"{bias}{self._stored()}: [H]", self.note("output_bias", bias))
        return self._result(lines, "y", "attention", y)

    def _latent_attention(self, lines: Lines, value: str) -> str:
        """DeepSeek-AI 2024: Q, K and V from latents; a rotary part of Q by heads, and of K for all of them."""
        model, query, stored = self.model, value, self._stored()
        if model.query_latent:
            down = lines.add("qa", "linear", "attention.query_down", value, f"{stored}: [a]", self.note("query_latent"))
            query = self._norm(lines, "qn", "attention.query_norm", down)
        layer = "attention.query_up" if model.query_latent else "attention.query"
        q, turned = lines.add("q qp", "linear", layer, query, f"{stored}: [h x n], [h x r]").split(", ")
        latent, key = lines.add("ca kp", "linear", "attention.latent", value, f"{stored}: [l], [r]", self.note("latent")).split(", ")
        latent = self._norm(lines, "cn", "attention.latent_norm", latent)
        turned, key = lines.add("qr kr", "rope", "attention.rope", f"{turned}, {key}").split(", ")
        o = lines.add("o", "latent_attention", "attention.core", f"{q}, {turned}, {latent}, {key}", f"values v context c {stored}".rstrip())
        return self._result(lines, "y", "attention", lines.add("y", "linear", "attention.output_projection", o, f"{stored}: [H]"))

    def _experts(self, lines: Lines, value: str) -> str:
        """Shazeer et al. 2017: a router, the rows that it sends to experts, and their sum; beside them the shared experts."""
        model, letter = self.model, self.model.expert_letter
        bias = "bias " if model.router_bias else ""
        scores = "" if model.scores == "softmax" else f" scores {model.scores}"
        route = lines.add("route", "router", "moe.router", value, f"{bias}top k of E{scores}", self.note("chosen"))
        rows = lines.add("rows", "dispatch", "moe.dispatch", f"{value}, {route}")
        how = f"{'bias ' if model.expert_bias else ''}of E {self._stored(experts=True)}"
        gate = lines.add("a", "experts", "moe.gate", rows, f"{how}: [{letter}]", self.note("stored", self._stored(experts=True)))
        up = lines.add("u", "experts", "moe.up", rows, f"{how}: [{letter}]")
        inner = lines.add("p", "mul", "moe.multiply", f"{self._activation(lines, gate, 'moe')}, {up}")
        back = lines.add("w", "experts", "moe.contract", inner, f"{how}: [H]")
        y = lines.add("y1", "combine", "moe.combine", f"{back}, {route}")
        if model.shared_feed_forward:
            lines.space()
            shared = self._gated(lines, value, "shared", model.shared_letter)
            y = lines.add("ys", "add", "moe.sum", f"{y}, {shared}")
        return self._result(lines, "ys", "moe", y)

    def _gated(self, lines: Lines, value: str, group: str, letter: str, bias: str = "", why: str = "") -> str:
        bias += self._stored()
        gate = lines.add("a", "linear", f"{group}.gate", value, f"{bias}: [{letter}]", why)
        up = lines.add("u", "linear", f"{group}.up", value, f"{bias}: [{letter}]")
        inner = lines.add("p", "mul", f"{group}.multiply", f"{self._activation(lines, gate, group)}, {up}")
        return lines.add("w", "linear", f"{group}.contract", inner, f"{bias}: [H]")

    def _mlp(self, lines: Lines, value: str) -> str:
        model = self.model
        bias = "bias " if model.mlp_bias else ""
        why = self.note("mlp_bias", bias)
        if model.gated:
            w = self._gated(lines, value, "mlp", "F", bias, why)
        else:
            bias += self._stored()
            inner = self._activation(lines, lines.add("u", "linear", "mlp.expand", value, f"{bias}: [F]", why))
            w = lines.add("w", "linear", "mlp.contract", inner, f"{bias}: [H]")
        return self._result(lines, "w", "mlp", w)

    def _activation(self, lines: Lines, value: str, group: str = "mlp") -> str:
        kind = self.model.activation
        return lines.add("s", kind, f"{group}.{kind}", value, comment=self.note("activation"))

    def _result(self, lines: Lines, name: str, group: str, value: str) -> str:
        """The result of a sublayer on its way to the residual stream."""
        if self.model.residual_dropout:
            value = lines.add(name + "d", "dropout", f"{group}.output_dropout", value, comment=self.note("residual_dropout"))
        if self.model.residual_scale:
            value = lines.add(name + "s", "scale", f"{group}.output_scale", value, comment=self.note("residual_scale"))
        return value

    def _norm(self, lines: Lines, name: str, layer: str, value: str, over: str = "", comment: str = "") -> str:
        layer = layer if self.model.norm == "rms_norm" or not layer.endswith(".norm") else layer.removesuffix("norm") + "layer_norm"
        weights = {"gamma": "no_beta", "none": "no_weights"}.get(self.model.norm_weights, "")
        if self.model.norm == "layer_norm" and over.endswith("per_head"):  # no family has a beta for each head
            weights = "no_beta"
        return lines.add(name, self.model.norm, layer, value, " ".join(part for part in (over, weights) if part), comment)
