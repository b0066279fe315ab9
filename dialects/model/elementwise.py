"""Operations element by element. Their factors stand in one table, so that a user can change one."""

from __future__ import annotations

from bpir.dialects.model.base import Elementwise, Local, model_syntax
from bpir.ir.expression import Expr

OPERATIONS_PER_ELEMENT = {
    "gelu": 8,  # tanh form: 3 products, 2 sums, a hyperbolic tangent, 2 products (Hendrycks and Gimpel 2016; Calculon)
    "silu": 5,  # negate, exponential, sum, reciprocal, product (Elfwing et al. 2018)
    "dropout": 1,  # product with a scaled mask (Srivastava et al. 2014)
    "add": 1,
    "mul": 1,
}


class Counted(Elementwise):
    """`n` elements cost the table's factor each. Traffic: read each operand, write the result."""

    capabilities = ("elementwise",)

    def operations(self, local: Local) -> Expr:
        return OPERATIONS_PER_ELEMENT[self.name.partition(".")[2]] * local.operands[0].elements


class Gelu(Counted):
    """`model.gelu "mlp.gelu" %x`: operations `8n`."""

    name = "model.gelu"
    syntax = model_syntax()


class Silu(Counted):
    """`model.silu "mlp.silu" %x`: operations `5n`."""

    name = "model.silu"
    syntax = model_syntax()


class Dropout(Counted):
    """`model.dropout "attention.output_dropout" %x`: operations `n` in training; inference erases it."""

    name = "model.dropout"
    syntax = model_syntax()
    training_only = True


class Add(Counted):
    """`model.add "attention.residual" %y, %x`: operations `n`; the result is the residual stream, a boundary value."""

    name = "model.add"
    syntax = model_syntax(operands=2)
    arity = 2
    residual = True


class Mul(Counted):
    """`model.mul "mlp.multiply" %g, %u`: operations `n` (the product of a gated MLP, Shazeer 2020)."""

    name = "model.mul"
    syntax = model_syntax(operands=2)
    arity = 2
