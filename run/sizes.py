"""Small numbers for the symbols of a text that satisfy its relations, where none are given; and what is too large to run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import attrs

from bpir.dialects.bp import SymbolTable, TensorType, expressions_in, symbol_table
from bpir.dialects.dist.tasks import Mesh
from bpir.ir.diagnostic import fail, suggestion
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation, Value
from bpir.ir.relations.facts import Relation
from bpir.run.numbers import Numbers

LARGEST_CHOSEN = 64
"""A number of the file above it is replaced; no number above it is chosen, unless an equation says it."""
STEPS = 20_000
"""Values tried until the search gives up."""
ELEMENTS = 1 << 23
"""Elements of all values of all ranks together: 64 MiB."""
PRODUCT = 1 << 26
"""Elements of the largest operand of a task, times its largest dimension: a bound of the work of a matrix product, and of scores."""
RANKS = 256


@attrs.frozen(eq=False)
class Chosen:
    """The numbers of a run, and those of them that nobody gave, in the order of the declaration."""

    numbers: Numbers
    chosen: Mapping[str, int]


def choose(module: Operation, source: Operation, given: Mapping[str, int]) -> Chosen:
    """The given numbers, then the file's where they are small, then the smallest that satisfy all relations and differ.

    Raises:
        DiagnosticError: a name is unknown, a relation does not hold, or the search found nothing.
    """
    tables = (symbol_table(source), symbol_table(module))
    declared = list(dict.fromkeys(chain.from_iterable(table.names for table in tables)))
    for name in given:
        if name not in declared:
            raise fail(f"can't bind '{name}': the files declare no such symbol{suggestion(name, declared)}")
    relations = list(dict.fromkeys(chain.from_iterable((*table.relations, *table.assumptions) for table in tables)))
    _check_given(relations, given)
    used = _used(source, module).union(*(relation.symbols for relation in relations))
    names = [name for name in declared if name in used]
    found = _searched(module, tables, names, relations, given)
    if found is None:
        with_given = f" with {_text(given, given)}" if given else ""
        raise fail(f"found no small numbers that satisfy all relations{with_given}; give them with --bind: {', '.join(names)}")
    return Chosen(Numbers(found), {name: found[name] for name in names if name not in given and _bound(tables, name) != found[name]})


def _check_given(relations: Iterable[Relation], given: Mapping[str, int]) -> None:
    """Refuse numbers that break a relation whose symbols all have one."""
    for relation in relations:
        if set(relation.symbols) <= set(given) and not relation.holds(given):
            raise fail(f"'{relation.text}' does not hold with {_text(given, relation.symbols)}")


def _searched(
    module: Operation, tables: Sequence[SymbolTable], names: Sequence[str], relations: Sequence[Relation], given: Mapping[str, int]
) -> dict[str, int] | None:
    """Numbers with the file's small ones; without them, if there are none with them."""
    bound = {name: value for table in tables for name, value in table.bindings.items() if value <= LARGEST_CHOSEN}
    twos = {name for _, size in _axes(module) for name in size.symbols} | _widths(module)
    for fixed in ({**bound, **given}, given):
        found = _Search(names, relations, dict(fixed), twos).run()
        if found is not None:
            return found
    return None


def _bound(tables: Sequence[SymbolTable], name: str) -> int | None:
    """The number that a file gives to a symbol."""
    return next((table.bindings[name] for table in tables if name in table.bindings), None)


def _used(*modules: Operation) -> set[str]:
    """The symbols that occur in types and properties."""
    found: set[str] = set()
    for operation in chain.from_iterable(module.walk() for module in modules):
        attributes = [*operation.properties.values(), *(value.type for value in _values(operation))]
        found.update(name for attribute in attributes for expr in expressions_in(attribute) for name in expr.symbols)
    return found


def _widths(module: Operation) -> set[str]:
    """The symbols that are widths of elements."""
    types = (value.type for operation in module.walk() for value in _values(operation))
    return {name for type in types if isinstance(type, TensorType) for name in type.element_bytes.symbols}


