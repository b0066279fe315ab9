"""Sweeps: rows agree with single derivations, conditions and counts with arithmetic, the front with brute force; mistakes have places."""

from __future__ import annotations

import csv
import itertools
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import pytest
from support import ROOT, example, report, run

from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.expressions.expression import constant
from bpir.sweep.best import Objectives, undominated
from bpir.sweep.engines import Local
from bpir.sweep.grid import parse_grid
from bpir.sweep.points import parts
from bpir.sweep.run import Request, Result, sweep
from bpir.sweep.storage.store import connection
from bpir.sweep.structures import flat
from bpir.tools import bp_sweep
from bpir.tools.reports.report_json import document

SIZES = {"S": 2048, "H": 4096, "F": 16384, "h": 32, "d": 128, "e": 2}
Row = dict[str, Any]


def request(*grid: str, where: Sequence[str] = (), name: str = "transformer_block", **others: Any) -> Request:
    path = ROOT / "examples" / f"{name}.bpir"
    given: Request = Request(str(path), path.read_text(encoding="latin-1"), True, grid, tuple(where), tuple(SIZES.items()))
    return attrs.evolve(given, **others)


def done(asked: Request, folder: Path) -> Result:
    place = folder / str(len(list(folder.iterdir())))
    place.mkdir()
    return sweep(asked, Local(), str(place), lambda *told: None)


def rows(result: Result) -> list[Row]:
    names = result.table.names
    return [dict(zip(names, row, strict=True)) for row in connection().execute(result.table.sql).fetchall()]


def alone(options: Mapping[str, object], numbers: Mapping[str, int], name: str = "transformer_block") -> dict[str, Fraction]:
    """The report of one strategy, derived with its numbers, as a user would without a sweep."""
    text = " ".join(f"{key}={value}" for key, value in options.items())
    found = report(run(example(name), f"distribute-training{{{text}}}", "plan-training"))
    bound = found.bound({symbol: constant(number) for symbol, number in numbers.items()})
    return {key: value.constant for key, value in flat(document(bound)) if value.constant is not None}


def test_the_memory_of_inference_is_the_sum_of_its_parts(tmp_path: Path) -> None:
    asked = request("phase=prefill,decode", "B=1,2", "t=1,2", "c=64", training=False, numbers=tuple({**SIZES, "c": 64}.items()))
    for row in rows(done(asked, tmp_path)):
        assert row["memory.total"] == row["memory.weights"] + row["memory.kv_cache"] + row["memory.workspace"]


@pytest.mark.campaign
def test_rows_are_what_single_derivations_say(tmp_path: Path) -> None:
    asked = request("t=1,2,4,8,16", "B=1..5", "recompute=none,attention,full", "D=1,2,3", "optimizer_sharding=true,false")
    found = rows(done(asked, tmp_path))
    for row in random.Random(16).sample(found, 40):
        options = {"tensor": row["t"], "recompute": row["recompute"], "data": row["D"], "optimizer_sharding": row["optimizer_sharding"]}
        said = alone(options, {**SIZES, "B": row["B"]})
        assert row["devices"] == row["t"] * row["D"]
        columns = {key: Fraction(str(value)) for key, value in row.items() if "." in key}
        assert columns.pop("messages.total") == columns["totals.msg"]
        assert len(columns) >= 14
        assert columns == {key: said[key] for key in columns}


def test_what_is_filtered_is_counted_by_relation(tmp_path: Path) -> None:
    """Of t = 1..8 with 3 batches: 3, 5, 6 and 7 do not divide 32 heads; three sequences with t > 4 take more than a condition allows."""
    result = done(request("t=1..8", "B=1..3", where=["B*t <= 12"]), tmp_path)
    assert result.points == 24
    assert result.filtered == {"t | h": 12, "B*t <= 12": 2}
    assert result.kept == len(rows(result)) == 24 - 12 - 2


def test_every_point_is_a_row_or_counted(tmp_path: Path) -> None:
    result = done(request("t=1..9", "D=1..7", "B=1..3", "optimizer_sharding=true", where=["devices <= 40", "B | 6"]), tmp_path)
    assert result.kept + sum(result.filtered.values()) + sum(result.refused.values()) == result.points == 9 * 7 * 3


def test_what_a_derivation_refuses_is_counted_by_its_message(tmp_path: Path) -> None:
    """The input can be gathered again under sequence parallelism only, and not under full recomputation."""
    grid = ("t=2", "B=1,2", "all_gather_redo=true", "communication=all_reduce,reduce_scatter_all_gather", "recompute=none,full")
    result = done(request(*grid), tmp_path)
    assert result.kept == 2 and sum(result.refused.values()) == 6
    with pytest.raises(DiagnosticError, match="the derivation refuses every structure"):
        done(request("t=2", "B=1", "all_gather_redo=true", "communication=all_reduce"), tmp_path)


