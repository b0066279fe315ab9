"""The block of a model as its training computes it, in the words of the gate: composite operations in their declared parts.

The gate reads the model by itself: it shares with the derivation the declarations of operations, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bpir.dialects.bp import ExprAttr
from bpir.dialects.model.attention import KvAppend
from bpir.dialects.model.rules.composite import Composite, Step
from bpir.dialects.model.rules.layers import group_of, layer_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.attributes import ArrayAttr, Attribute, StringAttr, Type, UnitAttr
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Block, Operation, Region, Value
from bpir.verifiers.distribution.workload import over_new_tokens, pairs_counted, window_of
from bpir.verifiers.model_operations import rule_of, tensor_of, tensors_of


def training_model(block: Operation, sizes: Mapping[str, Expr], causal: str) -> Operation:
    """The block with each composite operation in its parts, and each linear with several results as one for each.

    An append to a cache is the identity: training sees all tokens, and keeps no cache. So is the last token.

    Args:
        sizes: what the workload puts in the place of symbols.
        causal: which scores of attention count.
    """
    return _Reading(block, sizes, causal).whole()


class _Reading:
    def __init__(self, block: Operation, sizes: Mapping[str, Expr], causal: str) -> None:
        self.causal = causal
        self.block = block
        self.sizes = sizes
        self.images: dict[Value, Value] = {}
        self.operations: list[Operation] = []
        replaced = {layer_of(o) for o in block.body if _replaced(o)}
        self.layers = {layer_of(o) for o in block.body} - replaced

    def whole(self) -> Operation:
        arguments = [Value(tensor_of(argument).rewritten(self._sized), name=argument.name) for argument in self.block.arguments]
        self.images.update(zip(self.block.arguments, arguments, strict=True))
        for operation in self.block.body:
            operands = [self.images[v] for v in operation.operands]
            self.images.update(zip(operation.results, self._results(operation, operands), strict=True))
        region = Region([Block(arguments, self.operations)])
        head = self.block
        return Operation(head.name, properties=dict(head.properties), regions=[region], span=head.span, declaration=head.declaration)

    def _sized(self, expr: Expr) -> Expr:
        return expr.substitute(self.sizes)

    def _results(self, operation: Operation, operands: list[Value]) -> list[Value]:
        """The images of the results of an operation on these operands."""
        rule = operation.declaration
        if isinstance(rule, ModelOperation):
            if isinstance(rule, KvAppend) or rule.keeps_last_token:
                return operands
            if rule.composite is not None:
                return [self._steps(operation, rule.composite, operands)]
            if rule.per_result and len(operation.results) > 1:
                return [self._product(operation, rule.per_result, index, operands) for index in range(len(operation.results))]
        return self._same(operation, operands)

    def _same(self, operation: Operation, operands: list[Value]) -> list[Value]:
        """The results of the operation itself, called as in the model."""
        results = self._add(operation, operation.name, layer_of(operation), operands, operation.properties)
        for result, of in zip(results, operation.results, strict=True):
            result.name = of.name
        return results

    def _product(self, operation: Operation, each: str, index: int, operands: list[Value]) -> Value:
        """One of the products of a linear with several results: it is called after what an attention reads it as, or by its number."""
        entries = operation.properties[each]
        assert isinstance(entries, ArrayAttr)
        properties = {**operation.properties, each: ArrayAttr((entries.values[index],))}
        part = _read_as(operation.results[index], self.block)
        layer = f"{group_of(layer_of(operation))}.{part}" if part else f"{layer_of(operation)}.{index}"
        (result,) = self._add(operation, operation.name, self._free(layer, operation), operands, properties)
        result.name = operation.results[index].name
        return result

    def _steps(self, operation: Operation, composite: Composite, operands: list[Value]) -> Value:
        """The last result of a composite operation's steps."""
        named = dict(zip(composite.operands, operands, strict=True))
        pairs = self._pairs(operation, operands[0])
        for step in composite.steps:
            reads = [named[name] for name in step.reads]
            if step.only_with and step.only_with not in operation.properties:
                named[step.part] = reads[0]
            else:
                layer = self._free(f"{group_of(layer_of(operation))}.{step.part}", operation)
                (named[step.part],) = self._add(operation, f"model.{step.kind}", layer, reads, self._settings(operation, step, pairs))
        return named[composite.steps[-1].part]

    def _settings(self, operation: Operation, step: Step, pairs: Expr | None) -> dict[str, Attribute]:
        """The properties of a step of a composite operation, of which so many pairs of tokens count."""
        found: dict[str, Attribute] = {flag: UnitAttr() for flag in step.flags}
        found |= {name: operation.properties[name] for name in step.keeps if name in operation.properties}
        if step.features:
            dims = self._dims(operation)
            found["features"] = ArrayAttr((ArrayAttr(tuple(ExprAttr(dims[factor]) for factor in step.features)),))
        if step.scores and pairs is not None:
            found["pairs"] = ExprAttr(pairs)
        return found

    def _dims(self, operation: Operation) -> dict[str, Expr]:
        """The size of each factor of what an operation reads and gives."""
        factors = rule_of(operation).factors(operation)
        tensors, values = (*factors.operands, *factors.results), (*operation.operands, *operation.results)
        types = zip(tensors, map(tensor_of, values), strict=True)
        return {factor: self._sized(dim) for tensor, type in types for factor, dim in zip(tensor, type.dims, strict=True)}

    def _pairs(self, operation: Operation, query: Value) -> Expr | None:
        """The pairs of tokens of an attention that count, of a sequence and head; None if all do."""
        if self.causal == "dense" or not over_new_tokens(operation):
            return None
        tokens, window = tensor_of(query).dims[1], window_of(operation)
        return pairs_counted(self.causal, tokens, tokens, self._sized(window) if window is not None else None)

    def _free(self, layer: str, operation: Operation) -> str:
        """The name of a part; after the operation itself where another layer has the name."""
        part, prefix = layer.rpartition(".")[2], layer_of(operation)
        while layer in self.layers:
            prefix = layer = f"{prefix}.{part}"
        self.layers.add(layer)
        return layer

    def _add(self, source: Operation, name: str, layer: str, operands: list[Value], properties: Mapping[str, Attribute]) -> list[Value]:
        """The results of an operation, which is added; it comes from one of the model."""
        rule = DECLARATIONS[name]
        own = {k: self._attribute(v) for k, v in properties.items() if k != "context"}
        operation = Operation(name, operands, properties=own, span=source.span, declaration=rule)
        if layer:
            own["layer"] = StringAttr(layer)
            operation.attributes["source"] = StringAttr(layer_of(source))
        operation.results = [Value(type, operation, index) for index, type in enumerate(self._types(source, operation))]
        self.operations.append(operation)
        return operation.results

    def _types(self, source: Operation, operation: Operation) -> Sequence[Type]:
        """The types of the results of an operation: as the model says where it is the source itself, else as they are inferred."""
        rule = operation.declaration
        types = rule.infer(operation) if rule is not None else None
        if types is None or (rule is source.declaration and len(source.results) == 1):
            return [type.rewritten(self._sized) for type in tensors_of(source.results)]
        return types

    def _attribute(self, attribute: Attribute) -> Attribute:
        if isinstance(attribute, ExprAttr):
            return ExprAttr(self._sized(attribute.expr))
        if isinstance(attribute, ArrayAttr):
            return ArrayAttr(tuple(map(self._attribute, attribute.values)))
        return attribute


