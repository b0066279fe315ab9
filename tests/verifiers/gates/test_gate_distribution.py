"""The gate of `distribute-inference`: derived texts, edited and read again, are refused by the rule they break, or accepted."""

from __future__ import annotations

import re

import pytest
from inference_gate import RULE, accepted, derived, model, refused, verdict
from raw import work_of
from support import (
    UNDECIDED,
    dropped,
    edited,
    gate,
    labels,
    line_of,
    read,
    replaced,
    shown,
    statement,
)

from bpir.dialects.bp import Work
from bpir.ir.operation import clone
from bpir.verifiers import derivation


def test_the_derived_module_passes() -> None:
    accepted(derived())


# R1: every task comes from an operation of the model


def test_r1_a_task_of_no_operation() -> None:
    text = derived()
    gelu = statement(text, '"mlp.gelu.decode"')
    other = replaced(gelu, ("%g =", "%g2 ="), ('"mlp.gelu.decode"', '"mlp.extra.decode"'), ('from "mlp.gelu"', 'from "mlp.extra"'))
    refused(replaced(text, (gelu, gelu + other)), RULE + "R1", at='"mlp.extra.decode"')


def test_r1_an_operation_done_twice() -> None:
    text = derived()
    gelu = statement(text, '"mlp.gelu.decode"')
    again = replaced(gelu, ("%g =", "%g2 ="), ('"mlp.gelu.decode"', '"mlp.gelu.again"'))
    refused(replaced(text, (gelu, gelu + again)), RULE + "R1", at='"mlp.gelu.again"')


def test_r1_dropout_which_inference_erases() -> None:
    text = derived()
    gelu = statement(text, '"mlp.gelu.decode"')
    dropout = replaced(
        gelu, ("%g =", "%g2 ="), ('"mlp.gelu.decode" gelu', '"mlp.drop.decode" dropout'), ('from "mlp.gelu"', 'from "mlp.output_dropout"')
    )
    refused(replaced(text, (gelu, gelu + dropout)), RULE + "R1", at='"mlp.drop.decode"')


def test_r1_a_collective_of_another_operation() -> None:
    text = edited(derived(), '"mlp.output_collective.decode"', ('from "mlp.contract"', 'from "mlp.expand"'))
    refused(text, RULE + "R1", at='"mlp.output_collective.decode"')


# R2: every operation has its task


def test_r2_a_dropped_task() -> None:
    text = dropped(derived(), '"attention.residual.decode"')
    text = replaced(text, ("layer_norm %r", "layer_norm %x"), ("add %w_sum, %r", "add %w_sum, %x"))
    refused(text, RULE + "R2", at='model.add "attention.residual"')


def test_r2_a_dropped_task_in_the_middle_of_a_sharded_chain_is_one_finding() -> None:
    text = replaced(dropped(derived(), '"mlp.gelu.decode"'), ("linear %g", "linear %u"))
    refused(text, RULE + "R2", at='model.gelu "mlp.gelu"')


def test_r2_and_r1_a_task_that_is_another_operation() -> None:
    text = edited(derived(), '"mlp.gelu.decode"', ('"mlp.gelu.decode" gelu', '"mlp.gelu.decode" relu'))
    refused(text, RULE + "R2", RULE + "R1", at='model.gelu "mlp.gelu"')


# R3: operands are the images of what the source reads


def test_r3_an_operand_of_the_wrong_value() -> None:
    refused(replaced(derived(), ("linear %m", "linear %n")), RULE + "R3", at='"mlp.expand.decode"')


def test_r3_k_and_v_exchanged() -> None:
    refused(replaced(derived(), ("kv_append %k, %v,", "kv_append %v, %k,")), RULE + "R3", at='"attention.kv_append.decode"')


def test_r3_attention_that_reads_the_new_tokens_only() -> None:
    text = replaced(derived("distribute-inference{phase=prefill}"), ("attention %q, %k_visible, %v_visible", "attention %q, %k, %v"))
    refused(text, RULE + "R3", at='"attention.core.prefill"')


def test_r3_another_result_of_the_block() -> None:
    refused(replaced(derived(), ("dist.return %z", "dist.return %r")), RULE + "R3", at="dist.return")


def test_r3_another_number_of_results() -> None:
    refused(replaced(derived(), ("return %", "return %x, %")), RULE + "R3", at="dist.return")


def test_r3_another_number_of_arguments() -> None:
    text = replaced(derived(), ("(%x: !bp.tensor<B x 1 x H, e>)", "(%x: !bp.tensor<B x 1 x H, e>, %x2: !bp.tensor<B x 1 x H, e>)"))
    refused(text, RULE + "R3", at="dist.block")


# R4: sizes, shards and partial sums


