"""The effect of a phase or workload on a block's axes: a substitution of the batch, token and context axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bpir.dialects.bind import as_expr, as_word
from bpir.dialects.bp import TensorType
from bpir.dialects.model.attention import Attention, KvAppend
from bpir.dialects.model.rules.layers import layer_of, part_of
from bpir.dialects.model.rules.local import settings_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import ONE, ZERO, Expr, ceildiv, maximum, minimum
from bpir.ir.operation import Operation, Value
from bpir.ir.records import Record
from bpir.ir.relations.facts import Relation
from bpir.passes.distribution.placement import lone_symbol


class Phase(metaclass=Record):
    """One inference phase of one block.

    Attributes:
        name: `prefill` or `decode`.
        context: the visible KV tokens `c`.
        query: the new tokens `q` of each sequence.
        prefix: the tokens that were in the cache before, `c - q`.
        substitution: what replaces the batch, token and context axes at the levels below the model.
        last: the same behind a `model.last_token` that is no identity: the token axis is 1.
        assumed: what must hold of these sizes.
        causal: how attention over new tokens is counted.
    """

    name: str
    context: Expr
    query: Expr
    prefix: Expr
    substitution: Mapping[str, Expr]
    last: Mapping[str, Expr] | None
    assumed: tuple[Relation, ...] = ()
    causal: str = "dense"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.substitute(self.substitution)

    def type(self, type: TensorType, last: bool = False) -> TensorType:
        """The type below the model; `last` says that the value depends on the last token alone."""
        sizes = self.last if last and self.last is not None else self.substitution
        return type.rewritten(lambda expr: expr.substitute(sizes))

    def erases(self, operation: Operation) -> bool:
        """Whether an operation of the model is the identity in this phase, and no task: dropout, and all tokens of one or of every one."""
        rule = operation.declaration
        return isinstance(rule, ModelOperation) and (rule.training_only or (rule.keeps_last_token and self.last is None))


def phase_of(block: Operation, workload: Mapping[str, Attribute]) -> Phase:
    """The phase that the workload asks for: prefill has `q = c` query tokens, decode has `q = 1` (Vaswani et al. 2017, section 3.2.3).

    A prefill whose first tokens are in the cache (Agrawal et al. 2023, chunked prefills) has `c = prefix + q`.

    Raises:
        DiagnosticError: the workload does not say the phase or the context, or an axis of the block can't become what
            it says.
    """
    name = as_word(workload.get("phase"))
    if name is None:
        raise fail("the workload does not say the phase: add 'phase = prefill' or 'phase = decode'", block.span)
    batch_axis, token_axis = token_axes(block, workload)
    named = context_axis(block)
    query, context, assumed = _tokens(block, name, workload, named)
    changes = (
        ("batch", batch_axis, as_expr(workload.get("batch")) or batch_axis),
        ("context", named or context, context),
        ("token", token_axis, query),
    )
    substitution = _substitution(block, changes)
    shortened = as_word(workload.get("head")) != "all" and query is not ONE
    last = {**substitution, **_substitution(block, [("token", token_axis, ONE)])} if shortened else None
    causal = as_word(workload.get("causal")) or "dense"
    return Phase(name, context, query, context - query, substitution, last, tuple(assumed), causal)


def _tokens(block: Operation, name: str, workload: Mapping[str, Attribute], named: Expr | None) -> tuple[Expr, Expr, list[Relation]]:
    """The new tokens, all visible ones, and what that assumes; `named` is the context that the model names.

    Raises:
        DiagnosticError: the workload says too little, or fields of another phase.
    """
    query, prefix, context = (as_expr(workload.get(field)) for field in ("query", "prefix", "context"))
    if name == "decode" and (query is not None or prefix is not None):
        field = "query" if query is not None else "prefix"
        raise fail(f"'{field}' is a field of prefill: decode has one new token", block.span)
    if query is not None and prefix is not None:
        return query, prefix + query, [Relation("equal", context, prefix + query)] if context is not None else []
    context = context or named
    if context is None:
        raise fail("the workload does not say how many KV tokens are visible: add 'context = c' or a number", block.span)
    if name == "decode":
        return ONE, context, []
    if query is not None:
        return query, context, [Relation("greater", context + ONE, query)]
    if prefix is not None:
        return context - prefix, context, [Relation("greater", context, prefix)]
    return context, context, []


def counted_pairs(causal: str, query: Expr, prefix: Expr, window: Expr | None) -> Expr | None:
    """Of the pairs of a new token and a visible one, per sequence and head, those that count; None if all do.

    `exact` is what a causal mask leaves, `sum(prefix + i)` over the new tokens `i`, of which a window leaves `min(prefix + i, window)`.
    """
    if causal == "half":
        return ceildiv(query * (prefix + query), 2)
    if causal != "exact":
        return None
    if window is None:
        return query * prefix + query * (query + ONE) / 2
    all_seen = maximum(ZERO, minimum(query, window - prefix))  # the new tokens that see everything before them
    return all_seen * prefix + all_seen * (all_seen + ONE) / 2 + (query - all_seen) * window


def window_of(operation: Operation) -> Expr | None:
    """The number of tokens that each token of an attention sees; None if all."""
    attention = Attention.of(operation)
    return attention.window if attention is not None and attention.says(Attention.window) else None


def training_axes(block: Operation, workload: Mapping[str, Attribute]) -> dict[str, Expr]:
    """The axes that a training workload replaces at the levels below the model: the batch axis by `batch`, the token axis by `context`.

    Raises:
        DiagnosticError: the workload says a phase, or an axis of the block can't become what it says.
    """
    for field in ("phase", "query", "prefix", "head"):
        if field in workload:
            what = "training has no phase" if field == "phase" else f"'{field}' is a field of inference"
            raise fail(f"{what}: a workload of training says 'batch', 'context' and 'causal' only", block.span)
    axes = token_axes(block, workload)
    values = (as_expr(workload.get(field)) or axis for field, axis in zip(("batch", "context"), axes, strict=True))
    return _substitution(block, zip(("batch", "token"), axes, values, strict=True))


def token_axes(block: Operation, workload: Mapping[str, Attribute]) -> tuple[Expr, Expr]:
    """The batch axis and the token axis."""
    batch, token = (_axis(block, workload, field, index) for index, field in enumerate(("batch_axis", "token_axis")))
    if batch is token:
        raise fail(f"the batch axis and the token axis are both '{batch.text}': they need a symbol each", block.span)
    if context_axis(block) is batch:
        raise fail(f"the batch axis and the context are both '{batch.text}': they need a symbol each", block.span)
    return batch, token


def _axis(block: Operation, workload: Mapping[str, Attribute], field: str, index: int) -> Expr:
    """The dimension of the block's input that a field of the workload names; by its place where the field is left out."""
    usual, named = input_axis(block, index), as_expr(workload.get(field))
    if named is None:
        return usual
    type = block.regions[0].blocks[0].arguments[0].type
    dims = [dim for dim in type.dims if lone_symbol(dim) is not None] if isinstance(type, TensorType) else []
    if named not in dims:
        known = ", ".join(dim.text for dim in dims) or "none"
        raise fail(f"'{field}' must be a symbol that is a dimension of the block's input ({known}), not '{named.text}'", block.span)
    return named


