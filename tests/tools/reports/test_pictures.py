"""Pictures: every task and dependency is there, no text is wider than its box, a page needs nothing from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from functools import cache
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import pytest
from concrete_support import gpt3_plan, gpt3_training_plan
from concrete_support import plan as sample
from support import EXAMPLES, derive, example, network_text, read, run

from bpir.dialects.levels import PortablePlanIR
from bpir.ir.expressions.expression import constant, symbol
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.tools import bp_report
from bpir.tools.picture.graph import Node, graph_of
from bpir.tools.picture.layout import HEIGHT, NAME_SIZE, WHAT_SIZE, Picture, laid_out
from bpir.tools.picture.mermaid import render_mermaid
from bpir.tools.picture.style import text_width
from bpir.tools.picture.svg import render_svg
from bpir.tools.picture.units import exact, readable_bytes, readable_operations

SVG = "{http://www.w3.org/2000/svg}"


@cache
def network_plan() -> Operation:
    return run(read(network_text()), "distribute-inference", "plan-inference")


@cache
def network_training() -> Operation:
    return run(read(network_text()), "distribute-training", "plan-training")


MODULES = {
    "decode": gpt3_plan,
    "training": gpt3_training_plan,
    "kinds": sample,
    "queues": lambda: run(gpt3_training_plan(), "bind-queue"),
    "kinds on queues": lambda: run(sample(), "bind-queue"),
    "network": network_plan,
    "network in training": network_training,
    "distributed network": lambda: run(read(network_text()), "distribute-training"),
}


@pytest.fixture(params=MODULES)
def module(request: pytest.FixtureRequest) -> Operation:
    made = MODULES[request.param]()
    assert isinstance(made, Operation)
    return made


def drawn(picture: Picture) -> set[tuple[str, str]]:
    """The dependencies that are drawn."""
    kinds = ("data", "order")
    return {(picture.boxes[a.source].node.name, picture.boxes[a.target].node.name) for a in picture.arrows if a.kind in kinds}


def test_every_task_and_every_dependency_is_drawn(module: Operation) -> None:
    graph = graph_of(module)
    picture = laid_out(graph)
    assert [box.node for box in picture.boxes] == list(graph.nodes)
    assert drawn(picture) == {(name, node.name) for node in graph.nodes for name in node.after}


def test_boxes_hold_their_text_and_do_not_overlap(module: Operation) -> None:
    picture = laid_out(graph_of(module))
    for box in picture.boxes:
        assert text_width(box.name, NAME_SIZE) <= box.width - HEIGHT / 2  # the corners of a hexagon
        assert text_width(box.what, WHAT_SIZE) <= box.width - HEIGHT / 2
        assert box.x >= 0 and box.y >= 0
        assert box.x + box.width <= picture.width and box.y + HEIGHT <= picture.height
    for one, other in combinations(picture.boxes, 2):
        apart = one.x + one.width < other.x or other.x + other.width < one.x or abs(one.y - other.y) > HEIGHT
        assert apart, (one.node.name, other.node.name)
    for panel in picture.panels:
        assert panel.x + panel.width <= picture.width and panel.y + panel.height <= picture.height


def test_the_drawing_is_well_formed(module: Operation) -> None:
    text = render_svg(module)
    root = ET.fromstring(text.encode("latin-1"))
    tasks = [g for g in root.iter(f"{SVG}g") if "data-task" in g.attrib]
    assert [g.findtext(f"{SVG}title") for g in tasks] == [node.name for node in graph_of(module).nodes]
    assert text == render_svg(module)
    assert "prefers-color-scheme:dark" in text


def test_rows_follow_forward_and_go_against_backward() -> None:
    """Attention is above the MLP; a fork, which is only backward's, above the norm that it gathers the gradient of."""
    boxes = {box.node.name: box for box in laid_out(graph_of(gpt3_training_plan())).boxes}
    order = ["attention.fork.activation_gradient", "attention.layer_norm.forward", "attention.query.forward", "attention.residual.forward"]
    order += ["mlp.fork.activation_gradient", "mlp.layer_norm.forward", "mlp.residual.forward"]
    assert [boxes[name].row for name in order] == sorted({boxes[name].row for name in order})
    assert boxes["mlp.gelu.forward"].row == boxes["mlp.gelu.activation_gradient"].row
    columns = ["forward", "recompute", "activation_gradient", "weight_gradient", "optimizer"]
    layer = {"recompute": "attention.softmax"}
    found = [boxes[f"{layer.get(phase, 'mlp.expand')}.{phase}"].column for phase in columns]
    assert found == sorted(set(found))