def test_a_wrong_shard_with_work_that_fits_it_contradicts_the_placement() -> None:
    layers = (
        ('"mlp.expand.decode"', ("F@tensor", "F"), ("weights <F*H/t>", "weights <F*H>"), ("matmul <2*B*F*H/t>", "matmul <2*B*F*H>"),
         ("ops = 2*B*F*H/t", "ops = 2*B*F*H"), ("read = B*H*e + F*H*e/t", "read = B*H*e + F*H*e"), ("write = B*F*e/t", "write = B*F*e")),
        ('"mlp.gelu.decode"', ("F@tensor", "F"), ("ops = 8*B*F/t", "ops = 8*B*F"), ("read = B*F*e/t", "read = B*F*e"),
         ("write = B*F*e/t", "write = B*F*e")),
    )  # fmt: skip
    text = derived()
    for head, *changes in layers:
        text = edited(text, head, *changes)
    found = verdict(text)
    assert labels(found) == {"dist.R4"}, shown(found)  # the placement of the module says otherwise
    assert '"mlp.expand.decode"' in line_of(found[0])


def test_r4_another_number_of_results() -> None:
    wide = "!bp.tensor<B x 1 x F@tensor, e>"
    text = edited(derived(), '"mlp.gelu.decode"', ("%g =", "%g, %g2 ="), (f": {wide}", f": {wide}, {wide}"))
    refused(text, RULE + "R4", at='"mlp.gelu.decode"')


def test_r4_a_wrong_batch() -> None:
    text = replaced(derived(), ("(%x: !bp.tensor<B x 1 x H, e>)", "(%x: !bp.tensor<S x 1 x H, e>)"))
    found = verdict(text)
    assert f"{RULE}R4" in labels(found)
    assert "dist.block" in line_of(found[0])


def test_r4_a_wrong_element() -> None:
    text = replaced(derived("distribute-inference{tensor=1}"), ("(%x: !bp.tensor<B x 1 x H, e>)", "(%x: !bp.tensor<B x 1 x H, 2>)"))
    found = verdict(text)
    assert f"{RULE}R4" in labels(found)
    assert "dist.block" in line_of(found[0])


def test_r4_a_degree_that_nothing_says_to_divide_the_heads() -> None:
    text = replaced(derived("distribute-inference{tensor=8}"), ("8 | h, ", ""))
    refused(text, RULE + "R4", at="dist.block")


# The boundary alone, on a target whose structure is not sound: it still says what is wrong, and does not fail


@pytest.mark.parametrize(
    ("head", "change", "rule", "message"),
    [
        ("dist.block", ("workload @serve strategy", "workload @none strategy"), "R9", "names no bind.workload"),
        ("dist.block", ("on @mesh", "on @none"), "R10", "names no dist.mesh"),
        ("dist.block", ("strategy @tp(", "strategy @none("), "R10", "the mesh is not that of the strategy"),
        ('"mlp.gelu.decode"', ("F@tensor", "F@none"), "R4", "the mesh has no axis 'none'"),
        ('"mlp.gelu.decode"', (": !bp.tensor<B x 1 x F@tensor, e>", ": i32"), "R4", "works on !bp.tensor values, found i32"),
        ('"mlp.output_collective.decode"', ('[{"tensor"}]', '[{"none"}]'), "R5", "the mesh has no axis 'none'"),
    ],
)
def test_the_boundary_of_an_unsound_target(head: str, change: tuple[str, str], rule: str, message: str) -> None:
    text = derived()
    found = derivation.verify(model(), read(replaced(text, (head_line(text, head), replaced(head_line(text, head), change)))))
    assert any(message in d.message and f"[{RULE}{rule}]" in d.message for d in found), shown(found)


def head_line(text: str, head: str) -> str:
    (line,) = (line for line in text.splitlines() if head in line)
    return line


# R5: a partial sum is reduced once, and nothing else is


def test_r5_a_missing_collective() -> None:
    text = replaced(dropped(derived(), '"attention.output_collective.decode"'), ("add %y_sum, %x", "add %y, %x"))
    refused(text, RULE + "R5", at='"attention.output_projection.decode"')


def test_r5_a_partial_sum_that_is_read_beside_its_collective() -> None:
    found = verdict(replaced(derived(), ("add %y_sum, %x", "add %y_sum, %y")))
    assert labels(found) == {RULE + "R5", RULE + "R3"}, shown(found)


def test_r5_a_second_collective() -> None:
    text = derived()
    first = statement(text, '"mlp.output_collective.decode"')
    second = replaced(first, ("%w_sum", "%w_sum2"), ('"mlp.output_collective.decode"', '"mlp.second_collective.decode"'))
    refused(replaced(text, (first, first + second)), RULE + "R5", at='"mlp.second_collective.decode"')


