"""Normalisations over the feature axes."""

from __future__ import annotations

from typing import ClassVar

from bpir.dialects.bp import TensorType
from bpir.dialects.model.base import Elementwise, Expression, Local, features, model_syntax
from bpir.dialects.model.factors import Equation, equation
from bpir.dialects.model.reads import operand
from bpir.ir.declaration import Report
from bpir.ir.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.syntax import Clause


class Normalization(Elementwise):
    """A normalisation needs its feature axes whole, or, `over d`, the last one; its factors are per element of the operand."""

    over = Expression()
    per_element: ClassVar[int]
    gradient_per_element: ClassVar[int]
    weight_gradient_per_element: ClassVar[int]
    needs_whole = "H*"
    gradient_reads = (operand(0),)
    weight_gradient_reads = (operand(0),)
    capabilities = ("normalization",)

    def equation(self, settings: frozenset[str]) -> Equation:
        if "over" in settings:
            return equation(self.tensors.replace("b s H*", "b s F* N").replace("H*", "N"), "N")
        return super().equation(settings)

    def verify(self, operation: Operation, report: Report) -> None:
        type, over = operation.operands[0].type, Normalization(operation).over
        if "over" in operation.properties and isinstance(type, TensorType) and type.dims[-1] is not over:
            report.error(operation, f"'{self.name}' is over the last dimension, which is {type.dims[-1].text}, not {over.text}")

    def operations(self, local: Local) -> Expr:
        return self.per_element * local.operands[0].elements

    def gradient_operations(self, local: Local) -> Expr:
        return self.gradient_per_element * local.operands[0].elements

    def weight_gradient_operations(self, local: Local) -> Expr:
        return self.weight_gradient_per_element * local.operands[0].elements

    def gradient_weights(self, local: Local) -> Expr:
        return local.operands[0].dims[-1] if local.says("over") else features(local.operands[0])


class LayerNorm(Normalization):
    r"""`model.layer_norm "attention.layer_norm" %x`: a normalisation with the weights gamma and beta; `over d` over the last dimension.

    9 operations an element: mean (1), difference (1), square and sum (2), scale (1), square root and reciprocal shared, times gamma
    (1), plus beta (1), and the two passes of the statistics (2). dX reads X, dY and gamma, not beta; dgamma and dbeta read X and dY.

    Equations (`n` elements of the local operand, `H` its features, `over H` the last dimension, `e` bytes an element):

    - E1: $\mathrm{ops} = 9n$
    - E2: $w = 2H$
    - E3: $\mathrm{read} = (n + 2H)e$, $\mathrm{write} = ne$
    - E4: $\mathrm{ops}_{dX} = 14n$, $\mathrm{read}_{dX} = (2n + H)e$, $\mathrm{write}_{dX} = ne$
    - E5: $\mathrm{ops}_{dW} = 7n$, $\mathrm{read}_{dW} = 2ne$, $\mathrm{write}_{dW} = 2He$

    Source: the factors of Calculon's LayerNorm (Isaev et al. 2023); Ba et al. 2016.
    """

    name = "model.layer_norm"
    syntax = model_syntax(Clause("over", (Normalization.over,), line=False))
    per_element = 9
    gradient_per_element = 14
    weight_gradient_per_element = 7
    tensors = "b s H*; H*, H* -> b s H*"


class RmsNorm(Normalization):
    r"""`model.rms_norm "attention.norm" %x`: a normalisation with the weight gamma; `over d` over the head size, as of queries and keys.

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
    syntax = model_syntax(Clause("over", (Normalization.over,), line=False))
    per_element = 4
    gradient_per_element = 8
    weight_gradient_per_element = 3
    tensors = "b s H*; H* -> b s H*"
