"""The labels of rules: those that verifiers raise are those that their docstrings list, and those that tests name."""

from __future__ import annotations

import ast
import re

from support import ROOT

from bpir.tools import documentation

RULE = re.compile(r"^[RFP]\d+$")
FULL = re.compile(r"\[?\b((?:[a-z]+(?:-[a-z]+)?)\.[RFP]\d+)\b")
VERIFIERS = ROOT / "verifiers"


def raised() -> dict[str, set[str]]:
    """The short labels that each verifier's file names in code, docstrings left out; those of targets by their dialect."""
    found: dict[str, set[str]] = {}
    for path in (*sorted(VERIFIERS.glob("*.py")), ROOT / "dialects" / "queue.py", ROOT / "dialects" / "slot.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        documented = {node.value.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
        for text in texts:
            if text in documented:
                continue
            if RULE.match(text):
                found.setdefault(path.stem, set()).add(text)
            for number in re.findall(r"\.([RFP]\d+)\]?", text):
                found.setdefault(path.stem, set()).add(number)
    return found


OWNERS = {
    "symbols": ("bp",),
    "placement": ("model",),
    "forbidden": ("model",),
    "dist": ("dist",),
    "plan": ("plan",),
    "concrete": ("concrete",),
    "queue": ("queue",),
    "slot": ("slot",),
    "distribution": ("distribute-inference",),
    "training": ("distribute-training",),
    "training_block": ("distribute-training",),
    "training_memory": ("distribute-training",),
    "planning": ("plan-inference", "plan-training"),
    "plan_training": ("plan-training",),
    "binding": ("bind-queue", "bind-slot"),
}
"""The prefixes under which the rules of a file are raised."""


def test_the_labels_that_are_raised_are_those_that_are_documented() -> None:
    found = raised()
    assert set(found) <= set(OWNERS), "a verifier without an entry in OWNERS"
    labels = {f"{prefix}.{number}" for file, numbers in found.items() for prefix in OWNERS[file] for number in numbers}
    documented = {label for label in documentation.rules() if label.partition(".")[0] in {p for ps in OWNERS.values() for p in ps}}
    documented -= {f"{prefix}.{number}" for prefix, number in re.findall(r"(\w+)\.([FP]\d+)", " ".join(documented)) if prefix != "model"}
    assert sorted(labels - documented) == [], "raised, but in no docstring"
    assert sorted(documented - labels) == [], "in a docstring, but never raised"


def named_by_tests() -> set[str]:
    """The labels that tests name: in full, or as a number behind a prefix that the file has (`RULE + "R3"`)."""
    found: set[str] = set()
    files = (*Path(ROOT / "tests").glob("*.py"), *(p for p in (ROOT / "lit_tests").rglob("*.*") if "Output" not in p.parts))
    for path in files:
        if path.name in ("test_equations.py", "equation_meanings.py"):
            continue
        text = path.read_text(encoding="latin-1")
        found |= set(FULL.findall(text))
        prefixes = set(re.findall(r"([a-z]+(?:-[a-z]+)?)\.(?=[\"'{])", text))
        found |= {f"{prefix}.{number}" for prefix in prefixes for number in re.findall(r"\b([RFP]\d+)\b", text)}
    return found


def test_every_rule_is_named_by_a_test() -> None:
    documented = {label for label in documentation.rules() if not re.fullmatch(r"(?!model)\w+\.[FP]\d+", label)}
    missing = sorted(documented - named_by_tests())
    assert missing == [], f"{len(missing)} rules that no test names"
