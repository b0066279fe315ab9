"""Training of random small blocks: chains and diamonds of model operations in which every result reaches a result of the block."""

from __future__ import annotations

import re
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raw import kind_of, name_of, text_of, work_of
from support import gate, read, replaced, report, run, statement
from support_training import BACKWARD, derive, number, options, refusal, same
from tiers import examples

from bpir.dialects.bp import TensorType
from bpir.ir.operation import Operation, top_level
from bpir.ir.printer import print_module
from bpir.tools.reports.report import vector

pytestmark = pytest.mark.slow

UNARY = ("layer_norm", "rms_norm", "gelu", "relu", "silu", "dropout")
BINARY = ("add", "mul")
WEIGHTED = ("linear", "layer_norm", "rms_norm")
NARROW, WIDE = "H", "F"

HEADER = """
module @drawn {
  bp.symbols B, S, H, F, h, d, t, D, e where t | h, t | F, t | H, t | S
  model.block @block(%x: !bp.tensor<B x S x H, e>) {
"""


@attrs.define
class Drawing:
    """A block while it is drawn: its lines, its values by width, and those that nothing reads yet."""

    lines: list[str] = attrs.field(factory=list)
    width: dict[str, str] = attrs.field(factory=lambda: {"%x": NARROW})
    unread: list[str] = attrs.field(factory=list)
    kinds: list[str] = attrs.field(factory=list)

    def add(self, kind: str, operands: list[str], width: str, tail: str = "") -> str:
        layer, result = len(self.lines), f"%v{len(self.lines)}"
        self.lines.append(f'    {result} = model.{kind} "g{layer % 3}.l{layer}" {", ".join(operands)}{tail}')
        self.unread = [name for name in self.unread if name not in operands]
        self.width[result] = width
        self.unread.append(result)
        self.kinds.append(kind)
        return result

    def linear(self, operand: str, width: str, bias: bool = False) -> str:
        return self.add("linear", [operand], width, f"{' bias' if bias else ''} : [{width}]")

    def attention(self, sources: list[str], dropout: bool) -> None:
        heads = [self.add("linear", [source], "heads", " : [h x d]") for source in sources]
        self.linear(self.add("attention", heads, "heads", " dropout" if dropout else ""), NARROW)

    def named(self, width: str) -> list[str]:
        return [name for name, found in self.width.items() if found == width]

    def text(self) -> str:
        return HEADER + "\n".join(self.lines) + f"\n    model.return {', '.join(self.unread)}\n  }}\n}}\n"


@st.composite
def blocks(draw: Any, /) -> Drawing:
    """A block: some operations on values that are there; what is left over is added up, or returned."""
    drawing = Drawing()
    for _ in range(draw(st.integers(1, 4))):
        narrow, wide = drawing.named(NARROW), drawing.named(WIDE)
        shape = draw(st.sampled_from(["unary", "binary", "up", "down", "narrow", "attention"]))
        pool = wide if wide and draw(st.booleans()) else narrow
        one = draw(st.sampled_from(pool))
        if shape == "unary":
            drawing.add(draw(st.sampled_from(UNARY)), [one], drawing.width[one])
        elif shape == "binary":
            drawing.add(draw(st.sampled_from(BINARY)), [one, draw(st.sampled_from(pool))], drawing.width[one])
        elif shape == "attention":
            drawing.attention([draw(st.sampled_from(narrow)) for _ in range(3)], draw(st.booleans()))
        elif shape == "down" and wide:
            drawing.linear(draw(st.sampled_from(wide)), NARROW, draw(st.booleans()))
        elif shape == "narrow":
            drawing.linear(draw(st.sampled_from(narrow)), NARROW)
        else:
            drawing.linear(draw(st.sampled_from(narrow)), WIDE, draw(st.booleans()))
    for name in list(drawing.unread):
        if drawing.width[name] == WIDE:
            drawing.linear(name, NARROW)
    results = draw(st.integers(1, 2))
    while len(drawing.unread) > results:
        drawing.add("add", drawing.unread[:2], NARROW)
    return drawing


@st.composite
def strategies(draw: Any, /, **fixed: object) -> dict[str, object]:
    """A strategy without contradictions."""
    chosen: dict[str, object] = {
        "tensor": draw(st.sampled_from(["t", "1", "2", "4"])),
        "communication": draw(st.sampled_from(["all_reduce", "reduce_scatter_all_gather"])),
        "recompute": draw(st.sampled_from(["none", "attention", "core_attention", "full"])),
        "fused_activation": draw(st.booleans()),
        "master_copy": draw(st.booleans()),
        **fixed,
    }
    if chosen["communication"] != "all_reduce" and chosen["recompute"] != "full":
        chosen["all_gather_redo"] = draw(st.booleans())
    if draw(st.booleans()):
        chosen |= {"data": "D", "optimizer_sharding": True}
    return chosen


