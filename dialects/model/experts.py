"""Mixtures of experts: a router, the rows that it sends to experts, their products, and the sum that comes back.

The last dimension of the router's result, `k`, is where the rows of a token are: one for each expert that it is sent to.
"""

from __future__ import annotations

from typing import Any

from bpir.dialects.bp import TensorType, product, tensor
from bpir.dialects.model.elementwise import FACTORS
from bpir.dialects.model.linear import Shapes
from bpir.dialects.model.parts.router import ROUTER, SCORES, SIGMOID
from bpir.dialects.model.rules.factors import Equation, equation
from bpir.dialects.model.rules.local import Local, tensor_type
from bpir.dialects.model.rules.operation import STORED, Expression, ModelOperation, model_syntax
from bpir.dialects.model.rules.reads import operand
from bpir.dialects.model.rules.sizes import TOKEN_RANK, feature_dims, features, token_dims, tokens
from bpir.ir.attributes import StringAttr
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import ONE, Expr, minimum
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Flag, Word
from bpir.ir.relations.facts import Relation
from bpir.ir.syntax import Clause


class Router(ModelOperation):
    r"""`%route = model.router "moe.router" %m top k of E scores sigmoid`: the `k` experts of each token, of `E`, and their weights in f32.

    A product with a weight gives a score for each expert, softmax (or the sigmoid of each) makes weights of them; the largest `k` are
    chosen, and divided by their sum. Training has both parts as tasks, and keeps the scores.

    Equations (`m` tokens, `H` features, `e` bytes an element):

    - E1: $\mathrm{ops} = 2mHE + 5mE + mE + 2mk$, $\mathrm{ops} = 2mHE + 4mE + mE + 2mk$ with sigmoid
    - E2: $w = HE$, $w = HE + E$ with a bias
    - E3: $\mathrm{read} = (mH + HE)e$, $\mathrm{write} = 4mk$

    Source: Shazeer et al. 2017, section 2.1 (softmax and the largest `k`, a comparison a score); DeepSeek-AI 2024, equations 13 to 15
    (sigmoid).
    """

    name = "model.router"
    bias = Flag()
    top = Expression()
    experts = Expression()
    scores = Word(choices=("sigmoid", "softmax"))
    syntax = model_syntax(
        bias,
        Clause("top", (top,), optional=False, line=False),
        Clause("of", (experts,), optional=False, line=False),
        Clause("scores", (scores,), line=False),
    )
    tensors = "b s H; H E -> b s k"
    needs_whole = "H E k"
    own_sizes = (("E", "experts"),)
    capabilities = ("matrix_multiply",)
    composite = ROUTER

    def infer(self, operation: Operation) -> list[Any]:
        type = tensor_type(operation, operation.operands[0])
        return [tensor((*token_dims(type), Router(operation).top), SCORES)]

    def requires(self, operation: Operation) -> list[Relation]:
        """No more experts are chosen than there are."""
        router = Router(operation)
        return [Relation("greater", router.experts + ONE, router.top)]

    def equation(self, settings: frozenset[str]) -> Equation:
        return equation("b s H; H E, E -> b s k", self.needs_whole) if "bias" in settings else super().equation(settings)

    def matmul_operations(self, local: Local) -> Expr:
        return 2 * tokens(local.operands[0]) * features(local.operands[0]) * Router.experts.value(local.setting("experts"))

    def operations(self, local: Local) -> Expr:
        m, experts = tokens(local.operands[0]), Router.experts.value(local.setting("experts"))
        sigmoid = local.setting("scores") is StringAttr("sigmoid")
        scored = (SIGMOID if sigmoid else FACTORS["softmax"].forward) + (local.says("bias"))
        return self.matmul_operations(local) + (scored + 1) * m * experts + 2 * local.results[0].elements


