"""The peak of a rank in training: by hand, and against a count of the printed plan task by task."""

from __future__ import annotations

import re

import pytest
from support import example_text, read, replaced, run

from bpir.ir.expressions.expression import constant, symbol
from bpir.ir.printer import print_module
from bpir.tools.reports.collect import collect
from bpir.tools.reports.report import Report

NUMBERS = {"B": 2, "S": 8, "H": 16, "F": 64, "h": 4, "d": 4, "t": 2, "e": 2}
STRATEGIES = [
    "tensor=1",
    "tensor=t",
    "tensor=t communication=reduce_scatter_all_gather",
    "tensor=t communication=reduce_scatter_all_gather all_gather_redo=true recompute=attention",
    "tensor=t recompute=full",
    "tensor=t data=2 optimizer_sharding=true",
    "tensor=t convention=calculon",
]
LINEAR = """
module @one {
  bp.symbols B, S, H, F, e
  bind.strategy @one {tensor = 1}
  model.block @block(%x: !bp.tensor<B x S x H, e>) {
    %y = model.linear "only" %x : [F]
    model.return %y
  }
}
"""


def peak(report: Report, numbers: dict[str, int]) -> int | None:
    return report.bound({name: constant(value) for name, value in numbers.items()}).memory_and_peak()["peak"].integer


def counted(plan: str) -> int:
    """The most bytes that live at one task, from the text of a plan with numbers."""
    buffers = re.findall(r"plan\.buffer @\S+ : \w+<(\w+)> align \d+ live \[(\d+), (\d+)\]\s+size <(\d+)>", plan)
    assert len(buffers) == plan.count("plan.buffer ")
    kept = sum(int(size) for storage, _, _, size in buffers if storage == "persistent")
    others = [(int(first), int(last), int(size)) for storage, first, last, size in buffers if storage != "persistent"]
    return kept + max(sum(s for first, last, s in others if first <= task <= last) for task in range(plan.count("plan.task ")))


def test_one_linear_by_hand() -> None:
    """B = S = 1, H = 2, F = 3, e = 2: 12 bytes of weights, 72 of Adam with its copy; x has 4 bytes, y 6, the gradient of W 12.

    Forward holds x and y: 10. The activation gradient x, dY, dX: 14. The weight gradient x, dY, dW: 22. The optimizer dW: 12.
    """
    report = collect(run(read(LINEAR), "distribute-training", "plan-training"))
    assert peak(report, {"B": 1, "S": 1, "H": 2, "F": 3, "e": 2}) == 12 + 72 + 22
    # Wide and short, dX is larger than dW: B = 5, S = 1, H = 4, F = 1, e = 2 are 8 + 48 persistent, x and dX 40 each, dY 10, dW 8.
    assert peak(report, {"B": 5, "S": 1, "H": 4, "F": 1, "e": 2}) == 8 + 48 + 40 + 10 + 40


def test_the_peak_with_symbols_is_a_max_of_what_may_be_the_largest() -> None:
    report = collect(run(read(LINEAR), "distribute-training", "plan-training"))
    B, S, H, F, e = map(symbol, "BSHFe")
    x, y, w = B * S * H * e, B * S * F * e, F * H
    found = report.memory_and_peak()["peak"]
    assert {"B", "S", "H", "F", "e"} == set(found.symbols)
    for numbers in ((1, 1, 2, 3, 2), (5, 1, 4, 1, 2), (3, 7, 2, 9, 4), (1, 50, 6, 2, 1)):
        values = dict(zip((B, S, H, F, e), map(constant, numbers), strict=True))
        bound = {symbol.text: value for symbol, value in values.items()}
        largest = max((size.substitute(bound).integer or 0) for size in (x + y, 2 * x + y, x + y + w * e))
        kept = (w * e + 12 * w).substitute(bound).integer or 0
        assert found.substitute(bound).integer == kept + largest


@pytest.mark.campaign(keep=5)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("tokens", [8, 80])
def test_the_peak_is_that_of_the_printed_plan(strategy: str, tokens: int) -> None:
    numbers = {**NUMBERS, "S": tokens}
    dist = run(read(example_text("transformer_block")), f"distribute-training{{{strategy}}}")
    planned = run(dist, "plan-training")
    used = {name: value for name, value in numbers.items() if re.search(rf"\b{name}\b", print_module(planned))}
    bound = print_module(run(planned, "bind-symbols{" + " ".join(f"{n}={v}" for n, v in used.items()) + "}"))
    assert peak(collect(planned), numbers) == peak(collect(dist), numbers) == counted(bound)


def test_what_outlives_forward_is_below_the_peak() -> None:
    """Weights, optimizer and what is stored are there at the end of forward; recomputing all never holds more than keeping all."""
    text = example_text("transformer_block")
    plain = collect(run(read(text), "distribute-training", "plan-training"))
    full = collect(run(read(text), "distribute-training{recompute=full}", "plan-training"))
    for tokens in (8, 80):
        numbers = {**NUMBERS, "S": tokens}
        memory = plain.bound({name: constant(value) for name, value in numbers.items()}).memory
        least = sum(memory[name].integer or 0 for name in ("weights", "optimizer", "activation_stored"))
        assert least <= (peak(plain, numbers) or 0)
        assert (peak(full, numbers) or 0) <= (peak(plain, numbers) or 0)


def test_too_many_sizes_with_symbols_have_no_peak_until_numbers_are_given() -> None:
    """60 layers, whose widths are as many symbols: no size is seen to exceed another."""
    names = [f"F{i}" for i in range(120)]
    layers = "".join(f'    %x{i + 1} = model.linear "l{i}" %x{i} : [{name}]\n' for i, name in enumerate(names))
    text = LINEAR.replace("H, F, e", ", ".join(["H", *names, "e"])).replace("%x:", "%x0:")
    text = replaced(text, ('    %y = model.linear "only" %x : [F]\n', layers), ("return %y", f"return %x{len(names)}"))
    report = collect(run(read(text), "distribute-training", "plan-training"))
    assert "peak" not in report.memory_and_peak()
    # All widths 1, e = 2: 120 weights of 14 bytes persistent; at the last weight gradient, 120 dW, x0, dx0 is made before it: its dY.
    ones = dict.fromkeys([*names, "B", "S", "H"], 1)
    assert peak(report, {**ones, "e": 2}) == 120 * 14 + counted_chain(120)


def counted_chain(layers: int) -> int:
    """Bytes that live at the fullest task of a chain of linears whose sizes are all 1, beside weights and optimizer.

    Going back, layer `l` (from the last, 0, on) still holds the inputs of the layers before it and its own, the gradient of its result,
    and the weight gradients so far with its own; its activation gradient lives too, except the first layer's, which is a result.
    """
    return max(2 * ((layers - back) + 1 + (back + 1) + (back + 1 < layers)) for back in range(layers))
