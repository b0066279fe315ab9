"""The text of an imported model: what it is, symbols and numbers with their fields, workload, strategy, blocks and network."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import attrs

from bpir.importer.blocks import Blocks
from bpir.importer.decoder import Decoder, Layer


@attrs.frozen
class Symbol:
    """A size by its letter: its number, and where it is from."""

    letter: str
    value: int
    note: str


@attrs.frozen
class Run:
    """Layers that repeat: the names of one repetition's blocks, and how often."""

    blocks: tuple[str, ...]
    times: int


def write_model(model: Decoder, notes: dict[str, str], name: str, heading: Sequence[str]) -> str:
    """The text of a model.

    Args:
        notes: for each property of the model the field that it is from.
        name: the module's symbol.
        heading: the lines of the comment above the module.
    """
    symbols = _symbols(model, notes)
    kinds = _kinds(model.layers)
    blocks = Blocks(model, notes)
    lines = [f"// {line}".rstrip() for line in heading]
    lines += ["", f"module @{name} {{", *_indented(_declarations(model, symbols))]
    lines += ["", *_indented(_strategy(model))]
    ids = "%ids: !bp.tensor<B x S, i32>"
    x = f"%x: !bp.tensor<B x S x H, {model.element}>"
    lines += _block("embedding", ids, blocks.embedding())
    for layer, block in kinds.items():
        lines += _block(block, x, blocks.layer(layer))
    lines += _block("head", x, blocks.head())
    lines += ["", *_indented(_network(model, name, ids, kinds, notes.get("layers", "")))]
    return "\n".join([*lines, "}"]) + "\n"


def _symbols(model: Decoder, notes: dict[str, str]) -> list[Symbol]:
    """The sizes that the blocks name, in the order of the papers."""
    used = [
        ("H", "width", True),
        ("F", "feed_forward", model.dense),
        (model.expert_letter, "expert_feed_forward", bool(model.experts)),
        ("s", "shared_feed_forward", bool(model.shared_feed_forward) and model.shared_letter == "s"),
        ("V", "vocabulary", True),
        ("L", "depth", len(set(model.layers)) == 1),
        ("h", "heads", True),
        ("g", "kv_heads", model.kv_heads != model.heads and not model.latent),
        ("d", "head_size", not model.latent),
        ("n", "key_size", bool(model.latent)),
        ("r", "rotary", 0 < model.rotary < model.head_size or bool(model.latent)),
        ("v", "value_size", bool(model.latent)),
        ("a", "query_latent", bool(model.query_latent)),
        ("l", "latent", bool(model.latent)),
        ("E", "experts", bool(model.experts)),
        ("k", "chosen", bool(model.experts)),
        ("W", "window", any(layer.window for layer in model.layers)),
        ("P", "positions", bool(model.positions)),
        ("w", "embedding_width", bool(model.embedding_width)),
    ]
    values = {**attrs.asdict(model, recurse=False), "depth": len(model.layers)}
    return [Symbol(letter, values[name], notes.get(name, "")) for letter, name, there in used if there]


def _declarations(model: Decoder, symbols: list[Symbol]) -> Iterator[str]:
    letters = [symbol.letter for symbol in symbols]
    relations = ["g | h"] if "g" in letters else []
    shared = [letter for letter in ("F", "f", "s") if letter in letters]
    relations += ["t | h", *(f"t | {letter}" for letter in shared), "t | H"] if _splits(model) else []
    relations += ["d > r"] if "r" in letters and "d" in letters else []
    relations += ["E > k"] if model.experts > model.chosen else []
    names = ["B", "S", "c", *letters, *(["t"] if _splits(model) else [])]
    yield f"bp.symbols {', '.join(names)}" + (f" where {', '.join(relations)}" if relations else "")
    for symbol in symbols:
        yield f"bp.bind {symbol.letter} = {symbol.value}" + (f"  // {symbol.note}" if symbol.note else "")


