"""`dist.placement`: which axes of the model lie on which axes of the mesh."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.dist.parts import mesh_attribute, mesh_entries
from bpir.ir.attributes import ArrayAttr, Attribute, DictAttr, StringAttr, UnitAttr, dictionary, quoted
from bpir.ir.declaration import Action, Fragment, OperationDeclaration, Piece, Problems
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Property, strings
from bpir.ir.records import Interned
from bpir.ir.syntax import Clause


class Group(metaclass=Interned):
    """The axes that lie on one mesh axis.

    Attributes:
        axes: dimension symbols of the model.
        mesh_axis: the mesh axis that shards them.
        between: whether they are sharded only where the mesh axis shards nothing else: between tensor-parallel regions (Korthikanti et
            al. 2022, section 4.2.2).
    """

    axes: tuple[str, ...]
    mesh_axis: str
    between: bool = False

    def attribute(self) -> DictAttr:
        between = {"between": UnitAttr()} if self.between else {}
        axes = ArrayAttr(tuple(map(StringAttr, self.axes)))
        return dictionary({"axes": axes, "on": StringAttr(self.mesh_axis), **between}.items())


def groups_attribute(groups: Iterable[Group]) -> ArrayAttr:
    return ArrayAttr(tuple(group.attribute() for group in groups))


def _group(attribute: Attribute) -> Group | None:
    """The group that an attribute says; None if it says none."""
    entries = dict(attribute.entries) if isinstance(attribute, DictAttr) else {}
    axes, on = strings(entries.get("axes")), entries.get("on")
    known = entries.keys() <= {"axes", "between", "on"} and isinstance(entries.get("between", UnitAttr()), UnitAttr)
    return Group(axes, on.value, "between" in entries) if axes and isinstance(on, StringAttr) and known else None


class Groups(Property[tuple[Group, ...]]):
    """`[h, F -> "tensor"; S -> "tensor" between]`"""

    name: str = "groups"

    def value(self, attribute: Attribute | None) -> tuple[Group, ...]:
        found = map(_group, attribute.values if isinstance(attribute, ArrayAttr) else ())
        return tuple(group for group in found if group is not None)

    def fragment(self, rule: str) -> Fragment:
        rules = (
            f'{rule}: "[" {rule}_group (";" {rule}_group)* "]" -> {rule}_is\n'
            f'{rule}_group: {rule}_axes "->" string {rule}_where -> {rule}_group\n'
            f'{rule}_axes: word ("," word)* -> {rule}_axes\n'
            f'{rule}_where: "between" -> {rule}_between\n    | -> {rule}_everywhere\n'
        )
        return Fragment(
            rules,
            {
                rule + "_is": lambda c, v, s: groups_attribute(v),
                rule + "_group": lambda c, v, s: Group(tuple(v[0]), v[1], v[2]),
                rule + "_axes": lambda c, v, s: list(v),
                rule + "_between": lambda c, v, s: True,
                rule + "_everywhere": lambda c, v, s: False,
            },
        )

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        groups = [_group(value) for value in attribute.values] if isinstance(attribute, ArrayAttr) else []
        shown = [f"{', '.join(g.axes)} -> {quoted(g.mesh_axis)}{' between' if g.between else ''}" for g in groups if g is not None]
        yield "[" + "; ".join(shown) + "]"

    def expected(self, attribute: Attribute) -> str:
        groups = attribute.values if isinstance(attribute, ArrayAttr) else ()
        good = groups and all(_group(value) is not None for value in groups)
        return "" if good else 'an array of groups, each as {axes = ["h"], on = "tensor"} with or without between'


class Sizes(Property[dict[str, Expr]]):
    """`[g -> ceildiv(g, t)*t]`: axes with the sizes that they have instead of their own."""

    name: str = "resized"

    def value(self, attribute: Attribute | None) -> dict[str, Expr]:
        return dict(mesh_entries(attribute))

    def fragment(self, rule: str) -> Fragment:
        rules = f'{rule}: "[" {rule}_item ("," {rule}_item)* "]" -> {rule}_is\n{rule}_item: word "->" expr -> {rule}_item\n'
        actions: dict[str, Action] = {rule + "_is": lambda c, v, s: mesh_attribute(dict(v)), rule + "_item": lambda c, v, s: (v[0], v[1])}
        return Fragment(rules, actions)

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        yield "[" + ", ".join(f"{name} -> {size.text}" for name, size in mesh_entries(attribute)) + "]"

    def expected(self, attribute: Attribute) -> str:
        names = [name for name, _ in mesh_entries(attribute)]
        good = isinstance(attribute, ArrayAttr) and names and len(names) == len(attribute.values) == len(set(names))
        return "" if good else 'an array of axes of different names, each as ["g", #bp.expr<ceildiv(g, t)*t>]'


class Placement(OperationDeclaration):
    """`dist.placement [h, F -> "tensor"; S -> "tensor" between]`: the axes of the model that lie on axes of the mesh.

    A dimension that is one of the axes is sharded wherever it is; an axis with `between` only in operations of which the mesh axis
    shards nothing else. Axes that are not named are whole on every rank. `resized [g -> ceildiv(g, t)*t, V -> ceildiv(V, t)*t]` says which
    axes have another size than in the model, so that the ranks divide it: KV heads that several ranks hold a copy of, or a vocabulary with
    rows of padding.
    """

    name = "dist.placement"
    in_module = True
    groups = Groups()
    resized = Sizes()
    syntax = (groups, Clause("resized", (resized,)))

    def verify(self, operation: Operation, report: Problems) -> None:
        seen: set[str] = set()
        for axis in (axis for group in Placement(operation).groups for axis in group.axes):
            if axis in seen:
                report.error(operation, f"the axis '{axis}' is placed twice")
            seen.add(axis)
        for axis in Placement(operation).resized:
            if axis not in seen:
                report.error(operation, f"the axis '{axis}' has another size, and is not placed")
