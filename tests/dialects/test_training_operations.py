"""The cost of training, operation by operation: the rules of the standard convention, by hand, on blocks of one operation.

`n` is the number of elements of the operand, on one rank. Every distinct operand is read once, every result is written once.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from support import read
from support_training import B, F, H, S, Step, derive, e, same

n, m = B * S * H, B * S * F
ne, me = n * e, m * e


@attrs.frozen
class Rule:
    """The cost: operations, bytes read, bytes written, of forward and of its gradients; weights; bytes kept for backward."""

    line: str
    forward: tuple[Any, Any, Any]
    gradient: tuple[Any, Any, Any] | None
    weight_gradient: tuple[Any, Any, Any] | None = None
    weights: Any = 0
    kept: Any = 0


RULES = {
    "linear": Rule(
        "linear %n : [F]", (2 * n * F, ne + H * F * e, me), (2 * n * F, me + H * F * e, ne), (2 * n * F, ne + me, H * F * e), H * F, ne
    ),
    "linear with bias": Rule(
        "linear %n bias : [F]",
        (2 * n * F + m, ne + (H + 1) * F * e, me),
        (2 * n * F, me + H * F * e, ne),
        (2 * n * F + m, ne + me, (H + 1) * F * e),
        (H + 1) * F,
        ne,
    ),
    "layer_norm": Rule("layer_norm %n", (9 * n, ne + 2 * H * e, ne), (14 * n, 2 * ne + H * e, ne), (7 * n, 2 * ne, 2 * H * e), 2 * H, ne),
    "rms_norm": Rule("rms_norm %n", (4 * n, ne + H * e, ne), (8 * n, 2 * ne + H * e, ne), (3 * n, 2 * ne, H * e), H, ne),
    "gelu": Rule("gelu %n", (8 * n, ne, ne), (13 * n, 2 * ne, ne), kept=ne),
    "silu": Rule("silu %n", (5 * n, ne, ne), (8 * n, 2 * ne, ne), kept=ne),
    "relu": Rule("relu %n", (n, ne, ne), (n, 2 * ne, ne), kept=ne),
    "softmax": Rule("softmax %n", (5 * n, ne, ne), (8 * n, 2 * ne, ne), kept=ne),
    "dropout": Rule("dropout %n", (n, ne, ne + n), (n, ne + n, ne), kept=n),
    "mul": Rule("mul %n, %other", (n, 2 * ne, ne), (2 * n, 3 * ne, 2 * ne), kept=2 * ne),
    "mul of one value": Rule("mul %n, %n", (n, ne, ne), (2 * n, 2 * ne, 2 * ne), kept=ne),
    "add": Rule("add %n, %other", (n, 2 * ne, ne), None),
}
OPERATION = "a.op"


def step(rule: Rule) -> Step:
    kind, _, rest = rule.line.partition(" ")
    text = f"""
        bp.symbols B, S, H, F, e
        model.block @one(%n: !bp.tensor<B x S x H, e>, %other: !bp.tensor<B x S x H, e>) {{
          %y = model.{kind} "{OPERATION}" {rest}
          model.return %y{"" if "%other" in rest else ", %other"}
        }}
    """
    return derive(read(text), {"tensor": 1})


def work(found: Step, phase: str) -> tuple[Any, Any, Any]:
    ops, read, write = (found.sum(component, phase, OPERATION) for component in ("ops", "read", "write"))
    return ops, read, write


@pytest.mark.parametrize("name", RULES)
def test_an_operation_costs_what_its_rule_says_and_keeps_what_its_gradients_read(name: str) -> None:
    rule = RULES[name]
    found = step(rule)
    none = (0, 0, 0)
    for phase, expected in (("forward", rule.forward), ("activation_gradient", rule.gradient), ("weight_gradient", rule.weight_gradient)):
        for ours, theirs in zip(work(found, phase), expected or none, strict=True):
            assert same(ours, theirs), phase
    phases = {task.phase for task in found.tasks if task.layer == OPERATION}
    assert phases == {"forward"} | ({"activation_gradient"} if rule.gradient else set()) | (
        {"weight_gradient", "optimizer"} if rule.weight_gradient else set()
    )
    assert same(found.sum("ops", "optimizer"), 11 * rule.weights)
    assert same(found.sum("read", "optimizer"), (12 + e) * rule.weights)
    assert same(found.sum("write", "optimizer"), (12 + e) * rule.weights)
    assert same(found.memory("weights"), rule.weights * e)
    assert same(found.layer(OPERATION, "activation_bytes"), rule.kept)
    assert same(found.memory("activation_stored"), rule.kept)
    gradient = rule.gradient[2] if rule.gradient else 0
    assert same(found.layer(OPERATION, "activation_gradient_bytes"), gradient)


@pytest.mark.parametrize("kind", ["gelu", "silu", "relu"])
def test_a_fused_activation_moves_nothing_and_keeps_its_operand(kind: str) -> None:
    rule = RULES[kind]
    text = (
        f'bp.symbols B, S, H, e\nmodel.block @one(%n: !bp.tensor<B x S x H, e>) {{\n  %y = model.{kind} "a.op" %n\n  model.return %y\n}}\n'
    )
    found = derive(read(text), {"tensor": 1, "fused_activation": True})
    assert rule.gradient is not None
    for phase, ops in (("forward", rule.forward[0]), ("activation_gradient", rule.gradient[0])):
        for ours, theirs in zip(work(found, phase), (ops, 0, 0), strict=True):
            assert same(ours, theirs)
    assert same(found.memory("activation_stored"), ne)
    assert same(found.layer(OPERATION, "activation_gradient_bytes"), 0)


@pytest.mark.parametrize("uses", [2, 3, 5])
def test_a_fork_adds_one_gradient_less_than_there_are_uses(uses: int) -> None:
    lines = "\n".join(f'%v{i} = model.gelu "a.op{i}" %n' for i in range(uses))
    returned = ", ".join(f"%v{i}" for i in range(uses))
    text = f"bp.symbols B, S, H, e\nmodel.block @many(%n: !bp.tensor<B x S x H, e>) {{\n{lines}\nmodel.return {returned}\n}}\n"
    found = derive(read(text), {"tensor": 1})
    assert same(found.sum("ops", "activation_gradient", "a.fork"), (uses - 1) * n)
    assert same(found.sum("read", "activation_gradient", "a.fork"), uses * ne)
    assert same(found.sum("write", "activation_gradient", "a.fork"), ne)
    assert same(found.memory("activation_stored"), ne)  # one value, however many gradients read it
