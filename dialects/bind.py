"""The `bind` dialect: what a derivation is given besides the model. Workload and strategy; each field is a pass option too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from bpir.dialects.bp import ExprAttr
from bpir.ir.attributes import Attribute, DictAttr, StringAttr, dictionary
from bpir.ir.declaration import Fragment, OperationDeclaration, ParseContext, Piece, Report
from bpir.ir.diagnostic import Span, fail, suggestion
from bpir.ir.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.syntax import Property, SymbolName, Word


@attrs.frozen
class Field:
    """One field of a binding: its name, what it may hold, what it means."""

    name: str
    help: str
    choices: tuple[str, ...] = ()  # words; an expression if there are none


BOOLEAN = ("true", "false")

WORKLOAD = (
    Field("phase", "prefill (every token of the context) or decode (one token)", ("prefill", "decode")),
    Field("batch", "sequences: replaces the batch axis of the block"),
    Field("context", "visible KV tokens, the new ones included"),
    Field("batch_axis", "the batch axis, where it is not the first dimension of the block's input"),
    Field("token_axis", "the token axis, where it is not the second dimension of the block's input"),
)

STRATEGY = (
    Field("tensor", "tensor-parallel degree"),
    Field("pipeline", "pipeline-parallel degree"),
    Field("data", "data-parallel degree"),
    Field(
        "communication",
        "collectives of tensor parallelism; the second shards the sequence",
        ("all_reduce", "reduce_scatter_all_gather"),
    ),
    Field("recompute", "what backward computes again", ("none", "attention", "full")),
    Field("all_gather_redo", "keep the shard of a gathered input and gather again in backward", BOOLEAN),
    Field("fused_activation", "the activation moves no bytes of its own", BOOLEAN),
    Field("optimizer_sharding", "shard the optimizer over the data-parallel ranks", BOOLEAN),
    Field("master_copy", "the optimizer keeps an fp32 copy of the weights", BOOLEAN),
    Field("convention", "the table of work rules", ("standard", "calculon")),
)


def field_attribute(field: Field, value: Expr, span: Span | None) -> Attribute:
    """The attribute of a field's value as it was written; a word was read as the symbol of its name.

    Raises:
        DiagnosticError: the field takes one of some words, and this is none of them.
    """
    if not field.choices:
        if not countable(value):
            raise fail(f"'{field.name}' must be a positive integer, not {value.text}", span)
        return ExprAttr(value)
    if value.text not in field.choices:
        raise fail(
            f"'{field.name}' must be one of {', '.join(field.choices)}, not '{value.text}'" + suggestion(value.text, field.choices),
            span,
        )
    return StringAttr(value.text)


def unknown_field(name: str, known: Iterable[str]) -> str:
    """The message for a field that the table does not have."""
    names = tuple(known)
    return f"unknown field '{name}'" + (suggestion(name, names) or f": the fields are {', '.join(names)}")


def countable(value: Expr) -> bool:
    """Whether the value of a field can be a number of sequences, tokens or ranks: a number must be a positive integer."""
    return value.constant is None or (value.integer is not None and value.integer > 0)


@attrs.frozen(eq=False)
class Fields(Property):
    """`{phase = decode, context = c}`: the fields of a binding, in the order of their table."""

    name: str
    table: tuple[Field, ...]

    def fragment(self, rule: str) -> Fragment:
        known = {field.name: field for field in self.table}

        def item(context: ParseContext, values: list[Any], span: Span) -> tuple[str, Attribute]:
            name, value = values
            if name not in known:
                raise fail(unknown_field(name, known), span)
            return name, field_attribute(known[name], value, span)

        def together(context: ParseContext, values: list[Any], span: Span) -> DictAttr:
            names = [name for name, _ in values]
            if len(set(names)) != len(names):
                raise fail(f"field '{next(n for n in names if names.count(n) > 1)}' is given twice", span)
            return dictionary(values)

        return Fragment(
            f'{rule}: "{{" ({rule}_item ("," {rule}_item)*)? "}}" -> {rule}_is\n{rule}_item: word "=" expr -> {rule}_item\n',
            {rule + "_item": item, rule + "_is": together},
        )

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        assert isinstance(attribute, DictAttr)
        values = dict(attribute.entries)
        shown = [f"{f.name} = {field_text(values[f.name])}" for f in self.table if f.name in values]
        yield "{" + ", ".join(shown) + "}"


def field_text(value: Attribute) -> str:
    return value.expr.text if isinstance(value, ExprAttr) else value.value if isinstance(value, StringAttr) else value.text


class Binding(OperationDeclaration):
    """An input of a derivation with a table of fields."""

    table: tuple[Field, ...] = ()

    def verify(self, operation: Operation, report: Report) -> None:
        known = {field.name: field for field in self.table}
        for name, value in fields_of(operation).items():
            field = known.get(name)
            if field is None:
                report.error(operation, unknown_field(name, known))
            elif field.choices and not (isinstance(value, StringAttr) and value.value in field.choices):
                report.error(operation, f"'{name}' must be one of {', '.join(field.choices)}")
            elif not field.choices and not isinstance(value, ExprAttr):
                report.error(operation, f"'{name}' must be an expression (#bp.expr<...>)")
            elif isinstance(value, ExprAttr) and not countable(value.expr):
                report.error(operation, f"'{name}' must be a positive integer, not {value.expr.text}")


class Workload(Binding):
    """What is run: `bind.workload @decode inference {phase = decode, batch = B, context = c}`.

    `inference` runs one phase: prefill has as many query tokens as visible ones, decode has one. Fields left out
    leave their axis
    symbolic.
    """

    name = "bind.workload"
    table = WORKLOAD
    syntax = (SymbolName(), Word("kind", ("inference", "training")), Fields("fields", WORKLOAD))
    required = ("sym_name", "kind", "fields")


class Strategy(Binding):
    """How it is spread: `bind.strategy @tp {tensor = t}`. Axes of tensors are mapped to axes of the mesh; no operation is named."""

    name = "bind.strategy"
    table = STRATEGY
    syntax = (SymbolName(), Fields("fields", STRATEGY))
    required = ("sym_name", "fields")


def fields_of(operation: Operation) -> dict[str, Attribute]:
    attribute = operation.properties.get("fields")
    return dict(attribute.entries) if isinstance(attribute, DictAttr) else {}


def fields_text(fields: Mapping[str, Attribute]) -> str:
    return ", ".join(f"{name} = {field_text(value)}" for name, value in fields.items())


def as_expr(value: Attribute | None) -> Expr | None:
    """The expression of a field; None if it is absent."""
    return value.expr if isinstance(value, ExprAttr) else None


def as_word(value: Attribute | None) -> str | None:
    """The word of a field; None if it is absent."""
    return value.value if isinstance(value, StringAttr) else None
