"""The labels of rules: those that verifiers raise are those that their functions say, and those that tests name."""

from __future__ import annotations

import ast
import importlib
import re
from types import ModuleType

import pytest
from support import ROOT

from bpir.ir.rulebook import RuleBook
from bpir.tools.pages import documentation
from bpir.verifiers import rulebooks

RULE = re.compile(r"^[RFP]\d+$")
FULL = re.compile(r"\b((?:[a-z]+(?:-[a-z]+)?)\.[RFP]\d+)\b")

SHARED = {"plan-inference": "plan-*", "plan-training": "plan-*", "bind-queue": "bind-*", "bind-slot": "bind-*"}
"""Passes with the same rules."""


def canonical(label: str) -> str:
    """The label without what only says where it is raised: the rules F and P are the same at every level."""
    prefix, _, number = label.partition(".")
    return f"{'LEVEL' if number[0] in 'FP' else SHARED.get(prefix, prefix)}.{number}"


def raised() -> set[str]:
    """The labels that verifiers name in code; docstrings, and what says that a function checks a rule, are left out."""
    found: set[str] = set()
    for path in (*(ROOT / "verifiers").rglob("*.py"), ROOT / "dialects" / "queue.py", ROOT / "dialects" / "slot.py"):
        numbers = set()
        for text in _texts(ast.parse(path.read_text(encoding="utf-8"))):
            numbers |= {text} if RULE.match(text) else set(re.findall(r"\.([RFP]\d+)\b", text))
        module = importlib.import_module(".".join(("bpir", *path.relative_to(ROOT).with_suffix("").parts)))
        prefixes = {prefix for book in _books(module) for prefix in book.prefixes}
        assert prefixes or not numbers, f"{path.name} raises {numbers}, and has no rule book"
        found |= {canonical(f"{prefix.replace('KIND', 'queue')}.{number}") for prefix in prefixes for number in numbers}
    return found


def _books(module: ModuleType) -> list[RuleBook]:
    """The rule books that a module has: of its verifier, or of its target."""
    if module is rulebooks:
        return []
    held = [vars(module).values(), *(vars(cls).values() for cls in vars(module).values() if isinstance(cls, type))]
    return [value for values in held for value in values if isinstance(value, RuleBook)]


def _texts(tree: ast.Module) -> list[str]:
    """The string constants that are no docstrings, and in no decorator."""
    left_out = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    decorators = [d for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for d in node.decorator_list]
    left_out |= {id(node) for decorator in decorators for node in ast.walk(decorator)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in left_out]
    return [node.value for node in constants if isinstance(node.value, str)]


def documented() -> set[str]:
    return {canonical(label) for label in documentation.rules()}


def named_by_tests() -> set[str]:
    """The labels that tests name: in full, or as a number where the file has the prefix (`RULE + "R3"`)."""
    found: set[str] = set()
    for path in (*(ROOT / "tests").rglob("*.py"), *(ROOT / "lit_tests").rglob("*.*")):
        if "Output" in path.parts or not path.is_file() or path.name == "test_rule_labels.py":
            continue
        text = re.sub(
            r"\b(bind|plan)-\{\w+\}", lambda m: {"bind": "bind-queue", "plan": "plan-training"}[m[1]], path.read_text(encoding="latin-1")
        )
        found |= set(FULL.findall(text))
        prefixes = set(re.findall(r"[\"']([a-z]+(?:-[a-z]+)?)\.(?=[\"'{])", text))
        found |= {f"{prefix}.{number}" for prefix in prefixes for number in re.findall(r"[\"']([RFP]\d+)[\"']", text)}
    return {canonical(label) for label in found}


@pytest.mark.slow
def test_the_rules_that_are_raised_are_those_that_are_documented() -> None:
    assert sorted(raised() - documented()) == [], "raised, but no function says that it checks them"
    assert sorted(documented() - raised()) == [], "said, but never raised"


def test_every_rule_is_named_by_a_test() -> None:
    missing = sorted(documented() - named_by_tests())
    assert missing == [], f"{len(missing)} rules that no test names"


def test_every_rule_says_what_it_demands() -> None:
    rules = documentation.rules()
    assert len(documented()) > 80
    assert [label for label, demand in rules.items() if len(demand.split()) < 2] == []


def test_a_rule_stands_at_one_function() -> None:
    book = RuleBook("here")
    book.rule("R10", "the last")(lambda: None)
    book.rule("R2", "the first")(lambda: None)
    assert list(book.rules.items()) == [("R2", "the first"), ("R10", "the last")]
    with pytest.raises(ValueError, match=r"the rule here\.R2 is said twice"):
        book.rule("R2", "again")
