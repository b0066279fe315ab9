"""What every derivation must keep: the declared symbols, the numbers, the bindings; and what it may add: assumptions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from bpir.dialects.bind import fields_of
from bpir.dialects.bp import relations_of
from bpir.dialects.plan import symbol_of
from bpir.ir.attributes import Attribute, SymbolRefAttr
from bpir.ir.diagnostic import note
from bpir.ir.operation import Operation, top_level
from bpir.ir.relations import Relation
from bpir.verifiers.rules import Findings


def verify_kept(
    findings: Findings,
    rule: str,
    source: Operation,
    target: Operation,
    overridable: Mapping[str, Collection[str]] | None = None,
    assumable: Iterable[Relation] = (),
) -> None:
    """Refuse a target that changes, drops or adds inputs.

    Args:
        overridable: which fields a pass option may have given, by `kind @name` of bindings; they may be new, too.
        assumable: the relations that the derivation may record as assumptions.
    """
    written, kept = _inputs(source), _inputs(target)
    for key, operation in written.items():
        if key not in kept:
            if key[0] in ("bind.workload", "bind.strategy"):
                findings.refuse(rule, operation, f"'{key[0]} @{key[1]}' of the source is missing in the target")
            else:
                findings.refuse(rule, operation, f"'{key[0]}' of the source is missing in the target, or was changed")
    allowed = set(assumable)
    options = overridable or {}
    for key, operation in kept.items():
        name = " @".join(key)
        if key in written:
            before = written[key]
            if operation.properties != before.properties and not (name in options and _overrides(operation, before)):
                where = note("it stands here in the source", before.span)
                findings.refuse(rule, operation, f"'{name}' differs from the source", where)
                continue
        elif operation.name == "bp.assume":
            for relation in relations_of(operation):
                if relation not in allowed:
                    findings.refuse(rule, operation, f"the derivation has no reason to assume '{relation.text}'")
        elif name not in options:
            findings.refuse(rule, operation, f"'{name if key[0].startswith('bind.') else key[0]}' is not in the source")
        if name in options:
            then = fields_of(written[key]) if key in written else {}
            for field, value in fields_of(operation).items():
                if then.get(field) is not value and field not in options[name]:
                    known = note(f"the options are {', '.join(options[name])}")
                    findings.refuse(rule, operation, f"'{field}' of '{name}' is not that of the source, and no option of the pass", known)


def _overrides(operation: Operation, before: Operation) -> bool:
    """Whether only fields differ, and none is lost: an option gives a field another value, or a value where it had none."""
    now, then = ({k: v for k, v in o.properties.items() if k != "fields"} for o in (operation, before))
    return now == then and fields_of(before).keys() <= fields_of(operation).keys()


def _inputs(module: Operation) -> dict[tuple[str, ...], Operation]:
    """The inputs by kind and name; those without a name by their whole text."""
    found: dict[tuple[str, ...], Operation] = {}
    for operation in top_level(module):
        dialect = operation.name.partition(".")[0]
        if dialect == "bind":
            found[operation.name, symbol_of(operation)] = operation
        elif dialect == "bp":
            text = " ".join(f"{k} = {v.text}" for k, v in sorted(operation.properties.items()))
            found[operation.name, text] = operation
    return found


def binding_of(module: Operation, kind: str, reference: Attribute | None) -> Mapping[str, Attribute] | None:
    """The fields of the binding that a derived operation names; None if there is no such binding."""
    if isinstance(reference, SymbolRefAttr):
        for operation in top_level(module):
            if operation.name == kind and symbol_of(operation) == reference.root:
                return fields_of(operation)
    return None
