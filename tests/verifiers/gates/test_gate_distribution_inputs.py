"""The gate of `distribute-inference` on inputs, caches, blocks and networks (R9 to R17): refusals by rule, and accepted texts."""

from __future__ import annotations

import re

import pytest
from corruptions.valid_modules import MIXTURE
from inference_gate import RULE, accepted, derived, model, refused, verdict
from support import (
    dropped,
    edited,
    example,
    example_text,
    labels,
    line_of,
    network_text,
    read,
    replaced,
    run,
    shown,
    statement,
)

from bpir.dialects.bp import TensorType
from bpir.ir.expressions.expression import constant, symbol
from bpir.ir.printer import print_module
from bpir.ir.relations.facts import Relation
from bpir.verifiers import derivation
from bpir.verifiers.findings import shares


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


def test_r12_a_block_of_no_source() -> None:
    refused(replaced(derived(), ('from "block"', 'from "other"')), RULE + "R12", RULE + "R9", at="dist.block")


def test_r12_a_block_distributed_twice() -> None:
    text = derived()
    whole = statement(text, "dist.block")
    refused(text.replace("  }\n}", "  }\n" + whole.replace("@block from", "@second from") + "  }\n}"), RULE + "R12", at="@second from")


def test_r12_a_block_that_is_missing() -> None:
    other = "  model.block @other(%x: !bp.tensor<B x S x H, e>) {\n    model.return %x\n  }\n"
    source = read(replaced(example_text("transformer_block"), ("  model.block", other + "  model.block")))
    found = derivation.verify(source, read(derived()))
    assert labels(found) == {RULE + "R12"}, shown(found)
    assert "model.block @other" in line_of(found[0])


def test_r13_a_share_of_a_reduction_that_nothing_says_to_be_whole() -> None:
    open_model = read(replaced(example_text("transformer_block"), (", t | H", "")), "open.bpir")
    text = print_module(run(open_model, "distribute-inference"))
    refused(replaced(text, ("bp.assume t | B*H, t > 1", "bp.assume t > 1")), RULE + "R13", at="output_collective.decode", source=open_model)


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
