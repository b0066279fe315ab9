"""Networks in training: forward in the order of the model, then backward through the same calls in reverse."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from bpir.dialects.bp import TensorType
from bpir.dialects.dist import network as dist_network
from bpir.dialects.dist import tasks as dist
from bpir.dialects.model.structure import Return
from bpir.dialects.network import BACKWARD, FORWARD, arguments_of, callees, calls, name_of, networks, returned_by
from bpir.ir.attributes import ArrayAttr, Attribute, StringAttr, SymbolRefAttr
from bpir.ir.diagnostic import error, note
from bpir.ir.operation import Block, Operation, Region, Value
from bpir.passes.distribution.networks import counts_of_calls, sorted_out


def training_networks(module: Operation, derived: Sequence[Operation], replaced: Collection[str]) -> list[Operation]:
    """The network of a module, in training; none if the module has none.

    Args:
        derived: the training steps of its blocks, each called like its own.
        replaced: the symbols that the workload replaces in the blocks.

    Raises:
        DiagnosticError: how often a block is repeated depends on the workload; or several calls read a value, so that its gradient would be
            a sum between blocks; or nothing reads it.
    """
    known = {name_of(block): block for block in derived}
    return [_Calls(network, known, replaced).network() for network in networks(module)]


class _Calls:
    def __init__(self, source: Operation, blocks: Mapping[str, Operation], replaced: Collection[str]) -> None:
        self.source = source
        self.blocks = blocks
        self.replaced = replaced
        self.values: dict[Value, Value] = {}
        self.gradients: dict[Value, Value] = {}

    def network(self) -> Operation:
        self._refuse_forks()
        entry = self.source.regions[0].blocks[0]
        returned = next(o for o in entry.operations if Return.of(o) is not None).operands
        arguments = [self._argument(value) for value in entry.arguments]
        self.values.update(zip(entry.arguments, arguments, strict=True))
        body = Block(arguments)
        made = [(call, self._forward(call)) for call in calls(self.source)]
        for _, operation in made:
            body.append(operation)
        for value in returned:
            self.gradients[value] = self._gradient_given(value)
        gradients = [self.gradients[value] for value in returned]
        body.arguments.extend(gradients)
        for index, argument in enumerate(body.arguments):
            argument.owner, argument.index = body, index
        for call, _ in reversed(made):
            body.append(self._backward(call))
        results = [self.values[value] for value in returned] + [self.gradients[value] for value in entry.arguments if _has_gradient(value)]
        body.append(dist.Return.build(results, span=self.source.body[-1].span))
        name = StringAttr(name_of(self.source))
        return dist_network.Network.build(properties={"sym_name": name, "source": name}, regions=[Region([body])], span=self.source.span)

    def _refuse_forks(self) -> None:
        """The gradient of a value that several calls read would be a sum between blocks."""
        wrong = counts_of_calls(self.source, self.replaced)
        readers: dict[Value, list[Operation]] = {}
        for operation in self.source.body:
            for value in operation.operands:
                readers.setdefault(value, []).append(operation)
        for call in calls(self.source):
            for value in call.results:
                if value not in readers:
                    what = f"nothing reads '%{value.name or value.index}' of this call, so it has no gradient: training needs one"
                    wrong.append(error(what, call.span))
        for value, found in readers.items():
            if len(found) > 1:
                what = f"'%{value.name or value.index}' is read twice, and no task sums its gradients: let one block read it"
                wrong.append(error(what, found[1].span, note("first read here", found[0].span)))
        sorted_out(wrong)

    def _argument(self, value: Value) -> Value:
        """An argument of the network, of the type that the block takes that it goes to."""
        call = next(call for call in calls(self.source) if value in call.operands)
        block = self.blocks[callees(call)[0]]
        return Value(arguments_of(block)[call.operands.index(value)], name=value.name)

    def _gradient_given(self, value: Value) -> Value:
        """The gradient of what the network returns: the step is given it."""
        call = value.owner
        assert isinstance(call, Operation)  # an argument goes to a call (network.R6), and a value is read once
        block = self.blocks[callees(call)[-1]]
        taken = arguments_of(block)
        type_ = taken[len(taken) - len(call.results) :][value.index]
        return Value(type_, name=f"d{value.name}" if value.name else None)

    def _forward(self, call: Operation) -> Operation:
        types = returned_by(self.blocks[callees(call)[-1]]) or ()
        results = [Value(type_, name=value.name) for type_, value in zip(types, call.results, strict=False)]
        self.values.update(zip(call.results, results, strict=True))
        return _built(call, FORWARD, callees(call), [self.values[value] for value in call.operands], results)

    def _backward(self, call: Operation) -> Operation:
        names = callees(call)[::-1]
        operands = [self.gradients[value] for value in call.results]
        types = (returned_by(self.blocks[names[-1]]) or ())[len(operands) :]
        read = [value for value in call.operands if _has_gradient(value)]
        results = [Value(type_, name=f"d{value.name}" if value.name else None) for type_, value in zip(types, read, strict=True)]
        self.gradients.update(zip(read, results, strict=True))
        return _built(call, BACKWARD, names, operands, results)


def _has_gradient(value: Value) -> bool:
    """Whether a value is of numbers that can change a little: token ids and labels can't."""
    return not (isinstance(value.type, TensorType) and value.type.is_index)


def _built(call: Operation, part: str, names: Sequence[str], operands: list[Value], results: list[Value]) -> Operation:
    properties: dict[str, Attribute] = {**call.properties, "part": StringAttr(part)}
    if "callees" in properties:
        properties["callees"] = ArrayAttr(tuple(SymbolRefAttr((name,)) for name in names))
    kind = dist_network.Repeat if "times" in properties else dist_network.Call
    return kind.build(operands, results, properties, span=call.span)
