"""The structural verifier refuses IR built in Python that no text can hold, because the parser refuses it first."""

from __future__ import annotations

from support import read, structure

from bpir.ir.attributes import UnitAttr
from bpir.ir.diagnostic import Source
from bpir.parser import parse_module

MESH = 'dist.mesh @mesh = <["tensor"=2]>'


def test_a_missing_property() -> None:
    module = read(MESH)
    del module.body[0].properties["axes"]
    assert [d.message for d in structure.verify(module)] == ["'dist.mesh' lacks its property 'axes'"]


def test_a_property_of_another_name() -> None:
    module = read(MESH)
    module.body[0].properties["axis"] = UnitAttr()
    assert [d.message for d in structure.verify(module)] == ["'dist.mesh' has no property 'axis'; did you mean 'axes'?"]


def test_a_successor_in_another_region() -> None:
    branch = '"x.op"() ({\n  "x.branch"()[^end] : () -> ()\n^end:\n  "x.end"() : () -> ()\n}) : () -> ()\n'
    module = parse_module(Source("test.mlir", branch * 2), allow_unregistered=True)
    first, second = (operation.regions[0].blocks for operation in module.body)
    assert structure.verify(module) == []
    first[0].operations[-1].successors[:] = [second[1]]
    assert [d.message for d in structure.verify(module)] == ["a successor must be a block of the same region"]
