"""Structural verification refuses wrong symbols, levels and plans by themselves; every label of a verifier has a test."""

from __future__ import annotations

import re
from functools import cache

import pytest
from support import ROOT, edited, example, example_text, labels, line_of, network_text, read, replaced, run, shown, statement, test_file

from bpir.ir.diagnostic import Diagnostic
from bpir.ir.operation import clone
from bpir.ir.printer import print_module
from bpir.verifiers.structure import module as structure


@cache
def planned(generic: bool = False) -> str:
    return print_module(run(example("transformer_block"), "distribute-inference", "plan-inference"), generic=generic)


def refused(text: str, label: str, at: str) -> list[Diagnostic]:
    """Structural verification finds exactly the rule, and the first finding names the line."""
    found = structure.verify(read(text))
    assert labels(found) == {label}, shown(found)
    assert at in line_of(found[0]), shown(found)
    return found


def test_the_derived_plan_passes() -> None:
    assert not structure.verify(read(planned()))


GELU = "plan.task @mlp.gelu.decode"
QUERY = "plan.task @attention.query.decode"
INPUT = "plan.buffer @input "


# plan.R1: references resolve


@pytest.mark.parametrize(
    ("head", "change", "name"),
    [
        (GELU, ("[@mlp.expand.decode]", "[@mlp.expnd.decode]"), "mlp.expand.decode"),
        (GELU, ("reads [@workspace]", "reads [@workspce]"), "workspace"),
        (GELU, ("writes [@workspace]", "writes [@workspce]"), "workspace"),
        (INPUT, ("@attention.residual.decode]", "@attention.residul.decode]"), "attention.residual.decode"),
        ("plan.buffer @output ", ("[@mlp.residual.decode]", "[@mlp.residul.decode]"), "mlp.residual.decode"),
        ("plan.concurrent", ("[@attention.query.decode,", "[@attention.qery.decode,"), "attention.query.decode"),
    ],
)
def test_r1_a_reference_to_nothing_is_refused_with_a_near_name(head: str, change: tuple[str, str], name: str) -> None:
    (found,) = refused(edited(planned(), head, change), "plan.R1", head)
    assert f"did you mean '{name}'?" in found.message


def test_r1_a_task_after_a_buffer() -> None:
    refused(edited(planned(), GELU, ("[@mlp.expand.decode]", "[@workspace]")), "plan.R1", GELU)


def test_r1_a_name_given_twice() -> None:
    refused(edited(planned(), GELU, ("[@mlp.expand.decode]", "[@mlp.expand.decode, @mlp.expand.decode]")), "plan.R1", GELU)


# plan.R2: no cycles, and the text is in order


def test_r2_a_cycle_is_shown_task_by_task() -> None:
    change = ("after [@attention.layer_norm.decode]", "after [@attention.core.decode]")
    (found,) = refused(edited(planned(), QUERY, change), "plan.R2", CORE := "plan.task @attention.core.decode")
    assert "@attention.core.decode -> @attention.query.decode -> @attention.core.decode" in found.message
    assert [line_of(n).partition(" compute")[0] for n in found.notes] == [CORE, QUERY]


def test_r2_a_task_after_itself() -> None:
    refused(edited(planned(), GELU, ("[@mlp.expand.decode]", "[@mlp.gelu.decode]")), "plan.R2", GELU)


def test_r2_a_task_before_what_it_is_after() -> None:
    text = planned()
    core, projection = (statement(text, f"plan.task @attention.{name}.decode") for name in ("core", "output_projection"))
    weights = ("plan.buffer @attention.output_projection.weights ", ("live [6, 6]", "live [5, 5]"))
    cache = ("plan.buffer @attention.kv_cache ", ("live [4, 5]", "live [4, 6]"))
    text = edited(edited(replaced(text, (core + projection, projection + core)), *weights), *cache)
    refused(text, "plan.R2", "plan.task @attention.output_projection.decode")


# plan.R3: a buffer lives as long as it is used


