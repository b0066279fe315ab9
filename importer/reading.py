"""Reading a configuration by a family's table: every field is used, known to be harmless, or refused by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bpir.importer.fields import KINDS, REFUSED, REQUIRED, Derived, Field, NotWholeError, Property, Rule, Values
from bpir.importer.json_text import Member, Node, shown
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Span, error, fail, suggestion, warning

Members = dict[str, Member]


class Reading:
    """The members of a configuration while a family reads them.

    Attributes:
        notes: for each property that was read the field it is from, or why it has the value that it has.
        errors: errors found so far; they are reported together.
        warnings: fields that were passed over.
    """

    def __init__(self, node: Node, model: str) -> None:
        self.node, self.model = node, model
        self.notes: dict[str, str] = {}
        self.places: dict[str, Span] = {}
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []
        self.used: set[str] = set()  # what is there and was read
        self.asked: set[str] = set()  # what was looked for

    @property
    def members(self) -> Members:
        return self.node.value if isinstance(self.node.value, dict) else {}

    def find(self, path: str) -> Member | None:
        """The member under a name, or under names joined by dots; from then on it counts as read."""
        self.asked.add(path)
        members, found = self.members, None
        for name in path.split("."):
            found = members.get(name)
            if found is None:
                return None
            members = found.node.value if isinstance(found.node.value, dict) else {}
        self.used.add(path)
        return found

    def properties(self, table: Mapping[str, Property]) -> dict[str, Any]:
        """The properties of the table, read in its order.

        Raises:
            DiagnosticError: a value without which the others can't be read is missing or wrong.
        """
        values: dict[str, Any] = {}
        for name, property in table.items():
            values[name] = self.property(name, property, values)
        return values

    def property(self, name: str, property: Property, values: Values) -> Any:
        """The value of a property; where it is from is noted."""
        if isinstance(property, Field):
            return self.field(name, property, values)
        if isinstance(property, Rule):
            self.notes.setdefault(name, property.text)
            return property.of(self, values)
        if isinstance(property, Derived):
            self.notes[name] = property.text
            return self._derived(property, values, self.node.span)
        return property

    def field(self, name: str, field: Field, values: Values) -> Any:
        """The value of a field; errors are kept, and the default stands in for a wrong value."""
        given = self._given(field)
        if not given:
            return self._default(name, field, values, "absent")
        spelling, member = given[0]
        self.places[name] = member.node.span
        value = member.node.value
        if value is None and field.null is not REFUSED:
            self.notes[name] = f"{spelling} is null"
            return self._valued(name, field.null, values, member.node.span)
        kind = KINDS[field.kind]
        meaning = kind.meaning(value)
        if meaning is None:
            self.fail(f"'{spelling}' must be {kind.wanted}, not {_found(member.node)}", member.node.span)
            return self._default(name, field, values, "wrong")
        if field.words:
            if meaning not in field.words:
                near = (
                    suggestion(shown(meaning), field.words)
                    or f": the words known here are {', '.join(w for w in field.words if '.' not in w)}"
                )
                self.fail(f"'{spelling}' is '{shown(meaning)}', which is not known to {self.model}{near}", member.node.span)
                return self._default(name, field, values, "wrong")
            meaning = field.words[meaning]
        self.notes[name] = spelling
        return meaning

    def _given(self, field: Field) -> list[tuple[str, Member]]:
        """The spellings of a field that are there, null last; two that mean different things contradict each other."""
        found = [(spelling, member) for spelling in field.spellings if (member := self.find(spelling)) is not None]
        found.sort(key=lambda item: item[1].node.value is None)

        def meaning(member: Member) -> Any:
            return field.words.get(member.node.value) if isinstance(member.node.value, str) else member.node.value

        for spelling, member in found[1:]:
            if member.node.value is not None and meaning(member) != meaning(found[0][1]):
                self.fail(f"'{spelling}' contradicts '{found[0][0]}'", member.node.span)
        return found

    def _default(self, name: str, field: Field, values: Values, why: str) -> Any:
        if field.default is REQUIRED:
            if why == "absent":
                self.fail(f"{self.model} needs '{field.name}', which is absent{self._near(field)}", self.node.span)
            raise DiagnosticError(*self.errors)
        self.notes[name] = f"{field.name} is absent" + ("" if isinstance(field.default, Derived) else ": the default of its class")
        return self._valued(name, field.default, values, self.node.span)

    def _near(self, field: Field) -> str:
        unread = [key for key in self.members if key not in self.used]
        return suggestion(field.name, unread)

    def _valued(self, name: str, value: Any, values: Values, place: Span) -> Any:
        if not isinstance(value, Derived):
            return value
        self.notes[name] += f": {value.text}"
        return self._derived(value, values, place)

    def _derived(self, derived: Derived, values: Values, place: Span) -> Any:
        try:
            return derived.of(values)
        except NotWholeError as failure:
            place = self.places.get("heads", place)
            raise DiagnosticError(*self.errors, error(f"{failure}: the head size is not given", place)) from None

    def fail(self, message: str, place: Span) -> None:
        """Keep an error."""
        self.errors.append(error(message, place))

    def must_be(self, fixed: Mapping[str, Any], reasons: Mapping[str, str] = {}) -> None:
        """Refuse fields that change the computation, unless they have a value that leaves it as it is; some have reasons of their own."""
        for path, allowed in fixed.items():
            member = self.find(path)
            if member is None or member.node.value is None or _plain(member.node) in allowed:
                continue
            why = reasons.get(path) or f"changes the computation in a way that importing {self.model} does not know"
            value = "" if isinstance(member.node.value, dict | list) else f" = {member.node.text}"
            self.fail(f"'{path}'{value} {why}", member.key)

    def refuse_unknown(self, harmless: Iterable[str]) -> None:
        """Refuse each field that was not read and is not among the harmless ones; null says nothing, and is passed over."""
        known = set(harmless)
        read = {path.split(".")[0] for path in self.used}
        for key, member in self.members.items():
            if key in known or key in read or key.startswith("_"):
                continue
            if member.node.value is None:
                self.warnings.append(warning(f"unknown field '{shown(key)}' is null and is passed over", member.key))
                continue
            why = suggestion(shown(key), known | self.asked) or f": importing {self.model} does not know whether it changes the computation"
            self.fail(f"unknown field '{shown(key)}'{why}", member.key)

    def done(self) -> None:
        """Raise the errors that were kept, in the order of the text."""
        if self.errors:
            raise DiagnosticError(*sorted(self.errors, key=lambda d: d.span.start if d.span else 0))


def _found(node: Node) -> str:
    return node.text if isinstance(node.value, int | float | str) or node.value is None else node.kind


def _plain(node: Node) -> Any:
    return node.value if not isinstance(node.value, list | dict) else ("empty" if not node.value else "filled")


def object_of(node: Node) -> Node:
    """The node, which must be an object."""
    if not isinstance(node.value, dict):
        raise fail(f"a configuration is an object, not {node.kind}", node.span)
    return node
