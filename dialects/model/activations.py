"""More activation functions; those of GPT and Llama are in `elementwise.py`, as the table of factors does."""

from __future__ import annotations

from bpir.dialects.model.elementwise import Activation
from bpir.dialects.model.rules.operation import model_syntax
from bpir.dialects.model.rules.reads import result


class GeluErf(Activation):
    r"""`model.gelu_erf "mlp.gelu_erf" %x`: the exact form of `gelu`, by the error function; its gradient reads X and dY.

    Equations (`n` elements of the local operand, `e` bytes an element):

    - E1: $\mathrm{ops} = 5n$, $\mathrm{ops}_{dX} = 9n$
    - E2: $\mathrm{read} = ne$, $\mathrm{write} = ne$
    - E3: $\mathrm{read}_{dX} = 2ne$, $\mathrm{write}_{dX} = ne$
    - E4: $\mathrm{read} = \mathrm{write} = \mathrm{read}_{dX} = \mathrm{write}_{dX} = 0$ with `fused_activation`

    Source: Hendrycks and Gimpel 2016, equation 1.
    """

    name = "model.gelu_erf"
    syntax = model_syntax()


class QuickGelu(Activation):
    r"""`model.quick_gelu "mlp.quick_gelu" %x`: `x*sigmoid(1.702*x)`; its gradient reads X and dY.

    Equations (`n` elements of the local operand, `e` bytes an element):

    - E1: $\mathrm{ops} = 6n$, $\mathrm{ops}_{dX} = 9n$
    - E2: $\mathrm{read} = ne$, $\mathrm{write} = ne$
    - E3: $\mathrm{read}_{dX} = 2ne$, $\mathrm{write}_{dX} = ne$
    - E4: $\mathrm{read} = \mathrm{write} = \mathrm{read}_{dX} = \mathrm{write}_{dX} = 0$ with `fused_activation`

    Source: Hendrycks and Gimpel 2016, section 2.
    """

    name = "model.quick_gelu"
    syntax = model_syntax()


class Relu2(Activation):
    r"""`model.relu2 "mlp.relu2" %x`: the square of `relu`; its gradient reads X and dY.

    Equations (`n` elements of the local operand, `e` bytes an element):

    - E1: $\mathrm{ops} = 2n$, $\mathrm{ops}_{dX} = 3n$
    - E2: $\mathrm{read} = ne$, $\mathrm{write} = ne$
    - E3: $\mathrm{read}_{dX} = 2ne$, $\mathrm{write}_{dX} = ne$
    - E4: $\mathrm{read} = \mathrm{write} = \mathrm{read}_{dX} = \mathrm{write}_{dX} = 0$ with `fused_activation`

    Source: So et al. 2021.
    """

    name = "model.relu2"
    syntax = model_syntax()


class Sigmoid(Activation):
    r"""`model.sigmoid "mlp.sigmoid" %x`: the logistic function, as of gates; its gradient reads the result and dY.

    Equations (`n` elements of the local operand, `e` bytes an element):

    - E1: $\mathrm{ops} = 4n$, $\mathrm{ops}_{dX} = 3n$
    - E2: $\mathrm{read} = ne$, $\mathrm{write} = ne$
    - E3: $\mathrm{read}_{dX} = 2ne$, $\mathrm{write}_{dX} = ne$
    - E4: $\mathrm{read} = \mathrm{write} = \mathrm{read}_{dX} = \mathrm{write}_{dX} = 0$ with `fused_activation`

    Source: Dauphin et al. 2017.
    """

    name = "model.sigmoid"
    syntax = model_syntax()
    gradient_reads = (result(0),)


class Tanh(Activation):
    r"""`model.tanh "mlp.tanh" %x`: the hyperbolic tangent; its gradient reads the result and dY.

    Equations (`n` elements of the local operand, `e` bytes an element):

    - E1: $\mathrm{ops} = n$, $\mathrm{ops}_{dX} = 3n$
    - E2: $\mathrm{read} = ne$, $\mathrm{write} = ne$
    - E3: $\mathrm{read}_{dX} = 2ne$, $\mathrm{write}_{dX} = ne$
    - E4: $\mathrm{read} = \mathrm{write} = \mathrm{read}_{dX} = \mathrm{write}_{dX} = 0$ with `fused_activation`

    Source: LeCun et al. 1998.
    """

    name = "model.tanh"
    syntax = model_syntax()
    gradient_reads = (result(0),)
