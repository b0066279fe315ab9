"""Latent attention and experts of DeepSeek-V3, with the arithmetic."""

from __future__ import annotations

import pytest
from support import read, run

from bpir.dialects.levels import PortablePlanIR

SIZES = {"B": 8, "c": 1024, "H": 7168, "h": 128, "n": 128, "r": 64, "v": 128, "a": 1536, "l": 512}
LAYER = """
module @layer {
  bp.symbols B, S, c, H, h, n, r, v, a, l
  model.block @layer(%x: !bp.tensor<B x S x H, bf16>) {
    %m = model.rms_norm "attention.norm" %x
    %qa = model.linear "attention.query_down" %m : [a]
    %qn = model.rms_norm "attention.query_norm" %qa
    %q, %qp = model.linear "attention.query_up" %qn : [h x n], [h x r]
    %ca, %kp = model.linear "attention.latent" %m : [l], [r]
    %cn = model.rms_norm "attention.latent_norm" %ca
    %qr, %kr = model.rope "attention.rope" %qp, %kp
    %o = model.latent_attention "attention.core" %q, %qr, %cn, %kr values v FORM context c
    %y = model.linear "attention.output_projection" %o : [H]
    %z = model.add "attention.residual" %y, %x
    model.return %z
  }
}
"""


def planned(form: str) -> PortablePlanIR:
    return PortablePlanIR(run(read(LAYER.replace("FORM", form)), "distribute-inference{phase=decode context=c tensor=1}", "plan-inference"))


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        # 2*8*1024*512*128*(128 + 128) for K and V of all visible tokens; 2*8*1024*128*(128 + 64 + 128) for scores and result
        ("", 274_877_906_944 + 671_088_640),
        # 2*8*128*512*(128 + 128) for Q and the result; 2*8*1024*128*(2*512 + 64) for scores and the sum of latents
        ("absorbed", 268_435_456 + 2_281_701_376),
    ],
)
def test_the_core_of_a_layer(form: str, expected: int) -> None:
    assert expected in (275_548_995_584, 2_550_136_832)
    (core,) = (task for task in planned(form).tasks if task.kind_of_work == "latent_attention")
    assert core.matmul.evaluate(SIZES) == expected


def test_a_token_in_the_cache_of_a_layer_has_576_elements() -> None:
    """512 of the latent and 64 of the rotary key: 1,152 bytes, 70,272 in 61 layers."""
    (cache,) = (buffer for buffer in planned("").buffers if buffer.role == "state")
    a_token = cache.size.evaluate({**SIZES, "B": 1, "c": 1})
    assert a_token == 2 * (512 + 64) == 1152 and 61 * a_token == 70_272
