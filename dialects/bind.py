"""The `bind` dialect: what a derivation is given besides the model. Workload, strategy and deployment: each field is a pass option too.

A target is a contract of a machine and stays as it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from bpir.dialects.bp import ExprAttr
from bpir.ir.attributes import I64, ArrayAttr, Attribute, DictAttr, IntegerAttr, StringAttr, dictionary, quoted
from bpir.ir.declaration import Fragment, OperationDeclaration, ParseContext, Piece, Problems, wanted
from bpir.ir.diagnostic import Span, fail, suggestion
from bpir.ir.dialect import Dialect, declare
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Property, SymbolName, Word
from bpir.ir.records import Interned
from bpir.ir.syntax import Clause

declare(Dialect("bind"))


class Field(metaclass=Interned):
    """One field of a binding: its name, what it may hold, what it means, and what a binding without it means (empty if that depends)."""

    name: str
    help: str
    choices: tuple[str, ...] = ()  # words; an expression if there are none
    default: str = ""
    several: bool = False  # a list of numbers, `[8, 8, 7]`

    @property
    def meaning(self) -> str:
        """The meaning of the field, with its default."""
        return f"{self.help} (default: {self.default})" if self.default else self.help


BOOLEAN = ("true", "false")
CAUSAL = ("dense", "half", "exact")
ZERO_STAGES = ("0", "1", "2", "3")
GRADIENTS = ("weights", "f32")
RECOMPUTE = ("none", "attention", "core_attention", "full")

WORKLOAD = (
    Field("phase", "prefill (every token of the context) or decode (one token)", ("prefill", "decode")),
    Field("batch", "sequences: replaces the batch axis of the block"),
    Field("context", "visible KV tokens, the new ones included"),
    Field("query", "new tokens of a prefill, where not all of the context is new: context = prefix + query"),
    Field("prefix", "visible KV tokens that are in the cache before a prefill"),
    Field(
        "causal",
        "which pairs of query and key attention counts: every visible key, half of them, or those that a causal mask leaves",
        CAUSAL,
        "dense",
    ),
    Field("head", "which tokens go through model.last_token", ("last", "all"), "last"),
    Field("batch_axis", "the batch axis, where it is not the first dimension of the block's input"),
    Field("token_axis", "the token axis, where it is not the second dimension of the block's input"),
)

STRATEGY = (
    Field("tensor", "tensor-parallel degree"),
    Field("pipeline", "pipeline-parallel degree: the stages into which a network is cut", default="1"),
    Field("stages", "layers of each stage, `[8, 8, 7]`, where they are not shared out as evenly as can be", several=True),
    Field("interleaving", "chunks of layers that each stage has, in turn with the others", default="1"),
    Field("microbatches", "how often a step runs forward and backward before it updates weights", default="1"),
    Field("data", "data-parallel degree: replicas, each with a batch of its own", default="1"),
    Field("expert", "expert-parallel degree: the ranks share the experts and the batch", default="1"),
    Field("latent", "the form of latent attention of inference: K and V of all visible tokens, or of none", ("expanded", "absorbed")),
    Field(
        "communication",
        "collectives of tensor parallelism; the second shards the sequence",
        ("all_reduce", "reduce_scatter_all_gather"),
        "all_reduce",
    ),
    Field("recompute", "what backward computes again", RECOMPUTE, "none"),
    Field("all_gather_redo", "keep the shard of a gathered input and gather again in backward", BOOLEAN, "false"),
    Field("fused_activation", "the activation moves no bytes of its own", BOOLEAN, "false"),
    Field("zero", "what replicas share: optimizer states (1), gradients as well (2), weights as well (3)", ZERO_STAGES, "0"),
    Field("optimizer_sharding", "share optimizer states and gradients among replicas, as zero = 2 does", BOOLEAN, "false"),
    Field("gradients", "the element in which gradients of weights are kept and reduced", GRADIENTS, "weights"),
    Field("master_copy", "the optimizer keeps an fp32 copy of the weights", BOOLEAN),
    Field("convention", "the table of work rules", ("standard", "calculon"), "standard"),
)

TARGET = (
    Field("abi", "revision of the binary interface"),
    Field("alignment", "bytes that the address of every buffer is a multiple of, at least; a power of two"),
)

DEPLOYMENT = (
    Field("devices", "number of devices"),
    Field("memory", "bytes of memory of each device; where it is left out, nothing is claimed of what fits"),
)


def field_attribute(field: Field, value: Expr | Sequence[Expr], span: Span | None) -> Attribute:
    """The attribute of a field's value as it was written; a word was read as the symbol of its name.

    Raises:
        DiagnosticError: the field takes one of some words, and this is none of them; or it takes numbers in brackets, and this is another.
    """
    if field.several:
        if isinstance(value, Expr) or not all((number.integer or 0) > 0 for number in value):
            raise fail(f"'{field.name}' must be positive integers in brackets, as [8, 8, 7]", span)
        return ArrayAttr(tuple(map(ExprAttr, value)))
    if not isinstance(value, Expr):
        raise fail(f"'{field.name}' takes one value, and no brackets", span)
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


class Fields(Property[dict[str, Attribute]], kw_only=True):
    """`{phase = decode, context = c}`: the fields of a binding, in the order of their table."""

    table: tuple[Field, ...]
    name: str = "fields"

    def value(self, attribute: Attribute | None) -> dict[str, Attribute]:
        return dict(attribute.entries) if isinstance(attribute, DictAttr) else {}

    def fragment(self, rule: str) -> Fragment:
        known = {field.name: field for field in self.table}

        def item(context: ParseContext, values: list[Any], span: Span) -> tuple[str, Attribute]:
            name, value = values[0], values[1]
            if name not in known:
                raise fail(unknown_field(name, known), span)
            return name, field_attribute(known[name], value, span)

        def listed(context: ParseContext, values: list[Any], span: Span) -> tuple[str, Attribute]:
            return item(context, [values[0], values[1:]], span)

        def together(context: ParseContext, values: list[Any], span: Span) -> DictAttr:
            names = [name for name, _ in values]
            if len(set(names)) != len(names):
                raise fail(f"field '{next(n for n in names if names.count(n) > 1)}' is given twice", span)
            return dictionary(values)

        return Fragment(
            f'{rule}: "{{" ({rule}_item ("," {rule}_item)*)? "}}" -> {rule}_is\n'
            f'{rule}_item: word "=" expr -> {rule}_item\n    | word "=" "[" expr ("," expr)* "]" -> {rule}_listed\n',
            {rule + "_item": item, rule + "_listed": listed, rule + "_is": together},
        )

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        attribute = wanted(attribute, DictAttr)
        values = dict(attribute.entries)
        shown = [f"{f.name} = {field_text(values[f.name])}" for f in self.table if f.name in values]
        yield "{" + ", ".join(shown) + "}"

    def expected(self, attribute: Attribute) -> str:
        return "" if isinstance(attribute, DictAttr) else "a dictionary of fields"


def field_text(value: Attribute) -> str:
    """The value of a field as it is written."""
    if isinstance(value, ArrayAttr):
        return "[" + ", ".join(map(field_text, value.values)) + "]"
    return value.expr.text if isinstance(value, ExprAttr) else value.value if isinstance(value, StringAttr) else value.text


class Binding(OperationDeclaration):
    """An input of a derivation with a table of fields."""

    table: ClassVar[tuple[Field, ...]] = ()
    symbol = SymbolName()
    fields: Fields

    def verify(self, operation: Operation, report: Problems) -> None:
        known = {field.name: field for field in self.table}
        for name, value in type(self)(operation).fields.items():
            field = known.get(name)
            if field is None:
                report.error(operation, unknown_field(name, known))
            elif field.choices and not (isinstance(value, StringAttr) and value.value in field.choices):
                report.error(operation, f"'{name}' must be one of {', '.join(field.choices)}")
            elif field.several:
                if not numbers_of(value):
                    report.error(operation, f"'{name}' must be an array of positive integers (#bp.expr<...>)")
            elif not field.choices and not isinstance(value, ExprAttr):
                report.error(operation, f"'{name}' must be an expression (#bp.expr<...>)")
            elif isinstance(value, ExprAttr) and not countable(value.expr):
                report.error(operation, f"'{name}' must be a positive integer, not {value.expr.text}")


class Workload(Binding):
    """What is run: `bind.workload @decode inference {phase = decode, batch = B, context = c}`.

    `inference` runs one phase: prefill has as many query tokens as visible ones, unless `prefix` tokens are in the cache (`context =
    prefix + query`: say two of them), decode has one. Fields left out leave their axis symbolic. `causal` counts matrix products and
    softmax of attention over new tokens: bytes and memory stay those of all visible keys, and decode sees them all.
    """

    name = "bind.workload"
    table = WORKLOAD
    kind = Word(choices=("inference", "training"))
    fields = Fields(table=WORKLOAD)
    syntax = (Binding.symbol, kind, fields)


class Strategy(Binding):
    """How a model is spread over ranks: `bind.strategy @tp {tensor = t}`. Axes of tensors are mapped to axes of the mesh; no operation is
    named.
    """

    name = "bind.strategy"
    table = STRATEGY
    fields = Fields(table=STRATEGY)
    syntax = (Binding.symbol, fields)


class Implementations(Property[dict[str, str]]):
    """`implements {attention = "qm.attention", elementwise = "qm.map"}`: by operation, alternative or capability."""

    def value(self, attribute: Attribute | None) -> dict[str, str]:
        entries = attribute.entries if isinstance(attribute, DictAttr) else ()
        return {name: value.value for name, value in entries if isinstance(value, StringAttr)}

    def fragment(self, rule: str) -> Fragment:
        def together(context: ParseContext, values: list[Any], span: Span) -> DictAttr:
            names = [name for name, _ in values]
            if len(set(names)) != len(names):
                raise fail(f"'{next(n for n in names if names.count(n) > 1)}' is implemented twice", span)
            return dictionary(values)

        return Fragment(
            f'{rule}: "implements" "{{" {rule}_item ("," {rule}_item)* "}}" -> {rule}_is\n{rule}_item: word "=" string -> {rule}_item\n',
            {rule + "_item": lambda c, v, s: (v[0], StringAttr(v[1])), rule + "_is": together},
        )

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        opening = "implements {"
        for index, (name, text) in enumerate(self.value(operation.properties.get(self.name)).items()):  # one a line: readable at any number
            yield "," if index else ""
            yield "\n"
            yield f"{opening if not index else ' ' * len(opening)}{name} = {quoted(text)}"
        yield "}"

    def expected(self, attribute: Attribute) -> str:
        good = isinstance(attribute, DictAttr) and attribute.entries and all(isinstance(v, StringAttr) for _, v in attribute.entries)
        return "" if good else "a dictionary of strings"


class Links(Property[tuple[tuple[int, int], ...]]):
    """`[0 -> 1, 1 -> 0]`: ordered pairs of devices."""

    def value(self, attribute: Attribute | None) -> tuple[tuple[int, int], ...]:
        pairs = map(integers, attribute.values) if isinstance(attribute, ArrayAttr) else ()
        return tuple((pair[0], pair[1]) for pair in pairs if len(pair) == 2)

    def fragment(self, rule: str) -> Fragment:
        def pair(context: ParseContext, values: list[Any], span: Span) -> ArrayAttr:
            return device_pair(*values)

        return Fragment(
            f'{rule}: "[" {rule}_item ("," {rule}_item)* "]" -> {rule}_is\n{rule}_item: integer "->" integer -> {rule}_item\n',
            {rule + "_item": pair, rule + "_is": lambda c, v, s: ArrayAttr(tuple(v))},
        )

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        attribute = wanted(attribute, ArrayAttr)
        yield "[" + ", ".join("{} -> {}".format(*integers(v)) for v in attribute.values) + "]"

    def expected(self, attribute: Attribute) -> str:
        good = isinstance(attribute, ArrayAttr) and attribute.values and all(len(integers(v)) == 2 for v in attribute.values)
        return "" if good else "an array of pairs of devices"


def device_pair(source: int, destination: int) -> ArrayAttr:
    return ArrayAttr((IntegerAttr(source, I64), IntegerAttr(destination, I64)))


class Target(Binding):
    """A machine: `bind.target @queue_machine queue {abi = 1, alignment = 64}`, then what it implements.

    The word after the name is the kind of the machine (`queue`, `slot`): which target extension binds for it. A task gets the
    implementation of its operation; else of the first of its alternatives that is implemented; else, if it requires one capability
    only, of that.
    """

    name = "bind.target"
    table = TARGET
    kind = Word()
    fields = Fields(table=TARGET)
    implements = Implementations()
    syntax = (Binding.symbol, kind, fields, implements)

    def verify(self, operation: Operation, report: Problems) -> None:
        super().verify(operation, report)
        fields = Target(operation).fields
        for name in ("abi", "alignment"):
            value = as_expr(fields.get(name))
            if value is None:
                report.error(operation, f"a target needs its '{name}': {{{name} = ...}}")
            elif value.integer is None or not 0 < value.integer < 2**63:
                report.error(operation, f"'{name}' of a target must be a positive number, not {value.text}")
            elif name == "alignment" and value.integer & (value.integer - 1):
                report.error(operation, f"the alignment of a target is a power of two, not {value.text}")


class Deployment(Binding):
    """Where a plan runs: `bind.deployment @node {devices = 8, memory = 80*2**30}`, then `links [0 -> 1, 1 -> 0]`.

    Devices are counted from 0; a plan of one rank runs on each of them. Without `links` every device reaches every other one;
    without `memory` nothing is claimed of what fits.
    """

    name = "bind.deployment"
    table = DEPLOYMENT
    fields = Fields(table=DEPLOYMENT)
    links = Links()
    syntax = (Binding.symbol, fields, Clause("links", (links,)))

    def verify(self, operation: Operation, report: Problems) -> None:
        super().verify(operation, report)
        deployment = Deployment(operation)
        count = as_expr(deployment.fields.get("devices"))
        for link in deployment.links:
            if link[0] == link[1]:
                report.error(operation, f"a link leads from a device to another one, not from {link[0]} to {link[1]}")
            elif min(link) < 0 or (count is not None and count.integer is not None and max(link) >= count.integer):
                report.error(operation, f"the link {link[0]} -> {link[1]} names a device that the deployment does not have")


def as_expr(value: Attribute | None) -> Expr | None:
    """The expression of a field; None if it is absent."""
    return value.expr if isinstance(value, ExprAttr) else None


def numbers_of(value: Attribute | None) -> tuple[int, ...]:
    """The numbers of a field that takes several; none if it is absent, or holds anything else."""
    found = [as_expr(each) for each in value.values] if isinstance(value, ArrayAttr) else []
    numbers = [expr.integer or 0 for expr in found if expr is not None]
    return tuple(numbers) if len(numbers) == len(found) and all(number > 0 for number in numbers) else ()


def as_word(value: Attribute | None) -> str | None:
    """The word of a field; None if it is absent."""
    return value.value if isinstance(value, StringAttr) else None


def integers(attribute: Attribute | None) -> tuple[int, ...]:
    """The values of an array of integers."""
    if not isinstance(attribute, ArrayAttr):
        return ()
    return tuple(v.value for v in attribute.values if isinstance(v, IntegerAttr))
