"""The gates of `distribute-training` and `plan-training` refuse a wrong text by the rule that it breaks, and accept other valid ones."""

from __future__ import annotations

import re

import pytest
from support import dropped, edited, example_text, gate, labels, read, replaced, run, shown, statement
from training_gate import (
    ATTENTION,
    GELU,
    RULE,
    accepted,
    added,
    check,
    copied,
    distributed,
    model,
    planned,
    refused,
    source,
)
from training_texts import ALL, SCATTERED

from bpir.ir.printer import print_module

BACKWARD = '"mlp.output_dropout.activation_gradient"'


@pytest.mark.parametrize("options", [ATTENTION, SCATTERED, ALL])
def test_the_derived_step_and_its_plan_pass(options: str) -> None:
    accepted(distributed(options))
    assert not gate(source(options), read(planned(options)))


# distribute-training.R1 to R3: what forward computes


def test_r1_a_task_of_no_layer() -> None:
    extra = copied(GELU, ("%g =", "%extra ="), ("mlp.gelu.forward", "mlp.extra.forward"))
    refused(added(distributed(), '"mlp.contract.forward"', extra), "R1", at='"mlp.extra.forward"')


def test_r1_a_state_which_training_has_not() -> None:
    state = '    %s = dist.state "s" from "attention.core" : !bp.tensor<B x S x H, e>\n'
    refused(added(distributed(), GELU, state), "R1", at="dist.state")


def test_r4_an_element_of_another_type_of_the_same_width() -> None:
    typed = read(example_text("transformer_block").replace("H, e>", "H, bf16>"))
    text = print_module(run(typed, "distribute-training{tensor=1}"))
    found = gate(typed, read(text.replace("bf16", "f16")))
    assert labels(found) == {RULE + "R4"}, shown(found)
    assert labels(gate(typed, read(text.replace("bf16", "2")))) == {RULE + "R4"}  # a width says no type


@pytest.mark.parametrize("head", ['"attention.output_collective.forward"', '"attention.qkv_fork.activation_gradient"'])
def test_r1_a_fork_or_a_collective_of_another_operation(head: str) -> None:
    refused(re.sub(rf'({re.escape(head)}.*\n      from )"[^"]*"', r'\1"mlp.gelu"', distributed()), "R1", at=head)


def test_r1_a_collective_with_another_name() -> None:
    refused(distributed().replace("mlp.output_collective", "mlp.exit"), "R1", at='"mlp.exit.forward"')


def test_r2_a_layer_without_forward_task() -> None:
    text = replaced(dropped(distributed(), GELU), ("linear %g", "linear %u"), ("%dw_sum, %g", "%dw_sum, %u"), ("keeps %g", "keeps %u"))
    refused(text, "R2", at='model.gelu "mlp.gelu"')


def test_r3_operands_exchanged() -> None:
    refused(replaced(distributed(), ("add %yd, %x", "add %x, %yd")), "R3", at='"attention.residual.forward"')


def test_r3_a_result_that_was_made_again() -> None:
    refused(replaced(distributed(ALL), ("dist.return %z,", "dist.return %z_again,")), "R3", at="dist.return")


# R4 and R5: shards and collectives


def test_r4_a_mask_of_another_width() -> None:
    text = edited(distributed(), '"mlp.output_dropout.forward"', ("!bp.tensor<B x S x H, 1>", "!bp.tensor<B x S x H, 2>"))
    refused(text, "R4", at='"mlp.output_dropout.forward"')


def test_r4_a_sequence_that_nothing_says_to_be_divided() -> None:
    refused(replaced(distributed(SCATTERED), ("bp.assume t | S, t > 1", "bp.assume t > 1")), "R4", at="dist.block")


def test_r5_a_second_collective_at_a_border() -> None:
    head = '"mlp.output_collective.forward"'
    second = copied(head, ("%w_sum =", "%more ="), ("mlp.output_collective.forward", "mlp.contract.output_collective.forward"))
    refused(added(distributed(), '"mlp.output_dropout.forward"', second), "R5", at='"mlp.contract.output_collective.forward"')


def test_r5_a_collective_that_is_not_the_conjugate_of_forward() -> None:
    head = '"attention.output_collective.activation_gradient"'
    text = distributed(SCATTERED)
    gathered = statement(text, head)
    assert "dist.all_gather" in gathered
    twice = replaced(gathered, (re.search(r"%(\w+) =", gathered)[0], "%twice ="), (head, '"attention.again.activation_gradient"'))  # type: ignore[index]
    refused(added(text, '"attention.output_projection.activation_gradient"', twice), "R5", at='"attention.again.activation_gradient"')
    head = '"mlp.input_collective.activation_gradient"'
    whole = edited(text, head, ("dist.reduce_scatter", "dist.all_reduce"), ('[{}, {"tensor"}, {}]', '[{"tensor"}]'), ("S@tensor", "S"))
    found = gate(model(), read(whole, "target.bpir"))
    assert RULE + "R5" in labels(found) and any("no conjugate: expected dist.reduce_scatter" in d.message for d in found), shown(found)


