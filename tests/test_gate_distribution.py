"""What the gate of `distribute-inference` refuses, rule by rule, and what it accepts: derived texts, edited and read again."""

from __future__ import annotations

import re
from functools import cache

import pytest
from corruption_cases import MIXTURE
from raw import work_of
from support import (
    UNDECIDED,
    dropped,
    edited,
    example,
    example_text,
    gate,
    labels,
    line_of,
    network_text,
    read,
    replaced,
    run,
    shown,
    statement,
)

from bpir.dialects.bp import TensorType, Work
from bpir.ir.diagnostic import Diagnostic
from bpir.ir.expression import constant, symbol
from bpir.ir.operation import Operation, clone
from bpir.ir.printer import print_module
from bpir.ir.relations import Relation
from bpir.verifiers import boundary
from bpir.verifiers.rules import shares

RULE = "distribute-inference."


@cache
def model() -> Operation:
    return example("transformer_block")


@cache
def derived(*passes: str) -> str:
    """The text of a derivation of the example."""
    return print_module(run(model(), *(passes or ("distribute-inference",))))


def verdict(text: str, source: Operation | None = None) -> list[Diagnostic]:
    return gate(source or model(), read(text, "target.bpir"))


def refused(text: str, *expected: str, at: str, source: Operation | None = None) -> None:
    """The gate finds exactly the rules, and the first names the line."""
    found = verdict(text, source)
    assert labels(found) == set(expected), shown(found)
    first = next(d for d in found if f"[{expected[0]}]" in d.message)
    assert at in line_of(first), shown([first])


def accepted(text: str, source: Operation | None = None) -> None:
    found = verdict(text, source)
    assert not found, shown(found)


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
    found = boundary.verify(model(), read(replaced(text, (head_line(text, head), replaced(head_line(text, head), change)))))
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


def test_r9_a_changed_relation() -> None:
    refused(replaced(derived(), (", t | H", "")), RULE + "R9", at="bp.symbols")


def test_r9_a_symbol_of_the_target() -> None:
    refused(replaced(derived(), ("  bp.assume", "  bp.symbols extra\n  bp.assume")), RULE + "R9", at="bp.symbols extra")


def test_r9_a_number_of_the_target() -> None:
    refused(replaced(derived(), ("  bp.assume", "  bp.bind B = 2\n  bp.assume")), RULE + "R9", at="bp.bind B = 2")


def test_r9_a_number_that_was_lost() -> None:
    source = example("gpt3_175b")
    text = print_module(run(source, "distribute-inference"))
    refused(dropped(text, "bp.bind"), RULE + "R9", at="bp.bind", source=source)


def test_r9_a_missing_workload() -> None:
    text = dropped(derived("distribute-inference"), "bind.workload").replace("workload @serve", "workload @other")
    text = replaced(text, ("  bind.strategy", "  bind.workload @other inference {phase = decode, context = c}\n  bind.strategy"))
    refused(text, RULE + "R9", at="bind.workload @serve")


def test_r9_a_binding_that_no_block_uses() -> None:
    text = replaced(derived(), ("  bp.assume", "  bind.strategy @other {tensor = 2}\n  bp.assume"))
    refused(text, RULE + "R9", at="bind.strategy @other")


def test_r9_an_assumption_without_reason() -> None:
    refused(replaced(derived(), ("bp.assume t > 1", "bp.assume t > 1, t > 2")), RULE + "R9", at="bp.assume")


def test_r9_an_assumption_that_is_not_recorded() -> None:
    refused(dropped(derived(), "bp.assume"), RULE + "R9", at="dist.block")


def test_r9_another_workload_of_the_source_may_not_change() -> None:
    more = "  bind.workload @more inference {{phase = {}, context = c}}\n  bind.strategy"
    source = read(replaced(example_text("transformer_block"), ("  bind.strategy", more.format("prefill"))))
    text = print_module(run(source, "distribute-inference{workload=@serve}"))
    accepted(text, source)
    refused(edited(text, "bind.workload @more", ("prefill", "decode")), RULE + "R9", at="bind.workload @more", source=source)


# R10: the mesh is the strategy's


@pytest.mark.parametrize("axes", ['"tensor"=2*t', '"tensor"=t, "data"=2', '"data"=t, "tensor"=t'])
def test_r10_a_mesh_of_another_degree_or_with_other_axes(axes: str) -> None:
    text = replaced(derived(), ('<["tensor"=t]>', f"<[{axes}]>"))
    refused(text, RULE + "R10", at="dist.mesh")


