"""The sizes that a workload gives a block's axes, in the words of the gate.

The first two dimensions of a block's first argument are its batch axis and its token axis, unless the workload names others of its
dimensions. Prefill works on all visible tokens, decode on one (Vaswani et al. 2017, section 3.2.3); training on whole sequences, where the
visible tokens are the sequence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from bpir.dialects.bind import as_expr, as_word
from bpir.dialects.bp import ExprAttr, TensorType
from bpir.dialects.model.attention import Attention, KvAppend
from bpir.dialects.model.rules.layers import layer_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.attributes import Attribute
from bpir.ir.expressions.expression import ONE, ZERO, Expr, ceildiv, maximum, minimum
from bpir.ir.operation import Operation, Value
from bpir.ir.records import Record, evolved
from bpir.ir.relations.facts import Relation
from bpir.verifiers.distribution.possible_placements import weight_symbols
from bpir.verifiers.distribution.typing_rule import symbol_name
from bpir.verifiers.model_operations import tensor_of, tensors_of

Fields = Mapping[str, Attribute]


class UnreadableWorkload(Exception):
    """The workload can't be that of the block; the text says why."""


class Phase(metaclass=Record):
    """One inference phase of a block, as the workload says it.

    Attributes:
        name: `prefill` or `decode`.
        context, query: the visible tokens and the new ones of each sequence.
        sizes: the size of each symbol of the model.
        last: the same behind `model.last_token`; None where that is the identity.
        needs: what must hold of these sizes.
        causal: how attention over new tokens is counted.
    """

    name: str
    context: Expr
    query: Expr
    sizes: Mapping[str, Expr]
    last: Mapping[str, Expr] | None
    needs: tuple[Relation, ...]
    causal: str

    def with_sizes(self, sizes: Mapping[str, Expr]) -> Phase:
        """The phase with other sizes of axes of weights, which a workload does not change."""
        last = {**self.last, **sizes} if self.last is not None else None
        return evolved(self, sizes={**self.sizes, **sizes}, last=last)

    def type(self, type: TensorType, last: bool = False) -> TensorType:
        """The type with the sizes of the phase; `last` says that the value depends on the last token alone."""
        sizes = self.last if last and self.last is not None else self.sizes
        return type.rewritten(lambda expr: expr.substitute(sizes))

    def is_identity(self, operation: Operation) -> bool:
        """Whether an operation of the model has no task in the phase."""
        rule = operation.declaration
        return isinstance(rule, ModelOperation) and (rule.training_only or (rule.keeps_last_token and self.last is None))


def inference_phase(block: Operation, workload: Fields) -> Phase:
    """The phase of a block that a workload asks for.

    Raises:
        UnreadableWorkload: the workload says no phase or no context, or an axis can't become what it says.
    """
    name = as_word(workload.get("phase"))
    if name not in ("prefill", "decode"):
        raise UnreadableWorkload("the workload does not say the phase: add 'phase = prefill' or 'phase = decode'")
    batch, token = _axes(block, workload)
    named = _context(block)
    context, query, needs = _tokens(name, workload, named)
    sizes = [_batch(batch, workload), *([(named, context)] if named is not None else [])]
    every = as_word(workload.get("head")) == "all" or query is ONE
    last = None if every else _replacing(block, [*sizes, (token, ONE)])
    causal = as_word(workload.get("causal")) or "dense"
    return Phase(name, context, query, _replacing(block, [*sizes, (token, query)]), last, needs, causal)


def _batch(axis: Expr, workload: Fields) -> tuple[Expr, Expr]:
    """The batch axis, and the size that the workload gives it."""
    return axis, as_expr(workload.get("batch")) or axis


_Tokens = tuple[Expr, Expr, tuple[Relation, ...]]
"""The visible tokens, the new ones, and what must hold of them."""


