"""The work of training, layer by layer, under two conventions that share one derivation: `standard` and `calculon`.

A layer is a model operation, a fork, or the collective at the entry or the exit of a tensor-parallel region. A convention says what each of
its tasks costs and what the layer keeps in memory; which layers and tasks there are is the derivation's.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, ClassVar

from bpir.dialects.bp import NO_WORK, TensorType, Work, work
from bpir.dialects.model.rules.layer_view import Choices, LayerView
from bpir.dialects.model.rules.reads import Read
from bpir.dialects.model.rules.sizes import gather_work, reduction_work
from bpir.ir.expressions.expression import ZERO, Expr, constant, total
from bpir.ir.relations.facts import Facts

FP32 = 4
"""The bytes of an element in f32."""

OPTIMIZER_STATES, GRADIENTS, WEIGHTS = 1, 2, 3
"""The stage of ZeRO from which on replicas share each (Rajbhandari et al. 2019, section 5): P_os, P_os+g, P_os+g+p."""


ANSWERS = (
    "forward",
    "activation_gradient",
    "weight_gradient",
    "replica_reduction",
    "weight_gather",
    "optimizer",
    "weight_bytes",
    "weight_gradient_bytes",
    "weight_gradient_unsharded_bytes",
    "optimizer_bytes",
    "activation_gradient_bytes",
    "output_bytes",
    "kept",
)
"""The questions about a layer that a convention answers, one value each."""


class Convention:
    """The costs of a layer's tasks, and what it keeps: each a function of the interned view alone, so it is remembered."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        for name in ANSWERS:
            if name in cls.__dict__:
                setattr(cls, name, cache(cls.__dict__[name]))
        super().__init_subclass__(**kwargs)


