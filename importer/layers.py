"""Which layers have a window and which turn by positions: a list in the configuration, a period, or all."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from bpir.importer.decoder import Layer
from bpir.importer.fields import KINDS, MAXIMUM_LAYERS, Field, Rule, Values
from bpir.importer.json_text import Node
from bpir.importer.reading import Reading

KINDS_OF_LAYERS = {"full_attention": False, "sliding_attention": True}
"""The words of `layer_types`: whether the layer has a window."""


def _layers(windows: list[bool], values: Values) -> tuple[Layer, ...]:
    """Layers, of which those marked have the window that the model has."""
    return tuple(Layer(window=marked and bool(values["window"])) for marked in windows)


def alike(window: bool = False) -> Rule:
    """All layers the same, with the window if there is one."""
    return Rule("all layers alike", lambda reading, values: _layers([window] * values["depth"], values))


def listed(otherwise: Callable[[Reading, Values], list[bool]], text: str, rotary_only_local: bool = False) -> Rule:
    """By `layer_types`; where that is absent by an older rule.

    Args:
        otherwise: which layers have a window, without the list.
        text: the older rule in words.
        rotary_only_local: whether only layers with a window turn by positions, if there are such layers.
    """

    def of(reading: Reading, values: Values) -> tuple[Layer, ...]:
        older = otherwise(reading, values)
        windows = _listed(reading, values)
        if windows is not None:
            reading.notes["layers"] = "layer_types"
        layers = _layers(older if windows is None else windows, values)
        if rotary_only_local and any(layer.window for layer in layers):
            return tuple(Layer(layer.window, rotary=layer.window) for layer in layers)
        return layers

    return Rule(text, of)


def _listed(reading: Reading, values: Values) -> list[bool] | None:
    member = reading.find("layer_types")
    if member is None or member.node.value is None:
        return None
    nodes = member.node.value if isinstance(member.node.value, list) else []
    for node in nodes:
        if not isinstance(node.value, str) or node.value not in KINDS_OF_LAYERS:
            known = " and ".join(f"'{word}'" for word in KINDS_OF_LAYERS)
            reading.fail(f"a layer of the kind {node.text} is not known to {reading.model}: 'layer_types' may hold {known}", node.span)
            return None
    if len(nodes) != values["depth"]:
        reading.fail(f"'layer_types' must be a list of {values['depth']} words, one for each layer", member.node.span)
        return None
    return [KINDS_OF_LAYERS[str(node.value)] for node in nodes]


def every(period: int, field: str = "", first: bool = False) -> Callable[[Reading, Values], list[bool]]:
    """One of `period` layers sees all tokens, the last or the first of them, the others have the window; a field may give the period."""

    def of(reading: Reading, values: Values) -> list[bool]:
        step = reading.field("layers", Field(field, "size", period, period), values) if field else period
        return [(index + (0 if first else 1)) % step != 0 for index in range(values["depth"])]

    return of


def from_layer(field: str, default: int) -> Callable[[Reading, Values], list[bool]]:
    """From a layer on they have the window."""

    def of(reading: Reading, values: Values) -> list[bool]:
        first = reading.field("layers", Field(field, "count", default, 0), values)
        return [index >= first for index in range(values["depth"])]

    return of


def all_or_none(window: bool) -> Callable[[Reading, Values], list[bool]]:
    """All layers, or none of them."""
    return lambda reading, values: [window] * values["depth"]


def some_without_rotary(interval: int) -> Rule:
    """SmolLM3: `no_rope_layers` holds 1 for each layer that turns by positions; else each `no_rope_layer_interval`-th does not."""

    def of(reading: Reading, values: Values) -> tuple[Layer, ...]:
        step = reading.field("layers", Field("no_rope_layer_interval", "size", interval), values)
        rotary = [(index + 1) % step != 0 for index in range(values["depth"])]
        member = reading.find("no_rope_layers")
        if member is not None and member.node.value is not None:
            nodes = member.node.value if isinstance(member.node.value, list) else []
            if len(nodes) != values["depth"] or any(node.value not in (0, 1) for node in nodes):
                reading.fail(f"'no_rope_layers' must be a list of {values['depth']} times 0 or 1", member.node.span)
            else:
                reading.notes["layers"] = "no_rope_layers"
                rotary = [bool(node.value) for node in nodes]
        windows = _listed(reading, values) or [bool(values["window"]) and not turned for turned in rotary]
        return tuple(Layer(marked and bool(values["window"]), turned) for marked, turned in zip(windows, rotary, strict=True))

    return Rule("no_rope_layer_interval", of)


def attention_types(field: str) -> Rule:
    """GPT-Neo: `[[["global", "local"], 12]]`, a pattern and how often it repeats."""

    def of(reading: Reading, values: Values) -> tuple[Layer, ...]:
        member = reading.find(field)
        words: list[str] = ["global", "local"] * (values["depth"] // 2)
        if member is not None:
            words = []
            for item in member.node.value if isinstance(member.node.value, list) else []:
                repeated = _repeated(item)
                if repeated is None:
                    reading.fail(f"'{field}' expects pairs of a list of 'global' and 'local' and how often it repeats", item.span)
                    return ()
                words += repeated
        if len(words) != values["depth"]:
            place = member.node.span if member else reading.node.span
            reading.fail(f"'{field}' names {len(words)} layers of {values['depth']}", place)
            return ()
        return _layers([word == "local" for word in words], values)

    return Rule(field, of)


def _repeated(item: Node) -> list[str] | None:
    """The words of `[["global", "local"], 12]`; None if it is no such pair."""
    pair = item.value if isinstance(item.value, list) else []
    if len(pair) != 2:
        return None
    kinds = [node.value for node in pair[0].value] if isinstance(pair[0].value, list) else []
    count: int | None = KINDS["size"].meaning(pair[1].value)
    if not count or count > MAXIMUM_LAYERS or any(kind not in ("global", "local") for kind in kinds):
        return None
    return [str(kind) for kind in kinds] * count


def routed(text: str, marks: Callable[[Reading, Values], list[bool]], windows: Rule | None = None) -> Rule:
    """Which layers are mixtures of experts, by marks; their windows are as another rule says, none where there is no rule."""

    def of(reading: Reading, values: Values) -> tuple[Layer, ...]:
        layers = windows.of(reading, values) if windows is not None else _layers([False] * values["depth"], values)
        found = marks(reading, values)
        return tuple(attrs.evolve(layer, routed=mark) for layer, mark in zip(layers, found, strict=True))

    return Rule(text, of)


def all_routed(reading: Reading, values: Values) -> list[bool]:
    """Every layer is a mixture of experts."""
    return [True] * values["depth"]


def dense_first(field: str, default: int, null: int = 0) -> Callable[[Reading, Values], list[bool]]:
    """The first layers are dense, the others are routed."""

    def of(reading: Reading, values: Values) -> list[bool]:
        dense = reading.field("layers", Field(field, "count", default, null), values)
        return [index >= dense for index in range(values["depth"])]

    return of


def sparse_step(reading: Reading, values: Values) -> list[bool]:
    """Qwen: each `decoder_sparse_step`-th layer is routed, but for those that `mlp_only_layers` lists."""
    step = reading.field("layers", Field("decoder_sparse_step", "size", 1), values)
    member = reading.find("mlp_only_layers")
    nodes = member.node.value if member is not None and isinstance(member.node.value, list) else []
    dense = {node.value for node in nodes}
    if member is not None and not all(isinstance(value, int) and 0 <= value < values["depth"] for value in dense):
        reading.fail(f"'mlp_only_layers' must be a list of numbers of layers, from 0 to {values['depth'] - 1}", member.node.span)
    return [index not in dense and (index + 1) % step == 0 for index in range(values["depth"])]
