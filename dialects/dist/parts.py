"""The syntax of meshes, of the axes of collectives, and of work clauses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from bpir.dialects.bp import ExprAttr, Vector
from bpir.ir.attributes import ArrayAttr, Attribute, StringAttr, quoted
from bpir.ir.declaration import GRAMMARS, Fragment, ParseContext, Piece, wanted
from bpir.ir.diagnostic import Span, fail
from bpir.ir.expressions.expression import ZERO, Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Body, Property, expected_body, strings
from bpir.ir.syntax_part import alternative

_V = TypeVar("_V", bound=Vector)


class MeshAxes(Property[dict[str, Expr]]):
    """`<["data"=D, "tensor"=t]>`: axis names with sizes, in mesh order; stored as two arrays would be: `[["data", #bp.expr<D>]]`."""

    name: str = "axes"
    sign: str = "= "

    def value(self, attribute: Attribute | None) -> dict[str, Expr]:
        return dict(mesh_entries(attribute))

    def fragment(self, rule: str) -> Fragment:
        return Fragment(
            f"{rule}: {quoted(self.sign.strip()) if self.sign else ''} raw_angle -> {rule}_is\n",
            {rule + "_is": lambda c, v, s: c.body("dist_mesh_body", v[0])},
        )

    def expected(self, attribute: Attribute) -> str:
        names = [name for name, _ in mesh_entries(attribute)]
        good = isinstance(attribute, ArrayAttr) and len(names) == len(attribute.values) == len(set(names))
        return "" if good else 'an array of axes of different names, each as ["tensor", #bp.expr<t>]'

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        yield f"{self.sign}<[" + ", ".join(f"{quoted(name)}={size.text}" for name, size in mesh_entries(attribute)) + "]>"


def _mesh_action(context: ParseContext, values: list[Any], span: Span) -> ArrayAttr:
    names = [name for name, _ in values]
    if len(set(names)) != len(names):
        raise fail(f"mesh axis '{next(n for n in names if names.count(n) > 1)}' is given twice", span)
    return mesh_attribute(dict(values))


def mesh_attribute(axes: Mapping[str, Expr]) -> ArrayAttr:
    return ArrayAttr(tuple(ArrayAttr((StringAttr(name), ExprAttr(size))) for name, size in axes.items()))


def mesh_entries(attribute: Attribute | None) -> list[tuple[str, Expr]]:
    found = []
    for entry in attribute.values if isinstance(attribute, ArrayAttr) else ():
        if isinstance(entry, ArrayAttr) and len(entry.values) == 2:
            name, size = entry.values
            if isinstance(name, StringAttr) and isinstance(size, ExprAttr):
                found.append((name.value, size.expr))
    return found


class CollectiveAxes(Property[tuple[tuple[str, ...], ...]]):
    """`[{}, {"tensor"}, {}]`: per dimension the mesh axes that the collective gathers or scatters."""

    name: str = "axes"

    def value(self, attribute: Attribute | None) -> tuple[tuple[str, ...], ...]:
        return tuple(map(strings, attribute.values)) if isinstance(attribute, ArrayAttr) else ()

    def fragment(self, rule: str) -> Fragment:
        rules = f'{rule}: "[" {rule}_set ("," {rule}_set)* "]" -> {rule}_is\n{rule}_set: "{{" (string ("," string)*)? "}}" -> {rule}_set\n'
        return Fragment(
            rules,
            {
                rule + "_is": lambda c, v, s: ArrayAttr(tuple(v)),
                rule + "_set": lambda c, v, s: ArrayAttr(tuple(StringAttr(name) for name in v)),
            },
        )

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        attribute = wanted(attribute, ArrayAttr)
        yield "[" + ", ".join("{" + ", ".join(map(quoted, strings(v))) + "}" for v in attribute.values) + "]"


class Amount(Body[Expr]):
    """`<2*B*S>`: an exact amount; 0 where it is absent."""

    start: str = "bp_expr_body"

    def value(self, attribute: Attribute | None) -> Expr:
        return attribute.expr if isinstance(attribute, ExprAttr) else ZERO


class Components(Property[_V], Generic[_V], kw_only=True):
    """`work <ops = ...,` with each further component on a line of its own: readable at any length, never depending on a width."""

    kind: type[_V]
    keyword: str
    start: str
    optional: bool = False

    def value(self, attribute: Attribute | None) -> _V:
        return attribute if isinstance(attribute, self.kind) else self.kind.zero()

    def demanded(self) -> tuple[str, ...]:
        return () if self.optional else self.names()

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, f'"{self.keyword}" raw_angle', lambda c, v, s: c.body(self.start, v[0]), self.optional)

    def expected(self, attribute: Attribute) -> str:
        return expected_body(attribute, self.start)

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        attribute = operation.properties.get(self.name)
        if isinstance(attribute, Vector):
            yield "\n"
            yield f"{self.keyword} <"
            yield from self._listed(attribute, self.on_one_line(operation))
            yield ">"

    def _listed(self, vector: Vector, on_one_line: bool) -> Iterable[Piece]:
        for index, (name, value) in enumerate(vector.items()):
            if index:
                yield ","
                yield from (" ",) if on_one_line else ("\n", " " * (len(self.keyword) + 2))
            yield f"{name} = {value.text}"

    def on_one_line(self, operation: Operation) -> bool:
        """Whether the components share a line."""
        return False


GRAMMARS.setdefault("dist", []).extend(
    [
        Fragment(
            """
dist_mesh_body: "[" (dist_mesh_axis ("," dist_mesh_axis)*)? "]" -> dist_mesh_body
dist_mesh_axis: string "=" expr -> dist_mesh_axis
""",
            {"dist_mesh_body": _mesh_action, "dist_mesh_axis": lambda c, v, s: (v[0], v[1])},
        )
    ]
)
