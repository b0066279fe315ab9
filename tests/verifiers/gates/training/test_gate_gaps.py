"""Cases of the gates that a mutation run found untested (`docs/proofs.md`): more of `test_gate_training.py`, and of distribution."""

from __future__ import annotations

import re

import inference_gate as distribution
import pytest
from support import dropped, example_text, gate, labels, read, replaced, run, shown, statement
from training_gate import ATTENTION, GELU, PLAN, RULE, distributed, model, planned, refused, refused_plan, source

from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.printer import print_module
from bpir.verifiers import derivation


def test_a_value_that_was_kept_before_it_is_gathered_passes() -> None:
    """A second norm reads the shard of %n, and keeps it, before the projections gather it again."""
    text = replaced(
        example_text("transformer_block"),
        (
            '    %q = model.linear "attention.query" %n',
            '    %p = model.layer_norm "attention.second" %n\n    %q = model.linear "attention.query" %n',
        ),
        ('"attention.residual" %yd, %x', '"attention.residual" %yd, %p'),
    )
    origin = read(text)
    options = "tensor=t communication=reduce_scatter_all_gather recompute=none all_gather_redo"
    assert not gate(origin, read(print_module(run(origin, f"distribute-training{{{options}}}"))))


def test_r2_a_layer_with_weights_without_forward_task() -> None:
    """Its gradients and its optimizer are not judged by what is not there."""
    text = re.sub(r"%m\b", "%r", dropped(distributed(), '"mlp.layer_norm.forward"'))
    found = gate(model(), read(text, "target.bpir"))
    assert labels(found) == {RULE + "R2"}, shown(found)


def test_r10_a_wrong_fork_at_a_border_that_not_every_use_passes() -> None:
    """Two of three uses of %n enter the sharded region: the wrong sum stands for these two, and what reads it is judged by itself."""
    text = replaced(
        example_text("transformer_block"),
        ('    %v = model.linear "attention.value" %n : [h x d]\n', ""),
        ("%q, %k, %v context", "%q, %k, %k context"),
        ('"attention.residual" %yd, %x', '"attention.residual" %yd, %n'),
    )
    origin = read(text)
    step = print_module(run(origin, f"distribute-training{{{ATTENTION}}}"))
    assert not gate(origin, read(step))
    (fork,) = re.findall(r" fork (%\w+, %\w+) : .*unreduced", step)
    first = fork.split(", ")[0]
    found = gate(origin, read(replaced(step, (f"fork {fork} :", f"fork {first}, {first} :"))))
    assert labels(found) == {RULE + "R10"}, shown(found)


def test_r11_a_collective_that_is_not_repeated() -> None:
    """The product that it sums is repeated, which is not the same."""
    step = distributed("tensor=t recompute=full")
    text = replaced(dropped(step, '"attention.output_collective.recommunication"'), ("dropout %y_sum_again", "dropout %y_again"))
    found = [d.message for d in gate(model(), read(text))]
    assert f"the collective of the result of 'attention.output_projection' is not repeated [{RULE}R11]" in found


def test_r8_a_block_that_returns_too_little_or_too_much() -> None:
    for returned in ("%z", "%z, %dx_1, %dx_1"):
        refused(replaced(distributed(), ("dist.return %z, %dx_1", f"dist.return {returned}")), "R8", at="dist.return")


@pytest.mark.parametrize(
    ("head", "result"),
    [
        (GELU, "%g"),
        ('"mlp.gelu.activation_gradient"', "%du"),
        ('"mlp.expand.optimizer"', ""),
    ],
)
def test_r4_a_result_more(head: str, result: str) -> None:
    """Its readers are judged as if it had the results that it should."""
    whole = statement(distributed(), head)
    first, *rest = whole.splitlines(keepends=True)
    more = first.replace(f"{result} = ", f"{result}, %more = ") if result else first.replace("dist.compute", "%more = dist.compute")
    more = more.replace("\n", (", " if result else " : ") + "!bp.tensor<H, e>\n")
    refused(replaced(distributed(), (whole, more + "".join(rest))), "R4", at=head)


def test_plan_r13_facts_given_twice_left_out_or_invented() -> None:
    head = 'plan.memory "mlp.gelu"'
    fact = statement(planned(), head)
    refused_plan(planned().replace(fact, fact + fact), "R13", at=head)
    found = gate(source(), read(dropped(planned(), head), "plan.bpir"))
    assert labels(found) == {PLAN + "R13"} and "are missing in the plan" in found[0].message
    refused_plan(replaced(planned(), (fact, fact + fact.replace("mlp.gelu", "mlp.more"))), "R13", at='plan.memory "mlp.more"')


# distribute-inference, and what is no boundary


def test_a_cache_that_the_model_names_passes() -> None:
    named = ("%o = model.attention", '%K, %V = model.kv_append "attention.append" %k, %v context c\n    %o = model.attention')
    text = replaced(example_text("transformer_block"), named, ("%q, %k, %v context c dropout", "%q, %K, %V dropout"))
    source = read(text)
    distribution.accepted(print_module(run(source, "distribute-inference")), source)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ("model", "model", "both modules are of the level model"),
        ("dist", "model", "a model module is not derived from a dist module: name the model module first"),
        ("model", "plan", "between a model and a plan module lies a dist module; verify each step: dist against model, plan against dist"),
        ("none", "dist", "the first module holds no operation of a level"),
        ("dist", "none", "the second module holds no operation of a level"),
    ],
)
def test_levels_between_which_nothing_is_derived(first: str, second: str, why: str) -> None:
    modules = {
        "model": model(),
        "dist": read(distribution.derived()),
        "plan": read("bp.symbols B\nplan.objective minimize [memory]"),
        "none": read("bp.symbols B"),
    }
    with pytest.raises(DiagnosticError, match=re.escape(why)):
        derivation.verify(modules[first], modules[second])