@pytest.mark.parametrize("live", ["[0, 7]", "[1, 8]", "[8, 0]", "[0, 15]", "[0]", "[0, 4, 8]"])
def test_r3_a_life_that_is_too_short_or_none(live: str) -> None:
    refused(edited(planned(), INPUT, ("live [0, 8]", f"live {live}")), "plan.R3", INPUT)


def test_r3_a_workspace_that_dies_before_its_last_user() -> None:
    refused(edited(planned(), "plan.buffer @workspace ", ("live [0, 14]", "live [0, 13]")), "plan.R3", "plan.buffer @workspace")


def test_findings_stand_in_the_order_of_the_text_those_without_a_place_first() -> None:
    module = read("plan.task @a compute gelu\n  work <>\nplan.task @b compute gelu\n  work <>\n")
    block = module.regions[0].blocks[0]
    for task in block.operations:
        del task.properties["sym_name"]
    made = clone(block.operations[0])
    made.span = None
    block.append(made)
    places = [d.span.start if d.span is not None else None for d in structure.verify(module)]
    assert places[0] is None and places[-1] is not None and places[-1] > 0
    known = [place for place in places if place is not None]
    assert known == sorted(known) and known[0] == 0 and places[: -len(known)] == [None] * (len(places) - len(known))


# plan.R4: a buffer knows who uses it


@pytest.mark.parametrize(
    ("head", "change"),
    [
        (INPUT, (", @attention.residual.decode]", "]")),
        (INPUT, ("@attention.residual.decode]", "@attention.residual.decode, @attention.query.decode]")),
        (INPUT, ("    consumers", "    producers [@attention.layer_norm.decode]\n    consumers")),
        ("plan.buffer @output ", ("    producers [@mlp.residual.decode]\n", "")),
        ("plan.buffer @workspace ", ("t>\n", "t>\n    producers [@mlp.gelu.decode]\n")),
    ],
)
def test_r4_users_that_are_not_the_tasks_that_use_it(head: str, change: tuple[str, str]) -> None:
    refused(edited(planned(), head, change), "plan.R4", head.strip())


def test_r4_says_which_users_are_wrong() -> None:
    more = ("@attention.residual.decode]", "@attention.query.decode]")
    (found,) = refused(edited(planned(), INPUT, more), "plan.R4", INPUT.strip())
    assert found.message == (
        "the consumers of @input are not the tasks that read it: "
        "@attention.query.decode does not, @attention.residual.decode reads [plan.R4]"
    )
    head = "plan.buffer @output "
    (found,) = refused(edited(planned(), head, ("@mlp.residual.decode", "@mlp.gelu.decode")), "plan.R4", head)
    assert found.message == (
        "the producers of @output are not the tasks that write it: @mlp.gelu.decode does not, @mlp.residual.decode writes [plan.R4]"
    )


# plan.R5: a group can run at once


@pytest.mark.parametrize(
    "members",
    [
        "@attention.query.decode",
        "@mlp.expand.decode, @mlp.gelu.decode",
        "@attention.query.decode, @attention.core.decode",
        "@attention.query.decode, @mlp.residual.decode",
        "@mlp.gelu.decode, @attention.layer_norm.decode",
    ],
)
def test_r5_a_group_of_one_or_of_tasks_that_need_each_other(members: str) -> None:
    text = replaced(planned(), ("  plan.concurrent", f"  plan.concurrent @wrong [{members}]\n  plan.concurrent"))
    refused(text, "plan.R5", "plan.concurrent @wrong")


def test_r5_a_group_of_tasks_that_do_not_need_each_other_is_accepted() -> None:
    group = "[@attention.query.decode, @attention.kv_append.decode]"
    text = replaced(planned(), ("  plan.concurrent", f"  plan.concurrent @more {group}\n  plan.concurrent"))
    assert not structure.verify(read(text))


