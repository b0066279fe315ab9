"""Axes of weights that are numbers or composites: only a symbol names an axis, so no rank can have a part of these.

A strategy of several ranks that shards nothing of a block for that reason is an error; a weight that stays whole is a warning.
"""

from __future__ import annotations

from bpir.dialects.bp import SymbolTable, TensorType, shape_text
from bpir.dialects.model.rules.layers import layer_of
from bpir.dialects.model.rules.local import settings_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.diagnostic import Diagnostic, Span, fail, note, warning
from bpir.ir.expressions.expression import ONE, Expr, ceildiv, constant, symbol
from bpir.ir.operation import Operation
from bpir.ir.records import Record
from bpir.passes.distribution.placement import lone_symbol, whole_factors


class _Unnamed(metaclass=Record):
    """A weight of an operation that stays whole, and the axis that a symbol would let the strategy shard."""

    operation: Operation
    shape: tuple[Expr, ...]
    axis: Expr


def refuse_unsharded(block: Operation, axes: tuple[str, ...], degree: Expr, table: SymbolTable) -> None:
    """Refuse a block of which several ranks would each do everything, because its sizes are numbers.

    Raises:
        DiagnosticError: naming the dimensions, and the symbols to declare.
    """
    if axes:
        return
    boundary = {dim for v in block.regions[0].blocks[0].arguments if isinstance(v.type, TensorType) for dim in v.type.dims}
    whole = _unnamed(block, axes)
    whole = [found for found in whole if found.axis not in boundary] or whole
    if not whole:
        return
    shapes = ", ".join(dict.fromkeys(f"[{shape_text(found.shape)}]" for found in whole))
    taken = set(table.names)
    raise fail(
        f"tensor = {degree.text} shards nothing of this block: the axes that its weights bring in, {shapes}, are no symbols, "
        "and only a symbol names an axis",
        whole[0].operation.span,
        *(_advice(found, degree, table, taken) for found in {found.axis: found for found in reversed(whole)}.values()),
    )


def whole_weights(block: Operation, axes: tuple[str, ...], degree: Expr, table: SymbolTable) -> list[Diagnostic]:
    """A warning for each operation with weights that stay whole on several ranks because of how an axis is written."""
    found: dict[Operation, Diagnostic] = {}
    for unnamed in _unnamed(block, axes):
        message = (
            f"the weights [{shape_text(unnamed.shape)}] of '{layer_of(unnamed.operation)}' stay whole on each of the {degree.text} ranks: "
            f"{unnamed.axis.text} is no symbol, and only a symbol names an axis"
        )
        found.setdefault(unnamed.operation, warning(message, unnamed.operation.span, _advice(unnamed, degree, table, set(table.names))))
    return list(found.values())


def _unnamed(block: Operation, axes: tuple[str, ...]) -> list[_Unnamed]:
    """The weights no axis of which is sharded, and which bring in an axis that is no symbol and not 1."""
    found = []
    for operation in block.body:
        rule = operation.declaration
        if not isinstance(rule, ModelOperation):
            continue
        whole = whole_factors(rule, operation) if rule.own_sizes else ()
        rows = tuple(dim for factor, dim in rule.own_dims(settings_of(operation)).items() if factor not in whole)
        for index, produced in enumerate(rule.produced(operation)):
            shape = (*rows, *produced)
            if any(lone_symbol(dim) in axes for dim in rule.contracted(operation, index)):
                continue
            axis = next((dim for dim in shape if lone_symbol(dim) is None and dim is not ONE), None)
            if axis is not None and not any(lone_symbol(dim) in axes for dim in shape):
                found.append(_Unnamed(operation, shape, axis))
    return found


def _is_table(operation: Operation) -> bool:
    rule = operation.declaration
    return isinstance(rule, ModelOperation) and bool(rule.own_sizes)


def _advice(unnamed: _Unnamed, degree: Expr, table: SymbolTable, taken: set[str]) -> Diagnostic:
    """Which symbol to declare: one that has the value already, else a new one by custom (`V` of rows, `h` of heads, `F` of features)."""
    axis = unnamed.axis
    named = next((name for name, value in table.bindings.items() if value == axis.integer), None)
    if named is not None:
        return note(f"write {named}, which is bound to {axis.text}, instead of {axis.text}")
    custom = "V" if _is_table(unnamed.operation) else "h" if len(unnamed.shape) > 1 else "F"
    free = next(name for name in (custom, *(f"{custom}{n}" for n in range(1, len(taken) + 2))) if name not in taken)
    taken.add(free)
    relations = [f"{free} = {axis.text}"] if axis.integer is None else []
    relations += [f"{degree.text} | {free}"] if degree.integer is None or axis.integer is None else []
    where = f" where {', '.join(relations)}" if relations else ""
    bound = f" and 'bp.bind {free} = {axis.text}'" if axis.integer is not None else ""
    return note(f"declare a symbol for {axis.text}: 'bp.symbols {free}{where}'{bound}")


def padding(axis: str, degree: Expr, table: SymbolTable, span: Span | None) -> Diagnostic:
    """A warning that a table has rows of padding, so that the ranks divide it."""
    size = degree * ceildiv(symbol(axis), degree)
    numbers = {name: constant(value) for name, value in table.bindings.items()}
    now, then = symbol(axis).substitute(numbers).text, size.substitute(numbers).text
    return warning(f"{degree.text} does not divide {axis}: the {now} rows of its tables are padded to {then}", span)
