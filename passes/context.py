"""The inputs of a pass besides its module: the bindings that it may read, its options with their places, and its observers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bpir.dialects import bind
from bpir.dialects.bind import DEPLOYMENT, STRATEGY, TARGET, WORKLOAD, Field, field_attribute
from bpir.dialects.levels import ModuleIR
from bpir.ir.attributes import Attribute, StringAttr, dictionary
from bpir.ir.diagnostic import Diagnostic, Span, fail, note, suggestion
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.records import Record
from bpir.passes.base import Pass
from bpir.passes.inputs import Binding
from bpir.verifiers.structure.levels import place_of

if TYPE_CHECKING:
    from bpir.passes.observers import Observer

_EXAMPLES = {
    ("workload", "inference"): "@decode inference {phase = decode, context = c}",
    ("workload", "training"): "@train training {}",
    ("strategy", ""): "@tp {tensor = t}",
    ("deployment", ""): "@node {devices = 8}",
}


class PassContext(metaclass=Record):
    """The inputs of a pass besides its module.

    A pass may read the bindings that it names (`Pass.reads`) and no other. A missing one is a diagnostic, never a default taken from
    elsewhere; an option of the pass overrides the field of its name, and suffices alone.

    Attributes:
        current: the pass, whose fields are its options.
        ir: the module that it is run on.
        observers: see what it warns of.
    """

    current: Pass
    ir: ModuleIR
    observers: Sequence[Observer] = ()

    @property
    def options(self) -> Mapping[str, Span]:
        """The options that were given, each with its place."""
        return self.current.spans

    def place(self, *options: str) -> Span | None:
        """The place of the first given option; None if none was given."""
        return next((self.options[name] for name in options if name in self.options), None)

    def warn(self, diagnostic: Diagnostic) -> None:
        """Tell the observers."""
        for observer in self.observers:
            observer.warned(diagnostic)

    def workload(self, kind: str) -> Binding:
        """The workload of a kind (`inference`, `training`) that the pass is to use."""
        return self._choose(bind.Workload, WORKLOAD, self.ir.workloads, kind, getattr(self.current, "workload", None))

    def optional_workload(self, kind: str) -> Binding | None:
        """The workload of a kind, where the file or the options of the pass give one."""
        written = any(workload.kind == kind for workload in self.ir.workloads)
        asked = getattr(self.current, "workload", None) is not None or bool(self._overrides(WORKLOAD))
        return self.workload(kind) if written or asked else None

    def strategy(self) -> Binding:
        """The strategy that the pass is to use."""
        return self._choose(bind.Strategy, STRATEGY, self.ir.strategies, "", getattr(self.current, "strategy", None))

    def target(self, kind: str, name: str | None, others: Sequence[Operation] = ()) -> Binding:
        """The target of a kind (of any, if that is empty) that the pass is to use; `others` are operations of another file."""
        return self._choose(bind.Target, TARGET, [*self.ir.targets, *bind.Target.each(others)], kind, name)

    def deployment(self, name: str | None, others: Sequence[Operation] = ()) -> Binding:
        """The deployment that the pass is to use."""
        return self._choose(bind.Deployment, DEPLOYMENT, [*self.ir.deployments, *bind.Deployment.each(others)], "", name)

    def _choose(
        self, cls: type[bind.Binding], table: tuple[Field, ...], given: Sequence[bind.Binding], kind: str, wanted: str | None
    ) -> Binding:
        """The one binding of those given that is of the kind and has the wanted name, with the options of the pass over its fields."""
        what = cls.name.partition(".")[2]
        if what not in self.current.reads:
            raise TypeError(f"pass '{self.current.name}' reads a {what}, and does not say so (Pass.reads)")
        overrides = self._overrides(table)
        found = self._candidate(what, given, kind, wanted)
        if found is None and not overrides:
            others = (note("this one is of another kind", binding.span) for binding in given)
            raise fail(f"pass '{self.current.name}' {_needed(what, kind)}", place_of(self.ir.module), *others)
        fields = {**(found.fields if found is not None else {}), **overrides}
        name = found.symbol if found is not None else what
        properties: dict[str, Attribute] = {**(found.operation.properties if found is not None else {}), "sym_name": StringAttr(name)}
        properties["fields"] = dictionary(fields.items())
        if kind:
            properties["kind"] = StringAttr(kind)
        span = found.span if found is not None else self.ir.module.span
        return Binding(name, fields, cls.build(properties=properties, span=span))

    def _candidate(self, what: str, given: Sequence[bind.Binding], kind: str, wanted: str | None) -> bind.Binding | None:
        """The one binding of those given that is of the kind and has the wanted name; None if none is of the kind.

        Raises:
            DiagnosticError: none has the name, or there are several.
        """
        candidates = [binding for binding in given if kind in ("", _kind(binding))]
        if wanted is not None:
            named = [binding for binding in candidates if binding.symbol == wanted]
            if not named:
                known = ["@" + binding.symbol for binding in candidates]
                kinds = f" of kind {kind}" if kind else ""
                raise fail(f"there is no bind.{what} @{wanted}{kinds}{suggestion('@' + wanted, known)}", self.place(what))
            candidates = named
        if len(candidates) > 1:
            raise fail(
                f"the file has several candidates for bind.{what}: choose one with the pass option {what}=@NAME",
                candidates[1].span,
                *(note(f"@{binding.symbol} is one of them", binding.span) for binding in candidates),
            )
        return candidates[0] if candidates else None

    def _overrides(self, table: tuple[Field, ...]) -> dict[str, Attribute]:
        """The fields that the options of the pass give.

        Raises:
            DiagnosticError: the value of an option holds an undeclared symbol, or is no positive integer.
        """
        declared = self.ir.symbols.names
        found: dict[str, Attribute] = {}
        for field in table:
            value = getattr(self.current, field.name, None)
            if value is None:
                continue
            if isinstance(value, Expr | tuple):
                span = self.place(field.name)
                for name in value.symbols if isinstance(value, Expr) else ():
                    if name not in declared:
                        help = suggestion(name, declared) or "; declare it with bp.symbols in the file"
                        raise fail(f"option '{field.name}' holds the undeclared symbol '{name}'{help}", span)
                found[field.name] = field_attribute(field, value, span)
            else:
                found[field.name] = StringAttr(str(value).lower() if isinstance(value, bool) else value)
        return found


def _needed(what: str, kind: str) -> str:
    """That a binding is missing, and what to write."""
    wanted = f"n {kind} {what}" if kind == "inference" else f" {kind} {what}" if kind else f" {what}"
    if what == "target":
        example, otherwise = f"@machine {kind or 'queue'} {{...}} implements {{...}}", "or name a file that has one: target_file=FILE"
    else:
        example, otherwise = _EXAMPLES[what, kind], "or give its fields as pass options"
    return f"needs a{wanted}: add 'bind.{what} {example}' to the file, {otherwise}"


def _kind(binding: bind.Binding) -> str:
    return binding.kind if isinstance(binding, bind.Workload | bind.Target) else ""
