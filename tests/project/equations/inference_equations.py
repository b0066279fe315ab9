"""The meanings of the names in the equations of `distribute-inference` and `plan-inference`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

import raw
from equation_names import MLP, QKV, SIZES, Meanings, body, c, layer, meaning, mesh, planned_work, resources, t, work
from formula_proof import Meaning
from raw import expr_of, text_of
from support import example_text, read, replaced, run

from bpir.dialects.bp import TensorType
from bpir.dialects.dist import collective_tasks
from bpir.ir.expressions.expression import ONE, Expr, constant, total
from bpir.ir.operation import Operation, top_level

PHASES = {"prefill": c, "decode": ONE}


@cache
def inference(phase: str, degree: str = "t", relation: str = "") -> tuple[Operation, Operation]:
    """The distributed block of an example, and its plan; `relation` is declared besides those of the example."""
    text = example_text("transformer_block")
    if relation:
        text = replaced(text, ("where t | h", f"where {relation}, t | h"))
    tasks = run(read(text), f"distribute-inference{{phase={phase} tensor={degree}}}")
    return tasks, run(tasks, "plan-inference")


def of_inference(name: str, derived: Callable[[Operation, Operation], Iterable[Expr]], relation: str = "") -> Callable[[], list[Meaning]]:
    """The name stands for each of the values, in each phase and for a symbol and a number of ranks."""

    def meanings() -> list[Meaning]:
        found = []
        for phase, q in PHASES.items():
            for degree, ranks in (("t", t), ("8", constant(8))):
                values = list(derived(*inference(phase, degree, relation)))
                assert values
                found += [Meaning({**SIZES, "q": q, "t": ranks, name: value}) for value in values]
        return found

    return meanings


def operations_of(*layers: str) -> Callable[[Operation, Operation], Iterable[Expr]]:
    def derived(module: Operation, plan: Operation) -> Iterable[Expr]:
        found = [work(o).ops for o in body(module) if raw.work_of(o) is not None and layer(o) in layers]
        assert len(found) == len(layers)
        yield total(found)

    return derived


def collectives(component: str) -> Callable[[Operation, Operation], Iterable[Expr]]:
    return lambda module, plan: [
        getattr(work(o), component) for o in body(module) if isinstance(o.declaration, collective_tasks.Collective)
    ]


def buffers(role: str) -> Callable[[Operation, Operation], Iterable[Expr]]:
    return lambda module, plan: [expr_of(o, "size") for o in top_level(plan) if o.name == "plan.buffer" and text_of(o, "role") == role]


@meaning("distribute-inference.E1")
def _() -> Meanings:
    found = {}
    for phase in PHASES:
        block = next(o for o in top_level(inference(phase)[0]) if o.name == "dist.block")
        type = block.regions[0].blocks[0].arguments[0].type
        assert isinstance(type, TensorType)
        found[f"in {phase}"] = [Meaning({"q": type.dims[1], "c": c})]
    return found


def _states(module: Operation, plan: Operation) -> Iterable[Expr]:
    states = [o for o in body(module) if o.name == "dist.state"]
    yield total(v.type.local(mesh(module)).bytes for o in states for v in o.results if isinstance(v.type, TensorType))


for _label, _name, _derived in (
    ("distribute-inference.E2", "W_attention", operations_of("attention.core")),
    ("distribute-inference.E3", "W_QKV", operations_of(*QKV)),
    ("distribute-inference.E4", "W_out", operations_of("attention.output_projection")),
    ("distribute-inference.E5", "W_MLP", operations_of(*MLP)),
    ("distribute-inference.E6", "C_KV", _states),
    ("distribute-inference.E7", "M_TP", collectives("msg")),
    ("distribute-inference.E8", "W_reduce", collectives("ops")),
    ("plan-inference.E6", "C_KV", buffers("state")),
):
    meaning(_label)(of_inference(_name, _derived))

meaning("plan-inference.E5")(of_inference("C_workspace", buffers("workspace"), "H = h * d"))


meaning("plan-inference.E1")(lambda: planned_work(map(inference, PHASES)))
meaning("plan-inference.E2", "plan-inference.E3", "plan-inference.E4")(lambda: resources(map(inference, PHASES)))