def test_r5_a_group_in_a_module_of_its_own_is_judged_like_any() -> None:
    group = statement(planned(), "plan.concurrent")
    inner = f"  module @groups {{\n{group}  }}\n"
    assert not structure.verify(read(replaced(planned(), (group, inner))))
    wrong = re.sub(r"\[.*\]", "[@mlp.expand.decode, @mlp.gelu.decode]", inner)
    refused(replaced(planned(), (group, wrong)), "plan.R5", "plan.concurrent")


@pytest.mark.parametrize(
    ("first", "second", "buffers"),
    [
        ("writes", "reads", ["x"]),
        ("reads", "writes", ["x"]),
        ("writes", "writes", ["x"]),
        ("writes", "reads", ["z", "q", "x", "y"]),  # in the order of their names
        ("reads", "reads", []),
    ],
)
def test_r5_a_group_that_races(first: str, second: str, buffers: list[str]) -> None:
    named = buffers or ["x"]
    listed = "[" + ", ".join(f"@{name}" for name in named) + "]"
    text = "bp.symbols m\n"
    for name in named:
        users = {field: [t for t, use in (("@a", first), ("@b", second)) if use == verb] for field, verb in USES.items()}
        lines = "".join(f"  {field} [{', '.join(tasks)}]\n" for field, tasks in users.items() if tasks)
        text += f"plan.buffer @{name} : output<device_local> align 256 live [0, 1]\n  size <m>\n{lines}"
    text += f"plan.task @a compute gelu\n  work <>\n  {first} {listed}\nplan.task @b compute gelu\n  work <>\n  {second} {listed}\n"
    found = structure.verify(read(text + "plan.concurrent @group [@a, @b]\n"))
    assert [d.message for d in found] == [
        f"@b can't run at once with @a: one writes @{name}, which the other uses [plan.R5]" for name in sorted(buffers)
    ]


USES = {"producers": "writes", "consumers": "reads"}


# plan.R6: a transfer is between two ranks


@pytest.mark.parametrize("ranks", ["", "    between [0]\n", "    between [1, 1]\n", "    between [0, 1, 2]\n"])
def test_r6_a_transfer_that_is_not_between_two_ranks(ranks: str) -> None:
    text = edited(planned(), GELU, ("compute gelu", "transfer gelu"), ("    work", ranks + "    work"))
    refused(text, "plan.R6", "plan.task @mlp.gelu.decode")


def test_r6_another_task_that_is_between_ranks() -> None:
    refused(edited(planned(), GELU, ("    work", "    between [0, 1]\n    work")), "plan.R6", GELU)


def test_r6_a_transfer_between_two_ranks_is_accepted() -> None:
    text = edited(planned(), GELU, ("compute gelu", "transfer gelu"), ("    work", "    between [0, 1]\n    work"))
    assert not structure.verify(read(text))


# bp.R1 to bp.R4: symbols


def symbols(lines: str) -> str:
    return "module {\n" + lines + "\n}\n"


def test_bp_r1_an_undeclared_symbol_in_a_relation_a_type_a_field_or_a_number() -> None:
    text = example_text("transformer_block")
    for old, new, at in (
        ("t | H\n", "t | H, t | X\n", "bp.symbols"),
        ("{tensor = t}", "{tensor = X}", "bind.strategy"),
        (" : [F]", " : [X]", "mlp.expand"),
        ("(%x: !bp.tensor<B x S x H, e>)", "(%x: !bp.tensor<X x S x H, e>)", "model.block"),
        ("  bind.workload", "  bp.bind X = 3\n  bind.workload", "bp.bind"),
    ):
        found = structure.verify(read(replaced(text, (old, new))))
        assert labels(found) == {"bp.R1"}, shown(found)
        assert at in line_of(found[0])


def test_bp_r1_an_undeclared_symbol_in_derived_work() -> None:
    refused(edited(planned(), GELU, ("work <ops = 8*B*F/t", "work <ops = 8*B*F/t + X")), "bp.R1", "8*B*F/t + X")


def test_bp_r2_a_symbol_declared_twice() -> None:
    (found,) = refused(symbols("  bp.symbols B, S\n  bp.symbols H, S"), "bp.R2", "bp.symbols H, S")
    assert [line_of(n) for n in found.notes] == ["bp.symbols B, S"]