class Dispatch(ModelOperation):
    r"""`%rows = model.dispatch "moe.dispatch" %m, %route`: the rows that go to experts, `k` for each token.

    The gradient of a token is the sum of those of its rows; where they go has none.

    Equations (`m` tokens, `H` features, `k` rows a token, `e` bytes an element):

    - E1: $\mathrm{ops} = 0$, $\mathrm{ops}_{dX} = mkH - mH$
    - E2: $\mathrm{read} = mHe + 4mk$, $\mathrm{write} = mkHe$
    - E3: $\mathrm{read}_{dX} = mkHe$, $\mathrm{write}_{dX} = mHe$

    Source: Lepikhin et al. 2020, section 2.2.
    """

    name = "model.dispatch"
    syntax = model_syntax(operands=2)
    tensors = "b s H, b s k -> b s k H"
    needs_whole = "H k"
    capabilities = ("elementwise",)
    constants = (1,)

    def infer(self, operation: Operation) -> list[Any]:
        type, route = _of_one_token(operation)
        return [tensor((*token_dims(type), *feature_dims(route), *feature_dims(type)), type.element)]

    def gradient_operations(self, local: Local) -> Expr:
        return local.results[0].elements - local.operands[0].elements


class Experts(ModelOperation):
    r"""`%a = model.experts "moe.gate" %rows of E : [F]`: the product of each row with the weight of its expert.

    Its matrix products are those of the rows, whichever experts they go to. It reads the weights of distinct experts: at most one a row,
    and no more than there are. `stored mxfp4` says in which format they are kept.

    Equations (`r` rows, `n` contracted and `p` produced elements of a row, `e` bytes an element):

    - E1: $\mathrm{ops} = 2rnp$, $\mathrm{ops} = 2rnp + rp$ with a bias, $\mathrm{ops}_{dX} = 2rnp$
    - E2: $w = Enp$, $w = Enp + Ep$ with a bias
    - E3: $\mathrm{read} = (rn + \min(r, E)np)e$, $\mathrm{write} = rpe$
    - E4: $\mathrm{read}_{dX} = (rp + \min(r, E)np)e$, $\mathrm{write}_{dX} = rne$
    - E5: $\mathrm{ops}_{dW} = 2rnp$, $\mathrm{ops}_{dW} = 2rnp + rp$ with a bias
    - E6: $\mathrm{read}_{dW} = (rp + rn)e$, $\mathrm{write}_{dW} = Enpe$, $\mathrm{write}_{dW} = (Enp + Ep)e$ with a bias

    Source: Shazeer et al. 2017, equation 1; Fedus et al. 2022, section 2.1.
    """

    name = "model.experts"
    bias = Flag()
    experts = Expression()
    features = Shapes()
    syntax = model_syntax(
        bias,
        Clause("of", (experts,), optional=False, line=False),
        STORED,
        Clause(":", (features,), optional=False, line=False),
    )
    tensors = "b s E K*; E K* N* -> b s E N*"
    own_sizes = (("E", "experts"),)
    expert_factor = "E"
    capabilities = ("matrix_multiply",)
    weight_gradient_reads = (operand(0),)

    def infer(self, operation: Operation) -> list[Any]:
        type = tensor_type(operation, operation.operands[0])
        if len(type.dims) < TOKEN_RANK + 2:
            raise fail(f"'{self.name}' expects batch x tokens x rows x features, found {type.text}", operation.span)
        shapes = Experts(operation).features
        if len(shapes) != 1:
            raise fail(f"'{self.name}' has one result: state one shape", operation.span)
        return [tensor((*type.dims[: TOKEN_RANK + 1], *shapes[0]), type.element)]

    def equation(self, settings: frozenset[str]) -> Equation:
        return equation("b s E K*; E K* N*, E N* -> b s E N*") if "bias" in settings else super().equation(settings)

    def matmul_operations(self, local: Local) -> Expr:
        return 2 * local.operands[0].elements * product(local.results[0].dims[TOKEN_RANK + 1 :])

    def operations(self, local: Local) -> Expr:
        bias = local.says("bias")
        return self.matmul_operations(local) + (local.results[0].elements if bias else 0)

    def routed(self, local: Local) -> tuple[Expr, Expr, Expr, Expr] | None:
        (_, here, _), experts = local.own[0], Experts.experts.value(local.setting("experts"))
        rows = local.operands[0]
        return tokens(rows), rows.dims[TOKEN_RANK] * experts / here, experts, here

    def weights_read(self, local: Local) -> Expr:
        return self._distinct(local, self.weight_bytes(local))

    @staticmethod
    def _distinct(local: Local, weights: Expr) -> Expr:
        """What those experts have of the weights of all that rows go to: at most one a row, and no more than there are."""
        ((_, experts, _),) = local.own
        return weights / experts * minimum(product(local.operands[0].dims[: TOKEN_RANK + 1]), experts)

    def gradient_operations(self, local: Local) -> Expr:
        return self.matmul_operations(local)

    def gradient_matmul(self, local: Local) -> Expr:
        return self.matmul_operations(local)

    def gradient_weights(self, local: Local) -> Expr:
        return self.weight_types(local)[0].elements

    def gradient_weights_read(self, local: Local) -> Expr:
        return self._distinct(local, self.gradient_weights(local))

    def weight_gradient_operations(self, local: Local) -> Expr:
        return self.operations(local)

    def weight_gradient_matmul(self, local: Local) -> Expr:
        return self.matmul_operations(local)


