"""`bp-report A B` shows the differences of two modules task by task: by hand on small reports, and by sums on derived ones."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from support import example, read, report, run

from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.expressions.expression import ONE, Expr, constant, symbol
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.tools import bp_report
from bpir.tools.reports.compare import Difference, compared
from bpir.tools.reports.report import Report, TaskRow, Work, summed


def task(name: str, ops: int | Expr, msg: int = 0, times: Expr = ONE, operation: str = "linear", phase: str = "forward") -> TaskRow:
    amount = ops if isinstance(ops, Expr) else constant(ops)
    return TaskRow(f"{name}.{phase}", name, phase, Work(ops=amount, msg=constant(msg)), times=times, operation=operation)


def of(*tasks: TaskRow, **memory: int) -> Report:
    return Report("m", "plan", tasks, {name: constant(size) for name, size in memory.items()})


def test_what_differs_task_by_task() -> None:
    one = of(task("a", 8), task("b", 5, msg=7), task("c", 1, operation="add"), weights=10, workspace=3)
    other = of(task("a", 8), task("new", 4), task("c", 1, times=constant(3), operation="sub"), weights=12, workspace=3)
    found = compared(one, other)
    assert found.tasks == [
        Difference("new.forward", "operation", None, "linear"),
        Difference("new.forward", "ops", None, constant(4)),
        Difference("b.forward", "operation", "linear", None),
        Difference("b.forward", "ops", constant(5), None),
        Difference("b.forward", "msg", constant(7), None),
        Difference("c.forward", "operation", "add", "sub"),
        Difference("c.forward", "times", ONE, constant(3)),
    ]
    assert found.totals == [Difference("total", "ops", constant(14), constant(15)), Difference("total", "msg", constant(7), constant(0))]
    assert found.memory == [Difference("weights", "bytes", constant(10), constant(12))]
    assert [d.change for d in found.totals] == [constant(1), constant(-7)]
    assert found.only == {"b.forward": 0, "new.forward": 1}


def test_equal_reports_have_no_difference() -> None:
    one = of(task("a", symbol("B") * 2), weights=1)
    assert not compared(one, of(task("a", symbol("B") + symbol("B")), weights=1))


def test_groups_are_sums_over_all_runs() -> None:
    one = of(task("a", 8, times=constant(2)), task("a", 3, phase="backward"), task("b", 1))
    other = of(task("a", 16), task("a", 3, phase="backward"), task("b", 2))
    assert [(d.of, d.one, d.other) for d in compared(one, other, "phase").tasks] == [("forward", constant(17), constant(18))]
    assert [(d.of, d.one, d.other) for d in compared(one, other, "layer").tasks] == [("b", ONE, constant(2))]


def derived(communication: str) -> Operation:
    options = f"tensor=8 recompute=none all_gather_redo=false communication={communication}"
    return run(example("gpt3_175b_training"), f"distribute-training{{{options}}}", "plan-training")


def test_the_changes_of_tasks_add_up_to_the_change_of_the_total() -> None:
    one, other = (report(derived(c)) for c in ("all_reduce", "reduce_scatter_all_gather"))
    found = compared(one, other)
    for what in ("ops", "read", "write", "msg"):
        changes = [d.change for d in found.tasks if d.what == what]
        ends = [getattr(summed(t.in_all for t in r.tasks), what) for r in (one, other)]
        assert sum(c.integer or 0 for c in changes if isinstance(c, Expr)) == (ends[1] - ends[0]).integer
    # Sequence parallelism does the norms, dropout and residuals of a block once instead of on each of 8 ranks.
    layer_norm = next(d for d in found.tasks if (d.of, d.what) == ("mlp.layer_norm.forward", "ops"))
    assert layer_norm.change == constant(9 * 2048 * 12288 // 8 - 9 * 2048 * 12288)


def test_models_are_compared_by_their_weights() -> None:
    one, other = report(example("gpt2")), report(example("opt_6_7b"))
    with pytest.raises(DiagnosticError, match="have nothing that could differ"):
        compared(one, of(task("a", 1)))
    found = compared(one, other)
    assert {d.what for d in found.tasks} == {"elements"}
    assert len(found.totals) == 1


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = []
    for communication in ("all_reduce", "reduce_scatter_all_gather"):
        path = tmp_path / f"{communication}.bpir"
        path.write_bytes(print_module(derived(communication)).encode("latin-1"))
        paths.append(str(path))
    return paths


def test_the_formats_say_the_same(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert bp_report.main([*files, "--format=json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert bp_report.main([*files, "--format=csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out.split("\n\n")[0])))
    assert rows[0] == ["task", "of", "A", "B", "B - A"]
    ends = [[row[key] for key in ("of", "what", "a", "b", "difference")] for row in [*document["tasks"], *document["totals"]]]
    shown = [["" if value is None and key > 3 else "-" if value is None else str(value) for key, value in enumerate(row)] for row in ends]
    assert rows[1:] == shown
    assert bp_report.main([files[0], files[0], "--format=json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"by": "task", "tasks": [], "totals": [], "memory": []}


def test_numbers_go_to_both(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = "bp.symbols B, H\nbind.workload @w inference {phase = decode, context = 9}\nbind.strategy @s {tensor = 1}\n"
    paths = []
    for act in ("gelu", "silu"):
        block = f'model.block @b(%x: !bp.tensor<B x S x H, bf16>) {{\n  %y = model.{act} "act" %x\n  model.return %y\n}}\n'
        path = tmp_path / f"{act}.bpir"
        module = run(read(text.replace("B, H", "B, S, H") + block), "distribute-inference", "plan-inference")
        path.write_bytes(print_module(module).encode("latin-1"))
        paths.append(str(path))
    assert bp_report.main([*paths, "--format=csv", "--bind", "B=2", "H=10"]) == 0
    out = capsys.readouterr().out
    assert "act.decode,ops,160,100,-60\n" in out  # 8 and 5 operations an element of 2*1*10
    assert "act.decode,operation,gelu,silu,\n" in out
