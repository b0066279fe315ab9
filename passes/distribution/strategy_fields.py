"""Fields of a strategy that change no task, or are rarely meant: each that is not at its neutral value gets a warning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bpir.dialects.bind import STRATEGY, as_expr, as_word, field_text, numbers_of
from bpir.dialects.bp import TensorType
from bpir.dialects.model.elementwise import Softmax
from bpir.dialects.model.rules.layers import part_of
from bpir.dialects.model.rules.local import settings_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.replicas import REPLICAS
from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import Diagnostic, warning
from bpir.ir.expressions.expression import ONE, Expr, constant
from bpir.ir.operation import Operation
from bpir.ir.relations.facts import Facts
from bpir.passes.base import Pass
from bpir.passes.distribution.placement import EXPERT, TENSOR
from bpir.passes.inputs import Binding

MESH_AXES = ("pipeline", "data", EXPERT, TENSOR)
"""The fields of a strategy that are axes of the mesh, in mesh order."""

LATENT = "latent"
"""The field that says the form of latent attention."""

FP32 = 4
"""Bytes of an element of the optimizer's master copy."""

_NEUTRAL = ("none", "false", "all_reduce", "standard", "expanded", "0", "weights")


def mesh_of_strategy(strategy: Binding, facts: Facts) -> dict[str, Expr]:
    """The mesh that the strategy spans, without the axes of size 1."""
    sizes = {name: as_expr(strategy.fields.get(name)) or ONE for name in MESH_AXES}
    return {name: size for name, size in sizes.items() if not facts.equal(size, ONE).proved}


def unheeded_in_inference(strategy: Binding, current: Pass, facts: Facts, blocks: Iterable[Operation]) -> list[Diagnostic]:
    """Warnings of an inference pass: it reads the degrees of tensor, expert and pipeline parallelism, and the forms of operations.

    Replicas (`data`) share nothing: each runs its own batch.
    """
    rules = [o.declaration for block in blocks for o in block.body]
    forms = {rule.form_field for rule in rules if isinstance(rule, ModelOperation)}
    heeded = (TENSOR, EXPERT, "data", "pipeline", "stages", "microbatches", "interleaving", *forms)
    reasons = {field.name: "changes nothing in inference" for field in STRATEGY if field.name not in heeded}
    if LATENT in reasons:
        reasons[LATENT] = "changes nothing: no block has latent attention"
    reasons |= _without_stages(strategy, facts)
    return _unheeded(strategy, current, facts, reasons)


def _without_stages(strategy: Binding, facts: Facts) -> dict[str, str]:
    alone = _neutral(strategy.fields.get("pipeline"), facts)
    return dict.fromkeys(("stages", "interleaving"), "changes nothing with pipeline = 1") if alone else {}


def unheeded_in_training(strategy: Binding, current: Pass, facts: Facts, blocks: Sequence[Operation]) -> list[Diagnostic]:
    """Warnings of a training pass, of what no block heeds; the attention of the blocks is in parts."""
    rules = [o.declaration for block in blocks for o in block.body if isinstance(o.declaration, ModelOperation)]
    attends = any(isinstance(rule, Softmax) for rule in rules)
    reasons = _without_stages(strategy, facts)
    reasons[LATENT] = "changes nothing in training, which makes K and V of all tokens"
    if all(_neutral(strategy.fields.get(axis), facts) for axis in REPLICAS):
        reasons |= dict.fromkeys(("zero", "optimizer_sharding"), "changes nothing with data = 1")
    if _neutral(strategy.fields.get(TENSOR), facts):
        reasons |= dict.fromkeys(("communication", "all_gather_redo"), "changes nothing with tensor = 1")
    if not any(rule.fusible for rule in rules):
        reasons["fused_activation"] = f"changes nothing: {_none_of(blocks)} activation function"
    if as_word(strategy.fields.get("recompute")) == "attention" and not attends:
        reasons["recompute"] = f"changes nothing: {_none_of(blocks)} attention"
    if any(facts.at_least(width, constant(FP32)).proved for block in blocks for width in _weight_widths(block)):
        reasons["master_copy"] = f"keeps a second copy of weights that have {FP32} bytes or more already"
    return _unheeded(strategy, current, facts, reasons)


def _none_of(blocks: Sequence[Operation]) -> str:
    return "the block has no" if len(blocks) == 1 else "no block has any"


def _weight_widths(block: Operation) -> set[Expr]:
    """The bytes of an element of each weight."""
    found: set[Expr] = set()
    for operation in block.body:
        rule, types = operation.declaration, [v.type for v in operation.operands]
        results = [v.type for v in operation.results]
        if isinstance(rule, ModelOperation):
            tensors, made = (tuple(t for t in each if isinstance(t, TensorType)) for each in (types, results))
            local = part_of(rule, settings_of(operation), tensors, made, (True,) * len(tensors))
            found.update(type.element_bytes for type in rule.weight_types(local))
    return found


def _unheeded(strategy: Binding, current: Pass, facts: Facts, reasons: Mapping[str, str]) -> list[Diagnostic]:
    found = []
    for field in STRATEGY:
        value = strategy.fields.get(field.name)
        if value is not None and field.name in reasons and not _neutral(value, facts):
            span = current.spans.get(field.name, strategy.operation.span)
            found.append(warning(f"'{field.name} = {field_text(value)}' {reasons[field.name]}", span))
    return found


def _neutral(value: Attribute | None, facts: Facts) -> bool:
    """Whether a field says what its absence would."""
    if numbers_of(value):
        return False
    size = as_expr(value)
    return as_word(value) in (None, *_NEUTRAL) if size is None else facts.equal(size, ONE).proved