def _substitution(block: Operation, changes: Iterable[tuple[str, Expr, Expr]]) -> dict[str, Expr]:
    """The symbols to replace so that each axis becomes its value."""
    found: dict[str, Expr] = {}
    for what, axis, value in changes:
        if axis is value:
            continue
        name = lone_symbol(axis)
        if name is None:
            raise fail(f"the {what} axis is '{axis.text}' and can't become '{value.text}': use a symbol for it", block.span)
        found[name] = value
    _keep_weights(block, found)
    return found


def _keep_weights(block: Operation, substitution: Mapping[str, Expr]) -> None:
    """Refuse weights that would change with the workload, because one of their axes is named like an axis that it replaces."""
    for operation in block.body:
        rule = operation.declaration
        operands = tuple(v.type for v in operation.operands if isinstance(v.type, TensorType))
        results = tuple(v.type for v in operation.results if isinstance(v.type, TensorType))
        if not isinstance(rule, ModelOperation) or not operands:
            continue
        whole = part_of(rule, settings_of(operation), operands, results, (True,) * len(operands))
        dims = [dim for type in rule.weight_types(whole) for dim in type.dims]
        changed = next((name for dim in dims for name in dim.symbols if name in substitution), None)
        if changed is not None:
            raise fail(
                f"the weights of '{layer_of(operation)}' have an axis of the size {changed}, which the workload makes "
                f"{substitution[changed].text}: weights don't change with a workload, so give that axis a symbol of its own",
                operation.span,
            )


def input_axis(block: Operation, index: int) -> Expr:
    arguments = block.regions[0].blocks[0].arguments
    type = arguments[0].type if arguments else None
    if not isinstance(type, TensorType) or len(type.dims) <= index:
        raise fail("the first argument of the block must be a !bp.tensor with a batch axis and a token axis", block.span)
    return type.dims[index]


def context_axis(block: Operation) -> Expr | None:
    """The context that the block's operations name; None if they name none."""
    found: Expr | None = None
    for operation in block.body:
        context = ModelOperation(operation).context
        if context is not ZERO:
            if found is not None and found is not context:
                raise fail(f"the block names two contexts, '{found.text}' and '{context.text}'", operation.span)
            found = context
    return found


def over_own_tokens(operation: Operation) -> bool:
    """Whether an attention is over the tokens of its queries: K and V come through a `kv_append`, it names a context, or their tokens are
    those of Q, which depends on an input that they depend on, too."""
    query, key = operation.operands[:2]
    if ModelOperation(operation).says(ModelOperation.context) or KvAppend.of(key.producer) is not None:
        return True
    types = [value.type for value in (query, key) if isinstance(value.type, TensorType)]
    return len({type.dims[1] for type in types}) == 1 and bool(_inputs(query) & _inputs(key))


def _inputs(value: Value) -> set[Value]:
    """The arguments of the block that a value depends on."""
    found, stack = {value}, [value]
    while stack:
        owner = stack.pop().owner
        new = [operand for operand in owner.operands if operand not in found] if isinstance(owner, Operation) else []
        found.update(new)
        stack += new
    return {v for v in found if not isinstance(v.owner, Operation)}
