"""The valid modules that are corrupted: every example at each level, under the strategies that change what is derived."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import attrs
from concrete_support import PLAN
from support import DATA, example_text, read, run

from bpir.ir.operation import Operation
from bpir.ir.printer import print_module

UNDECLARED = " without t | H"
"""An example that leaves the width of a reduction's share open: the derivation has to record that the degree divides it."""
CACHE = "war.dist"
"""A distributed module, of `data/cases`, that reads the cache before it is written."""
WRITTEN = "step"
"""A plan that no example leads to: one with transfers, barriers and calls of the host."""

PARALLEL = "parallel"
"""A block of which attention and MLP read one norm (Wang & Komatsuzaki 2021): their partial sums are added, and reduced together.

Its query heads share heads of K and V (Ainslie et al. 2023).
"""
BLOCK = """\
module @parallel {
  bp.symbols B, S, c, H, F, h, g, d, t, e, D where t | h, t | g, g | h, t | F, t | H, t | S
  bind.workload @serve inference {phase = decode, context = c}
  bind.strategy @tp {tensor = t}
  bind.strategy @small {tensor = 2}
  model.block @block(%x: !bp.tensor<B x S x H, e>) {
    %n = model.rms_norm "norm" %x
    %q, %k, %v = model.linear "attention.qkv" %n : [h x d], [g x d], [g x d]
    %o = model.attention "attention.core" %q, %k, %v context c
    %y = model.linear "attention.output_projection" %o : [H]
    %u = model.linear "mlp.expand" %n : [F]
    %g = model.gelu "mlp.gelu" %u
    %w = model.linear "mlp.contract" %g : [H]
    %s = model.add "sum" %y, %w
    %z = model.add "residual" %s, %x
    model.return %z
  }
}
"""


NETWORK = "network"
"""A whole model: a block again and again, two in turns, and one at the end."""
WHOLE = """\
module @network {
  bp.symbols B, S, c, H, F, V, h, d, t, L where t | h, t | F, t | V, t | H
  bind.workload @serve inference {phase = decode, context = c}
  bind.strategy @tp {tensor = t}
  bind.deployment @node {devices = t}
  bind.target @queues queue {abi = 1, alignment = 64} implements {matrix_multiply = "mm", normalization = "n", elementwise = "e",
                                                                  attention = "a", kv_cache = "kv", all_reduce = "ar"}
  model.block @layer(%x: !bp.tensor<B x S x H, bf16>) {
    %q, %k, %v = model.linear "attention.qkv" %x : [h x d], [h x d], [h x d]
    %o = model.attention "attention.core" %q, %k, %v context c
    %y = model.linear "attention.output_projection" %o : [H]
    %r = model.add "attention.residual" %y, %x
    model.return %r
  }
  model.block @mlp(%x: !bp.tensor<B x S x H, bf16>) {
    %n = model.rms_norm "mlp.norm" %x
    %u = model.linear "mlp.expand" %n : [F]
    %w = model.linear "mlp.contract" %u : [H]
    model.return %w
  }
  model.block @head(%x: !bp.tensor<B x S x H, bf16>) {
    %y = model.linear "head.logits" %x : [V]
    model.return %y
  }
  model.network @whole(%x: !bp.tensor<B x S x H, bf16>) {
    %a = model.repeat L @layer %x
    %b = model.repeat 3 [@layer, @mlp] %a
    %z = model.call @head %b
    model.return %z
  }
}
"""
EXPERTS = "experts"
"""A mixture of experts over an axis of its own: the rows go to the ranks of their experts and come back."""
MIXTURE = """\
module @experts {
  bp.symbols B, S, c, H, F, E, k, t, ep where t | F, t | H, E > k, ep | E, ep | B
  bind.workload @serve inference {phase = decode, context = c}
  bind.strategy @ep {tensor = t, expert = ep}
  model.block @layer(%x: !bp.tensor<B x S x H, bf16>) {
    %route = model.router "moe.router" %x top k of E
    %rows = model.dispatch "moe.dispatch" %x, %route
    %u = model.experts "moe.up" %rows of E : [F]
    %g = model.gelu "moe.gelu" %u
    %w = model.experts "moe.contract" %g of E : [H]
    %y = model.combine "moe.combine" %w, %route
    %z = model.add "moe.residual" %y, %x
    model.return %z
  }
}
"""