class Standard(Convention):
    """The standard convention: every distinct operand is read once, every result written once, in every phase."""

    name: ClassVar[str] = "standard"
    aliases_residual: ClassVar[bool] = True  # the gradient of a residual is a copy, without a task

    def __init__(self, choices: Choices, facts: Facts | None = None) -> None:
        self.choices = choices
        self.facts = facts if facts is not None else Facts()

    def _silent(self, view: LayerView) -> bool:
        """A fused activation moves no bytes in any phase; its operand stays kept."""
        return self.choices.fused_activation and view.rule is not None and view.rule.fusible

    def forward(self, view: LayerView) -> Work:
        """Forward: as the operation's rule says, and the mask of a dropout."""
        if view.rule is None:
            return self._collective(view, forward=True)
        found = view.rule.forward(view.local)
        if self._silent(view):
            return work(ops=found.ops)
        return Work(found.ops, found.read, found.write + view.mask, found.msg)

    def _collective(self, view: LayerView, forward: bool) -> Work:
        """The collective of a phase; no work where it is the identity.

        With all-reduce the exit of a region sums in forward and the entry in backward (Shoeybi et al. 2019, figure 3: g and f). Under
        sequence parallelism the entry gathers and the exit scatters in forward, and conversely in backward (Korthikanti et al. 2022,
        figure 5).
        """
        if view.kind == "fork":
            return NO_WORK
        reduces = (view.kind == "output_collective") == forward
        whole = view.whole
        if not self.choices.sequence_parallel or view.operand.dims == view.result.dims:  # nothing is shared at this border
            return reduction_work(whole, whole, self.choices.ranks) if reduces else NO_WORK
        part = view.result if view.kind == "output_collective" else view.operand
        return reduction_work(whole, part, self.choices.ranks) if reduces else gather_work(part, whole)

    def activation_gradient(self, view: LayerView) -> Work:
        """Reads what the operation's gradient needs and dY, writes dX; an alias (residual) has no work.

        A fork sums `u` gradients: `(u-1)n` additions, and reads each distinct one once. A fork's gradients are summed before the
        reduction of the entry: one collective.
        """
        if view.kind == "fork":
            size = view.operand
            return work((view.uses - 1) * size.elements, view.gradients * size.bytes, size.bytes)
        if view.rule is None:
            return self._collective(view, forward=False)
        if (view.rule.residual and self.aliases_residual) or not view.differentiable:
            return NO_WORK
        ops = view.rule.gradient_operations(view.local)
        if self._silent(view):
            return work(ops=ops)
        read = total(t.bytes for t in view.local.results) + view.rule.gradient_weights_read(view.local) * view.element
        return work(
            ops,
            read + self._needed(view, view.rule.gradient_reads),
            total(t.bytes for t in view.differentiable),
            view.rule.gradient_message(view.local),
        )

    def weight_gradient(self, view: LayerView) -> Work:
        """Reads X and dY, writes dW in the width in which gradients are kept."""
        if view.rule is None or view.weights is ZERO:
            return NO_WORK
        read = total(t.bytes for t in view.local.results) + self._needed(view, view.rule.weight_gradient_reads)
        width = self.gradient_width(view)
        rows = view.rule.weight_gradient_rows(view.local) / view.element * width
        written = rows if rows is not ZERO else view.weights * width
        return work(view.rule.weight_gradient_operations(view.local), read + rows, written)

    @staticmethod
    def _needed(view: LayerView, reads: tuple[Read, ...]) -> Expr:
        local = view.local
        operands = [type.bytes if first else ZERO for type, first in zip(local.operands, local.first_use, strict=True)]
        results = [type.bytes for type in local.results]
        return total(read.choose(operands, results, view.mask) for read in reads)

    def copies(self, view: LayerView) -> bool:
        """Whether the optimizer keeps an fp32 copy of the weights: as the strategy says, else unless they are known to be as wide."""
        chosen = self.choices.master_copy
        return not self.facts.at_least(view.element, constant(4)).proved if chosen is None else chosen

    def gradient_width(self, view: LayerView) -> Expr:
        """The bytes of an element of a weight's gradient, as it is kept and reduced."""
        return constant(FP32) if self.choices.f32_gradients else view.element

    def shared(self, view: LayerView, stage: int) -> Expr:
        """The elements that a rank has of what the replicas share from a ZeRO stage on, and have all of before."""
        return view.share if self.choices.zero >= stage else view.weights

    def optimizer(self, view: LayerView) -> Work:
        """Adam (Kingma and Ba 2015) on `w/D` weights: 11 operations each, the fp32 state read and written (Rajbhandari et al. 2019).

        With a master copy: read gradient, master, m and v, `(12+e)w/D`; write master, m, v and the weight, `(12+e)w/D`. Without: read
        gradient, weight, m and v, `(8+2e)w/D`; write weight, m and v, `(8+e)w/D`. A gradient that is kept in f32 is read as such.
        """
        share, gradient = self.shared(view, OPTIMIZER_STATES), self.gradient_width(view)
        if self.copies(view):
            return work(11 * share, (gradient + 12) * share, (view.element + 12) * share)
        return work(11 * share, (gradient + view.element + 8) * share, (view.element + 8) * share)

    def repeated(self, forward: Work) -> Work:
        """A collective repeated in backward costs what it cost in forward."""
        return forward

    def gradient_reduction(self, weights: Iterable[TensorType]) -> Work:
        """The all-reduce of the gradients of a layer's weights, of which each rank has a part: one message.

        Args:
            weights: the local tensors.
        """
        works = [reduction_work(type, type, self.choices.ranks) for type in weights]
        return Work(*(total(parts) for parts in zip(*(each.components for each in works), strict=True)))

    def replica_reduction(self, view: LayerView) -> Work:
        """The sum of a layer's weight gradients over the ranks that hold its weights: an all-reduce, or a reduce-scatter of its shares.

        With `n` elements of a weight over `D` replicas each sums its share of `D` parts, `ceildiv(n, D)*(D-1)` additions (Rabenseifner
        2004); the message is all gradients.
        """
        if not view.shares:
            return NO_WORK
        width = self.gradient_width(view)
        return work(
            view.share * (view.copies - 1),
            view.weights * width,
            self.shared(view, OPTIMIZER_STATES) * width,
            view.weights * width,
        )

    def weight_gather(self, view: LayerView) -> Work:
        """The gather of weights from the shares of the replicas: the message is all weights (Rajbhandari et al. 2019, section 7)."""
        size = view.weights * view.element
        return work(read=view.share * view.element, write=size, msg=size)

    # --- memory

    def weight_bytes(self, view: LayerView) -> Expr:
        """The weights that lie on a rank: `we`, shared from ZeRO 3 on: `we/D`."""
        return self.shared(view, WEIGHTS) * view.element

    def weight_gradient_bytes(self, view: LayerView) -> Expr:
        """The gradient that a rank keeps: `wg` with `g` bytes an element; shared from ZeRO 2 on, `wg/D`."""
        return self.shared(view, GRADIENTS) * self.gradient_width(view)

    def weight_gradient_unsharded_bytes(self, view: LayerView) -> Expr:
        """The gradient as it is accumulated, in fp32: `4w` (Narayanan et al. 2021)."""
        return 4 * view.weights

    def optimizer_bytes(self, view: LayerView) -> Expr:
        """fp32 m and v, and the master copy if there is one: `12w/D` or `8w/D`."""
        return (12 if self.copies(view) else 8) * self.shared(view, OPTIMIZER_STATES)

    def activation_gradient_bytes(self, view: LayerView) -> Expr:
        """The bytes that the activation-gradient task writes; none for an alias."""
        return self.activation_gradient(view).write

    def output_bytes(self, view: LayerView) -> Expr:
        """The local bytes of the results, without a mask; nothing for a fork, or a collective that is the identity in forward."""
        if view.kind == "fork" or (view.kind == "input_collective" and not self.choices.sequence_parallel):
            return ZERO
        return view.results_bytes


