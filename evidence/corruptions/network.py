"""Corruptions of whole models: calls, sections and repetitions; and the form in which two networks are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from corruptions.corruption import Change, Corruption, Found, at, copy_of, move, name_of, place_of, put
from corruptions.derivation_inputs import reduced
from raw import names_of, numbers_of, symbol_of, text_of

from bpir.dialects.bp import ExprAttr
from bpir.ir.attributes import I64, ArrayAttr, Attribute, IntegerAttr, StringAttr, SymbolRefAttr
from bpir.ir.expressions.expression import ONE, Expr, constant
from bpir.ir.operation import Operation, Value, top_level
from bpir.ir.property_parts import references
from bpir.ir.relations.facts import Facts

SECTIONS = ("plan.section", "concrete.section")
BUFFERS = ("plan.buffer", "concrete.buffer")
CALLS = ("model.call", "model.repeat", "dist.call", "dist.repeat")


def networks(operations: list[Operation]) -> Found:
    """Call another block, as often as another one, in another order or part; run less, more or nothing of it."""
    blocks = [symbol_of(o) for o in operations if o.name in ("model.block", "dist.block")]
    for index, operation in enumerate(operations):
        if operation.name not in CALLS:
            continue
        where = name_of(operation)
        if operation.name.endswith(".repeat"):
            called = names_of(operation, "callees")
            yield Corruption("calls in another order", where, put(index, "callees", symbols(called[::-1])))
            yield Corruption("a block less in a repetition", where, put(index, "callees", symbols(called[1:] or called[:1])))
            yield Corruption("a block more in a repetition", where, put(index, "callees", symbols((*called, called[0]))))
            others = [name for name in blocks if name not in called]
            yield Corruption("another block in a repetition", where, put(index, "callees", symbols((*called[:-1], *others[:1]))))
            for what, times in numbers_near(operation):
                yield Corruption(f"repetitions: {what}", where, put(index, "times", ExprAttr(times)))
        else:
            for other in blocks:
                if SymbolRefAttr((other,)) is not operation.properties["callee"]:
                    yield Corruption("a call of another block", f"{where} {other}", put(index, "callee", SymbolRefAttr((other,))))
        if text_of(operation, "part"):
            other = "backward" if text_of(operation, "part") == "forward" else "forward"
            yield Corruption("a call of the other part", where, put(index, "part", StringAttr(other)))
            yield Corruption("a call of no part", where, put(index, "part", None))
        yield Corruption("a call once more", where, at(index, _again))
        yield Corruption("a call moved to the front", where, at(index, lambda o: move(o, 0)))


def _again(call: Operation) -> None:
    new = copy_of(call, "")
    new.operands = list(call.operands)
    assert call.parent is not None
    call.parent.operations.insert(place_of(call) + 1, new)


def numbers_near(operation: Operation) -> list[tuple[str, Expr]]:
    """Other numbers of repetitions."""
    said = operation.properties.get("times")
    times = said.expr if isinstance(said, ExprAttr) else ONE
    return [("one more", times + 1), ("twice", 2 * times), ("once", ONE), ("a number", constant(7))]


def symbols(names: tuple[str, ...]) -> ArrayAttr:
    return ArrayAttr(tuple(SymbolRefAttr((name,)) for name in names))


def sections(operations: list[Operation]) -> Found:
    """Run a section as often as another, before or after others, with other tasks; leave one out; and buffers that agree, or don't."""
    found = [(index, operation) for index, operation in enumerate(operations) if operation.name in SECTIONS]
    for index, section in found:
        where = name_of(section)
        for what, times in _times_near(section):
            yield Corruption(f"section times: {what}", where, put(index, "times", times))
            yield Corruption(f"section times, consistently: {what}", where, _with_buffers(put(index, "times", times)))
        yield Corruption("section dropped", where, at(index, _remove))
        yield Corruption("section dropped, consistently", where, _with_buffers(at(index, _remove)))
        yield Corruption("section once more", where, at(index, lambda o: _insert(o)))
        yield Corruption("section moved to the front", where, at(index, lambda o: move(o, _first(o))))
        for name in ("after", "takes", "carries"):
            said = section.properties.get(name)
            if isinstance(said, ArrayAttr):
                yield Corruption(f"section: no {name}", where, put(index, name, None))
                yield Corruption(f"section: {name} in reverse", where, put(index, name, ArrayAttr(tuple(map(_turned, said.values)))))
        for name in (symbol_of(other) for _, other in found if other is not section):
            yield Corruption("section after another one", f"{where} {name}", put(index, "after", symbols((name,))))
        yield from _extents(index, section)
    for index, operation in enumerate(operations):
        if operation.name in BUFFERS and found:
            for what, times in _times_near(operation):
                yield Corruption(f"buffer times: {what}", name_of(operation), put(index, "times", times))


def _times_near(operation: Operation) -> list[tuple[str, ExprAttr | None]]:
    """Other numbers of repetitions, and none."""
    return [*((what, ExprAttr(times)) for what, times in numbers_near(operation)), ("dropped", None)]


