"""Operations element by element. Their factors are in one table, so that a user can change one."""

from __future__ import annotations

from bpir.dialects.bp import product
from bpir.dialects.model.rules.factors import Equation, equation
from bpir.dialects.model.rules.local import Local
from bpir.dialects.model.rules.operation import Elementwise, Expression, model_syntax
from bpir.dialects.model.rules.reads import MASK, operand, result
from bpir.ir.expressions.expression import ZERO, Expr
from bpir.ir.property_parts import Flag
from bpir.ir.records import Interned
from bpir.ir.syntax import Clause


class Factor(metaclass=Interned):
    """Operations an element, in forward and in the gradient."""

    forward: int
    gradient: int


FACTORS = {
    "gelu": Factor(8, 13),  # tanh form: 3 products, 2 sums, a hyperbolic tangent, 2 products (Hendrycks and Gimpel 2016; Calculon)
    "silu": Factor(5, 8),  # negate, exponential, sum, reciprocal, product (Elfwing et al. 2018)
    "relu": Factor(1, 1),  # a comparison with zero; its gradient selects by the same comparison
    "relu2": Factor(2, 3),  # relu and its square; 2 dY relu(x) (So et al. 2021)
    "gelu_erf": Factor(5, 9),  # quotient, error function, sum, two products; and a density (Hendrycks and Gimpel 2016, exact form)
    "quick_gelu": Factor(6, 9),  # silu of a multiple (Hendrycks and Gimpel 2016, sigmoid form)
    "sigmoid": Factor(4, 3),  # negate, exponential, sum, reciprocal; y (1 - y) dY
    "tanh": Factor(1, 3),  # (1 - y^2) dY
    "scale": Factor(1, 1),  # the product with one number
    "softcap": Factor(3, 4),  # quotient, hyperbolic tangent, product; (1 - (y/cap)^2) dY (Gemma Team 2024)
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
        return FACTORS[self.short_name]

    def operations(self, local: Local) -> Expr:
        return self.factor.forward * self.counted(local)

    def gradient_operations(self, local: Local) -> Expr:
        return self.factor.gradient * self.counted(local)

    def counted(self, local: Local) -> Expr:
        """The elements that count: all; of scores so many of a sequence and head as `pairs` says, where a mask leaves fewer."""
        pairs, operand = local.expression("pairs"), local.operands[0]
        return operand.elements if pairs is None else operand.dims[0] * operand.dims[2] * pairs


class Activation(Counted):
    """An activation function: its gradient reads X."""

    fusible = True
    gradient_reads = (operand(0),)


class Gelu(Activation):
    r"""`model.gelu "mlp.gelu" %x`: an activation function, in the tanh form (`gelu_new`, `gelu_pytorch_tanh`); its gradient reads X and dY.

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
    gradient_reads = (MASK,)


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
    gradient_reads = (operand(0), operand(1))


class Scale(Counted):
    r"""`model.scale "embedding.scale" %x`: the product with one number, as of embeddings with the root of their width, or of scores.

    It is linear: a partial sum passes it. Which number it is changes no count.

    Equations (`n` elements of the local operand, `e` bytes an element):

    - E1: $\mathrm{ops} = n$, $\mathrm{ops}_{dX} = n$
    - E2: $\mathrm{read} = ne$, $\mathrm{write} = ne$
    - E3: $\mathrm{read}_{dX} = ne$, $\mathrm{write}_{dX} = ne$

    Source: Vaswani et al. 2017, section 3.4.
    """

    name = "model.scale"
    syntax = model_syntax()
    passes_sums = True


class Softcap(Counted):
    r"""`model.softcap "head.softcap" %x`: bounds each element by a hyperbolic tangent; its gradient reads the result and dY.

    `pairs p` counts so many of the elements of a sequence and head that are scores, where a mask leaves fewer.

    Equations (`n` elements of the local operand, `e` bytes an element):

    - E1: $\mathrm{ops} = 3n$, $\mathrm{ops}_{dX} = 4n$
    - E2: $\mathrm{read} = ne$, $\mathrm{write} = ne$
    - E3: $\mathrm{read}_{dX} = 2ne$, $\mathrm{write}_{dX} = ne$

    Source: Gemma Team 2024 (logit soft-capping).
    """

    name = "model.softcap"
    pairs = Expression()
    syntax = model_syntax(Clause("pairs", (pairs,), line=False))
    gradient_reads = (result(0),)


class Softmax(Counted):
    r"""`model.softmax "attention.softmax" %s`: over the last axis, which no rank may share; its gradient reads the result and dY.

    5 operations an element: maximum, difference, exponential, sum, quotient. `pairs p` counts so many of the elements of a sequence and
    head, where a mask leaves fewer. With `sinks` each head has a weight that is one more element of each sum, and of no result.

    Equations (`n` elements of the local operand, `r` rows of them, `h` local heads, `e` bytes an element):

    - E1: $\mathrm{ops} = 5n$, $\mathrm{ops} = 5n + 5r$ with `sinks`, $\mathrm{ops}_{dX} = 8n$
    - E2: $\mathrm{read} = ne$, $\mathrm{read} = (n + h)e$ with `sinks`, $\mathrm{write} = ne$
    - E3: $\mathrm{read}_{dX} = 2ne$, $\mathrm{write}_{dX} = ne$
    - E4: $\mathrm{ops}_{dW} = 3n + 2r$ with `sinks`, $\mathrm{read}_{dW} = 2ne$ with `sinks`, $\mathrm{write}_{dW} = he$ with `sinks`

    Source: Milakov and Gimelshein 2018; the factors of Calculon (Isaev et al. 2023); Xiao et al. 2023 (sinks).
    """

    name = "model.softmax"
    sinks = Flag()
    pairs = Expression()
    syntax = model_syntax(sinks, Clause("pairs", (pairs,), line=False))
    capabilities = ("softmax",)
    pointwise = False
    tensors = "b s F* l -> b s F* l"
    needs_whole = "l"
    gradient_reads = (result(0),)
    weight_gradient_reads = (result(0),)

    def equation(self, settings: frozenset[str]) -> Equation:
        return equation("b s F* l; F* -> b s F* l", self.needs_whole) if "sinks" in settings else super().equation(settings)

    def operations(self, local: Local) -> Expr:
        return super().operations(local) + (5 * self._rows(local) if local.says("sinks") else ZERO)

    def weight_gradient_operations(self, local: Local) -> Expr:
        return 3 * self.counted(local) + 2 * self._rows(local)

    @staticmethod
    def _rows(local: Local) -> Expr:
        return product(local.operands[0].dims[:-1])
