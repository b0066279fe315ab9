"""Any configuration is imported as a sound model, or refused at a place in it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support import DATA, read
from tiers import examples

from bpir.importer.entry import import_model
from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.verifiers.structure import module as structure

ROWS = [json.loads(line) for line in (DATA / "transformers" / "parameters.jsonl").read_text().splitlines()]
CONFIGS = [row["config"] for row in ROWS if "parameters" in row]
NAMES = sorted({name for config in CONFIGS for name in config} | {"layer_types", "no_rope_layers", "attention_types", "rope_parameters"})
SCALARS = st.none() | st.booleans() | st.integers(-3, 70) | st.sampled_from([2**40, 10**30, 0.5, 1e400, "", "gelu", "full_attention", "é"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3), max_leaves=6
)


def outcome(config: Any) -> list[str]:
    """The messages of a refusal, each at a place in the text; nothing of a model that is sound."""
    try:
        imported = import_model(Source("config.json", json.dumps(config)))
    except DiagnosticError as failure:
        assert failure.diagnostics
        assert all(d.span is not None and d.span.source.name == "config.json" for d in failure.diagnostics)
        return [d.message for d in failure.diagnostics]
    assert structure.verify(read(imported.text)) == []
    return []


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(CONFIGS), st.data())
def test_a_changed_configuration(config: dict[str, Any], data: st.DataObject) -> None:
    changed = dict(config)
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(sorted(changed) or NAMES) | st.sampled_from(NAMES))
        if name in changed and data.draw(st.booleans()):
            del changed[name]
        else:
            changed[name] = data.draw(VALUES)
    outcome(changed)


@settings(max_examples=examples(50), deadline=None)
@given(VALUES)
def test_anything(value: Any) -> None:
    assert outcome(value) != []
