"""The same rows, byte for byte: in one process, on a cluster of two, and on one that loses a worker half-way."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import ROOT

from bpir.sweep.engines import Cluster, Engine, Local
from bpir.sweep.run import Request, Result, sweep

GRID = ("t=1,2,4,8", "D=1..6", "B=1..40", "recompute=none,full")


def request_of(grid: tuple[str, ...] = GRID) -> Request:
    path = ROOT / "examples" / "transformer_block.bpir"
    numbers = (("S", 2048), ("H", 4096), ("F", 16384), ("h", 32), ("d", 128), ("e", 2))
    return Request(str(path), path.read_text(encoding="latin-1"), True, grid, (), numbers, part=64)


def written(engine: Engine, folder: Path, progress: Any = lambda *told: None) -> tuple[bytes, bytes, Result]:
    parts = folder / "parts"
    parts.mkdir()
    result = sweep(request_of(), engine, str(parts), progress)
    result.table.write(str(folder / "rows.parquet"), "parquet")
    result.table.write(str(folder / "rows.csv"), "csv")
    return (folder / "rows.parquet").read_bytes(), (folder / "rows.csv").read_bytes(), result


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as found,
        distributed.Client(found) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes, Result]:
    return written(Local(), tmp_path_factory.mktemp("alone"))


@pytest.mark.campaign
@pytest.mark.slow
def test_a_cluster_of_two_gives_the_same_bytes(alone: tuple[bytes, bytes, Result], cluster: Any, tmp_path: Path) -> None:
    """4 degrees * 6 replicas * 40 batches * 2 = 1,920 points, in 36 parts of at most 64."""
    parquet, csv, result = written(Cluster(cluster), tmp_path)
    assert result.points == result.kept == csv.count(b"\n") - 1 == 1_920
    assert len(result.table.groups) >= 30
    assert (parquet, csv) == alone[:2]


@pytest.mark.campaign
@pytest.mark.slow
def test_a_worker_that_is_killed_half_way_changes_nothing(alone: tuple[bytes, bytes, Result], cluster: Any, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_once(what: str, done: int, count: int, kept: int) -> None:
        if what == "points" and done > count // 3 and not killed:
            killed.append(next(iter(cluster.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    parquet, csv, result = written(Cluster(cluster), tmp_path, kill_once)
    assert killed and result.kept == 1_920
    assert (parquet, csv) == alone[:2]


@pytest.mark.campaign
def test_parts_make_no_difference(alone: tuple[bytes, bytes, Result], tmp_path: Path) -> None:
    import attrs

    (tmp_path / "parts").mkdir()
    whole = sweep(attrs.evolve(request_of(), part=1 << 20), Local(), str(tmp_path / "parts"), lambda *told: None)
    whole.table.write(str(tmp_path / "rows.csv"), "csv")
    assert len(whole.table.groups) == 8  # one rank or several, of either kind, with or without recomputation
    assert (tmp_path / "rows.csv").read_bytes() == alone[1]
