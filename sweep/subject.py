"""What is swept: a model with its passes, and for each name of the grid what it changes.

A name is an option of the pass (`tensor`, `recompute`), the symbol that the file gives to one (`t` of `tensor = t`), an axis of the input
(`B`, `S`), the usual letter of an option (`p`, `D`, `n`), or any other symbol of the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import attrs

from bpir.dialects import bind
from bpir.dialects.bp import Symbols, relations_attribute, symbol_table
from bpir.dialects.levels import ModelIR
from bpir.dialects.network import networks
from bpir.ir.attributes import ArrayAttr, Attribute, StringAttr
from bpir.ir.diagnostic import Source, fail, suggestion
from bpir.ir.expressions.expression import symbol
from bpir.ir.operation import Operation, clone, top_level
from bpir.ir.relations.relation import Relation
from bpir.passes import load_pass
from bpir.passes.base import Option, options
from bpir.passes.distribution.networks import blocks_to_derive
from bpir.passes.distribution.placement import lone_symbol, shared_axes, shared_heads, tables
from bpir.passes.inference.phases import context_axis, token_axes
from bpir.sweep.grid import Axis
from bpir.verifiers.structure.levels import level_of, place_of

DEGREES = ("tensor", "data", "expert")
"""Options that divide work among ranks: one rank has other tasks than several."""

COUNTED = ("pipeline", "interleaving", "zero")
"""Options with numbers, each of which has other tasks."""

LETTERS = {
    "t": "tensor",
    "p": "pipeline",
    "v": "interleaving",
    "n": "microbatches",
    "D": "data",
    "B": "batch",
    "S": "context",
    "c": "context",
    "q": "query",
}
"""By which letter papers call an option."""


@attrs.frozen
class Swept:
    """A name of the grid: the option that it sets (none: a symbol of the file), and the symbol that stands for its numbers.

    Without a symbol each of its values has tasks of its own.
    """

    axis: Axis
    option: str
    symbol: str

    @property
    def name(self) -> str:
        return self.axis.name

    @property
    def divides(self) -> bool:
        """Whether one rank and several are two structures."""
        return self.option in DEGREES


class Subject:
    """A model of a file that is trained or served.

    Args:
        source: the text of the file.
        module: what it says.
        training: whether it is trained.

    Raises:
        DiagnosticError: the file holds no model.
    """

    def __init__(self, source: Source, module: Operation, training: bool) -> None:
        self.source, self.module, self.training = source, module, training
        if level_of(module) != "model":
            raise fail("only a model can be swept: expected a file with model operations", place_of(module))
        self.ir = ModelIR(module)
        self.table = symbol_table(module)
        self.passes = ("distribute-training", "plan-training") if training else ("distribute-inference", "plan-inference")

    @cached_property
    def options(self) -> Mapping[str, Option]:
        """What the derivation can be told, by name."""
        return options(load_pass(self.passes[0]))

    @cached_property
    def blocks(self) -> list[Operation]:
        return blocks_to_derive(self.ir.expanded.module)

    @cached_property
    def given(self) -> dict[str, Attribute]:
        """The fields that the file gives, by name."""
        kind = "training" if self.training else "inference"
        workloads = [w for w in self.ir.workloads if w.kind == kind]
        return {name: value for found in (*workloads[:1], *self.ir.strategies[:1]) for name, value in found.fields.items()}

    @cached_property
    def _symbol_of(self) -> dict[str, str]:
        """The symbol that stands for a field in the file, where there is one."""
        found: dict[str, str] = {}
        if self.blocks:
            batch, token = token_axes(self.blocks[0], {})
            visible = token if self.training else next(filter(None, map(context_axis, self.blocks)), None)
            for field, axis in (("batch", batch), ("context", visible)):
                name = lone_symbol(axis) if axis is not None else None
                if name is not None:
                    found[field] = name
        for field, value in self.given.items():
            expr = bind.as_expr(value)
            name = lone_symbol(expr) if expr is not None else None
            if name is not None:
                found[field] = name
        return found

    def swept(self, axes: Sequence[Axis]) -> list[Swept]:
        """What each axis of a grid changes.

        Raises:
            DiagnosticError: a name is none, a value is none of its option's, or two names set the same.
        """
        found: dict[str, Swept] = {}
        for axis in axes:
            option = self._option(axis)
            one = Swept(axis, option, self._symbol(axis, option, {swept.symbol for swept in found.values()}))
            self._check(one)
            key = option or one.symbol
            if key in found:
                raise fail(f"'{axis.name}' and '{found[key].name}' both set {key}", axis.span)
            found[key] = one
        return list(found.values())

    def _option(self, axis: Axis) -> str:
        """The option that a name of the grid sets; empty for a symbol that only gets numbers."""
        name = axis.name
        if name in self.options and self.options[name].kind != "symbol":
            return name
        for field, one in self._symbol_of.items():
            if one == name and field in self.options:
                return field
        if LETTERS.get(name) in self.options and name not in self.table.names:
            return LETTERS[name]
        if name not in self.table.names:
            known = [*self.options, *self.table.names, *(letter for letter, field in LETTERS.items() if field in self.options)]
            kind = "training" if self.training else "inference"
            raise fail(f"'{name}' is neither an option of {kind} nor a symbol of the file{suggestion(name, known)}", axis.span)
        if name in self.table.bindings:
            raise fail(f"the file binds '{name}' to {self.table.bindings[name]}: it can't be swept", axis.span)
        return ""

    def _symbol(self, axis: Axis, option: str, taken: set[str]) -> str:
        """The symbol that stands for the numbers of a name; empty where each number has tasks of its own."""
        if not option:
            return axis.name
        if self.options[option].kind != "expression" or option in COUNTED:
            return ""
        if option in self._symbol_of:
            return self._symbol_of[option]
        letters = [letter for letter, field in LETTERS.items() if field == option]
        free = [name for name in (*letters, option, f"{option}_") if name not in self.table.bindings and name not in taken]
        return free[0]

    def _check(self, swept: Swept) -> None:
        """Refuse values that the option does not take; that of an expression must be positive numbers."""
        axis, described = swept.axis, self.options.get(swept.option)
        if described is None or described.kind == "expression":
            if axis.values and not axis.numbers:
                raise fail(f"'{axis.name}' is swept over numbers, not '{axis.values[0]}'", axis.span)
            if 0 in axis.values and swept.option != "zero":
                raise fail(f"'{axis.name}' must be positive", axis.span)
            return
        if axis.open:
            raise fail(f"'{axis.name}' needs its values: {', '.join(self._choices(described)) or 'words'}", axis.span)
        for value in axis.values:
            choices = self._choices(described)
            if choices and str(value) not in choices:
                near = suggestion(str(value), choices)
                raise fail(f"'{axis.name}' is one of {', '.join(choices)}, not '{value}'{near}", axis.span)

    @staticmethod
    def _choices(described: Option) -> tuple[str, ...]:
        return ("true", "false") if described.kind == "flag" else described.choices

    def prepared(self, swept: Sequence[Swept]) -> Operation:
        """The module with the symbols of the grid declared, and what a symbolic degree has to divide."""
        names = [one.symbol for one in swept if one.symbol and one.symbol not in self.table.names]
        relations = [relation for one in swept for relation in self._needed(one) if relation not in self.table.relations]
        return declared(self.module, names, relations) if names or relations else self.module

    def _needed(self, swept: Swept) -> list[Relation]:
        """That the ranks of tensor parallelism divide what they share, but for what is padded or copied."""
        if swept.option != "tensor" or not swept.symbol:
            return []
        resized = tables(self.blocks) | (set() if self.training else shared_heads(self.blocks))
        axes = shared_axes(self.blocks, lambda name: True)
        return [Relation("divides", symbol(swept.symbol), symbol(axis)) for axis in axes if axis not in resized]


def stacked(module: Operation, layers: int) -> Operation:
    """A module of one block with a network that repeats it.

    Raises:
        DiagnosticError: the module has a network, or several blocks, or what its block returns is not what it takes.
    """
    from bpir.ir.printer import print_module
    from bpir.parser import parse_module

    ir = ModelIR(module)
    if networks(module) or len(ir.blocks) != 1:
        raise fail("--layers repeats the one block of a file without a network", place_of(module))
    (block,) = ir.blocks
    types = ", ".join(f"%x{place}: {value.type.text}" for place, value in enumerate(block.operation.arguments))
    given = ", ".join(f"%x{place}" for place in range(len(block.operation.arguments)))
    network = f"  model.network @stack({types}) {{\n    %z = model.repeat {layers} @{block.symbol} {given}\n    model.return %z\n  }}\n"
    text = print_module(module).rstrip()
    if text.endswith("}") and text.startswith("module"):
        text = text[:-1] + network + "}"
    else:
        text += "\n" + network
    return parse_module(Source("<the file with --layers>", text + "\n"))


def declared(module: Operation, names: Sequence[str], relations: Sequence[Relation]) -> Operation:
    """A copy of a module whose `bp.symbols` declares more names, and more relations."""
    copy = clone(module)
    written = next(iter(Symbols.each(top_level(copy))), None)
    properties: dict[str, Attribute] = {"symbols": ArrayAttr(tuple(map(StringAttr, [*(written.symbols if written else ()), *names])))}
    all_relations = [*(written.relations if written else ()), *relations]
    if all_relations:
        properties["relations"] = relations_attribute(all_relations)
    if written is not None:
        written.operation.properties.clear()
        written.operation.properties.update(properties)
    else:
        block = top_level(copy)[0].parent
        assert block is not None
        block.operations.insert(0, Symbols.build(properties=properties, span=module.span))
    return copy
