"""The table of families: one entry for each architecture that is known."""

from __future__ import annotations

from bpir.importer.families import alibi, experts, gemma, gpt, later, llama, neox, norms, qwen, remote
from bpir.importer.family import Family

_MODULES = (llama, qwen, gemma, gpt, neox, alibi, norms, remote, experts, later)
FAMILIES: tuple[Family, ...] = tuple(family for module in _MODULES for family in module.MEMBERS)
"""All families, those that can't be imported last."""

BY_ARCHITECTURE: dict[str, Family] = {architecture: family for family in FAMILIES for architecture in family.architectures}
"""Families by the class that a configuration names."""

BY_TYPE: dict[str, Family] = {type: family for family in FAMILIES for type in (family.name, *family.types)}
"""Families by `model_type`."""
