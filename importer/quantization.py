"""Which matrices of a quantised checkpoint are stored in which format, from `quantization_config`."""

from __future__ import annotations

import re
from typing import Any

import attrs

from bpir.importer.json_text import Member, Node
from bpir.importer.reading import Reading
from bpir.ir.diagnostic import warning

NEVER = r"lm_head|.*embed.*|.*norm.*|.*\.gate|.*\.router|.*visual.*|.*vision.*"
"""Matrices that no method quantises: head, tables, norms, routers, encoders of pictures. A list of exceptions may name them."""


@attrs.frozen
class Method:
    """A method of quantisation: the format, of which matrices (`all` but head and router, or `experts`), its fields and their values."""

    format: str
    matrices: str
    fields: dict[str, tuple[object, ...]]
    exceptions: str = NEVER  # what the list of exceptions may name
    passed: tuple[str, ...] = ()  # fields that say nothing of how weights are stored


_FP8 = {"dynamic": False, "num_bits": 8, "type": "float"}
METHODS = {
    "fp8": Method(
        "fp8_block",
        "all",
        {"activation_scheme": ("dynamic",), "fmt": ("e4m3",), "weight_block_size": ([128, 128],)},
    ),
    "mxfp4": Method("mxfp4", "experts", {}, NEVER + r"|.*self_attn"),
    # ModelOpt's, static: one scale a tensor, which is not counted
    "FP8": Method("f8E4M3FN", "all", {"config_groups": ({"group_0": {"input_activations": _FP8, "weights": _FP8}},)}, passed=("producer",)),
}
"""By `quant_method`, or by `quant_algo` where there is none."""

_EXCEPTIONS = ("modules_to_not_convert", "ignore")


def read_stored(reading: Reading) -> tuple[str, str]:
    """The format, and which matrices have it; both empty where all weights have the type of activations."""
    member = reading.find("quantization_config")
    if member is None or member.node.value is None:
        return "", ""
    fields: dict[str, Member] = member.node.value if isinstance(member.node.value, dict) else {}
    named = fields.get("quant_method") or fields.get("quant_algo")
    method = METHODS.get(str(named.node.value)) if named is not None else None
    if method is None:
        word = f"the method {named.node.text}" if named is not None else "a method that it does not name"
        reading.fail(f"'quantization_config' gives weights another type by {word}; known are {', '.join(METHODS)}", member.key)
        return "", ""
    for name in method.fields:
        if name not in fields and name != "fmt":
            reading.fail(f"'quantization_config' of the method {named.node.text if named else ''} needs '{name}'", member.key)
    for name, found in fields.items():
        if found is not named or name in method.fields:
            _check_field(reading, method, name, found)
    reading.notes["stored"] = "quantization_config"
    return method.format, method.matrices


def _check_field(reading: Reading, method: Method, name: str, found: Member) -> None:
    """Refuse what is not known to leave the method as it is; warn of a type of the cache, which is passed over."""
    if name in _EXCEPTIONS:
        _exceptions(reading, method, found)
    elif name == "kv_cache_scheme" and found.node.value is not None:
        message = f"'quantization_config.kv_cache_scheme' = {found.node.text} is passed over: K and V have the type of activations"
        reading.warnings.append(warning(message, found.key))
    elif name in method.fields:
        if _plain(found.node) not in method.fields[name]:
            reading.fail(f"'quantization_config.{name}' = {found.node.text} is not known; known is {method.fields[name][0]}", found.key)
    elif name not in method.passed and found.node.value is not None:
        reading.fail(f"unknown field 'quantization_config.{name}': it may change how weights are stored", found.key)


def _exceptions(reading: Reading, method: Method, found: Member) -> None:
    """Refuse exceptions that would leave some of the matrices as they are."""
    nodes = found.node.value if isinstance(found.node.value, list) else []
    for node in nodes:
        if not isinstance(node.value, str) or not re.fullmatch(method.exceptions, node.value):
            reading.fail(f"the list of exceptions names {node.text}: that some matrices are stored otherwise is not known", node.span)
            return


def _plain(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {key: _plain(member.node) for key, member in node.value.items()}
    return [_plain(item) for item in node.value] if isinstance(node.value, list) else node.value
