"""`model.latent_attention`: attention whose cache holds a latent and a rotary key for all heads (DeepSeek-AI 2024)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bpir.dialects.bp import TensorType, tensor
from bpir.dialects.model.attention import HEAD_RANK, Cached
from bpir.dialects.model.parts.latent import LATENT_ATTENTION
from bpir.dialects.model.rules.local import Local, tensor_type
from bpir.dialects.model.rules.operation import STORED, Expression, ModelOperation, model_syntax
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import ONE, Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Flag
from bpir.ir.syntax import Clause


class LatentAttention(Cached):
    r"""`%o = model.latent_attention "attention.core" %q, %qr, %l, %kr values v context c`: K and V are products of a latent.

    The operands are Q, its rotary part, the latent and the rotary key; the weights make K and V of each head from the latent. Expanded,
    the default, they are multiplied with all visible tokens of the cache at every step, as Hugging Face runs it; `absorbed`, with Q and
    with the result instead, which is the same function. The latent has no heads: it is whole on every rank. Training makes K and V of it
    by linears, and has each part as a task.

    Equations (`b` sequences, `q` query and `c` visible tokens, `p` of their `qc` pairs counted, `h` local heads, a latent of `l`, heads of
    `n` and `r` rotary elements for scores, `v` for values, `e` bytes an element):

    - E1: $\mathrm{matmul} = 2bclh(n+v) + 2bph(n+r+v)$, $\mathrm{matmul} = 2bqhl(n+v) + 2bph(2l+r)$ absorbed
    - E2: $\mathrm{ops} = 2bclh(n+v) + 2bph(n+r+v) + 5bhp$, $\mathrm{ops} = 2bqhl(n+v) + 2bph(2l+r) + 5bhp$ absorbed
    - E3: $w = lh(n+v)$
    - E4: $\mathrm{read} = (bqh(n+r) + bc(l+r) + lh(n+v))e$, $\mathrm{write} = bqhve$
    - E5: $\mathrm{scratch} = bhqce + bch(n+v)e$, $\mathrm{scratch} = bhqce + 2bqhle$ absorbed

    Source: DeepSeek-AI 2024 (2405.04434), section 2.1 and appendix C.
    """

    name = "model.latent_attention"
    values = Expression()
    absorbed = Flag()
    syntax = model_syntax(
        Clause("values", (values,), optional=False, line=False),
        absorbed,
        Clause("context", (ModelOperation.context,), line=False),
        STORED,
        operands=4,
    )
    tensors = "b s h n, b s h r, b c l, b c r; l h n, l h v -> b s h v"
    needs_whole = "c n r l v"
    capabilities = ("matrix_multiply", "softmax")
    alternatives = ("unfused", "fused_attention", "paged_attention")
    forms = ("expanded", "absorbed")
    form_field = "latent"
    composite = LATENT_ATTENTION

    def infer(self, operation: Operation) -> list[Any]:
        query, turned, latent, key = types = [tensor_type(operation, value) for value in operation.operands]
        for name, type, rank in zip(("Q", "rotary Q", "the latent", "the rotary key"), types, (4, 4, 3, 3), strict=True):
            if len(type.dims) != rank:
                wanted = "batch x tokens x heads x size" if rank == HEAD_RANK else "batch x tokens x size"
                raise fail(f"'{self.name}' expects {name} as {wanted}, found {type.text}", operation.span)
            if type.dims[0] is not query.dims[0] or type.element is not query.element:
                raise fail(f"'{self.name}' expects one batch axis and one element: {query.text} and {type.text} differ", operation.span)
        if query.dims[:3] != turned.dims[:3]:
            raise fail(f"Q and its rotary part differ in tokens or heads: {query.text} and {turned.text}", operation.span)
        if latent.dims[1] is not key.dims[1]:
            raise fail(f"the latent and the rotary key differ in tokens: {latent.text} and {key.text}", operation.span)
        if turned.dims[3] is not key.dims[2]:
            raise fail(f"Q and K differ in rotary elements: {turned.dims[3].text} and {key.dims[2].text}", operation.span)
        return [tensor((*query.dims[:3], LatentAttention(operation).values), query.element)]

    def matmul_operations(self, local: Local) -> Expr:
        query, turned, latent, _ = local.operands
        b, q, h, n = query.dims
        c, width, r, v = latent.dims[1], latent.dims[2], turned.dims[3], local.results[0].dims[3]
        pairs = self._pairs(local)
        if self.form(local.settings) == "absorbed":
            return 2 * b * q * h * width * (n + v) + 2 * b * pairs * h * (2 * width + r)
        return 2 * b * c * width * h * (n + v) + 2 * b * pairs * h * (n + r + v)

    def operations(self, local: Local) -> Expr:
        query = local.operands[0]
        return self.matmul_operations(local) + 5 * query.dims[0] * query.dims[2] * self._pairs(local)

    @staticmethod
    def _pairs(local: Local) -> Expr:
        """The pairs of a query and a visible token that count, of a sequence and head."""
        counted = local.expression("pairs")
        return local.operands[0].dims[1] * local.operands[2].dims[1] if counted is None else counted

    def matrices(self, local: Local) -> list[tuple[Expr, Expr, Expr] | None]:
        """The latent is contracted; the other dimensions are columns."""
        return [(ONE, type.dims[0], type.dims[1] * type.dims[2]) for type in self.weight_types(local)]

    def workspace(self, local: Local) -> Iterable[Expr]:
        yield self.scratch(local)

    def scratch(self, local: Local) -> Expr:
        query, _, latent, _ = local.operands
        b, q, h, n = query.dims
        values: TensorType = local.results[0]
        held = 2 * b * q * h * latent.dims[2] if self.form(local.settings) == "absorbed" else b * latent.dims[1] * h * (n + values.dims[3])
        return (b * h * q * latent.dims[1] + held) * query.element_bytes
