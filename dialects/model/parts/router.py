"""The two parts of a router, which training has as tasks: the scores of all experts, and the weights of those that are chosen."""

from __future__ import annotations

from typing import Any

from bpir.dialects.bp import tensor
from bpir.dialects.model.elementwise import FACTORS
from bpir.dialects.model.rules.composite import Composite, Step
from bpir.dialects.model.rules.factors import Equation, equation
from bpir.dialects.model.rules.local import Local, tensor_type
from bpir.dialects.model.rules.operation import Expression, ModelOperation, model_syntax
from bpir.dialects.model.rules.reads import operand, result
from bpir.dialects.model.rules.sizes import features, token_dims, tokens
from bpir.ir.attributes import FloatType, StringAttr
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Flag, Word
from bpir.ir.syntax import Clause

SIGMOID = 4
"""Operations an element: negate, exponential, sum, reciprocal."""
SCORES = FloatType("f32")
"""The element of scores, and of what is made of them."""

ROUTER = Composite(
    ("token",),
    (
        Step("scores", "router_scores", ("token",), keeps=("bias", "experts"), result="scores"),
        Step("choice", "router_choice", ("scores",), keeps=("top", "scores")),
    ),
)
"""Shazeer et al. 2017, section 2.1."""


class RouterScores(ModelOperation):
    r"""`%s = model.router_scores "moe.scores" %m of E`: the product of each token with a weight for each expert, in f32.

    Equations (`m` tokens, `H` features, `E` experts, `e` bytes an element):

    - E1: $\mathrm{ops} = 2mHE$, $\mathrm{ops} = 2mHE + mE$ with a bias, $\mathrm{ops}_{dX} = 2mHE$
    - E2: $\mathrm{ops}_{dW} = 2mHE$, $\mathrm{ops}_{dW} = 2mHE + mE$ with a bias
    - E3: $w = HE$, $w = HE + E$ with a bias
    - E4: $\mathrm{read} = (mH + HE)e$, $\mathrm{write} = 4mE$
    - E5: $\mathrm{read}_{dX} = 4mE + HEe$, $\mathrm{write}_{dX} = mHe$

    Source: Shazeer et al. 2017, section 2.1.
    """

    name = "model.router_scores"
    bias = Flag()
    experts = Expression()
    syntax = model_syntax(bias, Clause("of", (experts,), optional=False, line=False))
    tensors = "b s H; H E -> b s E"
    needs_whole = "H E"
    capabilities = ("matrix_multiply",)
    weight_gradient_reads = (operand(0),)

    def infer(self, operation: Operation) -> list[Any]:
        type = tensor_type(operation, operation.operands[0])
        return [tensor((*token_dims(type), RouterScores(operation).experts), SCORES)]

    def equation(self, settings: frozenset[str]) -> Equation:
        return equation("b s H; H E, E -> b s E", self.needs_whole) if "bias" in settings else super().equation(settings)

    def matmul_operations(self, local: Local) -> Expr:
        return 2 * tokens(local.operands[0]) * features(local.operands[0]) * features(local.results[0])

    def operations(self, local: Local) -> Expr:
        return self.matmul_operations(local) + (local.results[0].elements if local.says("bias") else 0)

    def gradient_operations(self, local: Local) -> Expr:
        return self.matmul_operations(local)

    def gradient_matmul(self, local: Local) -> Expr:
        return self.matmul_operations(local)

    def weight_gradient_operations(self, local: Local) -> Expr:
        return self.operations(local)

    def weight_gradient_matmul(self, local: Local) -> Expr:
        return self.matmul_operations(local)

    def gradient_weights(self, local: Local) -> Expr:
        return features(local.operands[0]) * features(local.results[0])


class RouterChoice(ModelOperation):
    r"""`%r = model.router_choice "moe.choice" %s top k scores sigmoid`: of all experts' weights the largest `k`, divided by their sum.

    Softmax of the scores (or the sigmoid of each) makes weights. Which experts are chosen changes with no small step, so only the scores of
    those that are have a gradient; the others' is 0.

    Equations (`m` tokens, `E` experts, `k` of them chosen):

    - E1: $\mathrm{ops} = 6mE + 2mk$, $\mathrm{ops} = 5mE + 2mk$ with sigmoid
    - E2: $\mathrm{read} = 4mE$, $\mathrm{write} = 4mk$
    - E3: $\mathrm{ops}_{dX} = 4mk - m$, $\mathrm{ops}_{dX} = 12mk - 2m$ with sigmoid
    - E4: $\mathrm{read}_{dX} = 4mE + 8mk$, $\mathrm{write}_{dX} = 4mE$

    Source: Shazeer et al. 2017, section 2.1; DeepSeek-AI 2024, equations 13 to 15 (sigmoid). Of our own, the gradient: weights of softmax
    that are divided by their sum are the softmax of the chosen scores, with the gradient of a softmax; with sigmoid that is divided by the
    sum, and multiplied by the slope of each sigmoid.
    """

    name = "model.router_choice"
    top = Expression()
    scores = Word(choices=("sigmoid", "softmax"))
    syntax = model_syntax(Clause("top", (top,), optional=False, line=False), Clause("scores", (scores,), line=False))
    tensors = "b s E -> b s k"
    needs_whole = "E k"
    capabilities = ("softmax",)
    gradient_reads = (operand(0), result(0))

    def infer(self, operation: Operation) -> list[Any]:
        type = tensor_type(operation, operation.operands[0])
        return [tensor((*token_dims(type), RouterChoice(operation).top), SCORES)]

    @staticmethod
    def scored(local: Local) -> int:
        """Operations an expert that make weights of scores."""
        return SIGMOID if local.setting("scores") is StringAttr("sigmoid") else FACTORS["softmax"].forward

    def operations(self, local: Local) -> Expr:
        return (self.scored(local) + 1) * local.operands[0].elements + 2 * local.results[0].elements

    def gradient_operations(self, local: Local) -> Expr:
        chosen, m = local.results[0].elements, tokens(local.results[0])
        return 12 * chosen - 2 * m if local.setting("scores") is StringAttr("sigmoid") else 4 * chosen - m
