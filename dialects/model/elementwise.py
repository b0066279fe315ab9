"""Operations element by element. Their factors stand in one table, so that a user can change one."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from bpir.dialects.model.base import Elementwise, Local, model_syntax, tensor_type
from bpir.ir.expression import Expr
from bpir.ir.operation import Operation


@attrs.frozen
class Factor:
    """Operations an element, in forward and in the gradient."""

    forward: int
    gradient: int


FACTORS = {
    "gelu": Factor(8, 13),  # tanh form: 3 products, 2 sums, a hyperbolic tangent, 2 products (Hendrycks and Gimpel 2016; Calculon)
    "silu": Factor(5, 8),  # negate, exponential, sum, reciprocal, product (Elfwing et al. 2018)
    "relu": Factor(1, 1),  # a comparison with zero; its gradient selects by the same comparison
    "dropout": Factor(1, 1),  # product with a scaled mask (Srivastava et al. 2014)
    "add": Factor(1, 0),  # the gradient is a copy
    "mul": Factor(1, 2),  # dA = dY B, dB = dY A
    "softmax": Factor(5, 8),  # maximum, difference, exponential, sum, quotient (Milakov and Gimelshein 2018; Calculon)
}


class Counted(Elementwise):
    """`n` elements cost the table's factor each. Traffic: read each operand, write the result; the gradient reads dY too."""

    capabilities = ("elementwise",)

    @property
    def factor(self) -> Factor:
        return FACTORS[self.name.partition(".")[2]]

    def operations(self, local: Local) -> Expr:
        return self.factor.forward * local.operands[0].elements

    def gradient_operations(self, local: Local) -> Expr:
        return self.factor.gradient * local.operands[0].elements


class Activation(Counted):
    """An activation function: its gradient reads X."""

    fusible = True
    gradient_reads = ("operand 0",)


class Gelu(Activation):
    """`model.gelu "mlp.gelu" %x`: operations `8n`, gradient `13n`."""

    name = "model.gelu"
    syntax = model_syntax()


class Silu(Activation):
    """`model.silu "mlp.silu" %x`: operations `5n`, gradient `8n`."""

    name = "model.silu"
    syntax = model_syntax()


class Relu(Activation):
    """`model.relu "mlp.relu" %x`: operations `n` (the activation of OPT, Zhang et al. 2022)."""

    name = "model.relu"
    syntax = model_syntax()


class Dropout(Counted):
    """`model.dropout "attention.output_dropout" %x`: operations `n` in training; inference erases it.

    Forward writes a mask of one byte an element beside the result; the gradient, `n`, reads dY and the mask.
    """

    name = "model.dropout"
    syntax = model_syntax()
    training_only = True
    masked = True
    gradient_reads = ("mask",)


class Add(Counted):
    """`model.add "attention.residual" %y, %x`: operations `n`; the result is the residual stream, a boundary value."""

    name = "model.add"
    syntax = model_syntax(operands=2)
    arity = 2
    residual = True


class Mul(Counted):
    """`model.mul "mlp.multiply" %g, %u`: operations `n` (the product of a gated MLP, Shazeer 2020); gradient `2n`, reads A, B, dY."""

    name = "model.mul"
    syntax = model_syntax(operands=2)
    arity = 2
    gradient_reads = ("operand 0", "operand 1")


class Softmax(Counted):
    """`model.softmax "attention.softmax" %s`: over the last axis; operations `5n`, gradient `8n`, reads the result and dY."""

    name = "model.softmax"
    syntax = model_syntax()
    capabilities = ("softmax",)
    gradient_reads = ("result 0",)

    def whole(self, operation: Operation) -> Iterable[Expr]:
        return (tensor_type(operation, operation.operands[0]).dims[-1],)
