"""The meanings of the names in the equations of `bind-queue`, `bind-slot` and `bind-target`."""

from __future__ import annotations

from functools import cache

from equation_names import meaning, work
from formula_proof import Meaning
from raw import expr_of, number_of, symbol_of, text_of
from support import example_text, read, replaced, run

from bpir.dialects.bp import Work
from bpir.ir.expressions.expression import constant
from bpir.ir.operation import Operation, top_level


@cache
def bound(kind: str, command: str, least: int, target: int) -> tuple[Operation, Operation]:
    """A plan whose buffers have an alignment, and what it is bound to, with all sizes symbols."""
    machine = f"bind.target @m {kind} {{abi = 1, alignment = {target}}} implements {{{IMPLEMENTS}}}\n  bind.deployment @n {{devices = 8}}"
    strategy = "bind.strategy @tp {tensor = t}"
    text = replaced(example_text("transformer_block"), (strategy, f"{strategy}\n  {machine}"))
    plan = run(read(text), "distribute-inference{phase=prefill}", "plan-inference")
    from bpir.ir.printer import print_module

    plan = read(print_module(plan).replace("align 256", f"align {least}"))
    return plan, run(plan, command)


IMPLEMENTS = ", ".join(
    f'{what} = "x.{what}"' for what in ("all_reduce", "elementwise", "fused_attention", "kv_cache", "matrix_multiply", "normalization")
)


def bindings(command: str) -> list[tuple[Operation, Operation, int]]:
    kind = "slot" if command == "bind-slot" else "queue"
    return [(*bound(kind, command, least, target), target) for least, target in ((256, 512), (8, 4))]


def named(module: Operation, *kinds: str) -> list[Operation]:
    return [o for o in top_level(module) if o.name in kinds]


def same_work(command: str) -> list[Meaning]:
    found = []
    for plan, concrete, _ in bindings(command):
        ours = {text_of(o, "source"): o.properties["work"] for o in named(concrete, "concrete.launch", "concrete.collective")}
        for task in named(plan, "plan.task"):
            theirs = ours[symbol_of(task)]
            assert isinstance(theirs, Work)
            rows = zip(work(task).components, theirs.components, strict=True)
            found += [Meaning({"W_i^plan": a, "W_i^concrete": b}) for a, b in rows]
    return found


def layout(command: str) -> list[Meaning]:
    """For each buffer its alignment, its offset, and those of the one before."""
    found = []
    for plan, concrete, target in bindings(command):
        wanted = {symbol_of(o): number_of(o, "alignment") for o in named(plan, "plan.buffer")}
        before: Operation | None = None
        for buffer in named(concrete, "concrete.buffer"):
            larger = constant(max(wanted[symbol_of(buffer)], target))
            names = {"a_i": constant(number_of(buffer, "alignment")), "r_i": larger, "o_i": expr_of(buffer, "offset")}
            if before is not None:
                names |= {"o_{i-1}": expr_of(before, "offset"), "s_{i-1}": expr_of(before, "size")}
            found.append(Meaning(names))
            before = buffer
    return found


def first(command: str) -> list[Meaning]:
    return [Meaning({"o_0": expr_of(named(concrete, "concrete.buffer")[0], "offset")}) for _, concrete, _ in bindings(command)]


for _command in ("bind-queue", "bind-slot", "bind-target"):
    meaning(f"{_command}.E1")(lambda command=_command: same_work(command))
    meaning(f"{_command}.E2")(lambda command=_command: layout(command))
    meaning(f"{_command}.E3")(lambda command=_command: first(command))
    meaning(f"{_command}.E4")(lambda command=_command: [m for m in layout(command) if "o_{i-1}" in m.names])


@meaning("bind-slot.E5")
def _() -> list[Meaning]:
    found = []
    for _, concrete, _ in bindings("bind-slot"):
        for index, issue in enumerate(named(concrete, "slot.issue")):
            place = {f"{name}_i": constant(number_of(issue, name)) for name in ("cycle", "slot")}
            found.append(Meaning({"i": constant(index), **place}))
    return found
