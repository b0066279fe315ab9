"""The stages of ZeRO as the judges read them from a strategy: apart from what the derivations ask, so that neither repeats the other."""

from __future__ import annotations

from collections.abc import Mapping

from bpir.dialects.bind import as_word
from bpir.ir.attributes import Attribute

SHARES_OPTIMIZER_STATES = 1
SHARES_GRADIENTS = 2
SHARES_WEIGHTS = 3
"""The stages from which on replicas share each (Rajbhandari et al. 2019, section 5: P_os, P_os+g, P_os+g+p)."""


def zero_stage(strategy: Mapping[str, Attribute]) -> int:
    """The stage from 0 to 3; `optimizer_sharding = true`, which says no stage, shares what stage 2 shares."""
    stage = as_word(strategy.get("zero"))
    if stage is None:
        stage = "2" if as_word(strategy.get("optimizer_sharding")) == "true" else "0"
    return int(stage)
