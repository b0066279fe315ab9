"""Parquet as sweeps write it: a row group a part, a column as a dictionary of its values and runs of places in it.

A column of a sweep depends on some of the axes only, so it has few values, known before the rows are: it is written from these and from
how the points of the grid go through them, which all columns that depend on the same axes share. That costs a few nanoseconds a row and
column; a writer that must look for the values first takes twenty. A part is a Parquet file of its own; a whole file is the pages of
its parts one after the other, and one footer.

Source: Apache Parquet format 2.9, `parquet.thrift` and `Encodings.md`.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np

from bpir.sweep.arithmetic.whole import Array
from bpir.sweep.storage.thrift import Long, structure, varint

MAGIC = b"PAR1"
CREATED_BY = "bpir"

_INT64, _BYTE_ARRAY = 2, 6
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_REQUIRED, _UTF8, _GZIP = 0, 0, 2


@attrs.frozen(eq=False)
class Packed:
    """Bytes, compressed, and how many they were."""

    data: bytes
    size: int


@attrs.frozen(eq=False)
class Column:
    """A column of a part: its values, and of each row the place of its value among them; without places the values row by row.

    Attributes:
        values: int64, or text as Python objects.
        places: how the rows go through the values, encoded by `encoded_places`.
    """

    values: Array
    places: Packed | None = None

    @property
    def is_text(self) -> bool:
        return bool(self.values.dtype == object)


@attrs.frozen
class Chunk:
    """A column of a part in its file: where its pages begin, their sizes, and what they are."""

    start: int
    dictionary: int  # bytes of the dictionary's page; 0 if there is none
    size: int  # bytes of all pages
    unpacked: int  # bytes of all pages before they were compressed
    text: bool


@attrs.frozen
class Group:
    """A part in its file."""

    path: str
    count: int
    chunks: tuple[Chunk, ...]


def encoded_places(places: Array, count: int) -> Packed:
    """Places in a dictionary of so many values: as runs of the same place where these are long, else one after the other."""
    width = 1 if count <= 1 << 8 else 2 if count <= 1 << 16 else 4
    rows = len(places)
    ends = np.flatnonzero(places[1:] != places[:-1]) + 1 if rows else np.empty(0, np.int64)
    if len(ends) * 16 <= rows:
        starts = np.concatenate(([0], ends)) if rows else ends
        lengths = np.diff(np.concatenate((starts, [rows])))
        values = places[starts]
        runs = (varint(int(n) << 1) + int(v).to_bytes(width, "little") for n, v in zip(lengths, values, strict=True))
        return packed(bytes([8 * width]) + b"".join(runs))
    groups = -(-rows // 8)
    each = places.astype(f"<u{width}").tobytes().ljust(groups * 8 * width, b"\0")
    return packed(bytes([8 * width]) + varint(groups << 1 | 1) + each)


def packed(data: bytes) -> Packed:
    """Bytes as gzip has them, without a time."""
    writer = zlib.compressobj(level=1, wbits=31)
    return Packed(writer.compress(data) + writer.flush(), len(data))


def write_group(path: str, names: Sequence[str], columns: Sequence[Column], count: int) -> Group:
    """Write a part as a file of its own, whole or not at all."""
    part = f"{path}.{os.getpid()}"
    chunks: list[Chunk] = []
    with open(part, "wb") as file:
        at = file.write(MAGIC)
        for column in columns:
            pages = list(_pages(column, count))
            sizes = [file.write(head + page.data) for head, page in pages]
            unpacked = sum(len(head) + page.size for head, page in pages)
            chunks.append(Chunk(at, sizes[0] if len(sizes) > 1 else 0, sum(sizes), unpacked, column.is_text))
            at += sum(sizes)
        group = Group(path, count, tuple(chunks))
        file.write(_footer(names, [chunk.text for chunk in chunks], [(group, 0)]))
    os.replace(part, path)
    return group


def join(path: str, names: Sequence[str], texts: Sequence[bool], groups: Sequence[Group]) -> None:
    """Write one file of all parts, which have the same kinds of columns."""
    placed = []
    with open(path, "wb") as file:
        at = file.write(MAGIC)
        for group in groups:
            size = sum(chunk.size for chunk in group.chunks)
            with open(group.path, "rb") as part:
                part.seek(len(MAGIC))
                placed.append((group, at - len(MAGIC)))
                left = size
                while left:
                    block = part.read(min(left, 1 << 22))
                    left -= len(block)
                    at += file.write(block)
        file.write(_footer(names, texts, placed))


def _plain(values: Array) -> bytes:
    if values.dtype == object:
        texts = [str(value).encode() for value in values]
        return b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    return values.astype("<i8", copy=False).tobytes()


def _pages(column: Column, count: int) -> Iterable[tuple[bytes, Packed]]:
    """The pages of a column, each with its header: a dictionary and the places in it, or the values."""
    values = packed(_plain(column.values))
    if column.places is None:
        yield _data_header(values, count, _PLAIN), values
        return
    sizes = {1: _DICTIONARY_PAGE, 2: values.size, 3: len(values.data)}
    yield structure({**sizes, 7: {1: len(column.values), 2: _PLAIN}}), values
    yield _data_header(column.places, count, _RLE_DICTIONARY), column.places


def _data_header(page: Packed, count: int, encoding: int) -> bytes:
    return structure({1: _DATA_PAGE, 2: page.size, 3: len(page.data), 5: {1: count, 2: encoding, 3: _RLE, 4: _RLE}})


def _footer(names: Sequence[str], texts: Sequence[bool], groups: Sequence[tuple[Group, int]]) -> bytes:
    """What ends a file: the columns, and where the pages of each part are, moved by so many bytes."""
    schema: list[dict[int, Any]] = [{4: "rows", 5: len(names)}]
    for name, text in zip(names, texts, strict=True):
        element: dict[int, Any] = {1: _BYTE_ARRAY if text else _INT64, 3: _REQUIRED, 4: name}
        schema.append({**element, 6: _UTF8, 10: {1: {}}} if text else element)
    fields: dict[int, Any] = {1: 1, 2: schema, 3: Long(sum(group.count for group, _ in groups))}
    fields[4] = [_row_group(names, group, moved) for group, moved in groups]
    data = structure({**fields, 6: CREATED_BY})
    return data + len(data).to_bytes(4, "little") + MAGIC


def _row_group(names: Sequence[str], group: Group, moved: int) -> dict[int, Any]:
    chunks = []
    for name, chunk in zip(names, group.chunks, strict=True):
        start = chunk.start + moved
        encodings = [_PLAIN, _RLE, _RLE_DICTIONARY] if chunk.dictionary else [_PLAIN, _RLE]
        data: dict[int, Any] = {1: _BYTE_ARRAY if chunk.text else _INT64, 2: encodings, 3: [name], 4: _GZIP, 5: Long(group.count)}
        data |= {6: Long(chunk.unpacked), 7: Long(chunk.size), 9: Long(start + chunk.dictionary)}
        if chunk.dictionary:
            data[11] = Long(start)
        chunks.append({2: Long(start), 3: data})
    return {1: chunks, 2: Long(sum(chunk.unpacked for chunk in group.chunks)), 3: Long(group.count)}
