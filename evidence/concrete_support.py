"""Helpers of the tests of concrete plans: a plan that needs every kind of command, binding it, and the rules that a text breaks."""

from __future__ import annotations

import re
from functools import cache

from support import example, gate, read, run

from bpir.ir.diagnostic import Diagnostic
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module

PLAN = """\
module @step {
  bp.symbols n, m where m > 1
  bind.strategy @tp {tensor = 2}
  bind.deployment @node {devices = 2}
    links [0 -> 1]
  bind.target @queues queue {abi = 3, alignment = 64}
    implements {elementwise = "qm.map", host = "qm.host", matrix_multiply = "qm.matmul", sum_all = "qm.sum_all"}
  bind.target @slots slot {abi = 5, alignment = 512}
    implements {elementwise = "sm.map", host = "sm.host", matrix_multiply = "sm.matmul", sum_all = "sm.sum_all"}
  plan.mesh <["tensor"=2]> strategy @tp
  plan.buffer @x : input<device_local> align 256 live [0, 1]
    size <4*n>
    consumers [@left, @right]
  plan.buffer @a : activation<device_local> align 8 live [0, 3]
    size <4*n*m>
    producers [@left]
    consumers [@sum]
  plan.buffer @b : activation<device_local> align 1024 live [1, 3]
    size <2*n>
    producers [@right]
    consumers [@sum]
  plan.buffer @y : output<device_local> align 32 live [3, 5]
    size <8*m>
    producers [@sum]
    consumers [@send, @sample]
  plan.task @left compute linear
    phase forward
    work <ops = 8*n*m,
          read = 4*n,
          write = 4*n*m>
    matmul <8*n*m>
    reads [@x]
    writes [@a]
    requires [matrix_multiply]
  plan.task @right compute gelu
    phase forward
    work <ops = n,
          read = 4*n,
          write = 2*n>
    reads [@x]
    writes [@b]
    requires [elementwise]
  plan.task @fence barrier barrier
    after [@left, @right]
    work <>
  plan.task @sum collective sum_all
    after [@left, @right, @fence]
    work <ops = m,
          read = 4*n*m + 2*n,
          write = 8*m,
          msg = 8*m>
    reads [@a, @b]
    writes [@y]
    requires [sum_all]
  plan.task @send transfer send
    after [@sum]
    between [0, 1]
    work <read = 8*m,
          write = 8*m,
          msg = 8*m>
    reads [@y]
  plan.task @sample host sample
    after [@sum]
    work <read = 8*m>
    reads [@y]
    requires [host]
}
"""

_LABEL = re.compile(r"\[([\w-]+\.[A-Z]\d+)\]")


def labels(found: list[Diagnostic]) -> set[str]:
    """The rules that the diagnostics name; the message itself where a diagnostic names none."""
    return {label for d in found for label in _LABEL.findall(d.message) or [d.message]}


def plan() -> Operation:
    return read(PLAN, "plan.bpir")


@cache
def bound_text(kind: str) -> str:
    """The plan bound to the target of a kind, printed."""
    return print_module(run(plan(), f"bind-{kind}")).rstrip("\n") + "\n"


def broken(kind: str, text: str, source: Operation | None = None) -> set[str]:
    """The rules that a concrete text breaks, as a derivation of the plan; the gate of files on disk."""
    return labels(gate(source or plan(), read(text, "concrete.bpir")))


@cache
def gpt3_plan() -> Operation:
    return run(example("gpt3_175b"), "distribute-inference", "plan-inference")


@cache
def gpt3_training_plan() -> Operation:
    options = "tensor=t communication=reduce_scatter_all_gather recompute=attention"
    return run(example("gpt3_175b"), f"distribute-training{{{options}}}", "plan-training")
