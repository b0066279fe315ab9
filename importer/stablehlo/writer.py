"""The block as text, as a person would write it."""

from __future__ import annotations

from collections.abc import Sequence

from bpir.importer.stablehlo.axes import resolved
from bpir.importer.stablehlo.block import Made, Step
from bpir.importer.stablehlo.names import Symbols

_ORDER = "BSHFhgd"  # of symbols, by their first letter
_ROLES = {"attention.query": "q", "attention.key": "k", "attention.value": "v", "attention.qkv": "qkv", "mlp.up": "u", "mlp.gate": "g"}
_ROLES |= {"mlp.expand": "u", "mlp.contract": "w", "mlp.residual": "z", "mlp.layer_norm": "m", "mlp.norm": "m"}
_LETTERS = {"linear": "y", "attention": "o", "add": "r", "mul": "p", "layer_norm": "n", "rms_norm": "n", "softmax": "s", "rope": "t"}


def write_block(
    title: str, element: str, inputs: Sequence[Made], results: Sequence[Made], steps: Sequence[Step], symbols: Symbols, single: set[Made]
) -> str:
    """The module: symbols with their numbers, what is run, a strategy, and the block.

    Args:
        single: K and V with one head, which is written.
    """
    return _Writer(title, element, symbols, single).module(inputs, results, steps)


class _Writer:
    def __init__(self, title: str, element: str, symbols: Symbols, single: set[Made]) -> None:
        self.title, self.element, self.symbols, self.single = title, element, symbols, single
        self.values: dict[Made, str] = {}
        self.taken: set[str] = set()

    def module(self, inputs: Sequence[Made], results: Sequence[Made], steps: Sequence[Step]) -> str:
        sizes = dict(sorted(self.symbols.sizes.items(), key=lambda item: _ORDER.index(item[0][0])))
        relations = [f"{kv} | {heads}" for kv, heads in self.symbols.groups]
        sharded = [name for name in sizes if name[0] in "Fhg"]
        relations += [f"t | {name}" for name in ("H", *sharded)]
        numbers = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        arguments = ", ".join(f"{self._value(value, 'x')}: !bp.tensor<{self.symbols.text(value.axes)}, {self.element}>" for value in inputs)
        lines = [
            f"module @{self.title} {{",
            f"  bp.symbols {', '.join((*sizes, 't'))} where {', '.join(relations)}",
            f"  bp.bind {numbers}",
            "",
            "  bind.workload @prefill inference {phase = prefill, context = S}",
            "  bind.workload @step training {context = S}",
            "  bind.strategy @tp {tensor = t}",
            "",
            f"  model.block @block({arguments}) {{",
        ]
        lines += [f"    {self._step(step)}" for step in steps]
        returned = ", ".join(self.values[value] for value in results)
        return "\n".join([*lines, f"    model.return {returned}", "  }", "}"]) + "\n"

    def _step(self, step: Step) -> str:
        operands = ", ".join(self.values[value] for value in step.operands)
        letter = _ROLES.get(step.layer) or _LETTERS.get(step.kind, "a") * len(step.results)
        results = [self._value(value, letter[i]) for i, value in enumerate(step.results)]
        text = f'{", ".join(results)} = model.{step.kind} "{step.layer}" {operands}'
        if step.kind == "linear":
            text += " bias" if step.bias else ""
            shapes = (self._features(value, step.features[i]) for i, value in enumerate(step.results))
            return f"{text} : {', '.join(shapes)}"
        return text + self._attributes(step)

    def _attributes(self, step: Step) -> str:
        """What an operation says behind its operands."""
        if step.over is not None and step.kind in ("layer_norm", "rms_norm"):
            return f" over {self.symbols.text([step.over])}"
        if step.kind == "rope" and step.turned != resolved(step.operands[0].axes)[-1].size:
            return f" dims {step.turned}"
        if step.kind != "attention":
            return ""
        window = f" window {step.window}" if step.window else ""
        softcap = " softcap" if step.softcap else ""
        causal = "  // causal: all scores are computed" if step.masked and not step.window else ""
        return f"{window}{softcap}{causal}"

    def _features(self, value: Made, features: Sequence[object]) -> str:
        axes = self.symbols.text(value.axes[2:])
        return f"[1 x {axes}]" if value in self.single else f"[{axes}]"

    def _value(self, value: Made, wanted: str) -> str:
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f"{wanted}{number}"
        self.taken.add(name)
        self.values[value] = f"%{name}"
        return self.values[value]
