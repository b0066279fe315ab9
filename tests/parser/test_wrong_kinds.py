"""A property of a wrong kind, given in generic form, is refused by a diagnostic; it is neither misprinted nor a crash."""

from __future__ import annotations

import pytest
from every_operation import TEXTS, instances, module
from support import read

from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.equality import equal
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.parser import parse_attribute
from bpir.parser.actions.operations import property_names
from bpir.verifiers.ssa.operations import verify as verify_structure
from bpir.verifiers.structure.module import verify

pytestmark = pytest.mark.slow

KINDS = (
    *('"word"', '"two words"', '""', "7", "-1", "1.5", "true", "unit", "[]", "[1]", '["a b"]', '["a", 1]', "[@x, 1]", "[@x]", "[[]]"),
    *('{a = 1, "b c" = "d"}', "{}", "@x", '@"x y"::@z', "i32", "() -> ()", "!bp.tensor<B, e>", "#bp.expr<B>", "#bp.expr<-B>"),
    *("#bp.work<>", "#bp.work<ops = B>", "#bp.relation<divides t, h>", "[#bp.relation<divides t, h>]"),
    *("[#bp.expr<B>]", "dense<1> : tensor<2xi32>"),
)


@pytest.fixture(scope="module")
def kinds() -> list[Attribute]:
    return [parse_attribute(text) for text in KINDS]


@pytest.mark.campaign(keep=2)
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
