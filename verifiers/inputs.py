"""The inputs that every derivation must keep: declared symbols, numbers, bindings; and the assumptions that it may add."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from bpir.dialects.bind import Binding, Deployment, Target, field_text
from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import note
from bpir.ir.operation import Operation, top_level
from bpir.ir.relations.facts import Relation
from bpir.verifiers.declared_symbols import verify_declared
from bpir.verifiers.findings import Findings


def verify_kept(
    findings: Findings,
    rule: str,
    source: Operation,
    target: Operation,
    overridable: Mapping[str, Collection[str]] | None = None,
    assumable: Iterable[Relation] = (),
) -> None:
    """Refuse a target that changes, drops or adds inputs. The fields that options gave are noted in `findings.overridden`.

    Args:
        overridable: which fields a pass option may have given, by `kind @name` of bindings; they may be new, too.
        assumable: the relations that the derivation may record as assumptions.
    """
    verify_declared(findings, rule, source, target, assumable)
    written, kept = _bindings(source), _bindings(target)
    for name, binding in written.items():
        findings.require(rule, name in kept, binding, f"'{name}' of the source is missing in the target")
    for name, binding in kept.items():
        _verify_binding(findings, rule, written.get(name), binding, (overridable or {}).get(name))


def _verify_binding(findings: Findings, rule: str, before: Binding | None, now: Binding, options: Collection[str] | None) -> None:
    """Refuse a binding that is new or differs from the source, but for fields that are options; None: there are none."""
    name = binding_key(now)
    if before is None and options is None:
        findings.refuse(rule, now, f"'{name}' is not in the source")
    elif before is not None and _differs(before, now, options is not None):
        findings.refuse(rule, now, f"'{name}' differs from the source", note("it is here in the source", before.span))
    else:
        _verify_fields(findings, rule, before, now, options or ())


def _verify_fields(findings: Findings, rule: str, before: Binding | None, now: Binding, options: Collection[str]) -> None:
    """Refuse a field that is not that of the source, unless it is an option."""
    known = note(f"the options are {', '.join(options)}")
    for field, _ in _changed(before, now):
        message = f"'{field}' of '{binding_key(now)}' is not that of the source, and no option of the pass"
        findings.require(rule, field in options, now, message, known)
    findings.overridden.extend(_overridden(before, now))


def _bindings(module: Operation) -> dict[str, Binding]:
    """The bindings of a module by `kind @name`."""
    return {binding_key(binding): binding for binding in Binding.each(top_level(module))}


def binding_key(binding: Binding) -> str:
    """`bind.strategy @tp`: how a message names a binding."""
    return f"{binding.name} @{binding.symbol}"


def _differs(before: Binding, now: Binding, overridable: bool) -> bool:
    """Whether something else than fields that may be overridden differs, or a field is lost: its default may be written instead."""
    if _others(before) != _others(now):
        return True
    lost = effective_fields(before).keys() - now.fields.keys()
    return bool(lost) or (not overridable and next(_changed(before, now), None) is not None)


def _others(binding: Binding) -> dict[str, object]:
    """The properties of a binding besides its fields; the order of links means nothing."""
    said: dict[str, object] = {name: value for name, value in binding.operation.properties.items() if name != type(binding).fields.name}
    if isinstance(binding, Deployment) and binding.says(Deployment.links):
        said[Deployment.links.name] = frozenset(binding.links)
    return said


def effective_fields(binding: Binding) -> dict[str, Attribute]:
    """The fields of a binding that say more than their defaults, in the order of their table."""
    fields = binding.fields
    return {f.name: fields[f.name] for f in binding.table if f.name in fields and field_text(fields[f.name]) != f.default}


def _changed(before: Binding | None, now: Binding) -> Iterator[tuple[str, Attribute]]:
    """The fields whose value is not that of the source."""
    then = effective_fields(before) if before is not None else {}
    found = effective_fields(now)
    for field, value in found.items():
        if then.get(field) is not value:
            yield field, value
    for field, value in now.fields.items():  # its default, where the source says otherwise
        if field in then and field not in found:
            yield field, value


def _overridden(before: Binding | None, now: Binding) -> Iterator[str]:
    """The text of an answer's binding under which the target was made and which the source does not state: `context = 7`."""
    if before is None and isinstance(now, Target):
        yield f"target = @{now.symbol}"  # another file's, with all that it implements
    else:
        yield from (f"{field} = {field_text(value)}" for field, value in _changed(before, now))


def fields_named(bindings: Iterable[Binding], name: str) -> Mapping[str, Attribute] | None:
    """The fields of the binding that a derived operation names; None if there is no such binding."""
    return next((binding.fields for binding in bindings if binding.symbol == name), None)
