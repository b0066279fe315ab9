"""`model.linear`: a matrix product with a weight, with one or several results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bpir.dialects.bp import ExprAttr, TensorType, shape_text, tensor
from bpir.dialects.model.rules.factors import Equation, equation
from bpir.dialects.model.rules.local import Local, tensor_type
from bpir.dialects.model.rules.operation import STORED, ModelOperation, model_syntax
from bpir.dialects.model.rules.reads import operand
from bpir.dialects.model.rules.sizes import feature_dims, features, token_dims, tokens
from bpir.ir.attributes import ArrayAttr, Attribute, Type
from bpir.ir.declaration import Fragment, Piece, Problems
from bpir.ir.expressions.expression import ZERO, Expr, total
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Flag, Property, Text
from bpir.ir.syntax import Clause


class Shapes(Property[list[tuple[Expr, ...]]]):
    """`[h x d], [F]`: an array of shapes."""

    def value(self, attribute: Attribute | None) -> list[tuple[Expr, ...]]:
        return shapes_of(attribute)

    def fragment(self, rule: str) -> Fragment:
        return Fragment(
            f'{rule}: raw_square ("," raw_square)* -> {rule}_is\n',
            {rule + "_is": lambda c, v, s: ArrayAttr(tuple(shape_attribute(c.body("bp_shape_body", raw)) for raw in v))},
        )

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        yield ", ".join(f"[{shape_text(shape)}]" for shape in shapes_of(attribute))

    def expected(self, attribute: Attribute) -> str:
        shapes = attribute.values if isinstance(attribute, ArrayAttr) else ()
        good = all(isinstance(s, ArrayAttr) and s.values and all(isinstance(d, ExprAttr) for d in s.values) for s in shapes)
        return "" if shapes and good else "an array of shapes, each an array of #bp.expr<...>"


def shape_attribute(dims: Iterable[Expr]) -> ArrayAttr:
    return ArrayAttr(tuple(ExprAttr(dim) for dim in dims))


def shapes_of(attribute: Attribute | None) -> list[tuple[Expr, ...]]:
    if not isinstance(attribute, ArrayAttr):
        return []
    return [
        tuple(dim.expr for dim in shape.values if isinstance(dim, ExprAttr)) for shape in attribute.values if isinstance(shape, ArrayAttr)
    ]


class Linear(ModelOperation):
    r"""`%q, %k = model.linear "attention.qk" %x bias : [h x d], [g x d]`: one weight (and bias) for each result.

    `-> !bp.tensor<B x S x V, f32>` gives one result another element than the operand's, as logits have.
    `stored fp8_block` says in which format the weight of a quantised checkpoint is kept and read, scales included; a bias is not quantised.
    `tied "embedding.tokens"` says that its weight is the table of that layer: one tensor, of which both are readers (Press and Wolf 2017).
    Keeps the batch and token axes of its operand and contracts the rest. dX = dY W^T and dW = X^T dY; the bias's gradient is a sum over
    tokens. dX reads W and dY, dW reads X and dY.

    Equations (`m` tokens, `n` contracted and `k` produced elements of the local tensors, `e` bytes an element):

    - E1: $\mathrm{ops} = 2mnk$, $\mathrm{ops} = 2mnk + mk$ with a bias
    - E2: $w = nk$, $w = nk + k$ with a bias
    - E3: $\mathrm{read} = (mn + nk)e$, $\mathrm{write} = mke$
    - E4: $\mathrm{ops}_{dX} = 2mnk$, $\mathrm{read}_{dX} = (nk + mk)e$, $\mathrm{write}_{dX} = mne$
    - E5: $\mathrm{ops}_{dW} = 2mnk$, $\mathrm{read}_{dW} = (mn + mk)e$, $\mathrm{write}_{dW} = nke$
    - E6: $\mathrm{ops}_{dW} = 2mnk + mk$ with a bias, $\mathrm{write}_{dW} = (nk + k)e$ with a bias

    Source: Shoeybi et al. 2019, section 3; a multiply-add is 2 operations (Narayanan et al. 2021, appendix).
    """

    name = "model.linear"
    features = Shapes()
    bias = Flag()
    tied = Text()
    syntax = model_syntax(bias, Clause("tied", (tied,), line=False), STORED, Clause(":", (features,), optional=False, line=False))
    per_result = "features"
    capabilities = ("matrix_multiply",)
    tensors = "b s K*; K* N* -> b s N*"
    weight_gradient_reads = (operand(0),)

    def infer(self, operation: Operation) -> list[Any]:
        type = tensor_type(operation, operation.operands[0])
        element = self._element(operation, type)
        return [tensor((*token_dims(type), *shape), element) for shape in Linear(operation).features]

    @staticmethod
    def _element(operation: Operation, operand: TensorType) -> Expr | Type:
        """The element of what it gives: that of its operand, unless the text gives one result another."""
        written = operation.results[0].type if len(operation.results) == 1 else None
        return written.element if isinstance(written, TensorType) and not written.is_index else operand.element

    def states_types(self, operation: Operation) -> bool:
        operand = operation.operands[0].type
        return isinstance(operand, TensorType) and self._element(operation, operand) is not operand.element

    def verify(self, operation: Operation, report: Problems) -> None:
        if "tied" in operation.properties and (len(operation.results) != 1 or "bias" in operation.properties):
            report.error(operation, "a tied 'model.linear' has one result and no bias: its weight is the table of another layer")
        elif "tied" in operation.properties and "stored" in operation.properties:
            report.error(operation, "a tied 'model.linear' stores nothing: its weight is the table of another layer")

    def tied_shape(self, operation: Operation) -> tuple[Expr, ...] | None:
        if "tied" not in operation.properties:
            return None
        operand, result = operation.operands[0].type, operation.results[0].type
        assert isinstance(operand, TensorType) and isinstance(result, TensorType)
        return (*feature_dims(result), *feature_dims(operand))

    def equation(self, settings: frozenset[str]) -> Equation:
        if "tied" in settings:  # the table of another layer, whose rows are what is produced
            return equation("b s K*; N* K* -> b s N*")
        return equation("b s K*; K* N*, N* -> b s N*") if "bias" in settings else super().equation(settings)

    def matmul_operations(self, local: Local) -> Expr:
        produced = total(features(result) for result in local.results)
        return 2 * tokens(local.operands[0]) * features(local.operands[0]) * produced

    def gradient_operations(self, local: Local) -> Expr:
        return self.matmul_operations(local)

    def weight_gradient_operations(self, local: Local) -> Expr:
        return self.operations(local)

    def gradient_matmul(self, local: Local) -> Expr:
        return self.matmul_operations(local)

    def weight_gradient_matmul(self, local: Local) -> Expr:
        return self.matmul_operations(local)

    def gradient_weights(self, local: Local) -> Expr:
        return features(local.operands[0]) * total(features(result) for result in local.results)

    def operations(self, local: Local) -> Expr:
        bias = total(result.elements for result in local.results) if local.says("bias") else ZERO
        return self.matmul_operations(local) + bias
