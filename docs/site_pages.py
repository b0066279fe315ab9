"""The generated pages of the documentation site, as Markdown: "Pass formulae and API", the language reference, the rules of verification.

Formulas stay LaTeX between dollars; `docs/hooks.py` sets them in MathML when the site is built.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import notebook_page as notebook

from bpir import dialects, passes
from bpir.ir.declaration import DECLARATIONS, OperationDeclaration
from bpir.ir.dialect import DIALECTS
from bpir.passes.base import Pass, options
from bpir.tools.pages import documentation, reference
from bpir.tools.pages.documentation import PASS_SECTIONS, Documentation
from bpir.tools.pages.listing import levels
from bpir.tools.texts.source_text import bases, defines_run, lineage, signature, source
from bpir.tools.texts.source_text import place as source_place

HEADINGS = {"Conserved": "Conserved quantities", "Example": "Example, run when this page was built"}


class DocumentationError(Exception):
    """The documentation is not complete, or an example of it fails."""


def pages(root: Path, run: Callable[[str, Path], str] | None = None) -> dict[str, str]:
    """Every generated page by its path. `run` gives the output of an example's command in the folder of the project.

    Raises:
        DocumentationError: a pass lacks a section, an operation has no docstring, or an example or a cell of the notebook fails.
    """
    found = {"passes.md": passes_page(root, run or run_command), "rules.md": rules_page()}
    found["notebook.md"] = notebook.page(root / "docs" / "notebook.ipynb", root)
    return found | reference_pages()


def run_command(command: str, root: Path) -> str:
    """The output of a shell command with this environment's tools.

    Raises:
        DocumentationError: it fails.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(["bash", "-c", command], cwd=root, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    if done.returncode:
        raise DocumentationError(f"an example fails: {command}\n{done.stderr}")
    return done.stdout


# --- Pass formulae


def passes_page(root: Path, run: Callable[[str, Path], str]) -> str:
    """The page of all passes, from their docstrings."""
    documented = documentation.passes()
    lines = ["# Pass formulae and API", ""]
    lines += [
        "Everything on this page is the docstring of the pass's class: `bp-opt --explain=NAME` shows the same text. Each equation is read "
        "from it and proved equal to what the pass derives, by `tests/project/equations/`; each rule is described under "
        "[Rules of verification](rules.md). A pass is a class, whose bases and `run` say the levels that it leads from and to. "
        "Its source is under its equations; the work of an operation stands, with its source, in the "
        "[language reference](language/index.md).",
        "",
        "| pass, class | boundary | provenance of the formulas | evidence |",
        "|---|---|---|---|",
    ]
    for name, text in documented.items():
        missing = text.missing()
        if missing:
            raise DocumentationError(f"the docstring of the pass '{name}' lacks: {', '.join(missing)}")
        boundary = levels(passes.load_pass(name)).replace("->", "→")
        provenance = _papers(_cell(text.sections["References"]))
        lines.append(f"| [`{name}`](#{name})<br>`{_class(name)}` | {boundary} | {provenance} | {text.remarks['Evidence']} |")
    for name, text in documented.items():
        lines += ["", *_pass(name, text, root, run)]
    lines += ["", "## Helper passes", "", "They keep the level of a module, and need no formulas."]
    for name in documentation.pass_names():
        if name not in documented:
            cls = passes.load_pass(name)
            lines += ["", f"### {name}", "", *_declared(name), "", escaped(inspect.cleandoc(cls.__doc__ or ""))]
            lines += [*_sources((cls,)), *_options(name)]
    return "\n".join(lines) + "\n"


def _pass(name: str, text: Documentation, root: Path, run: Callable[[str, Path], str]) -> Iterable[str]:
    yield from (f"## {name}", "", escaped(text.summary), "", *_declared(name))
    for title in PASS_SECTIONS:
        if title == "Equations":
            yield from ("", "### Equations {: #" + f"{name}-equations" + " }", "")
            if text.remarks[title]:
                yield from (escaped(_sentence(text.remarks[title])), "")
            yield from _equations(text)
            rest = re.sub(r"^- E\d+: .*?(?=^- |^\s*$|\Z)", "", text.sections[title], flags=re.DOTALL | re.MULTILINE).strip()
            if rest:
                yield from ("", escaped(rest))
            cls = passes.load_pass(name)
            yield from _sources(dict.fromkeys((cls, defines_run(cls))))
            continue
        anchor = f"{name}-{title.lower().replace(' ', '-')}"
        yield from ("", f"### {HEADINGS.get(title, title)} {{: #{anchor} }}", "")
        if title == "Example":
            yield from _example(text.sections[title], root, run)
        elif title == "References":
            yield _capital(_papers(escaped(text.sections[title])))
        elif title == "Evidence":
            yield from (f"**Status: {text.remarks[title]}.** {_capital(escaped(text.sections[title]))}",)
        else:
            yield _capital(escaped(text.sections[title]))
    yield from _options(name)


def _declared(name: str) -> Iterable[str]:
    """The class with its bases, those of these, and its `run`."""
    cls = passes.load_pass(name)
    yield "```python"
    yield from (f"class {base.__name__}({bases(base)})" for base in lineage(cls) if base is not Pass)
    yield from (f"    {signature(cls)}", "```")


def _sources(classes: Iterable[type]) -> Iterable[str]:
    """The source of each class, opened by a click."""
    for cls in classes:
        yield from ("", f'??? abstract "Source of {cls.__name__}, {source_place(cls)}"', "", "    ```python")
        yield from (f"    {line}".rstrip() for line in source(cls).splitlines())
        yield "    ```"


def _equations(text: Documentation) -> Iterable[str]:
    for equation in text.equations:
        number = equation.label.rpartition(".")[2]
        yield from (
            f'<div class="equation" id="{equation.label}" markdown>',
            f'<a class="label" href="#{equation.label}" title="{equation.label}">{number}</a> {escaped(equation.text)}',
            "</div>",
            "",
        )


def _example(section: str, root: Path, run: Callable[[str, Path], str]) -> Iterable[str]:
    shown = inspect.cleandoc("\n" + section)
    command = re.sub(r"^\$ ", "", shown).replace("\\\n", " ")
    output = run(command, root).rstrip()
    yield from ("```console", shown, "```", "")
    yield from (f'??? example "Output, {len(output.splitlines())} lines"', "", "    ```mlir")
    yield from (f"    {line}".rstrip() for line in output.splitlines())
    yield "    ```"


def _options(name: str) -> Iterable[str]:
    known = options(passes.load_pass(name))
    if known:
        yield from ("", '??? note "Options"', "", "    | option | meaning |", "    |---|---|")
        yield from (f"    | `{o.spelling}` | {_cell(o.help)} |" for o in known.values())


def _class(name: str) -> str:
    return passes.load_pass(name).__name__


def _sentence(text: str) -> str:
    return _capital(text) + "."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- rules


def rules_page() -> str:
    """Every rule of the verifiers, by its label."""
    groups: dict[str, dict[str, str]] = {}
    for label, demand in documentation.rules().items():
        prefix = label.partition(".")[0]
        groups.setdefault(prefix, {})[label] = demand
    lines = ["# Rules of verification", ""]
    lines += [
        "A diagnostic names the rule that is broken: `[distribute-inference.R6]`. `bp-opt --explain=distribute-inference.R6` says what it "
        "demands. The rules of a level are verified after every pass and of every file that is read; those of a pass are its gate: they "
        "read what the pass was given, what it gave and the work rules, never the pass, and a pass that breaks one publishes nothing. "
        "`bp-verify SOURCE TARGET` verifies the same rules of two files.",
    ]
    for prefix, rules in groups.items():
        what = "Gate of" if prefix in passes.PASSES else _title(prefix)
        lines += ["", f"## {what} `{prefix}` {{: #{prefix} }}", "", "| rule | what it demands |", "|---|---|"]
        lines += [f'| <span id="{label}">`{label}`</span> | {_cell(demand)} |' for label, demand in rules.items()]
    return "\n".join(lines) + "\n"


def _title(dialect: str) -> str:
    """A dialect as people call it: the name of its level, where it is one."""
    found = DIALECTS.get(dialect)
    return "Symbols and relations" if dialect == "bp" else found.title if found is not None and found.title else "Dialect"


# --- the language


def reference_paths() -> list[str]:
    """The paths of the pages of the dialects, those of levels in the order of derivations."""
    names = dict.fromkeys(name.partition(".")[0] for name in documentation.operations())
    return [f"language/{name}.md" for name in sorted(names, key=documentation.place)]


def reference_pages() -> dict[str, str]:
    """A page for each dialect, and their overview."""
    documented = documentation.operations()
    names: dict[str, list[str]] = {}
    for name in documented:
        names.setdefault(name.partition(".")[0], []).append(name)
    index = ["# Language reference", ""]
    index += [
        "These pages are generated from the declarations of the operations: the parts of the custom form, the properties, the docstring. "
        "The grammar of the parser, the printer and the generic form are made from the same declarations. In the syntax `[...]` may be "
        "left out, and a word in capitals stands for what it names. Every operation has MLIR's generic form too "
        "(`bp-opt --print-op-generic`).",
        "",
        "| dialect | what it is | operations |",
        "|---|---|---|",
    ]
    found = {}
    for dialect, operations in names.items():
        about = _about(dialect)
        linked = ", ".join(f"[`{name.partition('.')[2]}`]({dialect}.md#{name})" for name in operations)
        index.append(f"| [`{dialect}`]({dialect}.md) | {_cell(about.splitlines()[0])} | {linked} |")
        lines = [f"# The `{dialect}` dialect", "", escaped(about)]
        for name in operations:
            lines += ["", *_operation(name, documented[name])]
        found[f"language/{dialect}.md"] = "\n".join(lines) + "\n"
    return {"language/index.md": "\n".join(index) + "\n", **found}


def _about(dialect: str) -> str:
    from importlib import import_module

    return inspect.cleandoc(import_module(f"{dialects.__name__}.{dialect}").__doc__ or "")


def _operation(name: str, text: Documentation) -> Iterable[str]:
    if not text.summary:
        raise DocumentationError(f"the operation '{name}' has no docstring")
    declaration = DECLARATIONS[name]
    yield from (f"## {name} {{: #{name} }}", "", escaped(text.summary))
    spelled = reference.syntax(declaration)
    if spelled:
        yield from ("", "```text", spelled, "```")
    for trait in reference.traits(declaration):
        yield from ("", f"*{trait[:1].upper()}{trait[1:]}.*")
    yield from _properties(declaration)
    yield from _fields(declaration)
    if text.equations:
        yield from ("", f"**Equations** ({text.remarks['Equations']}):", "", *_equations(text))
        yield from (*_sources((type(declaration),)), "")
    for title in documentation.OPTIONAL:
        if text.sections.get(title):
            yield from ("", f"{title}: {escaped(text.sections[title])}")


def _properties(declaration: OperationDeclaration) -> Iterable[str]:
    """The table of the properties, if there are any."""
    rows = reference.properties(declaration)
    if rows:
        yield from ("", "| property | | spelled |", "|---|---|---|")
        spelling = ((row, f"`{row.spelling}`" if row.spelling else "") for row in rows)
        yield from (f"| `{row.name}` | {'required' if row.required else 'optional'} | {shown} |" for row, shown in spelling)


def _fields(declaration: OperationDeclaration) -> Iterable[str]:
    """The table of the fields of a binding, if there are any."""
    fields = reference.fields(declaration)
    if fields:
        yield from ("", "| field | meaning |", "|---|---|")
        for field in fields:
            words = f": {', '.join(f'`{word}`' for word in field.choices)}" if field.choices else ""
            yield f"| `{field.name}` | {_cell(field.help)}{words} |"


# --- Markdown


def escaped(text: str) -> str:
    """The text of a docstring as Markdown: what is in no code is plain."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if i % 2 else part.replace("<", "&lt;").replace("*", r"\*") for i, part in enumerate(parts))


def _papers(text: str) -> str:
    """The text with the numbers of arXiv as links."""
    return re.sub(r"\b(\d{4}\.\d{5})\b", r"[\1](https://arxiv.org/abs/\1)", text)


def _cell(text: str) -> str:
    return escaped(" ".join(text.split())).replace("|", r"\|")


def anchors(pages: Mapping[str, str]) -> dict[str, set[str]]:
    """The anchors that each page has: of headings, and those that are written."""
    found: dict[str, set[str]] = {}
    for path, text in pages.items():
        plain = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        names = set(re.findall(r'id="([^"]+)"|\{: ?#([^ }]+)', plain))
        found[path] = {name for pair in names for name in pair if name}
        found[path] |= {slug(heading) for heading in re.findall(r"^#+ (.*?)(?: \{:.*)?$", plain, re.MULTILINE)}
    return found


def slug(heading: str) -> str:
    """The anchor of a heading, as Python-Markdown makes it."""
    plain = re.sub(r"[`*\\]", "", heading)
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
