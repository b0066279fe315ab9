"""A module is derived under the workload, strategy and deployment of its source, or under options that the text names."""

from __future__ import annotations

import pytest
from support import example, gate, labels, line_of, read, replaced, run, shown

from bpir.dialects.bind import DEPLOYMENT, STRATEGY, WORKLOAD, Strategy, Workload
from bpir.ir.printer import print_module
from bpir.passes.base import options
from bpir.passes.binding.bind_queue import BindReferenceQueueTargetPass
from bpir.passes.inference.distribute_inference import DistributeTransformerInferencePass
from bpir.passes.training.distribute_training import DistributeTransformerTrainingPass
from bpir.verifiers.binding import module as binding
from bpir.verifiers.distribution import module as distribution
from bpir.verifiers.training import module as training

MODEL = """module @m {{
  bp.symbols B, S, H, F, c, e
  {bindings}
  bind.strategy @one {{tensor = 1}}
  model.block @block(%x: !bp.tensor<{input}, e>) {{
    %u = model.linear "mlp.expand" %x : [F]
    %y = model.linear "mlp.contract" %u : [H]
    model.return %y
  }}
}}
"""
DECODE = "bind.workload @decode inference {phase = decode, context = c}"
TRAIN = "bind.workload @train training {batch = 4, context = 2048}"


def model(*bindings: str, input: str = "B x S x H") -> str:
    return MODEL.format(bindings="\n  ".join(bindings), input=input)


def derived(source: str, pass_: str) -> str:
    return print_module(run(read(source), pass_))


def refused(source: str, target: str, rule: str, *, at: str, says: str) -> None:
    """The gate finds violations of the rule alone; the line of one of them, and its message, are these."""
    found = gate(read(source), read(target, "target.bpir"))
    assert labels(found) == {rule}, shown(found)
    assert any(says in d.message and at in line_of(d) for d in found), shown(found)


def accepted(source: str, target: str) -> None:
    found = gate(read(source), read(target, "target.bpir"))
    assert not found, shown(found)


# What may be overridden


def test_what_the_verifiers_let_differ_are_the_options_of_the_passes() -> None:
    fields = {Workload: WORKLOAD, Strategy: STRATEGY}
    for pass_, overridable in (
        (DistributeTransformerInferencePass, distribution.OPTIONS),
        (DistributeTransformerTrainingPass, training.OPTIONS),
    ):
        for kind, table in fields.items():
            assert {field.name for field in table} & options(pass_).keys() == {*overridable[kind]}
    assert {field.name for field in DEPLOYMENT} & options(BindReferenceQueueTargetPass).keys() == {*binding.OPTIONS}


@pytest.mark.parametrize("fields", ["batch_axis = S, token_axis = B", "token_axis = S", "batch_axis = B"])
def test_r9_the_axes_of_a_workload_are_those_of_the_file(fields: str) -> None:
    """No option says which axis holds the sequences, or the tokens: not even what holds anyway may be added."""
    one = model(DECODE.replace("}", f", {fields}}}"))
    target = derived(one, "distribute-inference")
    accepted(one, target)
    refused(model(DECODE), target, "distribute-inference.R9", at="bind.workload @decode", says="no option of the pass")


def test_r9_a_new_workload_says_no_more_than_options_could() -> None:
    target = derived(model(), "distribute-inference{phase=decode batch=3 context=c}")
    accepted(model(), target)
    more = replaced(target, ("context = c}", "context = c, token_axis = S}"))
    refused(model(), more, "distribute-inference.R9", at="bind.workload @workload", says="'token_axis' of 'bind.workload @workload'")


@pytest.mark.parametrize(
    ("source", "pass_", "rule"),
    [
        (model(DECODE), "distribute-inference", "distribute-inference.R9"),
        (model(TRAIN), "distribute-training", "distribute-training.R15"),
    ],
)
def test_a_workload_beside_those_of_the_file_is_refused(source: str, pass_: str, rule: str) -> None:
    """An option gives a field of the file's workload another value; it does not make a second one."""
    target = derived(source, pass_)
    (line,) = (line for line in target.splitlines() if "bind.workload" in line)
    name = line.split()[1]
    beside = replaced(target, (line, f"{line}\n{line.replace(name, '@own')}"), (f"workload {name} strategy", "workload @own strategy"))
    refused(source, beside, rule, at="bind.workload @own", says="is not in the source")


# The workload of training


