"""The KV caches of a distributed inference block, against the attentions of its model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bpir.dialects.bp import TensorType
from bpir.dialects.dist import tasks as dist
from bpir.dialects.model.attention import KvAppend
from bpir.dialects.model.rules.layers import group_of, layer_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.expressions.expression import Expr, maximum, minimum
from bpir.ir.operation import Operation, Value
from bpir.verifiers.distribution.workload import window_of
from bpir.verifiers.model_operations import tensor_of
from bpir.verifiers.rulebooks import INFERENCE

if TYPE_CHECKING:
    from bpir.verifiers.distribution.block import InferenceBlockCheck

Images = list[Value | None]
"""The images of some values of a model; None where one is missing, which is refused elsewhere."""


class CacheCheck:
    """Judges the caches of one block, and the tasks that append to them."""

    def __init__(self, check: InferenceBlockCheck) -> None:
        self.check = check
        self.findings = check.findings
        self.phase = check.phase
        self._visible: dict[tuple[Value, ...], Images] = {}  # what a cache gives, by the new K and V of the model

    def visible(self, operation: Operation, images: Images) -> Images:
        """The K and V of all visible tokens: what the cache of an attention's new K and V gives, whose images are given."""
        new = tuple(operation.operands[-2:])
        return self._visible[new] if new in self._visible else self.append(operation, images)

    @INFERENCE.rule("R11", "the KV cache holds all visible tokens")
    def append(self, operation: Operation, images: Images) -> Images:
        """The KV cache and its append: new K and V go in, all visible tokens come out."""
        layer, new = layer_of(operation), tuple(operation.operands[-2:])
        if new in self._visible:
            self.findings.refuse("R11", operation, f"'{layer}' appends K and V to a cache that have one already")
            self.check.claimed.update(self.check.tasks.get(layer, []))
            return [None, None]
        self._visible[new] = [None, None]
        kept = self._kept(operation.results if isinstance(operation.declaration, KvAppend) else new)
        state = self._state(operation, layer, _of_tokens(images, kept))
        task = self.check.claimed_task(operation, layer, "kv_append") if state is not None else None
        if state is None or task is None:
            return [None, None]
        rule = DECLARATIONS["model.kv_append"]
        assert isinstance(rule, ModelOperation)
        seen = kept if self.phase.name == "decode" else self.phase.context
        self.check.task(task, operation, rule, [*images, *state.results], _of_tokens(images, seen), "write")
        self._visible[new] = list(task.results)
        return list(task.results)

    def _state(self, operation: Operation, layer: str, types: Sequence[TensorType]) -> dist.State | None:
        """The state of a layer, with a K and a V of these types; None if it has not one."""
        made = self.check.tasks.get(layer, [])
        states = [task for task in made if isinstance(task, dist.State)]
        one = [len(state.results) for state in states] == [2]
        message = f"'{layer}' needs one dist.state with the K and the V of the cache"
        if not self.findings.require("R11", one, operation, message):
            self.check.claimed.update([*states, *filter(_appends, made)])
            return None
        state = states[0]
        self.check.claimed.add(state)
        self.check.named(state, "", beside(operation, "kv_cache"))
        for value, type in zip(state.results, types, strict=False):
            self.check.note_shape(value, type)
            self.findings.same_type("R11", state, "the KV cache must hold every visible token", value, type)
        return state

    def _kept(self, values: Iterable[Value]) -> Expr:
        """The number of tokens that the cache of new K and V must hold: all, or as far back as the widest window of its readers."""
        windows = [window_of(reader) for reader in self._readers(values)]
        limits = [window.substitute(self.phase.sizes) for window in windows if window is not None]
        limited = bool(limits) and len(limits) == len(windows)
        return minimum(self.phase.context, maximum(*limits)) if limited else self.phase.context

    def _readers(self, values: Iterable[Value]) -> list[Operation]:
        """The operations that read K and V, without those that append them to the cache."""
        uses = (reader for value in values for reader in self.check.uses.get(value, ()))
        return [reader for reader in uses if not isinstance(reader.declaration, KvAppend)]


def _of_tokens(images: Images, tokens: Expr) -> list[TensorType]:
    """The types of K and V with so many tokens."""
    types = [tensor_of(image) for image in images if image is not None]
    return [TensorType((type.dims[0], tokens, *type.dims[2:]), type.axes, type.element, ()) for type in types]


def _appends(task: dist.Task | dist.State) -> bool:
    return isinstance(task, dist.Task) and isinstance(task.rule, KvAppend)


def beside(operation: Operation, kind: str) -> tuple[str, str]:
    """The names of what is beside a layer: after its group; after the layer itself where its group has several."""
    return f"{group_of(layer_of(operation))}.{kind}", f"{layer_of(operation)}.{kind}"
