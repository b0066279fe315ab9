"""Rewriting every expression of a module's operations: what `bind-symbols` and `canonicalize` share."""

from __future__ import annotations

from bpir.dialects.bp import Rewriting, rewrite_attribute
from bpir.ir.attributes import Attribute, Type
from bpir.ir.dialect import is_input
from bpir.ir.operation import Operation, Value, clone, top_level
from bpir.passes.distribution.distribution import new_module


def rewrite_module(module: Operation, rewrite: Rewriting) -> Operation:
    """A copy of the module, with each expression rewritten; inputs of derivations stay as they are."""
    memo: dict[Attribute, Attribute] = {}
    values: dict[Value, Value] = {}  # of all copies, as one may use what another defines
    operations = []
    for operation in top_level(module):
        if is_input(operation.name):
            operations.append(operation)
        else:
            copy = clone(operation, values)
            _rewrite_tree(copy, rewrite, memo)
            operations.append(copy)
    for operation in operations:
        for inner in operation.walk():  # uses that are before the definition
            inner.operands = [values.get(operand, operand) for operand in inner.operands]
    return new_module(module, operations)


def _rewrite_tree(root: Operation, rewrite: Rewriting, memo: dict[Attribute, Attribute]) -> None:
    def changed(attribute: Attribute) -> Attribute:
        found = memo.get(attribute)
        if found is None:
            found = memo[attribute] = rewrite_attribute(attribute, rewrite)
        return found

    def retype(value: Value) -> None:
        type = changed(value.type)
        assert isinstance(type, Type)
        value.type = type

    for operation in root.walk():
        operation.properties = {k: changed(v) for k, v in operation.properties.items()}
        operation.attributes = {k: changed(v) for k, v in operation.attributes.items()}
        for value in operation.results:
            retype(value)
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    retype(argument)
