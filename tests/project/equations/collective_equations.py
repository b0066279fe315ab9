"""The meanings of the names in the equations of collectives and transfers."""

from __future__ import annotations

from functools import cache

from equation_names import MEANINGS, B, H, Meanings, S, e, meaning, t, work, works
from formula_proof import Meaning
from support import example_text, read, run
from training_equations import BACKWARD, steps, tasks

from bpir.ir.expressions.expression import constant, symbol
from bpir.ir.operation import top_level


def collective(name: str) -> Meanings:
    """Each collective of the kind that training derives."""
    found = [work(o) for step in steps() for o in tasks(step, "forward", BACKWARD) if o.name == name]
    return {"": [Meaning(works({"N": B * S * H, "t": t, "e": e}, ("", w))) for w in found]}


for _name in ("dist.all_reduce", "dist.all_gather", "dist.reduce_scatter"):
    MEANINGS[_name] = cache(lambda name=_name: collective(name))


SHARED_EXPERTS = """
module {
  bp.symbols B, S, H, E, k, ep where E > k, ep | E, ep | B
  bind.workload @decode inference {phase = decode, context = S}
  bind.strategy @ep {tensor = 1, expert = ep}
  model.block @moe(%x: !bp.tensor<B x S x H, bf16>) {
    %route = model.router "moe.router" %x top k of E
    %rows = model.dispatch "moe.dispatch" %x, %route
    %w = model.experts "moe.up" %rows of E : [H]
    %y = model.combine "moe.combine" %w, %route
    model.return %y
  }
}
"""


@meaning("dist.all_to_all")
def _() -> list[Meaning]:
    """Both ways of the rows of B tokens, k rows of H elements each."""
    source = read(SHARED_EXPERTS)
    (block,) = (o for o in top_level(run(source, "distribute-inference")) if o.name == "dist.block")
    found = [work(o) for o in block.body if o.name == "dist.all_to_all"]
    assert len(found) == 2
    names = {"N": B * symbol("k") * H, "p": symbol("ep"), "e": constant(2)}
    return [Meaning(works(names, ("", w))) for w in found]


@meaning("dist.transfer")
def _() -> list[Meaning]:
    """The transfers between two stages of a stack of blocks, there and back."""
    text = example_text("transformer_stack")
    found = [o for o in run(read(text), "distribute-training{pipeline=4}").walk() if o.name == "dist.transfer"]
    return [Meaning(works({"n": B * S * H, "e": e}, ("", work(o)))) for o in found]
