"""A block of a model as steps that run one after the other, each an operation of the table of semantics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import attrs

from bpir.dialects.bp import ExprAttr, TensorType
from bpir.dialects.model.attention import Attention
from bpir.dialects.model.linear import Linear
from bpir.ir.attributes import StringAttr, UnitAttr
from bpir.ir.diagnostic import Span, fail
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation, Value
from bpir.run.operations import SEMANTICS


@attrs.frozen(eq=False)
class Node:
    """One operation of a model, in numbers.

    Attributes:
        operands: values, by number.
        says, words, sizes: its flags and choices (`scores sigmoid`), words and expressions.
        windows: of a `kv_append`, those of the attentions that read what it gives; None where one sees all.
        shapes: of a linear, the dimensions that each result gets.
        made, read: of each result, and operand, the dimensions behind batch and tokens.
        new_tokens: whether the second operand has the tokens of the block's first input: in inference the new ones.
        roles: what each result is read as (`query`), empty if as nothing that has a name.
    """

    kind: str
    layer: str
    operands: tuple[int, ...]
    says: frozenset[str]
    words: Mapping[str, str]
    sizes: Mapping[str, int]
    shapes: tuple[tuple[int, ...], ...]
    made: tuple[tuple[int, ...], ...]
    roles: tuple[str, ...]
    new_tokens: bool
    windows: tuple[int | None, ...]
    span: Span | None
    read: tuple[tuple[int, ...], ...] = ()


@attrs.frozen(eq=False)
class Step:
    """One operation that a task may do.

    Attributes:
        layer: that of the model operation that it comes from; `part` names the step where that falls apart.
        twin: how many steps before it have the same layer and part, as where a linear gives the queries of two attentions.
        features: of a linear, the dimensions that it produces.
        own: the sizes that weights alone have.
        causal: how scores count, where they are of new tokens; `window` tokens are seen, or held by a cache, if it is given.
        tied: the layer whose table it reads as its weight, if not its own.
        sizes: the expressions of the operation, in numbers.
    """

    index: int
    kind: str
    layer: str
    part: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    says: frozenset[str]
    features: tuple[int, ...]
    span: Span | None
    twin: int = 0
    own: tuple[int, ...] = ()
    tied: str = ""
    sizes: Mapping[str, int] = attrs.field(factory=dict)
    causal: str = ""
    window: int | None = None

    @property
    def name(self) -> str:
        """Tells its random numbers from those of other steps."""
        return f"{self.layer}/{self.part}" + (f" {self.twin}" if self.twin else "")


@attrs.define(eq=False)
class Builder:
    """Collects the steps of a block; `last` says that a last token is kept alone, `causal` which scores of new tokens count."""

    training: bool
    last: bool = False
    causal: str = ""
    steps: list[Step] = attrs.field(factory=list)
    values: int = 0
    makers: dict[int, str] = attrs.field(factory=dict)
    parts: dict[tuple[str, str], int] = attrs.field(factory=dict)

    def new_value(self) -> int:
        self.values += 1
        return self.values - 1

    def maker(self, value: int) -> str:
        """The kind of the step that makes a value; empty for an input."""
        return self.makers.get(value, "")

    def step(
        self,
        kind: str,
        node: Node,
        operands: tuple[int, ...],
        part: str = "",
        says: frozenset[str] | None = None,
        features: tuple[int, ...] = (),
        results: int = 1,
        causal: bool = False,
        window: int | None = None,
    ) -> int:
        """Add a step; returns its first result."""
        made = tuple(self.new_value() for _ in range(results))
        self.makers.update(dict.fromkeys(made, kind))
        flags = node.says if says is None else says
        twin = self.parts.get((node.layer, part), 0)
        self.parts[node.layer, part] = twin + 1
        own = tuple(node.sizes[name] for name in SEMANTICS[kind].own_sizes if name in node.sizes)
        tied, index, counted = node.words.get("tied", ""), len(self.steps), self.causal if causal else ""
        place = (index, kind, node.layer, part, operands, made, flags, features, node.span, twin)
        self.steps.append(Step(*place, own, tied, node.sizes, counted, window))
        return made[0]

    def append(self, node: Node, key: int, value: int, window: int | None = None) -> list[int]:
        """Add the step that puts new K and V into the cache, which holds no more than a window; returns all that is visible."""
        part = "" if node.kind == "kv_append" else "kv_append"
        first = self.step("kv_append", node, (key, value), part, results=2, window=window)
        return [first, first + 1]


@attrs.frozen(eq=False)
class Graph:
    """The steps of a block, and which values are its inputs and results; the values are numbered in order."""

    steps: tuple[Step, ...]
    inputs: tuple[int, ...]
    results: tuple[int, ...]
    training: bool


def graph_of(
    block: Operation, number: Callable[[Expr], int], training: bool, last: bool = False, causal: str = "", expert_ranks: int = 1
) -> Graph:
    """The steps of a `model.block`; `last` says that `last_token` is no identity, `causal` which scores of new tokens count, `expert_ranks`
    how many ranks share experts, among which routing is balanced.

    Raises:
        DiagnosticError: an operation has no semantics, or a size is no positive integer.
    """
    builder = Builder(training, last, causal)
    values: dict[Value, int] = {argument: builder.new_value() for argument in block.regions[0].blocks[0].arguments}
    inputs = tuple(values.values())
    results: tuple[int, ...] = ()
    for operation in block.body:
        kind = operation.kind
        operands = tuple(values[v] for v in operation.operands)
        if kind == "return":
            results = operands
            continue
        if kind not in SEMANTICS:
            raise fail(f"'{operation.name}' can't run: no semantics says what it computes", operation.span)
        node = _node(operation, kind, operands, block, number)
        node = attrs.evolve(node, sizes={**node.sizes, "expert ranks": expert_ranks}) if expert_ranks > 1 else node
        values.update(zip(operation.results, SEMANTICS[kind].expand(builder, node), strict=True))
    return Graph(tuple(builder.steps), inputs, results, training)


def _node(operation: Operation, kind: str, operands: tuple[int, ...], block: Operation, number: Callable[[Expr], int]) -> Node:
    says, words, sizes = _properties(operation, number)
    shapes = tuple(tuple(map(number, shape)) for shape in _shapes(operation))
    if not shapes and kind == "transformer_block":
        type = operation.operands[0].type
        assert isinstance(type, TensorType)
        shapes = (tuple(map(number, type.dims[2:])),)
    roles = tuple(_role(value, block) for value in operation.results)
    tokens = [
        v.type.dims[1] for v in (*block.regions[0].blocks[0].arguments[:1], *operation.operands[1:2]) if isinstance(v.type, TensorType)
    ]
    made, read = (
        tuple(tuple(map(number, v.type.dims[2:])) for v in values if isinstance(v.type, TensorType))
        for values in (operation.results, operation.operands)
    )
    new = len(set(tokens)) == 1
    windows = tuple(_windows(operation, block, number)) if kind == "kv_append" else (sizes.get("window"),)
    layer = words.get("layer", "")
    return Node(kind, layer, operands, frozenset(says), words, sizes, shapes, made, roles, new, windows, operation.span, read)


def _properties(operation: Operation, number: Callable[[Expr], int]) -> tuple[set[str], dict[str, str], dict[str, int]]:
    """What an operation says, its words and its sizes, each by name."""
    says: set[str] = set()
    words: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for name, attribute in operation.properties.items():
        if isinstance(attribute, UnitAttr):
            says.add(name)
        elif isinstance(attribute, StringAttr):
            words[name] = attribute.value
            if name not in ("layer", "tied"):
                says.add(f"{name} {attribute.value}")
        elif isinstance(attribute, ExprAttr):
            sizes[name] = number(attribute.expr)
            says.add(name)
        if name == "tied":
            says.add(name)
    return says, words, sizes


def _windows(append: Operation, block: Operation, number: Callable[[Expr], int]) -> Iterator[int | None]:
    """The number of earlier tokens that each reader of an append's result sees; None if it sees all."""
    for reader in block.body:
        if any(value in append.results for value in reader.operands):
            attention = Attention.of(reader)
            yield number(attention.window) if attention is not None and attention.says(Attention.window) else None


def _shapes(operation: Operation) -> list[tuple[Expr, ...]]:
    """The features of each result of a linear; none of another operation."""
    linear = Linear.of(operation)
    return linear.features if linear is not None else []


def _role(value: Value, block: Operation) -> str:
    """The name that the first operation which names its operands gives to the value, or to what is made of it alone and is as large."""
    same = [value]
    for reader in block.body:
        semantics = SEMANTICS.get(reader.kind)
        if semantics is None:
            continue
        for index, operand in enumerate(reader.operands):
            if operand not in same:
                continue
            if semantics.roles:
                return semantics.roles[index]
            alone = semantics.lanes or len(reader.operands) == len(reader.results) == 1
            if alone and reader.results[index].type is value.type:
                same.append(reader.results[index])
    return ""