# R6 and R7: numbers


@pytest.mark.parametrize("change", [("13*B*F*S/t", "12*B*F*S/t"), ("read = 2*", "read = "), ("write = B*F*S*e/t", "write = B*F*S*e")])
def test_r6_changed_work(change: tuple[str, str]) -> None:
    refused(edited(distributed(), '"mlp.gelu.activation_gradient"', change), "R6", at='"mlp.gelu.activation_gradient"')


@pytest.mark.parametrize("change", [("weights <F*H/t>", "weights <F*H>"), ("matmul <2*", "matmul <4*")])
def test_r7_changed_weights_or_matrix_products(change: tuple[str, str]) -> None:
    refused(edited(distributed(), '"mlp.expand.activation_gradient"', change), "R7", at='"mlp.expand.activation_gradient"')


# R8 to R10: gradients


def test_r8_a_gradient_that_reads_another_value_than_its_rule_needs() -> None:
    refused(replaced(distributed(), ("%dw_sum, %g", "%dw_sum, %u")), "R8", at='"mlp.contract.weight_gradient"')


def test_r8_a_gradient_of_a_copy() -> None:
    types = ": !bp.tensor<B x S x H, e>, !bp.tensor<B x S x H, e>"
    copy = f'    %a, %b = dist.compute "mlp.residual.activation_gradient" add %dz {types}\n'
    copy += '      from "mlp.residual" phase activation_gradient\n      work <>\n'
    refused(added(distributed(), BACKWARD, copy), "R8", at='"mlp.residual.activation_gradient"')


def test_r9_a_missing_weight_gradient() -> None:
    text = dropped(distributed(), '"mlp.contract.weight_gradient"', '"mlp.contract.optimizer"')
    refused(text, "R9", at='model.linear "mlp.contract"')


def test_r9_an_optimizer_task_of_another_shard() -> None:
    text = edited(distributed(), '"mlp.expand.optimizer"', ("ops = 11*F*H/t", "ops = 11*F*H/(2*t)"))
    refused(text, "R9", at='"mlp.expand.optimizer"')


def test_r9_a_weight_gradient_of_a_layer_without_weights() -> None:
    nothing = '    dist.compute "mlp.gelu.weight_gradient" gelu %dg\n      from "mlp.gelu" phase weight_gradient\n      work <>\n'
    refused(added(distributed(), '"mlp.gelu.activation_gradient"', nothing), "R9", at='"mlp.gelu.weight_gradient"')


def test_r10_a_fork_that_sums_one_use_twice() -> None:
    text = replaced(distributed(), ("fork %dn, %dn_1, %dn_2", "fork %dn, %dn_1, %dn_1"))
    refused(text, "R10", at='"attention.qkv_fork.activation_gradient"')


def test_r10_a_fork_with_the_wrong_number_of_uses() -> None:
    text = replaced(distributed(), ("fork %dn, %dn_1, %dn_2", "fork %dn, %dn_1"))
    refused(text, "R10", at='"attention.qkv_fork.activation_gradient"')


def test_r10_a_sum_that_is_made_twice() -> None:
    head = '"attention.qkv_fork.activation_gradient"'
    second = copied(head, ("%dn_3 =", "%more ="), (head, '"attention.query.fork.activation_gradient"'))
    refused(added(distributed(), '"attention.input_collective.activation_gradient"', second), "R10", "R14", at='"attention.query.fork')


# R11 to R13: what is made again, what is kept, the order of phases


def test_r11_a_task_that_is_repeated_without_need() -> None:
    again = copied(GELU, ("%g =", "%more ="), ("mlp.gelu.forward", "mlp.gelu.recompute"), ("phase forward", "phase recompute"))
    refused(added(distributed(), BACKWARD, again), "R11", at='"mlp.gelu.recompute"')


def test_r12_a_backward_task_that_reads_what_is_neither_kept_nor_repeated() -> None:
    text = replaced(distributed(), ("%do, %dropped_again, %v", "%do, %dropped, %v"))
    refused(text, "R12", at='"attention.probability_value.activation_gradient"')


def test_r12_a_repeated_collective_of_a_value_that_is_gone() -> None:
    text = edited(distributed(SCATTERED), '"attention.input_collective.recommunication"', ("%n_again :", "%n :"))
    refused(text, "R12", at='"attention.input_collective.recommunication"')


def test_r13_a_task_behind_a_later_phase() -> None:
    text = distributed()
    first, last = statement(text, BACKWARD), statement(text, '"attention.probability_dropout.recompute"')
    refused(replaced(text, (last + first, first + last)), "R13", at='"attention.probability_dropout.recompute"')


@pytest.mark.parametrize("phase", ["decode", "weight_gradient"])
def test_r13_a_fork_of_another_phase(phase: str) -> None:
    text = edited(
        distributed(),
        '"attention.fork.activation_gradient"',
        ("attention.fork.activation_gradient", f"attention.fork.{phase}"),
        ("phase activation_gradient", f"phase {phase}"),
    )
    assert RULE + "R13" in labels(gate(model(), read(text)))


