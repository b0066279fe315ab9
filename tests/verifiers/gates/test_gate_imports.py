"""The gates of planning and binding judge by themselves: they import nothing that the passes ask."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

VERIFIERS = Path(__file__).parent.parent.parent.parent / "verifiers"
OF_THE_PASSES = {
    "bpir.dialects.concrete.contract": {"*"},
    "bpir.dialects.dist.memory": {"local_bytes", "weight_bytes"},
    "bpir.dialects.replicas": {"zero_stage", "reduces_in_backward"},
}
"""Functions that a derivation uses, by module; `*` for all."""


def imported(path: Path) -> set[tuple[str, str]]:
    """Modules and names that a file imports, wherever it does."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {(node.module or "", alias.name) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return found | {(alias.name, "*") for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}


@pytest.mark.parametrize("path", sorted(VERIFIERS.rglob("*.py")), ids=lambda path: str(path.relative_to(VERIFIERS)))
def test_a_verifier_imports_nothing_that_only_a_derivation_needs(path: Path) -> None:
    names = imported(path)
    assert not {module for module, _ in names if module.startswith("bpir.passes")}
    assert not {(m, n) for m, n in names if m in OF_THE_PASSES and OF_THE_PASSES[m] & {"*", n}}
