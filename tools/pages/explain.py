"""`--explain`: the documentation of a pass, an operation, an equation or a rule, with its formulas as readable Unicode."""

from __future__ import annotations

import inspect
import re

from bpir import passes
from bpir.dialects.bind import STRATEGY
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.diagnostic import fail, suggestion
from bpir.passes.base import options
from bpir.tools.pages import documentation, reference
from bpir.tools.pages.documentation import readable
from bpir.tools.pages.listing import levels


def explain(name: str) -> str:
    """The explanation of a pass (`plan-inference`), an operation (`model.linear`), an equation (`plan-inference.E5`) or a rule
    (`plan-inference.R9`).

    Raises:
        DiagnosticError: there is nothing of the name.
    """
    if name in passes.PASSES:
        return _pass(name)
    operations = documentation.operations()
    if name in operations:
        return _operation(name)
    owner, _, number = name.rpartition(".")
    rules = documentation.rules()
    if name in rules:
        return f"{name} (rule of verification)\n\n{rules[name]}\n\nWhat breaks it is refused, with the label in the diagnostic.\n"
    equations = documentation.equations()
    if name in equations:
        return f"{name} (equation)\n\n{readable(equations[name].text)}\n\nMore: --explain={owner}\n"
    known = [*passes.PASSES, *operations]
    if re.fullmatch(r"[A-Z]\d+", number) and (owner in known or any(label.startswith(f"{owner}.") for label in rules)):
        found = [label for label in (*rules, *equations) if label.startswith(f"{owner}.")]
        raise fail(f"'{owner}' has no rule and no equation {number}: it has {', '.join(label.rpartition('.')[2] for label in found)}")
    raise fail(f"there is no pass and no operation '{name}'" + suggestion(name, known))


def _pass(name: str) -> str:
    cls = passes.load_pass(name)
    lines = [f"{name} (pass, {levels(cls)}, {cls.__name__})", "", readable(_docstring(cls))]
    known = options(cls)
    defaults = {field.name: f" (default: {field.default})" for field in STRATEGY if field.default}
    if known:
        width = max(len(o.spelling) for o in known.values()) + 2
        lines += ["", "Options:", *(f"  {o.spelling:<{width}}{o.help}{defaults.get(o.name, '')}" for o in known.values())]
    rules = {label: text for label, text in documentation.rules().items() if label.startswith(f"{name}.")}
    if rules:
        width = max(map(len, rules)) + 2
        lines += ["", "Rules of its gate:", *(f"  {label:<{width}}{text}" for label, text in rules.items())]
    return "\n".join(lines) + "\n"


def _operation(name: str) -> str:
    declaration = DECLARATIONS[name]
    lines = [f"{name} (operation)", "", readable(_docstring(type(declaration)))]
    spelled = reference.syntax(declaration)
    if spelled:
        lines += ["", "Syntax:", *(f"  {line}" for line in spelled.splitlines())]
    rows = reference.properties(declaration)
    if rows:
        width = max(len(row.name) for row in rows) + 2
        lines += [
            "",
            "Properties:",
            *(f"  {r.name:<{width}}{'required' if r.required else 'optional'}  {r.spelling}".rstrip() for r in rows),
        ]
    known = reference.fields(declaration)
    if known:
        width = max(len(field.name) for field in known) + 2
        lines += ["", "Fields:", *(f"  {f.name:<{width}}{f.meaning}{': ' if f.choices else ''}{', '.join(f.choices)}" for f in known)]
    return "\n".join(lines) + "\n"


def _docstring(cls: type) -> str:
    return inspect.cleandoc(cls.__dict__.get("__doc__") or "(not documented)")