def test_r15_a_workload_of_the_file_is_not_left_out() -> None:
    target = derived(model(TRAIN), "distribute-training")
    accepted(model(TRAIN), target)
    kept = derived(model(), "distribute-training")  # of any batch and context: what the block alone says
    accepted(model(), kept)
    other = replaced(kept, ("  bind.strategy", f"  {TRAIN}\n  bind.strategy"))
    says = "the block names no bind.workload, expected @train"
    refused(model(TRAIN), other, "distribute-training.R15", at="dist.block @block", says=says)


def test_r15_one_of_several_workloads_is_named() -> None:
    source = model(TRAIN, "bind.workload @long training {context = 8192}", DECODE)
    for name in ("train", "long"):
        accepted(source, derived(source, f"distribute-training{{workload=@{name}}}"))
    target = derived(source, "distribute-training{workload=@long}")
    says = "the block names no bind.workload, expected @train or @long"
    refused(source, replaced(target, (" workload @long", "")), "distribute-training.R15", at="dist.block @block", says=says)


def test_a_file_with_a_workload_of_inference_may_be_trained_under_none() -> None:
    accepted(model(DECODE), derived(model(DECODE), "distribute-training"))


# Its kind


@pytest.mark.parametrize(
    ("pass_", "rule", "kinds"),
    [
        ("distribute-inference", "distribute-inference.R9", ("inference", "training")),
        ("distribute-training", "distribute-training.R15", ("training", "inference")),
    ],
)
def test_the_workload_is_of_the_kind_of_the_boundary(pass_: str, rule: str, kinds: tuple[str, str]) -> None:
    """The same fields under the other kind, in source and target."""
    fields = "phase = decode, context = c" if "inference" in pass_ else "batch = 4, context = 2048"
    right, wrong = (f"bind.workload @w {kind} {{{fields}}}" for kind in kinds)
    target = derived(model(right), pass_)
    accepted(model(right), target)
    says = f"the workload @w is of the kind {kinds[1]}, expected {kinds[0]}"
    refused(model(wrong), replaced(target, (right, wrong)), rule, at="dist.block @block", says=says)


# The axes that it names


def test_axes_in_another_order_are_named() -> None:
    """Tokens stand first: decoding makes that dimension 1, and keeps the other."""
    source = model(DECODE.replace("}", ", batch_axis = B, token_axis = S}"), input="S x B x H")
    target = derived(source, "distribute-inference{batch=3}")
    assert "%x: !bp.tensor<1 x 3 x H, e>" in target
    accepted(source, target)


@pytest.mark.parametrize("fields", ["batch_axis = e", "batch_axis = F", "token_axis = 2*S", "token_axis = c", "batch_axis = 7"])
def test_an_axis_that_is_no_dimension_of_the_input(fields: str) -> None:
    bad = model(DECODE.replace("}", f", {fields}}}"))
    says = "must be a symbol that is a dimension of the block's input (B, S, H)"
    target = replaced(derived(model(DECODE), "distribute-inference"), (DECODE, DECODE.replace("}", f", {fields}}}")))
    refused(bad, target, "distribute-inference.R8", at="dist.block @block", says=says)


# The mesh


@pytest.mark.parametrize(
    ("pass_", "rule"),
    [
        ("distribute-inference", "distribute-inference.R10"),
        ("distribute-training{tensor=t communication=reduce_scatter_all_gather}", "distribute-training.R15"),
    ],
)
def test_a_number_in_place_of_the_degree_that_is_bound_to_it(pass_: str, rule: str) -> None:
    """Binding numbers after a derivation writes `8` where the strategy, an input, keeps its `t`."""
    source = run(example("transformer_block"), "bind-symbols{t=8}")
    target = print_module(run(example("transformer_block"), pass_, "bind-symbols{t=8}"))
    assert '<["tensor"=8]>' in target
    assert "{tensor = t" in target
    for mesh, right in (("8", True), ("t", True), ("t + 8 - 2*t/2", True), ("4", False), ("t/2", False)):
        found = gate(source, read(replaced(target, ('<["tensor"=8]>', f'<["tensor"={mesh}]>'))))
        assert labels(found) == (set() if right else {rule}), (mesh, shown(found))


def test_a_number_in_place_of_a_degree_that_is_not_bound_is_refused() -> None:
    for pass_, rule in (("distribute-inference", "distribute-inference.R10"), ("distribute-training{tensor=t}", "distribute-training.R15")):
        text = print_module(run(example("transformer_block"), pass_))
        found = gate(example("transformer_block"), read(replaced(text, ('<["tensor"=t]>', '<["tensor"=8]>'))))
        assert rule in labels(found), shown(found)
        assert 'expected <["tensor"=t]>' in shown(found)
