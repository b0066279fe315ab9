"""Each property of each operation, and the rules that refuse a change of it: `python evidence/property_table.py` prints the table.

A property that a new operation declares gets a row by itself; without a rule that looks at it, the row is empty, and its test fails.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

import attrs
from corruptions.any_level import change_expression, symbols_of, with_expression
from corruptions.corruption import Corruption, at
from corruptions.judge import EQUIVALENT, WRONG, Verdict, judge
from corruptions.valid_modules import EXPERTS, SHARED, Case, cases
from support import read, run

from bpir import dialects
from bpir.dialects.bind import Binding, field_attribute
from bpir.dialects.bp import ExprAttr, expressions_in
from bpir.ir.attributes import I64, ArrayAttr, Attribute, DictAttr, IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, dictionary
from bpir.ir.declaration import DECLARATIONS, OperationDeclaration
from bpir.ir.expressions.expression import constant
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.verifiers.ssa.distinct_properties import expected

LEVELS = ("bp", "bind", "model", "dist", "plan", "concrete", "queue", "slot")
NAMED = "named in the verdict"
HAND = """module @hand {
  bp.symbols B, S, c, H, h, d, F, t, e where t | h, t | F, d > 2
  bind.workload @decode inference {phase = decode, context = c}
  bind.strategy @tp {tensor = t}
  model.block @block(%x: !bp.tensor<B x S x H, e>) {
    %n = model.rms_norm "attention.norm" %x
    %q, %k, %v = model.linear "attention.qkv" %n : [h x d], [h x d], [h x d]
    %qr, %kr = model.rope "attention.rope" %q, %k dims 2
    %K, %V = model.kv_append "attention.append" %kr, %v context c
    %s = model.batch_matmul "attention.scores" %qr, %K transposed
    %p = model.softmax "attention.softmax" %s
    %o = model.batch_matmul "attention.values" %p, %V
    %y = model.linear "attention.output_projection" %o : [H]
    %r = model.add "attention.residual" %y, %x
    %g = model.linear "mlp.gate" %r : [F]
    %a = model.silu "mlp.silu" %g
    %u = model.relu "mlp.relu" %g
    %m = model.mul "mlp.multiply" %a, %u
    %z = model.linear "mlp.contract" %m : [H]
    model.return %z
  }
}
"""
"""The operations of a model that no example has."""
WHOLE = """module @whole {
  bp.symbols B, S, c, P, H, V, W, h, d, n, r, v, l, F, E, k, t
    where t | h, t | F, t | V, E > k, 2 | F, 2 | H, c > W, 64 > c
  bind.workload @prefill inference {phase = prefill, context = c, causal = exact, head = last}
  bind.strategy @tp {tensor = t}
  bind.deployment @node {devices = t}
  bind.target @queue_machine queue {abi = 1, alignment = 64}
    implements {all_reduce = "qm.sum", elementwise = "qm.map", fused_attention = "qm.attention", kv_cache = "qm.append",
                matrix_multiply = "qm.matmul", normalization = "qm.norm", softmax = "qm.softmax"}
  model.block @first(%ids: !bp.tensor<B x S, i32>) {
    %x = model.embedding "embedding.tokens" %ids : [V] -> !bp.tensor<B x S x H, bf16>
    %p = model.positions "embedding.positions" %x : [P]
    %s = model.scale "embedding.scale" %p
    model.return %s
  }
  model.block @layer(%x: !bp.tensor<B x S x H, bf16>) {
    %q, %k, %v = model.linear "attention.qkv" %x : [h x d], [h x d], [h x d]
    %o = model.attention "attention.core" %q, %k, %v context c window W softcap sinks
    %y = model.linear "attention.output" %o : [H]
    %a, %b = model.linear "latent.query" %x : [h x n], [h x r]
    %la, %kr = model.linear "latent.down" %x : [l], [r]
    %lo = model.latent_attention "latent.core" %a, %b, %la, %kr values v absorbed context c stored fp8_block
    %ly = model.linear "latent.output" %lo : [H]
    %s1 = model.add "attention.sum" %y, %ly
    %z1 = model.add "attention.residual" %s1, %x
    %route = model.router "moe.router" %z1 bias top k of E scores sigmoid
    %rows = model.dispatch "moe.dispatch" %z1, %route
    %g = model.experts "moe.gate" %rows bias of E stored mxfp4 : [F]
    %u = model.experts "moe.up" %rows of E : [F]
    %s = model.quick_gelu "moe.quick_gelu" %g
    %e = model.gelu_erf "moe.gelu_erf" %u
    %m = model.mul "moe.multiply" %s, %e
    %w = model.experts "moe.contract" %m of E stored fp8_block : [H]
    %c = model.combine "moe.combine" %w, %route
    %z2 = model.add "moe.residual" %c, %z1
    model.return %z2
  }
  model.block @last(%x: !bp.tensor<B x S x H, bf16>) {
    %l = model.last_token "head.last_token" %x
    %a = model.relu2 "head.relu2" %l
    %b = model.sigmoid "head.sigmoid" %a
    %d = model.tanh "head.tanh" %b
    %y = model.linear "head.logits" %d tied "embedding.tokens" : [V]
    %s = model.softcap "head.softcap" %y
    model.return %s
  }
  model.network @whole(%ids: !bp.tensor<B x S, i32>) {
    %x = model.call @first %ids
    %y = model.repeat 3 @layer %x
    %z = model.call @last %y
    model.return %z
  }
}
"""
"""A network, and the operations that the blocks of whole models have."""
LOSS = """module @loss {
  bp.symbols B, S, H, V, E, W, h, n, r, m, t where t | V, t | H, E > m
  bind.strategy @tp {tensor = t}
  model.block @parts(%x: !bp.tensor<B x S x H, bf16>, %k: !bp.tensor<B x S x h x n, bf16>, %p: !bp.tensor<B x S x r, bf16>) {
    %s = model.router_scores "moe.scores" %x bias of E
    %c = model.router_choice "moe.choice" %s top m scores sigmoid
    %q, %qr = model.linear "latent.query" %x : [h x n], [h x r]
    %t = model.latent_scores "latent.scores" %q, %qr, %k, %p pairs W
    model.return %c, %t
  }
  model.block @block(%x: !bp.tensor<B x S x H, bf16>, %labels: !bp.tensor<B x S, i32>) {
    %y = model.linear "head.logits" %x : [V]
    %l = model.cross_entropy "loss" %y, %labels
    %z = model.linear "hand.logits" %x : [V]
    %m = model.row_maximum "hand.maximum" %z
    %e = model.row_exponentials "hand.exponentials" %z, %m, %labels
    %k = model.row_logarithm "hand.logarithm" %m, %e
    model.return %l, %k
  }
}
"""
"""A loss, and its parts written by hand; those of a router and of latent attention."""
STAGED = """module @staged {
  bp.symbols B, S, H, V, n, t where t | H
  bind.workload @prompt inference {phase = prefill, context = S}
  bind.strategy @pp {tensor = t, pipeline = 2, interleaving = 2, microbatches = n}
  model.network @model(%ids: !bp.tensor<B x S, i32>) {
    %x = model.call @first %ids
    %y = model.repeat 6 @layer %x
    model.return %y
  }
  model.block @first(%ids: !bp.tensor<B x S, i32>) {
    %x = model.embedding "embedding.tokens" %ids : [V] -> !bp.tensor<B x S x H, bf16>
    model.return %x
  }
  model.block @layer(%x: !bp.tensor<B x S x H, bf16>) {
    %y = model.relu "layer.relu" %x
    model.return %y
  }
}
"""
"""The stages of a pipeline, two chunks each."""
CHOSEN = (0, 1, 20, 21, 26, 46, 47, 50, 51, 54, 58, 61)  # of `cases()`: each level, both kinds, bound to both kinds of target


@attrs.frozen(eq=False)
class Pair:
    """A source, a valid target, and which of them is changed."""

    source: Operation
    target: Operation
    side: str

    @property
    def changed(self) -> Operation:
        return self.target if self.side == "target" else self.source


@cache
def corpus() -> tuple[Pair, ...]:
    """Modules in which nearly all operations and properties stand."""
    found = []
    for case in (cases()[index] for index in CHOSEN):
        assert isinstance(case, Case)
        found.append(Pair(*case.modules(), case.side))
    hand = read(HAND, "hand.bpir")
    found.append(Pair(hand, read(print_module(run(hand, "distribute-inference")), "target.bpir"), "source"))
    whole = read(WHOLE, "whole.bpir")
    levels = [whole]
    for name in ("distribute-inference", "plan-inference", "bind-queue"):
        levels.append(read(print_module(run(levels[-1], name)), "target.bpir"))
    found.append(Pair(levels[0], levels[1], "source"))
    staged = [read(STAGED, "staged.bpir")]
    for name in ("distribute-inference", "plan-inference"):
        staged.append(read(print_module(run(staged[-1], name)), "target.bpir"))
    found += [Pair(source, target, "target") for source, target in itertools.pairwise(staged)]
    loss = read(LOSS, "loss.bpir")
    found.append(Pair(loss, read(print_module(run(loss, "distribute-training")), "target.bpir"), "source"))
    found += [Pair(source, target, "target") for source, target in itertools.pairwise(levels)]
    found += [Pair(*case.modules(), case.side) for case in cases() if case.name == EXPERTS or case.example == SHARED]
    return tuple(found)


def declared() -> list[tuple[str, str]]:
    """Every property of every operation of ours; of bindings each field."""
    for name in LEVELS:
        dialects.load(name)
    rows: list[tuple[str, str]] = []
    for declaration in DECLARATIONS.values():
        if declaration.name.partition(".")[0] in LEVELS:
            rows += [(declaration.name, name) for name in expected(declaration) or {} if name != "fields"]
            if isinstance(declaration, Binding):
                rows += [(declaration.name, f"fields.{field.name}") for field in declaration.table]
    return rows


def rules_of(operation: str, name: str, tried: int = 20) -> tuple[list[str], list[Verdict]]:
    """The rules that refuse changes of a property, of which so many are tried; and what was neither refused, nor the same, nor named."""
    rules: dict[str, None] = {}
    wrong: list[Verdict] = []
    for pair, index, new in itertools.islice(_changes(operation, name), tried):
        copy = _changed(pair.changed, index, name, new)
        verdict = judge(pair.source, pair.target, copy, pair.side)
        rules.update(dict.fromkeys(sorted(verdict.labels)))
        if verdict.outcome == WRONG:
            wrong.append(verdict)
        elif verdict.outcome == EQUIVALENT and verdict.first != "under ":
            rules[NAMED] = None
    return list(rules), wrong


def _changed(module: Operation, index: int, name: str, new: Attribute | None) -> Operation:
    """A copy in which one operation says something else."""

    def change(operation: Operation) -> None:
        first, _, field = name.partition(".")
        if field:
            entries = dict(operation.properties[first].entries)  # type: ignore[attr-defined]
            new_fields = {k: v for k, v in entries.items() if k != field} | ({field: new} if new is not None else {})
            operation.properties[first] = dictionary(new_fields.items())
        elif new is None:
            operation.properties.pop(name)
        else:
            operation.properties[name] = new

    return Corruption(name, "", at(index, change)).apply(module)


def _changes(kind: str, name: str) -> Iterator[tuple[Pair, int, Attribute | None]]:
    """Changes of a property, one of each operation that has it, then the next; where none has it, it is added."""
    places = [(p, i, o) for p in corpus() for i, o in enumerate(p.changed.walk()) if o.name == kind]
    holding = [(p, i, o, value) for p, i, o in places if (value := value_of(o, name)) is not None]
    if holding:
        told = [[(p, i, new) for new in _others(o, name, value, p.changed)] for p, i, o, value in holding[:4]]
        for row in itertools.zip_longest(*told):
            yield from (change for change in row if change is not None)
    else:
        for pair, index, operation in places:
            yield from ((pair, index, new) for new in _additions(operation, name))


def value_of(operation: Operation, name: str) -> Attribute | None:
    first, _, field = name.partition(".")
    value = operation.properties.get(first)
    return dict(value.entries).get(field) if field and isinstance(value, DictAttr) else None if field else value


def _additions(operation: Operation, name: str) -> Iterator[Attribute]:
    """Values for a property that an operation does not have: what its field takes, or what others have under the name."""
    if name.startswith("fields.") and isinstance(operation.declaration, Binding):
        field = next(f for f in operation.declaration.table if f.name == name.partition(".")[2])
        yield from (StringAttr(word) for word in field.choices)
        if not field.choices:
            yield from (field_attribute(field, [constant(n)] if field.several else constant(n), None) for n in (2, 7))
        return
    donors = (o.properties.get(name) for p in corpus() for o in p.changed.walk())
    yield from itertools.islice(dict.fromkeys(value for value in donors if value is not None), 4)
    yield from (UnitAttr(), ExprAttr(constant(3)))


def _others(operation: Operation, name: str, value: Attribute, module: Operation) -> Iterator[Attribute | None]:
    """Other values of a property, those that its kind of attribute allows; without it, if it may be left out."""
    pool = [v for o in module.walk() if o.name == operation.name and (v := value_of(o, name)) is not None and v is not value]
    yield from pool[:2]
    if isinstance(value, StringAttr):
        yield from _other_words(operation, name, value)
    elif isinstance(value, IntegerAttr):
        yield from (IntegerAttr(number, I64) for number in (value.value + 1, 2 * value.value, value.value // 2))
    elif isinstance(value, SymbolRefAttr):
        yield from _other_references(value, module)
    elif isinstance(value, ArrayAttr) and not any(expressions_in(value)):
        yield from _other_lists(value, _further_members(value, pool, module))
    elif isinstance(value, DictAttr):
        yield from _other_dictionaries(value)
    yield from _other_expressions(value, module)
    if name.startswith("fields.") or _optional(operation.declaration, name):
        yield None


def _other_references(value: SymbolRefAttr, module: Operation) -> Iterator[Attribute]:
    names = (o.properties.get("sym_name") for o in module.walk())
    others = [v.value for v in names if isinstance(v, StringAttr) and v.value != value.root]
    yield from (SymbolRefAttr((other,)) for other in others[:3])


def _other_expressions(value: Attribute, module: Operation) -> Iterator[Attribute]:
    for place, expr in enumerate(expressions_in(value)):
        for _, new in itertools.islice(change_expression(expr, symbols_of(list(module.walk()))), 3):
            yield with_expression(value, place, new)


def _other_words(operation: Operation, name: str, value: StringAttr) -> Iterator[Attribute]:
    """The other words that a field may be, and one that nothing is."""
    if name.startswith("fields.") and isinstance(operation.declaration, Binding):
        field = next(f for f in operation.declaration.table if f.name == name.partition(".")[2])
        yield from (StringAttr(word) for word in field.choices if word != value.value)
    yield StringAttr(f"{value.value}x")


def _further_members(value: ArrayAttr, pool: list[Attribute], module: Operation) -> list[Attribute]:
    """At most one attribute that the list might have, too: of another list, or a reference to an operation of the same kind."""
    if not all(isinstance(v, SymbolRefAttr) for v in value.values):
        return [v for array in pool if isinstance(array, ArrayAttr) for v in array.values if v not in value.values][:1]
    kinds = {o.name for o in module.walk() if SymbolRefAttr((o.properties.get("sym_name", value).text.strip('"'),)) in value.values}
    named = [o.properties["sym_name"].text.strip('"') for o in module.walk() if o.name in (kinds or {"plan.task"})]
    return [ref for ref in map(SymbolRefAttr, zip(named, strict=True)) if ref not in value.values][:1]


def _other_lists(value: ArrayAttr, more: list[Attribute]) -> Iterator[Attribute]:
    """In reverse, with a member less, more or another, with other words in inner lists, with other integers."""
    listed = (value.values[::-1], value.values[1:], (*value.values, *more), (*value.values[:-1], *more))
    yield from (ArrayAttr(values) for values in listed if values and values != value.values)
    for index, inner in enumerate(value.values):
        if isinstance(inner, ArrayAttr):
            yield ArrayAttr((*value.values[:index], ArrayAttr((StringAttr("other"),)), *value.values[index + 1 :]))
    integers = [v for v in value.values if isinstance(v, IntegerAttr)]
    if len(integers) == len(value.values):
        yield ArrayAttr(tuple(IntegerAttr(v.value + 1, I64) for v in integers))


def _other_dictionaries(value: DictAttr) -> Iterator[Attribute]:
    """Without an entry, or with another word in it."""
    for key, entry in value.entries:
        yield dictionary((k, v) for k, v in value.entries if k != key)
        if isinstance(entry, StringAttr):
            yield dictionary((k, StringAttr("other") if k == key else v) for k, v in value.entries)


def _optional(declaration: OperationDeclaration | None, name: str) -> bool:
    return declaration is not None and name not in declaration.required


def main() -> None:
    """Print the table."""
    for operation, name in declared():
        rules, wrong = rules_of(operation, name)
        print(f"{operation:26} {name:24} {', '.join(rules) or '-'}" + "".join(f"\n    {v.outcome}: {v.first}" for v in wrong))


if __name__ == "__main__":
    main()
