"""Whole models from their configurations against PyTorch: operations, parameters, KV cache (`tests/data/README.md`).

PyTorch counts matrix products, attention dense, the head on every position. Each model and phase is derived once, with batch and context as
symbols; then the rows are numbers of one expression.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from support import DATA, read, report, run

from bpir.importer.entry import import_model
from bpir.ir.diagnostic import Source
from bpir.ir.expressions.expression import constant
from bpir.ir.operation import Operation
from bpir.tools.reports.report import Report
from bpir.verifiers.structure import module as structure

ROWS = {row["model"]: row for row in map(json.loads, (DATA / "whole_models.jsonl").read_text().splitlines())}


@cache
def model(name: str) -> Operation:
    module = read(import_model(Source(f"{name}.json", json.dumps(ROWS[name]["config"]))).text)
    assert structure.verify(module) == []
    return module


@cache
def step(name: str, phase: str) -> Report:
    """One step on one rank: `B` sequences, `c` visible tokens."""
    return report(run(model(name), f"distribute-inference{{phase={phase} tensor=1 head=all}}", "plan-inference"))


def at(found: Report, **numbers: int) -> Report:
    return found.bound({name: constant(value) for name, value in numbers.items()})


def matrix_products(found: Report) -> int | None:
    total = sum((task.in_all.matmul for task in found.tasks), start=constant(0))
    return total.integer


def test_the_oracle_has_all_models() -> None:
    assert len(ROWS) == 30
    assert sum(len(row.get(phase, ())) for row in ROWS.values() for phase in ("prefill", "decode")) == 291


@pytest.mark.campaign(keep=15)
@pytest.mark.parametrize("phase", ["prefill", "decode"])
@pytest.mark.parametrize("name", ROWS)
def test_every_step_counts_what_pytorch_counts(name: str, phase: str) -> None:
    for batch, context, operations in ROWS[name].get(phase, ()):
        assert matrix_products(at(step(name, phase), B=batch, c=context)) == operations, (batch, context)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if "parameters" in row])
def test_parameters_embedding_and_head(name: str) -> None:
    expected: dict[str, Any] = ROWS[name]["parameters"]
    found = report(model(name)).network
    assert found is not None
    assert (found.total.integer, found.embedding.integer, found.head.integer) == (
        expected["total"],
        expected["embedding"],
        expected["head"],
    )


@pytest.mark.campaign(keep=5)
@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if "kv_bytes_per_token" in row])
def test_the_cache_of_a_token(name: str) -> None:
    found = at(step(name, "decode"), B=1, c=64).memory["kv_cache"].integer
    assert found == 64 * ROWS[name]["kv_bytes_per_token"]
