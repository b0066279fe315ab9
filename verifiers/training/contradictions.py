"""Which choices of a training strategy exclude each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bpir.dialects.bind import as_expr, as_word
from bpir.dialects.replicas import REPLICAS
from bpir.ir.attributes import Attribute
from bpir.verifiers.zero_stages import zero_stage

Fields = Mapping[str, Attribute]


def contradiction_of(strategy: Fields) -> str:
    """The first two choices of a strategy that exclude each other, in words; empty if none do."""
    return next(filter(None, (found(strategy) for found in _CONTRADICTIONS)), "")


def _says(strategy: Fields, **choices: str) -> bool:
    """Whether the strategy makes all of these choices."""
    return all(as_word(strategy.get(field)) == word for field, word in choices.items())


def _gathers_nothing(strategy: Fields) -> str:
    if not _says(strategy, all_gather_redo="true") or _says(strategy, communication="reduce_scatter_all_gather"):
        return ""
    return "all_gather_redo gathers shards of the sequence again, and there are none"


def _keeps_no_shard(strategy: Fields) -> str:
    both = _says(strategy, all_gather_redo="true", recompute="full")
    return "all_gather_redo keeps a shard, and recompute = full keeps none" if both else ""


def _repeats_what_calculon_keeps(strategy: Fields) -> str:
    both = _says(strategy, recompute="core_attention", convention="calculon")
    return "Calculon does not repeat the product with V" if both else ""


def _two_stages(strategy: Fields) -> str:
    sharded = as_word(strategy.get("optimizer_sharding"))
    if not as_word(strategy.get("zero")) or not sharded or (sharded == "true") == (zero_stage(strategy) == 2):
        return ""
    return "optimizer_sharding is zero = 2, and zero says another stage"


def _no_replicas(strategy: Fields) -> str:
    stage = zero_stage(strategy)
    if not stage or any(as_expr(strategy.get(axis)) is not None for axis in REPLICAS):
        return ""
    said = "optimizer_sharding" if as_word(strategy.get("zero")) is None else f"zero = {stage}"
    return f"{said} shards over data-parallel ranks, and nothing says how many"


def _calculon_with_other_shares(strategy: Fields) -> str:
    other = zero_stage(strategy) not in (0, 2) or _says(strategy, gradients="f32")
    if not other or not _says(strategy, convention="calculon"):
        return ""
    return "Calculon shares optimizer states and gradients or nothing, and keeps gradients as wide as the weights"


_CONTRADICTIONS: tuple[Callable[[Fields], str], ...] = (
    _gathers_nothing,
    _keeps_no_shard,
    _repeats_what_calculon_keeps,
    _two_stages,
    _no_replicas,
    _calculon_with_other_shares,
)
