"""Backward repeats attention's softmax and no other, and the core with its last product; repeated values that nothing reads are marked."""

from __future__ import annotations

import pytest
from raw import name_of, text_of
from support import gate, labels, read, replaced, report, run

from bpir.ir.operation import Operation, top_level
from bpir.ir.printer import print_module

TEXT = """
module @r {
  bp.symbols B, S, H, h, d, t, e where t | h, t | H, t | S
  model.block @block(%x: !bp.tensor<B x S x H, e>) {
    %n = model.softmax "odd" %x
    %q, %k, %v = model.linear "attention.qkv" %n : [h x d], [h x d], [h x d]
    %s = model.batch_matmul "attention.query_key" %q, %k transposed
    %g = model.gelu "attention.cap" %s
    %p = model.softmax "attention.softmax" %g
    %m = model.dropout "attention.dropout" %p
    %o = model.batch_matmul "attention.probability_value" %m, %v
    %y = model.linear "attention.out" %o : [H]
    model.return %y
  }
}
"""
ATTENTION = {"attention.query_key", "attention.softmax", "attention.dropout"}


def repeated(module: Operation) -> list[Operation]:
    (block,) = (o for o in top_level(module) if o.name == "dist.block")
    return [task for task in block.body if text_of(task, "phase") == "recompute"]


@pytest.mark.parametrize(("choice", "layers", "unread"), [
    ("none", set(), set()),
    ("attention", ATTENTION, set()),
    ("core_attention", {*ATTENTION, "attention.probability_value"}, {"attention.probability_value"}),
])  # fmt: skip
def test_attention_is_a_softmax_between_two_products(choice: str, layers: set[str], unread: set[str]) -> None:
    found = repeated(run(read(TEXT), f"distribute-training{{tensor=t recompute={choice}}}"))
    assert {name_of(task).removesuffix(".recompute") for task in found} == layers
    assert {name_of(task).removesuffix(".recompute") for task in found if "unread" in task.properties} == unread


def test_the_mark_of_what_nothing_reads_is_judged() -> None:
    model = read(TEXT)
    text = print_module(run(model, "distribute-training{tensor=t recompute=core_attention}"))
    assert gate(model, read(text)) == []
    assert labels(gate(model, read(replaced(text, (" unread\n", "\n"))))) == {"distribute-training.R11"}


@pytest.mark.parametrize("communication", ["all_reduce", "reduce_scatter_all_gather"])
def test_a_sum_of_partial_sums_is_repeated_with_its_one_reduction(communication: str) -> None:
    source = read("""
      bp.symbols B, S, H, F, t, e where t | F, t | H, t | S
      bind.strategy @s {tensor = t}
      model.block @block(%x: !bp.tensor<B x S x H, e>) {
        %a = model.linear "a.up" %x : [F]
        %b = model.linear "a.down" %a : [H]
        %c = model.linear "b.up" %x : [F]
        %d = model.linear "b.down" %c : [H]
        %s = model.add "s.sum" %b, %d
        %n = model.rms_norm "n.norm" %s
        model.return %n
      }
    """)
    module = run(source, f"distribute-training{{communication={communication} recompute=full}}")
    assert not gate(source, module)
    sums = [row for row in report(module).tasks if row.collective in ("all_reduce", "reduce_scatter")]
    assert [row.name for row in sums if row.phase == "forward"] == ["s.output_collective.forward"]
    assert [row.name for row in sums if row.phase == "recommunication"] == ["s.output_collective.recommunication"]
