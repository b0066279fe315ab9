"""Numbers for symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from bpir.dialects.bind import Strategy, as_expr
from bpir.dialects.bp import Bind, Symbols, bindings_attribute, symbol_table
from bpir.ir.diagnostic import Span, fail, note, suggestion
from bpir.ir.expressions.expression import ONE, constant
from bpir.ir.operation import Operation, top_level
from bpir.ir.relations.facts import Facts, Relation
from bpir.passes.base import TransformationPass, option
from bpir.passes.context import PassContext
from bpir.passes.distribution.distribution import new_module
from bpir.passes.rewriting import rewrite_module
from bpir.verifiers.structure.levels import level_of


class BindSymbolsPass(TransformationPass):
    """Gives symbols numbers: `bind-symbols{B=1 S=2048}`, and those that the file binds already.

    On a model the numbers are recorded only (`bp.bind`), because a dimension symbol is also the axis that a strategy
    shards. At the
    levels below they replace the symbols. Declared relations and recorded assumptions must hold for the numbers.
    """

    name = "bind-symbols"

    numbers: dict[str, int] = option("the number of each symbol", "numbers")

    def run(self, module: Operation, context: PassContext) -> Operation:
        table = symbol_table(module)
        for name, number in self.numbers.items():
            span = context.place(name) or module.span
            if name not in table.names:
                raise fail(f"there is no symbol '{name}' to bind{suggestion(name, table.names)}", span)
            if not 0 < number < 2**63:
                raise fail(f"symbol '{name}' must be bound to a positive 64-bit integer", span)
            if table.bindings.get(name, number) != number:
                raise fail(f"symbol '{name}' is bound to {table.bindings[name]} already", span)
        numbers = {**table.bindings, **self.numbers}
        check_relations(module, numbers, context.place)
        bound = Bind.each(top_level(module))
        merged = Bind.build(properties={"bindings": bindings_attribute(numbers)}, span=bound[0].span if bound else None)
        if level_of(module) == "model" or not numbers:
            result = new_module(module, top_level(module))
        else:
            values = {name: constant(number) for name, number in numbers.items()}
            result = rewrite_module(module, lambda expr: expr.substitute(values))
        return _with_bindings(result, merged if numbers else None)


def check_relations(module: Operation, numbers: Mapping[str, int], place: Callable[[str], Span | None]) -> None:
    """Refuse numbers under which a relation of the module is false, or none are found for other symbols.

    Args:
        numbers: those of all symbols that have one.
        place: says where a symbol got its number.

    Raises:
        DiagnosticError: naming every relation that is false.
    """
    table = symbol_table(module)
    facts = Facts((*table.relations, *table.assumptions), numbers)
    broken = facts.violations()
    if broken:
        used = _symbols_of(broken)
        bound = ", ".join(f"{name} = {numbers[name]}" for name in used if name in numbers)
        raise fail(
            "the numbers break the relation " + " and ".join(f"'{r.text}'" for r in broken),
            _first_place(used, place),
            note(f"bound here are {bound}"),
            *(note(_assumed(module, relation)) for relation in broken if relation in table.assumptions),
        )
    answer = facts.satisfied
    if answer.witness is None:
        raise fail(answer.text(facts.bindings), _first_place(_symbols_of(answer.relations), place))


def _symbols_of(relations: Iterable[Relation]) -> list[str]:
    return sorted({name for relation in relations for name in relation.symbols})


def _first_place(names: Iterable[str], place: Callable[[str], Span | None]) -> Span | None:
    """Where the first of the symbols that has a place got its number."""
    return next((span for name in names if (span := place(name)) is not None), None)


def _assumed(module: Operation, relation: Relation) -> str:
    """Why a relation must hold that no declaration states, and what to do where it cannot."""
    said = f"'{relation.text}' was assumed when the model was distributed"
    strategies = [strategy.fields for strategy in Strategy.each(top_level(module))]
    degrees = [name for fields in strategies for name in fields if as_expr(fields[name]) is relation.left]
    if relation.kind != "greater" or relation.right is not ONE or not degrees:
        return f"{said}: distribute it again with numbers for which it holds"
    return f"{said}: for one rank, distribute it again with the option {degrees[0]}=1"


def _with_bindings(module: Operation, merged: Operation | None) -> Operation:
    """The module with one `bp.bind`, in the place of the first or behind the symbols."""
    operations = list(top_level(module))
    first = next((i for i, o in enumerate(operations) if Bind.of(o) is not None), None)
    kept = [o for o in operations if Bind.of(o) is None]
    if merged is None:
        return module
    if first is None:
        first = next((i + 1 for i, o in reversed(list(enumerate(kept))) if Symbols.of(o) is not None), 0)
    return new_module(module, [*kept[:first], merged, *kept[first:]])
