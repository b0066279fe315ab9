"""Names for what has none in a graph: layers by what they do, symbols by what axes are."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

from bpir.importer.stablehlo.axes import Axis, resolved
from bpir.importer.stablehlo.block import Made, Step
from bpir.importer.stablehlo.functions import ACTIVATIONS

_THROUGH = ("rope", "rms_norm", "layer_norm", "scale")
_NORMS = ("rms_norm", "layer_norm")


class Layers:
    """Gives each operation the name of a layer."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.users: dict[Made, list[Step]] = {}
        for step in steps:
            for operand in step.operands:
                self.users.setdefault(operand, []).append(step)
        for step in steps:
            if step.kind == "attention":
                self._attention(step)
        self._each(ACTIVATIONS, self._activation)
        self._each(("linear",), self._linear)
        self._each(_NORMS, self._norm)
        self._each(None, self._rest)
        self._distinct()

    def _each(self, kinds: Container[str] | None, name: Callable[[Step], None]) -> None:
        """Name the steps of some kinds, or of all, that have no name."""
        for step in self.steps:
            if not step.layer and (kinds is None or step.kind in kinds):
                name(step)

    def _attention(self, step: Step) -> None:
        step.layer = "attention.core"
        for role, operand in zip(("query", "key", "value"), step.operands, strict=True):
            self._towards(role, operand)
        for user in self.users.get(step.result, ()):
            if user.kind == "linear":
                user.layer = user.layer or "attention.output_projection"

    def _towards(self, role: str, value: Made) -> None:
        """Name what leads to Q, K or V, up to the matrix product that makes it."""
        while value.by is not None and value.by.kind in _THROUGH:
            step = value.by
            step.layer = step.layer or f"attention.{role}_{'norm' if step.kind in _NORMS else step.kind}"
            value = step.operands[0]
        if value.by is not None and value.by.kind == "linear":
            together = "attention.qkv" if len(value.by.results) > 1 else f"attention.{role}"
            value.by.layer = value.by.layer or together

    def _activation(self, step: Step) -> None:
        step.layer = f"mlp.{step.kind}"
        gated = next((user for user in self.users.get(step.result, ()) if user.kind == "mul"), None)
        made = step.operands[0].by
        if made is not None and made.kind == "linear" and not made.layer:
            several = len(made.results) > 1
            made.layer = "mlp.gate_up" if several else "mlp.gate" if gated else "mlp.expand"
        if gated is not None:
            self._gated(gated, step)
        for user in self.users.get((gated or step).result, ()):
            if user.kind == "linear":
                user.layer = user.layer or "mlp.contract"

    def _gated(self, product: Step, activation: Step) -> None:
        """Name the product with an activation, and the linear that makes its other operand."""
        product.layer = product.layer or "mlp.multiply"
        other = next((value.by for value in product.operands if value is not activation.result), None)
        if other is not None and other.kind == "linear":
            other.layer = other.layer or "mlp.up"

    def _linear(self, step: Step) -> None:
        step.layer = "linear"

    def _norm(self, step: Step) -> None:
        after = {user.layer.partition(".")[0] for user in self.users.get(step.result, ()) if user.layer}
        part = "attention" if "attention" in after else "mlp" if "mlp" in after else ""
        kind = "norm" if step.kind == "rms_norm" else step.kind
        step.layer = f"{part}.{kind}" if part else kind

    def _rest(self, step: Step) -> None:
        if step.kind == "add":
            before = {operand.by.layer for operand in step.operands if operand.by is not None}
            ends = (("attention.output_projection", "attention.residual"), ("mlp.contract", "mlp.residual"))
            step.layer = next((name for end, name in ends if end in before), "residual")
        else:
            step.layer = step.kind

    def _distinct(self) -> None:
        taken: set[str] = set()
        for step in self.steps:
            name, number = step.layer, 1
            while step.layer in taken:
                number += 1
                step.layer = f"{name}_{number}"
            taken.add(step.layer)


class Symbols:
    """Gives each axis a symbol, after what it is first seen as.

    Attributes:
        names: the symbol of each axis, in order; `sizes` its number.
        groups: the symbols of heads of Q and of K that serve several of them.
    """

    def __init__(self, inputs: Sequence[Made], steps: Sequence[Step], grouped: dict[Axis, Axis]) -> None:
        self.names: dict[Axis, str] = {}
        self.sizes: dict[str, int] = {}
        self.joined: dict[Axis, tuple[Axis, str]] = {}
        self.groups: list[tuple[str, str]] = []
        self.hidden: set[Axis] = set()  # how many heads of Q one of K serves: no symbol of its own
        self.grouped = {resolved([one])[0]: resolved([other])[0] for one, other in grouped.items()}
        for axis, name in zip(inputs[0].axes, "BSH", strict=True):
            self._name([axis], name)
        for step in steps:
            if step.kind == "attention":
                self._heads(step)
        for step in steps:
            for axes in step.features:
                self._name(axes, "F")

    def _heads(self, step: Step) -> None:
        q, k, v = (resolved(value.axes[2:]) for value in step.operands)
        heads = q[:-1]
        if len(heads) == 2 and self.grouped.get(heads[0]) is heads[1]:
            if heads[0] not in self.joined:
                kv = self._name([heads[0]], "g")
                whole = self._fresh("h", heads[0].size * heads[1].size)
                self.joined[heads[0]] = (heads[1], whole)
                self.groups.append((kv, whole))
                self.hidden.add(heads[1])
        else:
            self._name(heads, "h")
        self._name(k[:-1], "g")
        self._name(q[-1:], "d")
        self._name(v[-1:], "dv")

    def _name(self, axes: Iterable[Axis], wanted: str) -> str:
        last = ""
        for axis in resolved(axes):
            if axis in self.hidden:
                continue
            if axis not in self.names:
                self.names[axis] = self._fresh(wanted, axis.size)
            last = self.names[axis]
        return last

    def _fresh(self, wanted: str, size: int) -> str:
        name, number = wanted, 1
        while name in self.sizes:
            number += 1
            name = f"{wanted}{number}"
        self.sizes[name] = size
        return name

    def text(self, axes: Sequence[Axis]) -> str:
        """Axes as the language writes them: `h x d`."""
        found, rest = [], list(resolved(axes))
        while rest:
            axis = rest.pop(0)
            if axis in self.joined and rest and rest[0] is self.joined[axis][0]:
                rest.pop(0)
                found.append(self.joined[axis][1])
            else:
                found.append(self.names[axis])
        return " x ".join(found)
