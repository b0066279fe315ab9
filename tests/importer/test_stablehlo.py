"""`bp-import --stablehlo`: blocks that JAX exported have JAX's counts; others are refused at their place."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from random import Random

import pytest
from support import DATA, line_of, read, report, run

from bpir.importer.stablehlo.entry import import_stablehlo
from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.ir.expressions.expression import constant
from bpir.tools import bp_import, bp_opt, bp_run
from bpir.tools.reports.report import summed

BLOCKS = DATA / "stablehlo"
FACTS = json.loads((BLOCKS / "facts.json").read_text())


@cache
def text_of(name: str) -> str:
    return (BLOCKS / f"{name}.mlir").read_text()


@cache
def imported(name: str) -> str:
    return import_stablehlo(Source(f"{name}.mlir", text_of(name)))


def test_every_fact_has_its_block() -> None:
    assert sorted(FACTS) == sorted(path.stem for path in BLOCKS.glob("*.mlir"))
    assert len(FACTS) == 10


@pytest.mark.campaign(keep=7)
@pytest.mark.parametrize("name", FACTS)
@pytest.mark.parametrize("kind", ["inference", "training"])
def test_matrix_operations_are_those_that_jax_counts(name: str, kind: str) -> None:
    """The sum over dot_general of the jaxpr: in prefill all of them, in training those of forward."""
    found = report(run(read(imported(name)), f"distribute-{kind}{{tensor=1}}"))
    tasks = [task for task in found.tasks if task.phase in ("prefill", "forward")]
    work = summed(task.work for task in tasks).matmul.substitute({"t": constant(1)})
    assert work.integer == FACTS[name]["operations"]


@pytest.mark.parametrize("name", FACTS)
def test_no_weight_is_lost(name: str) -> None:
    total = sum((value.integer or 0) for value in report(read(imported(name))).parameters.values())
    assert total == FACTS[name]["weights"]


@pytest.mark.campaign(keep=7)
@pytest.mark.parametrize("name", FACTS)
@pytest.mark.parametrize("kind", ["inference", "training"])
def test_the_distributed_block_runs(name: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numpy", reason="NumPy is not installed")
    model, derived = tmp_path / "model.bpir", tmp_path / "derived.bpir"
    model.write_text(imported(name))
    assert bp_opt.main([str(model), f"--pass=distribute-{kind}", "-o", str(derived)]) == 0
    assert bp_run.main([str(derived), "--source", str(model), "--bind", "t=2"]) == 0
    assert "as stated" in capsys.readouterr().out


def layers(name: str) -> dict[str, str]:
    """The operations of an imported block by their layers."""
    return {layer: kind for kind, layer in re.findall(r'model\.(\w+) "([^"]+)"', imported(name))}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mlp", {"mlp.expand": "linear", "mlp.gelu": "gelu", "mlp.contract": "linear"}),
        ("gpt_einsum", {"mlp.gelu_erf": "gelu_erf", "attention.layer_norm": "layer_norm", "attention.key": "linear"}),
        ("llama", {"attention.query_rope": "rope", "mlp.silu": "silu", "mlp.multiply": "mul", "mlp.norm": "rms_norm"}),
        ("llama_grouped", {"attention.query_norm": "rms_norm", "attention.core": "attention", "attention.residual": "add"}),
        ("multi_query", {"mlp.relu2": "relu2"}),
        ("parallel", {"attention.layer_norm": "layer_norm", "attention.residual": "add", "mlp.residual": "add"}),
    ],
)
def test_layers_have_the_names_of_the_field(name: str, expected: dict[str, str]) -> None:
    assert expected.items() <= layers(name).items()


def test_one_weight_of_q_k_and_v_is_one_layer() -> None:
    assert '%q, %k, %v = model.linear "attention.qkv" %n bias : [h x d], [h x d], [h x d]' in imported("gpt")


@pytest.mark.parametrize("name", ["llama", "llama_grouped"])
def test_grouped_heads(name: str) -> None:
    text = imported(name)
    assert "where g | h" in text and "h = 8, g = 4, d = 8" in text
    assert '"attention.query" %n : [h x d]' in text and '"attention.key" %n : [g x d]' in text


def test_one_head_of_keys_is_written() -> None:
    assert '"attention.key" %n : [1 x d]' in imported("multi_query")


@pytest.mark.parametrize(
    ("name", "causal"), [("gpt", True), ("llama", True), ("parallel", True), ("gpt_einsum", False), ("multi_query", False)]
)
def test_masks(name: str, causal: bool) -> None:
    assert ("causal" in imported(name)) == causal


def changed(name: str, *changes: tuple[str, str]) -> Source:
    """A block with changes, each of something that is there once or of its first place."""
    text = text_of(name)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return Source(f"{name}.mlir", text)


@pytest.mark.parametrize(
    ("source", "message", "line"),
    [
        (changed("mlp", ("stablehlo.tanh", "stablehlo.sine")), "'stablehlo.add' of 2x16x160 .* is no part", "add"),
        (changed("mlp", ("stablehlo.tanh", "stablehlo.sort")), "'stablehlo.sort' of 2x16x160", "stablehlo.sort"),
        (changed("mlp", ("4.471500e-02", "9.000000e-02")), "'stablehlo.add' of 2x16x160 .* is no part", "add"),
        (changed("mlp", ("stablehlo.tanh", "stablehlo.while")), "'stablehlo.while' can't be imported: it is a loop", "while"),
        (changed("mlp", ("stablehlo.tanh", "stablehlo.rng")), "random numbers, as of dropout", "stablehlo.rng"),
        (
            changed("llama", ("stablehlo.cosine", "stablehlo.sine")),
            "is no part of an operation that is known here",
            "concatenate|add|multiply",
        ),
        (changed("llama", ("direction GE", "direction LE")), "a mask that is neither causal nor a causal window", "select|convert"),
        (changed("gpt", ("stablehlo.exponential", "stablehlo.tanh")), "is no part of|known as attention only", ""),
    ],
)
def test_what_is_not_recognised_is_refused_at_its_place(source: Source, message: str, line: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        import_stablehlo(source)
    assert re.search(message, caught.value.diagnostics[0].message), caught.value.diagnostics[0].message
    assert re.search(line, line_of(caught.value.diagnostics[0]))


def test_the_custom_form_is_refused_with_the_way_to_the_generic_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "custom.mlir"
    path.write_text(
        "module @jit_f {\n  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n    %0 = stablehlo.tanh %x : tensor<2xf32>\n"
    )
    assert bp_import.main(["--stablehlo", str(path), "-o", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "custom.mlir:3:10: error: this is StableHLO in its custom form" in said
    assert "print_generic_op_form=True" in said
    assert not (tmp_path / "out").exists()


def variant(name: str) -> str:
    path = BLOCKS / "variants" / f"{name}.mlir"
    return import_stablehlo(Source(path.name, path.read_text()))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("window", '"attention.core" %q, %k, %v window 5'),
        ("softcap", '"attention.core" %q, %k, %v softcap  // causal'),
        ("interleaved", 'model.rope "attention.query_rope" %q\n'),
        ("partial", 'model.rope "attention.query_rope" %q dims 4'),
        ("tables", 'model.rope "attention.key_rope" %k\n'),
        ("two", 'model.attention "attention.core_2"'),
        ("weights_first", 'model.gelu "mlp.gelu" %u'),
        ("exported", 'model.gelu_erf "mlp.gelu_erf" %u'),
    ],
)
def test_variants(name: str, expected: str) -> None:
    text = variant(name)
    assert expected in text
    run(read(text), "distribute-training{tensor=1}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("refused_alibi", "something is added to the scores before the softmax"),
        ("refused_mask", "something is added to the scores before the softmax"),
        ("refused_layer_scale", "'stablehlo.multiply' of 2x16x64 .* is no part of an operation"),
        ("refused_scan", "'stablehlo.while' can't be imported: it is a loop"),
        ("refused_norm", "a layer norm without a weight can't be imported"),
    ],
)
def test_variants_that_are_refused(name: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message) as caught:
        variant(name)
    assert line_of(caught.value.diagnostics[0]).startswith("%")


@pytest.mark.campaign(keep=1)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_changed_texts_are_imported_or_refused(seed: int) -> None:
    """Lines left out, doubled or with another number, operation or value: nothing but a diagnostic with a place comes of it."""
    random = Random(seed)
    operations = sorted(set(re.findall(r'"stablehlo\.\w+"', "".join(map(text_of, FACTS)))))
    for _ in range(25):
        lines = text_of(random.choice(["mlp", "gated", "gpt", "llama", "multi_query"])).split("\n")
        place = random.randrange(len(lines))
        numbers = list(re.finditer(r"\d+", lines[place]))
        change = random.randrange(5)
        if change == 0:
            del lines[place]
        elif change == 1:
            lines.insert(place, random.choice(lines))
        elif change == 2:
            lines[place] = re.sub(r'"stablehlo\.\w+"', random.choice(operations), lines[place], count=1)
        elif change == 3:
            lines[place] = re.sub(r"%\w+", lambda match: random.choice([match[0], "%arg0", "%5"]), lines[place])
        elif numbers:
            number = random.choice(numbers)
            lines[place] = lines[place][: number.start()] + str(random.choice([0, 1, 2, 8, 64])) + lines[place][number.end() :]
        try:
            text = import_stablehlo(Source("changed.mlir", "\n".join(lines)))
        except DiagnosticError as error:
            assert all(diagnostic.span is not None for diagnostic in error.diagnostics)
        else:
            read(text)