@pytest.mark.campaign(keep=3)
@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("B | 12", lambda b, t: 12 % b == 0),
        ("12 | B*t", lambda b, t: b * t % 12 == 0),
        ("B/t < 2", lambda b, t: b < 2 * t),
        ("max(B, t) >= 5", lambda b, t: max(b, t) >= 5),
        ("B**40 > 2**63", lambda b, t: b**40 > 2**63),
        ("B**40 = t**20", lambda b, t: b**40 == t**20),
        ("ceildiv(B, t) = 2", lambda b, t: -(-b // t) == 2),
        ("B - t <= -2", lambda b, t: b - t <= -2),
        ("1/(B - 3) > 0", lambda b, t: b > 3),
    ],
)
def test_conditions_are_decided_exactly(condition: str, holds: Any, tmp_path: Path) -> None:
    found = rows(done(request("t=1,2,4,8,16", "B=1..7", where=[condition], columns=("devices",)), tmp_path))
    expected = [(t, b) for t in (1, 2, 4, 8, 16) for b in range(1, 8) if holds(b, t)]
    assert [(row["t"], row["B"]) for row in found] == expected


def test_conditions_on_words(tmp_path: Path) -> None:
    result = done(request("t=1,2", "B=1,2,3", "recompute=none,full", where=["recompute = full", "B < 3"]), tmp_path)
    assert {(row["recompute"], row["B"]) for row in rows(result)} == {("full", 1), ("full", 2)}
    assert result.filtered == {"recompute = full": 6, "B < 3": 2}
    with pytest.raises(DiagnosticError, match="'recompute' has words: expected recompute = none or full"):
        done(request("t=1", "recompute=none,full", where=["recompute < 2"]), tmp_path)


def test_conditions_on_columns(tmp_path: Path) -> None:
    """A bound that is the exact value of one row keeps it; one byte less does not."""
    everything = rows(done(request("t=1,2,4", "B=1..4"), tmp_path))
    bound = sorted(row["memory.peak"] for row in everything)[5]
    for allowed in (bound, bound - 1):
        found = rows(done(request("t=1,2,4", "B=1..4", where=[f"memory.peak <= {allowed}"]), tmp_path))
        assert found == [row for row in everything if row["memory.peak"] <= allowed]
    found = rows(done(request("t=1,2,4", "B=1..4", where=[f"peak <= {bound}"]), tmp_path))
    assert len(found) == 6


def test_columns_beyond_64_bits_are_decimal_text(tmp_path: Path) -> None:
    numbers = {**SIZES, "H": 2**40, "F": 2**42}
    result = done(request("t=1,2", "B=1,1000", numbers=tuple(numbers.items())), tmp_path)
    assert "totals.ops" in result.table.texts and "devices" not in result.table.texts
    for row in rows(result):
        said = alone({"tensor": row["t"]}, {**numbers, "B": row["B"]})
        assert row["totals.ops"] == str(said["totals.ops"]) and said["totals.ops"] > 2**63


def test_a_fraction_is_text(tmp_path: Path) -> None:
    """Under Calculon's convention the optimizer's share of three replicas may be a fraction: 12*w/3 of w weights is none, 11*w/3 is one."""
    result = done(request("t=1", "D=3", "B=1,2", "optimizer_sharding=true", "convention=calculon"), tmp_path)
    said = alone({"tensor": 1, "data": 3, "optimizer_sharding": "true", "convention": "calculon"}, {**SIZES, "B": 1})
    assert said["totals.ops"].denominator == 3
    assert rows(result)[0]["totals.ops"] == str(said["totals.ops"])


@pytest.mark.campaign
def test_the_front_is_that_of_brute_force(tmp_path: Path) -> None:
    result = done(request("t=1,2,4,8", "B=1..6", "recompute=none,attention,full", "D=1,2,4", "optimizer_sharding=true"), tmp_path)
    names = ("memory.peak", "totals.ops", "devices")
    keys = [tuple(row[name] for name in names) for row in rows(result)]
    better = [k for k in keys if not any(all(a <= b for a, b in zip(o, k, strict=True)) and o != k for o in keys)]
    objectives = Objectives(result.table, names)
    assert next(objectives.fronts()) == sorted(set(better))
    best = objectives.best(500)
    assert len(best) == len(keys)
    ranked = [tuple(row[name] for name in names) for row in best]
    for earlier, later in itertools.pairwise(ranked):
        assert not (all(a <= b for a, b in zip(later, earlier, strict=True)) and later != earlier)


