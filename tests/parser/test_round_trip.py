"""Text and IR: what is printed is read back as the same module, at every level, in both forms, by mlir-opt too, under every hash seed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import EXAMPLES, LEVELS, ROOT, derive, digest, example, example_text, read, run, shown
from tiers import examples

from bpir.ir.equality import equal
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.verifiers.structure import module as structure

MLIR_OPT = shutil.which("mlir-opt-19")
every_module = pytest.mark.parametrize(("name", "level"), [(name, level) for name in EXAMPLES for level in LEVELS])
both_forms = pytest.mark.parametrize("generic", [False, True], ids=["custom", "generic"])


def test_there_are_examples() -> None:
    assert {"gpt2", "gpt3_175b", "opt_6_7b", "transformer_block"} <= set(EXAMPLES)


@pytest.mark.campaign(keep=33)
@every_module
@both_forms
def test_what_is_printed_is_read_back_as_the_same_module_and_printed_the_same(name: str, level: str, generic: bool) -> None:
    module = derive(name, level)
    text = print_module(module, generic)
    again = read(text)
    assert equal(module, again)
    assert print_module(again, generic) == text


@pytest.mark.campaign(keep=11)
@every_module
def test_both_forms_say_the_same(name: str, level: str) -> None:
    module = derive(name, level)
    assert equal(read(print_module(module)), read(print_module(module, generic=True)))


@pytest.mark.campaign(keep=16)
@every_module
def test_the_equality_that_these_tests_rely_on_sees_a_change(name: str, level: str) -> None:
    module = derive(name, level)
    text = print_module(module)
    changed = text.replace(" H,", " Hidden,", 1).replace("B*", "S*", 1).replace("gelu", "silu").replace("relu", "silu")
    assert not equal(module, read(changed))


@pytest.mark.campaign(keep=3)
@pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt-19 is not installed")
@pytest.mark.parametrize("name", EXAMPLES)
def test_mlir_opt_reads_the_generic_form_and_prints_the_same_module(name: str) -> None:
    modules = [derive(name, level) for level in LEVELS]
    text = "// -----\n".join(print_module(module, generic=True) for module in modules)
    command = [str(MLIR_OPT), "--allow-unregistered-dialect", "--mlir-print-op-generic", "--split-input-file", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split("// -----\n")
    assert len(printed) == len(modules)
    for module, part in zip(modules, printed, strict=True):
        assert equal(module, read(part))


BOUND = "bind-symbols{B=1 c=64 t=8}"
FURTHER = {
    "training": ("gpt3_175b_training", ("distribute-training",)),
    "training plan": ("gpt3_175b_training", ("distribute-training", "plan-training")),
    "training, sequence parallel": (
        "transformer_block",
        ("distribute-training{tensor=t communication=reduce_scatter_all_gather recompute=full}", "plan-training"),
    ),
    "queue": ("gpt3_175b", ("distribute-inference", "plan-inference", BOUND, "bind-queue")),
    "slot": ("gpt3_175b", ("distribute-inference", "plan-inference", BOUND, "bind-slot")),
}
"""Training and concrete modules: an example and the passes that lead to each."""


@cache
def further(which: str) -> Operation:
    name, passes = FURTHER[which]
    return run(example(name), *passes)


@pytest.mark.campaign(keep=2)
@pytest.mark.parametrize("which", FURTHER)
def test_training_and_concrete_modules_are_read_back_in_both_forms(which: str) -> None:
    module = further(which)
    for generic in (False, True):
        text = print_module(module, generic)
        assert equal(module, read(text))
        assert print_module(read(text), generic) == text


@pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt-19 is not installed")
def test_mlir_opt_reads_training_and_concrete_modules_and_prints_the_same() -> None:
    modules = [further(which) for which in FURTHER]
    text = "// -----\n".join(print_module(module, generic=True) for module in modules)
    command = [str(MLIR_OPT), "--allow-unregistered-dialect", "--mlir-print-op-generic", "--split-input-file", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for module, part in zip(modules, done.stdout.split("// -----\n"), strict=True):
        assert equal(module, read(part))


@pytest.mark.parametrize("which", FURTHER)
def test_what_is_derived_points_at_the_text_that_it_came_from(which: str) -> None:
    name = FURTHER[which][0]
    for operation in further(which).walk():
        if operation.name.partition(".")[0] in ("dist", "plan"):
            assert operation.span is not None, operation.name
            assert operation.span.source.name == f"{name}.bpir"


@pytest.mark.campaign
def test_the_bytes_do_not_depend_on_the_hash_seed() -> None:
    program = f"import sys; sys.path.insert(0, {str(ROOT / 'evidence')!r}); import support; print(support.digest())"
    command = [sys.executable, "-c", program]
    running = [
        subprocess.Popen(command, env={**os.environ, "PYTHONHASHSEED": str(seed)}, stdout=subprocess.PIPE, text=True) for seed in (1, 2)
    ]
    assert {process.communicate(timeout=60)[0].strip() for process in running} == {digest()}


# Random blocks

HIDDEN, WIDE, HEADS = "B x S x H", "B x S x F", "B x S x h x d"
HEAD = """module @random {
  bp.symbols B, S, c, H, F, h, d, t, e where t | h, t | F, t | H
  bind.workload @w inference {phase = decode, context = c}
  bind.strategy @s {tensor = t}
  model.block @block(%x: !bp.tensor<B x S x H, e>) {
"""


@st.composite
def blocks(draw: st.DrawFn) -> str:
    """The text of a block: a chain of operations on values drawn from all before, so that values fork and join again."""
    values = {HIDDEN: ["%x"], WIDE: [], HEADS: []}
    lines: list[str] = []

    def value(shape: str) -> str:
        return draw(st.sampled_from(values[shape]))

    def emit(kind: str, operands: str, shape: str, after: str = "", results: int = 1) -> None:
        index = len(lines)
        names = [f"%v{index}_{i}" for i in range(results)]
        group = draw(st.sampled_from(["a", "b"]))
        lines.append(f'    {", ".join(names)} = model.{kind} "{group}.{kind}_{index}" {operands}{after}\n')
        values[shape].extend(names)

    for _ in range(draw(st.integers(1, 9))):
        shape = draw(st.sampled_from([shape for shape in values if values[shape]]))
        kind = draw(st.sampled_from(["norm", "widen", "heads", "narrow", "elementwise", "add", "mul", "attention", "dropout"]))
        bias = draw(st.sampled_from(["", " bias"]))
        if kind == "norm" and shape == HIDDEN:
            emit(draw(st.sampled_from(["layer_norm", "rms_norm"])), value(shape), shape)
        elif kind == "widen" and shape == HIDDEN:
            count = draw(st.integers(1, 2))
            emit("linear", value(shape), WIDE, bias + " : " + ", ".join(["[F]"] * count), count)
        elif kind == "heads" and shape == HIDDEN:
            emit("linear", value(shape), HEADS, bias + " : [h x d], [h x d], [h x d]", 3)
        elif kind == "narrow" and shape != HIDDEN:
            emit("linear", value(shape), HIDDEN, bias + " : [H]")
        elif kind == "attention" and shape == HEADS:
            emit("attention", f"{value(shape)}, {value(shape)}, {value(shape)}", shape, " context c dropout")
        elif kind in ("add", "mul"):
            emit(kind, f"{value(shape)}, {value(shape)}", shape)
        elif kind == "dropout":
            emit("dropout", value(shape), shape)
        else:
            emit(draw(st.sampled_from(["gelu", "silu", "relu"])), value(shape), shape)
    results = draw(st.lists(st.sampled_from(values[HIDDEN]), min_size=1, max_size=2))
    return HEAD + "".join(lines) + f"    model.return {', '.join(results)}\n  }}\n}}\n"


@settings(max_examples=examples(70), deadline=None, derandomize=True)
@given(blocks(), st.sampled_from(["prefill", "decode"]), st.sampled_from(["t", "1", "2"]))
def test_a_random_block_passes_both_gates_and_is_read_back_at_every_level(text: str, phase: str, degree: str) -> None:
    model = read(text)
    assert not (found := structure.verify(model)), shown(found)
    dist = run(model, f"distribute-inference{{phase={phase} tensor={degree}}}")
    plan = run(dist, "plan-inference")
    for module in (model, dist, plan):
        for generic in (False, True):
            printed = print_module(module, generic)
            again = read(printed)
            assert equal(module, again)
            assert print_module(again, generic) == printed


def test_comments_and_spacing_of_the_examples_do_not_matter() -> None:
    for name in EXAMPLES:
        text = "\n".join(line.split("//")[0].strip() for line in example_text(name).splitlines())
        assert equal(read(text), example(name))
