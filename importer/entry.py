"""The whole import: from the text of a configuration to the text of a model."""

from __future__ import annotations

import os
import re

import attrs

from bpir.importer.families import BY_ARCHITECTURE, BY_TYPE, FAMILIES
from bpir.importer.families.common import ELEMENT, tied
from bpir.importer.families.wrappers import AROUND, WRAPPERS, Wrapper
from bpir.importer.families.wrappers import BY_TYPE as WRAPPERS_BY_TYPE
from bpir.importer.family import Family, text_of
from bpir.importer.fields import Property, Rule, Values
from bpir.importer.harmless import FIXED, NAMES, REASONS
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
    found = find_family(outer)
    family = found.family
    if family.missing:
        raise fail(f"{_title(family)} can't be imported: {family.missing}", _place(outer, found.node))
    reading = Reading(found.node, _title(family))
    around = Reading(outer, _title(family)) if found.wrapper is not None else None
    if around is not None and found.wrapper is not None:
        family = attrs.evolve(family, table={**family.table, **_from_the_whole(found.wrapper, around)})
    model = family.decoder(reading)
    fixed = {name: values for name, values in FIXED.items() if name not in reading.used}
    reading.must_be({**fixed, **family.fixed}, REASONS)
    flat = around is not None and found.node is outer
    reading.refuse_unknown({*NAMES, *FIXED, *family.harmless, *(AROUND if flat else ())})
    if around is not None and not flat:
        around.must_be(FIXED, REASONS)
        around.refuse_unknown({*NAMES, *FIXED, *AROUND})
        reading.errors += around.errors
        reading.warnings += around.warnings
    reading.done()
    name = _module_name(source.name, outer, family)
    heading = [f"{_title(family)} ({family.source}): the whole model, imported from {os.path.basename(source.name)}."]
    heading += [_OF_PICTURES] if found.wrapper is not None else []
    heading += [family.remark] if family.remark else []
    heading += ["", f"  bp-opt {name}.bpir --pass=distribute-inference --pass=plan-inference | bp-report - --bind {example_numbers(model)}"]
    return Imported(write_model(model, reading.notes, name, heading), tuple(reading.warnings))


def _from_the_whole(wrapper: Wrapper, around: Reading) -> dict[str, Property]:
    """The properties of a decoder that the model around it decides: what is tied, and the element where the decoder names none."""
    whole = around.field("tied", tied(wrapper.tied), {})
    where = around.notes["tied"]

    def ties(reading: Reading, values: Values) -> bool:
        own = reading.field("tied", tied(False), values)
        if not (wrapper.inner and own and not whole):
            reading.notes["tied"] = where
        return bool(whole or (wrapper.inner and own))

    element = around.field("element", ELEMENT, {})
    return {"tied": Rule("tie_word_embeddings", ties), "element": attrs.evolve(ELEMENT, default=element, null=element)}


def list_families() -> str:
    """One line for each architecture: what it is, or why it can't be imported."""
    width = max(len(architecture) for architecture in (*BY_ARCHITECTURE, *WRAPPERS))
    lines = []
    for family in sorted(FAMILIES, key=lambda family: (bool(family.missing), family.name)):
        for architecture in family.architectures:
            lines.append(f"{architecture:<{width}}  {f'no: {family.missing}' if family.missing else family.source}")
    lines += [f"{architecture:<{width}}  its decoder of text (text_config)" for architecture in WRAPPERS]
    return "\n".join(lines) + "\n"


def _title(family: Family) -> str:
    return family.architectures[0]


@attrs.frozen
class Found:
    """A family, the object that holds its fields, and the model around it if there is one."""

    family: Family
    node: Node
    wrapper: Wrapper | None = None


def find_family(outer: Node) -> Found:
    """The family of a configuration.

    Raises:
        DiagnosticError: it names none, or one that is not known.
    """
    members = outer.value if isinstance(outer.value, dict) else {}
    named = _architecture(members)
    kind = members.get("model_type")
    wrapper = WRAPPERS.get(text_of(named)) if named is not None else WRAPPERS_BY_TYPE.get(text_of(kind.node)) if kind is not None else None
    if wrapper is not None:
        return _nested(outer, members, wrapper, named or outer)
    if named is not None:
        family = BY_ARCHITECTURE.get(text_of(named))
        if family is None:
            raise _unknown("architecture", named, [*BY_ARCHITECTURE, *WRAPPERS])
        _agrees(family, kind)
        return Found(family, outer)
    if kind is None:
        known = "'architectures' or 'model_type' names it"
        raise fail(f"the configuration does not say which model it is: {known}", outer.span)
    family = BY_TYPE.get(text_of(kind.node))
    if family is None:
        raise _unknown("model_type", kind.node, [*BY_TYPE, *WRAPPERS_BY_TYPE])
    return Found(family, outer)


def _architecture(members: dict[str, Member]) -> Node | None:
    """The class that `architectures` names; None where it names none."""
    member = members.get("architectures")
    if member is None or member.node.value is None or member.node.value == []:
        return None
    names = member.node.value
    if not isinstance(names, list) or len(names) != 1 or not isinstance(names[0].value, str):
        raise fail("'architectures' must be a list of one name", member.node.span)
    return names[0]


def _nested(outer: Node, members: dict[str, Member], wrapper: Wrapper, named: Node) -> Found:
    inner = members.get("text_config")
    if inner is None:
        if wrapper.flat:
            return Found(BY_TYPE[wrapper.flat], outer, wrapper)
        raise fail(f"{text_of(named) or wrapper.type} needs 'text_config', which is absent", named.span)
    node = object_of(inner.node)
    kind = node.value.get("model_type") if isinstance(node.value, dict) else None
    if kind is None:
        raise fail("'text_config' does not say which model it is: 'model_type' is absent", inner.key)
    family = BY_TYPE.get(text_of(kind.node))
    if family is None:
        raise _unknown("model_type", kind.node, BY_TYPE)
    return Found(family, node, wrapper)


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
    """The place in the configuration that names its architecture."""
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
