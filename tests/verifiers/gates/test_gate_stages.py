"""The gate of stages judges what each runs, its microbatches, and the transfers between them (rules stages.R1 to R8)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from support import edited, example_text, gate, labels, line_of, read, replaced, run, shown, statement

from bpir.ir.printer import print_module
from bpir.verifiers.structure import module as structure

TEXT = example_text("transformer_stack").replace("e, L where", "e, L, n where")
BLOCKS = """
  model.block @first(%ids: !bp.tensor<B x S, i32>) {
    %x = model.embedding "first.tokens" %ids : [V] -> !bp.tensor<B x S x H, e>
    model.return %x
  }
  model.block @dense(%x: !bp.tensor<B x S x H, e>) {
    %n = model.layer_norm "dense.norm" %x
    %u = model.linear "dense.expand" %n : [F]
    %w = model.linear "dense.contract" %u : [H]
    model.return %w
  }
}
"""
SEVERAL = (
    TEXT.rstrip()
    .removesuffix("}")
    .replace("where t", ", V where t")
    .replace("e, L, n ,", "e, L, n,")
    .replace(
        "%x: !bp.tensor<B x S x H, e>) {\n    %z = model.repeat L @block %x",
        "%ids: !bp.tensor<B x S, i32>) {\n"
        "    %x = model.call @first %ids\n    %y = model.repeat 3 @dense %x\n    %z = model.repeat L @block %y",
    )
    .replace("model.network", "bp.bind L = 8\n  model.network")
    + BLOCKS
)
"""Three dense layers and eight blocks behind an embedding."""

PIPELINE = "distribute-training{tensor=t pipeline=4 microbatches=n}"
CHUNKS = "distribute-training{tensor=t pipeline=2 interleaving=2 microbatches=4}"


@cache
def derived(passed: str, source: str = TEXT) -> str:
    return print_module(run(read(source), passed))


@cache
def planned(passed: str, source: str = TEXT) -> str:
    return print_module(run(read(source), passed, "plan-training"))


STAGE_1 = "dist.stage 1 runs [@block times ceildiv(L + 3, 4) - 1] microbatches n in_flight min(3, n)"

DISTRIBUTED = {
    "a stage less": ((STAGE_1, ""), "R1", "module"),
    "another place": ((STAGE_1, STAGE_1.replace("stage 1", "stage 5")), "R1", "dist.stage 5"),
    "a chunk that nobody asked for": ((STAGE_1, STAGE_1.replace("stage 1", "stage 1 chunk 1")), "R1", "dist.stage 1 chunk 1"),
    "a microbatch too few in flight": ((STAGE_1, STAGE_1.replace("min(3, n)", "min(2, n)")), "R4", "dist.stage 1"),
    "all microbatches in flight": ((STAGE_1, STAGE_1.replace("min(3, n)", "n")), "R4", "dist.stage 1"),
}


@pytest.mark.parametrize("name", DISTRIBUTED)
def test_a_stage_that_is_not_the_strategy_s_is_refused(name: str) -> None:
    change, rule, place = DISTRIBUTED[name]
    target = read(replaced(derived(PIPELINE), change))
    found = gate(read(TEXT), target)
    if rule == "R1" and name == "a stage less":  # the layers of the others are not all, which the structure sees first
        assert labels(found) == {"stages.R6"}, shown(found)
        return
    assert labels(found) == {f"stages.{rule}"}, shown(found)
    assert line_of(found[0]).startswith(place)


def test_layers_may_not_go_to_other_stages() -> None:
    """One layer moved from stage 1 to stage 2: the sum is right, the share is not."""
    text = replaced(
        derived(PIPELINE),
        ("@block times ceildiv(L + 3, 4) - 1]", "@block times ceildiv(L + 3, 4)]"),
        ("@block times ceildiv(L + 2, 4) - 1]", "@block times ceildiv(L + 2, 4) - 2]"),
    )
    found = gate(read(TEXT), read(text))
    assert labels(found) == {"stages.R2"}, shown(found)
    assert [line_of(d)[:12] for d in found] == ["dist.stage 1", "dist.stage 2"]


def test_shares_that_do_not_add_up_are_refused_by_the_structure() -> None:
    text = replaced(derived(PIPELINE), ("@block times ceildiv(L, 4)]", "@block times ceildiv(L, 4) + 1]"))
    found = structure.verify(read(text))
    assert labels(found) == {"stages.R6"}
    assert "how often stages run @block, in all, is wrong" in found[0].message


def test_a_stage_runs_blocks_of_the_network() -> None:
    found = structure.verify(read(replaced(derived(PIPELINE), ("stage 1 runs [@block", "stage 1 runs [@blok"))))
    assert "the stage runs no block of the module: @blok, did you mean '@block'?" in found[0].message.replace("; did", ", did") or (
        "the stage runs no block of the module: @blok" in found[0].message and "block" in found[0].message
    )
    assert "stages.R6" in labels(found)


def test_every_stage_runs_the_same_microbatches() -> None:
    text = derived(PIPELINE)
    found = structure.verify(read(replaced(text, (STAGE_1, STAGE_1.replace("microbatches n", "microbatches 7")))))
    assert labels(found) == {"stages.R6"}
    others = text.replace("microbatches n in", "microbatches 2*n in")
    assert labels(gate(read(TEXT), read(others))) == {"stages.R3"}


ENDING = "    dist.return %y, %dy\n  }\n"


def without_border(text: str) -> str:
    head, _, rest = text.partition(statement(text, "dist.border"))
    return head + rest.partition("  }\n")[2]


BORDER: dict[str, Callable[[str], str]] = {
    "no border": without_border,
    "along another axis": lambda text: replaced(text, ('along "pipeline" %x', 'along "tensor" %x')),
    "half of the message": lambda text: edited(text, '"transfer.forward"', ("msg = B*H*S*e", "msg = B*H*S*e/2")),
    "another name": lambda text: replaced(text, ('"transfer.activation_gradient"', '"transfer.backward"')),
    "another phase": lambda text: edited(text, '"transfer.activation_gradient"', ("phase activation_gradient", "phase forward")),
    "what came is returned": lambda text: replaced(text, (ENDING + "  dist.stage", ENDING.replace("%y, %dy", "%x, %dx") + "  dist.stage")),
    "of another network": lambda text: replaced(text, ('dist.border @border from "stack"', 'dist.border @border from "stock"')),
}


@pytest.mark.parametrize("name", BORDER)
def test_a_border_that_does_not_send_the_residual_stream_is_refused(name: str) -> None:
    found = gate(read(TEXT), read(BORDER[name](derived(PIPELINE))))
    assert "stages.R5" in labels(found), shown(found)


def test_chunks_hold_what_the_interleaved_schedule_has_in_flight() -> None:
    """Device 0 of 2 with 2 chunks and 4 microbatches runs chunk 0, 0, 1, 1, 0 forward before it first goes back: 3 and 2 of them."""
    text = derived(CHUNKS)
    line = "dist.stage 0 runs [@block times ceildiv(L, 4)] microbatches 4 in_flight 3"
    found = gate(read(TEXT), read(replaced(text, (line, line.replace("in_flight 3", "in_flight 2")))))
    assert labels(found) == {"stages.R4"}


def test_layers_of_several_calls_are_dealt_out_in_their_order() -> None:
    """Eleven layers on four stages are 3, 3, 3 and 2: the dense ones fill the first."""
    text = derived(PIPELINE, SEVERAL)
    assert "dist.stage 0 runs [@first, @dense times 3] microbatches" in text
    assert "dist.stage 1 runs [@block times 3] microbatches" in text
    assert "dist.stage 3 runs [@block times 2] microbatches" in text
    swapped = replaced(text, ("0 runs [@first, @dense times 3]", "0 runs [@dense times 3, @first]"))
    assert labels(gate(read(SEVERAL), read(swapped))) == {"stages.R2"}


PLANNED = {
    "another part": (("stage 1 runs [@block.forward", "stage 1 runs [@block.backward"), {"stages.R6"}),
    "more microbatches in flight": (("microbatches n in_flight min(3, n)", "microbatches n in_flight min(4, n)"), {"stages.R7"}),
    "other microbatches in flight of a stage": (("microbatches n in_flight 1", "microbatches n in_flight n"), {"stages.R7"}),
}


@pytest.mark.parametrize("name", PLANNED)
def test_the_stages_of_a_plan_are_those_of_its_source(name: str) -> None:
    change, rules = PLANNED[name]
    found = gate(read(derived(PIPELINE)), read(replaced(planned(PIPELINE), change)))
    assert labels(found) == rules, shown(found)


def test_a_plan_whose_stages_change_places_is_refused() -> None:
    text = (
        planned(PIPELINE)
        .replace("plan.stage 1 ", "plan.stage X ")
        .replace("plan.stage 2 ", "plan.stage 1 ")
        .replace("stage X ", "stage 2 ")
    )
    assert "stages.R7" in labels(gate(read(derived(PIPELINE)), read(text)))


def test_a_plan_without_stages_is_not_that_of_a_pipeline() -> None:
    text = planned(PIPELINE)
    lines = [line for line in text.splitlines() if "plan.stage" not in line]
    assert "stages.R7" in labels(gate(read(derived(PIPELINE)), read("\n".join(lines))))


def test_a_transfer_is_along_an_axis_of_the_mesh() -> None:
    text = planned(PIPELINE)
    head = "plan.task @border.transfer.forward"
    wrong = edited(text, head, ('along "pipeline"', 'along "pipelin"'))
    found = structure.verify(read(wrong))
    assert labels(found) == {"plan.R6"}
    assert "which is no axis of the mesh" in found[0].message
    other = edited(text, head, ('along "pipeline"', 'along "tensor"'))
    assert "plan-training.R6" in labels(gate(read(derived(PIPELINE)), read(other)))


def test_stages_need_as_many_layers() -> None:
    """`L > 3` is recorded, and numbers that break it are refused."""
    assert "bp.assume" in derived(PIPELINE) and "L > 3" in derived(PIPELINE)
    without = replaced(derived(PIPELINE), ("L > 3, ", "")) if "L > 3, " in derived(PIPELINE) else derived(PIPELINE).replace(", L > 3", "")
    assert labels(gate(read(TEXT), read(without))) >= {"stages.R2"}


def test_what_is_bound_has_no_stages() -> None:
    """A concrete plan of a plan of stages is refused, whoever wrote it."""
    from bpir.dialects.levels import PortablePlanIR
    from bpir.verifiers.stages.rows import verify_unstaged

    assert labels(verify_unstaged(PortablePlanIR(read(planned(PIPELINE))))) == {"stages.R8"}
    assert verify_unstaged(PortablePlanIR(read(planned("distribute-training{tensor=t}")))) == []
