"""Reads Chakra traces by the wire format of protocol buffers and the numbers of the public schema, with nothing of ours and no library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7
COLLECTIVES = {0: "all_reduce", 2: "all_gather", 6: "all_to_all", 7: "reduce_scatter"}
VALUES = {7: int, 9: int, 13: int, 27: bool, 29: lambda data: data.decode()}  # fields of AttributeProto
TYPES = {
    "num_ops": 9,
    "tensor_size": 13,
    "comm_type": 9,
    "comm_size": 9,
    "is_cpu_op": 27,
    "pg_name": 29,
    "comm_src": 7,
    "comm_dst": 7,
    "comm_tag": 7,
}
"""The field in which Chakra's feeder (`src/feeder/et_feeder_node.cpp`) looks for each attribute."""


@attrs.frozen
class Node:
    """One operation of a rank."""

    id: int
    name: str
    type: int
    needs: tuple[int, ...]
    attributes: dict[str, Any]

    @property
    def collective(self) -> str:
        return COLLECTIVES[self.attributes["comm_type"]]


def read_traces(name: Path) -> tuple[list[list[Node]], dict[str, list[int]]]:
    """The nodes of each rank, and the ranks of each group."""
    files = sorted(name.parent.glob(f"{name.name}.*.et"), key=lambda path: int(path.name.split(".")[-2]))
    assert [int(path.name.split(".")[-2]) for path in files] == list(range(len(files)))
    groups = json.loads((name.parent / f"{name.name}.groups.json").read_text())
    return [read_trace(path.read_bytes()) for path in files], groups


def read_trace(data: bytes) -> list[Node]:
    """The nodes of one file; its first message is the metadata."""
    messages = list(_delimited(data))
    assert dict(_fields(messages[0]))[1] == b"0.0.4"
    return [_node(message) for message in messages[1:]]


def _node(message: bytes) -> Node:
    number, name, kind, needs, attributes = 0, "", 0, [], {}
    for field, value in _fields(message):
        if field == 1:
            number = value
        elif field == 2:
            name = value.decode()
        elif field == 3:
            kind = value
        elif field == 5:  # packed
            needs += _varints(value)
        elif field == 10:
            key, found = _attribute(value)
            attributes[key] = found
        else:
            raise AssertionError(f"field {field} of a node")
    return Node(number, name, kind, tuple(needs), attributes)


def _attribute(message: bytes) -> tuple[str, Any]:
    fields = dict(_fields(message))
    name = fields.pop(1).decode()
    ((field, value),) = fields.items()
    assert TYPES.get(name, 29) == field, f"'{name}' is in field {field}"
    return name, VALUES[field](value)


def _delimited(data: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(data):
        size, place = _varint(data, place)
        assert place + size <= len(data)
        yield data[place : place + size]
        place += size


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        if tag & 7 == 0:
            value, place = _varint(data, place)
            yield tag >> 3, value
        else:
            assert tag & 7 == 2
            size, place = _varint(data, place)
            yield tag >> 3, data[place : place + size]
            place += size


def _varints(data: bytes) -> list[int]:
    found, place = [], 0
    while place < len(data):
        value, place = _varint(data, place)
        found.append(value)
    return found


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, place
