"""Normalisations over the feature axes."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from bpir.dialects.bp import TensorType
from bpir.dialects.model.rules.factors import Equation, equation
from bpir.dialects.model.rules.local import Local
from bpir.dialects.model.rules.operation import Elementwise, Expression, model_syntax
from bpir.dialects.model.rules.reads import operand
from bpir.dialects.model.rules.sizes import TOKEN_RANK, features
from bpir.ir.declaration import Problems
from bpir.ir.expressions.expression import ZERO, Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Flag
from bpir.ir.syntax import Clause


class Normalization(Elementwise):
    """A normalisation needs its feature axes whole, or, `over d`, the last one; its factors are per element of the operand."""

    over = Expression()
    per_head = Flag()
    per_element: ClassVar[int]
    gradient_per_element: ClassVar[int]
    weight_gradient_per_element: ClassVar[int]
    vectors: ClassVar[int]  # gamma, and beta where it has one
    needs_whole = "H*"
    gradient_reads = (operand(0),)
    weight_gradient_reads = (operand(0),)
    capabilities = ("normalization",)

    def kept(self, settings: Collection[str]) -> int:
        """The number of its weight vectors."""
        return self.vectors

    def equation(self, settings: frozenset[str]) -> Equation:
        operand, weight, whole = ("b s F* N", "N", "N") if "over" in settings else ("b s H*", "H*", "H*")
        weights = ", ".join(["F* N" if "per_head" in settings else weight] * self.kept(settings))
        return equation(f"{operand}; {weights} -> {operand}", whole)

    def verify(self, operation: Operation, report: Problems) -> None:
        type, norm = operation.operands[0].type, Normalization(operation)
        if "over" in operation.properties and isinstance(type, TensorType) and type.dims[-1] is not norm.over:
            report.error(operation, f"'{self.name}' is over the last dimension, which is {type.dims[-1].text}, not {norm.over.text}")
        if norm.per_head and "over" not in operation.properties:
            report.error(operation, f"'{self.name}' has weights for each head only where it is over the head size: 'over d per_head'")

    def overwritable(self, operand: object) -> tuple[int, ...]:
        """The queries or keys that a norm over the head size reads; not the residual stream, which others read, too."""
        return (0,) if isinstance(operand, TensorType) and len(operand.dims) > TOKEN_RANK + 1 else ()

    def operations(self, local: Local) -> Expr:
        return self.per_element * local.operands[0].elements

    def gradient_operations(self, local: Local) -> Expr:
        return self.gradient_per_element * local.operands[0].elements

    def weight_gradient_operations(self, local: Local) -> Expr:
        return self.weight_gradient_per_element * local.operands[0].elements

    def gradient_weights(self, local: Local) -> Expr:
        shared = local.says("over") and not local.says("per_head")
        return local.operands[0].dims[-1] if shared else features(local.operands[0])


class LayerNorm(Normalization):
    r"""`model.layer_norm "attention.layer_norm" %x`: a normalisation with the weights gamma and beta; `over d` over the last dimension.

    `over d per_head` has weights for each head, `no_beta` has gamma alone, `no_weights` neither.

    9 operations an element: mean (1), difference (1), square and sum (2), scale (1), square root and reciprocal shared, times gamma
    (1), plus beta (1), and the two passes of the statistics (2). dX reads X, dY and gamma, not beta; dgamma and dbeta read X and dY.

    Equations (`n` elements of the local operand, `H` its features, `over H` the last dimension, `e` bytes an element):

    - E1: $\mathrm{ops} = 9n$, $\mathrm{ops} = 8n$ with `no_beta`, $\mathrm{ops} = 7n$ with `no_weights`
    - E2: $w = 2H$, $w = H$ with `no_beta`, $w = 0$ with `no_weights`
    - E3: $\mathrm{read} = (n + 2H)e$, $\mathrm{write} = ne$
    - E4: $\mathrm{ops}_{dX} = 14n$, $\mathrm{read}_{dX} = (2n + H)e$, $\mathrm{write}_{dX} = ne$
    - E5: $\mathrm{ops}_{dW} = 7n$, $\mathrm{read}_{dW} = 2ne$, $\mathrm{write}_{dW} = 2He$
    - E6: $\mathrm{read} = (n + H)e$ with `no_beta`, $\mathrm{ops}_{dW} = 6n$ with `no_beta`, $\mathrm{write}_{dW} = He$ with `no_beta`
    - E7: $\mathrm{read} = ne$ with `no_weights`, $\mathrm{ops}_{dX} = 13n$ with `no_weights`, $\mathrm{read}_{dX} = 2ne$ with `no_weights`

    Source: the factors of Calculon's LayerNorm (Isaev et al. 2023); Ba et al. 2016; Xu et al. 2019 (without weights).
    """

    name = "model.layer_norm"
    no_beta = Flag()
    no_weights = Flag()
    syntax = model_syntax(Clause("over", (Normalization.over,), line=False), Normalization.per_head, no_beta, no_weights)
    per_element = 9
    gradient_per_element = 14
    weight_gradient_per_element = 7
    vectors = 2
    tensors = "b s H*; H*, H* -> b s H*"

    def kept(self, settings: Collection[str]) -> int:
        return 0 if "no_weights" in settings else 1 if "no_beta" in settings else 2

    def operations(self, local: Local) -> Expr:
        left_out = 2 if local.says("no_weights") else 1 if local.says("no_beta") else 0
        return (self.per_element - left_out) * local.operands[0].elements

    def gradient_operations(self, local: Local) -> Expr:
        return (self.gradient_per_element - local.says("no_weights")) * local.operands[0].elements

    def weight_gradient_operations(self, local: Local) -> Expr:
        return (self.weight_gradient_per_element - local.says("no_beta")) * local.operands[0].elements

    def gradient_weights(self, local: Local) -> Expr:
        return ZERO if local.says("no_weights") else super().gradient_weights(local)


class RmsNorm(Normalization):
    r"""`model.rms_norm "attention.norm" %x`: a normalisation with the weight gamma; `over d` over the head size, as of queries and keys.

    `over d per_head` has a gamma for each head.

    4 operations an element: square and sum (2), scale (1), times gamma (1).

    Equations (`n` elements of the local operand, `H` its features, `over H` the last dimension, `e` bytes an element):

    - E1: $\mathrm{ops} = 4n$
    - E2: $w = H$
    - E3: $\mathrm{read} = (n + H)e$, $\mathrm{write} = ne$
    - E4: $\mathrm{ops}_{dX} = 8n$, $\mathrm{read}_{dX} = (2n + H)e$, $\mathrm{write}_{dX} = ne$
    - E5: $\mathrm{ops}_{dW} = 3n$, $\mathrm{read}_{dW} = 2ne$, $\mathrm{write}_{dW} = He$

    Source: Zhang and Sennrich 2019.
    """

    name = "model.rms_norm"
    syntax = model_syntax(Clause("over", (Normalization.over,), line=False), Normalization.per_head)
    per_element = 4
    gradient_per_element = 8
    weight_gradient_per_element = 3
    vectors = 1
    tensors = "b s H*; H* -> b s H*"
