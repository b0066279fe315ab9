"""`bp-report --format=dot`: every task and dependency is drawn, shapes say what it is, colours in which phase."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from concrete_support import gpt3_plan, gpt3_training_plan, plan
from raw import names_of
from support import example, run

from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.operation import Operation
from bpir.tools.picture.dot import SHAPES, render_dot
from bpir.tools.picture.style import COLORS

NODE = re.compile(r"^ +(t\d+) \[label=\"(.*?)\", (.*), fillcolor=\"(#\w+)\"\];$", re.MULTILINE)
EDGE = re.compile(r"^  (t\d+) -> (t\d+);$", re.MULTILINE)
ORDER = re.compile(r"^  (t\d+) -> (t\d+) \[style=dotted", re.MULTILINE)


def drawn(module: Operation) -> tuple[dict[str, tuple[str, str]], set[tuple[str, str]]]:
    """The style of each node by its first label line and phase, and the dependencies."""
    text = render_dot(module)
    names = {number: label for number, label, _, _ in NODE.findall(text)}
    return {label: (style, color) for _, label, style, color in NODE.findall(text)}, {(names[a], names[b]) for a, b in EDGE.findall(text)}


def test_every_task_and_every_dependency_is_drawn() -> None:
    nodes, edges = drawn(gpt3_training_plan())
    tasks = [o for o in gpt3_training_plan().body if o.name == "plan.task"]
    assert len(nodes) == len(tasks)
    assert len(edges) == sum(len(names_of(t, "after")) for t in tasks)


@pytest.mark.parametrize("passes", [(), ("bind-queue",), ("bind-slot",)])
def test_kinds_have_shapes_and_phases_have_colours(passes: tuple[str, ...]) -> None:
    nodes, _ = drawn(run(plan(), *passes))
    styles = {label.split("\\n")[0]: style for label, style in nodes.items()}
    assert styles["left"] == (SHAPES["compute"], COLORS["forward"])
    assert styles["sum"][0] == SHAPES["collective"]
    assert styles["send"][0] == SHAPES["transfer"]
    assert styles["fence"][0] == SHAPES["barrier"]
    assert styles["sample"][0] == SHAPES["host"]
    assert len({style for style, _ in styles.values()}) == 5
    phases = {"forward", "recompute", "activation_gradient", "weight_gradient", "gradient_reduction", "optimizer"}
    assert len({color for _, color in drawn(gpt3_training_plan())[0].values()}) == len(phases)


def test_queues_are_columns_with_their_issue_order() -> None:
    text = render_dot(run(plan(), "bind-queue"))
    assert [q for q in ("compute", "collective", "transfer", "host") if f'label="{q} queue"' in text] == [
        "compute",
        "collective",
        "transfer",
        "host",
    ]
    assert len(ORDER.findall(text)) == 2  # left, right; fence, sample
    assert "queue" not in render_dot(plan())


def test_a_dist_module_is_drawn_too() -> None:
    dist, planned = (drawn(m) for m in (run(example("gpt3_175b"), "distribute-inference"), gpt3_plan()))
    assert dist == planned


def test_a_model_has_no_tasks() -> None:
    with pytest.raises(DiagnosticError, match="a module of level 'model' can't be drawn"):
        render_dot(example("gpt3_175b"))


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("source", [gpt3_plan, gpt3_training_plan], ids=["inference", "training"])
def test_graphviz_accepts_the_picture(source: object) -> None:
    assert callable(source)
    module = run(source(), "bind-queue")
    assert subprocess.run(["dot", "-Tplain"], input=render_dot(module).encode("latin-1"), capture_output=True).stderr == b""
