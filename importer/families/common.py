"""Parts that many tables share."""

from __future__ import annotations

from typing import Any

from bpir.importer.fields import AS_HEADS, PER_HEAD, REFUSED, Field, Property, Rule, Values, flag, layers, size
from bpir.importer.reading import Reading

ACTIVATIONS = {
    **dict.fromkeys(("gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_accurate"), "gelu"),
    **dict.fromkeys(("gelu", "gelu_python"), "gelu_erf"),
    "quick_gelu": "quick_gelu",
    "relu": "relu",
    "relu2": "relu2",
    "silu": "silu",
    "swish": "silu",
}
"""The operation of an activation function by the names of transformers: approximations by a hyperbolic tangent count alike."""

ELEMENTS = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "half": "f16", "float": "f32", "float64": "f64"}
ELEMENT = Field("torch_dtype", "word", "bf16", "bf16", ("dtype",), {**ELEMENTS, **{f"torch.{w}": e for w, e in ELEMENTS.items()}})
"""The type of weights and activations; a configuration that names none is taken as bf16."""


def activation(name: str, default: str, also: tuple[str, ...] = (), null: Any = REFUSED) -> Field:
    """The activation function of the MLP."""
    return Field(name, "word", ACTIVATIONS[default], null, also, ACTIVATIONS)


def head_size(default: Any = PER_HEAD, null: Any = PER_HEAD) -> Field:
    """The size of a head where the configuration may give it."""
    return size("head_dim", default, null)


HEAD_DIM = head_size()
"""As most classes of transformers have it."""


def sizes(
    width: int, depth: int, heads: int, feed_forward: int, vocabulary: int, kv_heads: Any = AS_HEADS, head: Property = HEAD_DIM
) -> dict[str, Property]:
    """The sizes under their usual names, with the defaults of a class. KV heads: absent is the default, null is as many as heads."""
    return {
        "depth": layers("num_hidden_layers", depth),
        "width": size("hidden_size", width),
        "heads": size("num_attention_heads", heads),
        "kv_heads": size("num_key_value_heads", kv_heads, AS_HEADS),
        "head_size": head,
        "feed_forward": size("intermediate_size", feed_forward),
        "vocabulary": size("vocab_size", vocabulary),
    }


def tied(default: bool) -> Field:
    """Whether the head is the embedding's table."""
    return flag("tie_word_embeddings", default)


def part_of_head(default: float, *names: str) -> Rule:
    """The elements of a head that are turned: a fraction, under the names or in the parameters of rope."""
    spellings = (*names, "partial_rotary_factor", "rope_parameters.partial_rotary_factor", "rope_scaling.partial_rotary_factor")

    def of(reading: Reading, values: Values) -> int:
        fraction = reading.field("rotary", Field(spellings[0], "fraction", default, default, spellings[1:]), values)
        return int(values["head_size"] * fraction)

    return Rule(spellings[0], of)


def window(default: int, switch: str = "", switched_on: bool = False) -> Property:
    """Tokens that a layer with a window sees; 0 where the field is null, or where the switch is off."""
    field = size("sliding_window", default, 0)
    if not switch:
        return field

    def of(reading: Reading, values: Values) -> Any:
        on = reading.field("window", Field(switch, "flag", switched_on, False), values)
        width = reading.field("window", field, values)
        return width if on else 0

    return Rule(f"sliding_window, {switch}", of)