def test_large_and_fractional_objectives_are_compared_by_value(tmp_path: Path) -> None:
    """As text '9...' would come behind '10...'."""
    numbers = {**SIZES, "H": 2**40, "F": 2**42}
    result = done(request("t=1", "B=1..40", numbers=tuple(numbers.items())), tmp_path)
    best = Objectives(result.table, ("totals.ops",)).best(40)
    assert [row["B"] for row in best] == list(range(1, 41))


def test_undominated_by_hand() -> None:
    assert undominated([(1, 5), (2, 5), (2, 6), (3, 4), (4, 4), (5, 1)]) == [(1, 5), (3, 4), (5, 1)]


def test_parts_cover_a_grid_in_order() -> None:
    axes = {"a": [1, 2, 3], "b": list(range(5)), "c": [7, 8]}
    for most in (1, 2, 3, 7, 10, 11, 30, 1000):
        found = list(parts(axes, most))
        assert [p for part in found for p in itertools.product(*part.values())] == list(itertools.product(*axes.values()))
        assert all(len(list(itertools.product(*part.values()))) <= max(most, 1) for part in found)


def test_grids_are_read() -> None:
    grid = parse_grid(["t=1,2,4", "p=divisors:12", "n=powers:20", "B=3..5,9", "recompute=none,full", "D=.."])
    values = {axis.name: axis.values for axis in grid}
    assert values == {
        "t": (1, 2, 4),
        "p": (1, 2, 3, 4, 6, 12),
        "n": (1, 2, 4, 8, 16),
        "B": (3, 4, 5, 9),
        "recompute": ("none", "full"),
        "D": (),
    }


def test_an_open_axis_is_what_the_devices_allow(tmp_path: Path) -> None:
    found = rows(done(request("t=1,2,4", "D=..", "B=1", where=["devices = 16"], columns=("devices",)), tmp_path))
    assert [(row["t"], row["D"]) for row in found] == [(1, 16), (2, 8), (4, 4)]
    found = rows(done(request("t=2", "D=..", "B=1", where=["devices < 5"], columns=("devices",)), tmp_path))
    assert [row["D"] for row in found] == [1, 2]


