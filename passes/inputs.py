"""What a derivation is given: the bindings of the file (workload, strategy, target, deployment), and the options that override fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from bpir.dialects.bind import DEPLOYMENT, STRATEGY, TARGET, WORKLOAD, Field, as_expr, field_attribute, fields_of
from bpir.dialects.bp import symbol_table
from bpir.ir.attributes import Attribute, StringAttr, SymbolRefAttr, dictionary
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.diagnostic import fail, note, suggestion
from bpir.ir.dialect import is_input
from bpir.ir.expression import Expr
from bpir.ir.operation import Operation, top_level
from bpir.passes.base import Pass
from bpir.verifiers.levels import place_of

_EXAMPLES = {
    ("workload", "inference"): "@decode inference {phase = decode, context = c}",
    ("workload", "training"): "@train training {}",
    ("strategy", ""): "@tp {tensor = t}",
    ("deployment", ""): "@node {devices = 8}",
}


@attrs.frozen
class Binding:
    """One chosen binding: its symbol, its fields with the pass's options over them, and the operation as the result holds it."""

    name: str
    fields: Mapping[str, Attribute]
    operation: Operation

    @property
    def reference(self) -> SymbolRefAttr:
        return SymbolRefAttr((self.name,))

    def expr(self, field: str, why: str) -> Expr:
        """The expression of a field.

        Raises:
            DiagnosticError: the field is not given; `why` says what needs it.
        """
        value = as_expr(self.fields.get(field))
        if value is None:
            kind = self.operation.name.partition(".")[2]
            raise fail(
                f"{why} needs '{field}': give it in bind.{kind} ({field} = ...) or as the pass option {field}=...",
                self.operation.span,
            )
        return value


def workload(module: Operation, current: Pass, kind: str) -> Binding:
    """The workload of a kind (`inference`, `training`) that the pass is to use."""
    return _choose(module, current, "workload", WORKLOAD, kind, getattr(current, "workload", None))


def optional_workload(module: Operation, current: Pass, kind: str) -> Binding | None:
    """The workload of a kind, where the file or the options of the pass give one."""
    written = any(o.name == "bind.workload" and _text(o, "kind") == kind for o in top_level(module))
    asked = getattr(current, "workload", None) is not None or bool(_overrides(module, current, WORKLOAD))
    return workload(module, current, kind) if written or asked else None


def strategy(module: Operation, current: Pass) -> Binding:
    """The strategy that the pass is to use."""
    return _choose(module, current, "strategy", STRATEGY, "", getattr(current, "strategy", None))


def target(module: Operation, current: Pass, kind: str, name: str | None, others: Sequence[Operation] = ()) -> Binding:
    """The target of a kind (of any, if that is empty) that the pass is to use; `others` are operations of another file."""
    return _choose(module, current, "target", TARGET, kind, name, others)


def deployment(module: Operation, current: Pass, name: str | None, others: Sequence[Operation] = ()) -> Binding:
    """The deployment that the pass is to use."""
    return _choose(module, current, "deployment", DEPLOYMENT, "", name, others)


def _choose(
    module: Operation,
    current: Pass,
    what: str,
    table: tuple[Field, ...],
    kind: str,
    wanted: str | None,
    others: Sequence[Operation] = (),
) -> Binding:
    given = [o for o in (*top_level(module), *others) if o.name == f"bind.{what}"]
    candidates = [o for o in given if kind in ("", _text(o, "kind"))]
    overrides = _overrides(module, current, table)
    if wanted is not None:
        named = [c for c in candidates if _text(c, "sym_name") == wanted]
        if not named:
            known = [_text(c, "sym_name") for c in candidates]
            kinds = f" of kind {kind}" if kind else ""
            raise fail(
                f"there is no bind.{what} @{wanted}{kinds}{suggestion('@' + wanted, ['@' + name for name in known])}",
                current.spans.get(what),
            )
        candidates = named
    if len(candidates) > 1:
        raise fail(
            f"the file has several candidates for bind.{what}: choose one with the pass option {what}=@NAME",
            candidates[1].span,
            *(note(f"@{_text(c, 'sym_name')} is one of them", c.span) for c in candidates),
        )
    found = candidates[0] if candidates else None
    if found is None and not overrides:
        wanted_kind = f"n {kind} {what}" if kind == "inference" else f" {kind} {what}" if kind else f" {what}"
        if what == "target":
            example, otherwise = f"@machine {kind or 'queue'} {{...}} implements {{...}}", "or name a file that has one: target_file=FILE"
        else:
            example, otherwise = _EXAMPLES[what, kind], "or give its fields as pass options"
        raise fail(
            f"pass '{current.name}' needs a{wanted_kind}: add 'bind.{what} {example}' to the file, {otherwise}",
            place_of(module),
            *(note("this one is of another kind", o.span) for o in given),
        )
    name = _text(found, "sym_name") if found is not None else what
    fields = {**(fields_of(found) if found is not None else {}), **overrides}
    properties: dict[str, Attribute] = {**(found.properties if found is not None else {}), "sym_name": StringAttr(name)}
    properties["fields"] = dictionary(fields.items())
    if kind:
        properties["kind"] = StringAttr(kind)
    span = found.span if found is not None else module.span
    operation = Operation(f"bind.{what}", properties=properties, span=span, declaration=DECLARATIONS[f"bind.{what}"])
    return Binding(name, fields, operation)


def _overrides(module: Operation, current: Pass, table: tuple[Field, ...]) -> dict[str, Attribute]:
    """The fields that the options of the pass give.

    Raises:
        DiagnosticError: the value of an option holds an undeclared symbol, or is no positive integer.
    """
    declared = symbol_table(module).names
    found: dict[str, Attribute] = {}
    for field in table:
        value = getattr(current, field.name, None)
        if value is None:
            continue
        if isinstance(value, Expr):
            span = current.spans.get(field.name)
            for name in value.symbols:
                if name not in declared:
                    help = suggestion(name, declared) or "; declare it with bp.symbols in the file"
                    raise fail(f"option '{field.name}' holds the undeclared symbol '{name}'{help}", span)
            found[field.name] = field_attribute(field, value, span)
        else:
            found[field.name] = StringAttr(str(value).lower() if isinstance(value, bool) else value)
    return found


def _text(operation: Operation, name: str) -> str:
    value = operation.properties.get(name)
    return value.value if isinstance(value, StringAttr) else ""


def inputs_of(module: Operation, *chosen: Binding) -> list[Operation]:
    """The operations that a result keeps: symbols, numbers and bindings, with the chosen bindings in the place of the written ones."""
    replacing = {(c.operation.name, c.name): c.operation for c in chosen}
    kept = []
    for operation in top_level(module):
        if is_input(operation.name):
            kept.append(replacing.pop((operation.name, _text(operation, "sym_name")), operation))
    return kept + list(replacing.values())
