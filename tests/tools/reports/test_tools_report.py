"""bp-report prints JSON for programs, and tables for people."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from bpir.ir.expressions.expression import ZERO, Expr, constant, symbol
from bpir.tools import bindings as given
from bpir.tools import bp_report
from bpir.tools.common import report
from bpir.tools.options import UsageError, parse
from bpir.tools.reports.numbers import unused
from bpir.tools.reports.report import Report, TaskRow, Work
from bpir.tools.reports.report_json import number, render_json
from bpir.tools.reports.report_text import render_csv, render_markdown, render_table, tables

B, S, t = symbol("B"), symbol("S"), symbol("t")


def task(layer: str, phase: str, collective: str | None = None, **work: Expr) -> TaskRow:
    return TaskRow(f"{layer}.{phase}", layer, phase, Work(**work), collective)


REPORT = Report(
    "block",
    "plan",
    (
        task("a.query", "forward", ops=6 * B * S, read=B, write=S, matmul=4 * B * S),
        task("a.query", "recompute", ops=B * S),
        task("a.out", "forward", "all_reduce", ops=B * S / t, msg=B * S),
    ),
    memory={"weights": 12 * S, "workspace": ZERO},
    layers={"a.query": {"weight_bytes": S, "activation_stored": True}, "a.kept": {"output_bytes": B / 3}},
)
NUMBERS = {"B": constant(3), "S": constant(1_000_000), "t": constant(7)}


def as_json(report: Report) -> Any:
    return json.loads(render_json(report))


def test_an_integer_is_a_number_a_fraction_a_string_the_rest_expressions() -> None:
    assert number(constant(2**80)) == 2**80
    assert number(constant(3) / 7) == "3/7"
    assert number(ZERO) == 0
    assert number(2 * B) == "2*B"
    assert number(True) is True


def test_json_holds_tasks_layers_totals_and_memory() -> None:
    found = as_json(REPORT)
    assert (found["module"], found["level"]) == ("block", "plan")
    assert found["tasks"][0] == {
        "name": "a.query.forward",
        "layer": "a.query",
        "phase": "forward",
        "kind": "compute",
        "collective": None,
        "ops": "6*B*S",
        "read": "B",
        "write": "S",
        "msg": 0,
        "matmul": "4*B*S",
        "times": 1,
        "source": "",
        "after": [],
        "reads": [],
        "writes": [],
    }
    assert (found["tasks"][2]["kind"], found["tasks"][2]["collective"]) == ("collective", "all_reduce")
    assert found["memory"] == {"weights": "12*S", "workspace": 0}
    query, out, kept = found["layers"]
    assert query["phases"]["recompute"] == {"ops": "B*S", "read": 0, "write": 0, "msg": 0, "collective": None}
    assert (query["weight_bytes"], query["activation_stored"]) == ("S", True)
    assert out["phases"]["forward"]["collective"] == "all_reduce"
    assert kept == {"name": "a.kept", "phases": {}, "output_bytes": "B/3"}


def test_totals_are_sums_over_tasks_and_over_phases() -> None:
    totals = as_json(REPORT.bound(NUMBERS))["totals"]
    assert totals["ops"] == "150000000/7"
    assert totals["matmul_ops"] == 12_000_000
    assert totals["by_phase"]["recompute"] == {"ops": 3_000_000, "read": 0, "write": 0, "msg": 0, "matmul_ops": 0}
    assert totals["by_phase"]["forward"]["msg"] == totals["msg"] == 3_000_000


def test_a_model_has_parameters_only() -> None:
    found = as_json(Report("m", "model", parameters={"a": 4 * B, "b": 3 * B}))
    assert found == {"module": "m", "level": "model", "parameters": {"a": "4*B", "b": "3*B", "total": "7*B"}}


def test_a_table_aligns_numbers_to_the_right() -> None:
    assert render_table(tables(REPORT.bound({**NUMBERS, "t": constant(1)}), "phase")) == (
        "phase             ops  read      write        msg\n"
        "---------  ----------  ----  ---------  ---------\n"
        "forward    21,000,000     3  1,000,000  3,000,000\n"
        "recompute   3,000,000     0          0          0\n"
        "total      24,000,000     3  1,000,000  3,000,000\n"
        "\n"
        "memory          bytes\n"
        "---------  ----------\n"
        "weights    12,000,000\n"
        "workspace           0\n"
    )


def test_a_wide_table_becomes_one_value_a_line() -> None:
    long = (B + S + t) ** 6
    text = render_table(tables(Report("m", "dist", (task("l", "forward", ops=long),)), "total"))
    assert text == f"total\n    ops    {long.text}\n"


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("task", ["a.query.forward", "a.query.recompute", "a.out.forward", "total"]),
        ("phase", ["forward", "recompute", "total"]),
        ("layer", ["a.query", "a.out", "total"]),
        ("total", ["total"]),
    ],
)
def test_csv_is_exact_and_rectangular(by: str, names: list[str]) -> None:
    work, memory = render_csv(tables(REPORT, by)).split("\n\n")
    assert memory.splitlines() == ["memory,bytes", *(f"{name},{value.text}" for name, value in REPORT.memory.items())]
    rows = list(csv.reader(io.StringIO(work)))
    assert [row[0] for row in rows[1:]] == names
    assert {len(row) for row in rows} == {len(rows[0])}
    assert rows[0][-4:] == ["ops", "read", "write", "msg"]
    assert rows[-1][-4] == (7 * B * S + B * S / t).text


def test_markdown_shows_products_as_code() -> None:
    text = render_markdown(tables(Report("m", "model", parameters={"a.w": 2 * B, "b.w": constant(4096)}), "task"))
    assert text.splitlines() == [
        "| parameters | elements |",
        "| :-- | --: |",
        "| a.w | `2*B` |",
        "| b.w | 4,096 |",
        "| total | `2*B + 4096` |",
    ]


def bindings(*arguments: str) -> tuple[dict[str, int], list[str]]:
    parsed = parse(list(arguments), bp_report.TOOL.table)
    return given.bindings(parsed), parsed.positional


def test_numbers_may_be_listed() -> None:
    expected = ({"B": 1, "S": 2048, "t": 8}, ["in.bpir"])
    assert bindings("in.bpir", "--bind", "B=1", "S=2048", "t=8") == expected
    assert bindings("--bind=B=1,S=2048", "in.bpir", "--bind=t=8") == expected
    assert bindings("S=1") == ({}, ["S=1"])  # a file name, where nothing is bound


@pytest.mark.parametrize("text", ["B", "B=", "B=x", "B=0", "B=-1", "B=1.5", "=1"])
def test_a_symbol_is_a_positive_integer(text: str) -> None:
    with pytest.raises(UsageError, match="expects NAME=NUMBER"):
        bindings("--bind", text)


def test_a_name_that_binds_nothing_is_mentioned(capsys: pytest.CaptureFixture[str]) -> None:
    report(unused({"B": 1, "s": 2}, REPORT.symbols(), "--bind "))
    assert capsys.readouterr().err == "warning: --bind s: no such symbol in the report; it has B, S, t\n"
