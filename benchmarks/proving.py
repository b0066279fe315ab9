"""Algebra to time: work conservation of 1,000 distinct tasks, totals and exact evaluations of 3,000."""

from __future__ import annotations

import random
import time
from typing import Any

from bpir.ir.expressions.expression import Expr, term, total
from bpir.ir.relations.facts import Facts

NAMES = ("L", "B", "S", "H", "F", "h", "d", "t", "e")
BINDING = {"L": 96, "B": 1536, "S": 2048, "H": 12288, "F": 49152, "h": 96, "d": 128, "t": 8, "e": 2}


def _tasks(count: int) -> list[list[tuple[int, dict[str, int]]]]:
    """Work of distinct tasks: five terms each, a coefficient and exponents."""
    source = random.Random(7)
    return [
        [
            (source.randrange(1, 50) + index, {name: source.randrange(0, 3) for name in source.sample(NAMES, 4)} | {"t": -1})
            for _ in range(5)
        ]
        for index in range(count)
    ]


_TASKS = _tasks(1000)


def _ours(terms: list[tuple[int, dict[str, int]]]) -> Expr:
    return total(term(coefficient, powers) for coefficient, powers in terms)


def prove_ours() -> None:
    """Both sums built, in two orders, and proved equal."""
    facts = Facts((), {})
    for terms in _TASKS:
        assert facts.equal(_ours(terms), _ours(terms[::-1])).proved


def prove_sympy() -> None:
    """The same with `sympy.expand` of the difference."""
    import sympy

    symbols = {name: sympy.Symbol(name, positive=True, integer=True) for name in NAMES}

    def built(terms: list[tuple[int, dict[str, int]]]) -> Any:
        return sympy.Add(*(c * sympy.Mul(*(symbols[n] ** k for n, k in powers.items())) for c, powers in terms))

    for terms in _TASKS:
        assert sympy.expand(built(terms) - built(terms[::-1])) == 0


_WORK = [[_ours(terms) for terms in _TASKS[i : i + 4]] for i in range(996)]
_WORK = [_WORK[i % len(_WORK)] for i in range(3000)]


def totals() -> list[Expr]:
    """The totals of 3,000 tasks, four components each."""
    return [total(work[k] for work in _WORK) for k in range(4)]


_TOTALS = totals()


def evaluations() -> None:
    """1,000 exact evaluations of the totals, one binding each."""
    for index in range(1000):
        _TOTALS[0].evaluate(BINDING | {"B": 1 + index})


def bartiq() -> tuple[float, float]:
    """Seconds that bartiq takes to compile 1,000 additive children in its default mode, and to evaluate them once, times 1,000.

    Raises:
        ImportError: bartiq is not installed.
    """
    from bartiq import compile_routine, evaluate
    from qref import SchemaV1

    children = [
        {
            "name": f"task{index}",
            "type": None,
            "input_params": ["B", "S", "H"],
            "resources": [{"name": "ops", "type": "additive", "value": f"{index + 2}*B*S*H**2"}],
        }
        for index in range(1000)
    ]
    routine = SchemaV1(
        version="v1",
        program={
            "name": "root",
            "type": None,
            "input_params": ["B", "S", "H"],
            "children": children,
            "linked_params": [{"source": name, "targets": [f"task{index}.{name}" for index in range(1000)]} for name in ("B", "S", "H")],
        },
    )
    start = time.process_time()
    compiled = compile_routine(routine).routine
    middle = time.process_time()
    evaluate(compiled, {"B": 1536, "S": 2048, "H": 12288})
    end = time.process_time()
    return middle - start, (end - middle) * 1000
