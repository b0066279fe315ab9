"""Rows on disk, as Parquet and CSV: DuckDB writes, joins and queries them, with one thread, so that the same rows are the same bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import attrs

from bpir.ir.diagnostic import fail
from bpir.sweep.points import Rows

MEMORY_LIMIT = "1GB"
"""What DuckDB takes before it spills to disk."""


@attrs.frozen
class Stored:
    """A part that was evaluated: its file (none if it has no rows), and what is known of it."""

    path: str
    count: int
    texts: tuple[str, ...]  # the columns that are text
    filtered: Mapping[str, int]


@cache
def connection() -> Any:
    """The connection of this process.

    Raises:
        DiagnosticError: DuckDB is not installed.
    """
    try:
        import duckdb
    except ImportError:
        raise fail("rows are kept by DuckDB, which is not installed: pip install 'bpir[sweep]'", None) from None
    found = duckdb.connect()
    found.execute(f"SET threads = 1; SET preserve_insertion_order = true; SET memory_limit = '{MEMORY_LIMIT}'")
    return found


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: int | str) -> str:
    """A number of 64 bits or a text in SQL."""
    return f"CAST({value} AS BIGINT)" if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def write_part(rows: Rows, names: Sequence[str], path: str) -> Stored:
    """Write the rows of a part, with these columns in order, whole or not at all."""
    if not rows.count:
        return Stored("", 0, (), rows.filtered)
    texts = tuple(name for name in names if name in rows.columns and rows.columns[name].dtype == object)
    texts += tuple(name for name, value in rows.fixed.items() if isinstance(value, str))
    data = {f"c{place}": rows.columns[name] for place, name in enumerate(names) if name in rows.columns}
    data = data or {"c": _ones(rows.count)}
    shown = []
    for place, name in enumerate(names):
        kind = "VARCHAR" if name in texts else "BIGINT"
        value = literal(rows.fixed[name]) if name in rows.fixed else f"CAST(c{place} AS {kind})"
        shown.append(f"{value} AS {quoted(name)}")
    written = f"{path}.{os.getpid()}"
    database = connection()
    database.register("data", data)
    try:
        database.execute(f"COPY (SELECT {', '.join(shown)} FROM data) TO {literal(written)} (FORMAT parquet)")
    finally:
        database.unregister("data")
    os.replace(written, path)
    return Stored(path, rows.count, texts, rows.filtered)


def _ones(count: int) -> Any:
    import numpy as np

    return np.ones(count, np.int8)


@attrs.frozen
class Table:
    """All rows of a sweep: the files of its parts in order, its columns, and those that are text in one of them."""

    files: tuple[str, ...]
    names: tuple[str, ...]
    texts: frozenset[str]

    @property
    def sql(self) -> str:
        """The rows as a query; a column that is text in one part is text in all."""
        if not self.files:
            empty = ", ".join(f"CAST(NULL AS {'VARCHAR' if name in self.texts else 'BIGINT'}) AS {quoted(name)}" for name in self.names)
            return f"SELECT {empty} WHERE false"
        shown = ", ".join(f"CAST({quoted(n)} AS {'VARCHAR' if n in self.texts else 'BIGINT'}) AS {quoted(n)}" for n in self.names)
        listed = ", ".join(map(literal, self.files))
        return f"SELECT {shown} FROM read_parquet([{listed}], union_by_name = true)"

    def write(self, path: str, form: str) -> None:
        """Write all rows to one file, `parquet` or `csv`."""
        options = "FORMAT parquet" if form == "parquet" else "FORMAT csv, HEADER"
        connection().execute(f"COPY ({self.sql}) TO {literal(path)} ({options})")

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """The answer to a query in which `rows` are the rows."""
        answer: list[tuple[Any, ...]] = connection().execute(f"WITH rows AS ({self.sql}) {sql}").fetchall()
        return answer


def table(parts: Iterable[Stored], names: Sequence[str], words: Iterable[str]) -> Table:
    """The rows of all parts, in order."""
    found = list(parts)
    texts = {*words, *(name for part in found for name in part.texts)}
    return Table(tuple(part.path for part in found if part.path), tuple(names), frozenset(texts))
