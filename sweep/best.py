"""The best rows: those of the Pareto front, which no other row is better than in one objective and as good as in all.

Comparisons are exact: integers as integers, decimal text and fractions by their values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from bpir.sweep.storage.store import Table, connection, quoted

Row = dict[str, Any]


class Objectives:
    """The rows of a table by what is to be small.

    Args:
        table: the rows.
        names: the columns to minimize, the most important first.
    """

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        self._table, self.names = table, tuple(names)
        self._keys = [self._key(place, name) for place, name in enumerate(self.names)]

    @property
    def shown(self) -> list[str]:
        """The numbers of each objective for a picture, in SQL: of text the nearest floating-point number."""
        texts = self._table.texts
        return [_float_of(quoted(name)) if name in texts else quoted(name) for name in self.names]

    def _key(self, place: int, name: str) -> str:
        """What is compared of an objective, in SQL: the number, or the rank of a text among all that occur."""
        if name not in self._table.texts:
            return quoted(name)
        texts = [text for (text,) in self._table.query(f"SELECT DISTINCT {quoted(name)} FROM rows")]
        ranks = {value: rank for rank, value in enumerate(sorted({Fraction(text) for text in texts}))}
        data = {"text": _array(texts), "rank": _array([ranks[Fraction(text)] for text in texts], whole=True)}
        database = connection()
        database.register(f"given{place}", data)
        database.execute(f"CREATE OR REPLACE TEMP TABLE ranks{place} AS SELECT CAST(text AS VARCHAR) AS text, rank FROM given{place}")
        database.unregister(f"given{place}")
        return f"(SELECT rank FROM ranks{place} WHERE text = {quoted(name)})"

    def fronts(self) -> Iterator[list[tuple[int, ...]]]:
        """The Pareto fronts, each of the rows that the ones before it leave, as the keys of the objectives, ascending."""
        keys = ", ".join(f"{key} AS k{place}" for place, key in enumerate(self._keys))
        last = f"k{len(self._keys) - 1}"
        others = ", ".join(f"k{place}" for place in range(len(self._keys) - 1))
        grouped = f"GROUP BY {others}" if others else ""
        shown = f"{others}, " if others else ""
        gone: list[tuple[int, ...]] = []
        while True:
            database = connection()
            database.register("gone", {f"k{place}": _array([key[place] for key in gone], whole=True) for place in range(len(self._keys))})
            left = f"(SELECT {keys} FROM rows)"
            if gone:
                left = f"(SELECT * FROM {left} ANTI JOIN gone USING ({', '.join(f'k{p}' for p in range(len(self._keys)))}))"
            found = self._table.query(f"SELECT {shown}min({last}) FROM {left} {grouped} HAVING count(*) > 0 ORDER BY ALL")
            database.unregister("gone")
            front = undominated([tuple(int(value) for value in row) for row in found if row[-1] is not None])
            if not front:
                return
            yield front
            gone += front

    def rows(self, keys: Sequence[tuple[int, ...]], most: int) -> list[Row]:
        """Rows that have these keys, by their objectives, then in the order of their columns."""
        database = connection()
        database.register("wanted", {f"k{place}": _array([key[place] for key in keys], whole=True) for place in range(len(self._keys))})
        shown = ", ".join(f"{key} AS k{place}" for place, key in enumerate(self._keys))
        places = ", ".join(f"k{place}" for place in range(len(self._keys)))
        columns = ", ".join(map(quoted, self._table.names))
        keyed = f"(SELECT *, {shown} FROM rows)"
        order = f"ORDER BY {places}, {columns} LIMIT {most}"
        found = self._table.query(f"SELECT {columns} FROM {keyed} SEMI JOIN wanted USING ({places}) {order}")
        database.unregister("wanted")
        return [dict(zip(self._table.names, row, strict=True)) for row in found]

    def best(self, most: int) -> list[Row]:
        """The best rows: the front, then the front of the others, until there are so many."""
        found: list[Row] = []
        for front in self.fronts():
            found += self.rows(front, most - len(found))
            if len(found) >= most:
                break
        return found


def undominated(keys: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Of different keys in ascending order those that no other one is at most as large as everywhere."""
    kept: list[tuple[int, ...]] = []
    for key in keys:  # one that dominates it is before it
        if not any(all(a <= b for a, b in zip(other, key, strict=True)) for other in reversed(kept)):
            kept.append(key)
    return kept


def _float_of(text: str) -> str:
    below = f"coalesce(TRY_CAST(split_part({text}, '/', 2) AS DOUBLE), 1)"
    return f"(CAST(split_part({text}, '/', 1) AS DOUBLE) / {below})"


def _array(values: Sequence[Any], whole: bool = False) -> Any:
    import numpy as np

    return np.array(values, dtype=np.int64 if whole else object)