def test_bp_r3_a_symbol_bound_twice() -> None:
    (found,) = refused(symbols("  bp.symbols B\n  bp.bind B = 2\n  bp.bind B = 2"), "bp.R3", "bp.bind B = 2")
    assert [line_of(n) for n in found.notes] == ["bp.bind B = 2"]


@pytest.mark.parametrize("relation", ["H = h * d", "t | h", "h > t"])
def test_bp_r4_numbers_that_break_a_relation(relation: str) -> None:
    text = symbols(f"  bp.symbols H, h, d, t where {relation}\n  bp.bind H = 13, h = 4, d = 3, t = 8")
    refused(text, "bp.R4", "bp.symbols")


def test_bp_r4_numbers_that_break_an_assumption() -> None:
    refused(symbols("  bp.symbols t\n  bp.bind t = 1\n  bp.assume t > 1"), "bp.R4", "bp.assume")


def test_bp_r4_relations_that_no_numbers_satisfy() -> None:
    refused(symbols("  bp.symbols B, H where H = 2*B, H = 3*B"), "bp.R4", "bp.symbols")


# What a level must not hold, and where its operations must stand


@pytest.mark.parametrize(
    ("attributes", "rule"),
    [
        ('{hw.device = "gpu0"}', "plan.F1"),
        ('{hw.note = "kernel 7"}', "plan.F1"),
        ("{hw.address = 4096 : i64}", "plan.F1"),
        ("{hw.launch_time = 3 : i64}", "plan.F2"),
        ('{hw.note = "takes 5 ms"}', "plan.F2"),
    ],
)
def test_a_machine_or_a_time_in_an_attribute_of_a_plan(attributes: str, rule: str) -> None:
    text = planned(generic=True)
    head = '"plan.objective"'
    whole = statement(text, head)
    refused(replaced(text, (whole, replaced(whole, ("}> :", f"}}> {attributes} :")))), rule, head)


@pytest.mark.parametrize(
    ("field", "words", "rule"),
    [
        ("requires [elementwise]", "requires [elementwise, device]", "plan.F1"),
        ("requires [elementwise]", "requires [elementwise, low_latency]", "plan.F2"),
    ],
)
def test_a_machine_or_a_time_as_a_capability(field: str, words: str, rule: str) -> None:
    refused(edited(planned(), GELU, (field, words)), rule, GELU)


@pytest.mark.parametrize(
    ("attributes", "rule"),
    [('{hw.device = "gpu0"}', "model.F1"), ("{tp.ranks = 8 : i64}", "model.F1"), ("{run.seconds = 3 : i64}", "model.F2")],
)
def test_a_machine_parallelism_or_a_time_in_an_attribute_of_a_model(attributes: str, rule: str) -> None:
    text = print_module(example("transformer_block"), generic=True)
    head = '"model.gelu"'
    whole = statement(text, head)
    refused(replaced(text, (whole, replaced(whole, ("}> :", f"}}> {attributes} :")))), rule, head)


def test_a_word_that_is_a_name_is_no_machine() -> None:
    """A layer may be called anything; what is free is an attribute."""
    text = print_module(example("transformer_block"), generic=True).replace('"mlp.gelu"', '"device.kernel"')
    assert not structure.verify(read(text))


def test_a_sharded_tensor_in_a_model() -> None:
    block = "  model.block @b(%x: !bp.tensor<B x S@data x B, 2>) {\n    model.return %x\n  }"
    refused(symbols("  bp.symbols B, S\n" + block), "model.F1", "model.block")


def test_bindings_of_a_plan_may_hold_no_time_either() -> None:
    text = planned(generic=True)
    whole = statement(text, '"bind.strategy"')
    refused(replaced(text, (whole, replaced(whole, ("}> :", "}> {run.deadline = 3 : i64} :")))), "plan.F2", '"bind.strategy"')