def _tokens(phase: str, workload: Fields, named: Expr | None) -> _Tokens:
    """The tokens of a phase: of `context = prefix + query` two give the third."""
    context, query, prefix = (as_expr(workload.get(field)) for field in ("context", "query", "prefix"))
    if query is not None and prefix is not None and phase == "prefill":
        whole = query + prefix
        return whole, query, (Relation("equal", context, whole),) if context is not None else ()
    visible = context or named
    if phase == "decode":
        return _decode(visible, query or prefix)
    return _prefill(_known(visible), query, prefix)


def _decode(visible: Expr | None, of_prefill: Expr | None) -> _Tokens:
    """The tokens of decode, of which one is new."""
    if of_prefill is not None:
        raise UnreadableWorkload("'query' and 'prefix' are fields of prefill")
    return _known(visible), ONE, ()


def _known(visible: Expr | None) -> Expr:
    """The number of visible tokens, which must be known."""
    if visible is None:
        raise UnreadableWorkload("the workload does not say how many tokens are visible")
    return visible


def _prefill(context: Expr, query: Expr | None, prefix: Expr | None) -> _Tokens:
    """The tokens of prefill, of which so many are visible; the new ones, or those before them, may be said."""
    if query is not None:
        return context, query, (Relation("greater", context + ONE, query),)
    if prefix is not None:
        return context, context - prefix, (Relation("greater", context, prefix),)
    return context, context, ()


def with_visible(workload: Fields, block: Operation, blocks: Iterable[Operation]) -> Fields:
    """The workload for a block without attention, where it says no context: the one that the attentions of the other blocks name."""
    if "context" in workload or {"query", "prefix"} <= workload.keys() or _context(block) is not None:
        return workload
    named = {context for other in blocks for context in _contexts(other)}
    return {**workload, "context": ExprAttr(named.pop())} if len(named) == 1 else workload


def training_sizes(block: Operation, workload: Fields) -> dict[str, Expr]:
    """The substitute for each symbol of the model.

    Raises:
        UnreadableWorkload: the workload says a phase, or an axis can't become what it says.
    """
    wrong = next((field for field in ("phase", "query", "prefix", "head") if field in workload), None)
    if wrong is not None:
        raise UnreadableWorkload("training has no phase" if wrong == "phase" else f"training has no '{wrong}'")
    batch, token = _axes(block, workload)
    tokens, named = as_expr(workload.get("context")) or token, _context(block)
    sizes = [_batch(batch, workload), (token, tokens)]
    return _replacing(block, sizes if named in (None, token) else [*sizes, (_known(named), tokens)])


def token_axis(block: Operation) -> Expr:
    """The second dimension of the first argument: the axis that sequence parallelism shards."""
    return tensor_of(block.arguments[0]).dims[1]


def _axes(block: Operation, workload: Fields) -> tuple[Expr, Expr]:
    """The batch axis and the token axis of a block."""
    first = tensors_of(block.arguments[:1])
    if not first or len(first[0].dims) < 2:
        raise UnreadableWorkload("the first argument of the block has no batch axis and token axis")
    dims = first[0].dims
    batch, token = (_axis(workload, field, dim, dims) for field, dim in zip(("batch_axis", "token_axis"), dims, strict=False))
    if batch is token:
        raise UnreadableWorkload(f"the batch axis and the token axis are both '{batch.text}'")
    return batch, token


def _axis(workload: Fields, field: str, dim: Expr, dims: Sequence[Expr]) -> Expr:
    """The axis that a field of the workload names among the dimensions; the dimension at its place if it does not say."""
    named = as_expr(workload.get(field))
    known = [dim for dim in dims if symbol_name(dim) is not None]
    if named is None or named in known:
        return named or dim
    names = ", ".join(dim.text for dim in known) or "none"
    raise UnreadableWorkload(f"'{field}' must be a symbol that is a dimension of the block's input ({names}), not '{named.text}'")


def _contexts(block: Operation) -> set[Expr]:
    return {operation.context for operation in ModelOperation.each(block.body)} - {ZERO}


def _context(block: Operation) -> Expr | None:
    """The number of visible tokens that the operations of the block name."""
    found = _contexts(block)
    if len(found) > 1:
        raise UnreadableWorkload("the block names two contexts: " + ", ".join(sorted(expr.text for expr in found)))
    return found.pop() if found else None


