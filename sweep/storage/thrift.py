"""Thrift's compact protocol, as far as the metadata of Parquet needs it: structures of integers, texts, lists and structures.

An `int` is an i32, a `Long` an i64, a mapping a structure by the numbers of its fields.

Source: Apache Thrift, "Thrift Compact protocol encoding".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12


class Long(int):
    """An integer of 64 bits."""


def varint(number: int) -> bytes:
    """A number that is not negative, seven bits a byte, the lowest first."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def structure(fields: Mapping[int, object]) -> bytes:
    """A structure; its fields by their numbers, ascending."""
    found = bytearray()
    before = 0
    for number, value in fields.items():
        kind = _kind(value)
        step = number - before
        found += bytes([step << 4 | kind]) if 0 < step <= 15 else bytes([kind]) + _zigzag(number)
        found += _encoded(value)
        before = number
    found.append(0)
    return bytes(found)


def _kind(value: object) -> int:
    if isinstance(value, Long):
        return _I64
    if isinstance(value, int):
        return _I32
    if isinstance(value, str):
        return _BINARY
    return _STRUCT if isinstance(value, Mapping) else _LIST


def _encoded(value: object) -> bytes:
    if isinstance(value, int):
        return _zigzag(int(value))
    if isinstance(value, str):
        data = value.encode()
        return varint(len(data)) + data
    if isinstance(value, Mapping):
        return structure(value)
    assert isinstance(value, Sequence)
    if not value:
        return bytes([_STRUCT])  # no list of ours is empty but those of structures
    head = bytes([len(value) << 4 | _kind(value[0])]) if len(value) < 15 else bytes([0xF0 | _kind(value[0])]) + varint(len(value))
    return head + b"".join(map(_encoded, value))


def _zigzag(number: int) -> bytes:
    return varint(number << 1 if number >= 0 else -number * 2 - 1)