def test_an_update_waits_without_reading() -> None:
    """The update of a weight is after the tasks that read it: it writes over what they read."""
    nodes = {node.name: node for node in graph_of(gpt3_training_plan()).nodes}
    update: Node = nodes["mlp.expand.optimizer"]
    assert update.orders == {"mlp.expand.forward", "mlp.expand.activation_gradient"}
    assert set(update.after) - update.orders == {"mlp.expand.weight_gradient"}


def test_sections_are_frames_that_say_how_often() -> None:
    picture = laid_out(graph_of(network_plan(), {"L": constant(7)}))
    assert [panel.label for panel in picture.panels] == ["block, 8 times"]
    assert [panel.label for panel in laid_out(graph_of(network_plan())).panels] == ["block, L + 1 times"]


def test_thick_arrows_go_the_way_of_values() -> None:
    """Forward ends at a residual and backward at a fork; no arrow between blocks begins or ends at a weight or at what is repeated."""
    text = network_text().replace("model.call @block %y", "model.call @last %y").rstrip().removesuffix("}")
    block = """  model.block @last(%x: !bp.tensor<B x S x H, e>) {
    %n = model.rms_norm "last.norm" %x
    model.return %n
  }
}
"""
    picture = laid_out(graph_of(run(read(text + block), "distribute-training{recompute=full}", "plan-training")))
    ends = {(picture.boxes[a.source].node.name, picture.boxes[a.target].node.name) for a in picture.arrows if a.kind == "frames"}
    phases = {name.rpartition(".")[2] for pair in ends for name in pair}
    assert phases == {"forward", "activation_gradient"}


def test_mermaid_names_every_task_and_dependency(module: Operation) -> None:
    graph = graph_of(module)
    text = render_mermaid(module)
    assert len(re.findall(r"^ +t\d+[(\[>{].*:::\w+$", text, re.MULTILINE)) == len(graph.nodes)
    edges = re.findall(r"^  t(\d+) (?:-->|-\.->) t(\d+)$", text, re.MULTILINE)
    assert {(graph.nodes[int(a)].name, graph.nodes[int(b)].name) for a, b in edges} == {(x, n.name) for n in graph.nodes for x in n.after}
    assert text.count("subgraph") == len(re.findall(r"^  end$", text, re.MULTILINE))


@pytest.mark.parametrize(
    ("value", "bytes_", "operations"),
    [
        ("0", "0 B", "0 ops"),
        ("999", "999 B", "999 ops"),
        ("1000", "1,000 B", "1.00 K ops"),
        ("1024", "1.00 KiB", "1.02 K ops"),
        ("1535", "1.50 KiB", "1.54 K ops"),
        ("999499", "976 KiB", "999 K ops"),
        ("999500", "976 KiB", "1.00 M ops"),
        ("6466830336", "6.02 GiB", "6.47 G ops"),
        ("-50331648", "-48.0 MiB", "-50.3 M ops"),
        (str(2**80), "1,048,576 EiB", "1,208,926 E ops"),
    ],
)
def test_units(value: str, bytes_: str, operations: str) -> None:
    found = constant(int(value))
    assert (readable_bytes(found), readable_operations(found)) == (bytes_, operations)


def test_expressions_keep_their_text() -> None:
    value = constant(2) * symbol("B") / symbol("t")
    assert (readable_bytes(value), readable_operations(value), exact(value)) == ("2*B/t bytes", "2*B/t ops", "2*B/t")
    assert exact(constant(6466830336)) == "6,466,830,336"