@pytest.mark.parametrize(
    ("text", "label", "at"),
    [
        ('module {\n  "func.func"() <{function_type = () -> (), sym_name = "f"}> ({\n'
         '    "plan.task"() <{kind = "barrier", operation = "wait", sym_name = "w", work = #bp.work<>}> : () -> ()\n'
         '    "func.return"() : () -> ()\n  }) : () -> ()\n}\n', "plan.P1", "plan.task"),
        ('module {\n  bp.symbols B\n  %z = "model.gelu"(%z) <{layer = "g"}> : (!bp.tensor<B x B x B, 2>) -> !bp.tensor<B x B x B, 2>\n}\n',
         "model.P1", "model.gelu"),
    ],
)  # fmt: skip
def test_an_operation_that_stands_where_its_level_is_not_read(text: str, label: str, at: str) -> None:
    refused(text, label, at)


@pytest.mark.parametrize("fields", ["tensor = #bp.expr<0>", "tensor = #bp.expr<1/2>", "tensor = #bp.expr<-4>"])
def test_a_degree_that_is_no_positive_integer(fields: str) -> None:
    line = f'"bind.strategy"() <{{fields = {{{fields}}}, sym_name = "s"}}> : () -> ()'
    (found,) = structure.verify(read(symbols("  " + line)))
    assert "'tensor' must be a positive integer" in found.message
    assert line_of(found) == line


def test_r8_to_r10_sections_of_a_sound_plan() -> None:
    text = print_module(run(read(network_text()), "distribute-inference", "plan-inference"))
    assert not structure.verify(read(text))
    refused(replaced(text, ("@block.2 tasks [0, 14]", "@block.2 tasks [0, 13]")), "plan.R8", "plan.section @block.2")
    refused(replaced(text, ("after @block\n", "after @block.2\n")), "plan.R9", "plan.section @block.2")
    refused(replaced(text, ("@output -> @input", "@output -> @workspaces")), "plan.R9", "plan.section @block ")
    weights = "@mlp.expand.weights : constant<persistent> times L"
    refused(replaced(text, (f"{weights} + 1", weights)), "plan.R10", "plan.buffer")


# Every label has a test


def test_r7_one_mesh_under_a_strategy_of_the_module() -> None:
    mesh = statement(planned(), "plan.mesh")
    refused(planned().replace(mesh, mesh + mesh, 1), "plan.R7", "plan.mesh")
    refused(replaced(planned(), ("strategy @tp\n  plan.objective", "strategy @other\n  plan.objective")), "plan.R7", "plan.mesh")


@pytest.mark.parametrize(
    ("verifier", "prefix", "test"),
    [
        ("distribution/module.py", "distribute-inference", "test_gate_distribution"),
        ("planning/module.py", "plan-inference", "test_gate_planning test_gate_buffers"),
        ("structure/plan.py", "plan", "test_plan_structure"),
        ("structure/symbols.py", "bp", "test_plan_structure"),
        ("structure/dist.py", "dist", "test_dist_structure"),
    ],
)
def test_every_label_of_a_verifier_is_refused_in_a_test(verifier: str, prefix: str, test: str) -> None:
    rules = set(re.findall(rf'(?:"|{re.escape(prefix)}\.)(R\d+)\b', (ROOT / "verifiers" / verifier).read_text()))
    tested = set(
        re.findall(
            rf'(?:RULE \+ "|{{RULE}}|"{re.escape(prefix)}\.)(R\d+)\b', "".join(test_file(f"{name}.py").read_text() for name in test.split())
        )
    )
    files = [path.read_text(encoding="latin-1") for path in (ROOT / "lit_tests").rglob("*.bpir")]
    tested |= {number for text in files for number in re.findall(rf"\[{re.escape(prefix)}\.(R\d+)\]", text)}
    assert len(rules) >= 2
    assert rules <= tested


def test_bp_r4_inequalities_that_exclude_each_other() -> None:
    module = read("bp.symbols B where B > 5, 3 > B\n")
    assert labels(structure.verify(module)) == {"bp.R4"}
    assert not structure.verify(read("bp.symbols B, t where B > 5, 7 > B, B > t, t > 1\n"))
