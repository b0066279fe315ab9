"""The Pygments lexer: all text is in its tokens, none is an error, the colours can be read on light and on dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pygments.token import Comment, Error, Keyword, Name, String
from support import EXAMPLES, LEVELS, derive, example_text

from bpir.ir.printer import print_module
from bpir.tools import bp_opt
from bpir.tools.highlighting.pygments_lexer import BpirLexer, BpirStyle, painted

ROOT = Path(__file__).parent.parent.parent
TRAINING = tuple(sorted((ROOT / "examples").glob("*_training.bpir")))


def check(text: str) -> None:
    tokens = list(BpirLexer().get_tokens(text))
    assert "".join(value for _, value in tokens) == text
    assert [value for kind, value in tokens if kind in Error] == []
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted(text)) == text


@pytest.mark.slow
@pytest.mark.campaign(keep=3)
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_tokens_of_every_example_at_every_level_are_its_text(name: str) -> None:
    check(example_text(name))
    for level in LEVELS:
        for generic in (False, True):
            check(print_module(derive(name, level), generic))


@pytest.mark.campaign(keep=1)
@pytest.mark.parametrize("path", TRAINING, ids=lambda path: path.stem)
def test_the_tokens_of_training_are_its_text(path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    for passes in ((), ("distribute-training",), ("distribute-training", "plan-training")):
        assert bp_opt.main([str(path), *(f"--pass={name}" for name in passes)]) == 0
        check(capsysbinary.readouterr().out.decode("latin-1"))


@pytest.mark.campaign(keep=60)
@pytest.mark.parametrize("path", sorted((ROOT / "lit_tests").glob("*/*.bpir")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_tokens_of_every_file_test_are_its_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "".join(value for _, value in BpirLexer().get_tokens(text)) == text


def kinds(text: str) -> dict[str, object]:
    return {value: kind for kind, value in BpirLexer().get_tokens(text)}


def test_what_is_coloured() -> None:
    found = kinds('  plan.task @attention.core compute from "a.b"\n    work <ops = 2*B, read = H>\n    after [@x] // see\n')
    assert found["plan"] is Keyword.Namespace
    assert found["task"] is Name.Function
    assert found["@attention.core"] is Name.Variable.Global
    assert found["work"] is found["after"] is found["from"] is Keyword
    assert found["ops"] is Name.Property
    assert found["B"] is Name
    assert found["// see"] is Comment.Single


def test_directives_are_not_plain_comments() -> None:
    found = kinds('// RUN: bp-opt %s | FileCheck %s\n// CHECK-NEXT: %0 = "a.b"\n// expected-error@+1 {{no}}\n// -----\n')
    assert found["RUN:"] is found["CHECK-NEXT:"] is found["expected-error@+1"] is found["// -----"] is Comment.Preproc
    assert found["{{no}}"] is String.Other


def test_pygments_finds_the_lexer_by_its_name() -> None:
    from pygments.lexers import get_lexer_by_name

    assert isinstance(get_lexer_by_name("bpir"), BpirLexer)


def _luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_colours_can_be_read_on_white_and_on_black() -> None:
    for _, style in BpirStyle:
        if style["color"]:
            level = _luminance(style["color"])
            assert 1.05 / (level + 0.05) > 4, style["color"]
            assert (level + 0.05) / 0.05 > 4, style["color"]
