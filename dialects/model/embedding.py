"""The two ends of a model: tables of tokens and positions, and the last token, which is all that a head needs."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.bp import ExprAttr, TensorType, tensor
from bpir.dialects.model.rules.local import Local
from bpir.dialects.model.rules.operation import Elementwise, ModelOperation, model_syntax
from bpir.dialects.model.rules.reads import operand
from bpir.dialects.model.rules.sizes import TOKEN_RANK
from bpir.ir.attributes import Attribute
from bpir.ir.declaration import Fragment, Piece, Problems, wanted
from bpir.ir.expressions.expression import ZERO, Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Property
from bpir.ir.syntax import Clause, Operands, ResultTypes
from bpir.ir.syntax_part import alternative


class Rows(Property[Expr]):
    """`[V]`: the rows of a table; 0 where it is absent."""

    def value(self, attribute: Attribute | None) -> Expr:
        return attribute.expr if isinstance(attribute, ExprAttr) else ZERO

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, '"[" expr "]"', lambda c, v, s: ExprAttr(v[0]))

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        yield f"[{wanted(attribute, ExprAttr).expr.text}]"

    def expected(self, attribute: Attribute) -> str:
        return "" if isinstance(attribute, ExprAttr) else "an expression (#bp.expr<...>)"


class Embedding(ModelOperation):
    r"""`%x = model.embedding "embedding.tokens" %ids : [V] -> !bp.tensor<B x S x H, bf16>`: the row of a table for each token.

    The operand holds numbers of rows (`i32`), batch x tokens. It is no matrix product. With the rows on several ranks (vocabulary
    parallelism) each rank looks up every token, those of other ranks as 0, and the result is a partial sum. The gradient adds a row of dY
    to the row of each token; numbers of rows have none.

    Equations (`m` tokens, `H` features, `V` local rows, `i` bytes a number, `e` bytes an element):

    - E1: $\mathrm{ops} = 0$
    - E2: $w = VH$
    - E3: $\mathrm{read} = mi + mHe$, $\mathrm{write} = mHe$
    - E4: $\mathrm{ops}_{dW} = mH$, $\mathrm{read}_{dW} = mi + 2mHe$, $\mathrm{write}_{dW} = mHe$

    Source: Shoeybi et al. 2019, section 3 (the parallel embedding); Vaswani et al. 2017, section 3.4.
    """

    name = "model.embedding"
    rows = Rows()
    syntax = (ModelOperation.layer, Operands(1, 1), Clause(":", (rows,), optional=False, line=False), ResultTypes("->"))
    tensors = "b s; V H* -> b s H*"
    own_sizes = (("V", "rows"),)
    weights_like_result = True
    weight_gradient_reads = (operand(0),)
    capabilities = ("elementwise",)

    def verify(self, operation: Operation, report: Problems) -> None:
        ids, result = operation.operands[0].type, operation.results[0].type
        if not isinstance(ids, TensorType) or len(ids.dims) != TOKEN_RANK or not ids.is_index:
            found = ids.text
            report.error(operation, f"'{self.name}' expects numbers of rows, batch x tokens of an integer type (i32), found {found}")
        elif (
            not isinstance(result, TensorType) or result.dims[:TOKEN_RANK] != ids.dims or len(result.dims) <= TOKEN_RANK or result.is_index
        ):
            wanted_dims = " x ".join(dim.text for dim in ids.dims)
            report.error(operation, f"'{self.name}' gives {wanted_dims} x features of a type that is no integer, not {result.text}")

    def weights_read(self, local: Local) -> Expr:
        return local.results[0].bytes

    def weight_gradient_operations(self, local: Local) -> Expr:
        return local.results[0].elements

    def weight_gradient_rows(self, local: Local) -> Expr:
        return local.results[0].bytes


class Positions(Elementwise):
    r"""`%y = model.positions "embedding.positions" %x : [P]`: adds the row of each token's position in a table of `P` rows.

    All sequences have the same positions, so forward reads one row for each token of a sequence. The gradient of `x` is dY.

    Equations (`b` sequences of `q` tokens, `H` features, `P` rows, `e` bytes an element):

    - E1: $\mathrm{ops} = bqH$
    - E2: $w = PH$
    - E3: $\mathrm{read} = (bqH + qH)e$, $\mathrm{write} = bqHe$
    - E4: $\mathrm{ops}_{dW} = bqH$, $\mathrm{read}_{dW} = (bqH + qH)e$, $\mathrm{write}_{dW} = qHe$

    Source: Radford et al. 2019 (learned positions); Vaswani et al. 2017, section 3.5.
    """

    name = "model.positions"
    rows = Rows()
    syntax = model_syntax(Clause(":", (rows,), optional=False, line=False))
    tensors = "b s H*; P H* -> b s H*"
    needs_whole = "P"
    own_sizes = (("P", "rows"),)
    capabilities = ("elementwise",)
    residual = True
    in_place = (0,)

    def operations(self, local: Local) -> Expr:
        return local.operands[0].elements

    def weights_read(self, local: Local) -> Expr:
        type = local.operands[0]
        return tensor(type.dims[1:], type.element).bytes

    def weight_gradient_operations(self, local: Local) -> Expr:
        return local.operands[0].elements

    def weight_gradient_rows(self, local: Local) -> Expr:
        return self.weights_read(local)


class LastToken(Elementwise):
    r"""`%l = model.last_token "head.last_token" %x`: the last token of each sequence, which is all that the next one needs.

    It is the identity in training, where the workload says `head = all`, and where there is one token. What is computed from its result
    has one token, too; in the model it keeps the token axis.

    Equations (`n` elements of the local result, `e` bytes an element):

    - E1: $\mathrm{ops} = 0$
    - E2: $\mathrm{read} = ne$, $\mathrm{write} = ne$

    Source: Pope et al. 2022, section 3.1 (prefill needs the logits of the last token only).
    """

    name = "model.last_token"
    syntax = model_syntax()
    passes_sums = True
    keeps_last_token = True
    capabilities = ("elementwise",)

    def operands_read(self, local: Local) -> tuple[TensorType, ...]:
        return local.results