def test_r10_a_strategy_of_another_degree() -> None:
    found = verdict(replaced(derived(), ("{tensor = t}", "{tensor = h}")))
    assert RULE + "R10" in labels(found), shown(found)


def test_r10_a_mesh_that_no_block_is_on() -> None:
    text = replaced(derived(), ("  dist.block", '  dist.mesh @other = <["tensor"=t]>\n  dist.block'))
    refused(text, RULE + "R10", at="dist.mesh @other")


# R11: the KV cache holds all visible tokens


@pytest.mark.parametrize("size", ["1", "S", "2*c", "c + 1"])
def test_r11_a_cache_of_another_number_of_tokens(size: str) -> None:
    whole = statement(derived(), "dist.state")
    text = replaced(derived(), (whole, whole.replace("B x c x", f"B x ({size}) x")))
    refused(text, RULE + "R11", at="dist.state")


def test_a_cache_that_is_not_sharded_contradicts_the_placement() -> None:
    whole = statement(derived(), "dist.state")
    refused(replaced(derived(), (whole, whole.replace("h@tensor", "h"))), "dist.R4", at="dist.state")


def test_r11_a_second_cache() -> None:
    whole = statement(derived(), "dist.state")
    second = whole.replace("%k_cache, %v_cache", "%k2, %v2").replace('"attention.kv_cache"', '"attention.kv_cache2"')
    found = verdict(replaced(derived(), (whole, whole + second)))
    assert RULE + "R11" in labels(found), shown(found)


# R12: blocks correspond


def test_r12_a_block_of_no_source() -> None:
    refused(replaced(derived(), ('from "block"', 'from "other"')), RULE + "R12", RULE + "R9", at="dist.block")


def test_r12_a_block_distributed_twice() -> None:
    text = derived()
    whole = statement(text, "dist.block")
    refused(text.replace("  }\n}", "  }\n" + whole.replace("@block from", "@second from") + "  }\n}"), RULE + "R12", at="@second from")


def test_r12_a_block_that_is_missing() -> None:
    other = "  model.block @other(%x: !bp.tensor<B x S x H, e>) {\n    model.return %x\n  }\n"
    source = read(replaced(example_text("transformer_block"), ("  model.block", other + "  model.block")))
    found = boundary.verify(source, read(derived()))
    assert labels(found) == {RULE + "R12"}, shown(found)
    assert "model.block @other" in line_of(found[0])


# R13: work is a whole number for every admissible binding


def test_r13_a_share_of_a_reduction_that_nothing_says_to_be_whole() -> None:
    open_model = read(replaced(example_text("transformer_block"), (", t | H", "")), "open.bpir")
    text = print_module(run(open_model, "distribute-inference"))
    refused(replaced(text, ("bp.assume t | B*H, t > 1", "bp.assume t > 1")), RULE + "R13", at="output_collective.decode", source=open_model)


# R14: the placement can be computed, and is as large as it can be


def test_a_placement_that_leaves_heads_whole_contradicts_the_values() -> None:
    text = replaced(derived(), ('dist.placement [h, F -> "tensor"]', 'dist.placement [F -> "tensor"]'))
    assert labels(verdict(text)) == {"dist.R4"}


def test_r9_an_assumption_that_says_more_than_a_share_needs() -> None:
    """`t | B` makes the share of `B*H` whole, too, and would prove nothing of a batch of 1."""
    open_model = read(replaced(example_text("transformer_block"), (", t | H", "")), "open.bpir")
    for pass_, degree in (("distribute-inference", "t"), ("distribute-inference{tensor=8}", "8")):
        text = print_module(run(open_model, pass_))
        accepted(text, open_model)
        for more in ("B", "H"):
            refused(replaced(text, (f"{degree} | B*H", f"{degree} | {more}")), RULE + "R9", at="bp.assume", source=open_model)


def test_r9_a_number_in_place_of_a_degree_that_is_declared_to_divide_a_dimension() -> None:
    text = print_module(run(model(), "distribute-inference{tensor=8}"))
    accepted(text)
    assert "8 | H" in text  # `t | H`, for this t: the share of `B*H` is whole
    refused(replaced(text, ("8 | H", "8 | B")), RULE + "R9", at="bp.assume")


