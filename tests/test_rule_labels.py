"""The labels of rules: those that verifiers raise are those that their docstrings list, and those that tests name."""

from __future__ import annotations

import ast
import re

from support import ROOT

from bpir.tools import documentation

RULE = re.compile(r"^[RFP]\d+$")
FULL = re.compile(r"\b((?:[a-z]+(?:-[a-z]+)?)\.[RFP]\d+)\b")

OWNERS = {
    "symbols": ("bp",),
    "counts": ("bp",),
    "holders": ("LEVEL",),
    "forbidden": ("LEVEL",),
    "requirements": ("model",),
    "network": ("network",),
    "dist": ("dist",),
    "plan": ("plan",),
    "concrete": ("concrete",),
    "queue": ("queue",),
    "slot": ("slot",),
    "distribution": ("distribute-inference",),
    "training": ("distribute-training",),
    "planning": ("plan-*",),
    "binding": ("bind-*",),
}
"""Under which prefix the rules of a file are raised."""
HELPERS = {
    "network_calls": "distribution",
    "plan_sections": "planning",
    "bound_sections": "binding",
    "training_": "training",
    "plan_training": "planning",
}
SHARED = {"plan-inference": "plan-*", "plan-training": "plan-*", "bind-queue": "bind-*", "bind-slot": "bind-*"}
"""Passes with the same rules."""


def canonical(label: str) -> str:
    """The label without what only says where it is raised: the rules F and P are the same at every level."""
    prefix, _, number = label.partition(".")
    return f"{'LEVEL' if number[0] in 'FP' else SHARED.get(prefix, prefix)}.{number}"


def raised() -> set[str]:
    """The labels that verifiers name in code, docstrings left out."""
    found: set[str] = set()
    for path in (*(ROOT / "verifiers").glob("*.py"), ROOT / "dialects" / "queue.py", ROOT / "dialects" / "slot.py"):
        numbers = set()
        for text in _texts(ast.parse(path.read_text(encoding="utf-8"))):
            numbers |= {text} if RULE.match(text) else set(re.findall(r"\.([RFP]\d+)\b", text))
        owner = next((OWNERS[name] for start, name in HELPERS.items() if path.stem.startswith(start)), OWNERS.get(path.stem, ()))
        assert owner or not numbers, f"{path.name} raises {numbers}, and OWNERS does not know under which prefix"
        found |= {f"{prefix}.{number}" for prefix in owner for number in numbers}
    return found


def _texts(tree: ast.Module) -> list[str]:
    """The string constants that are no docstrings."""
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in documented]
    return [node.value for node in constants if isinstance(node.value, str)]


def documented() -> set[str]:
    return {canonical(label) for label in documentation.rules()}


def named_by_tests() -> set[str]:
    """The labels that tests name: in full, or as a number where the file has the prefix (`RULE + "R3"`)."""
    found: set[str] = set()
    for path in (*(ROOT / "tests").glob("*.py"), *(ROOT / "lit_tests").rglob("*.*")):
        if "Output" in path.parts or not path.is_file() or path.name == "test_rule_labels.py":
            continue
        text = re.sub(
            r"\b(bind|plan)-\{\w+\}", lambda m: {"bind": "bind-queue", "plan": "plan-training"}[m[1]], path.read_text(encoding="latin-1")
        )
        found |= set(FULL.findall(text))
        prefixes = set(re.findall(r"[\"']([a-z]+(?:-[a-z]+)?)\.(?=[\"'{])", text))
        found |= {f"{prefix}.{number}" for prefix in prefixes for number in re.findall(r"[\"']([RFP]\d+)[\"']", text)}
    return {canonical(label) for label in found}


def test_the_rules_that_are_raised_are_those_that_are_documented() -> None:
    assert sorted(raised() - documented()) == [], "raised, but in no docstring"
    assert sorted(documented() - raised()) == [], "in a docstring, but never raised"


def test_every_rule_is_named_by_a_test() -> None:
    missing = sorted(documented() - named_by_tests())
    assert missing == [], f"{len(missing)} rules that no test names"


def test_every_rule_says_what_it_demands() -> None:
    rules = documentation.rules()
    assert len(documented()) > 80
    assert [label for label, demand in rules.items() if len(demand.split()) < 2] == []