class Combine(ModelOperation):
    r"""`%y = model.combine "moe.combine" %w, %route`: the sum of a token's rows, each times its weight.

    It is linear in the rows: of partial sums it makes a partial sum. The gradient of a row is dY times its weight, that of a weight the
    product of its row and dY: of a part of the row it is a part.

    Equations (`m` tokens, `H` features, `k` rows a token, `e` bytes an element):

    - E1: $\mathrm{ops} = 2mkH - mH$, $\mathrm{ops}_{dX} = 3mkH - mk$
    - E2: $\mathrm{read} = mkHe + 4mk$, $\mathrm{write} = mHe$
    - E3: $\mathrm{read}_{dX} = mHe + mkHe + 4mk$, $\mathrm{write}_{dX} = mkHe + 4mk$

    Source: Shazeer et al. 2017, equation 1: `k` products and `k - 1` sums an element.
    """

    name = "model.combine"
    syntax = model_syntax(operands=2)
    tensors = "b s k H*, b s k -> b s H*"
    needs_whole = "k"
    passes_sums = True
    factors_of_sums = (1,)
    capabilities = ("elementwise",)
    gradient_reads = (operand(0), operand(1))

    def infer(self, operation: Operation) -> list[Any]:
        rows, route = _of_one_token(operation)
        if rows.dims[: len(route.dims)] != route.dims or len(rows.dims) <= len(route.dims):
            raise fail(f"'{self.name}' expects the rows that the router sent: {rows.text} is not {route.text} x features", operation.span)
        return [tensor((*token_dims(rows), *rows.dims[len(route.dims) :]), rows.element)]

    def operations(self, local: Local) -> Expr:
        return 2 * local.operands[0].elements - local.results[0].elements

    def gradient_operations(self, local: Local) -> Expr:
        return 3 * local.operands[0].elements - local.operands[1].elements


def _of_one_token(operation: Operation) -> tuple[TensorType, TensorType]:
    """The types of the two operands: a tensor, and the result of the router for the same tokens.

    Raises:
        DiagnosticError: they are not of the same tokens, or the second is no result of a router.
    """
    type, route = (tensor_type(operation, value) for value in operation.operands)
    if token_dims(type) != token_dims(route):
        raise fail(f"'{operation.name}' expects both operands of the same tokens: {type.text} and {route.text} differ", operation.span)
    if len(route.dims) != TOKEN_RANK + 1 or route.element is not SCORES:
        wanted = " x ".join(dim.text for dim in token_dims(type))
        raise fail(f"'{operation.name}' expects what 'model.router' gives ({wanted} x k, f32), found {route.text}", operation.span)
    return type, route
