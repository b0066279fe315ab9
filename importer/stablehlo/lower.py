"""From the graph of a function to the operations of a block.

Each node that is needed becomes a view of a value, beginning at the results. Matrix products and views are read from the graph; what stands
between them is recognised by its values (`functions.py`). What is not recognised is refused at its place, and nothing is left out.
"""

from __future__ import annotations

from collections.abc import Callable

from bpir.importer.stablehlo.attention import attention, masked
from bpir.importer.stablehlo.axes import Axis, AxisError, regrouped, resolved, unify
from bpir.importer.stablehlo.block import Made, Seen, Step
from bpir.importer.stablehlo.evaluate import ARITHMETIC, Evaluation, Index, NotArithmetic
from bpir.importer.stablehlo.functions import ACTIVATIONS, Found, recognised
from bpir.importer.stablehlo.graph import Graph, Node, reachable, refused
from bpir.importer.stablehlo.region import activations, active, candidates, not_recognised, spread


class _Needs(Exception):
    """A node has to be lowered first."""

    def __init__(self, node: Node) -> None:
        self.node = node


class Lowering:
    """Makes the operations of a block.

    Attributes:
        inputs: the arguments of the block, and the axes of the first one: batch, tokens, width.
        results: what it returns.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        arguments = activations(graph)
        self.first = arguments[0].says["index"]
        self.moving = active(graph, arguments)
        self.users: dict[Node, list[Node]] = {}
        for node in reachable(graph.results):
            for operand in dict.fromkeys(node.operands):
                self.users.setdefault(operand, []).append(node)
        self.seen: dict[Node, Seen] = {}
        self.recognitions: dict[Node, Found | None] = {}
        self.grouped: dict[Axis, Axis] = {}  # heads of K and V, and how many of Q each serves
        self.single: list[Made] = []  # K and V with one head
        self.inputs: list[Made] = []
        for argument in arguments:
            self.inputs.append(self._input(argument))
        self.results = [self._result(node) for node in graph.results]

    def _input(self, node: Node) -> Made:
        if len(node.shape) not in (2, 3):
            raise refused(node, f"the input of a block is batch x tokens x width, or tokens x width, not {spread(node.shape)}")
        shape = node.shape if len(node.shape) == 3 else (1, *node.shape)
        axes = [Axis(size) for size in shape]
        if self.inputs:  # of the same shape as the first
            axes = [*self.inputs[0].axes]
        made = Made(axes)
        dims = [(axis,) if axis.size > 1 else () for axis in axes]
        self.seen[node] = Seen(made, dims[3 - len(node.shape) :])
        return made

    def _result(self, node: Node) -> Made:
        found = self._lowered(node)
        if node not in self.moving:
            raise refused(node, "a result that does not depend on the input can't be imported")
        wanted = [axis for dimension in found.dims for axis in resolved(dimension)]
        if wanted != [axis for axis in resolved(found.value.axes) if axis.size > 1]:
            raise refused(node, "a result with its dimensions in another order than batch, tokens, features can't be imported")
        if node.shape == self.graph.arguments[self.first].shape:  # what a block returns can go to the next one
            unify(self.inputs[0].axes, found.value.axes)
        return found.value

    def _lowered(self, node: Node) -> Seen:
        """The view of a value that a node is; what it needs comes first, without recursion."""
        stack = [node]
        while stack:
            current = stack[-1]
            if current in self.seen:
                stack.pop()
                continue
            try:
                self.seen[current] = self._lower(current)
                stack.pop()
            except _Needs as need:
                stack.append(need.node)
            except AxisError:
                raise refused(current, f"the dimensions of '{current.name}' do not fit those of its operands") from None
        return self.seen[node]

    def need(self, node: Node) -> Seen:
        """The view that an operand is.

        Raises:
            _Needs: it is not known yet.
        """
        if node not in self.seen:
            raise _Needs(node)
        return self.seen[node]

    def _lower(self, node: Node) -> Seen:
        if node not in self.moving:
            raise refused(node, f"'{node.name}' depends on no activation: a weight is here where a value of the block is expected")
        if node.kind in _RULES and (node.operands[0].kind != "concatenate" or self._recognised(node) is None):
            return _RULES[node.kind](self, node)
        if node.kind not in ARITHMETIC:
            raise not_recognised(node)
        found = self._recognised(node)
        if found is not None:
            return self._function(node, found)
        return self._sum_or_product(node)

    def _sum_or_product(self, node: Node) -> Seen:
        """Arithmetic that is no function: a sum or product of two values, a bias, or what changes nothing but a number."""
        moving = [operand for operand in node.operands if operand in self.moving]
        if node.kind in ("add", "multiply") and len(moving) == 2:
            return self._both(node)
        if node.kind == "add" and len(moving) == 1:
            with_bias = self._bias(node, moving[0])
            if with_bias is not None:
                return with_bias
        if len(moving) == 1 and moving[0].shape == node.shape:
            return self._altered(node, self.need(moving[0]))
        raise not_recognised(node)

    def _recognised(self, node: Node) -> Found | None:
        if node not in self.recognitions:
            self.recognitions[node] = recognised(node, candidates(node, self.moving), self.moving)
        return self.recognitions[node]

    # --- functions of one value

    def _function(self, node: Node, found: Found) -> Seen:
        operand = self.need(found.of)
        if found.lacks:
            kind = found.kind.replace("_", " ")
            raise refused(node, f"a {kind} without {found.lacks} can't be imported: an operation of the model has it")
        step = Step(found.kind, [operand.value], span=node.span, factor=found.number)
        if found.kind == "softmax":
            step.over = self._tokens(operand)
            step.masked, step.window = masked(node, found.of, self)
        elif found.kind in ("layer_norm", "rms_norm"):
            step.over = self._over(node, operand)
        elif found.kind == "rope":
            self._last(node, operand)
            step.turned = int(found.number)
        elif found.kind not in (*ACTIVATIONS, "scale", "softcap"):
            raise not_recognised(node)
        return self._made(step, operand)

    @staticmethod
    def _tokens(operand: Seen) -> Axis | None:
        """The one axis that a softmax is over."""
        last = resolved(operand.dims[-1])
        return last[0] if len(last) == 1 else None

    def _over(self, node: Node, operand: Seen) -> Axis | None:
        """The axis that a norm is over; None if these are all features."""
        last, features = resolved(operand.dims[-1]), resolved(operand.value.axes[2:])
        if last == features:
            return None
        return self._last(node, operand)

    def _last(self, node: Node, operand: Seen) -> Axis:
        last, features = resolved(operand.dims[-1]), resolved(operand.value.axes[2:])
        if len(last) != 1 or last != features[-1:]:
            raise refused(node, "this is over a dimension that is not the last of the features")
        return last[0]

    def _altered(self, node: Node, operand: Seen) -> Seen:
        """A value that is changed by weights and constants, as scores are by a mask: attention asks what was done."""
        return self._made(Step("altered", [operand.value], span=node.span, node=node), operand)

    def _made(self, step: Step, operand: Seen) -> Seen:
        step.results = [Made(list(operand.value.axes), step)]
        return Seen(step.result, operand.dims)

    # --- two values

    def _both(self, node: Node) -> Seen:
        one, other = (self.need(operand) for operand in node.operands)
        for a, b in zip(one.dims, other.dims, strict=True):
            unify(a, b)
        axes = [resolved(seen.value.axes) for seen in (one, other)]
        if [a for a in axes[0] if a.size > 1] != [a for a in axes[1] if a.size > 1]:
            raise refused(node, "two values with their dimensions in different orders can't be added or multiplied")
        step = Step("add" if node.kind == "add" else "mul", [one.value, other.value], span=node.span)
        return self._made(step, one)

    def _bias(self, node: Node, operand: Node) -> Seen | None:
        """A linear with the bias that is added to it here, or to a sum that it is a part of."""
        seen = self.need(operand)
        found = self._without_bias(operand, node)
        if found is None:
            return None
        weight = next(other for other in node.operands if other is not operand)
        features = set(resolved(seen.value.axes[2:]))
        for dimension, axes in enumerate(seen.dims):
            expected = set(resolved(axes)) <= features
            if axes and _depends(weight, dimension) != expected:
                raise refused(node, "what is added to a matrix product here is no bias: a number for each feature, the same for all tokens")
        found.bias = True
        return seen

    def _without_bias(self, node: Node, by: Node) -> Step | None:
        """The linear without a bias that a node is, or a sum with it: the last one added, which nothing else reads."""
        if node not in self.moving or [user for user in self.users[node] if user is not by]:
            return None
        if node.kind == "dot_general":
            step = self.seen[node].value.by
            return step if step is not None and step.kind == "linear" and not step.bias else None
        if node.kind == "add" or node.kind in ("reshape", "transpose", "convert"):
            found = (self._without_bias(operand, node) for operand in reversed(node.operands))
            return next((step for step in found if step is not None), None)
        return None

    # --- views

    def _same(self, node: Node) -> Seen:
        return self.need(node.operands[0])

    def _reshape(self, node: Node) -> Seen:
        operand = self.need(node.operands[0])
        axes = [axis for dimension in operand.dims for axis in dimension]
        return Seen(operand.value, regrouped(axes, node.shape))

    def _transpose(self, node: Node) -> Seen:
        operand = self.need(node.operands[0])
        return Seen(operand.value, [operand.dims[d] for d in node.says["permutation"]])

    def _broadcast(self, node: Node) -> Seen:
        operand = self.need(node.operands[0])
        dims: list[tuple[Axis, ...]] = [(Axis(size, repeats=True),) if size > 1 else () for size in node.shape]
        for axes, d, size in zip(operand.dims, node.says["dimensions"], node.operands[0].shape, strict=True):
            if size > 1:
                dims[d] = axes
        return Seen(operand.value, dims)

    def _slice(self, node: Node) -> Seen:
        """A part of the features of a linear, of which other slices have the rest: one of its results."""
        whole = node.operands[0]
        operand = self.need(whole)
        cut = [d for d, (size, all_) in enumerate(zip(node.shape, whole.shape, strict=True)) if size < all_]
        step = operand.value.by
        pieces = self._pieces(whole, cut[0]) if len(cut) == 1 else []
        if step is None or step.kind != "linear" or len(step.results) > 1 or not pieces or not _is_first(operand, cut[0]):
            raise refused(
                node, "a slice is known only where slices cut all first features of one matrix product, as of Q, K and V together"
            )
        step.results, step.features = [], []
        for piece in pieces:
            self.seen[piece] = self._piece(step, operand, piece.shape, cut[0])
        return self.seen[node]

    def _pieces(self, whole: Node, cut: int) -> list[Node]:
        """The slices of a node along a dimension, in order; none if they are not all that reads it, or leave something out."""
        pieces = sorted((user for user in self.users[whole] if user.kind == "slice"), key=lambda user: user.says["start"])
        starts, stops = ([piece.says[end][cut] for piece in pieces] for end in ("start", "limit"))
        complete = pieces and starts == [0, *stops[:-1]] and stops[-1] == whole.shape[cut]
        return pieces if complete and len(pieces) == len(self.users[whole]) else []

    @staticmethod
    def _piece(step: Step, operand: Seen, shape: Index, cut: int) -> Seen:
        """One of the results: with axes of its own in place of those of the whole."""
        first = [Axis(shape[cut])] if shape[cut] > 1 else []
        taken = set(resolved(operand.dims[cut]))
        rest = {axis: Axis(axis.size) for axis in resolved(operand.value.axes[2:]) if axis not in taken}
        made = Made([*operand.value.axes[:2], *first, *rest.values()], step)
        step.results.append(made)
        step.features.append([*first, *rest.values()])
        dims = [tuple(first) if d == cut else tuple(rest.get(a, a) for a in resolved(axes)) for d, axes in enumerate(operand.dims)]
        return Seen(made, dims)

    # --- matrix products

    def _dot(self, node: Node) -> Seen:
        left, right = (operand in self.moving for operand in node.operands)
        if left and right:
            return attention(node, self)
        return self._linear(node, 0 if left else 1)

    def _linear(self, node: Node, side: int) -> Seen:
        names = ("lhs", "rhs")
        own, other = names[side], names[1 - side]
        operand, weight = self.need(node.operands[side]), node.operands[1 - side]
        says = node.says
        if says["lhs_batching"]:
            raise refused(node, "a matrix product with a weight of its own for each of a batch dimension can't be imported")
        contracted = {axis for d in says[f"{own}_contracting"] for axis in resolved(operand.dims[d])}
        features = {axis for axis in resolved(operand.value.axes[2:]) if axis.size > 1}
        if contracted != features:
            raise refused(node, "a matrix product with a weight contracts all features of its operand, and no others: this one does not")
        produced = [Axis(size) for d, size in enumerate(weight.shape) if d not in says[f"{other}_contracting"]]
        kept = [operand.dims[d] for d in range(len(operand.dims)) if d not in says[f"{own}_contracting"]]
        step = Step("linear", [operand.value], span=node.span, features=[produced])
        step.results = [Made([*operand.value.axes[:2], *produced], step)]
        made = [(axis,) if axis.size > 1 else () for axis in produced]
        return Seen(step.result, [*kept, *made] if side == 0 else [*made, *kept])


def _is_first(operand: Seen, cut: int) -> bool:
    """Whether a dimension begins with the first features of the value."""
    return resolved(operand.dims[cut])[:1] == resolved(operand.value.axes[2:])[:1]


def _depends(node: Node, dimension: int) -> bool:
    """Whether the elements of a weight differ along a dimension."""
    here = [0] * len(node.shape)
    there = [*here]
    there[dimension] = node.shape[dimension] - 1
    run = Evaluation({})
    try:
        return run.at(node, tuple(here)) != run.at(node, tuple(there))
    except NotArithmetic:
        raise refused(node, f"'{node.name}' can't be computed from the weights: it is not known what is added here") from None


_RULES: dict[str, Callable[[Lowering, Node], Seen]] = {
    "convert": Lowering._same,
    "reduce_precision": Lowering._same,
    "reshape": Lowering._reshape,
    "transpose": Lowering._transpose,
    "broadcast_in_dim": Lowering._broadcast,
    "slice": Lowering._slice,
    "dot_general": Lowering._dot,
}
