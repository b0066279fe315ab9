"""The messages of a Chakra execution trace that we write, with their field numbers, and a file of them.

Source: MLCommons, Chakra, `schema/protobuf/et_def.proto`, version 0.0.4: package `ChakraProtoMsg`. A trace is a file of messages, each
behind its length as a varint: first one `GlobalMetadata`, then one `Node` for each operation of a rank. The type of each attribute is the
one that Chakra's own feeder reads (`src/feeder/et_feeder_node.cpp`), since an attribute of another type reads as 0 there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bpir.ir.diagnostic import fail

VERSION = "0.0.4"
PACKAGE = "ChakraProtoMsg"

NODE_TYPES = {"COMP_NODE": 4, "COMM_SEND_NODE": 5, "COMM_RECV_NODE": 6, "COMM_COLL_NODE": 7}
COLLECTIVES = {"all_reduce": 0, "all_gather": 2, "all_to_all": 6, "reduce_scatter": 7}
"""`CollectiveCommType`."""

_UINT64, _INT32, _INT64, _BOOL, _STRING, _MESSAGE, _ENUM = 4, 5, 3, 8, 9, 11, 14  # descriptor.proto, FieldDescriptorProto.Type
_ONE, _MANY = 1, 3  # its labels

_VALUES = {
    "int32_val": (7, _INT32),
    "int64_val": (9, _INT64),
    "uint64_val": (13, _UINT64),
    "bool_val": (27, _BOOL),
    "string_val": (29, _STRING),
}
"""The kinds of values of an attribute that occur here, of the `oneof value`."""

_MESSAGES: dict[str, dict[str, tuple[int, int, int, str]]] = {
    "AttributeProto": {"name": (1, _STRING, _ONE, ""), **{name: (n, kind, _ONE, "") for name, (n, kind) in _VALUES.items()}},
    "GlobalMetadata": {"version": (1, _STRING, _ONE, ""), "attr": (2, _MESSAGE, _MANY, "AttributeProto")},
    "Node": {
        "id": (1, _UINT64, _ONE, ""),
        "name": (2, _STRING, _ONE, ""),
        "type": (3, _ENUM, _ONE, "NodeType"),
        "ctrl_deps": (4, _UINT64, _MANY, ""),
        "data_deps": (5, _UINT64, _MANY, ""),
        "attr": (10, _MESSAGE, _MANY, "AttributeProto"),
    },
}

ATTRIBUTES = {
    "is_cpu_op": "bool_val",
    "num_ops": "int64_val",
    "tensor_size": "uint64_val",
    "comm_type": "int64_val",
    "comm_size": "int64_val",
    "comm_src": "int32_val",
    "comm_dst": "int32_val",
    "comm_tag": "int32_val",
    "pg_name": "string_val",
    "operation": "string_val",
    "phase": "string_val",
    "source": "string_val",
}
"""The attributes of a node and their types. The last three are ours: what a task does, in which phase, and where it is from."""


class Schema:
    """The classes of the messages, made from the table by the library `protobuf`.

    Raises:
        DiagnosticError: the library is not installed.
    """

    def __init__(self) -> None:
        try:
            from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
        except ImportError:
            raise fail("--chakra needs the package protobuf, which is not installed: pip install 'bpir[chakra]'") from None
        file = descriptor_pb2.FileDescriptorProto(name="et_def.proto", package=PACKAGE, syntax="proto3")
        _declare_node_types(file)
        for message, fields in _MESSAGES.items():
            _declare_message(file, message, fields)
        pool = descriptor_pool.DescriptorPool()
        pool.Add(file)

        def of_name(name: str) -> Any:
            return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))

        self.metadata, self.node, self.attribute = (of_name(name) for name in ("GlobalMetadata", "Node", "AttributeProto"))

    def encoded(self, message: Any) -> bytes:
        """The bytes of a message behind their number."""
        data: bytes = message.SerializeToString(deterministic=True)
        return _varint(len(data)) + data

    def heading(self, **attributes: str) -> bytes:
        """The message that a trace begins with."""
        named = [self.attribute(name=name, string_val=value) for name, value in attributes.items()]
        return self.encoded(self.metadata(version=VERSION, attr=named))

    def node_bytes(self, number: int, name: str, kind: str, needs: Iterable[int], attributes: dict[str, Any]) -> bytes:
        """One operation of a rank."""
        values = [self.attribute(name=key, **{ATTRIBUTES[key]: value}) for key, value in attributes.items()]
        return self.encoded(self.node(id=number, name=name, type=NODE_TYPES[kind], data_deps=needs, attr=values))


def _declare_node_types(file: Any) -> None:
    """Add the enumeration of the types of nodes to a description of a file."""
    kinds = file.enum_type.add(name="NodeType")
    kinds.value.add(name="INVALID_NODE", number=0)
    for name, number in NODE_TYPES.items():
        kinds.value.add(name=name, number=number)


def _declare_message(file: Any, message: str, fields: dict[str, tuple[int, int, int, str]]) -> None:
    """Add a message with its fields to a description of a file."""
    added = file.message_type.add(name=message)
    if message == "AttributeProto":
        added.oneof_decl.add(name="value")
    for name, (number, kind, label, of) in fields.items():
        field = added.field.add(name=name, number=number, type=kind, label=label)
        if of:
            field.type_name = f".{PACKAGE}.{of}"
        if name in _VALUES:
            field.oneof_index = 0


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)
