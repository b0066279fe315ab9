"""Rows on disk, as Parquet and CSV. DuckDB queries them, with one thread and in their order, so that the same rows are the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import attrs
import numpy as np

from bpir.ir.diagnostic import fail
from bpir.sweep.points import Rows
from bpir.sweep.storage.parquet import Column, Group, join, write_group

MEMORY_LIMIT = "1GB"
"""What DuckDB takes before it spills to disk."""


@attrs.frozen
class Stored:
    """A part that was evaluated: its file (None if it has no rows), and how many points each relation left out."""

    group: Group | None
    filtered: Mapping[str, int]

    @property
    def count(self) -> int:
        """How many rows it has."""
        return self.group.count if self.group is not None else 0


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
        return Stored(None, rows.filtered)
    return Stored(write_group(path, names, [rows.columns[name] for name in names], rows.count), rows.filtered)


@attrs.frozen
class Table:
    """All rows of a sweep: its parts in order, its columns, and those that are text in one of them."""

    groups: tuple[Group, ...]
    names: tuple[str, ...]
    texts: frozenset[str]

    @property
    def sql(self) -> str:
        """The rows as a query; a column that is text in one part is text in all."""
        kinds = {name: "VARCHAR" if name in self.texts else "BIGINT" for name in self.names}
        if not self.groups:
            return f"SELECT {', '.join(f'CAST(NULL AS {kind}) AS {quoted(name)}' for name, kind in kinds.items())} WHERE false"
        shown = ", ".join(f"CAST({quoted(name)} AS {kind}) AS {quoted(name)}" for name, kind in kinds.items())
        listed = ", ".join(literal(group.path) for group in self.groups)
        return f"SELECT {shown} FROM read_parquet([{listed}], union_by_name = true)"

    def write(self, path: str, form: str) -> None:
        """Write all rows to one file, `parquet` or `csv`."""
        if form == "csv":
            connection().execute(f"COPY ({self.sql}) TO {literal(path)} (FORMAT csv, HEADER)")
            return
        texts = [name in self.texts for name in self.names]
        join(path, self.names, texts, [self._alike(group, texts) for group in self.groups])

    def _alike(self, group: Group, texts: Sequence[bool]) -> Group:
        """The part with text where another part has it."""
        if [chunk.text for chunk in group.chunks] == list(texts):
            return group
        shown = ", ".join(f"CAST({quoted(name)} AS VARCHAR) AS c{place}" for place, name in enumerate(self.names))
        found = connection().execute(f"SELECT {shown} FROM read_parquet({literal(group.path)})").fetchnumpy()
        arrays = (np.asarray(found[f"c{place}"], dtype=object) for place in range(len(self.names)))
        columns = [Column(array if text else array.astype(np.int64)) for array, text in zip(arrays, texts, strict=True)]
        return write_group(f"{group.path}.text", self.names, columns, group.count)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """The answer to a query in which `rows` are the rows."""
        answer: list[tuple[Any, ...]] = connection().execute(f"WITH rows AS ({self.sql}) {sql}").fetchall()
        return answer


def table(parts: Iterable[Stored], names: Sequence[str], words: Iterable[str]) -> Table:
    """The rows of all parts, in order."""
    groups = tuple(part.group for part in parts if part.group is not None)
    texts = {name for group in groups for name, chunk in zip(names, group.chunks, strict=True) if chunk.text}
    return Table(groups, tuple(names), frozenset({*words, *texts}))