class _Page(HTMLParser):
    """The addresses that a page names, its tasks, and whether its elements are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.tasks = 0
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "action", "data")]
        self.tasks += any(name == "data-task" for name, _ in attrs)
        if tag not in ("meta", "rect", "path", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def page(tmp_path: Path, *modules: Operation, options: tuple[str, ...] = ()) -> str:
    files = []
    for index, module in enumerate(modules):
        files.append(tmp_path / f"{index}.bpir")
        files[-1].write_bytes(print_module(module).encode("latin-1"))
    out = tmp_path / "page.html"
    assert bp_report.main([*map(str, files), "--format=html", "-o", str(out), *options]) == 0
    return out.read_text(encoding="utf-8")


def test_a_page_needs_nothing_from_elsewhere(tmp_path: Path, module: Operation) -> None:
    text = page(tmp_path, module)
    found = _Page(text)
    assert found.open == [] and found.addresses == []
    assert found.tasks == len(graph_of(module).nodes)
    assert set(re.findall(r"\w+://[^\s\"')]+", text)) == {"http://www.w3.org/2000/svg"}
    assert "@import" not in text and text.count("url(") == text.count("url(#")


@pytest.mark.campaign(keep=4)
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_has_a_page(tmp_path: Path, name: str) -> None:
    assert _Page(page(tmp_path, derive(name, "plan"))).tasks == len(PortablePlanIR(derive(name, "plan")).tasks)


def test_a_page_shows_numbers_with_units(tmp_path: Path) -> None:
    """Of the decode block of GPT-3 on 8 ranks: weights by hand, `12*H*H/8` and what is not sharded, in bf16."""
    text = page(tmp_path, gpt3_plan(), options=("--bind", "t=8", "B=1", "c=2048"))
    words = _Page(text).words
    plan = PortablePlanIR(gpt3_plan())
    numbers = {"t": constant(8), "B": constant(1), "c": constant(2048), "H": constant(12288), "F": constant(49152)}
    numbers |= {"h": constant(96), "d": constant(128), "e": constant(2)}
    weights = sum((b.size.substitute(numbers).integer or 0) for b in plan.buffers if b.role == "constant")
    assert weights // 2 >= 12 * 12288**2 // 8
    assert readable_bytes(constant(weights)) == "432 MiB"
    assert "432 MiB" in words
    assert f'title="{weights:,} bytes"' in text
    assert "Bars need numbers" not in text
    assert "Bars need numbers for B, c, t: give them with --bind." in page(tmp_path, gpt3_plan())


def test_a_page_of_two_marks_what_differs(tmp_path: Path) -> None:
    options = "tensor=8 all_gather_redo=false communication="
    one, other = (run(read(print_module(_training())), f"distribute-training{{{options}{c}}}", "plan-training") for c in _COMMUNICATION)
    text = page(tmp_path, one, other, options=("--bind", "t=8"))
    found = _Page(text)
    assert found.open == [] and found.addresses == []
    assert found.tasks == sum(len(PortablePlanIR(module).tasks) for module in (one, other))
    marked = re.findall(r'<g class="task \w+ marked" data-task="\d+"><title>(.*?)$', text, re.MULTILINE)
    assert marked.count("attention.layer_norm.forward") == 2
    assert marked.count("attention.input_collective.forward") == 1
    assert marked.count("mlp.expand.forward") == 0


_COMMUNICATION = ("all_reduce", "reduce_scatter_all_gather")


def _training() -> Operation:
    return example("gpt3_175b_training")


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
_MEASURE = """
<script>
const wrong=[];
const inside=(a,b)=>a.left>=b.left-.5&&a.right<=b.right+.5&&a.top>=b.top-.5&&a.bottom<=b.bottom+.5;
for(const g of document.querySelectorAll('.task')){const box=g.querySelector('path').getBoundingClientRect();
for(const t of g.querySelectorAll('text'))if(!inside(t.getBoundingClientRect(),box))wrong.push(t.textContent)}
for(const svg of document.querySelectorAll('svg')){const box=svg.getBoundingClientRect();
for(const t of svg.querySelectorAll('text'))if(!inside(t.getBoundingClientRect(),box))wrong.push('out: '+t.textContent)}
for(const e of document.querySelectorAll('body *:not(svg *)'))
if(e.scrollWidth>e.clientWidth+1&&getComputedStyle(e).overflowX!=='auto'&&e.clientWidth)wrong.push('wide: '+e.className+' '+e.tagName);
if(document.documentElement.scrollWidth>innerWidth)wrong.push('the page is '+document.documentElement.scrollWidth);
document.body.textContent='measured '+document.title+JSON.stringify(wrong);
</script>
"""


@pytest.mark.campaign(keep=2)
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize("width", [480, 1400])
@pytest.mark.parametrize("name", ["training", "network in training", "kinds on queues"])
def test_no_text_is_cut_in_a_browser(tmp_path: Path, name: str, width: int) -> None:
    """Every label as wide as the browser draws it is inside its box, and nothing makes the page wider than the window."""
    text = page(tmp_path, MODULES[name](), options=() if name == "kinds on queues" else ("--bind", "t=8"))
    (tmp_path / "measured.html").write_text(text.replace("</body>", _MEASURE + "</body>"), encoding="utf-8")
    assert CHROMIUM is not None
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
    flags += [f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},900", "--dump-dom", f"file://{tmp_path / 'measured.html'}"]
    done = subprocess.run([CHROMIUM, *flags], capture_output=True, text=True, timeout=120)
    found = re.search(r"measured .*?(\[.*\])", done.stdout)
    assert found is not None, done.stderr[-500:]
    assert found[1] == "[]"
