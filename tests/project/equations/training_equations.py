"""The meanings of the names in the equations of `distribute-training` and `plan-training`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import raw
from equation_names import MLP, QKV, SIZES, D, Meanings, body, e, layer, meaning, mesh, planned_work, resources, t, work
from formula_proof import Meaning
from raw import expr_of, symbol_of
from support_training import Step
from support_training import block as training

from bpir.dialects.bp import Work, product
from bpir.dialects.dist import collective_tasks, one_rank
from bpir.dialects.model.rules.sizes import feature_dims, token_dims
from bpir.ir.expressions.expression import ZERO, Expr, constant, total
from bpir.ir.operation import Operation, top_level

COMMUNICATIONS = {"": "all_reduce", "under sequence parallelism": "reduce_scatter_all_gather"}
BACKWARD = "activation_gradient"
SHARED = {"data": "D", "optimizer_sharding": True}


def steps() -> list[Step]:
    return [training(communication=communication) for communication in COMMUNICATIONS.values()]


def tasks(step: Step, *phases: str) -> list[Operation]:
    return [o for o in body(step.dist) if raw.work_of(o) is not None and (not phases or raw.text_of(o, "phase") in phases)]


def operations(step: Step, phase: str, *layers: str) -> Expr:
    return total(work(o).ops for o in tasks(step, phase) if not layers or layer(o) in layers)


def weights(step: Step) -> dict[str, Expr]:
    """The elements of weights of each layer that has some."""
    return {layer(o): raw.weights_of(o) for o in tasks(step, "forward") if raw.weights_of(o) is not ZERO}


def of_training(**derived: Callable[[Step], Iterable[Expr]]) -> Callable[[], list[Meaning]]:
    """The names stand for what is derived with either communication; `R` is the residual stream."""

    def meanings() -> list[Meaning]:
        found = []
        for step in steps():
            rows = zip(*(list(values(step)) for values in derived.values()), strict=True)
            found += [Meaning({**SIZES, "t": t, "R": residual(step), **dict(zip(derived, row, strict=True))}) for row in rows]
        assert found
        return found

    return meanings


def residual(step: Step) -> Expr:
    """The elements of the residual stream on a rank."""
    task = next(o for o in tasks(step, "forward") if raw.kind_of(o) == "add")
    return one_rank.local(task, task, mesh(step.dist)).results[0].elements


@meaning("distribute-training.E1")
def _() -> list[Meaning]:
    found = []
    for step in steps():
        for task in tasks(step, "forward"):
            if raw.kind_of(task) == "linear":
                part = one_rank.local(task, task, mesh(step.dist))
                operand, result = part.operands[0], part.results[0]
                sizes = {"m": product(token_dims(operand)), "n": product(feature_dims(operand)), "k": product(feature_dims(result))}
                found.append(Meaning({**sizes, "W_gemm": work(task).ops}))
    return found


PRODUCTS = ("attention.query_key", "attention.probability_value")


def _moved(step: Step) -> list[Work]:
    return [work(o) for o in tasks(step, "forward", BACKWARD) if isinstance(o.declaration, collective_tasks.Collective)]


for _label, _name, _values in (
    ("distribute-training.E2", "W_QKV", lambda step: [operations(step, "forward", *QKV)]),
    ("distribute-training.E3", "W_attn", lambda step: [operations(step, "forward", *PRODUCTS)]),
    ("distribute-training.E4", "W_MLP", lambda step: [operations(step, "forward", *MLP)]),
    ("distribute-training.E5", "M_TP", lambda step: [w.msg for w in _moved(step)]),
    ("distribute-training.E6", "W_reduce", lambda step: [w.ops for w in _moved(step) if w.ops is not ZERO]),
    ("distribute-training.E9", "w", lambda step: [total(weights(step).values())]),
    ("distribute-training.E13", "W_forward", lambda step: [operations(step, "forward")]),
    ("distribute-training.E14", "W_dX", lambda step: [operations(step, BACKWARD)]),
    ("distribute-training.E15", "W_dW", lambda step: [operations(step, "weight_gradient")]),
):
    meaning(_label)(of_training(**{_name: _values}))


@meaning("distribute-training.E16")
def _() -> list[Meaning]:
    step = training(communication="reduce_scatter_all_gather")
    return [Meaning({**SIZES, "M_weights": total(work(o).msg for o in tasks(step, "gradient_reduction"))})]


@meaning("distribute-training.E7")
def _() -> list[Meaning]:
    found = []
    for options in ({}, {"recompute": "attention"}, {"communication": "reduce_scatter_all_gather", "all_gather_redo": True}):
        step = training(**options)
        layers = []
        for facts in step.report.layers.values():
            kept, output = facts["activation_bytes"], facts["output_bytes"]
            assert isinstance(kept, Expr) and isinstance(output, Expr)
            flags = {f"{name}_l": constant(int(facts[key])) for name, key in _FLAGS.items() if isinstance(facts[key], bool)}
            layers.append({"A_l": kept, "O_l": output, **flags})
        found.append(Meaning({"C_act": step.report.memory["activation_stored"]}, {"l": layers}))
    return found


_FLAGS = {"storeOutput": "output_stored", "storeActivation": "activation_stored"}


@meaning("distribute-training.E8")
def _() -> list[Meaning]:
    found = []
    for step in steps():
        for task in tasks(step, BACKWARD):
            if raw.kind_of(task) == "fork":
                part = one_rank.local(task, task, mesh(step.dist))
                names = {"u": constant(len(part.operands)), "n": part.results[0].elements}
                found.append(Meaning({**names, "W_fork": work(task).ops}))
    return found


@meaning("distribute-training.E10")
def _() -> list[Meaning]:
    step = training(**SHARED)
    return [Meaning({"w": total(weights(step).values()), "D": D, "W_Adam": operations(step, "optimizer")})]


@meaning("distribute-training.E11")
def _() -> Meanings:
    found = {}
    for words, master in (("with a master copy", True), ("without one", False)):
        step = training(**SHARED, master_copy=master)
        found[words] = [Meaning({"w": total(weights(step).values()), "D": D, "C_Adam": step.report.memory["optimizer"]})]
    return found


@meaning("distribute-training.E12")
def _() -> Meanings:
    return {words: [Meaning({**SIZES, "t": t, "R": residual(step)})] for words, step in zip(COMMUNICATIONS, steps(), strict=True)}


meaning("plan-training.E1")(lambda: planned_work((step.dist, step.plan) for step in steps()))
meaning("plan-training.E2", "plan-training.E3", "plan-training.E4")(lambda: resources((step.dist, step.plan) for step in steps()))


@meaning("plan-training.E5", "plan-training.E6")
def _() -> list[Meaning]:
    step = training(**SHARED)
    sizes = {symbol_of(o): expr_of(o, "size") for o in top_level(step.plan) if o.name == "plan.buffer"}
    return [
        Meaning({"w": count, "e": e, "D": D, "s_weights": sizes[f"{name}.weights"], "s_optimizer": sizes[f"{name}.optimizer_state"]})
        for name, count in weights(step).items()
    ]
