"""The interface of every model operation: shapes, axes, weights, work. A pass and a verifier ask the operation, never its name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, ClassVar

from bpir.dialects.bp import ExprAttr, TensorType, Work, product, work
from bpir.dialects.bp.parts import Expression as Expression
from bpir.dialects.model.rules.composite import Composite
from bpir.dialects.model.rules.factors import Equation, Factors, equation, weight_type
from bpir.dialects.model.rules.formats import FORMATS, format_of
from bpir.dialects.model.rules.local import Local, settings_of, tensor_type
from bpir.dialects.model.rules.reads import Read
from bpir.ir.attributes import Attribute, StringAttr
from bpir.ir.declaration import OperationDeclaration, Problems
from bpir.ir.diagnostic import DiagnosticError, fail, note
from bpir.ir.expressions.expression import ZERO, Expr, total
from bpir.ir.operation import Operation, Value
from bpir.ir.property_parts import Text, Word
from bpir.ir.relations.facts import Relation
from bpir.ir.syntax import Clause, Operands, ResultTypes

RULES = (
    "weight_types",
    "weights",
    "weight_bytes",
    "operations",
    "matmul_operations",
    "forward",
    "gradient_operations",
    "weight_gradient_operations",
    "gradient_matmul",
    "weight_gradient_matmul",
    "gradient_weights",
)
"""The rules of a model operation that are remembered: each is a function of the interned `Local` alone."""


def _remember_rules(cls: type[ModelOperation]) -> None:
    for name in RULES:
        if name in cls.__dict__:
            setattr(cls, name, cache(cls.__dict__[name]))


class ModelOperation(OperationDeclaration):
    """An operation on tensors in a block.

    Subclasses give the rules below with their sources. `n` stands for the elements of the local operand.
    """

    capabilities: ClassVar[tuple[str, ...]] = ()  # what a target must be able to do
    alternatives: ClassVar[tuple[str, ...]] = ()  # target-neutral implementations, the first is the unfused one
    in_inference: ClassVar[bool] = True  # whether an inference block may have it
    reduction: ClassVar[str] = "sum"  # of its parts on several ranks: `sum` or `max`
    every_token: ClassVar[bool] = False  # its results lie whole where the sequence is shared: numbers of tokens, that cost nothing
    constants: ClassVar[tuple[int, ...]] = ()  # the operands that have no gradient, besides numbers of rows
    keeps_last_token: ClassVar[bool] = False  # of each sequence, where the workload's head needs no other token
    training_only: ClassVar[bool] = False  # inference erases it: its result is its operand
    tensors: ClassVar[str] = ""  # the dimension factors of operands, weights and results (`dialects/model/rules/factors.py`)
    needs_whole: ClassVar[str] = ""  # the factors that no mesh axis may split
    own_sizes: ClassVar[tuple[tuple[str, str], ...]] = ()  # factors that weights alone have, and the property with the size
    expert_factor: ClassVar[str] = ""  # that of experts: its weights belong to experts, and only expert parallelism shards it
    weights_like_result: ClassVar[bool] = False  # the element of its weights is that of its result, not of its first operand
    effect: ClassVar[bool] = False  # it does something besides its results, so it is not dead if nobody uses them
    in_place: ClassVar[tuple[int, ...]] = ()  # the operands, of its lane, that a result may be written over, where they die there
    passes_sums: ClassVar[bool] = False  # linear in its operands: of partial sums it makes a partial sum
    factors_of_sums: ClassVar[tuple[int, ...]] = ()  # with `passes_sums`: operands that partial sums are multiplied by, which are complete
    forms: ClassVar[tuple[str, ...]] = ()  # ways to do it, the first where nothing says another: one function, other work
    form_field: ClassVar[str] = ""  # the field of a strategy that says which; a flag of the operation may, too
    composite: ClassVar[Composite | None] = None  # the operations that it stands for; training has these
    per_result: ClassVar[str] = ""  # a property with an entry for each result: training has an operation of its own for each of several
    residual: ClassVar[bool] = False  # its result is the residual stream: a boundary value, its gradient a copy
    pointwise: ClassVar[bool] = False  # works element by element, without weights
    masked: ClassVar[bool] = False  # training writes a mask of one byte an element beside the result
    rank: ClassVar[int] = 0  # of all its operands and results, where it reads their dimensions by place
    fusible: ClassVar[bool] = False  # an activation function: `fused_activation` makes it move no bytes
    gradient_reads: ClassVar[tuple[Read, ...]] = ()  # what the activation gradient reads besides dY
    weight_gradient_reads: ClassVar[tuple[Read, ...]] = ()  # what the weight gradient reads
    layer = Text()
    context = Expression()  # the visible KV tokens, where it names them
    stored = Word(choices=tuple(FORMATS))  # the format of its matrices, where that is not the element of its operand

    @property
    def origin(self) -> str:
        """The layer of the file that the operation stands for, or is a part of."""
        source = self.operation.attributes.get("source")
        return source.value if isinstance(source, StringAttr) else self.layer

    @property
    def settings(self) -> tuple[tuple[str, Attribute], ...]:
        """Its settings besides its operands and its layer: `bias`, `features`, `context`."""
        return tuple(item for item in self.operation.properties.items() if item[0] != "layer")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        _remember_rules(cls)
        super().__init_subclass__(**kwargs)

    def equation(self, settings: frozenset[str]) -> Equation:
        """The dimension factors, for an operation with these properties."""
        return equation(self.tensors, self.needs_whole)

    def factors(self, operation: Operation) -> Factors:
        """The dimension factors of an operation of a model.

        Raises:
            DiagnosticError: its operands or results don't fit its equation.
        """
        shape = shape_of(operation)
        known = _FACTORS.get(shape)
        if known is not None:
            return known
        found = self.equation(frozenset(operation.properties))
        try:
            return _FACTORS.setdefault(shape, found.factors(_ranks(operation.operands), _ranks(operation.results)))
        except ValueError as wrong:
            help = note(f"the equation is {self.tensors}")
            raise fail(f"'{self.name}' does not fit its equation: {wrong}", operation.span, help) from None

    def verify(self, operation: Operation, report: Problems) -> None:
        """That the operands and results have as many dimensions as the equation says; what `infer` refuses is reported as such."""
        with suppress(DiagnosticError):
            if self.tensors and self.infer(operation) is not None:
                try:
                    self.factors(operation)
                except DiagnosticError as wrong:
                    report.diagnostics += wrong.diagnostics

    @property
    def brings_axes(self) -> bool:
        """Whether weights bring dimensions in."""
        return equation(self.tensors).produces

    def whole(self, operation: Operation) -> set[Expr]:
        """The dimensions that must not be sharded."""
        factors = self.factors(operation)
        values = zip((*factors.operands, *factors.results), (*operation.operands, *operation.results), strict=True)
        return {
            dim
            for tensor, value in values
            if isinstance(value.type, TensorType)
            for factor, dim in zip(tensor, value.type.dims, strict=True)
            if factor in factors.whole
        }

    def produced(self, operation: Operation) -> Iterable[tuple[Expr, ...]]:
        """For each result the dimensions that the weights bring in; such an axis may be sharded."""
        factors = self.factors(operation)
        for index, result in enumerate(operation.results):
            if isinstance(result.type, TensorType):
                own = factors.produced(index)
                yield tuple(dim for factor, dim in zip(factors.results[index], result.type.dims, strict=True) if factor in own)

    def contracted(self, operation: Operation, result: int) -> tuple[Expr, ...]:
        """The dimensions of operands, and of weights alone, that are summed over for a result: sharded, the result is a partial sum."""
        shape = (shape_of(operation), result)
        known = _CONTRACTED.get(shape)
        if known is not None:
            return known
        factors = self.factors(operation)
        summed = factors.contracted(result)
        found = (
            *(
                dim
                for tensor, value in zip(factors.operands, operation.operands, strict=True)
                if isinstance(value.type, TensorType)
                for factor, dim in zip(tensor, value.type.dims, strict=True)
                if factor in summed
            ),
            *(dim for factor, dim in self.own_dims(settings_of(operation)).items() if factor in summed),
        )
        return _CONTRACTED.setdefault(shape, found)

    def with_gradient(self, operation: Operation) -> list[int]:
        """The operands of an operation that have a gradient."""
        types = [value.type for value in operation.operands]
        return [i for i, t in enumerate(types) if i not in self.constants and not (isinstance(t, TensorType) and t.is_index)]

    def overwritable(self, operand: object) -> tuple[int, ...]:
        """The operands, of its lane, that a result may be written over, where the first operand has this type."""
        return self.in_place

    def own_dims(self, settings: Iterable[tuple[str, Attribute]]) -> dict[str, Expr]:
        """The sizes of the factors that weights alone have, as the operation says them."""
        said = dict(settings) if self.own_sizes else {}
        return {factor: value.expr for factor, name in self.own_sizes if isinstance(value := said.get(name), ExprAttr)}

    def requires(self, operation: Operation) -> Iterable[Relation]:
        """The relations that the sizes of the operation must satisfy in its model."""
        return ()

    def tied_shape(self, operation: Operation) -> tuple[Expr, ...] | None:
        """The dimensions of the weight of another layer that it reads in the place of its own; None if it has its own."""
        return None

    def weight_types(self, local: Local) -> tuple[TensorType, ...]:
        """The weights, each a tensor with the shards of the dimensions that it shares with operands and results."""
        found = self.equation(frozenset(name for name, _ in local.settings))
        if not found.has_weights:
            return ()
        factors = found.factors(*(tuple(len(type.dims) for type in types) for types in (local.operands, local.results)))
        element = (local.results if self.weights_like_result else local.operands)[0].element
        return tuple(
            weight_type(weight, factors, local.operands, local.results, local.own, element)
            for weights in factors.weights
            for weight in weights
        )

    def weights(self, local: Local) -> Expr:
        """`w`: the number of weights on one rank."""
        return total(type.elements for type in self.weight_types(local))

    def weight_bytes(self, local: Local) -> Expr:
        """The bytes of the weights on one rank."""
        stored = format_of(local.setting("stored"))
        types = self.weight_types(local)
        if stored is None:
            return total(type.bytes for type in types)
        pairs = zip(types, self.matrices(local), strict=True)
        return total(type.bytes if matrix is None else stored.bytes(*matrix) for type, matrix in pairs)

    def matrices(self, local: Local) -> list[tuple[Expr, Expr, Expr] | None]:
        """Each weight as so many matrices of rows, which are contracted, and columns; None for a vector, which is never quantised."""
        factors = self.equation(frozenset(name for name, _ in local.settings)).factors(
            *(tuple(len(type.dims) for type in types) for types in (local.operands, local.results))
        )
        types = iter(self.weight_types(local))
        found: list[tuple[Expr, Expr, Expr] | None] = []
        for index, weights in enumerate(factors.weights):
            contracted, own = factors.contracted(index), factors.own(index)
            for weight in weights:
                sizes = [*zip(weight, next(types).dims, strict=True)]
                found.append(_as_matrices(sizes, contracted, {*own, self.expert_factor}))
        return found

    def form(self, settings: Iterable[tuple[str, Attribute]]) -> str:
        """Which of its forms settings say: by the word `form`, or by a flag of its name."""
        said = dict(settings)
        word = said.get("form")
        named = next((form for form in self.forms if form in said), self.forms[0] if self.forms else "")
        return word.value if isinstance(word, StringAttr) else named

    def routed(self, local: Local) -> tuple[Expr, Expr, Expr, Expr] | None:
        """Of an operation with experts: the tokens of all ranks that share these, how many experts each is sent to, how many there are, and
        how many a rank has.
        """
        return None

    def weights_read(self, local: Local) -> Expr:
        """The bytes of weights that forward reads: all of them."""
        return self.weight_bytes(local)

    def operations(self, local: Local) -> Expr:
        """Arithmetic operations of forward on one rank; a multiply-add counts 2."""
        return ZERO

    def matmul_operations(self, local: Local) -> Expr:
        """The part of `operations` that matrix products do (what PyTorch's FLOP counter counts)."""
        return ZERO

    def operands_read(self, local: Local) -> tuple[TensorType, ...]:
        """The operands that forward reads: every distinct one."""
        return local.distinct_operands

    def results_written(self, local: Local) -> tuple[TensorType, ...]:
        """The results that forward writes: all."""
        return local.results

    def forward(self, local: Local) -> Work:
        """The work of forward: every distinct operand and the weights are read once, every result is written once."""
        return work(
            ops=self.operations(local),
            read=total(t.bytes for t in self.operands_read(local)) + self.weights_read(local),
            write=total(t.bytes for t in self.results_written(local)),
        )

    def gradient_operations(self, local: Local) -> Expr:
        """Operations of the activation gradient."""
        return ZERO

    def weight_gradient_operations(self, local: Local) -> Expr:
        """Operations of the weight gradient."""
        return ZERO

    def weight_gradient_rows(self, local: Local) -> Expr:
        """The bytes of the rows that the weight gradient adds to, where it does not write all of it: it reads and writes these."""
        return ZERO

    def gradient_matmul(self, local: Local) -> Expr:
        """The part of `gradient_operations` that matrix products do."""
        return ZERO

    def weight_gradient_matmul(self, local: Local) -> Expr:
        """The part of `weight_gradient_operations` that matrix products do."""
        return ZERO

    def gradient_message(self, local: Local) -> Expr:
        """The bytes that the activation gradient sends."""
        return ZERO

    def gradient_weights(self, local: Local) -> Expr:
        """The elements of the weights that the activation gradient has to do with."""
        return ZERO

    def gradient_weights_read(self, local: Local) -> Expr:
        """The elements of those that it reads: all of them."""
        return self.gradient_weights(local)

    def workspace(self, local: Local) -> Iterable[Expr]:
        """Sizes in bytes that an unfused execution holds at once, besides the results of linears."""
        return ()

    def scratch(self, local: Local) -> Expr:
        """Bytes that an unfused execution holds besides its operands and results."""
        return ZERO


_remember_rules(ModelOperation)  # its own, too, which most operations have


class Elementwise(ModelOperation):
    """An operation whose result has the shape of its operands."""

    tensors = "b s F* -> b s F*"

    def infer(self, operation: Operation) -> list[Any]:
        types = [tensor_type(operation, v) for v in operation.operands]
        for other in types[1:]:
            if other is not types[0]:
                raise fail(
                    f"operands of '{self.name}' must have one type: {types[0].text} and {other.text} differ",
                    operation.span,
                )
        return [types[0]]


def model_syntax(*parts: Any, operands: int = 1, more: bool = False) -> tuple[Any, ...]:
    """`NAME "layer" %a, ... parts... [-> type]`; `more` allows more operands."""
    return (ModelOperation.layer, Operands(operands, None if more else operands), *parts, ResultTypes("->", inferred=True))


STORED = Clause("stored", (ModelOperation.stored,), line=False)
"""`stored mxfp4`: how the matrices of an operation are stored."""


Shape = tuple[Any, ...]
"""An operation of a model without its names: its declaration, what it says, and the types of what it reads and gives."""

_FACTORS: dict[Shape, Factors] = {}
_CONTRACTED: dict[Shape, tuple[Expr, ...]] = {}


def shape_of(operation: Operation) -> Shape:
    """What an operation is apart from its names: equal for all layers that repeat, which are judged once."""
    types = [value.type for value in operation.operands]
    count = len(types)
    types += [value.type for value in operation.results]
    return operation.declaration, settings_of(operation), count, tuple(types)


def distinct(operations: Iterable[Operation]) -> list[Operation]:
    """The first operation of each shape, in order."""
    found: dict[Shape, Operation] = {}
    for operation in operations:
        found.setdefault(shape_of(operation), operation)
    return list(found.values())


def _ranks(values: Iterable[Value]) -> tuple[int, ...]:
    return tuple(len(value.type.dims) if isinstance(value.type, TensorType) else 0 for value in values)


def _as_matrices(sizes: Sequence[tuple[str, Expr]], contracted: Collection[str], each: Collection[str]) -> tuple[Expr, Expr, Expr] | None:
    """A weight with these factors as matrices, rows and columns: there is a matrix for every value of the factors `each`."""
    within = [(name, size) for name, size in sizes if name not in each]
    rows = [size for name, size in within if name in contracted]
    columns = [size for name, size in within if name not in contracted]
    if not rows or not columns:
        return None
    return product(size for name, size in sizes if name in each), product(rows), product(columns)
