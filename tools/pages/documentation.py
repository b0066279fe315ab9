"""The parts of a docstring: its summary, its sections, its equations; and the rules of the verifiers, by label.

A pass has the sections of `PASS_SECTIONS`, each opened by its title and a colon (a remark in parentheses may be between). An equation
is an item `- E2: $...$` of the section `Equations`; its label is the name of the pass or operation with that number:
`distribute-inference.E2`. A rule is at the function that checks it (`bpir.ir.rulebook`), and its label is `distribute-inference.R4`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Mapping

import attrs

from bpir import verifiers
from bpir.ir.rulebook import RuleBook
from bpir.tools.pages.formula import FormulaError, unicode_text
from bpir.verifiers.rulebooks import BOOKS, CONCRETE, DIALECT, KIND, LEVEL

PASS_SECTIONS = (
    "Boundary",
    "Input invariant",
    "Equations",
    "Conserved",
    "Deviations from the papers",
    "Evidence",
    "Example",
    "References",
)
"""The sections of a pass, in order; a pass that derives the next level has all of them."""

OPTIONAL = ("Traffic", "Source")

_TITLE = re.compile(rf"^({'|'.join((*PASS_SECTIONS, *OPTIONAL))})\b[^:\n$]*?(?:\((.*?)\))?:(?=\s|$)", re.DOTALL)
_EQUATION = re.compile(r"^- (E\d+): (.*?)(?=^- |^\s*$|\Z)", re.DOTALL | re.MULTILINE)
FORMULA = re.compile(r"(?<![\\$`\w])\$([^$`\n]+?)\$(?!\w)")
"""A formula between dollars."""


@attrs.frozen
class Equation:
    """One labelled equation: its words, with its formulas in LaTeX between dollars."""

    label: str
    text: str

    @property
    def formulas(self) -> tuple[tuple[str, str], ...]:
        """Each formula, and the words behind it, which may say when it holds: `with a bias`."""
        parts = FORMULA.split(self.text)
        return tuple(zip(parts[1::2], parts[2::2], strict=True))


@attrs.frozen
class Documentation:
    """A docstring in parts; a section is known by its title, `remarks` are what is in parentheses behind a title."""

    name: str
    summary: str
    sections: Mapping[str, str]
    remarks: Mapping[str, str]

    @property
    def equations(self) -> tuple[Equation, ...]:
        found = _EQUATION.findall(self.sections.get("Equations", ""))
        return tuple(Equation(f"{self.name}.{number}", " ".join(text.split())) for number, text in found)

    def missing(self) -> list[str]:
        """The sections that a pass must have and this one has not."""
        return [title for title in PASS_SECTIONS if not self.sections.get(title, "").strip()]


def read(name: str, text: str) -> Documentation:
    """The parts of a docstring; `name` is that of the pass or operation.

    Raises:
        ValueError: a section stands twice.
    """
    sections: dict[str, str] = {}
    remarks: dict[str, str] = {}
    summary: list[str] = []
    title = ""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        match = _TITLE.match(paragraph)
        if match is not None:
            title = match.group(1)
            if title in sections:
                raise ValueError(f"the docstring of {name} has two sections '{title}'")
            remarks[title] = " ".join((match.group(2) or "").split())
            sections[title] = paragraph[match.end() :].lstrip()
        elif title:
            sections[title] += f"\n\n{paragraph}"
        else:
            summary.append(paragraph)
    return Documentation(name, "\n\n".join(summary), {k: v.strip("\n") for k, v in sections.items()}, remarks)


def of_class(name: str, cls: type) -> Documentation:
    """The documentation of the class itself, not of a base."""
    return read(name, cls.__dict__.get("__doc__") or "")


def readable(text: str) -> str:
    """The text with its formulas as Unicode; one that is outside the grammar stays as it is."""

    def shown(match: re.Match[str]) -> str:
        try:
            return unicode_text(match.group(1))
        except FormulaError:
            return match.group()

    return FORMULA.sub(shown, text)


def passes() -> dict[str, Documentation]:
    """The derivations, by command: the passes that lead from one level to another."""
    from bpir.passes import load_pass

    classes = {name: load_pass(name) for name in pass_names()}
    return {name: of_class(name, cls) for name, cls in classes.items() if cls.source != cls.target and cls.target}


def pass_names() -> list[str]:
    """Every pass by its command: derivations in the order of the levels that they read, then helpers."""
    from bpir.passes import PASSES, load_pass

    def order(name: str) -> tuple[bool, tuple[int, bool, str], str]:
        cls = load_pass(name)
        return cls.target in ("", cls.source), place(cls.source), name

    return sorted(PASSES, key=order)


def operations() -> dict[str, Documentation]:
    """Every declared operation of every dialect, by name."""
    from bpir import dialects
    from bpir.ir.declaration import DECLARATIONS

    for dialect in dialects.available():
        dialects.load(dialect)
    dialects.load_all(dialects.available())
    return {name: of_class(name, type(DECLARATIONS[name])) for name in sorted(DECLARATIONS) if name.startswith(_own())}


def _own() -> tuple[str, ...]:
    from bpir import dialects

    return tuple(f"{dialect}." for dialect in dialects.available())


def equations() -> dict[str, Equation]:
    """Every equation by its label."""
    documented: Iterable[Documentation] = (*passes().values(), *operations().values())
    return {equation.label: equation for found in documented for equation in found.equations}


def rules() -> dict[str, str]:
    """The demand of each rule of the verifiers, by label."""
    operations()  # every dialect is loaded now, so every kind of target is known
    from bpir.dialects.concrete.extension import EXTENSIONS

    for module in pkgutil.walk_packages(verifiers.__path__, f"{verifiers.__name__}."):
        importlib.import_module(module.name)
    found: dict[str, str] = {}
    for book in BOOKS:
        found.update(_listed(book, [each for prefix in book.prefixes for each in _prefixes(prefix, sorted(EXTENSIONS))]))
        if book is CONCRETE:
            for _, extension in sorted(EXTENSIONS.items()):
                found.update(_listed(extension.rules, extension.rules.prefixes))
    return found


def _listed(book: RuleBook, prefixes: Iterable[str]) -> dict[str, str]:
    """The rules of a book by label."""
    return {f"{prefix}.{number}": demand for number, demand in book.rules.items() for prefix in prefixes if not _knows(prefix, number)}


def _prefixes(prefix: str, kinds: Iterable[str]) -> list[str]:
    """The prefixes that one stands for; levels in the order of derivations, each before the dialects that extend it."""
    from bpir.ir.dialect import DIALECTS

    if prefix not in (DIALECT, LEVEL):
        return [prefix.replace(KIND, kind) for kind in kinds] if KIND in prefix else [prefix]
    own = (d.name for d in DIALECTS.values() if d.level or prefix == DIALECT)
    return sorted(own, key=place)


def place(dialect: str) -> tuple[int, bool, str]:
    """The place of a dialect among others: levels in the order of derivations, each before the dialects that extend it, inputs last."""
    from bpir.ir.dialect import DIALECTS
    from bpir.verifiers.structure.forbidden_words import FORBIDDEN

    found = DIALECTS.get(dialect)
    order = [*FORBIDDEN, ""]
    level = found.level if found is not None else ""
    return order.index(level) if level in order else len(order), found is not None and found.is_extension, dialect


def _knows(prefix: str, number: str) -> bool:
    """Whether what a rule forbids is no secret to a level: a concrete plan knows the machine (F1)."""
    from bpir.ir.dialect import DIALECTS

    dialect = DIALECTS.get(prefix)
    return number == "F1" and dialect is not None and dialect.level == "concrete"