WRONG = {
    "an unknown name": (["tt=1"], [], "<command line>:1:8: error: 'tt' is neither an option of training nor a symbol of the file"),
    "an unknown word": (["recompute=none,ful"], [], "'recompute' is one of none, attention, core_attention, full, not 'ful'; did you mean"),
    "words and numbers": (["t=1,a"], [], "'t' has words and numbers"),
    "a word for a number": (["t=a"], [], "'t' is swept over numbers, not 'a'"),
    "zero": (["B=0..3"], [], "'B' must be positive"),
    "an empty range": (["B=3..1"], [], "<command line>:1:10: error: the range 3..1 is empty"),
    "a huge range": (["B=1..9999999"], [], "an axis has at most 1000000 values"),
    "twice a value": (["B=1,2,1"], [], "a value of 'B' stands twice: 1"),
    "twice a name": (["B=1", "B=2"], [], "'B' is swept twice"),
    "two names of one thing": (["t=1", "tensor=2"], [], "'tensor' and 't' both set tensor"),
    "no value": (["B=x*"], [], "'x*' is no value"),
    "no bound": (["t=1", "D=.."], [], "'D=..' needs a bound: --where 'devices = 64'"),
    "a symbol without a number": (["t=1", "B=1"], [], "no number is given for F, H"),
    "no sign": (["t=1"], ["devices 8"], "<command line>:1:9: error: expected one comparison"),
    "two signs": (["t=1"], ["1 < devices < 8"], "<command line>:1:21: error: expected one comparison, LEFT SIGN RIGHT with <= >= = < > |"),
    "a sign of another language": (["t=1"], ["devices == 8"], "<command line>:1:17: error: the language has no '==': '=' compares"),
    "half an expression": (["t=1"], ["devices = 8 +"], "<command line>:1:21: error: expected"),
    "an unknown column": (["t=1", "B=1"], ["memory.peek < 3"], "<command line>:1:9: error: there is no column 'memory.peek'; did you mean"),
    "an ambiguous column": (["t=1", "B=1"], ["msg < 3"], "'msg' could be totals.msg or"),
    "a column that divides by zero": (["t=1", "B=1", "D=1"], ["1/(B - 1) > 3"], ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_where_it_stands(name: str, tmp_path: Path) -> None:
    grid, where, said = WRONG[name]
    numbers = () if name == "a symbol without a number" else tuple(SIZES.items())
    if not said:
        assert done(request(*grid, where=where), tmp_path).kept == 0
        return
    with pytest.raises(DiagnosticError) as caught:
        done(request(*grid, where=where, numbers=numbers), tmp_path)
    assert said in "\n".join(d.render() for d in caught.value.diagnostics)


def test_the_tool_writes_csv_and_parquet_with_the_same_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [str(ROOT / "examples" / "transformer_block.bpir"), "--train", "--grid", "t=1,2", "B=1..3", "recompute=none,full"]
    command.append("--bind=" + ",".join(f"{name}={number}" for name, number in SIZES.items()))
    assert bp_sweep.main([*command, "-o", str(tmp_path / "rows.csv")]) == 0
    assert bp_sweep.main([*command, "-o", str(tmp_path / "rows.parquet")]) == 0
    assert "12 of 12 points are rows" in capsys.readouterr().err
    assert bp_sweep.main(command) == 0
    assert capsys.readouterr().out == (tmp_path / "rows.csv").read_text()
    with open(tmp_path / "rows.csv", newline="") as file:
        read = list(csv.DictReader(file))
    stored = connection().execute(f"SELECT * FROM '{tmp_path / 'rows.parquet'}'").fetchall()
    assert [[str(value) for value in row] for row in stored] == [list(row.values()) for row in read]
    assert {path.name for path in tmp_path.iterdir()} == {"rows.csv", "rows.parquet"}  # no part is left


@pytest.mark.campaign
def test_the_best_are_derived_again_and_proved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bpir.tools import bp_verify

    source = str(ROOT / "examples" / "transformer_block.bpir")
    command = [source, "--train", "--grid", "t=1,2,4", "B=1,2", "recompute=none,full", "--minimize=memory.peak,totals.ops", "--top=3"]
    command += ["--bind=" + ",".join(f"{name}={number}" for name, number in SIZES.items()), f"--plans={tmp_path}/best"]
    assert bp_sweep.main(command) == 0
    out = capsys.readouterr().out
    assert out.count("proved  16 of 16 columns equal") == 3
    folder = tmp_path / "best"
    assert sorted(path.name for path in folder.iterdir()) == [f"{n}.{level}.bpir" for n in (1, 2, 3) for level in ("dist", "plan")]
    assert bp_verify.main([source, str(folder / "1.dist.bpir")]) == 0
    assert bp_verify.main([str(folder / "1.dist.bpir"), str(folder / "1.plan.bpir")]) == 0


def test_a_row_that_is_not_what_its_plan_says_is_an_error(tmp_path: Path) -> None:
    from bpir.sweep.checked import checked

    asked = request("t=1,2", "B=1")
    result = done(asked, tmp_path)
    row = rows(result)[1]
    assert not checked(asked, result, row, 1).against
    found = checked(asked, result, {**row, "totals.ops": row["totals.ops"] + 1}, 1)
    assert [d.message for d in found.against] == ["row 1 is not what its plan says"]


def test_pictures_have_a_mark_for_every_row_of_the_front(tmp_path: Path) -> None:
    import xml.etree.ElementTree as ElementTree

    from bpir.sweep.picture import picture

    result = done(request("t=1,2,4,8", "B=1..6", "recompute=none,attention,full"), tmp_path)
    objectives = Objectives(result.table, ("memory.peak", "totals.ops"))
    front = next(objectives.fronts())
    best = objectives.best(4)
    root = ElementTree.fromstring(picture(result.table, objectives, best, ["t", "B", "recompute"]))
    circles = list(root.iter("{http://www.w3.org/2000/svg}circle"))
    assert len(circles) == len(front)
    assert "72 strategies by memory.peak and totals.ops" in [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.campaign
def test_the_fullest_device_is_chosen_at_every_point(tmp_path: Path) -> None:
    """Llama 3 on two stages: the head and its norm make the last device the fullest with one microbatch, the activations in flight
    the first one with several. Each row is what a derivation with its numbers says."""
    grid = ("p=2", "t=1", "B=1,2,4,8", "n=1,2,8", "recompute=none,full")
    given = request(*grid, name="llama_3_8b", numbers=(("S", 256),))
    found = rows(done(given, tmp_path))
    assert len(found) == 24
    places = set()
    for row in found:
        options = {"pipeline": 2, "tensor": 1, "microbatches": row["n"], "recompute": row["recompute"], "batch": row["B"], "context": 256}
        text = " ".join(f"{key}={value}" for key, value in options.items())
        job = report(run(example("llama_3_8b"), f"distribute-training{{{text}}}", "plan-training")).job
        assert job is not None
        totals = [stage["total"].integer or 0 for stage in job.stages]
        fullest = job.stages[totals.index(max(totals))]
        places.add(totals.index(max(totals)))
        assert {name: row[f"job.memory.{name}"] for name in fullest} == {name: value.integer for name, value in fullest.items()}
    assert places == {0, 1}
