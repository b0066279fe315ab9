"""Parts of a graph: what depends on activations, and of which nodes a node is a function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import attrs

from bpir.importer.stablehlo.evaluate import ARITHMETIC, ON_ELEMENTS
from bpir.importer.stablehlo.graph import Graph, Node, reachable, refused
from bpir.ir.diagnostic import DiagnosticError, fail

_VIEWS = ("reshape", "transpose", "convert", "broadcast_in_dim", "reduce_precision")
POINTWISE = ON_ELEMENTS | {"convert", "compare", "reduce_precision", "reshape"}
"""Kinds of nodes that do the same with each element."""
ROWWISE = POINTWISE | {"reduce", "broadcast_in_dim"}
_MOST = 400  # nodes of a part
_CANDIDATES = 40


def activations(graph: Graph) -> list[Node]:
    """The arguments that are no weights: those that have the shape of the first result.

    A square weight may have that shape, too: it is multiplied with what depends on another such argument.

    Raises:
        DiagnosticError: there is none.
    """
    result = graph.results[0]
    found = [node for node in graph.arguments if node.shape == result.shape and len(node.shape) > 1 and _is_float(node)]
    if not found:
        shape = "x".join(map(str, result.shape))
        message = f"no argument has the shape {shape} of the first result: export a block from its input to its output"
        raise fail(message, graph.span)
    if len(found) > 1:
        multiplied = {source(node.operands[1]) for node in reachable(graph.results) if node.kind == "dot_general"}
        found = [node for node in found if node not in multiplied] or found[:1]
    return found


def _is_float(node: Node) -> bool:
    return node.element.startswith(("f", "bf"))


def source(node: Node) -> Node:
    """What a node shows in another shape or precision."""
    while node.kind in _VIEWS:
        node = node.operands[0]
    return node


def active(graph: Graph, inputs: Iterable[Node]) -> set[Node]:
    """The nodes that depend on activations."""
    found = set(inputs)
    for node in reachable(graph.results):
        if any(operand in found for operand in node.operands):
            found.add(node)
    return found


def candidates(node: Node, moving: set[Node]) -> list[Node]:
    """The nodes of the same shape of which alone a node is arithmetic; the farthest first."""
    part = _part(node, moving)
    if len(part) > _MOST:
        return []
    found = [other for other in part if other is not node and other.shape == node.shape and _cuts(node, other, moving)]
    return found[:_CANDIDATES]


def _part(node: Node, moving: set[Node]) -> list[Node]:
    """The moving nodes behind a node, as far as there is arithmetic; operands first."""
    found: dict[Node, None] = {}
    stack = [(node, False)]
    while stack:
        current, ready = stack.pop()
        if current in found:
            continue
        if ready or current.kind not in ARITHMETIC:
            found[current] = None
            continue
        if len(found) > _MOST:
            break
        stack.append((current, True))
        stack += [(operand, False) for operand in reversed(current.operands) if operand in moving]
    return list(found)


def _cuts(node: Node, other: Node, moving: set[Node]) -> bool:
    """Whether all that a node needs of activations goes through another one."""
    seen: set[Node] = set()
    stack = [node]
    while stack:
        current = stack.pop()
        if current is other or current in seen:
            continue
        seen.add(current)
        if current.kind not in ARITHMETIC:
            return False
        stack += [operand for operand in current.operands if operand in moving]
    return True


@attrs.frozen
class Part:
    """What is between a node and the one that it is a function of.

    Attributes:
        kinds: the kinds of the nodes that move.
        uniform: whether all else are weights, and constants with one number.
        weights: the nodes that depend on weights, and which those that move read.
    """

    kinds: frozenset[str]
    uniform: bool
    weights: tuple[Node, ...]


def part_between(node: Node, other: Node, moving: set[Node]) -> Part:
    """The part of a graph that makes a node from another one."""
    seen, still = _walked(node, other, moving)
    leaves = {operand: [n for n in reachable([operand]) if not n.operands] for operand in still}
    uniform = all(n.kind == "argument" or (n.kind == "constant" and len(n.says["values"]) == 1) for found in leaves.values() for n in found)
    weights = tuple(operand for operand, found in leaves.items() if any(n.kind == "argument" for n in found))
    return Part(frozenset(n.kind for n in seen), uniform, weights)


def _walked(node: Node, other: Node, moving: set[Node]) -> tuple[list[Node], list[Node]]:
    """The nodes that move between a node and another one, and those that they read and that do not, each once."""
    seen: dict[Node, None] = {}
    still: dict[Node, None] = {}
    stack = [node]
    while stack:
        current = stack.pop()
        if current is other or current in seen:
            continue
        seen[current] = None
        for operand in current.operands:
            if operand in moving:
                stack.append(operand)
            else:
                still[operand] = None
    return list(seen), list(still)


def leaf(node: Node, moving: set[Node]) -> Node | None:
    """The one node that is no arithmetic and that a node depends on alone; None if there are several."""
    found = {other for other in _part(node, moving) if other.kind not in ARITHMETIC}
    return found.pop() if len(found) == 1 else None


def spread(shape: Sequence[int]) -> str:
    """A shape for messages."""
    return "x".join(map(str, shape)) or "a number"


def not_recognised(node: Node) -> DiagnosticError:
    """The error about a node that is no part of anything that is known."""
    what = node.name if node.kind != "argument" else f"the argument {node.name}"
    shape = spread(node.shape)
    message = f"'{what}' of {shape} ({prod(node.shape):,} elements) is no part of an operation that is known here"
    return refused(
        node, message, "known are matrix products with weights, attention, norms, rotary embeddings, activations, sums and products"
    )