def test_r13_an_effect_on_a_cache() -> None:
    text = edited(distributed(), GELU, ("      work", "      effects [read]\n      work"))
    refused(text, "R13", at=GELU)


# R14: memory facts


@pytest.mark.parametrize(
    ("head", "change"),
    [
        ('dist.memory "mlp.gelu"', ("activation = B*F*S*e/t,\n             output", "activation = B*F*S*e,\n             output")),
        ('dist.memory "mlp.gelu"', ("keeps %u", "keeps %u, %g")),
        ('dist.memory "attention.softmax"', (" dropped [activation", " dropped [reused")),
        ("dist.activations", ("stored = 4*", "stored = 3*")),
        ("dist.activations", ('"block"', '"other"')),
    ],
)
def test_r14_a_wrong_fact_or_a_kept_value_that_nobody_reads(head: str, change: tuple[str, str]) -> None:
    refused(edited(distributed(), head, change), "R14", at=head)


@pytest.mark.parametrize("layer", ["attention.fork", "mlp.gelu"])
def test_r14_facts_left_out_or_given_twice(layer: str) -> None:
    text = distributed()
    found = gate(model(), read(dropped(text, f'dist.memory "{layer}"')))
    assert labels(found) == {RULE + "R14"}, shown(found)
    head = f'dist.memory "{layer}"'
    refused(added(text, head, statement(text, head)), "R14", at=head)


# R15 and R16: inputs and blocks


@pytest.mark.parametrize(
    ("change", "at"),
    [
        (("  bp.assume t > 1\n", ""), "dist.block"),
        (("bp.assume t > 1", "bp.assume t > 1, B > 1"), "bp.assume"),
        (("  dist.mesh", '  dist.mesh @more = <["tensor"=t]>\n  dist.mesh'), "dist.mesh @more"),
        (("recompute = attention}", "recompute = attention, all_gather_redo = true}"), "dist.block"),
        (("{tensor = t,", "{tensor = 8,"), "dist.mesh"),
        ((", t | H", ""), "bp.symbols"),
    ],
)
def test_r15_an_input_changed_lost_or_added(change: tuple[str, str], at: str) -> None:
    refused(replaced(distributed(), change), "R15", at=at)


def test_r16_a_block_distributed_twice() -> None:
    block = statement(distributed(), "dist.block @block") + "  }\n"
    text = replaced(distributed(), (block, block + block.replace("@block ", "@more ")))
    refused(text, "R16", at="dist.block @more")
    (found,) = gate(model(), read(text, "target.bpir"))
    assert found.message == f"the block 'block' is distributed twice [{RULE}R16]"
    text = replaced(text, (block.replace("@block ", "@more "), block.replace("@block ", "@more ").replace('from "block"', 'from "none"')))
    (found,) = gate(model(), read(text, "target.bpir"))
    assert found.message == f"the block comes from 'none', which is no block of the model [{RULE}R16]"


# R17: whole numbers


def test_r17_a_share_of_a_reduction_that_nothing_says_to_be_whole() -> None:
    open_model = read(replaced(example_text("transformer_block"), (", t | H", "")), "open.bpir")
    text = print_module(run(open_model, "distribute-training{tensor=t}"))
    recorded = re.search(r"  bp.assume (.*), t > 1\n", text)
    assert recorded is not None, text[:400]
    more = gate(open_model, read(replaced(text, (recorded[1], "t | B")), "target.bpir"))
    assert labels(more) == {RULE + "R15"}, shown(more)  # it would be enough, and more than is needed
    found = gate(open_model, read(replaced(text, (recorded[0], "  bp.assume t > 1\n")), "target.bpir"))
    check(found, {RULE + "R17"}, "output_collective.forward")


# Equivalent steps are accepted


def test_independent_tasks_in_another_order_are_accepted() -> None:
    text = distributed()
    for first, second in (
        ("attention.query.forward", "attention.key.forward"),
        ("mlp.contract.activation_gradient", "mlp.contract.weight_gradient"),
    ):
        one, other = statement(text, f'"{first}"'), statement(text, f'"{second}"')
        text = replaced(text, (one + other, other + one))
    accepted(text)


def test_other_names_of_values_are_accepted() -> None:
    accepted(re.sub(r"%([a-z]\w*)", r"%other_\1", distributed()))


def test_terms_in_another_order_are_accepted() -> None:
    accepted(edited(distributed(), '"mlp.gelu.activation_gradient"', ("13*B*F*S/t", "S*(F/t)*13*B"), ("2*B*F*S*e/t", "e*(1 + 1)*B*F*S/t")))


def test_gradients_of_a_fork_in_another_order_are_accepted() -> None:
    accepted(replaced(distributed(), ("fork %dn, %dn_1, %dn_2", "fork %dn_2, %dn, %dn_1")))


# plan-training
