"""Files of rows are Parquet: DuckDB, which shares nothing with what wrote them, reads the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from bpir.sweep.storage.parquet import Column, encoded_places, join, write_group
from bpir.sweep.storage.store import Stored, connection, table
from bpir.sweep.storage.thrift import Long, structure, varint


def read(path: Path) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = connection().execute(f"SELECT * FROM read_parquet('{path}')").fetchall()
    return found


def dictionary(values: list[int] | list[str], places: list[int]) -> Column:
    array = np.array(values, dtype=object if isinstance(values[0], str) else np.int64)
    return Column(array, encoded_places(np.array(places, np.int32), len(values)))


def test_compact_thrift_by_hand() -> None:
    """Field 1, an i32 of 1 (zigzag 2); field 3, the text "ab"; field 20, an i64 of -1 (zigzag 1); then the end."""
    assert structure({1: 1, 3: "ab", 20: Long(-1)}) == bytes([0x15, 2, 0x28, 2, 0x61, 0x62, 0x06, 40, 1, 0])
    assert varint(300) == bytes([0xAC, 0x02])
    assert structure({4: []}) == bytes([0x49, 0x0C, 0])


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_any_rows_are_read_again(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    integers, texts = st.integers(-(2**63), 2**63 - 1), st.text(st.characters(codec="utf-8"), max_size=5)
    count = data.draw(st.integers(1, 90))
    columns, expected = [], []
    for kind in data.draw(st.lists(st.sampled_from(["dictionary", "texts", "plain"]), min_size=1, max_size=4)):
        most = 300 if kind == "dictionary" else 5
        values: list[Any] = data.draw(st.lists(texts if kind == "texts" else integers, min_size=1, max_size=most))
        if kind == "plain":
            rows = data.draw(st.lists(integers, min_size=count, max_size=count))
            columns.append(Column(np.array(rows, np.int64)))
        else:
            lengths = data.draw(st.sampled_from([1, 40]))
            places = [data.draw(st.integers(0, len(values) - 1)) for _ in range(-(-count // lengths))]
            places = [place for place in places for _ in range(lengths)][:count]
            columns.append(dictionary(values, places))
            rows = [values[place] for place in places]
        expected.append(rows)
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    write_group(str(path), [f"c.{place}" for place in range(len(columns))], columns, count)
    assert read(path) == list(zip(*expected, strict=True))


def test_many_values_have_wide_places(tmp_path: Path) -> None:
    """256 places fit one byte, 65,536 two."""
    for count in (255, 256, 257, 65_536, 65_537):
        places = list(range(count))
        write_group(str(tmp_path / "a"), ["c"], [dictionary([7 * place for place in places], places)], count)
        assert read(tmp_path / "a") == [(7 * place,) for place in places]


def test_parts_are_joined_in_order_and_text_wins(tmp_path: Path) -> None:
    first = write_group(str(tmp_path / "a"), ["x", "y"], [dictionary([1, 2], [0, 0, 1]), Column(np.array([5, 6, 7]))], 3)
    second = write_group(str(tmp_path / "b"), ["x", "y"], [dictionary([3], [0]), dictionary(["9223372036854775808"], [0])], 1)
    rows = table([Stored(first, {}), Stored(None, {}), Stored(second, {})], ["x", "y"], ())
    assert rows.texts == {"y"}
    rows.write(str(tmp_path / "all"), "parquet")
    assert read(tmp_path / "all") == [(1, "5"), (1, "6"), (2, "7"), (3, "9223372036854775808")]
    assert rows.query("SELECT * FROM rows") == read(tmp_path / "all")


def test_a_file_without_rows_has_its_columns(tmp_path: Path) -> None:
    join(str(tmp_path / "none"), ["x", "y"], [False, True], [])
    found = connection().execute(f"SELECT * FROM read_parquet('{tmp_path / 'none'}')")
    assert [(name, str(kind)) for name, kind, *_ in found.description] == [("x", "BIGINT"), ("y", "VARCHAR")]
    assert found.fetchall() == []
