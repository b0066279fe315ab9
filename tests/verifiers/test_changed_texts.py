"""A derived text that is changed in one place, which no file test can write by hand, is refused with a message."""

from __future__ import annotations

import re

import pytest
from support import example_text, gate, read, run, shown

from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.printer import print_module

BLOCK = example_text("transformer_block")
RMS = BLOCK.replace("model.layer_norm", "model.rms_norm")
MLP = example_text("mlp")
CORE = "distribute-training{tensor=t recompute=core_attention}"
PARTS = "distribute-training{tensor=t communication=reduce_scatter_all_gather}"
WHOLE = "distribute-training{tensor=t}"
PLAN = ("distribute-inference", "plan-inference")
SCORES = r"matmul <2\*B\*S\*\*2\*d\*h/t>"
REDUCTION = (
    '    %sum = dist.all_reduce "mlp.layer_norm.gradient_reduction" sum [{"tensor"}] %2 : !bp.tensor<H, e>\n'
    '      from "mlp.layer_norm" phase gradient_reduction work <>\n'
)
CHANGES = {
    "a repeated product that nothing reads, unmarked": (
        BLOCK, (CORE,), ((" unread", ""),),
        "'attention.probability_value' is repeated, and backward reads nothing of it: mark the task 'unread'",
    ),
    "a repeated product that is read, marked": (
        BLOCK, (CORE,), ((rf'("attention.query_key.recompute".*\n.*\n.*{SCORES})', r"\1 unread"),),
        "'attention.query_key' is marked unread, and backward reads it",
    ),
    "a product that is not repeated, marked": (
        BLOCK, (CORE,), ((rf'("attention.query_key.forward".*\n.*\n.*{SCORES})', r"\1 unread"),),
        "only a task of the phase recompute can be unread",
    ),
    "an update by a partial sum": (
        BLOCK, (PARTS,), ((r'("mlp.layer_norm.optimizer" adam) .*', r"\1 %2#0, %2#1"),),
        "the optimizer of 'mlp.layer_norm' reads a partial sum, which no task reduces",
    ),
    "an update of a layer without weights": (
        BLOCK, (PARTS,), ((r'"mlp.layer_norm.optimizer"(.*\n.*)from "mlp.layer_norm"', r'"mlp.gelu.optimizer"\1from "mlp.gelu"'),),
        "the optimizer of 'mlp.gelu' does not read the gradients of its weights",
    ),
    "a sum that is scattered": (
        RMS, (PARTS,),
        ((r'dist.all_reduce ("mlp.layer_norm.gradient_reduction".*)!bp.tensor<H, e>', r"dist.reduce_scatter \1!bp.tensor<H@tensor, e>"),),
        "'dist.reduce_scatter' does not give every rank the sum: expected dist.all_reduce",
    ),
    "a sum of what is complete": (
        RMS, (WHOLE,),
        (
            (r'("mlp.layer_norm.weight_gradient".*)!bp.tensor<H, e>', r"\1!bp.tensor<H, e, unreduced={tensor}>"),
            (r'(    dist.compute "attention.layer_norm.optimizer")', REDUCTION + r"\1"),
        ),
        "the gradients of the weights of 'mlp.layer_norm' are complete on every rank",
    ),
    "a border with two values": (
        RMS, (WHOLE,), ((r'= (dist.all_reduce "mlp.output_collective.forward" .*) (%\w+) : (.*)', r", %other = \1 \2, \2 : \3, \3"),),
        "'mlp.output_collective.forward' has 2 operands, and a border has one value",
    ),
    "a mesh of another size": (
        MLP, PLAN, ((r'"tensor"=t\]> strategy', '"tensor"=t + 1]> strategy'),),
        "the size of the mesh axis 'tensor' is wrong: t + 1",
    ),
    "weights without a buffer": (
        MLP, PLAN,
        ((r"  plan.buffer @mlp.expand.weights.*\n(    .*\n)+", ""), (r"(reads \[.*), @mlp.expand.weights\]", r"\1]")),
        "the constant of 'mlp.expand.decode' has no buffer: F*H*e/t bytes are needed",
    ),
    "a workspace that is too small for one task": (
        BLOCK, PLAN, ((r"(@workspace : .*\n.*size) <.*>", r"\1 <B*H*e + 3*B*d*e*h/t>"),),
        "the size of @workspace (the workspace) is wrong: B*H*e + 3*B*d*e*h/t",
    ),
}  # fmt: skip
"""Source, passes, changes (patterns and what replaces them), and the message."""


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_text_is_refused(name: str) -> None:
    source, passes, changes, message = CHANGES[name]
    before = run(read(source), *passes[:-1])
    text = print_module(run(before, passes[-1]))
    for pattern, new in changes:
        text, count = re.subn(pattern, new, text)
        assert count == 1, f"{pattern!r} is {count} times in the text"
    found = gate(before, read(text))
    assert any(d.message.startswith(message) for d in found), shown(found)


def test_calculon_has_no_repeated_product_with_v() -> None:
    with pytest.raises(DiagnosticError, match="Calculon does not repeat the product with V"):
        run(read(BLOCK), "distribute-training{tensor=t recompute=core_attention convention=calculon}")
