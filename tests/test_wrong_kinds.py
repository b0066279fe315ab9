"""Generic form can give any property any attribute: what is not what the operation sets is a diagnostic, never a misprint or a crash."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from support import read, run

from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.equality import equal
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.parser import parse_attribute
from bpir.parser.operation_actions import property_names
from bpir.verifiers.module import verify
from bpir.verifiers.structure import verify as verify_structure

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
KINDS = (
    *('"word"', '"two words"', '""', "7", "-1", "1.5", "true", "unit", "[]", "[1]", '["a b"]', '["a", 1]', "[@x, 1]", "[@x]", "[[]]"),
    *('{a = 1, "b c" = "d"}', "{}", "@x", '@"x y"::@z', "i32", "() -> ()", "!bp.tensor<B, e>", "#bp.expr<B>", "#bp.expr<-B>"),
    *("#bp.work<>", "#bp.work<ops = B>", "#bp.relation<divides t, h>", "[#bp.relation<divides t, h>]"),
    *("[#bp.expr<B>]", "dense<1> : tensor<2xi32>"),
)

TEXTS = {
    "model": ("mlp.bpir",),
    "dist": ("mlp.bpir", "distribute-inference"),
    "plan": ("mlp.bpir", "distribute-inference", "plan-inference"),
    "attention": ("opt_6_7b.bpir", "distribute-inference"),
    "attention plan": ("opt_6_7b.bpir", "distribute-inference", "plan-inference"),
    "queue": ("gpt3_175b.bpir", "distribute-inference", "plan-inference", "bind-symbols{B=1 c=64 t=8}", "bind-queue"),
    "slot": ("gpt3_175b.bpir", "distribute-inference", "plan-inference", "bind-symbols{B=1 c=64 t=8}", "bind-slot"),
}


@cache
def module(level: str) -> Operation:
    name, *passes = TEXTS[level]
    return run(read((ROOT / "examples" / name).read_bytes().decode("latin-1"), name), *passes)


def instances(level: str) -> Iterator[Operation]:
    """One operation of each name; of a bound module only those that no other level has."""
    seen = {"bp.symbols", "bp.bind", "bind.workload", "bind.strategy"} if level in ("queue", "slot") else set()
    for operation in module(level).walk():
        if operation.declaration is not None and operation.name not in seen:
            seen.add(operation.name)
            yield operation


@pytest.fixture(scope="module")
def kinds() -> list[Attribute]:
    return [parse_attribute(text) for text in KINDS]


@pytest.mark.parametrize("level", TEXTS)
def test_a_property_of_a_wrong_kind_is_a_diagnostic_and_no_misprint(level: str, kinds: list[Attribute]) -> None:
    root = module(level)
    accepted = 0
    bad = []
    for operation in instances(level):
        for name in sorted(property_names(operation.declaration)):  # type: ignore[arg-type]
            old = dict(operation.properties)
            for attribute in kinds:
                operation.properties[name] = attribute
                outcome = _outcome(root)
                accepted += outcome == "accepted"
                if outcome not in ("accepted", "refused"):
                    bad.append(f"{operation.name} {name} = {attribute}: {outcome}")
            operation.properties.clear()
            operation.properties.update(old)
    assert accepted
    assert bad == []


def _outcome(root: Operation) -> str:
    try:
        found = verify_structure(root) or verify(root)
        if any(d.severity == "error" for d in found):
            return "refused" if all(d.render() for d in found) else "nothing is shown"
        again = read(print_module(root))
    except DiagnosticError as problem:
        return f"printed as what is not read: {problem}"
    except Exception as crash:
        return f"{type(crash).__name__}: {crash}"
    return "accepted" if equal(root, again) else "read back as another module"