def _values(operation: Operation) -> list[Value]:
    """The results of an operation, and the arguments of its regions."""
    arguments = (block.arguments for region in operation.regions for block in region.blocks)
    return [*operation.results, *chain.from_iterable(arguments)]


def _axes(module: Operation) -> list[tuple[str, Expr]]:
    return [axis for mesh in Mesh.each(module.walk()) for axis in mesh.axes.items()]


def _text(values: Mapping[str, int], names: Iterable[str]) -> str:
    return ", ".join(f"{name} = {values[name]}" for name in names)


class _Search:
    """Depth first: symbol by symbol, the smallest number first that no other symbol has; 2 for ranks and widths.

    A symbol that an equation defines comes last, so that the equation gives it.
    """

    def __init__(self, names: Sequence[str], relations: Sequence[Relation], values: dict[str, int], twos: set[str]) -> None:
        defined = {r.left.text for r in relations if r.kind == "equal" and r.left.text in r.left.symbols}
        self.order = sorted(names, key=lambda name: (name not in twos, name in defined))
        self.relations, self.values, self.twos = relations, values, twos
        self.steps = 0

    def run(self) -> dict[str, int] | None:
        given = [r for r in self.relations if set(r.symbols) <= set(self.values)]
        return dict(self.values) if all(r.holds(self.values) for r in given) and self._descend() else None

    def _descend(self) -> bool:
        # Recursion is as deep as there are symbols, of which a file declares few; a file of thousands runs out of steps, not of stack.
        free = [name for name in self.order if name not in self.values]
        if not free:
            return True
        if len(free) > 200:
            return False
        forced = self._forced(free)
        name, candidates = forced if forced is not None else (free[0], self._candidates(free[0]))
        for value in candidates:
            self.steps += 1
            if self.steps > STEPS:
                return False
            self.values[name] = value
            if self._holds(name) and self._descend():
                return True
            del self.values[name]
        return False

    def _holds(self, name: str) -> bool:
        return all(r.holds(self.values) for r in self.relations if name in r.symbols and set(r.symbols) <= set(self.values))

    def _candidates(self, name: str) -> list[int]:
        used = set(self.values.values())
        first = 2 if name in self.twos else 3
        return sorted(range(1, LARGEST_CHOSEN + 1), key=lambda n: (n < first, n in used and name not in self.twos, n))

    def _forced(self, free: list[str]) -> tuple[str, list[int]] | None:
        """The symbol that an equation gives the value of, and that value; none at all if it is no positive integer."""
        for relation in self.relations:
            unknown = [name for name in relation.symbols if name in free]
            if relation.kind != "equal" or len(unknown) != 1:
                continue
            for side, other in ((relation.left, relation.right), (relation.right, relation.left)):
                if side.text == unknown[0] and unknown[0] not in other.symbols:
                    value = other.evaluate(self.values)
                    return unknown[0], [value.numerator] if value.denominator == 1 and value > 0 else []
        return None


def refuse_large(block: Operation, numbers: Numbers, ranks: int) -> None:
    """Refuse a block whose run would not be small.

    Raises:
        DiagnosticError: it has too many ranks or elements.
    """
    if ranks > RANKS:
        raise fail(f"too large to run: {ranks} ranks, at most {RANKS}; give small numbers with --bind", block.span)
    total = 0
    for operation in block.walk():
        for value in _values(operation):
            if not isinstance(value.type, TensorType):
                continue
            dims = [numbers.size(dim) for dim in value.type.dims]
            elements = _product(dims)
            if elements * max(dims, default=1) > PRODUCT:
                raise fail(
                    f"too large to run: a value of {' x '.join(map(str, dims))} elements; give small numbers with --bind", operation.span
                )
            total += elements * ranks
            if total > ELEMENTS:
                raise fail(f"too large to run: more than {ELEMENTS} elements on {ranks} ranks; give small numbers with --bind", block.span)


def _product(dims: Sequence[int]) -> int:
    result = 1
    for dim in dims:
        result *= dim
    return result