# What is another spelling of the same derivation is accepted


def test_terms_and_factors_in_another_order_are_accepted() -> None:
    text = edited(derived(), '"attention.core.decode"', ("ops = 4*B*c*d*h/t + 5*B*c*h/t", "ops = (5*h + h*d*4)*(c/t)*B"))
    accepted(text)


def test_another_name_of_a_product_is_accepted_under_its_relation_only() -> None:
    changes = ('"attention.core.decode"', ("ops = 4*B*c*d*h/t", "ops = 4*B*c*H/t"))
    refused(edited(derived(), *changes), RULE + "R6", at='"attention.core.decode"')
    source = read(replaced(example_text("transformer_block"), ("where t | h", "where H = h * d, t | h")))
    accepted(edited(print_module(run(source, "distribute-inference")), *changes), source)


def test_a_rounded_share_is_accepted_where_the_degree_divides() -> None:
    accepted(edited(derived(), '"mlp.gelu.decode"', ("ops = 8*B*F/t", "ops = 8*B*ceildiv(F, t)")))


def test_independent_tasks_in_another_order_are_accepted() -> None:
    text = derived()
    query, key = statement(text, '"attention.query.decode"'), statement(text, '"attention.key.decode"')
    accepted(replaced(text, (query + key, key + query)))


def test_other_names_of_values_are_accepted() -> None:
    accepted(re.sub(r"%(\w+)", r"%other_\1", derived()))


def test_numbers_in_place_of_symbols_that_the_source_binds_are_accepted() -> None:
    source = run(example("gpt3_175b"), "bind-symbols{B=1 S=1 c=128 t=8}")
    accepted(print_module(run(source, "distribute-inference", "bind-symbols")), source)


def test_an_option_in_place_of_a_field_is_accepted() -> None:
    accepted(derived("distribute-inference{phase=prefill batch=3 context=2*c tensor=8}"))


# R15 and R16: the network calls what that of the model calls, and every block runs as often


def test_r15_and_r16_another_number_of_repetitions() -> None:
    source = read(network_text())
    text = print_module(run(source, "distribute-inference"))
    accepted(text, source)
    for count in ("L + 1", "2*L", "1"):
        refused(replaced(text, ("dist.repeat L ", f"dist.repeat {count} ")), RULE + "R15", RULE + "R16", at="dist.repeat", source=source)


def test_r15_what_is_called_of_another_value() -> None:
    source = read(network_text())
    text = print_module(run(source, "distribute-inference"))
    refused(replaced(text, ("dist.call @block %y", "dist.call @block %x")), RULE + "R15", at="dist.call", source=source)


def test_r16_a_call_that_is_left_out() -> None:
    source = read(network_text())
    text = dropped(print_module(run(source, "distribute-inference")), "%z = dist.call")
    text = replaced(text, ("dist.return %z\n  }\n}", "dist.return %y\n  }\n}"))
    refused(text, RULE + "R15", RULE + "R16", at="dist.network", source=source)


def test_a_share_is_assumed_only_where_the_elements_are_no_multiple_as_they_stand() -> None:
    """8 ranks divide 4*2c*H elements whatever H is: nothing has a reason to assume `8 | H`; of B*c*H they may."""
    whole: tuple[tuple[str, ...], ...] = ((), (), ())
    B, H, c, t = map(symbol, ("B", "H", "c", "t"))
    declared = [Relation("divides", t, H)]
    even, open_ = (TensorType((batch, 2 * c, H), whole, symbol("e"), ()) for batch in (constant(4), B))
    assert shares(constant(8), [even], declared) == set()
    assert shares(constant(8), [open_], declared) == {Relation("divides", constant(8), size) for size in (H, 2 * B * c * H)}


def test_r17_rows_that_lie_with_their_experts() -> None:
    """Without the all-to-all the experts read rows of other ranks' experts; a second one moves what lies where it is read."""
    source = read(MIXTURE)
    text = print_module(run(source, "distribute-inference"))
    accepted(text, source)
    there = dropped(text, "%rows_moved = dist.all_to_all").replace("experts %rows_moved", "experts %rows")
    assert RULE + "R17" in labels(verdict(there, source))
    back = dropped(text, "%w_moved = dist.all_to_all").replace("combine %w_moved", "combine %w")
    refused(back, RULE + "R17", at="moe.contract.decode", source=source)
