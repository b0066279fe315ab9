"""Derived texts that run, each changed in one place."""

from __future__ import annotations

from functools import cache

from corruptions.valid_modules import EXPERTS, MIXTURE
from support import example_text, read

from bpir.ir.diagnostic import Diagnostic
from bpir.run.check import check

NUMBERS = {"B": 2, "S": 4, "H": 8, "F": 12, "h": 4, "d": 6, "t": 2, "e": 4, "E": 4, "k": 3, "ep": 2}
SEQUENCE = "communication=reduce_scatter_all_gather"
BASES = {
    "training": ("transformer_block", "distribute-training{tensor=t}"),
    "attention again": ("transformer_block", "distribute-training{tensor=t recompute=attention}"),
    "all again": ("transformer_block", "distribute-training{tensor=t recompute=full}"),
    "biased": ("biased", "distribute-training{tensor=t}"),
    "sequence": ("mlp", f"distribute-training{{tensor=t {SEQUENCE}}}"),
    "norms": ("transformer_block", f"distribute-training{{tensor=t {SEQUENCE}}}"),
    "decode": ("transformer_block", "distribute-inference{phase=decode tensor=t}"),
    "replicas": ("transformer_block", "distribute-training{tensor=t data=2}"),
    "experts": (EXPERTS, "distribute-inference"),
    "experts, training": (EXPERTS, "distribute-training"),
    "one head of K": ("multi-query", "distribute-training{tensor=t}"),
    "one head of K, sequence": ("multi-query", f"distribute-training{{tensor=t {SEQUENCE}}}"),
}
"""The texts that are changed: a model and the pass that derives the text."""


MULTI_QUERY = """
  bp.symbols B, S, H, F, h, d, t, e where t | h, t | H, t | S
  bind.strategy @tp {tensor = t}
  model.block @block(%x: !bp.tensor<B x S x H, e>) {
    %q, %k, %v = model.linear "attention.qkv" %x : [h x d], [1 x d], [1 x d]
    %qr, %kr = model.rope "attention.rope" %q, %k
    %o = model.attention "attention.core" %qr, %kr, %v
    %a = model.linear "attention.output_projection" %o : [H]
    %y = model.add "attention.residual" %a, %x
    model.return %y
  }
"""
"""One head of K and V (Shazeer 2019), and a rotation."""


@cache
def model_text(name: str) -> str:
    """The text of a model; `biased` has the biases of GPT-3."""
    if name == "multi-query":
        return MULTI_QUERY
    if name == EXPERTS:
        return MIXTURE
    if name != "biased":
        return example_text(name)
    text = example_text("transformer_block")
    for operand in ("%n", "%o", "%m", "%g"):
        text = text.replace(f" {operand} : [", f" {operand} bias : [")
    return text


def against(name: str, text: str) -> list[Diagnostic]:
    """The diagnostics of a run of a text whose structure is not verified."""
    model = read(model_text(BASES[name][0]))
    declared = {name for line in model_text(BASES[name][0]).splitlines() if "bp.symbols" in line for name in line.replace(",", " ").split()}
    numbers = {**NUMBERS, "c": 6} if name in ("decode", EXPERTS) else dict(NUMBERS)
    numbers["F"] = 4 * numbers["H"] if BASES[name][0] == "mlp" else numbers["F"]
    (found,) = check(model, read(text), {k: v for k, v in numbers.items() if k in declared})
    return found.against
