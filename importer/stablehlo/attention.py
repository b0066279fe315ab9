"""Attention in a graph: a product of two activations, a softmax of its scores, and a product with a third one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import TYPE_CHECKING

from bpir.importer.stablehlo.axes import Axis, resolved, unify
from bpir.importer.stablehlo.block import Made, Seen, Step
from bpir.importer.stablehlo.evaluate import Evaluation, NotArithmetic
from bpir.importer.stablehlo.graph import Node, refused
from bpir.importer.stablehlo.region import leaf

if TYPE_CHECKING:
    from bpir.importer.stablehlo.lower import Lowering

_CHANGES = ("altered", "scale", "softcap")
_HIDDEN = -1e4  # a score that is lower counts as hidden
_MOST_TOKENS = 200_000
_ALL_PAIRS = 48  # tokens, up to which every pair is looked at
_MANY = "a product of two activations is known as attention only: scores of Q and K, a softmax, and a product with V"


def attention(node: Node, lowering: Lowering) -> Seen:
    """The scores of two activations, or what attention makes of a softmax of scores and a value."""
    seen = [lowering.need(operand) for operand in node.operands]
    for side in (0, 1):
        step = seen[side].value.by
        if step is not None and step.kind == "softmax":
            return _values(node, side, seen[side], seen[1 - side], lowering)
    return _scores(node, seen[0], seen[1])


def _dims(node: Node, side: int, seen: Seen, which: str) -> list[tuple[Axis, ...]]:
    return [seen.dims[d] for d in node.says[f"{('lhs', 'rhs')[side]}_{which}"]]


def _free(node: Node, side: int, seen: Seen) -> list[tuple[Axis, ...]]:
    taken = {*node.says[f"{('lhs', 'rhs')[side]}_contracting"], *node.says[f"{('lhs', 'rhs')[side]}_batching"]}
    return [axes for d, axes in enumerate(seen.dims) if d not in taken]


def _scores(node: Node, left: Seen, right: Seen) -> Seen:
    """`Q K^T`, either of which may be Q: its tokens are axes of their own until a softmax says which it is over."""
    for one, other in zip(_dims(node, 0, left, "batching"), _dims(node, 1, right, "batching"), strict=True):
        _meet(one, other)
    contracted = [resolved(a for axes in _dims(node, side, seen, "contracting") for a in axes) for side, seen in ((0, left), (1, right))]
    for seen, axes in zip((left, right), contracted, strict=True):
        if axes != resolved(seen.value.axes)[-1:]:
            raise refused(node, _MANY)
    unify(*contracted)
    tokens = [Axis(seen.value.axes[1].size) for seen in (left, right)]
    heads = max((resolved(seen.value.axes[2:])[:-1] for seen in (left, right)), key=len)
    step = Step("scores", [left.value, right.value], span=node.span, features=[[tokens[0]], [tokens[1]]])
    step.results = [Made([left.value.axes[0], tokens[0], *heads, tokens[1]], step)]
    dims = list(_dims(node, 0, left, "batching"))
    for side, seen in ((0, left), (1, right)):
        own = resolved(seen.value.axes[1:2])
        dims += [(tokens[side],) if resolved(axes) == own else axes for axes in _free(node, side, seen)]
    return Seen(step.result, dims)


def _meet(one: tuple[Axis, ...], other: tuple[Axis, ...]) -> None:
    """Heads of Q meet those of K or V, which may repeat a head for several of Q."""
    if any(axis.repeats for axis in resolved(one)):
        unify(other, one, heads=True)
    else:
        unify(one, other, heads=True)


def _values(node: Node, side: int, weights: Seen, values: Seen, lowering: Lowering) -> Seen:
    """The product with V, which makes the whole attention."""
    softmax = weights.value.by
    assert softmax is not None
    scores, softcap = _scores_of(node, softmax)
    over = softmax.over
    tokens = [features[0] for features in scores.features]
    if over not in tokens or [resolved(a) for a in _dims(node, side, weights, "contracting")] != [[over]]:
        raise refused(node, _MANY)
    key = tokens.index(over)
    q, k = _unscaled(scores.operands[1 - key]), _unscaled(scores.operands[key])
    if [resolved(a) for a in _dims(node, 1 - side, values, "contracting")] != [resolved(values.value.axes[1:2])]:
        raise refused(node, _MANY)
    for one, other in zip(_dims(node, side, weights, "batching"), _dims(node, 1 - side, values, "batching"), strict=True):
        _meet(one, other)
    v = values.value
    if resolved(v.axes)[-1].size == resolved(q.axes)[-1].size:  # nothing tells the sizes of heads apart
        unify(resolved(q.axes)[-1:], resolved(v.axes)[-1:])
    step = Step("attention", [q, k, v], span=node.span, masked=softmax.masked, window=softmax.window, softcap=softcap)
    heads, size = resolved(q.axes[2:])[:-1], resolved(v.axes[2:])[-1]
    step.results = [Made([*q.axes[:2], *heads, size], step)]
    for operand in (k, v):
        _check_heads(node, heads, resolved(operand.axes[2:])[:-1], operand, lowering)
    query = tokens[1 - key]
    parts = [_dims(node, side, weights, "batching"), *([[]] * 2)]
    parts[1 + side] = [(q.axes[1],) if resolved(axes) == [query] else axes for axes in _free(node, side, weights)]
    parts[2 - side] = _free(node, 1 - side, values)
    return Seen(step.result, [axes for part in parts for axes in part])


def _check_heads(node: Node, heads: list[Axis], own: list[Axis], operand: Made, lowering: Lowering) -> None:
    """K and V have the heads of Q, or one for several of them, or one for all."""
    if own == heads:
        return
    if own == heads[:-1] and len(heads) == 2:
        lowering.grouped[heads[0]] = heads[1]
    elif not own and len(heads) == 1:
        lowering.single.append(operand)
    else:
        raise refused(node, "the heads of K and V are not those of Q, nor one for as many of Q each")


def _scores_of(node: Node, softmax: Step) -> tuple[Step, bool]:
    """The scores that a softmax is of, and whether they are bounded by a hyperbolic tangent."""
    step, softcap = softmax.operands[0].by, False
    while step is not None and step.kind in _CHANGES:
        softcap = softcap or step.kind == "softcap"
        step = step.operands[0].by
    if step is None or step.kind != "scores":
        raise refused(node, _MANY)
    return step, softcap


def _unscaled(value: Made) -> Made:
    """Q or K before it is multiplied with a number, which is the scaling of the scores."""
    while value.by is not None and value.by.kind == "scale":
        value = value.by.operands[0]
    return value


# --- masks


def masked(node: Node, of: Node, lowering: Lowering) -> tuple[bool, int]:
    """Whether a softmax of scores sees only tokens that come before, and how many of them: 0 for all."""
    product = leaf(of, lowering.moving)
    if product is None or product.kind != "dot_general":
        return False, 0
    dims = [resolved(axes) for axes in lowering.seen[of].dims]
    tokens = [axis for axes in (lowering.seen[product].value.by or Step("", [])).features for axis in axes]
    query = next((d for d, axes in enumerate(dims[:-1]) if axes and axes[0] in tokens), None)
    if query is None or dims[-1][0] not in tokens:
        return False, 0
    if of.shape[-1] > _MOST_TOKENS:
        raise refused(of, f"a mask of more than {_MOST_TOKENS:,} tokens is not looked at: export a shorter sequence")
    try:
        rows = _rows(of, product, query)
    except NotArithmetic:
        raise refused(of, "what is done to the scores before the softmax can't be computed: is the mask an argument?") from None
    except _AddedError:
        raise refused(
            of, "something is added to the scores before the softmax (ALiBi, relative positions): that can't be imported"
        ) from None
    return _shape_of_mask(of, rows)


class _AddedError(Exception):
    """Scores get something added that is no mask."""


def _rows(of: Node, product: Node, query: int) -> dict[int, tuple[int, ...]]:
    """The tokens that some tokens see."""
    count, keys = of.shape[query], of.shape[-1]
    found = {}
    for row in _chosen(count):
        index = [size - 1 for size in of.shape]
        index[query] = row
        runs = [Evaluation({product: lambda _, score=score: score}) for score in (0.0, 1.0)]  # type: ignore[misc]
        found[row] = tuple(key for key in range(keys) if _sees([run.at(of, (*index[:-1], key)) for run in runs]))
    return found


def _chosen(count: int) -> Iterator[int]:
    yield from range(count) if count <= _ALL_PAIRS else sorted({0, 1, 2, count // 2 - 1, count // 2, count - 3, count - 2, count - 1})


def _sees(scores: list[float]) -> bool:
    zero, one = scores
    if zero < _HIDDEN:
        return False
    if not isfinite(one) or one == zero or abs(zero) > 1e-6:
        raise _AddedError
    return True


def _shape_of_mask(of: Node, rows: Mapping[int, tuple[int, ...]]) -> tuple[bool, int]:
    count = of.shape[-1]
    if all(len(seen) == count for seen in rows.values()):
        return False, 0
    last = max(rows)
    window = len(rows[last]) if len(rows[last]) < last + 1 else 0
    for row, seen in rows.items():
        first = max(0, row - window + 1) if window else 0
        if seen != tuple(range(first, row + 1)):
            raise refused(of, "a mask that is neither causal nor a causal window can't be imported")
    return True, window