SHARED = "shared"
"""Weights that replicas share out (ZeRO 3)."""
REPLICAS = """\
module @shared {
  bp.symbols B, S, H, F
  bind.strategy @tp {tensor = 1}
  model.block @layer(%x: !bp.tensor<B x S x H, bf16>) {
    %n = model.rms_norm "mlp.norm" %x
    %u = model.linear "mlp.expand" %n bias : [F]
    %g = model.gelu "mlp.gelu" %u
    %w = model.linear "mlp.contract" %g : [H]
    model.return %w
  }
}
"""
OWN = {PARALLEL: BLOCK, NETWORK: WHOLE, EXPERTS: MIXTURE, SHARED: REPLICAS}


@attrs.frozen
class Case:
    """A valid target with the source that it is judged against; one of the two is corrupted."""

    name: str
    example: str
    options: tuple[str, ...]
    side: str = "target"

    @property
    def level(self) -> str:
        """`model`, or the pass whose result is corrupted."""
        return "model" if self.side == "source" else self.options[-1].partition("{")[0]

    def modules(self) -> tuple[Operation, Operation]:
        """Source and target; the target is read from its text, so that every diagnostic has a place."""
        return _derive(self.example, self.options)


@cache
def _derive(name: str, passes: tuple[str, ...]) -> tuple[Operation, Operation]:
    if name == CACHE:
        source = read((DATA / "cases" / f"{name}.bpir").read_text(encoding="latin-1"), f"{name}.bpir")
    elif name == WRITTEN:
        source = read(PLAN, f"{name}.bpir")
    elif name in OWN and len(passes) == 1:
        source = read(OWN[name], f"{name}.bpir")
    elif len(passes) == 1:
        text = example_text(name.removesuffix(UNDECLARED)).replace("bp.symbols B,", "bp.symbols D, B,")
        source = read(text.replace(", t | H", "") if name.endswith(UNDECLARED) else text, f"{name}.bpir")
    else:
        _, source = _derive(name, passes[:-1])
    return source, read(print_module(run(source, passes[-1])), "target.bpir")


INFERENCE = (
    ("transformer_block", "phase=prefill"),
    ("transformer_block", "phase=decode"),
    ("transformer_block", "phase=decode tensor=1"),
    ("transformer_block", "phase=prefill tensor=8 batch=4 context=2*c"),
    ("gpt3_175b", "phase=decode tensor=8"),
    ("gpt3_175b", "phase=prefill"),
    ("gpt2", "phase=decode"),
    ("opt_6_7b", "phase=decode"),
    ("transformer_block" + UNDECLARED, "phase=decode"),
)
TRAINING = (
    ("transformer_block", "tensor=t communication=all_reduce recompute=none"),
    ("transformer_block", "tensor=t communication=all_reduce recompute=attention data=D optimizer_sharding"),
    ("transformer_block", "tensor=8 communication=all_reduce recompute=full"),
    ("transformer_block", "tensor=t communication=reduce_scatter_all_gather recompute=none data=D optimizer_sharding master_copy=false"),
    ("transformer_block", "tensor=t communication=reduce_scatter_all_gather recompute=attention"),
    ("transformer_block", "tensor=t communication=reduce_scatter_all_gather recompute=full"),
    ("transformer_block", "tensor=t communication=reduce_scatter_all_gather recompute=attention all_gather_redo"),
    ("transformer_block", "tensor=1 recompute=full fused_activation"),
    ("transformer_block", "tensor=t communication=reduce_scatter_all_gather recompute=full convention=calculon"),
    ("transformer_block", "tensor=t communication=reduce_scatter_all_gather recompute=attention convention=calculon"),
    ("transformer_block", "tensor=4 communication=all_reduce recompute=none convention=calculon fused_activation"),
    ("gpt3_175b", "tensor=8 communication=reduce_scatter_all_gather recompute=none all_gather_redo"),
    ("opt_6_7b", "tensor=t communication=all_reduce recompute=attention"),
    ("transformer_block" + UNDECLARED, "tensor=t communication=all_reduce recompute=none"),
)

