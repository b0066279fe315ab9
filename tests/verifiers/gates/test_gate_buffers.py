"""The gate of `plan-inference` on buffers, inputs, facts and sections (R9 to R19): refusals by rule, and accepted texts."""

from __future__ import annotations

import re
from functools import cache

import pytest
from planning_gate import CORE, accepted, distributed, planned, prefill, refused, verdict
from support import (
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

from bpir.ir.operation import Operation
from bpir.ir.printer import print_module

RULE = "plan-inference."


@pytest.mark.campaign(keep=3)
@pytest.mark.parametrize(
    ("buffer", "change"),
    [
        ("@workspace", ("3*d*h", "2*d*h")),
        ("@workspace", ("H*t + max(", "max(")),
        ("@workspace", ("c*h + d*h)", "d*h)")),
        ("@attention.kv_cache", ("size <2*", "size <")),
        ("@attention.kv_cache", ("B*c*", "B*")),
        ("@mlp.expand.weights", ("size <F*H*e/t>", "size <F*H*e/t - 1>")),
        ("@input", ("size <B*H*e>", "size <H*e>")),
        ("@output", ("size <B*H*e>", "size <0>")),
        ("@attention.residual", ("size <B*H*e>", "size <B*H*e/t>")),
    ],
)
def test_r9_a_buffer_too_small(buffer: str, change: tuple[str, str]) -> None:
    refused(edited(planned(), f"plan.buffer {buffer} ", change), RULE + "R9", at=f"plan.buffer {buffer}")


def test_r9_a_buffer_that_may_be_too_small_is_refused() -> None:
    refused(edited(planned(), "plan.buffer @input ", ("size <B*H*e>", "size <S*c*F>")), RULE + "R9", at="plan.buffer @input")


def test_r9_a_missing_buffer() -> None:
    text = dropped(replaced(planned(), ("[@workspace, @mlp.expand.weights]", "[@workspace]")), "plan.buffer @mlp.expand.weights")
    refused(text, RULE + "R9", at="dist.block")


def test_r9_a_buffer_that_nothing_needs() -> None:
    text = planned() .replace("  plan.task @attention.layer_norm", "  plan.buffer @more : activation<device_local> align 256 live [0, 0]\n"
                              "    size <1>\n  plan.task @attention.layer_norm", 1)  # fmt: skip
    refused(text, RULE + "R9", at="plan.buffer @more")


def test_r10_a_task_that_reads_another_buffer() -> None:
    text = edited(planned(), "plan.task @mlp.layer_norm.decode", ("reads [@attention.residual,", "reads [@input,"))
    text = edited(text, "plan.buffer @attention.residual ", ("[@mlp.layer_norm.decode, @mlp.residual.decode]", "[@mlp.residual.decode]"))
    text = edited(text, "plan.buffer @input ", ("live [0, 8]", "live [0, 9]"), ("@attention.residual.decode]", "@attention.residual.decode, @mlp.layer_norm.decode]"))  # fmt: skip # noqa: E501
    refused(text, RULE + "R10", at="plan.task @mlp.layer_norm.decode")


def test_r10_an_append_that_does_not_write_the_cache() -> None:
    text = edited(planned(), "plan.task @attention.kv_append.decode", ("writes [@attention.kv_cache]", "writes [@workspace]"))
    text = edited(text, "plan.buffer @attention.kv_cache ", ("    producers [@attention.kv_append.decode]\n", ""))
    refused(text, RULE + "R10", at="plan.task @attention.kv_append.decode")


@pytest.mark.parametrize(
    ("change", "at"),
    [
        (("  bp.assume t > 1\n", ""), "bp.assume"),
        (("bp.assume t > 1", "bp.assume t > 1, B > 1"), "bp.assume"),
        (("{tensor = t}", "{tensor = t, pipeline = 2}"), "bind.strategy"),
        (("phase = decode, context = c", "phase = decode, context = c, batch = B"), "bind.workload"),
        ((", t | H", ""), "bp.symbols"),
        (("  bp.assume", "  bp.bind B = 2\n  bp.assume"), "bp.bind"),
        (("  bp.assume", "  bind.strategy @two {tensor = 2}\n  bp.assume"), "bind.strategy @two"),
    ],
)
def test_r11_an_input_changed_lost_or_added(change: tuple[str, str], at: str) -> None:
    found = verdict(replaced(planned(), change))
    assert labels(found) == {RULE + "R11"}, shown(found)
    assert at in line_of(found[0])


@pytest.mark.parametrize(
    ("buffer", "change"),
    [
        ("@workspace", ("<transient>", "<persistent>")),
        ("@attention.kv_cache", ("<persistent>", "<transient>")),
        ("@mlp.expand.weights", ("<persistent>", "<device_local>")),
        ("@input", ("<device_local>", "<transient>")),
        ("@output", ("<device_local>", "<persistent>")),
        ("@attention.residual", ("<device_local>", "<transient>")),
    ],
)
def test_r12_another_storage_class(buffer: str, change: tuple[str, str]) -> None:
    refused(edited(planned(), f"plan.buffer {buffer} ", change), RULE + "R12", at=f"plan.buffer {buffer}")


@pytest.mark.parametrize(
    ("buffer", "change"),
    [("@attention.kv_cache", ("state<", "constant<")), ("@attention.residual", ("activation<", "gradient<"))],
)
def test_r9_another_role_leaves_the_obligation_without_a_buffer(buffer: str, change: tuple[str, str]) -> None:
    refused(edited(planned(), f"plan.buffer {buffer} ", change), RULE + "R9", at="dist.block")


FACT = 'memory "mlp.gelu" dropped [activation]\n    holds <activation = B*F*e/t,\n           output = B*F*e/t>\n'


def with_facts(*facts: str) -> str:
    """The plan with memory facts at its end."""
    return planned().replace("  plan.concurrent", "".join(f"  plan.{fact}" for fact in facts) + "  plan.concurrent")


def source_with_facts() -> Operation:
    return read(replaced(print_module(distributed()), ("    dist.return", f"    dist.{FACT}    dist.return")))


def test_r13_facts_that_are_kept_are_accepted() -> None:
    accepted(with_facts(FACT), source_with_facts())


@pytest.mark.parametrize(
    ("facts", "at"),
    [
        ((), 'dist.memory "mlp.gelu"'),
        ((FACT.replace("output = B*F*e/t", "output = B*F*e"),), 'plan.memory "mlp.gelu"'),
        ((FACT.replace(" dropped [activation]", ""),), 'plan.memory "mlp.gelu"'),
        ((FACT, FACT.replace("mlp.gelu", "mlp.expand")), 'plan.memory "mlp.expand"'),
        ((FACT.replace("output = B*F*e/t", "output = 1"), FACT), 'plan.memory "mlp.gelu"'),
    ],
    ids=["missing", "another number", "another word", "of no source", "twice"],
)
def test_r13_facts_missing_changed_or_from_nowhere(facts: tuple[str, ...], at: str) -> None:
    refused(with_facts(*facts), RULE + "R13", at=at, source=source_with_facts())


def test_terms_in_another_order_are_accepted() -> None:
    text = edited(planned(), CORE, ("work <ops = 4*B*c*d*h/t + 5*B*c*h/t", "work <ops = (5 + d*4)*c*B*(h/t)"))
    size = ("<B*e*max(H*t + max(3*d*h, F, c*h), c*h + d*h)/t>", "<B*max(h*(d + c)/t, H + max(h*c, F, h*3*d)/t)*e>")
    accepted(edited(text, "plan.buffer @workspace ", size))


def test_r16_the_mesh_and_the_strategy_of_the_plan_are_those_of_its_block() -> None:
    mesh = 'plan.mesh <["tensor"=t]> strategy @tp'
    refused(dropped(planned(), "plan.mesh"), RULE + "R16", at="dist.block")
    refused(replaced(planned(), (mesh, mesh.replace("=t", "=2*t"))), RULE + "R16", at="plan.mesh")
    refused(replaced(planned(), (mesh, mesh.replace("tensor", "data"))), RULE + "R16", at="plan.mesh")


def test_r9_tasks_that_may_run_at_once_have_room_beside_each_other() -> None:
    """Expand and contract, which need each other, may not; the query and the wide layer, taken as one group, need room for both."""
    text = """
  bp.symbols B, S, c, H, F, e
  bind.workload @w inference {phase = decode, context = c}
  bind.strategy @s {tensor = 1}
  model.block @b(%x: !bp.tensor<B x S x H, e>) {
    %n = model.layer_norm "n" %x
    %u = model.linear "up" %n : [F]
    %a = model.linear "down" %u : [H]
    %v = model.linear "up2" %n : [F]
    %y = model.linear "down2" %v : [H]
    model.return %a, %y
  }
"""
    source = run(read(text), "distribute-inference")
    plan = print_module(run(source, "plan-inference"))
    # The norm and both wide layers at once: up2 may run beside up.
    assert "size <2*B*F*e + B*H*e>" in statement(plan, "plan.buffer @workspace")
    smaller = replaced(plan, ("size <2*B*F*e + B*H*e>", "size <B*H*e + B*F*e>"))
    refused(smaller, RULE + "R9", at="plan.buffer @workspace", source=source)
    accepted(dropped(smaller, "plan.concurrent"), source)


def test_another_name_of_a_product_is_accepted_under_its_relation_only() -> None:
    change = (CORE, ("work <ops = 4*B*c*d*h/t", "work <ops = 4*B*c*H/t"))
    refused(edited(planned(), *change), RULE + "R3", at=CORE)
    source = read(replaced(example_text("transformer_block"), ("where t | h", "where H = h * d, t | h")))
    source = run(source, "distribute-inference")
    accepted(edited(print_module(run(source, "plan-inference")), *change), source)


def test_other_names_of_tasks_and_buffers_are_accepted() -> None:
    accepted(re.sub(r"@([\w.]+)", lambda m: m[0] if m[1] in ("transformer_block", "serve", "tp") else f"@other.{m[1]}", planned()))


def test_independent_tasks_in_another_order_are_accepted() -> None:
    text = planned()
    query, key = statement(text, "plan.task @attention.query.decode"), statement(text, "plan.task @attention.key.decode")
    text = replaced(text, (query + key, key + query))
    text = edited(text, "plan.buffer @attention.query.weights ", ("live [1, 1]", "live [2, 2]"))
    accepted(edited(text, "plan.buffer @attention.key.weights ", ("live [2, 2]", "live [1, 1]")))


@pytest.mark.parametrize(
    ("buffer", "change"),
    [
        ("@workspace", ("size <", "size <1024 + ")),
        ("@workspace", ("max(3*d*h, F, c*h)", "(3*d*h + F + c*h)")),
        ("@attention.kv_cache", ("size <2*", "size <3*")),
        ("@attention.kv_cache", ("/t", "")),
        ("@input", ("live [0, 8]", "live [0, 14]")),
        ("@mlp.expand.weights", ("live [10, 10]", "live [0, 14]")),
        ("@output", ("align 256", "align 4096")),
    ],
)
def test_a_larger_longer_lived_or_better_aligned_buffer_is_accepted(buffer: str, change: tuple[str, str]) -> None:
    accepted(edited(planned(), f"plan.buffer {buffer} ", change))


def test_no_groups_are_accepted() -> None:
    accepted(dropped(planned(), "plan.concurrent"))


@pytest.mark.parametrize(("phase", "words"), [("decode", "memory, network, compute"), ("prefill", "compute, memory, network")])
def test_r14_the_objective_is_that_of_the_phase(phase: str, words: str) -> None:
    said = f"plan.objective minimize [{words}]"
    assert said in planned(phase)
    for other in ("compute, network, memory", words.rpartition(",")[0]):
        text = replaced(planned(phase), (said, f"plan.objective minimize [{other}]"))
        refused(text, RULE + "R14", at="plan.objective", source=distributed(phase))
    twice = replaced(planned(phase), (said, f"{said}\n  {said}"))
    refused(twice, RULE + "R14", at="plan.objective", source=distributed(phase))
    refused(dropped(planned(phase), "plan.objective"), RULE + "R14", at="plan.task", source=distributed(phase))


@pytest.mark.parametrize("buffer", ["@input", "@workspace", "@attention.kv_cache", "@output", "@mlp.expand.weights"])
def test_r15_alignment_is_a_multiple_of_256_bytes(buffer: str) -> None:
    head = f"plan.buffer {buffer} "
    for less in (1, 16, 128):
        refused(edited(planned(), head, ("align 256", f"align {less}")), RULE + "R15", at=head)
    accepted(edited(planned(), head, ("align 256", "align 1024")))


def test_numbers_in_place_of_symbols_that_the_source_binds_are_accepted() -> None:
    model = run(example("gpt3_175b"), "bind-symbols{B=1 S=1 c=128 t=8}")
    source = run(model, "distribute-inference")
    accepted(print_module(run(source, "plan-inference", "bind-symbols")), source)


def test_two_results_of_one_task_have_a_buffer_each() -> None:
    text = """module {
  bp.symbols B, S, c, H, h, d, e
  bind.workload @w inference {phase = decode, context = c}
  bind.strategy @s {tensor = 1}
  model.block @b(%x: !bp.tensor<B x S x H, e>) {
    %q, %k = model.linear "a.qk" %x : [h x d], [d]
    model.return %q, %k
  }
}
"""
    source = run(read(text), "distribute-inference")
    plan = print_module(run(source, "plan-inference"))
    accepted(plan, source)
    refused(edited(plan, "plan.buffer @output.1 ", ("size <B*d*e>", "size <d*e>")), RULE + "R9", at="plan.buffer @output.1", source=source)


def test_inputs_of_one_reader_are_told_apart_by_their_sizes() -> None:
    """Q and K of one product, in another order in the text: each buffer is large enough for the one, and would not be for the other."""
    source = prefill(
        "%q: !bp.tensor<B x S x h x d, e>, %k: !bp.tensor<B x T x h x d, e>",
        '%y = model.batch_matmul "scores" %q, %k transposed',
        "model.return %y",
    )
    text = print_module(run(source, "plan-inference"))
    first, second = (statement(text, f"plan.buffer @input.{name}") for name in "qk")
    assert "size <B*c*d*e*h>" in first and "size <B*T*d*e*h>" in second
    turned = text.replace(first, "").replace(second, second + first)
    assert turned.index("@input.k :") < turned.index("@input.q :")
    assert gate(source, read(turned)) == [], shown(gate(source, read(turned)))


def test_two_results_in_one_buffer() -> None:
    """In whatever order the buffers stand: what a value has is no other's."""
    lines = ('%a, %b = model.linear "a" %x : [H], [H]', '%z = model.linear "z" %x : [H]', "model.return %a, %b, %z")
    source = prefill("%x: !bp.tensor<B x S x H, e>", *lines)
    text = print_module(run(source, "plan-inference"))
    names = [f"output.{index}" for index in range(3)]
    first, second, third = (statement(text, f"plan.buffer @{name}") for name in names)
    without = text.replace(second, "").replace("[@output.0, @output.1]", "[@output.0]")
    turned = without.replace(first, "").replace(third, third + first)
    assert turned != without
    for order in (without, turned):
        found = gate(source, read(order))
        assert RULE + "R9" in labels(found), shown(found)


CACHE = """
  bp.symbols B, c, h, d, e
  bind.workload @decode inference {phase = decode, context = c}
  bind.strategy @one {tensor = 1}
  dist.mesh @mesh = <[]>
  dist.block @block from "block" on @mesh workload @decode strategy @one(%q: T1, %k: T1, %v: T1) {
    %kc, %vc = dist.state "a.kv_cache" from "a.core" : Tc, Tc
    %o = dist.compute "a.core.decode" attention %q, %kc, %vc : T1
      from "a.core" phase decode effects [read] work <ops = 1>
    %k2, %v2 = dist.compute "a.kv_append.decode" kv_append %k, %v, %kc, %vc : Tc, Tc
      from "a.core" phase decode effects [write] work <read = 2*B*d*e*h, write = 2*B*d*e*h>
    dist.return %o
  }
""".replace("T1", "!bp.tensor<B x 1 x h x d, e>").replace("Tc", "!bp.tensor<B x c x h x d, e>")


def test_r8_the_cache_is_written_after_it_is_read() -> None:
    source = run(read(CACHE))
    plan = print_module(run(source, "plan-inference"))
    append = "plan.task @a.kv_append.decode"
    assert "after [@a.core.decode]" in statement(plan, append)
    refused(edited(plan, append, ("  after [@a.core.decode]\n", "")), RULE + "R8", at=append, source=source)


def test_r8_what_reads_a_cache_that_was_written_by_then_is_refused() -> None:
    plan = run(read(CACHE), "plan-inference")
    core, append = (statement(CACHE, head) for head in ("%o = dist", "%k2, %v2 = dist"))
    found = gate(read(CACHE.replace(core + append, append + core)), plan)
    assert any("'a.core.decode' reads a state as it was before 'a.kv_append.decode'" in d.message for d in found), shown(found)


@cache
def network() -> tuple[Operation, str]:
    """A distributed network, and the text of its plan."""
    source = read(print_module(run(read(network_text()), "distribute-inference")), "dist.bpir")
    return source, print_module(run(source, "plan-inference"))


def test_r17_the_sections_of_a_network() -> None:
    source, text = network()
    accepted(text, source)
    sections = re.findall(r"plan.section (.*)", text)
    assert sections == ["@block times L tasks [0, 14] carries [@output -> @input]", "@block.2 tasks [0, 14] after @block"]


@pytest.mark.parametrize(
    ("change", "runs", "rules"),
    [
        (("@block times L tasks", "@block times L + 1 tasks"), "L + 2", {"R17", "R18", "R19"}),
        (("@block times L tasks", "@block tasks"), "2", {"R17", "R18", "R19"}),
        (("@block.2 tasks", "@block.2 times L tasks"), "2*L", {"R17", "R18", "R19"}),
        ((" carries [@output -> @input]", ""), "L + 1", {"R17"}),
        (("tasks [0, 14] after @block\n", "tasks [0, 14]\n"), "L + 1", {"R17"}),
    ],
)
def test_r17_and_r19_sections_that_differ(change: tuple[str, str], runs: str, rules: set[str]) -> None:
    """The text of a careful forger: the buffers are there as often as the sections run."""
    source, text = network()
    text = replaced(text, change).replace("<persistent> times L + 1 align", f"<persistent> times {runs} align")
    found = verdict(text, source)
    assert labels(found) == {RULE + rule for rule in rules}, shown(found)


def test_r18_weights_and_caches_are_there_once_a_repetition() -> None:
    source, text = network()
    assert len(re.findall(r"<persistent> times L \+ 1 align", text)) == len(re.findall(r"<persistent>", text)) == 9
    for buffer in re.findall(r"plan.buffer (@\S+) : \w+<persistent>", text):
        refused(edited(text, f"plan.buffer {buffer} ", (" times L + 1", "")), RULE + "R18", at=buffer, source=source)
    for buffer in re.findall(r"plan.buffer (@\S+) : \w+<device_local>", text):
        refused(edited(text, f"plan.buffer {buffer} ", (" align", " times L + 1 align")), RULE + "R18", at=buffer, source=source)


def test_r17_a_plan_of_one_block_without_a_network_has_no_sections() -> None:
    text = replaced(planned(), ("  plan.buffer @input ", "  plan.section @block tasks [0, 14]\n  plan.buffer @input "))
    refused(text, RULE + "R17", at="plan.section")
