"""The texts of networks that the tests of runs share."""

from __future__ import annotations

MODEL = """
bp.symbols B, S, H, F, V, L, t where t | F, t | H, t | V
bind.strategy @tp {tensor = t}
bind.workload @prefill inference {phase = prefill, context = S}
model.block @layer(%x: !bp.tensor<B x S x H, bf16>) {
  %m = model.rms_norm "mlp.norm" %x
  %u = model.linear "mlp.up" %m : [F]
  %w = model.linear "mlp.down" %u : [H]
  %z = model.add "mlp.residual" %w, %x
  model.return %z
}
model.block @act(%x: !bp.tensor<B x S x H, bf16>) {
  %g = model.gelu "act" %x
  model.return %g
}
model.block @head(%x: !bp.tensor<B x S x H, bf16>) {
  %y = model.linear "head.logits" %x : [V]
  model.return %y
}
model.network @whole(%x: !bp.tensor<B x S x H, bf16>) {
  %y = model.repeat L [@layer, @act] %x
  %l = model.call @head %y
  model.return %l
}
"""
