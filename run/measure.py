"""Whether each task states the bytes and the matrix products that it was seen to move and do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from bpir.dialects.dist import tasks as dist
from bpir.ir.diagnostic import Diagnostic, error
from bpir.ir.expressions.expression import Expr
from bpir.run.call import Meter
from bpir.run.lineage import is_activation
from bpir.run.numbers import Numbers


def wrong_work(meters: Mapping[dist.Task, Sequence[Meter]], numbers: Numbers, fused: bool, bytes_too: bool) -> list[Diagnostic]:
    """The first number of each task that is not what was measured, on the rank where it is most.

    Args:
        fused: activations move no bytes of their own.
        bytes_too: the convention is the standard one; another counts bytes in its own way.
    """
    found = []
    for task, ranks in meters.items():
        silent = fused and is_activation(task)
        for name, stated, unit, measured in _components(task, ranks, silent, bytes_too):
            value, most = numbers.fraction(stated), max(measured)
            if value != most:
                rank = measured.index(most)
                shown = f"{stated.text} = {value}" if stated.symbols else str(value)
                found.append(error(f"'{task.label}' states {name} = {shown}, rank {rank} {unit} {most}", task.span))
                break
    return found


def _components(task: dist.Task, ranks: Sequence[Meter], silent: bool, bytes_too: bool) -> list[tuple[str, Expr, str, list[Fraction]]]:
    """A statement and its measurement: a name, the statement, a verb, the number of each rank."""
    products = [Fraction(meter.matmul) for meter in ranks]
    found = [("matmul", task.matmul, "does", products)]
    if not bytes_too:
        return found
    read = [Fraction(0) if silent else meter.bytes_read for meter in ranks]
    written = [Fraction(0) if silent else meter.written or Fraction(0) for meter in ranks]
    found += [
        ("weights", task.weights, "uses", [Fraction(meter.weights) for meter in ranks]),
        ("read", task.work.read, "reads", read),
        ("write", task.work.write, "writes", written),
        ("msg", task.work.msg, "sends", [meter.message for meter in ranks]),
    ]
    return found