def _splits(model: Decoder) -> int:
    """The largest number of ranks, at most 8, that can share the heads, the feed-forward layer and the width evenly; 0 if there is none."""
    common = math.gcd(model.heads, *model.widths, model.width)
    few = [ranks for ranks in range(2, 9) if common % ranks == 0]
    return few[-1] if few else common if common > 1 else 0


def example_numbers(model: Decoder) -> str:
    """Numbers for a first report: one sequence, 2,048 tokens, or as many as there are positions, up to 8 ranks."""
    context = min(2048, model.positions or 2048)
    return f"B=1 c={context}" + (f" t={_splits(model)}" if _splits(model) else "")


def _strategy(model: Decoder) -> Iterator[str]:
    yield "bind.workload @decode inference {phase = decode, context = c, causal = dense, head = last}"
    if _splits(model):
        yield "bind.strategy @tp {tensor = t}"
    else:
        yield f"bind.strategy @one {{tensor = 1}}  // no number divides h = {model.heads}, {_spelled(model)}, H = {model.width}"


def _spelled(model: Decoder) -> str:
    return ", ".join(f"F = {width}" for width in model.widths)


def _block(name: str, argument: str, body: list[str]) -> list[str]:
    return ["", f"  model.block @{name}({argument}) {{", *(f"    {line}".rstrip() for line in body), "  }"]


def _network(model: Decoder, name: str, ids: str, kinds: dict[Layer, str], layers: str) -> Iterator[str]:
    yield f"model.network @{name}({ids}) {{"
    yield "  %x = model.call @embedding %ids"
    value = "%x"
    runs = _runs([kinds[layer] for layer in model.layers])
    why = f"  // {layers}" if layers and len(kinds) > 1 else ""
    for index, run in enumerate(runs):
        result = "%y" if len(runs) == 1 else f"%y{index}"
        callees = f"@{run.blocks[0]}" if len(run.blocks) == 1 else "[" + ", ".join(f"@{block}" for block in run.blocks) + "]"
        times = "L" if len(kinds) == 1 else str(run.times)
        yield f"  {result} = model.repeat {times} {callees} {value}{why}"
        value, why = result, ""
    yield f"  %l = model.call @head {value}"
    yield "  model.return %l"
    yield "}"


def _kinds(layers: Sequence[Layer]) -> dict[Layer, str]:
    """A name for each kind of layer, in the order of their first use."""
    found = list(dict.fromkeys(layers))
    if len(found) == 1:
        return {found[0]: "layer"}
    windows = len({layer.window for layer in found}) == 2
    rotary = len({layer.rotary for layer in found}) == 2
    routed = len({layer.routed for layer in found}) == 2

    def name(layer: Layer) -> str:
        place = ("local" if layer.window else "global") if windows else ""
        turned = ("rotary" if layer.rotary else "unrotated") if rotary and (not windows or len(found) > 2) else ""
        experts = ("moe" if layer.routed else "dense") if routed else ""
        return "_".join(part for part in (place, turned, experts) if part)

    return {layer: name(layer) for layer in found}


def _runs(names: Sequence[str]) -> list[Run]:
    """The layers as repetitions: of the shortest period that all but a rest of them has, then the rest."""
    count = len(names)
    period = next(p for p in range(1, count + 1) if all(names[i] == names[i % p] for i in range(count)))
    if period < count or count == 1:
        whole = count // period
        runs = [Run(tuple(names[:period]), whole)]
        return runs + (_stretches(names[whole * period :]) if count % period else [])
    return _stretches(names)


def _stretches(names: Sequence[str]) -> list[Run]:
    """One repetition for each stretch of equal layers."""
    found: list[Run] = []
    for name in names:
        if found and found[-1].blocks == (name,):
            found[-1] = Run((name,), found[-1].times + 1)
        else:
            found.append(Run((name,), 1))
    return found


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}".rstrip() for line in lines)
