"""A function in StableHLO as a graph: calls put in place, attributes read, and each operation known by its kind.

An operation that has no meaning here stays in the graph with its name: whoever needs its value refuses it, at its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf, prod
from typing import Any

import attrs

from bpir.ir.attributes import Attribute, IntegerAttr, StringAttr, SymbolRefAttr
from bpir.ir.builtin.attributes import BuiltinTensorType, DenseArrayAttr, ElementsAttr
from bpir.ir.builtin.float_formats import to_fraction
from bpir.ir.diagnostic import DiagnosticError, Span, fail, note
from bpir.ir.operation import Operation, Value

MOST_CALLS = 1000
_DIALECTS = ("stablehlo.", "chlo.", "mhlo.")
_NOT_BLOCKS = {
    "while": "it is a loop (of jax.lax.scan, for example): export one block of the model",
    "case": "it is a branch: export what one of them does",
    "if": "it is a branch: export what one of them does",
    "custom_call": "a kernel of its own has no meaning that is known here",
    "rng": "random numbers, as of dropout, are not exported: export inference",
    "rng_bit_generator": "random numbers, as of dropout, are not exported: export inference",
    "all_reduce": "it is distributed already: export what one device would do",
    "all_gather": "it is distributed already: export what one device would do",
    "reduce_scatter": "it is distributed already: export what one device would do",
    "all_to_all": "it is distributed already: export what one device would do",
}


@attrs.frozen(eq=False)
class Node:
    """An operation with one result, an argument of the function, or a constant.

    Attributes:
        kind: the operation without its dialect, `argument`, or `constant`.
        says: what its attributes say, by name: dimensions, words, the number of a constant.
        name: what a user knows it by.
    """

    kind: str
    operands: tuple[Node, ...]
    shape: tuple[int, ...]
    element: str
    says: Mapping[str, Any]
    span: Span | None
    name: str = ""

    @property
    def elements(self) -> int:
        return prod(self.shape)


@attrs.frozen
class Graph:
    """A function: its arguments, and what it returns."""

    name: str
    arguments: Sequence[Node]
    results: Sequence[Node]
    span: Span | None


def graph_of(module: Operation) -> Graph:
    """The public function of a module, or its only one.

    Raises:
        DiagnosticError: there is none, or several; or a part of it can't be read.
    """
    functions = {_text(op.properties.get("sym_name")): op for op in module.body if op.name == "func.func"}
    public = [op for op in functions.values() if _text(op.properties.get("sym_visibility")) != "private"]
    if len(public) != 1:
        what = f"{len(public)} public functions" if functions else "no function ('func.func')"
        raise fail(f"expected one public function, as JAX exports it, found {what}", (public[1] if public else module).span)
    return _Reader(functions).function(public[0], _text(module.properties.get("sym_name")))


class _Reader:
    def __init__(self, functions: Mapping[str, Operation]) -> None:
        self.functions = functions
        self.calls = 0

    def function(self, function: Operation, title: str) -> Graph:
        block = function.regions[0].blocks[0]
        arguments = [self._argument(value, index, function) for index, value in enumerate(block.arguments)]
        return Graph(title, arguments, self._run(function, arguments), function.span)

    @staticmethod
    def _argument(value: Value, index: int, function: Operation) -> Node:
        shape, element = _shape(value, function)
        return Node("argument", (), shape, element, {"index": index}, function.span, f"%{value.name or f'arg{index}'}")

    def _run(self, function: Operation, arguments: Sequence[Node]) -> list[Node]:
        if len(function.regions[0].blocks) != 1:
            raise fail("a function with jumps can't be imported", function.span)
        block = function.regions[0].blocks[0]
        known: dict[Value, Node] = dict(zip(block.arguments, arguments, strict=True))
        for operation in block.operations:
            if any(value not in known for value in operation.operands):
                raise fail(f"'{operation.name}' uses a value before it is there", operation.span)
            operands = [known[value] for value in operation.operands]
            if operation.name in ("func.return", "return") and operands:
                return operands
            if not operation.results:
                continue
            results = self._call(operation, operands) if operation.name in ("func.call", "call") else [self._node(operation, operands)]
            if len(results) != len(operation.results):
                raise fail(f"'{operation.name}' gives {len(results)} values, not {len(operation.results)}", operation.span)
            known.update(zip(operation.results, results, strict=True))
        raise fail("a function that returns nothing can't be imported", function.span)

    def _call(self, operation: Operation, operands: Sequence[Node]) -> list[Node]:
        callee = operation.properties.get("callee")
        name = callee.path[-1] if isinstance(callee, SymbolRefAttr) else ""
        if name not in self.functions:
            raise fail(f"there is no function @{name}", operation.span)
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise fail(f"more than {MOST_CALLS} calls of functions, or calls that do not end", operation.span)
        callee_block = self.functions[name].regions[0].blocks[0]
        if [value.type for value in callee_block.arguments] != [value.type for value in operation.operands]:
            raise fail(f"@{name} takes other values than those that it is given", operation.span)
        return self._run(self.functions[name], operands)

    def _node(self, operation: Operation, operands: Sequence[Node]) -> Node:
        kind = next((operation.name.removeprefix(d) for d in _DIALECTS if operation.name.startswith(d)), operation.name)
        if kind in _NOT_BLOCKS:
            raise fail(f"'{operation.name}' can't be imported: {_NOT_BLOCKS[kind]}", operation.span)
        if len(operation.results) != 1:
            raise fail(f"'{operation.name}' with {len(operation.results)} results can't be imported", operation.span)
        shape, element = _shape(operation.results[0], operation)
        try:
            says = _READ[kind](operation) if kind in _READ else {}
        except (KeyError, IndexError, ValueError, TypeError, AttributeError):
            raise fail(f"the attributes of '{operation.name}' are not those that JAX writes", operation.span) from None
        return Node(kind, tuple(operands), shape, element, says, operation.span, operation.name)


def _shape(value: Value, operation: Operation) -> tuple[tuple[int, ...], str]:
    kind = value.type
    if not isinstance(kind, BuiltinTensorType) or kind.shape is None or any(size < 0 for size in kind.shape):
        raise fail(f"expected a tensor with a number for each dimension, found {kind.text}", operation.span)
    return kind.shape, kind.element.text


def _text(attribute: Attribute | None) -> str:
    return attribute.value if isinstance(attribute, StringAttr) else ""


# --- attributes


def _integers(operation: Operation, name: str) -> tuple[int, ...]:
    attribute = operation.properties.get(name) or operation.attributes[name]
    if isinstance(attribute, DenseArrayAttr):
        return attribute.values
    assert attribute is not None
    return tuple(int(text) for text in re.findall(r"-?\d+", attribute.text.partition(" : ")[0].partition(":")[2] or attribute.text))


def _integer(operation: Operation, name: str) -> int:
    attribute = operation.properties.get(name) or operation.attributes[name]
    if not isinstance(attribute, IntegerAttr):
        raise TypeError(name)
    return attribute.value


def _word(operation: Operation, name: str) -> str:
    attribute = operation.properties.get(name) or operation.attributes[name]
    found = re.search(r"(\w+)>?\s*$", attribute.text.rstrip(">"))
    if found is None:
        raise ValueError(name)
    return found[1]


_DIMENSIONS = re.compile(r"(\w+)_dimensions = \[([\d, ]*)\]")


def _dot(operation: Operation) -> dict[str, Any]:
    attribute = operation.properties.get("dot_dimension_numbers") or operation.attributes["dot_dimension_numbers"]
    found = {name: tuple(map(int, re.findall(r"\d+", numbers))) for name, numbers in _DIMENSIONS.findall(attribute.text)}
    names = ("lhs_batching", "rhs_batching", "lhs_contracting", "rhs_contracting")
    return {name: found.get(name, ()) for name in names}


def _reduced(operation: Operation) -> dict[str, Any]:
    body = operation.regions[0].blocks[0].operations
    kind = body[0].name.rpartition(".")[2]
    if len(body) != 2 or len(operation.operands) != 2 or kind not in ("add", "maximum", "minimum", "and", "or", "multiply"):
        raise fail(f"a reduction other than by a sum or a maximum can't be imported, found '{body[0].name}'", operation.span)
    return {"dimensions": _integers(operation, "dimensions"), "by": kind}


def _constant(operation: Operation) -> dict[str, Any]:
    attribute = operation.properties.get("value") or operation.attributes["value"]
    if not isinstance(attribute, ElementsAttr) or attribute.kind != "dense":
        raise TypeError("value")
    kind = attribute.type
    assert isinstance(kind, BuiltinTensorType)
    texts = re.findall(r'[^\[\],\s"]+', attribute.body)
    if attribute.body.startswith('"'):
        raise fail("a constant with many elements in hexadecimal digits can't be imported: pass the array as an argument", operation.span)
    return {"values": tuple(_number(text, kind.element.text) for text in texts)}


def _number(text: str, element: str) -> float:
    if text in ("true", "false"):
        return float(text == "true")
    if text.startswith("0x"):
        bits = int(text, 16)
        if element.startswith(("i", "ui", "si")):
            return float(bits)
        value = to_fraction(bits, element)
        negative = bits >> (4 * (len(text) - 2) - 1)
        return float(value) if value is not None else -inf if negative else inf
    return float(text)


_READ: dict[str, Callable[[Operation], dict[str, Any]]] = {
    "constant": _constant,
    "dot_general": _dot,
    "reduce": _reduced,
    "broadcast_in_dim": lambda op: {"dimensions": _integers(op, "broadcast_dimensions")},
    "transpose": lambda op: {"permutation": _integers(op, "permutation")},
    "slice": lambda op: {name: _integers(op, f"{name}_indices") for name in ("start", "limit")} | {"strides": _integers(op, "strides")},
    "concatenate": lambda op: {"dimension": _integer(op, "dimension")},
    "iota": lambda op: {"dimension": _integer(op, "iota_dimension")},
    "compare": lambda op: {"direction": _word(op, "comparison_direction")},
    "reverse": lambda op: {"dimensions": _integers(op, "dimensions")},
}


def refused(node: Node, why: str, *notes: str) -> DiagnosticError:
    """The error that says of a node why it can't be imported."""
    return fail(why, node.span, *(note(text) for text in notes))


def reachable(results: Iterable[Node]) -> list[Node]:
    """Every node that the results need, operands first."""
    found: dict[Node, None] = {}
    stack = [(node, False) for node in reversed(list(results))]
    while stack:
        node, ready = stack.pop()
        if node in found:
            continue
        if ready:
            found[node] = None
        else:
            stack.append((node, True))
            stack += [(operand, False) for operand in reversed(node.operands)]
    return list(found)
