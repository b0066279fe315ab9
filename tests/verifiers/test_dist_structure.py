"""Structural verification refuses wrong distributed modules, before the gate looks at them, and words that its level must not hold."""

from __future__ import annotations

import pytest
from inference_gate import derived, model, refused, verdict
from support import edited, labels, line_of, replaced, run, shown, statement

from bpir.ir.printer import print_module


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("on @mesh", "on @mash"), "dist.mesh @mash; did you mean 'mesh'?"),
        (("workload @serve strategy", "workload @sirve strategy"), "bind.workload @sirve"),
        (("strategy @tp(", "strategy @pp("), "bind.strategy @pp"),
    ],
)
def test_dist_r1_a_block_names_what_the_module_does_not_have(change: tuple[str, str], what: str) -> None:
    text = replaced(derived(), change)
    refused(text, "dist.R1", at="dist.block")
    assert what in verdict(text)[0].message


def test_dist_r2_an_axis_that_the_mesh_does_not_have() -> None:
    refused(edited(derived(), '"mlp.gelu.decode"', ("F@tensor", "F@tensr")), "dist.R2", at='"mlp.gelu.decode"')


@pytest.mark.parametrize(
    ("task", "change", "what"),
    [
        ("mlp.gelu", ("gelu %u :", "gelu %u, %u :"), "a task of kind 'gelu', expects 1 operand(s), found 2"),
        ("attention.core", ("attention %q, %k_visible, %v_visible", "attention %q"), "expects 3 operand(s), found 1"),
        ("attention.kv_append", ("%k, %v, %k_cache, %v_cache", "%k, %v"), "expects 4 operand(s), found 2"),
        ("attention.kv_append", ("%k_cache, %v_cache", "%v, %k"), "writes states, and its last operands are not"),
        ("mlp.gelu", ("      work", "      effects [write]\n      work"), "expects 2 operand(s), found 1"),
        ("mlp.gelu", (" : !bp.tensor<B x 1 x F@tensor, e>", " : i32"), "works on !bp.tensor values, found i32"),
        ("attention.core", ("h@tensor x d, e>", "h@tensor, e>"), "works on tensors of 4 dimensions, found !bp.tensor<B x 1 x h@tensor, e>"),
    ],
)
def test_dist_r3_a_task_that_has_not_the_form_of_its_kind(task: str, change: tuple[str, str], what: str) -> None:
    found = verdict(edited(derived(), f'"{task}.decode"', change))
    assert labels(found) == {"dist.R3"}, shown(found)
    assert what in found[0].message and f'"{task}.decode"' in line_of(found[0])


def test_dist_p1_a_task_outside_its_block_would_not_be_counted() -> None:
    task = '%extra = dist.compute "extra" gelu %extra : !bp.tensor<B x 1 x H, e>\n from "mlp.gelu" phase decode\n work <ops = 5>\n'
    refused(replaced(derived(), ("  dist.block", f"  {task}  dist.block")), "dist.P1", at='"extra"')


def test_a_name_means_one_thing_in_all_modules_of_a_file() -> None:
    mesh = statement(derived(), "dist.mesh")
    (found,) = verdict(replaced(derived(), (mesh, f"{mesh}  module @inner {{\n{mesh}  }}\n")))
    assert "redefinition of symbol '@mesh'" in found.message and "dist.mesh" in line_of(found)
    assert not verdict(replaced(derived(), (mesh, f"  module @inner {{\n{mesh}  }}\n")))


def test_a_collective_over_one_axis_twice_is_malformed() -> None:
    changes = (('sum [{"tensor"}]', 'sum [{"tensor"}, {"tensor"}]'), ("B*H - B*H/t,", "B*H - B*H/t**2,"))
    text = edited(derived(), '"attention.output_collective.decode"', *changes)
    (found,) = verdict(text)
    assert "names a mesh axis twice" in found.message


# What a level must not hold


@pytest.mark.parametrize(
    ("attributes", "rule"),
    [
        ('{hw.device = "gpu0"}', "dist.F1"),
        ('{hw.note = "on the second queue of us"}', "dist.F1"),
        ("{hw.kernel_name = 3 : i64}", "dist.F1"),
        ("{hw.place = {slot = 1 : i64}}", "dist.F1"),
        ('{hw.hints = [["stream"]]}', "dist.F1"),
        ("{run.latency = 3 : i64}", "dist.F2"),
        ('{run.note = "takes 5 ms"}', "dist.F2"),
    ],
)
def test_a_machine_or_a_time_in_an_attribute_of_a_task(attributes: str, rule: str) -> None:
    generic = print_module(run(model(), "distribute-inference"), generic=True)
    head = '"dist.compute"(%g)'
    whole = statement(generic, head)
    refused(replaced(generic, (whole, replaced(whole, ("}> :", f"}}> {attributes} :")))), rule, at=head)


@pytest.mark.parametrize(("attribute", "rule"), [('bp.device = "gpu0"', "dist.F1"), ("bp.seconds = 3", "dist.F2")])
def test_a_machine_or_a_time_in_an_attribute_of_the_module(attribute: str, rule: str) -> None:
    text = replaced(derived(), ("module @transformer_block {", f"module @transformer_block attributes {{{attribute}}} {{"))
    refused(text, rule, at="module @transformer_block")
