"""`model.rope`: positions of tokens as rotations of Q and K."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bpir.dialects.bp import TensorType
from bpir.dialects.model.rules.local import Local, tensor_type
from bpir.dialects.model.rules.operation import Expression, ModelOperation, model_syntax
from bpir.ir.declaration import Problems
from bpir.ir.expressions.expression import ONE, ZERO, Expr, total
from bpir.ir.operation import Operation
from bpir.ir.relations.facts import Relation
from bpir.ir.syntax import Clause

TURN = 3
"""Operations an element: its product with the cosine, that of its partner with the sine, and their sum (Su et al. 2021, equation 34)."""


class Rope(ModelOperation):
    r"""`%qr, %kr = model.rope "attention.rope" %q, %k dims n`: a rotary embedding of each operand, by the positions of its tokens.

    Turns pairs of the first `n` elements of the last dimension (all of them without `dims`), and copies the others. Each result depends
    on its own operand alone, so Q and K may lie on the mesh in different ways. The gradient turns back, and reads dY only; the sines and
    cosines are no operands.

    Equations (`n` elements of the local operands, of which `m` are turned, `e` bytes an element):

    - E1: $\mathrm{ops} = 3m$, $\mathrm{ops}_{dX} = 3m$
    - E2: $\mathrm{read} = ne$, $\mathrm{write} = ne$
    - E3: $\mathrm{read}_{dX} = ne$, $\mathrm{write}_{dX} = ne$

    Source: Su et al. 2021, equation 34: two products and a sum an element.
    """

    name = "model.rope"
    dims = Expression()
    syntax = model_syntax(Clause("dims", (dims,), line=False), operands=1, more=True)
    tensors = "b s h* d -> b s h* d | ..."
    needs_whole = "d"
    capabilities = ("elementwise",)
    in_place = (0,)

    def infer(self, operation: Operation) -> list[Any]:
        return [tensor_type(operation, value) for value in operation.operands]

    def verify(self, operation: Operation, report: Problems) -> None:
        super().verify(operation, report)
        odd = next((size for size in self._turned(operation) if size.integer is not None and size.integer % 2), None)
        if odd is not None:
            report.error(operation, f"'{self.name}' turns pairs of elements: {odd.text} is odd")
            return
        for size, dims in self._limits(operation):
            if size.integer is not None and dims.integer is not None and size.integer < dims.integer:
                report.error(operation, f"'{self.name}' can't turn {dims.text} of {size.text} elements")

    def requires(self, operation: Operation) -> list[Relation]:
        """No more is turned than there is."""
        return [Relation("greater", size + ONE, dims) for size, dims in self._limits(operation) if None in (size.constant, dims.constant)]

    @staticmethod
    def _limits(operation: Operation) -> list[tuple[Expr, Expr]]:
        """The last dimensions, and how much is to be turned of each, where that is another expression."""
        dims = Rope(operation).dims
        sizes = dict.fromkeys(value.type.dims[-1] for value in operation.operands if isinstance(value.type, TensorType))
        return [(size, dims) for size in sizes if dims not in (ZERO, size)]

    @staticmethod
    def _turned(operation: Operation) -> Iterable[Expr]:
        """Of each operand how many elements of the last dimension are turned."""
        types = (value.type for value in operation.operands)
        return [_dims(Rope(operation).dims, type) for type in types if isinstance(type, TensorType)]

    def operations(self, local: Local) -> Expr:
        dims = Rope.dims.value(local.setting("dims"))
        return TURN * total(type.elements / type.dims[-1] * _dims(dims, type) for type in local.operands)

    def gradient_operations(self, local: Local) -> Expr:
        return self.operations(local)


def _dims(stated: Expr, type: TensorType) -> Expr:
    """The number of elements of the last dimension that are turned: all, if `dims` states nothing."""
    return type.dims[-1] if stated is ZERO else stated
