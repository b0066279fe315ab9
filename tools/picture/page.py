"""A page in one file: the graph of tasks with their work, memory as bars, lifetimes of buffers; of one module, or of two side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import attrs

from bpir.ir.expressions.expression import ONE, Expr
from bpir.ir.operation import Operation
from bpir.tools.picture.graph import graph_of
from bpir.tools.picture.layout import laid_out
from bpir.tools.picture.lifetimes import lifetimes
from bpir.tools.picture.style import FONT, variables
from bpir.tools.picture.svg import RULES, svg_of
from bpir.tools.picture.units import exact, readable_bytes, readable_operations
from bpir.tools.reports.compare import COMPONENTS, Comparison, Difference
from bpir.tools.reports.report import MEANINGS, Report, TaskRow, summed

_STYLE = """*{box-sizing:border-box}
body{margin:0;padding:24px;background:var(--paper);color:var(--ink);
font:14px/1.45 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}
h1{font-size:20px;margin:0 0 4px;overflow-wrap:anywhere} h2{font-size:15px;margin:28px 0 8px;overflow-wrap:anywhere} p{margin:4px 0}
td,th{font-family:FONT;font-size:12px}
.faint{color:var(--faint);overflow-wrap:anywhere}
.tiles{display:flex;flex-wrap:wrap;gap:10px;margin:12px 0}
.tile{background:var(--panel);border:1px solid var(--rule);border-radius:8px;padding:8px 14px;min-width:120px;max-width:100%}
.tile b{display:block;font-size:17px;overflow-wrap:anywhere} .tile b.long{font:12px FONT}
.files{display:grid;gap:32px;align-items:start;grid-template-columns:minmax(0,1fr)}
@media (min-width:900px){.files.two{grid-template-columns:minmax(0,1fr) minmax(0,1fr)}}
.scroll{overflow:auto;border:1px solid var(--rule);border-radius:8px;padding:4px;max-width:100%}
.scroll svg{display:block}
.bars{display:grid;grid-template-columns:max-content minmax(60px,1fr) max-content;gap:5px 12px;align-items:center}
.bar{height:14px;border-radius:3px;background:var(--panel);overflow:hidden}
.bar i{display:block;height:100%;background:var(--r-input)} .bar.peak i{background:var(--warm)}
.end{text-align:right;font-family:FONT;font-size:12px;white-space:nowrap}
.bars.symbolic{grid-template-columns:max-content minmax(0,1fr)}
.symbolic .end{white-space:normal;overflow-wrap:anywhere;text-align:left}
table{border-collapse:collapse}
td,th{padding:3px 10px;border-bottom:1px solid var(--rule);text-align:right;vertical-align:top;overflow-wrap:anywhere}
td.w,th.w{text-align:left} .from{color:var(--faint)}
.keys{display:flex;flex-wrap:wrap;gap:4px 14px;margin:6px 0;font-size:12px}
.keys i{display:inline-block;width:12px;height:12px;border-radius:3px;margin-right:5px;vertical-align:-2px}
.task,.life{cursor:default} .task:hover .shape,.life:hover rect{stroke:var(--ink);stroke-width:2.2}
.task.marked .shape{stroke:var(--warm);stroke-width:2.6}
.arrow.lit{stroke:var(--warm);stroke-width:2.2;opacity:1}
.life text{font-size:10px} .axis{font-size:10px;fill:var(--faint)} .life .axis{fill:var(--faint)} .grid{stroke:var(--rule)}
#tip{position:fixed;z-index:9;pointer-events:none;background:var(--panel);border:1px solid var(--rule);border-radius:8px;
padding:8px 12px;box-shadow:0 4px 16px rgba(0,0,0,.18);font-family:FONT;font-size:12px;white-space:pre-wrap;
max-width:min(560px,90vw);overflow-wrap:anywhere;display:none}
""".replace("FONT", FONT)

_SCRIPT = """const tip=document.createElement('div');tip.id='tip';document.body.append(tip);
for(const svg of document.querySelectorAll('svg')){
const lit=task=>{for(const a of svg.querySelectorAll('.arrow'))
a.classList.toggle('lit',task!==null&&(a.dataset.from===task||a.dataset.to===task))};
for(const g of svg.querySelectorAll('.task,.life')){
const title=g.querySelector('title');const text=title.textContent;title.remove();g.setAttribute('aria-label',text);
g.addEventListener('pointermove',e=>{tip.textContent=text;tip.style.display='block';
tip.style.left=Math.max(4,Math.min(e.clientX+14,innerWidth-tip.offsetWidth-8))+'px';
tip.style.top=Math.max(4,e.clientY+16+tip.offsetHeight>innerHeight?e.clientY-tip.offsetHeight-10:e.clientY+16)+'px';
if(g.dataset.task)lit(g.dataset.task)});
g.addEventListener('pointerleave',()=>{tip.style.display='none';lit(null)})}}
for(const kind of ['tasks','lives']){const both=[...document.querySelectorAll('.scroll.'+kind)];
for(const one of both)one.addEventListener('scroll',()=>{for(const other of both)if(other!==one){
other.scrollLeft=one.scrollLeft;other.scrollTop=one.scrollTop}})}
"""


@attrs.frozen
class Shown:
    """A module on a page: its file, what is drawn, and its report with numbers in place of symbols."""

    file: str
    module: Operation
    report: Report


def render_page(shown: Sequence[Shown], comparison: Comparison | None = None) -> str:
    """The page of one module, or of two beside each other with what differs.

    Raises:
        DiagnosticError: a module has no tasks: it is not of level dist, plan or concrete.
    """
    titles = " and ".join(dict.fromkeys(one.report.module or "module" for one in shown))
    two = " two" if len(shown) > 1 else ""
    most = _largest(shown)
    marked = comparison.changed if comparison is not None else []
    body = [f"<h1>{escape(titles)}</h1>"]
    if comparison is not None:
        body += _differences(comparison, [one.file for one in shown])
    body.append(f'<div class="files{two}">')
    for index, one in enumerate(shown):
        body += ["<section>", *_module(one, "AB"[index] if two else "", most, marked), "</section>"]
    body.append("</div>")
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(titles)}</title>\n<style>\n{variables(':root')}{RULES}{_STYLE}</style></head>\n<body>\n"
    )
    return head + "\n".join(body) + f"\n<script>\n{_SCRIPT}</script>\n</body></html>\n"


def _module(one: Shown, letter: str, most: int, marked: Iterable[str]) -> list[str]:
    report = one.report
    names = f"<h2>{letter}: {escape(one.file)}</h2>" if letter else ""
    numbers = ", ".join(f"{name} = {exact(value)}" for name, value in sorted(report.numbers.items()))
    about = f"one rank, level {report.level}" + (f"; {escape(numbers)}" if numbers else "")
    notes = {task.name: _note(task) for task in report.tasks}
    graph = svg_of(laid_out(graph_of(one.module, report.numbers)), notes=notes, marked=marked, prefix=f"g{letter}")
    kept = [buffer for buffer in report.buffers if buffer.live]
    found = [names, f'<p class="faint">{about}</p>', _tiles(report), "<h2>Memory of a rank</h2>", *_bars(report, most)]
    found += ["<h2>Tasks</h2>", f'<div class="scroll tasks">{graph}</div>']
    if kept:
        found += ["<h2>Buffers and when they live</h2>", *lifetimes(report)]
    return found


def _tiles(report: Report) -> str:
    def long(value: Expr) -> str:
        return "" if value.integer is not None else ' class="long"'

    work = summed(task.in_all for task in report.tasks)
    rows = [
        ("operations", readable_operations(work.ops), work.ops),
        ("in matrix products", readable_operations(work.matmul), work.matmul),
        ("read", readable_bytes(work.read), work.read),
        ("written", readable_bytes(work.write), work.write),
        ("messages", readable_bytes(work.msg), work.msg),
    ]
    tiles = [
        f'<div class="tile" title="{escape(exact(value))}"><span class="faint">{name}</span><b>{escape(text)}</b></div>'
        for name, text, value in rows
    ]
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _bars(report: Report, most: int) -> list[str]:
    memory = report.memory_and_peak()
    if any(value.integer is None for value in memory.values()):
        rows = [f'<span>{escape(name)}</span><span class="end">{escape(exact(value))} bytes</span>' for name, value in memory.items()]
        needed = ", ".join(sorted({name for value in memory.values() for name in value.symbols}))
        hint = f'<p class="faint">Bars need numbers for {escape(needed)}: give them with --bind.</p>'
        return ['<div class="bars symbolic">', *rows, "</div>", hint]
    found = ['<div class="bars">']
    for name, value in memory.items():
        share = 100 * (value.integer or 0) / most if most else 0
        meaning = escape(MEANINGS.get(name, ""))
        kind = " peak" if name == "peak" else ""
        found.append(f'<span title="{meaning}">{escape(name)}</span><span class="bar{kind}"><i style="width:{share:.2f}%"></i></span>')
        found.append(f'<span class="end" title="{exact(value)} bytes">{readable_bytes(value)}</span>')
    return [*found, "</div>"]


def _largest(shown: Sequence[Shown]) -> int:
    """The largest number of bytes of any bar, so that the bars of two modules have one scale."""
    return max((value.integer or 0 for one in shown for value in one.report.memory_and_peak().values()), default=0)


def _note(task: TaskRow) -> str:
    """What is said of a task when a pointer is on it."""
    work = task.work
    lines = [task.name, f"{task.kind} {task.operation}" + (f", phase {task.phase}" if task.phase else "")]
    if task.times is not ONE:
        lines.append(f"runs {exact(task.times)} times; one run:")
    amounts = [("ops", work.ops, readable_operations), ("read", work.read, readable_bytes), ("written", work.write, readable_bytes)]
    for name, value, readable in [*amounts, ("message", work.msg, readable_bytes)]:
        if value.integer != 0:
            lines.append(f"{name:<8} {_amount(value, readable(value))}")
    for name, buffers in (("reads", task.reads), ("writes", task.writes)):
        if buffers:
            lines.append(f"{name:<8} {', '.join(buffers)}")
    return "\n".join(lines)


def _amount(value: Expr, readable: str) -> str:
    return f"{readable} ({value.integer:,})" if value.integer is not None and value.integer >= 1000 else readable


def _differences(found: Comparison, files: Sequence[str]) -> list[str]:
    names = f'<p class="faint">A is {escape(files[0])}, B is {escape(files[1])}. Tasks that differ are marked.</p>'
    if not found:
        return [names, "<p>There is no difference.</p>"]
    parts = [names]
    if found.totals or found.memory:
        parts += ["<h2>What differs in all</h2>", _totals([*found.totals, *found.memory])]
    if found.tasks:
        parts += [f"<h2>What differs, by {found.by}</h2>", f'<div class="scroll">{_tasks(found)}</div>']
    return parts


def _totals(rows: Sequence[Difference]) -> str:
    lines = ['<table><tr><th class="w"></th><th>A</th><th>B</th><th>B - A</th></tr>']
    for row in rows:
        name = f"{row.of} {row.what}" if row.what in COMPONENTS else row.of
        cells = "".join(f"<td>{_value(value, row.what)}</td>" for value in (row.one, row.other, row.change))
        lines.append(f'<tr><td class="w">{escape(name)}</td>{cells}</tr>')
    return "\n".join([*lines, "</table>"])


def _tasks(found: Comparison) -> str:
    """A row for each task, and a column for each thing that differs somewhere."""
    rows: dict[str, dict[str, Difference]] = {}
    for difference in found.tasks:
        rows.setdefault(difference.of, {})[difference.what] = difference
    columns = [what for what in ("operation", "times", "elements", *COMPONENTS) if any(what in row for row in rows.values())]
    heads = "".join(f"<th>{what}</th>" for what in columns)
    lines = [f'<table><tr><th class="w">{found.by}</th><th class="w">in</th>{heads}</tr>']
    for name, row in rows.items():
        where = "both" if name not in found.only else "AB"[found.only[name]]
        cells = "".join(f"<td>{_change(row[what]) if what in row else ''}</td>" for what in columns)
        lines.append(f'<tr><td class="w">{escape(name)}</td><td class="w">{where}</td>{cells}</tr>')
    return "\n".join([*lines, "</table>"])


def _change(row: Difference) -> str:
    if row.one is None or row.other is None:
        return _value(row.other if row.one is None else row.one, row.what)
    return f'<span class="from">{_value(row.one, row.what)} &rarr;</span> {_value(row.other, row.what)}'


def _value(value: Expr | str | None, what: str) -> str:
    if value is None or isinstance(value, str):
        return escape(value or "-")
    counted = what in ("times", "elements")
    readable = readable_operations(value) if what == "ops" else exact(value) if counted else readable_bytes(value)
    return f'<span title="{escape(exact(value))}">{escape(readable)}</span>'
