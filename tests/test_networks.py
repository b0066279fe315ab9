"""Networks of blocks: what calls give, wherever the blocks stand, and which module is refused."""

from __future__ import annotations

import pytest
from support import read

from bpir.dialects.network import called, calls, networks, times_of
from bpir.ir.operation import types_of
from bpir.ir.printer import print_module
from bpir.verifiers.module import verify

BLOCKS = """
model.block @up(%x: !bp.tensor<B x S x H, bf16>) {
  %n = model.linear "up" %x : [F]
  model.return %n
}
model.block @down(%x: !bp.tensor<B x S x F, bf16>) {
  %n = model.linear "down" %x : [H]
  model.return %n
}
model.block @unused(%x: !bp.tensor<B x S x F, bf16>) {
  model.return %x
}
"""
NETWORK = """
model.network @whole(%x: !bp.tensor<B x S x H, bf16>) {
  %y = model.call @up %x
  %z = model.call @down %y
  %a = model.repeat 3*L [@up, @down] %z
  model.return %a
}
"""
SYMBOLS = "bp.symbols B, S, H, F, L\n"


@pytest.mark.parametrize(
    "text", [SYMBOLS + BLOCKS + NETWORK, SYMBOLS + NETWORK + BLOCKS, f"module {{ {SYMBOLS} module {{ {NETWORK} {BLOCKS} }} }}"]
)
def test_types_follow_from_the_blocks_wherever_they_stand(text: str) -> None:
    module = read(text)
    assert verify(module) == []
    (network,) = networks(module)
    found = [(times_of(call).text, *(type.text for type in types_of(call.results))) for call in calls(network)]
    wide, narrow = "!bp.tensor<B x S x F, bf16>", "!bp.tensor<B x S x H, bf16>"
    assert found == [("1", wide), ("1", narrow), ("3*L", narrow)]
    assert list(called(module)) == ["up", "down"]
    assert print_module(read(print_module(module))) == print_module(module)
    assert print_module(read(print_module(module, generic=True))) == print_module(module)


def test_a_module_without_a_network_runs_all_its_blocks() -> None:
    assert list(called(read(SYMBOLS + BLOCKS))) == ["up", "down", "unused"]
