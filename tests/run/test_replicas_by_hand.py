"""Replicas of data parallelism, and errors in what they exchange."""

from __future__ import annotations

import pytest
from run_texts import against
from support import replaced

DATA = """
module @mlp {
  bp.symbols B, S, c, H, F, t, e where F = 4 * H, t | F, t | H
  bind.strategy @tp {tensor = t}
  dist.mesh @mesh = <["data"=2]>
  dist.block @block from "block" on @mesh strategy @tp(%x: !bp.tensor<B@data x S x H, e>, %dy: !bp.tensor<B@data x S x H, e>) {
    %u = dist.compute "mlp.expand.forward" linear %x : !bp.tensor<B@data x S x F, e>
      from "mlp.expand" phase forward
      weights <F*H>
      matmul <B*S*H*F>
      work <read = B*S*H*e/2 + F*H*e, write = B*S*F*e/2>
    %g = dist.compute "mlp.gelu.forward" gelu %u : !bp.tensor<B@data x S x F, e>
      from "mlp.gelu" phase forward
      work <read = B*S*F*e/2, write = B*S*F*e/2>
    %y = dist.compute "mlp.contract.forward" linear %g : !bp.tensor<B@data x S x H, e>
      from "mlp.contract" phase forward
      weights <F*H>
      matmul <B*S*H*F>
      work <read = B*S*F*e/2 + F*H*e, write = B*S*H*e/2>
    %dg = dist.compute "mlp.contract.activation_gradient" linear %dy : !bp.tensor<B@data x S x F, e>
      from "mlp.contract" phase activation_gradient
      weights <F*H>
      matmul <B*S*H*F>
      work <read = B*S*H*e/2 + F*H*e, write = B*S*F*e/2>
    %dw2 = dist.compute "mlp.contract.weight_gradient" linear %dy, %g : !bp.tensor<F x H, e, unreduced={data}>
      from "mlp.contract" phase weight_gradient
      matmul <B*S*H*F>
      work <read = B*S*H*e/2 + B*S*F*e/2, write = F*H*e>
    %du = dist.compute "mlp.gelu.activation_gradient" gelu %dg, %u : !bp.tensor<B@data x S x F, e>
      from "mlp.gelu" phase activation_gradient
      work <read = B*S*F*e, write = B*S*F*e/2>
    %dx = dist.compute "mlp.expand.activation_gradient" linear %du : !bp.tensor<B@data x S x H, e>
      from "mlp.expand" phase activation_gradient
      weights <F*H>
      matmul <B*S*H*F>
      work <read = B*S*F*e/2 + F*H*e, write = B*S*H*e/2>
    %dw1 = dist.compute "mlp.expand.weight_gradient" linear %du, %x : !bp.tensor<H x F, e, unreduced={data}>
      from "mlp.expand" phase weight_gradient
      matmul <B*S*H*F>
      work <read = B*S*F*e/2 + B*S*H*e/2, write = F*H*e>
    %dw2_sum = dist.all_reduce "mlp.contract.reduction" sum [{"data"}] %dw2 : !bp.tensor<F x H, e>
      from "mlp.contract" phase weight_gradient
      work <read = F*H*e, write = F*H*e, msg = F*H*e>
    %dw1_sum = dist.all_reduce "mlp.expand.reduction" sum [{"data"}] %dw1 : !bp.tensor<H x F, e>
      from "mlp.expand" phase weight_gradient
      work <read = F*H*e, write = F*H*e, msg = F*H*e>
    dist.compute "mlp.contract.optimizer" adam %dw2_sum
      from "mlp.contract" phase optimizer
      weights <F*H>
      work <read = F*H*(12 + e), write = F*H*(12 + e)>
    dist.compute "mlp.expand.optimizer" adam %dw1_sum
      from "mlp.expand" phase optimizer
      weights <F*H>
      work <read = F*H*(12 + e), write = F*H*(12 + e)>
    dist.return %y, %dx
  }
}
"""


def test_data_parallelism_written_by_hand() -> None:
    """The batch over two replicas: the sum of their gradients is the model's."""
    assert not against("sequence", DATA)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (("adam %dw1_sum", "adam %dw1"), "'mlp.expand.optimizer' reads a partial sum that is still to be reduced over data"),
        (("%dw1 = dist.compute", "%dw1 = dist.compute"), ""),
        (("H x F, e, unreduced={data}>", "H x F, e>"), "'mlp.expand.weight_gradient' gives '%dw1'"),
    ],
)
def test_gradients_of_replicas(edit: tuple[str, str], said: str) -> None:
    found = against("sequence", replaced(DATA, edit))
    assert [d.message.startswith(said) for d in found[:1]] == ([True] if said else [])
