"""Counts are positive integers for every admissible binding, whatever the level: what may be zero, negative or a fraction is refused."""

from __future__ import annotations

import pytest
from support import example, gate, labels, line_of, print_module, read, replaced, run, shown, structure

MODEL = """\
bp.symbols B, S, c, H, F, t, e, D{relations}
bind.workload @w inference {{phase = decode, batch = {batch}, context = {context}}}
bind.strategy @s {{tensor = {tensor}, data = {data}}}
bind.deployment @d {{devices = {devices}, memory = {memory}}}
model.block @block(%x: !bp.tensor<B x S x {width}, e>) {{
  %y = model.gelu "gelu" %x
  model.return %y
}}
"""
PLAIN = {"relations": "", "batch": "B", "context": "c", "tensor": "t", "data": "D", "devices": "t", "memory": "2**30", "width": "H"}


def found(**changes: str) -> list[tuple[str, str]]:
    """The messages and notes for a model with the changes."""
    text = MODEL.format(**(PLAIN | changes))
    diagnostics = structure.verify(read(text))
    return [(d.message, d.notes[0].message) for d in diagnostics]


def test_symbols_and_their_products_are_counts() -> None:
    assert found() == []
    assert found(batch="2*B*S", context="c + 1", tensor="max(t, 2)", devices="ceildiv(t, 8)", memory="80*2**30 + H", width="H*F") == []


@pytest.mark.parametrize(
    ("field", "value", "message", "reason"),
    [
        ("batch", "B - 5", "a field of 'bind.workload' must be a positive integer", "that B - 5 >= 1 is refuted by"),
        ("context", "-c", "a field of 'bind.workload' must be a positive integer", "that -c >= 1 is refuted by"),
        ("tensor", "t/2", "a field of 'bind.strategy' must be a positive integer", "refuted by t = 1"),
        ("data", "floordiv(D, 8)", "a field of 'bind.strategy' must be a positive integer", "that floordiv(D, 8) >= 1 is refuted by D = 1"),
        ("devices", "t - 1", "a field of 'bind.deployment' must be a positive integer", "that t - 1 >= 1 is refuted by t = 1"),
        ("memory", "H*e/3", "a field of 'bind.deployment' must be a positive integer", "refuted by H = 1, e = 1"),
        ("width", "(H - F)", "a dimension of !bp.tensor<B x S x (-F + H), e> must be a positive integer", "F = 1, H = 1"),
        ("width", "(H/2)", "a dimension of !bp.tensor<B x S x (H/2), e> must be a positive integer", "refuted by H = 1"),
    ],
)
def test_what_may_be_no_count(field: str, value: str, message: str, reason: str) -> None:
    (only,) = found(**{field: value})
    assert only[0].startswith(message + " for every admissible binding: ") and only[0].endswith(" [bp.R5]"), only
    assert reason in only[1], only


@pytest.mark.parametrize(
    ("field", "value", "relations"),
    [
        ("batch", "B - 5", "B > 5"),
        ("tensor", "t/2", "2 | t"),
        ("width", "(H - F)", "H > F"),
        ("data", "floordiv(D, 8)", "8 | D"),
        ("memory", "H*e/3", "3 | H"),
    ],
)
def test_a_relation_makes_it_one(field: str, value: str, relations: str) -> None:
    assert found(**{field: value}) != []
    assert found(**{field: value}, relations=f" where {relations}") == []


def test_an_undecided_count_is_refused_as_undecided() -> None:
    """Schur's inequality: never negative, which nothing here proves."""
    schur = "1 + H*(H - F)*(H - D) + F*(F - H)*(F - D) + D*(D - H)*(D - F)"
    (only,) = structure.verify(read(MODEL.format(**(PLAIN | {"batch": schur}))))
    assert labels([only]) == {"bp.R5"} and only.undecided


def test_each_count_is_reported_once_where_it_stands_first() -> None:
    text = MODEL.format(**(PLAIN | {"width": "(H - F)"})).replace("  model.return", '  %z = model.gelu "more" %y\n  model.return')
    (only,) = structure.verify(read(text))
    assert line_of(only).startswith("model.block @block")


def test_below_the_model() -> None:
    dist = print_module(run(example("transformer_block"), "distribute-inference"))
    refused = structure.verify(read(replaced(dist, ('<["tensor"=t]>', '<["tensor"=t/2]>'))))
    assert labels(refused) == {"bp.R5"} and line_of(refused[0]).startswith("dist.mesh")
    plan = print_module(run(example("transformer_block"), "distribute-inference", "plan-inference"))
    refused = structure.verify(read(plan.replace("size <2*B*c*d*e*h/t>", "size <-2*B*c*d*e*h/t>")))
    assert labels(refused) == {"bp.R5"} and line_of(refused[0]).startswith("plan.buffer @attention.kv_cache")
    bound = print_module(run(example("gpt3_175b"), "distribute-inference", "plan-inference", "bind-queue"))
    refused = structure.verify(read(replaced(bound, ("count <t>", "count <t/8>"))))
    assert labels(refused) == {"bp.R5"} and line_of(refused[0]).startswith("concrete.devices")


def test_symbols_of_a_nested_module_count() -> None:
    """A declaration, binding or assumption inside a region holds for the whole file: it is kept, and nothing may contradict it."""
    inner = "module @inner {\n  bp.symbols n where n > 2\n  bp.bind n = %d\n}\nbind.strategy @s {tensor = n - 2}\n"
    assert structure.verify(read(inner % 3)) == []
    assert labels(structure.verify(read(inner % 2))) == {"bp.R4"}
    text = print_module(example("mlp"))
    source = read(text)
    target = print_module(run(source, "distribute-inference"))
    assert gate(source, read(target)) == []
    nested = replaced(target, ("  dist.mesh", "  module @more {\n    bp.assume 5 > B\n  }\n  dist.mesh"))
    assert labels(gate(source, read(nested))) == {"distribute-inference.R9"}, shown(gate(source, read(nested)))
