"""A wrong number of operands, results, regions or successors of any operation, given in generic form, is refused by a diagnostic."""

from __future__ import annotations

import pytest
from every_operation import TEXTS, instances, module
from support import shown

from bpir import dialects
from bpir.ir.attributes import I64
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Source
from bpir.ir.operation import Block, Operation, Region, Value, clone
from bpir.parser import parse_module
from bpir.verifiers.structure import module as structure

dialects.load_all(dialects.available())
NAMES = sorted(name for name in DECLARATIONS if name.partition(".")[0] in dialects.available())
TENSOR = "!bp.tensor<B x S x H, e>"
SAID = {"layer": '"a.b"', "sym_name": '"a"', **dict.fromkeys(("heads", "head_size", "feed_forward", "context"), "#bp.expr<c>")}


def verified(root: Operation) -> list[Diagnostic]:
    try:
        return structure.verify(root)
    except DiagnosticError as refusal:
        return list(refusal.diagnostics)


@pytest.mark.parametrize("level", TEXTS)
def test_more_results_regions_and_successors_than_the_form_has(level: str) -> None:
    """Of every operation of the examples: one without results, regions or successors can't have any, and a block needs its region."""
    for operation in instances(level):
        if operation.parent is None:
            continue
        expected = [
            ("has no successors", lambda o: o.successors.append(o.parent)),
            ("expects 1 region(s), found 0", lambda o: o.regions.pop())
            if operation.regions
            else ("expects no regions, found 1", lambda o: o.regions.append(Region([Block()]))),
        ]
        if not operation.results and operation.name != "dist.compute":
            expected.append(("expects no results, found 1", lambda o: o.results.append(Value(I64))))
        for message, change in expected:
            copy = clone(module(level))
            change(next(o for o in copy.walk() if o.name == operation.name))
            found = [d.message for d in verified(copy)]
            assert f"'{operation.name}' {message}" in found, (operation.name, message, found)


@pytest.mark.campaign(keep=24)
@pytest.mark.parametrize("name", NAMES)
def test_any_number_of_operands_is_judged(name: str) -> None:
    """No count makes a rule fail that takes it for granted: model.transformer_block without an operand was an IndexError."""
    known = (*DECLARATIONS[name].required, *DECLARATIONS[name].optional)
    said = ", ".join(f"{key} = {value}" for key, value in SAID.items() if key in known)
    holder = name.partition(".")[0] if name.partition(".")[0] in ("model", "dist") else "test"
    for operands in range(5):
        for results in range(4):
            types = f"({', '.join([TENSOR] * operands)}) -> ({', '.join([TENSOR] * results)})"
            values = f"%y:{results} = " if results else ""
            operation = f'{values}"{name}"({", ".join(["%x"] * operands)}) <{{{said}}}> : {types}'
            text = "bp.symbols B, S, H, c, e\n"
            text += f'"{holder}.block"() <{{sym_name = "b"}}> ({{\n^bb(%x: {TENSOR}):\n  {operation}\n}}) : () -> ()\n'
            try:
                found = verified(parse_module(Source("test.bpir", text), allow_unregistered=True))
            except DiagnosticError as refusal:
                found = list(refusal.diagnostics)
            assert all(d.span is not None for d in found), shown(found)
