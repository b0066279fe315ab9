"""The choices of a strategy: the same bytes from the file and from the command line, contradictions refused with their reason."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from support import ROOT, example_text, read, replaced, run
from support_training import options, refusal

from bpir.dialects.bind import STRATEGY, WORKLOAD
from bpir.ir.equality import equal
from bpir.ir.printer import print_module
from bpir.verifiers.structure import module as structure

TEXT = example_text("transformer_stack").replace("bp.symbols B,", "bp.symbols D, n, B,")
STRATEGY_LINE = "bind.strategy @tp {tensor = t}"
SYMBOLS_LINE = "bp.symbols D, n, B, S, c, H, F, h, d, t, e, L where t | h, t | F, t | H"
GATHER = {"communication": "reduce_scatter_all_gather"}

FIELDS: dict[str, list[dict[str, str]]] = {
    "tensor": [{"tensor": value} for value in ("t", "1", "8")],
    "pipeline": [{"pipeline": value} for value in ("2", "16")],
    "stages": [{"pipeline": "2", "stages": value} for value in ("[3, 4]", "[5, 2]")],
    "interleaving": [{"pipeline": "4", "microbatches": "8", "interleaving": value} for value in ("2", "3")],
    "microbatches": [{"microbatches": value} for value in ("n", "8")],
    "data": [{"data": value} for value in ("D", "8")],
    "communication": [{"communication": "all_reduce"}, GATHER],
    "recompute": [{"recompute": value} for value in ("none", "attention", "core_attention", "full")],
    "all_gather_redo": [{**GATHER, "all_gather_redo": value} for value in ("true", "false")],
    "fused_activation": [{"fused_activation": value} for value in ("true", "false")],
    "zero": [{"data": "D", "zero": value} for value in ("0", "1", "2", "3")],
    "optimizer_sharding": [{"data": "D", "optimizer_sharding": value} for value in ("true", "false")],
    "gradients": [{"gradients": value} for value in ("weights", "f32")],
    "master_copy": [{"master_copy": value} for value in ("true", "false")],
    "convention": [{"convention": value} for value in ("standard", "calculon")],
}
CHOICES = [(field, chosen) for field, values in FIELDS.items() for chosen in values]
OF_OTHER_BLOCKS = ("expert", "latent")
"""Fields of blocks with experts or latent attention: `test_experts.py` derives under them."""


def derived(text: str, *passes: str) -> str:
    return print_module(run(read(text), *passes))


def fields(chosen: dict[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in {"tensor": "t", **chosen}.items())


def in_file(chosen: dict[str, str], text: str = TEXT) -> str:
    return replaced(text, (STRATEGY_LINE, f"bind.strategy @tp {{{fields(chosen)}}}"))


def block_of(text: str) -> str:
    """The mesh and the distributed block without the strategy that its module names."""
    return text[text.index("dist.mesh") :]


def tasks_of(text: str) -> str:
    return text[text.index("dist.block") :]


def test_every_field_of_a_strategy_is_covered() -> None:
    fields = [field for field in STRATEGY if field.name not in OF_OTHER_BLOCKS]
    assert list(FIELDS) == [field.name for field in fields]
    for field in fields:
        assert {chosen[field.name] for chosen in FIELDS[field.name]} >= set(field.choices)


@pytest.mark.campaign(keep=9)
@pytest.mark.parametrize(("field", "chosen"), CHOICES, ids=[f"{field}={chosen[field]}" for field, chosen in CHOICES])
def test_a_choice_gives_the_same_bytes_from_the_file_and_from_the_command_line(field: str, chosen: dict[str, str]) -> None:
    from_file = derived(in_file(chosen), "distribute-training", "plan-training")
    from_command_line = derived(TEXT, f"distribute-training{{{options(chosen)}}}", "plan-training")
    assert from_file == from_command_line
    assert f"{field} = {chosen[field]}" in from_file


@pytest.mark.campaign(keep=5)
@pytest.mark.parametrize("field", FIELDS)
def test_an_option_overrides_the_file_and_changes_the_result(field: str) -> None:
    first, second = FIELDS[field][0], FIELDS[field][-1]
    both = derived(in_file(first), f"distribute-training{{{options(second)}}}")
    assert both == derived(in_file(second), "distribute-training")
    plain = derived(in_file(first), "distribute-training")
    assert both != plain
    assert block_of(both) != block_of(plain)
    assert tasks_of(both) != tasks_of(plain)


@pytest.mark.parametrize("chosen", [{"batch": "8"}, {"context": "1024"}, {"batch": "D", "context": "2*t"}, {"batch": "B"}])
def test_a_workload_replaces_the_batch_and_the_token_axis(chosen: dict[str, str]) -> None:
    assert {"batch", "context"} <= {field.name for field in WORKLOAD}
    line = ", ".join(f"{name} = {value}" for name, value in chosen.items())
    given = replaced(TEXT, (STRATEGY_LINE, f"bind.workload @train training {{{line}}}\n  {STRATEGY_LINE}"))
    empty = replaced(TEXT, (STRATEGY_LINE, f"bind.workload @train training {{}}\n  {STRATEGY_LINE}"))
    found = derived(given, "distribute-training")
    assert found == derived(empty, f"distribute-training{{{options(chosen)}}}")
    batch, tokens = chosen.get("batch", "B"), chosen.get("context", "S").replace("2*t", "(2*t)")
    assert f"(%x: !bp.tensor<{batch} x {tokens} x H, e>, " in found
    assert "%scores = dist.compute" in found and f"<{batch} x {tokens} x h@tensor x {tokens}, e>" in found
    renamed = TEXT.replace("!bp.tensor<B x S x H, e>", f"!bp.tensor<{batch} x {tokens} x H, e>")
    assert block_of(found).replace(" workload @train", "") == block_of(derived(renamed, "distribute-training"))


DIVIDES = (SYMBOLS_LINE, "bp.symbols D, n, B, S, c, H, F, h, d, t, e, L")
REFUSED: dict[str, tuple[tuple[tuple[str, str], ...], tuple[str, ...], str]] = {
    "redo without a shard": (
        (),
        ("distribute-training{communication=all_reduce all_gather_redo=true}",),
        "all_gather_redo gathers a sequence shard again, and communication = all_reduce shards no sequence",
    ),
    "redo of the default": (
        ((STRATEGY_LINE, "bind.strategy @tp {tensor = t, all_gather_redo = true}"),),
        ("distribute-training",),
        "all_gather_redo gathers a sequence shard again",
    ),
    "redo and full": (
        (),
        ("distribute-training{communication=reduce_scatter_all_gather recompute=full all_gather_redo=true}",),
        "all_gather_redo keeps a shard to gather again, and recompute = full keeps nothing: choose one",
    ),
    "shards of nothing": (
        (),
        ("distribute-training{optimizer_sharding=true}",),
        "optimizer_sharding shards the optimizer over data-parallel ranks: say how many with 'data'",
    ),
    "a stage of nothing": (
        (),
        ("distribute-training{zero=1}",),
        "zero = 1 shards the optimizer over data-parallel ranks: say how many with 'data'",
    ),
    "two stages": (
        (),
        ("distribute-training{data=8 optimizer_sharding=true zero=1}",),
        "optimizer_sharding = true contradicts zero = 1: it shares optimizer states and gradients, which is zero = 2",
    ),
    "a stage, and none": (
        ((STRATEGY_LINE, "bind.strategy @tp {tensor = t, data = 8, optimizer_sharding = false, zero = 2}"),),
        ("distribute-training",),
        "optimizer_sharding = false contradicts zero = 2",
    ),
    "a stage that Calculon does not know": (
        (),
        ("distribute-training{data=8 zero=1 convention=calculon}",),
        "Calculon shares optimizer states and gradients or nothing: with convention = calculon zero is 0 or 2, not 1",
    ),
    "gradients that Calculon does not know": (
        (),
        ("distribute-training{data=8 gradients=f32 convention=calculon}",),
        "Calculon keeps gradients as wide as the weights",
    ),
    "a fourth stage": (
        (),
        ("distribute-training{data=8 zero=4}",),
        "option 'zero' expects one of 0, 1, 2, 3, found '4'",
    ),
    "heads that no relation divides": (
        (DIVIDES,),
        ("distribute-training",),
        "can't prove that the tensor-parallel degree t divides h",
    ),
    "heads that a number does not divide": (
        ((DIVIDES[0], DIVIDES[1] + "\n  bp.bind h = 96, F = 4096"),),
        ("distribute-training{tensor=7}",),
        "7 does not divide h (h = 96)",
    ),
    "a feed-forward axis that a number does not divide": (
        ((DIVIDES[0], DIVIDES[1] + "\n  bp.bind h = 96, F = 4095"),),
        ("distribute-training{tensor=2}",),
        "2 does not divide F (F = 4095)",
    ),
    "tokens that the degree does not divide": (
        (),
        ("distribute-training{communication=reduce_scatter_all_gather}", "plan-training", "bind-symbols{S=1023 t=8}"),
        "the numbers break the relation 't | S'",
    ),
    "tokens of a workload that the degree does not divide": (
        (),
        ("distribute-training{tensor=8 context=1023 communication=reduce_scatter_all_gather}",),
        "the relation '8 | 1023' is false",
    ),
    "one rank where more were assumed": (
        (),
        ("distribute-training", "plan-training", "bind-symbols{t=1}"),
        "the numbers break the relation 't > 1'",
    ),
    "weights that the shards do not divide": (
        (),
        ("distribute-training{tensor=1 data=8 optimizer_sharding=true}", "plan-training", "bind-symbols{H=4 h=1 d=3 F=8}"),
        "the numbers break the relation '8 | H'",
    ),
    "a dead value": (
        (("    %m = model.layer_norm", '    %dead = model.gelu "mlp.dead" %r\n    %m = model.layer_norm'),),
        ("distribute-training",),
        "the result of 'mlp.dead' reaches no result of the block, so it has no gradient: remove it, or run canonicalize",
    ),
    "a dead value of a region": (
        (("    %n = model.layer_norm", '    %dead = model.linear "mlp.dead" %x : [F]\n    %n = model.layer_norm'),),
        ("distribute-training",),
        "the result of 'mlp.dead' reaches no result of the block",
    ),
    "scores of a sharded sequence": (
        tuple((f'"attention.{name}" %n : [h x d]', f'"attention.{name}" %n : [8 x d]') for name in ("query", "key", "value")),
        ("distribute-training{communication=reduce_scatter_all_gather}",),
        "'attention.query_key' needs the axis S whole, and sequence parallelism shards it: use communication = all_reduce, or shard the",
    ),
    "a phase": (
        ((STRATEGY_LINE, f"bind.workload @train training {{phase = decode}}\n  {STRATEGY_LINE}"),),
        ("distribute-training",),
        "training has no phase",
    ),
    "a batch axis that is a number": (
        tuple((f"@{name}(%x: !bp.tensor<B x S x H, e>", f"@{name}(%x: !bp.tensor<3 x S x H, e>") for name in ("stack", "block")),
        ("distribute-training{batch=8}",),
        "the batch axis is '3' and can't become '8'",
    ),
    "no degree": (
        ((f"  {STRATEGY_LINE}\n", ""),),
        ("distribute-training{recompute=full}",),
        "distribution needs 'tensor'",
    ),
    "another kind of recomputation": (
        (),
        ("distribute-training{recompute=selective}",),
        "option 'recompute' expects one of none, attention, core_attention, full, found 'selective'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_contradicts_itself_is_refused_with_the_reason(name: str) -> None:
    changes, passes, reason = REFUSED[name]
    shown = refusal(lambda: run(read(replaced(TEXT, *changes)), *passes))
    assert re.search(rf"error: (with option .*, )?{re.escape(reason)}", shown), shown
    assert "^" in shown or "is false" in shown  # it points at the place, if the text has one


def test_under_calculon_a_share_may_be_a_fraction() -> None:
    """`D | w` is a relation of the standard convention only."""
    passes = ("distribute-training{tensor=1 data=8 optimizer_sharding=true convention=calculon}", "plan-training")
    assert "optimizer = 18" in derived(TEXT, *passes, "bind-symbols{H=4 h=1 d=3 F=8}")  # 12 * 12/8 bytes of H*h*d weights


STRATEGIES: dict[str, dict[str, object]] = {
    "one rank": {"tensor": 1, "recompute": "full"},
    "all-reduce": {"recompute": "attention", "fused_activation": True},
    "sequence parallel": {**GATHER, "recompute": "full", "data": "D", "optimizer_sharding": True},
    "gathered again": {**GATHER, "recompute": "attention", "all_gather_redo": True, "batch": 4, "context": "2*t", "master_copy": False},
    "calculon": {**GATHER, "convention": "calculon", "recompute": "attention", "pipeline": 3, "microbatches": "n"},
}
LEVELS: dict[str, tuple[str, ...]] = {
    "dist": (),
    "plan": ("plan-training",),
    "bound": ("plan-training", "bind-symbols{B=4 S=8 H=16 F=32 h=4 d=4 t=2 D=2 e=2 n=3 c=8 L=7}"),
}


@pytest.mark.campaign(keep=5)
@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("level", LEVELS)
def test_both_forms_are_read_back_as_the_same_module_and_printed_the_same(name: str, level: str) -> None:
    module = run(read(TEXT), f"distribute-training{{{options(STRATEGIES[name])}}}", *LEVELS[level])
    forms = [print_module(module, generic) for generic in (False, True)]
    assert forms[0] != forms[1]
    for generic, text in enumerate(forms):
        again = read(text)
        assert structure.verify(again) == []
        assert equal(module, again)
        assert print_module(again, bool(generic)) == text


SCRIPT = """
import sys
sys.path.insert(0, "evidence")
from support import read, run
from bpir.ir.equality import equal
from bpir.ir.printer import print_module
from bpir.verifiers.structure import module as structure
module = read(sys.stdin.read())
for options in sys.argv[1:]:
    print(print_module(run(module, f"distribute-training{{{options}}}", "plan-training")))
"""


@pytest.mark.campaign
@pytest.mark.parametrize("seed", ["1", "2024"])
def test_the_bytes_do_not_depend_on_the_hash_seed(seed: str) -> None:
    chosen = [options(strategy) for strategy in STRATEGIES.values()]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *chosen],
        input=TEXT,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    ours = [derived(TEXT, f"distribute-training{{{given}}}", "plan-training") for given in chosen]
    assert done.stdout == "".join(f"{text}\n" for text in ours)
