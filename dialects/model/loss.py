"""The loss of training: cross entropy over a vocabulary that several ranks may share, with its two reductions."""

from __future__ import annotations

from typing import Any

from bpir.dialects.bp import TensorType, product, tensor
from bpir.dialects.model.rules.composite import Composite, Step
from bpir.dialects.model.rules.local import Local
from bpir.dialects.model.rules.operation import ModelOperation, model_syntax
from bpir.dialects.model.rules.reads import operand
from bpir.dialects.model.rules.sizes import TOKEN_RANK
from bpir.ir.attributes import FloatType
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import ONE, Expr, constant
from bpir.ir.operation import Operation

F32 = FloatType("f32")

CROSS_ENTROPY = Composite(
    ("logits", "labels"),
    (
        Step("maximum", "row_maximum", ("logits",), result="highest"),
        Step("exponentials", "row_exponentials", ("logits", "maximum", "labels"), result="sums"),
        Step("logarithm", "row_logarithm", ("maximum", "exponentials")),
    ),
)
"""Shoeybi et al. 2019, section 3: what a rank has to tell the others of its part of the logits is three numbers a token."""


class OfTraining(ModelOperation):
    """An operation that inference has no use for; its results are f32, whatever the logits are."""

    in_inference = False
    every_token = True

    def rows(self, operation: Operation, width: Expr) -> list[Any]:
        """The type of so many numbers a token."""
        logits = operation.operands[0].type
        if not isinstance(logits, TensorType) or len(logits.dims) != TOKEN_RANK + 1:
            raise fail(f"'{self.name}' expects batch x tokens x vocabulary, found {logits.text}", operation.span)
        return [tensor((*logits.dims[:TOKEN_RANK], width), F32)]

    @staticmethod
    def labels(operation: Operation, index: int) -> None:
        """Refuse labels that are no numbers of rows, one a token."""
        logits, labels = operation.operands[0].type, operation.operands[index].type
        assert isinstance(logits, TensorType)
        if not isinstance(labels, TensorType) or labels.dims != logits.dims[:TOKEN_RANK] or not labels.is_index:
            dims = " x ".join(dim.text for dim in logits.dims[:TOKEN_RANK])
            raise fail(f"'{operation.name}' expects labels {dims} of an integer type (i32), found {labels.text}", operation.span)


class CrossEntropy(OfTraining):
    r"""`%l = model.cross_entropy "loss" %logits, %labels`: what the target of each token costs, in f32; of training.

    Logits whose vocabulary lies on several ranks are not gathered: the maximum of each token is reduced, then the sum of exponentials and
    the target's logit in one message. Training has the parts as tasks.

    Equations (`r` tokens, `n` local logits, `i` bytes a label, `e` bytes a logit):

    - E1: $\mathrm{ops} = 4n + 3r$
    - E2: $\mathrm{read} = ne + ri$, $\mathrm{write} = 4r$

    Source: Shoeybi et al. 2019, section 3; Milakov and Gimelshein 2018.
    """

    name = "model.cross_entropy"
    syntax = model_syntax(operands=2)
    tensors = "b s v, b s -> b s o"
    composite = CROSS_ENTROPY
    capabilities = ("elementwise",)
    constants = (1,)

    def infer(self, operation: Operation) -> list[Any]:
        found = self.rows(operation, ONE)
        self.labels(operation, 1)
        return found

    def operations(self, local: Local) -> Expr:
        return 4 * local.operands[0].elements + 3 * product(local.operands[1].dims)


class RowMaximum(OfTraining):
    r"""`%m = model.row_maximum "loss.maximum" %logits`: the largest logit of each token. It only bounds what follows: no gradient.

    Of its parts on several ranks the maximum is taken, not the sum.

    Equations (`r` tokens, `n` local logits, `e` bytes a logit):

    - E1: $\mathrm{ops} = n$
    - E2: $\mathrm{read} = ne$, $\mathrm{write} = 4r$

    Source: Milakov and Gimelshein 2018.
    """

    name = "model.row_maximum"
    syntax = model_syntax()
    tensors = "b s v -> b s o"
    reduction = "max"
    constants = (0,)
    capabilities = ("elementwise",)

    def infer(self, operation: Operation) -> list[Any]:
        return self.rows(operation, ONE)

    def operations(self, local: Local) -> Expr:
        return local.operands[0].elements


class RowExponentials(OfTraining):
    r"""`%s = model.row_exponentials "loss.exponentials" %logits, %m, %labels`: the sum of exponentials, and the target's logit.

    Its gradient reads the logits, their maximum and the labels.

    Equations (`r` tokens, `n` local logits, `i` bytes a label, `e` bytes a logit):

    - E1: $\mathrm{ops} = 3n$
    - E2: $\mathrm{read} = ne + 4r + ri$, $\mathrm{write} = 8r$
    - E3: $\mathrm{ops}_{dX} = 3n + r$, $\mathrm{read}_{dX} = ne + 12r + ri$, $\mathrm{write}_{dX} = ne$

    Source: Milakov and Gimelshein 2018; Shoeybi et al. 2019, section 3.
    """

    name = "model.row_exponentials"
    syntax = model_syntax(operands=3)
    tensors = "b s v, b s o, b s -> b s p"
    constants = (1, 2)
    gradient_reads = (operand(0), operand(1), operand(2))
    capabilities = ("elementwise",)

    def infer(self, operation: Operation) -> list[Any]:
        found = self.rows(operation, constant(2))
        self.labels(operation, 2)
        return found

    def operations(self, local: Local) -> Expr:
        return 3 * local.operands[0].elements

    def gradient_operations(self, local: Local) -> Expr:
        return 3 * local.operands[0].elements + product(local.operands[2].dims)


class RowLogarithm(OfTraining):
    r"""`%l = model.row_logarithm "loss.logarithm" %m, %s`: the logarithm of the sum, and the maximum, less the target's logit.

    Equations (`r` tokens):

    - E1: $\mathrm{ops} = 3r$
    - E2: $\mathrm{read} = 12r$, $\mathrm{write} = 4r$
    - E3: $\mathrm{ops}_{dX} = 2r$, $\mathrm{read}_{dX} = 12r$, $\mathrm{write}_{dX} = 8r$

    Source: Milakov and Gimelshein 2018.
    """

    name = "model.row_logarithm"
    syntax = model_syntax(operands=2)
    tensors = "b s o, b s p -> b s o"
    constants = (0,)
    gradient_reads = (operand(1),)
    capabilities = ("elementwise",)

    def infer(self, operation: Operation) -> list[Any]:
        return self.rows(operation, ONE)

    def operations(self, local: Local) -> Expr:
        return 3 * local.operands[0].elements

    def gradient_operations(self, local: Local) -> Expr:
        return 2 * local.operands[0].elements
