"""`--list-passes` and `--show-dialects`: what the tool knows, read from the declarations."""

from __future__ import annotations

import inspect

from bpir import dialects, passes
from bpir.dialects.bind import STRATEGY
from bpir.passes.base import Pass, options


def list_passes() -> str:
    """One line a pass: its name, its levels, its options, the first line of its documentation."""
    from bpir.tools.pages.documentation import pass_names

    rows = [(name, passes.load_pass(name)) for name in pass_names()]
    name_width = max(len(name) for name, _ in rows)
    level_width = max(len(levels(cls)) for _, cls in rows)
    return "".join(
        f"{name:<{name_width}}  {levels(cls):<{level_width}}  {_braced(cls)}{documentation(cls).splitlines()[0]}\n" for name, cls in rows
    )


def _braced(cls: type[Pass]) -> str:
    """The options of a pass, with their defaults; what they take is for `--explain`."""
    defaults = {field.name: f"={field.default}" for field in STRATEGY if field.default}
    names = ["NAME=INTEGER..." if o.kind == "numbers" else o.name + defaults.get(o.name, "") for o in options(cls).values()]
    return "{" + " ".join(names) + "} " if names else ""


def levels(cls: type[Pass]) -> str:
    """`dist -> plan`, or what a helper pass works on."""
    if cls.target and cls.target != cls.source:
        return f"{cls.source or 'any'} -> {cls.target}"
    return cls.source or "any"


def show_dialects() -> str:
    """The dialects, as mlir-opt shows them."""
    return "Available Dialects: " + ", ".join(_dialects()) + "\n"


def list_operations() -> str:
    """One line an operation of ours: its name, and the first sentence of its documentation."""
    from bpir.tools.pages.documentation import operations

    found = operations()
    width = max(map(len, found))
    return "".join(f"{name:<{width}}  {_first_line(documented.summary)}\n" for name, documented in found.items())


def _first_line(summary: str) -> str:
    from bpir.tools.pages.documentation import readable

    return readable(" ".join(summary.split("\n\n", 1)[0].split()))


def documentation(cls: type[Pass]) -> str:
    """The docstring of the class itself, without its indentation."""
    return inspect.cleandoc(cls.__dict__.get("__doc__") or "(not documented)")


def _dialects() -> list[str]:
    """The names of all dialects; they are loaded."""
    return [name for name in dialects.available() if dialects.load(name)]
