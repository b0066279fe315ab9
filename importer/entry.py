"""The whole import: from the text of a configuration to the text of a model."""

from __future__ import annotations

import os
import re

import attrs

from bpir.importer.families import BY_ARCHITECTURE, BY_TYPE, FAMILIES, WRAPPERS
from bpir.importer.family import Family, text_of
from bpir.importer.harmless import FIXED, NAMES
from bpir.importer.json_text import Member, Node, read_json, shown
from bpir.importer.reading import Reading, object_of
from bpir.importer.writer import example_numbers, write_model
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Source, Span, fail, note, suggestion

_OF_PICTURES = "Of this model of pictures and text it is the decoder of text (text_config)."


@attrs.frozen
class Imported:
    """The text of a model, and what a user should know of how it was made."""

    text: str
    warnings: tuple[Diagnostic, ...]


def import_model(source: Source) -> Imported:
    """The model that a configuration describes, as text.

    Args:
        source: a Hugging Face `config.json`, bytes decoded as latin-1.

    Raises:
        DiagnosticError: it is malformed, of no known architecture, or has a field that is wrong or not known.
    """
    outer = object_of(read_json(source))
    family, node, wrapped = _family(outer)
    if family.missing:
        raise fail(f"{_title(family)} can't be imported: {family.missing}", _place(outer, node))
    reading = Reading(node, _title(family))
    reading.notes["layers"] = ""
    model = family.decoder(reading)
    fixed = {name: values for name, values in FIXED.items() if name not in reading.used}
    reading.must_be({**fixed, **family.fixed})
    reading.refuse_unknown({*NAMES, *FIXED, *family.harmless})
    reading.done()
    name = _module_name(source.name, outer, family)
    heading = [f"{_title(family)} ({family.source}): the whole model, imported from {os.path.basename(source.name)}."]
    heading += [_OF_PICTURES] if wrapped else []
    heading += [family.remark] if family.remark else []
    heading += ["", f"  bp-opt {name}.bpir --pass=distribute-inference --pass=plan-inference | bp-report - --bind {example_numbers(model)}"]
    return Imported(write_model(model, reading.notes, name, heading), tuple(reading.warnings))


def list_families() -> str:
    """One line for each architecture: what it is, or why it can't be imported."""
    width = max(len(architecture) for architecture in BY_ARCHITECTURE)
    lines = []
    for family in sorted(FAMILIES, key=lambda family: (bool(family.missing), family.name)):
        for architecture in family.architectures:
            lines.append(f"{architecture:<{width}}  {f'not yet: {family.missing}' if family.missing else family.source}")
    return "\n".join(lines) + "\n"


def _title(family: Family) -> str:
    return family.architectures[0]


def _family(outer: Node) -> tuple[Family, Node, bool]:
    """The family, the object that holds its fields, and whether that is nested in the configuration of a larger model."""
    members = outer.value if isinstance(outer.value, dict) else {}
    named = _architecture(members)
    kind = members.get("model_type")
    if named is not None and text_of(named) in WRAPPERS:
        return _nested(outer, members, named)
    if named is None and kind is not None and text_of(kind.node) in WRAPPERS.values():
        return _nested(outer, members, kind.node)
    if named is not None:
        family = BY_ARCHITECTURE.get(text_of(named))
        if family is None:
            raise _unknown("architecture", named, [*BY_ARCHITECTURE, *WRAPPERS])
        _agrees(family, kind)
        return family, outer, False
    if kind is None:
        known = "'architectures' or 'model_type' names it"
        raise fail(f"the configuration does not say which model it is: {known}", outer.span)
    family = BY_TYPE.get(text_of(kind.node))
    if family is None:
        raise _unknown("model_type", kind.node, [*BY_TYPE, *WRAPPERS.values()])
    return family, outer, False


def _architecture(members: dict[str, Member]) -> Node | None:
    """The class that `architectures` names; None where it names none."""
    member = members.get("architectures")
    if member is None or member.node.value is None or member.node.value == []:
        return None
    names = member.node.value
    if not isinstance(names, list) or len(names) != 1 or not isinstance(names[0].value, str):
        raise fail("'architectures' must be a list of one name", member.node.span)
    return names[0]


def _nested(outer: Node, members: dict[str, Member], named: Node) -> tuple[Family, Node, bool]:
    inner = members.get("text_config")
    if inner is None:
        raise fail(f"{text_of(named)} needs 'text_config', which is absent", named.span)
    node = object_of(inner.node)
    kind = node.value.get("model_type") if isinstance(node.value, dict) else None
    if kind is None:
        raise fail("'text_config' does not say which model it is: 'model_type' is absent", inner.key)
    family = BY_TYPE.get(text_of(kind.node))
    if family is None:
        raise _unknown("model_type", kind.node, BY_TYPE)
    return family, node, True


def _agrees(family: Family, kind: Member | None) -> None:
    """Refuse a `model_type` of another family: its class has other defaults."""
    if kind is None or text_of(kind.node) not in BY_TYPE:
        return
    other = BY_TYPE[text_of(kind.node)]
    if other is not family:
        raise fail(f"'model_type' {kind.node.text} is that of {_title(other)}, not of {_title(family)}", kind.node.span)


def _unknown(what: str, node: Node, known: list[str] | dict[str, Family]) -> DiagnosticError:
    if not isinstance(node.value, str):
        return fail(f"'{what}' must be a name, not {node.kind}", node.span)
    name = shown(node.value)
    help = note("bp-import --list-families shows those that are known")
    return fail(f"unknown {what} '{name}'{suggestion(name, known)}", node.span, help)


def _place(outer: Node, node: Node) -> Span:
    """Where the configuration names its architecture."""
    for one in (node, outer):
        members = one.value if isinstance(one.value, dict) else {}
        for key in ("architectures", "model_type"):
            if key in members:
                return members[key].node.span
    return outer.span


def _module_name(path: str, outer: Node, family: Family) -> str:
    """A symbol for the module: the name in the configuration, of the file, or of its folder; else the family's."""
    members = outer.value if isinstance(outer.value, dict) else {}
    said = text_of(members["_name_or_path"].node) if "_name_or_path" in members else ""
    folder, file = os.path.split(path)
    stem = re.sub(r"([-_.]?config)?\.json$", "", file)
    for name in (stem if file != "<stdin>" else "", os.path.basename(folder), said.rstrip("/").rpartition("/")[2], family.name):
        symbol = re.sub(r"[^a-z0-9]+", "_", name.rpartition("--")[2].lower()).strip("_")
        if symbol and symbol != "config":
            return symbol if symbol[0].isalpha() else f"model_{symbol}"
    return "model"
