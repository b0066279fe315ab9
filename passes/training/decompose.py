"""A block as training sees it: one result for each linear, attention as its four parts, no KV cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bpir.dialects.bp import ExprAttr, TensorType
from bpir.dialects.model.attention import KvAppend
from bpir.dialects.model.linear import shape_attribute
from bpir.dialects.model.rules.composite import Composite
from bpir.dialects.model.rules.layers import free_name, group_of, layer_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.model.structure import Return
from bpir.ir.attributes import ArrayAttr, Attribute, StringAttr, UnitAttr
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import ZERO, Expr
from bpir.ir.operation import Block, Operation, Region, Value
from bpir.passes.distribution.placement import lone_symbol
from bpir.passes.inference.phases import context_axis, counted_pairs, input_axis, over_own_tokens, window_of

_APPENDED = ("key", "value")


def decompose(block: Operation, substitution: Mapping[str, Expr] | None = None, causal: str = "dense") -> Operation:
    """The block with every operation in the parts that training computes, keeps and differentiates.

    Attention becomes scores, softmax, dropout of the probabilities (where it has dropout) and the product with V (Vaswani et al. 2017,
    equation 1); a linear with several results becomes one for each, named after what reads it; the visible tokens are all tokens.
    `substitution` replaces symbols, as a workload asks for (`training_axes`); `causal` says which scores count.
    """
    return _Decomposition(block, substitution or {}, causal).run()


class _Decomposition:
    def __init__(self, block: Operation, substitution: Mapping[str, Expr], causal: str) -> None:
        self.block = block
        self.causal = causal
        self.values: dict[Value, Value] = {}
        self.out: list[Operation] = []
        self.substitution = dict(substitution)
        self.names = {layer_of(operation) for operation in block.body if not _has_parts(operation)}  # parts may take the name of a whole
        context, token = context_axis(block), input_axis(block, 1)
        if context is not None and context is not token:
            name = lone_symbol(context)
            if name is None:
                raise fail(f"the context '{context.text}' can't become the token axis '{token.text}'", block.span)
            self.substitution[name] = token.substitute(substitution)

    def run(self) -> Operation:
        old = self.block.regions[0].blocks[0]
        arguments = [Value(self._type(a.type), name=a.name) for a in old.arguments]
        self.values.update(zip(old.arguments, arguments, strict=True))
        for operation in old.operations:
            self._operation(operation)
        return Operation(
            self.block.name,
            properties=dict(self.block.properties),
            regions=[Region([Block(arguments, self.out)])],
            span=self.block.span,
            declaration=self.block.declaration,
        )

    def _type(self, type: object) -> TensorType:
        assert isinstance(type, TensorType)
        return type.rewritten(lambda expr: expr.substitute(self.substitution))

    def _operation(self, operation: Operation) -> None:
        operands = [self.values[v] for v in operation.operands]
        rule = operation.declaration
        if isinstance(rule, KvAppend) or (isinstance(rule, ModelOperation) and rule.keeps_last_token):
            self.values.update(zip(operation.results, operands, strict=True))
        elif isinstance(rule, ModelOperation) and rule.composite is not None:
            self.values[operation.results[0]] = self._composite(operation, rule.composite, operands)
        elif isinstance(rule, ModelOperation) and rule.per_result and len(operation.results) > 1:
            self._each(operation, rule, operands)
        elif isinstance(rule, Return):
            self.out.append(Return.build(operands, span=operation.span))
        else:
            kind = operation.kind
            names = [result.name for result in operation.results]
            images = self._add(operation, kind, layer_of(operation), operands, operation.properties, names)
            self.values.update(zip(operation.results, images, strict=True))

    def _each(self, operation: Operation, rule: ModelOperation, operands: list[Value]) -> None:
        """An operation of its own for each result, with its entry of the property that has one for each."""
        entries = operation.properties[rule.per_result]
        assert isinstance(entries, ArrayAttr)
        kind = operation.kind
        for index, (result, entry) in enumerate(zip(operation.results, entries.values, strict=True)):
            properties = {**operation.properties, rule.per_result: ArrayAttr((entry,))}
            layer = self._part(operation, result, index)
            (self.values[result],) = self._add(operation, kind, layer, operands, properties, [result.name])

    def _counted(self, operation: Operation) -> Expr | None:
        """The pairs of tokens of an attention that count; None if all do, as where K and V are of another input."""
        if self.causal == "dense" or not over_own_tokens(operation):
            return None
        window = window_of(operation)
        tokens = self._type(operation.operands[0].type).dims[1]
        return counted_pairs(self.causal, tokens, ZERO, window.substitute(self.substitution) if window is not None else None)

    def _part(self, operation: Operation, result: Value, index: int) -> str:
        """`attention.query` for the result that an attention reads as Q, and so on; else the layer's name with a number.

        What an operation that falls apart reads is called as it calls its operands.
        """
        images = self._images(result)
        for reader in self.block.body:
            rule = reader.declaration
            composite = rule.composite if isinstance(rule, ModelOperation) else None
            if (composite is not None or isinstance(rule, KvAppend)) and not images.isdisjoint(reader.operands):
                names = composite.operands if composite is not None else _APPENDED
                return self._free(next(n for n, v in zip(names, reader.operands, strict=True) if v in images), operation)
        return free_name(f"{layer_of(operation)}.{index}", layer_of(operation), self.names)

    def _images(self, value: Value) -> set[Value]:
        """The value, and what operations make of it alone without a change of its type: Q that is turned, or scaled, is Q."""
        found = {value}
        for operation in self.block.body:
            rule = operation.declaration
            if found.isdisjoint(operation.operands) or not isinstance(rule, ModelOperation):
                continue
            for lane in rule.factors(operation).lanes:
                read, made = [operation.operands[i] for i in lane.operands], [operation.results[i] for i in lane.results]
                if len(read) == len(made) == 1 and read[0] in found and read[0].type is made[0].type:
                    found.update(made)
        return found

    def _free(self, part: str, operation: Operation) -> str:
        """`attention.softmax`: the part of an operation, in its group."""
        return free_name(f"{group_of(layer_of(operation))}.{part}", layer_of(operation), self.names)

    def _composite(self, operation: Operation, composite: Composite, operands: list[Value]) -> Value:
        """The result of the last step, each step an operation of its own."""
        found = dict(zip(composite.operands, operands, strict=True))
        counted = self._counted(operation)
        for step in composite.steps:
            reads = [found[name] for name in step.reads]
            if step.only_with and step.only_with not in operation.properties:
                found[step.part] = reads[0]
                continue
            last = step is composite.steps[-1]
            name = operation.results[0].name if last else step.result
            flags: dict[str, Attribute] = {flag: UnitAttr() for flag in step.flags}
            flags |= {name: operation.properties[name] for name in step.keeps if name in operation.properties}
            if step.features:
                flags["features"] = ArrayAttr((shape_attribute(self._sizes(operation, step.features)),))
            if step.scores and counted is not None:
                flags["pairs"] = ExprAttr(counted)
            (found[step.part],) = self._add(operation, step.kind, self._free(step.part, operation), reads, flags, [name])
        return found[composite.steps[-1].part]

    def _sizes(self, operation: Operation, factors: Sequence[str]) -> list[Expr]:
        """The sizes of factors of an operation."""
        rule = operation.declaration
        assert isinstance(rule, ModelOperation)
        named, sizes = rule.factors(operation), dict[str, Expr]()
        for tensor, value in zip((*named.operands, *named.results), (*operation.operands, *operation.results), strict=True):
            assert isinstance(value.type, TensorType)
            sizes.update(zip(tensor, value.type.dims, strict=True))
        return [sizes[factor].substitute(self.substitution) for factor in factors]

    def _add(
        self,
        source: Operation,
        kind: str,
        layer: str,
        operands: list[Value],
        properties: dict[str, Attribute],
        names: list[str | None],
    ) -> list[Value]:
        declaration = DECLARATIONS["model." + kind]
        kept = {k: v for k, v in properties.items() if k != "context"}
        kept = {k: self._properties(v) for k, v in kept.items()}
        operation = Operation(
            declaration.name,
            operands,
            properties={**kept, "layer": StringAttr(layer)},
            span=source.span,
            declaration=declaration,
        )
        types = declaration.infer(operation)
        if types is None or (declaration is source.declaration and len(source.results) == 1):  # what the text says
            types = [self._type(value.type) for value in source.results]
        operation.results = [Value(t, operation, i, name) for i, (t, name) in enumerate(zip(types, names, strict=True))]
        operation.attributes["source"] = StringAttr(layer_of(source))
        self.out.append(operation)
        return operation.results

    def _properties(self, value: Attribute) -> Attribute:
        if isinstance(value, ExprAttr):
            return ExprAttr(value.expr.substitute(self.substitution))
        if isinstance(value, ArrayAttr):
            return ArrayAttr(tuple(map(self._properties, value.values)))
        return value


def _has_parts(operation: Operation) -> bool:
    rule = operation.declaration
    return isinstance(rule, ModelOperation) and (rule.composite is not None or bool(rule.per_result and len(operation.results) > 1))