OF_PARALLEL = (
    ("inference", "strategy=@tp phase=prefill"),
    ("inference", "strategy=@small phase=decode"),
    ("training", "strategy=@tp communication=all_reduce recompute=full"),
    ("training", "strategy=@tp communication=reduce_scatter_all_gather recompute=none data=D"),
)

MODELS = (0, 1, 4, 6, 8)  # of INFERENCE
MODELS_OF_TRAINING = (0, 1, 6, 12)
BOUND = (
    ("gpt3_175b", "inference{phase=decode tensor=8}"),
    ("gpt3_175b", "training{tensor=8}"),
)
DEVICES = (("queue", 2), ("slot", 2), ("slot", 16))
"""Bindings of the plan with every kind of command to a node that has more or as many devices as the plan has ranks."""


def cases() -> list[Case]:
    """Every case: the distributed module against its model, the plan against the distributed module, the binding against the plan; and
    models, of which a distributed module has to be no derivation any more.
    """
    return [
        *_of_examples(),
        *_of_bindings(),
        Case(CACHE, CACHE, ("plan-inference",)),
        *_of_models(),
        *_of_parallel(),
        *(Case(f"{WRITTEN} {count}", WRITTEN, (f"bind-{target}{{devices={count}}}",)) for target, count in DEVICES),
        *_of_network(),
        *_of_experts(),
        *_of_replicas(),
    ]


def _of_examples() -> Iterator[Case]:
    for kind, chosen in (("inference", INFERENCE), ("training", TRAINING)):
        for name, options in chosen:
            first = f"distribute-{kind}{{{options}}}"
            yield Case(f"{name} {options}", name, (first,))
            yield Case(f"{name} {options}", name, (first, f"plan-{kind}"))


def _of_bindings() -> Iterator[Case]:
    bindings = ("bind-queue", "bind-slot")
    for name, derived in BOUND:
        planned = (f"distribute-{derived}", f"plan-{derived.partition('{')[0]}")
        yield from (Case(f"{name} {derived}", name, (*planned, binding)) for binding in bindings)
    yield from (Case(WRITTEN, WRITTEN, (binding,)) for binding in bindings)


def _of_models() -> Iterator[Case]:
    for kind, chosen, indices in (("inference", INFERENCE, MODELS), ("training", TRAINING, MODELS_OF_TRAINING)):
        for name, options in (chosen[index] for index in indices):
            yield Case(f"{name} {options}", name, (f"distribute-{kind}{{{options}}}",), "source")


def _of_parallel() -> Iterator[Case]:
    for kind, options in OF_PARALLEL:
        first = f"distribute-{kind}{{{options}}}"
        yield from (Case(f"{PARALLEL} {options}", PARALLEL, passes) for passes in ((first,), (first, f"plan-{kind}")))
    yield Case(f"{PARALLEL} {OF_PARALLEL[0][1]}", PARALLEL, (f"distribute-inference{{{OF_PARALLEL[0][1]}}}",), "source")


def _of_network() -> Iterator[Case]:
    for kind in ("inference", "training"):
        passes = (f"distribute-{kind}", f"plan-{kind}", *(("bind-queue",) if kind == "inference" else ()))
        yield from (Case(f"{NETWORK} {kind}", NETWORK, passes[:count]) for count in range(1, len(passes) + 1))
    yield Case(f"{NETWORK} inference", NETWORK, ("distribute-inference",), "source")


def _of_replicas() -> Iterator[Case]:
    """Weights that lie in shares, and are gathered for each use."""
    passes = ("distribute-training{tensor=1 data=4 zero=3}", "plan-training")
    yield from (Case(f"{SHARED} zero=3", SHARED, passes[:count]) for count in (1, 2))


def _of_experts() -> Iterator[Case]:
    yield from (Case(EXPERTS, EXPERTS, ("distribute-inference", "plan-inference")[:count]) for count in (1, 2))
    yield Case(EXPERTS, EXPERTS, ("distribute-inference",), "source")
    yield from (Case(f"{EXPERTS} training", EXPERTS, ("distribute-training", "plan-training")[:count]) for count in (1, 2))