def _replaced(operation: Operation) -> bool:
    """Whether training has other layers in the place of an operation, so that these may take its name."""
    rule = operation.declaration
    if not isinstance(rule, ModelOperation):
        return False
    return rule.composite is not None or (len(operation.results) > 1 and rule.per_result != "")


def _read_as(value: Value, block: Operation) -> str:
    """The name that an attention has for the value (`query`), or would have behind an append to the cache; empty if none reads it.

    What an operation makes of one value alone, of the same type, has the name of that value: Q stays Q under a rotation.
    """
    same = [value]
    for reader in block.body:
        rule = reader.declaration
        places = [index for index, operand in enumerate(reader.operands) if operand in same]
        if places and isinstance(rule, ModelOperation):
            name = _name_of_operand(rule, places[0])
            if name:
                return name
            same += [result for result in _made_alone(reader, rule, places) if result.type is value.type]
    return ""


def _name_of_operand(rule: ModelOperation, place: int) -> str:
    """The name that a composite operation, or an append to the cache, has for an operand; empty for other operations."""
    if rule.composite is not None:
        return rule.composite.operands[place]
    return ("key", "value")[place] if isinstance(rule, KvAppend) else ""


def _made_alone(reader: Operation, rule: ModelOperation, places: Iterable[int]) -> list[Value]:
    """The results that are made of one operand alone, of those at the places."""
    lanes = map(rule.factors(reader).lane_of_operand, places)
    return [reader.results[lane.results[0]] for lane in lanes if len(lane.operands) == len(lane.results) == 1]