def _extents(index: int, section: Operation) -> Found:
    """Other tasks of a section, or commands."""
    extent = "tasks" if section.name == "plan.section" else "commands"
    first, last = numbers_of(section, extent)
    for what, said in (("shorter", (first, max(first, last - 1))), ("longer", (first, last + 1)), ("elsewhere", (0, last - first))):
        new = ArrayAttr(tuple(IntegerAttr(n, I64) for n in said))
        yield Corruption(f"section extent: {what}", name_of(section), put(index, extent, new))


def _users(operations: Iterable[Operation]) -> list[Operation]:
    """The tasks, or the commands."""
    return [o for o in operations if o.name == "plan.task" or (o.name.startswith("concrete.") and "operation" in o.properties)]


def _turned(pair: Attribute) -> Attribute:
    return ArrayAttr(pair.values[::-1]) if isinstance(pair, ArrayAttr) else pair


def _remove(operation: Operation) -> None:
    assert operation.parent is not None
    operation.parent.operations.remove(operation)


def _insert(section: Operation) -> None:
    new = copy_of(section, ".again")
    assert section.parent is not None
    section.parent.operations.insert(place_of(section) + 1, new)


def _first(section: Operation) -> int:
    assert section.parent is not None
    return next(i for i, o in enumerate(section.parent.operations) if o.name == section.name)


def _with_buffers(change: Change) -> Change:
    """The change, and then every repeated buffer as often as the sections run that use it: what a careful forger would do."""

    def both(ops: list[Operation]) -> None:
        module = ops[0]
        change(ops)
        runs = _runs_of_buffers(module)
        for buffer in module.body:
            if buffer.name in BUFFERS and "times" in buffer.properties and symbol_of(buffer) in runs:
                buffer.properties["times"] = ExprAttr(runs[symbol_of(buffer)])

    return both


def _runs_of_buffers(module: Operation) -> dict[str, Expr]:
    """The number of runs of the sections that use each buffer; weights of several blocks as often as those of the first."""
    users = _users(module.body)
    runs: dict[str, Expr] = {}
    counted: set[tuple[str, tuple[int, ...]]] = set()
    for section in (o for o in module.body if o.name in SECTIONS):
        extent = numbers_of(section, "tasks") or numbers_of(section, "commands")
        said = section.properties.get("times")
        times = said.expr if isinstance(said, ExprAttr) else ONE
        for name in {n for o in users[extent[0] : extent[1] + 1] for f in ("reads", "writes") for n in names_of(o, f)}:
            if all(own == extent for other, own in counted if other == name):
                runs[name] = runs.get(name, constant(0)) + times
            counted.add((name, extent))
    return runs


# --- the form in which two modules run the same


def network_form(module: Operation, facts: Facts) -> Any:
    """The runs of a module: their order, number and operands; names of sections, values and networks left out."""
    return (
        tuple(_calls(o, facts) for o in top_level(module) if o.name.endswith(".network")),
        _sections(module, facts),
        _repeated(module, facts),
    )


def _calls(network: Operation, facts: Facts) -> Any:
    known: dict[Value, Any] = {a: i for i, a in enumerate(network.regions[0].blocks[0].arguments)}
    said = Counter[Any]()
    for call in network.body:
        called = references(call.properties.get("callees")) or (str(call.properties.get("callee")),)
        times = reduced(call.properties["times"], facts) if "times" in call.properties else ExprAttr(ONE)
        own = (called, times, text_of(call, "part"), tuple(known.get(v) for v in call.operands))
        said[own] += 1
        known |= {value: (own, index) for index, value in enumerate(call.results)}
    return frozenset(said.items())


def _sections(module: Operation, facts: Facts) -> Any:
    """The sections in order: names of tasks for extents, places for names."""
    sections = [o for o in top_level(module) if o.name in SECTIONS]
    if not sections:
        return ()
    places = {symbol_of(o): i for i, o in enumerate(sections)}
    users = _users(top_level(module))
    origins = {symbol_of(o): (text_of(o, "role"), text_of(o, "source")) for o in top_level(module) if o.name in BUFFERS}
    return tuple(_section(section, places, users, origins, facts) for section in sections)


def _section(
    section: Operation, places: dict[str, int], users: list[Operation], origins: dict[str, tuple[str, str]], facts: Facts
) -> tuple[object, ...]:
    """A section: the tasks that it runs, how often, after which others, and the buffers that it takes and carries."""
    first, last = numbers_of(section, "tasks") or numbers_of(section, "commands")
    own = frozenset(text_of(o, "source") for o in users[first : last + 1])
    times = reduced(section.properties["times"], facts) if "times" in section.properties else ExprAttr(ONE)
    flows = [
        frozenset(tuple(origins.get(name) for name in references(pair)) for pair in said.values)
        for key in ("takes", "carries")
        if isinstance(said := section.properties.get(key), ArrayAttr)
    ]
    return own, times, frozenset(places.get(name) for name in names_of(section, "after")), tuple(flows)


def _repeated(module: Operation, facts: Facts) -> Any:
    """The number of times that each buffer is there."""
    said = Counter[Any]()
    for buffer in top_level(module):
        if buffer.name in BUFFERS and "times" in buffer.properties:
            times = reduced(buffer.properties["times"], facts)
            if times is not ExprAttr(ONE):
                said[text_of(buffer, "role"), text_of(buffer, "source"), times] += 1
    return frozenset(said.items())
