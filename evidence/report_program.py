"""The frame of programs that ask random questions: `python PROGRAM.py [COUNT] [SEED]`, and 1 as the status if an answer is wrong."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeVar

_Found = TypeVar("_Found")


def report(run: Callable[[int, int], _Found], shown: Callable[[_Found], str], wrong: type[Exception], good: str) -> int:
    """Ask so many questions, 10,000 if no number is given, and print a table of the answers.

    Args:
        run: asks that many questions of the seed, and raises `wrong` at a false answer.
        shown: the table.
        good: what it means that none is wrong.
    """
    count, seed = [*map(int, sys.argv[1:]), *(10_000, 0)[len(sys.argv) - 1 :]][:2]
    began = time.process_time()
    try:
        found = run(count, seed)
    except wrong as failure:
        print(failure)
        return 1
    print(shown(found))
    print(f"\n{good} ({time.process_time() - began:.0f} s of processor time)")
    return 0