def _replacing(block: Operation, sizes: list[tuple[Expr, Expr]]) -> dict[str, Expr]:
    """The substitute for each symbol; weights are the same under every workload, so none of their axes is replaced."""
    changed = [(axis, size) for axis, size in sizes if axis is not size]
    for axis, size in changed:
        if symbol_name(axis) is None:
            raise UnreadableWorkload(f"the axis '{axis.text}' can't become '{size.text}'")
    found = {axis.text: size for axis, size in changed}
    for operation in block.body:
        _keeps_weights(operation, found)
    return found


def _keeps_weights(operation: Operation, replaced: Mapping[str, Expr]) -> None:
    """The axes of an operation's weights are not replaced."""
    changed = weight_symbols(operation) & replaced.keys()
    if changed:
        names = ", ".join(sorted(changed))
        raise UnreadableWorkload(f"the weights of '{layer_of(operation)}' have the axis {names}, which the workload replaces")


def window_of(operation: Operation) -> Expr | None:
    """The number of tokens that each token of an attention sees at most; None if the operation does not say."""
    attention = Attention.of(operation)
    return attention.window if attention is not None and attention.says(Attention.window) else None


def pairs_counted(causal: str, query: Expr, context: Expr, window: Expr | None) -> Expr | None:
    """The scores of attention that count, of a sequence and head, where `query` of the `context` tokens are new; None if all do.

    `half` is half of them, rounded up. `exact` is all but those of a new token with later ones, of which there are `query*(query - 1)/2`;
    with a window token `i` of the new ones sees `min(context - query + i, window)`.
    """
    if causal == "half":
        return ceildiv(query * context, 2)
    if causal != "exact":
        return None
    if window is None:
        return query * context - query * (query - ONE) / 2
    before = context - query
    growing = maximum(ZERO, minimum(query, window - before))  # tokens that see all before them
    return growing * before + growing * (growing + ONE) / 2 + (query - growing) * window


def over_new_tokens(operation: Operation) -> bool:
    """Whether an attention is over new tokens: of a `kv_append`, or its own; another input's tokens are all visible."""
    if comes_from_append(operation) or "context" in operation.properties:
        return True
    query, key = operation.operands[0], operation.operands[-2]
    types = tensors_of((query, key))
    return len(types) < 2 or (types[0].dims[1] is types[1].dims[1] and bool(_arguments(query) & _arguments(key)))


def comes_from_append(operation: Operation) -> bool:
    """Whether K and V of an attention are what a `kv_append` of the model gives."""
    return KvAppend.of(operation.operands[-2].producer) is not None


def _arguments(value: Value) -> set[Value]:
    """The arguments of the block that a value depends on."""
    seen: set[Value] = set()
    stack = [value]
    while stack:
        current = stack.pop()
        if current not in seen:
            seen.add(current)
            stack += current.owner.operands if isinstance(current.owner, Operation) else ()
    return {value for value in seen if not isinstance(value.owner, Operation)}


def behind_last_token(block: Operation, phase: Phase) -> set[Value]:
    """The values of a block that depend on the last token of each sequence alone.

    Raises:
        UnreadableWorkload: an operation reads such a value beside one of all tokens.
    """
    found: set[Value] = set()
    for operation in ModelOperation.each(block.body):
        if operation.keeps_last_token and phase.last is not None:
            found.update(operation.results)
        elif not found.isdisjoint(operation.operands):
            _no_other_tokens(operation.operation, phase, found)
            found.update(operation.results)
    return found


def _no_other_tokens(operation: Operation, phase: Phase, last: Collection[Value]) -> None:
    """An operation reads no value of all tokens beside one of the last token.

    Raises:
        UnreadableWorkload: it does.
    """
    types = tensors_of(value for value in operation.operands if value not in last)
    if any(phase.type(type) is not phase.type(type, last=True) for type in types):
        raise UnreadableWorkload(f"'{layer_of(operation)}' reads all tokens beside the last one")