SIZES = st.fixed_dictionaries(
    {"B": st.integers(1, 5), "d": st.integers(1, 9), "e": st.sampled_from([1, 2, 4]), "t": st.sampled_from([2, 4])}
    | {name: st.integers(1, 6).map(lambda n: 4 * n) for name in "SHFh"}
)

few = settings(max_examples=examples(20), deadline=None, derandomize=True)


def task_block(dist: Operation) -> Operation:
    (found,) = (operation for operation in top_level(dist) if operation.name == "dist.block")
    return found


@few
@given(blocks(), strategies())
def test_every_weight_and_every_input_has_a_gradient(drawing: Drawing, chosen: dict[str, object]) -> None:
    body = task_block(run(read(drawing.text()), f"distribute-training{{{options(chosen)}}}"))
    tasks = {name_of(task): task for task in body.body if work_of(task) is not None}
    weighted = [name for name, task in tasks.items() if text_of(task, "phase") == "forward" and kind_of(task) in WEIGHTED]
    assert len(weighted) == sum(kind in WEIGHTED for kind in drawing.kinds)
    for name in weighted:
        layer = name.removesuffix(".forward")
        gradients = tasks[f"{layer}.weight_gradient"].results
        summed = tasks.get(f"{layer}.gradient_reduction")  # where ranks share tokens, each has a part of the sum
        replicas = ("data",) if "data" in chosen else ()
        unreduced = (*replicas, *(("tensor",) if summed is not None else ()))
        assert gradients and all(isinstance(value.type, TensorType) and value.type.unreduced == unreduced for value in gradients)
        assert summed is None or summed.operands == gradients
        wanted = gradients if summed is None else summed.results
        if replicas:
            assert tasks[f"{layer}.gradients.gradient_reduction"].operands == wanted
            wanted = tasks[f"{layer}.gradients.gradient_reduction"].results
        assert tasks[f"{layer}.optimizer"].operands == wanted
        elements = [value.type.elements for value in gradients if isinstance(value.type, TensorType)]
        assert len(elements) == len(gradients)
    arguments, returned = body.regions[0].blocks[0].arguments, body.body[-1].operands
    results = len(drawing.unread)
    assert len(arguments) == len(returned) == 1 + results
    assert [value.type for value in returned[:results]] == [value.type for value in arguments[1:]]
    assert returned[-1].type is arguments[0].type
    assert returned[-1] not in arguments or drawing.kinds == []


@few
@given(blocks(), strategies())
def test_planning_conserves_the_work_and_the_memory_of_every_task_and_layer(drawing: Drawing, chosen: dict[str, object]) -> None:
    step = derive(read(drawing.text()), chosen)
    before = report(step.dist)
    assert {task.name: vector(task.work) for task in before.tasks} == {task.name: vector(task.work) for task in step.tasks}
    assert before.layers == step.report.layers
    assert before.memory == step.report.memory


@few
@given(blocks(), strategies(tensor="t"), SIZES)
def test_numbers_can_be_bound_at_any_level(drawing: Drawing, chosen: dict[str, object], sizes: dict[str, int]) -> None:
    distribute, bind = f"distribute-training{{{options(chosen)}}}", f"bind-symbols{{{options(sizes | {'D': 2})}}}"
    module = read(drawing.text())
    last = print_module(run(module, distribute, "plan-training", bind))
    assert print_module(run(module, distribute, bind, "plan-training")) == last
    assert print_module(run(module, bind, distribute, "plan-training", "bind-symbols{}")) == last


@few
@given(blocks(), strategies(recompute="none"))
def test_without_recomputation_backward_multiplies_twice_what_forward_does(drawing: Drawing, chosen: dict[str, object]) -> None:
    step = derive(read(drawing.text()), chosen)
    assert same(step.sum("matmul", BACKWARD), 2 * step.sum("matmul", "forward"))
    assert {task.phase for task in step.tasks} <= {"forward", "recommunication", *BACKWARD, "gradient_reduction", "optimizer"}


@few
@given(blocks(), strategies())
def test_what_is_repeated_was_done_before_with_the_same_work(drawing: Drawing, chosen: dict[str, object]) -> None:
    step = derive(read(drawing.text()), chosen)
    forward = {task.layer: task for task in step.tasks if task.phase == "forward"}
    repeated = [task for task in step.tasks if task.phase in ("recompute", "recommunication")]
    for task in repeated:
        assert (task.work, task.collective) == (forward[task.layer].work, forward[task.layer].collective)
        assert (task.collective is not None) == (task.phase == "recommunication")
    assert chosen["recompute"] != "none" or chosen.get("all_gather_redo") or not repeated


