"""The parts of latent attention, which training has as tasks: K and V of each head are linears of the latent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from bpir.dialects.bp import tensor
from bpir.dialects.model.attention import BatchMatmul
from bpir.dialects.model.rules.composite import Composite, Step
from bpir.dialects.model.rules.factors import Equation, equation
from bpir.dialects.model.rules.local import Local, tensor_type
from bpir.dialects.model.rules.operation import model_syntax
from bpir.dialects.model.rules.reads import Read, operand
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.relations.facts import Relation
from bpir.ir.syntax import Clause

LATENT_ATTENTION = Composite(
    ("query", "rotary_query", "latent", "rotary_key"),
    (
        Step("key_up", "linear", ("latent",), result="keys", features=("h", "n")),
        Step("value_up", "linear", ("latent",), result="values", features=("h", "v")),
        Step("query_key", "latent_scores", ("query", "rotary_query", "key_up", "rotary_key"), result="scores", scores=True),
        Step("softmax", "softmax", ("query_key",), result="probabilities", scores=True),
        Step("probability_value", "batch_matmul", ("softmax", "value_up"), scores=True),
    ),
)
"""DeepSeek-AI 2024 (2405.04434), equations 10 to 19."""


class LatentScores(BatchMatmul):
    r"""`%s = model.latent_scores "attention.query_key" %q, %qr, %k, %kr`: scores of two products: by heads, and with the one rotary key.

    `pairs p` counts so many of the scores of a sequence and head, where a mask leaves fewer. The rotary key has no heads: where these are
    shared its gradient is a part on each rank.

    Equations (`b` sequences, `q` query and `c` visible tokens, `h` local heads of `n` and `r` rotary elements, `e` bytes an element):

    - E1: $\mathrm{ops} = 2bqch(n + r)$, $\mathrm{ops} = 2bph(n + r)$ with `pairs p`, $\mathrm{ops}_{dX} = 4bqch(n + r)$
    - E2: $\mathrm{read} = (bqh(n + r) + bchn + bcr)e$, $\mathrm{write} = bhqce$
    - E3: $\mathrm{read}_{dX} = (bqh(n + r) + bchn + bcr + bhqc)e$, $\mathrm{write}_{dX} = (bqh(n + r) + bchn + bcr)e$

    Source: DeepSeek-AI 2024 (2405.04434), equation 17.
    """

    name = "model.latent_scores"
    rank = 0
    tensors = "b s h n, b s h r, b c h n, b c r -> b s h c"
    needs_whole = "n r c"
    syntax = model_syntax(Clause("pairs", (BatchMatmul.pairs,), line=False), operands=4)
    gradient_reads: ClassVar[tuple[Read, ...]] = (operand(0), operand(1), operand(2), operand(3))

    def equation(self, settings: frozenset[str]) -> Equation:
        return equation(self.tensors, self.needs_whole)

    def infer(self, operation: Operation) -> list[Any]:
        query, turned, keys, key = (tensor_type(operation, value) for value in operation.operands)
        ranks = tuple(len(type.dims) for type in (query, turned, keys, key))
        sizes = query.dims[:3] == turned.dims[:3] and keys.dims[:2] == key.dims[:2] and query.dims[2:] == keys.dims[2:]
        if ranks != (4, 4, 4, 3) or not sizes or turned.dims[3] is not key.dims[2]:
            shown = ", ".join(type.text for type in (query, turned, keys, key))
            raise fail(f"'{self.name}' does not fit its equation {self.tensors}: {shown}", operation.span)
        return [tensor((*query.dims[:3], keys.dims[1]), query.element)]

    def requires(self, operation: Operation) -> Iterable[Relation]:
        return ()

    def matmul_operations(self, local: Local) -> Expr:
        query, turned = local.operands[:2]
        pairs = local.expression("pairs")
        scores = local.results[0].elements if pairs is None else query.dims[0] * query.dims[2] * pairs
        return 2 * scores * (query.dims[3] + turned.dims[3])
