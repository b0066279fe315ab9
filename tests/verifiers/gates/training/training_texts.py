"""Texts that several tests of the gates of training change."""

from __future__ import annotations

SCATTERED = "tensor=t communication=reduce_scatter_all_gather recompute=full"
ALL = "tensor=t recompute=full convention=calculon"
EXPAND = "plan.task @mlp.expand.activation_gradient"
BARRIER = "  plan.task @sync barrier wait\n    work <>\n"
