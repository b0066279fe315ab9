"""`model.attention` and the KV cache."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from bpir.dialects.bp import TensorType, product, tensor
from bpir.dialects.model.rules.composite import Composite, Step
from bpir.dialects.model.rules.factors import Equation, equation
from bpir.dialects.model.rules.local import Local, tensor_type
from bpir.dialects.model.rules.operation import Expression, ModelOperation, model_syntax
from bpir.dialects.model.rules.reads import Read, operand
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import ZERO, Expr, total
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Flag
from bpir.ir.relations.facts import Relation
from bpir.ir.syntax import Clause

HEAD_RANK = 4  # batch, tokens, heads, head size


def head_types(operation: Operation) -> list[TensorType]:
    """The types of the operands, each `batch x tokens x heads x head size`."""
    types = [tensor_type(operation, v) for v in operation.operands]
    for name, type in zip("QKV"[-len(types) :], types, strict=True):
        if len(type.dims) != HEAD_RANK:
            raise fail(
                f"'{operation.name}' expects {name} as batch x tokens x heads x head size, found {type.text}",
                operation.span,
            )
        if type.dims[0] is not types[0].dims[0] or type.element is not types[0].element:
            raise fail(
                f"'{operation.name}' expects one batch axis and one element: {types[0].text} and {type.text} differ",
                operation.span,
            )
    return types


def _cached_types(operation: Operation) -> list[TensorType]:
    """The types of what goes to a cache: K and V by heads, or a latent and a rotary key that all heads share."""
    types = [tensor_type(operation, v) for v in operation.operands]
    if len(types[0].dims) != HEAD_RANK - 1:
        return head_types(operation)
    if len(types[1].dims) != HEAD_RANK - 1:
        raise fail(f"'{operation.name}' expects both with heads, or none: {types[0].text} and {types[1].text}", operation.span)
    return types


def _shared_heads(operation: Operation) -> Iterable[Relation]:
    """Each head of the second operand serves as many heads of the first as all others do (Ainslie et al. 2023: grouped queries)."""
    first, second = head_types(operation)[:2]
    if first.dims[2] is not second.dims[2]:
        yield Relation("divides", second.dims[2], first.dims[2])


ATTENTION = Composite(
    ("query", "key", "value"),
    (
        Step("query_key", "batch_matmul", ("query", "key"), flags=("transposed",), result="scores", scores=True),
        Step("softcap", "softcap", ("query_key",), result="capped", only_with="softcap", scores=True),
        Step("softmax", "softmax", ("softcap",), keeps=("sinks",), result="probabilities", scores=True),
        Step("probability_dropout", "dropout", ("softmax",), result="dropped", only_with="dropout"),
        Step("probability_value", "batch_matmul", ("probability_dropout", "value"), scores=True),
    ),
)
"""Vaswani et al. 2017, equation 1."""


class Cached(ModelOperation):
    """An attention to the tokens of its last two operands, which inference appends to a cache (unless they are another input's)."""


class Attention(Cached):
    r"""`%o = model.attention "attention.core" %q, %k, %v context c`: scores, softmax, and the product with V, as one operation.

    K and V may have fewer heads than Q, each of which serves as many heads of Q (`g | h`). `context` names the visible KV tokens where K
    and V still hold the new ones only; without it every token of K is visible.
    With `window W` each token sees the last `W` only, itself included: the cache holds `min(c, W)` tokens, and decode sees these; prefill
    computes over all. `softcap` bounds the scores; `sinks` give each head a learned score that takes part in the softmax, and no value.
    Of the scores of new tokens those count that the workload's `causal` says: all (`dense`), half, or what a causal mask leaves (`exact`).
    Traffic is Q, K, V and the result only (the boundary of FlashAttention); unfused, Q, K and V together, and the scores, are workspace.

    Equations (`b` sequences, `q` query and `c` visible tokens, `n` of their `qc` pairs counted, `h` local heads of size `d`, `g` local KV
    heads, `e` bytes an element):

    - E1: $\mathrm{ops} = 4bnhd + 5bhn$, $\mathrm{ops} = 4bnhd + 8bhn$ with `softcap`, $\mathrm{ops} = 4bnhd + 5bhn + 5bhq$ with `sinks`
    - E2: $\mathrm{matmul} = 4bnhd$
    - E3: $\mathrm{read} = (bqhd + 2bcgd)e$, $\mathrm{write} = bqhde$
    - E4: $\mathrm{workspace} = e\max(bqhd + 2bqgd, bhqc)$

    Source: Vaswani et al. 2017, equation 1; Ainslie et al. 2023; Dao et al. 2022; Beltagy et al. 2020 (windows); Gemma Team 2024 (caps);
    Xiao et al. 2023 (sinks).
    """

    name = "model.attention"
    rank = HEAD_RANK
    tensors = "b s h d, b c h d, b c h v -> b s h v"
    needs_whole = "c d v"
    composite = ATTENTION
    window = Expression()
    softcap = Flag()
    sinks = Flag()
    dropout = Flag()
    syntax = model_syntax(
        Clause("context", (ModelOperation.context,), line=False),
        Clause("window", (window,), line=False),
        softcap,
        sinks,
        dropout,
        operands=3,
    )
    capabilities = ("matrix_multiply", "softmax")
    alternatives = ("unfused", "fused_attention", "paged_attention")
    in_place = (0,)

    def equation(self, settings: frozenset[str]) -> Equation:
        weighted = "b s h d, b c h d, b c h v; h -> b s h v"
        return equation(weighted, self.needs_whole) if "sinks" in settings else super().equation(settings)

    def infer(self, operation: Operation) -> list[Any]:
        query, key, value = head_types(operation)
        if key.dims[1] is not value.dims[1] or key.dims[2] is not value.dims[2]:
            raise fail(f"K and V differ in tokens or heads: {key.text} and {value.text}", operation.span)
        if query.dims[3] is not key.dims[3]:
            raise fail(f"Q and K differ in head size: {query.dims[3].text} and {key.dims[3].text}", operation.span)
        return [tensor((*query.dims[:3], value.dims[3]), query.element)]

    def requires(self, operation: Operation) -> Iterable[Relation]:
        return _shared_heads(operation)

    def matmul_operations(self, local: Local) -> Expr:
        _, key, value = local.operands
        return 2 * self._counted(local) * (key.dims[3] + value.dims[3])

    def operations(self, local: Local) -> Expr:
        softmax = 5 * self._counted(local) + (5 * product(local.operands[0].dims[:3]) if local.says("sinks") else ZERO)
        return self.matmul_operations(local) + softmax + (3 * self._counted(local) if local.says("softcap") else ZERO)

    def _counted(self, local: Local) -> Expr:
        """The scores that count: batch x heads x pairs of a query and a key."""
        pairs, query = local.expression("pairs"), local.operands[0]
        return self._scores(local) if pairs is None else query.dims[0] * query.dims[2] * pairs

    @staticmethod
    def _scores(local: Local) -> Expr:
        """The elements of the scores: batch x heads x query tokens x visible tokens."""
        query, key, _ = local.operands
        return product(query.dims[:3]) * key.dims[1]

    def workspace(self, local: Local) -> Iterable[Expr]:
        query, key, value = local.operands
        new = tuple(tensor((query.dims[0], query.dims[1], *t.dims[2:]), t.element) for t in (key, value))
        yield total(t.bytes for t in (query, *new))
        yield self.scratch(local)

    def scratch(self, local: Local) -> Expr:
        return self._scores(local) * local.operands[0].element_bytes


class KvAppend(ModelOperation):
    r"""`%K, %V = model.kv_append "attention.kv_append" %k, %v context c`: the new K and V go to the cache; all visible ones come out.

    The cache is a state: a write of it is an effect. Training sees no cache, there the new tokens are all tokens. A latent and a rotary
    key (`model.latent_attention`) are cached so, too: they have no heads.

    Equations (`b` sequences, `q` new tokens, `h` local KV heads of size `d`, `e` bytes an element):

    - E1: $\mathrm{ops} = 0$
    - E2: $\mathrm{read} = 2bqhde$, $\mathrm{write} = 2bqhde$

    Source: Pope et al. 2022, section 3.3.
    """

    name = "model.kv_append"
    tensors = "b s h* d, b s h* v -> b c h* d, b c h* v"
    needs_whole = "s c d v"
    syntax = model_syntax(Clause("context", (ModelOperation.context,), line=False), operands=2)
    capabilities = ("kv_cache",)
    effect = True

    def infer(self, operation: Operation) -> list[Any]:
        key, value = _cached_types(operation)
        context = KvAppend(operation).context
        if context is ZERO:
            return [key, value]
        return [tensor((t.dims[0], context, *t.dims[2:]), t.element) for t in (key, value)]

    def operands_read(self, local: Local) -> tuple[TensorType, ...]:
        return local.operands[:2]

    def results_written(self, local: Local) -> tuple[TensorType, ...]:
        return local.operands[:2]


class BatchMatmul(ModelOperation):
    r"""`%s = model.batch_matmul "attention.query_key" %q, %k transposed`: one matrix product for each sequence and head.

    `batch x m x heads x k` times `batch x k x heads x n` gives `batch x m x heads x n`; `transposed`, the second is `batch x n x
    heads x k`. The second may have fewer heads, each of which serves as many of the first. `pairs p` counts so many of the elements of a
    sequence and head that are scores, where a mask leaves fewer. The gradient reads A, B and dC, and writes dA and dB.

    Equations (`b` sequences times local heads, matrices `m x k` and `k x n`, `e` bytes an element):

    - E1: $\mathrm{ops} = 2bmnk$, $\mathrm{ops} = 2bpk$ with `transposed pairs p`
    - E2: $\mathrm{read} = b(mk + kn)e$, $\mathrm{write} = bmne$
    - E3: $\mathrm{ops}_{dX} = 4bmnk$, $\mathrm{read}_{dX} = b(mk + kn + mn)e$, $\mathrm{write}_{dX} = b(mk + kn)e$

    Source: Vaswani et al. 2017, equation 1; Narayanan et al. 2021, appendix.
    """

    name = "model.batch_matmul"
    rank = HEAD_RANK
    tensors = "b m h k, b k h n -> b m h n"
    needs_whole = "k n"
    pairs = Expression()
    transposed = Flag()
    syntax = model_syntax(transposed, Clause("pairs", (pairs,), line=False), operands=2)
    capabilities = ("matrix_multiply",)
    gradient_reads: ClassVar[tuple[Read, ...]] = (operand(0), operand(1))

    def equation(self, settings: frozenset[str]) -> Equation:
        transposed = "b m h k, b n h k -> b m h n"
        return equation(transposed, self.needs_whole) if "transposed" in settings else super().equation(settings)

    def infer(self, operation: Operation) -> list[Any]:
        left, right = head_types(operation)
        inner, outer = (right.dims[3], right.dims[1]) if BatchMatmul(operation).transposed else (right.dims[1], right.dims[3])
        if left.dims[3] is not inner:
            raise fail(f"'{self.name}' contracts {left.dims[3].text} with {inner.text}: they differ", operation.span)
        return [tensor((*left.dims[:3], outer), left.element)]

    def requires(self, operation: Operation) -> Iterable[Relation]:
        return _shared_heads(operation)

    def matmul_operations(self, local: Local) -> Expr:
        left, pairs = local.operands[0], local.expression("pairs")
        size = left.dims[3] if local.says("transposed") else local.results[0].dims[3]
        return 2 * (left.elements * local.results[0].dims[3] if pairs is None else left.dims[0] * left.dims[2] * pairs * size)

    def operations(self, local: Local) -> Expr:
        return self.matmul_operations(local)

    def gradient_operations(self, local: Local) -> Expr:
        return 2 * self.matmul_operations(local)

    def gradient_matmul(self, local: Local) -> Expr:
        return self.gradient_operations(local)

    def workspace(self, local: Local) -> Iterable[Expr]:
        yield local.results[0].bytes