class Calculon(Standard):
    """The convention of Calculon (Isaev et al. 2023), integer by integer. Where it differs, the standard value is the right one:

    - C1: batched-matmul gradients read dC only; they need A and B too.
    - C2: softmax and GELU gradients move `2ne`; they read a kept value and dY and write dX, `3ne`.
    - C3: a residual's gradient costs `2n` and `3ne`; it is a copy.
    - C4: a fork adds `u` times and keeps its value; a sum of `u` gradients is `u-1` additions.
    - C5: dropout's gradient is counted by its mask, `n` bytes; it is `ne`.
    - C6: a repeated reduction carries its message and nothing else; it costs its additions again.
    - C7: Adam reads its state and writes nothing; it writes state and weights.
    - C8: a layer norm's dX reads dY and beta, not X; it reads X, dY and gamma.
    - C9: a collective moves `2Ae`; under sequence parallelism it moves its shard and the whole, `A(1+1/t)e`.
    - C10: `O_l` behind a reduce-scatter is the whole, and an entry that is the identity has one; it is the shard, and nothing.
    - C11: a fused activation keeps nothing and moves its bytes; it keeps X, and moves none.
    - C12: a layer's activation gradient is as large as its result; its task writes the gradients of its operands.
    - C13: `A_l` is every input of a layer, a collective's shard too; a value is kept once, by its first reader.
    - C14: recomputing attention drops what feeds Q, K and V; nothing makes it again, unless `all_gather_redo` says so.
    - C15: `full` repeats the last residual too; nothing in backward reads it.
    - C16: the checkpoint is the whole input; under sequence parallelism it is the shard.
    - C17: the parts of the gradients of whole weights under sequence parallelism are summed for nothing; each sum is an all-reduce.
    - C18: what replicas exchange of gradients and weights carries its message, and nothing else; it is read, added and written.
    """

    name: ClassVar[str] = "calculon"
    aliases_residual: ClassVar[bool] = False

    def _collective(self, view: LayerView, forward: bool) -> Work:
        if view.kind == "fork":
            return NO_WORK
        found = super()._collective(view, forward)
        return found if found is NO_WORK else work(found.ops, view.whole.bytes, view.whole.bytes, found.msg)

    def activation_gradient(self, view: LayerView) -> Work:
        found = super().activation_gradient(view)
        operand, result = view.operand, view.result
        if view.kind == "fork":
            return work(view.uses * operand.elements, found.read, found.write)
        if view.kind == "batch_matmul":
            return work(found.ops, result.bytes, found.write)
        if view.kind in ("layer_norm", "rms_norm"):
            return work(found.ops, operand.bytes + view.weights * view.element, result.bytes)
        if view.kind == "softmax" or (view.rule is not None and view.rule.fusible):
            return work(found.ops, result.bytes, operand.bytes)
        if view.kind == "add":
            return work(2 * result.elements, result.bytes, 2 * result.bytes)
        return found

    def optimizer(self, view: LayerView) -> Work:
        share = self.shared(view, OPTIMIZER_STATES)
        return work(11 * share, (12 if self.copies(view) else 8) * share)

    def repeated(self, forward: Work) -> Work:
        return work(msg=forward.msg)

    def gradient_reduction(self, weights: Iterable[TensorType]) -> Work:
        return NO_WORK

    def replica_reduction(self, view: LayerView) -> Work:
        return work(msg=view.weights * view.element) if view.shares else NO_WORK

    def weight_gather(self, view: LayerView) -> Work:
        return work(msg=view.weights * view.element)

    def kept(self, view: LayerView) -> Expr:
        """`A_l`: what Calculon counts as the activations of a layer: its inputs, whether or not another layer counts them too."""
        if view.kind == "input_collective":
            return view.operand.bytes if self.choices.sequence_parallel else ZERO
        if view.kind == "output_collective":
            return view.result.bytes
        if view.rule is not None and view.rule.masked:
            return view.mask
        if self._fused(view):
            return ZERO
        return total(t.bytes for t in view.local.operands)

    def _silent(self, view: LayerView) -> bool:
        """A fused activation keeps nothing, but moves its bytes."""
        return False

    def _fused(self, view: LayerView) -> bool:
        return super()._silent(view)

    def activation_gradient_bytes(self, view: LayerView) -> Expr:
        if view.kind == "fork" or self._fused(view):
            return ZERO
        if view.kind == "input_collective":
            return view.operand.bytes
        if view.kind == "output_collective":
            return view.result.bytes if self.choices.sequence_parallel else ZERO
        if view.rule is not None and view.rule.masked:
            return view.mask
        return view.results_bytes

    def output_bytes(self, view: LayerView) -> Expr:
        if view.kind == "fork":
            return ZERO
        if view.rule is None:
            return view.whole.bytes
        return view.results_bytes


CONVENTIONS = {"standard": Standard, "calculon": Calculon}
