"""Operations element by element. Their factors stand in one table, so that a user can change one."""

from __future__ import annotations

import attrs

from bpir.dialects.model.base import Elementwise, Local, model_syntax
from bpir.ir.expression import Expr


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
    pointwise = True
    in_place = (0, 1)

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
    r"""`model.gelu "mlp.gelu" %x`: an activation function; its gradient reads X and dY.

    Equations (`n` elements of the local operand, `e` bytes an element):

    - E1: $\mathrm{ops} = 8n$, $\mathrm{ops}_{dX} = 13n$
    - E2: $\mathrm{read} = ne$, $\mathrm{write} = ne$
    - E3: $\mathrm{read}_{dX} = 2ne$, $\mathrm{write}_{dX} = ne$
    - E4: $\mathrm{read} = \mathrm{write} = \mathrm{read}_{dX} = \mathrm{write}_{dX} = 0$ with `fused_activation`

    Source: Hendrycks and Gimpel 2016, tanh form; the factors of Calculon (Isaev et al. 2023).
    """

    name = "model.gelu"
    syntax = model_syntax()


class Silu(Activation):
    r"""`model.silu "mlp.silu" %x`: an activation function; its gradient reads X and dY.

    Equations (`n` elements of the local operand, `e` bytes an element):

    - E1: $\mathrm{ops} = 5n$, $\mathrm{ops}_{dX} = 8n$
    - E2: $\mathrm{read} = ne$, $\mathrm{write} = ne$
    - E3: $\mathrm{read}_{dX} = 2ne$, $\mathrm{write}_{dX} = ne$
    - E4: $\mathrm{read} = \mathrm{write} = \mathrm{read}_{dX} = \mathrm{write}_{dX} = 0$ with `fused_activation`

    Source: Elfwing et al. 2018.
    """

    name = "model.silu"
    syntax = model_syntax()


class Relu(Activation):
    r"""`model.relu "mlp.relu" %x`: an activation function; its gradient reads X and dY.

    Equations (`n` elements of the local operand, `e` bytes an element):

    - E1: $\mathrm{ops} = n$, $\mathrm{ops}_{dX} = n$
    - E2: $\mathrm{read} = ne$, $\mathrm{write} = ne$
    - E3: $\mathrm{read}_{dX} = 2ne$, $\mathrm{write}_{dX} = ne$
    - E4: $\mathrm{read} = \mathrm{write} = \mathrm{read}_{dX} = \mathrm{write}_{dX} = 0$ with `fused_activation`

    Source: the activation of OPT (Zhang et al. 2022).
    """

    name = "model.relu"
    syntax = model_syntax()


class Dropout(Counted):
    r"""`model.dropout "attention.output_dropout" %x`: training multiplies by a scaled mask; inference erases it.

    Forward writes a mask of one byte an element beside the result; the gradient reads dY and the mask.

    Equations (`n` elements of the local operand, `e` bytes an element):

    - E1: $\mathrm{ops} = n$, $\mathrm{ops}_{dX} = n$
    - E2: $\mathrm{read} = ne$, $\mathrm{write} = ne + n$
    - E3: $\mathrm{read}_{dX} = ne + n$, $\mathrm{write}_{dX} = ne$

    Source: Srivastava et al. 2014.
    """

    name = "model.dropout"
    syntax = model_syntax()
    training_only = True
    masked = True
    gradient_reads = ("mask",)


class Add(Counted):
    r"""`model.add "attention.residual" %y, %x`: a sum; the result is the residual stream, a boundary value.

    Its gradient is a copy: an alias of dY, without a task.

    Equations (`n` elements of the local operand, `e` bytes an element):

    - E1: $\mathrm{ops} = n$, $\mathrm{ops}_{dX} = 0$
    - E2: $\mathrm{read} = 2ne$, $\mathrm{write} = ne$
    - E3: $\mathrm{read}_{dX} = 0$, $\mathrm{write}_{dX} = 0$

    Source: He et al. 2016.
    """

    name = "model.add"
    syntax = model_syntax(operands=2)
    residual = True
    passes_sums = True


class Mul(Counted):
    r"""`model.mul "mlp.multiply" %g, %u`: the product of a gated MLP; its gradient reads A, B and dY.

    Equations (`n` elements of the local operand, `e` bytes an element):

    - E1: $\mathrm{ops} = n$, $\mathrm{ops}_{dX} = 2n$
    - E2: $\mathrm{read} = 2ne$, $\mathrm{write} = ne$
    - E3: $\mathrm{read}_{dX} = 3ne$, $\mathrm{write}_{dX} = 2ne$

    Source: Shazeer 2020.
    """

    name = "model.mul"
    syntax = model_syntax(operands=2)
    gradient_reads = ("operand 0", "operand 1")


class Softmax(Counted):
    r"""`model.softmax "attention.softmax" %s`: over the last axis, which no rank may share; its gradient reads the result and dY.

    5 operations an element: maximum, difference, exponential, sum, quotient.

    Equations (`n` elements of the local operand, `e` bytes an element):

    - E1: $\mathrm{ops} = 5n$, $\mathrm{ops}_{dX} = 8n$
    - E2: $\mathrm{read} = ne$, $\mathrm{write} = ne$
    - E3: $\mathrm{read}_{dX} = 2ne$, $\mathrm{write}_{dX} = ne$

    Source: Milakov and Gimelshein 2018; the factors of Calculon (Isaev et al. 2023).
    """

    name = "model.softmax"
    syntax = model_syntax()
    capabilities = ("softmax",)
    pointwise = False
    tensors = "b s F* l -> b s F* l"
    needs_whole = "l"
    gradient_reads = ("result 0",)