# R6: the work is that of the operation's rule


@pytest.mark.parametrize(
    ("task", "change"),
    [
        ('"mlp.expand.decode"', ("ops = 2*", "ops = 3*")),
        ('"attention.core.decode"', ("ops = 4*B*c*d*h/t + 5*B*c*h/t", "ops = 4*B*c*d*h/t")),
        ('"attention.core.decode"', ("read = 2*", "read = ")),
        ('"attention.kv_append.decode"', ("write = 2*", "write = ")),
        ('"mlp.gelu.decode"', ("write = B*F*e/t", "write = B*F*e")),
        ('"attention.output_collective.decode"', ("msg = B*H*e", "msg = B*H*e/t")),
        ('"attention.output_collective.decode"', ("ops = B*H - B*H/t", "ops = B*H")),
        ('"attention.layer_norm.decode"', ("ops = 9*", "msg = B, ops = 9*")),
    ],
)
def test_r6_changed_work(task: str, change: tuple[str, str]) -> None:
    refused(edited(derived(), task, change), RULE + "R6", at=task)


@pytest.mark.campaign
def test_r6_no_component_of_the_work_of_any_task_can_change() -> None:
    target = read(derived())
    count = sum(work_of(operation) is not None for operation in target.walk())
    assert count > 10
    for index in range(count):
        for component in range(4):
            changed = clone(target)
            task = [o for o in changed.walk() if work_of(o) is not None][index]
            work = work_of(task)
            assert work is not None
            task.properties["work"] = Work(*(c + 1 if i == component else c for i, c in enumerate(work.components)))
            assert labels(gate(model(), changed)) == {RULE + "R6"}


def test_r6_work_that_differs_for_some_numbers_only_is_shown_with_such_numbers() -> None:
    text = edited(derived(), '"mlp.expand.decode"', ("ops = 2*B*F*H/t", "ops = 2*B*F*H/t + max(S, 3) - S"))
    refused(text, RULE + "R6", at='"mlp.expand.decode"')
    (found,) = verdict(text)
    assert any(re.search(r"with .*\bS = [12]\b.* it is \d+, expected \d+", n.message) for n in found.notes), shown([found])


def test_r6_a_comparison_that_cannot_be_decided_is_refused() -> None:
    text = edited(derived(), '"mlp.expand.decode"', ("ops = 2*B*F*H/t", f"ops = 2*B*F*H/t + {UNDECIDED}"))
    refused(text, RULE + "R6", at='"mlp.expand.decode"')
    assert "unknown is not success" in verdict(text)[0].message


# R7: weights and matrix products


def test_r7_weights() -> None:
    refused(edited(derived(), '"mlp.expand.decode"', ("weights <F*H/t>", "weights <F*H>")), RULE + "R7", at='"mlp.expand.decode"')


def test_r7_weights_left_out() -> None:
    refused(edited(derived(), '"mlp.expand.decode"', ("      weights <F*H/t>\n", "")), RULE + "R7", at='"mlp.expand.decode"')


def test_r7_matrix_products() -> None:
    text = edited(derived(), '"attention.core.decode"', ("matmul <4*B*c*d*h/t>", "matmul <2*B*c*d*h/t>"))
    refused(text, RULE + "R7", at='"attention.core.decode"')


# R8: phase and effects


@pytest.mark.parametrize("task", ['"mlp.gelu.decode"', '"mlp.output_collective.decode"'])
def test_r8_a_task_of_another_phase(task: str) -> None:
    refused(edited(derived(), task, ("phase decode", "phase prefill")), RULE + "R8", at=task)


@pytest.mark.parametrize(
    ("task", "change"),
    [
        ('"attention.kv_append.decode"', ("effects [write]", "effects [read, write]")),
        ('"attention.core.decode"', ("      effects [read]\n", "")),
        ('"mlp.expand.decode"', ("      work", "      effects [read]\n      work")),
    ],
)
def test_r8_effects_on_the_cache(task: str, change: tuple[str, str]) -> None:
    refused(edited(derived(), task, change), RULE + "R8", at=task)


def test_r8_a_workload_without_phase() -> None:
    refused(replaced(derived(), ("{phase = decode, context = c}", "{context = c}")), RULE + "R8", RULE + "R9", at="dist.block")


# R9: symbols, numbers and bindings are kept; assumptions are recorded, and no others


# R10: the mesh is the strategy's


# R11: the KV cache holds all visible tokens


# R12: blocks correspond


# R13: work is a whole number for every admissible binding


# R14: the placement can be computed, and is as large as it can be


# What is another spelling of the same derivation is accepted


# R15 and R16: the network calls what that of the model calls, and every block runs as often
