"""One family of models: the table entry that says which fields are read and what they mean."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from bpir.importer.decoder import Decoder
from bpir.importer.fields import Property
from bpir.importer.json_text import Node
from bpir.importer.quantization import read_stored
from bpir.importer.reading import Reading

ORDER = ("depth", "width", "heads", "kv_heads", "head_size", "window", "layers")
"""Properties that others follow from, in the order in which they are read; the others come after them."""


@attrs.frozen
class Family:
    """Models of one architecture.

    Attributes:
        name: the `model_type` of its configurations.
        architectures: the classes that the configuration may name.
        source: the paper or report.
        table: for each property of `Decoder` (and `depth`, the number of layers) where it is from.
        harmless: fields that change neither a size nor the operations, besides those of every family (`importer/harmless.py`).
        fixed: fields that change the computation, with the values that leave it as the table says.
        types: further spellings of `model_type`.
        missing: why it can't be imported yet; then there is no table.
        remark: a line for the head of the imported file.
    """

    name: str
    architectures: tuple[str, ...]
    source: str
    table: Mapping[str, Property] = {}
    harmless: tuple[str, ...] = ()
    fixed: Mapping[str, tuple[object, ...]] = {}
    types: tuple[str, ...] = ()
    missing: str = ""
    remark: str = ""

    def like(self, name: str, architectures: tuple[str, ...], source: str, **changes: Property) -> Family:
        """A family whose table differs in some properties."""
        return attrs.evolve(
            self, name=name, architectures=architectures, source=source, table={**self.table, **changes}, types=(), remark=""
        )

    def with_fields(
        self, *harmless: str, fixed: Mapping[str, tuple[object, ...]] = {}, types: tuple[str, ...] = (), remark: str = ""
    ) -> Family:
        """The same with further harmless fields, fields that must have a value, spellings of its type."""
        return attrs.evolve(
            self,
            harmless=(*self.harmless, *harmless),
            fixed={**self.fixed, **fixed},
            types=(*self.types, *types),
            remark=remark or self.remark,
        )

    def decoder(self, reading: Reading) -> Decoder:
        """The model that a configuration describes.

        Raises:
            DiagnosticError: a field is missing, wrong or unknown.
        """
        table = {name: self.table[name] for name in ORDER if name in self.table}
        values = reading.properties({**table, **{name: value for name, value in self.table.items() if name not in table}})
        del values["depth"]
        values["stored"], values["stored_matrices"] = read_stored(reading)
        if values["heads"] % values["kv_heads"]:
            place = reading.places.get("kv_heads") or reading.places.get("heads") or reading.node.span
            reading.fail(f"{values['heads']} heads can't be shared out among {values['kv_heads']} KV heads", place)
        turned = values.get("rotary", 0)
        if turned > values["head_size"] or turned % 2:
            place = reading.places.get("rotary") or reading.node.span
            reading.fail(f"{turned} elements of a head of {values['head_size']} can't be turned in pairs", place)
        if values.get("chosen", 0) > values.get("experts", 0):
            place = reading.places.get("chosen") or reading.places.get("experts") or reading.node.span
            reading.fail(f"{values['chosen']} experts can't be chosen of {values['experts']}", place)
        return Decoder(**values)


def refused(name: str, architectures: tuple[str, ...], missing: str, *types: str) -> Family:
    """A family that is known and can't be imported: `missing` says why."""
    return Family(name, architectures, "", types=types, missing=missing)


def text_of(node: Node) -> str:
    """The string that a node is; "" for anything else."""
    return node.value if isinstance(node.value, str) else ""