@few
@given(blocks(), strategies(tensor="1"))
def test_one_rank_sends_nothing(drawing: Drawing, chosen: dict[str, object]) -> None:
    step = derive(read(drawing.text()), chosen)
    tasks = [task for task in step.tasks if task.phase != "gradient_reduction"]  # what replicas exchange
    assert not [task.name for task in tasks if task.collective or "collective" in task.layer]
    assert not [task.name for task in tasks if task.work.msg.text != "0"]


@few
@given(blocks(), st.sampled_from(["layer_norm", "gelu", "dropout"]))
def test_a_result_that_reaches_no_result_of_the_block_is_refused(drawing: Drawing, kind: str) -> None:
    drawing.lines.append(f'    %dead = model.{kind} "dead.value" %x')
    shown = refusal(lambda: run(read(drawing.text()), "distribute-training{tensor=t}"))
    assert "no result of the block" in shown and "run canonicalize" in shown


def test_canonicalize_removes_what_training_refuses() -> None:
    text = Drawing(lines=['    %y = model.gelu "a.y" %x', '    %dead = model.gelu "a.dead" %x'], unread=["%y"]).text()
    found = run(read(text), "canonicalize", "distribute-training{tensor=1}")
    assert [name_of(task) for task in task_block(found).body if work_of(task) is not None] == ["a.y.forward", "a.y.activation_gradient"]


TWICE = {
    "one residual": ['    %y = model.add "a.y" %x, %x'],
    "two residuals": ['    %n = model.gelu "a.n" %x', '    %m = model.add "a.m" %n, %x', '    %y = model.add "a.y" %m, %x'],
}


@pytest.mark.parametrize("name", TWICE)
def test_gradients_that_are_one_alias_are_still_summed_once_for_each_use(name: str) -> None:
    """`x + x` has the gradient `2 dy`: the copies are one value, and a target that gives it unsummed is refused."""
    source = read(Drawing(lines=TWICE[name], unread=["%y"]).text())
    text = print_module(run(source, "distribute-training{tensor=1}"))
    fork = statement(text, '"a.fork.activation_gradient"')
    total, summed = fork.strip().partition(" = ")[0], re.findall(r"%d\w+", fork.partition(" fork ")[2].partition(" : ")[0])
    assert summed.count("%dy") == 2 and len(summed) == 2 + (name == "two residuals")
    wrong = replaced(text, (fork, ""), (f"dist.return %y, {total}\n", "dist.return %y, %dy\n"))
    found = [diagnostic.message for diagnostic in gate(source, read(wrong))]
    assert any("does not return the complete gradient of an argument [distribute-training.R8]" in message for message in found)


def test_a_shard_that_is_gathered_again_is_charged_to_its_collective_if_that_reads_it_first() -> None:
    lines = ['    %u = model.linear "a.up" %x : [F]', '    %y = model.linear "a.down" %u : [H]', '    %n = model.rms_norm "a.n" %x']
    chosen = {"tensor": "t", "communication": "reduce_scatter_all_gather", "all_gather_redo": True}
    for order, first in ((lines, "a.input_collective"), ([lines[2], *lines[:2]], "a.n")):
        layers = derive(read(Drawing(lines=order, unread=["%y", "%n"]).text()), chosen).report.layers
        charged = {layer: str(layers[layer]["activation_bytes"]) for layer in ("a.input_collective", "a.n")}
        assert charged == {layer: "B*H*S*e/t" if layer == first else "0" for layer in charged}


@pytest.mark.parametrize("degree", [2, 4])
def test_the_drawn_numbers_are_numbers(degree: int) -> None:
    """The check above is about sizes: a bound plan has no symbols left."""
    drawing = Drawing()
    drawing.linear(drawing.linear("%x", WIDE), NARROW)
    sizes = {"B": 2, "S": 8, "H": 8, "F": 16, "h": 4, "d": 2, "e": 2, "t": degree, "D": 1}
    bound = report(run(read(drawing.text()), "distribute-training{tensor=t}", "plan-training", f"bind-symbols{{{options(sizes)}}}"))
    expected = 2 * 2 * 8 * 8 * 16 // degree  # 2 m n k of each of the two products
    assert [number(task.work.matmul) for task in bound.tasks if task.phase == "forward" and not task.collective] == [expected] * 2
