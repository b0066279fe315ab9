"""Texts of pass pipelines are read as passes with options; each mistake is answered at its place."""

from __future__ import annotations

import pytest
from fake_passes import AllOptions, Mark, Numbers

from bpir.ir.diagnostic import DiagnosticError
from bpir.passes.base import Pass, options
from bpir.passes.pipeline import command_line, parse_pass, parse_pipeline, spell

pytestmark = pytest.mark.usefixtures("fake_passes")


def read(text: str) -> Pass:
    return parse_pass(command_line(text))


def complaint(text: str, pipeline: bool = False) -> str:
    """The diagnostic of a malformed text, as a user sees it."""
    with pytest.raises(DiagnosticError) as caught:
        (parse_pipeline if pipeline else parse_pass)(command_line(text))
    return "\n".join(d.render() for d in caught.value.diagnostics)


def test_an_option_that_is_not_given_is_none() -> None:
    found = read("fake-options")
    assert isinstance(found, AllOptions)
    assert (found.phase, found.fast, found.workload, found.batch, found.label) == (None, None, None, None, None)


@pytest.mark.parametrize("separator", [" ", ",", ", ", "  ", "\t"])
def test_options_are_separated_by_blanks_or_commas(separator: str) -> None:
    found = read("fake-options{" + separator.join(["phase=decode", "fast=false", "workload=@w", "label=a.b-1"]) + "}")
    assert isinstance(found, AllOptions)
    assert (found.phase, found.fast, found.workload, found.label) == ("decode", False, "w", "a.b-1")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("label='two words'", "two words"),
        ('label="a,}b"', "a,}b"),
        ("label=f(a, b)[1]", "f(a, b)[1]"),
        ("label=''", ""),
    ],
)
def test_a_value_may_be_quoted_or_have_parentheses(written: str, value: str) -> None:
    found = read("fake-options{" + written + " phase=prefill}")
    assert isinstance(found, AllOptions)
    assert (found.label, found.phase) == (value, "prefill")


def test_a_flag_needs_no_value() -> None:
    found = read("fake-options{fast}")
    assert isinstance(found, AllOptions)
    assert found.fast is True


def test_an_expression_is_parsed() -> None:
    found = read("fake-options{batch=2*S+S}")
    assert isinstance(found, AllOptions)
    assert found.batch is not None
    assert found.batch.text == "3*S"


def test_numbers_take_any_name() -> None:
    found = read("fake-numbers{B=1 S=2048 D=-3}")
    assert isinstance(found, Numbers)
    assert found.values == {"B": 1, "S": 2048, "D": -3}


@pytest.mark.parametrize(
    "text",
    ["fake-mark{text=a},fake-numbers{B=1}", " fake-mark { text = a } , fake-numbers { B = 1 } "],
)
@pytest.mark.parametrize("wrap", ["{}", "builtin.module({})", " builtin.module ( {} ) "])
def test_a_pipeline_is_a_list_of_passes(text: str, wrap: str) -> None:
    first, second = parse_pipeline(command_line(wrap.format(text)))
    assert isinstance(first, Mark)
    assert isinstance(second, Numbers)
    assert (first.text, second.values) == ("a", {"B": 1})


@pytest.mark.parametrize(
    "text",
    [
        "fake-mark",
        "fake-mark{text=a}",
        "fake-mark{text='two words'}",
        "fake-mark{text='\"'}",
        "fake-options{fast phase=decode batch=max(a,b) workload=@w}",
        "fake-numbers{B=1 S=2}",
    ],
)
def test_what_is_spelled_reads_back(text: str) -> None:
    first = read(text)
    again = read(spell(first))
    for name in options(type(first)):
        assert getattr(again, name) == getattr(first, name)


def test_an_option_knows_its_place() -> None:
    source = command_line("--pass=fake-options{workload=@w}")
    span = parse_pass(source, len("--pass=")).spans["workload"]
    assert source.text[span.start : span.end] == "@w"
    assert source.position(span.start) == (1, 30)


def test_an_unknown_pass_is_named_with_its_place() -> None:
    assert complaint("plan-inferense") == (
        "<command line>:1:1: error: unknown pass 'plan-inferense'; did you mean 'plan-inference'?\n  plan-inferense\n  ^~~~~~~~~~~~~~"
    )


def test_every_wrong_option_is_named_with_its_place() -> None:
    assert complaint("fake-options{phse=decode fast=2 phase=decod}") == (
        "<command line>:1:14: error: unknown option 'phse' of pass 'fake-options'; did you mean 'phase'?\n"
        "  fake-options{phse=decode fast=2 phase=decod}\n"
        "               ^~~~\n"
        "<command line>:1:31: error: option 'fast' expects true or false, found '2'\n"
        "  fake-options{phse=decode fast=2 phase=decod}\n"
        "                                ^\n"
        "<command line>:1:39: error: option 'phase' expects one of prefill, decode, found 'decod'"
        "; did you mean 'decode'?\n"
        "  fake-options{phse=decode fast=2 phase=decod}\n"
        "                                        ^~~~~"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1:1: error: expected the name of a pass"),
        ("fake-mark{", "1:11: error: expected '}' after the options of a pass"),
        ("fake-mark{text=a", "1:17: error: expected '}' after the options of a pass"),
        ("fake-mark{text=}", "1:11: error: option 'text' has no value"),
        ("fake-mark{text='a}", "1:16: error: the quoted value of option 'text' has no end"),
        ("fake-mark{text=(a}", "1:16: error: unbalanced parentheses in the value of option 'text'"),
        ("fake-mark{=a}", "1:11: error: expected the name of an option, or '}'"),
        ("fake-mark{text=a}}", "1:18: error: unexpected '}' after the pass"),
        ("fake-marktext=a", "1:1: error: unknown pass 'fake-marktext'; did you mean 'fake-mark'?"),
        ("fake-mark=a", "note: the shell takes unquoted braces apart"),
        ("fake-mark,fake-mark", "1:10: error: unexpected ',' after the pass"),
        ("fake-mark{text=a text=b}", "1:18: error: option 'text' is given twice"),
        ("fake-gone{}", "unknown pass 'fake-gone'"),
        ("fake-options{workload=w}", "1:23: error: option 'workload' expects a symbol such as @name, found 'w'"),
        ("fake-numbers{B=x}", "1:16: error: 'B' expects an integer, found 'x'"),
        ("fake-numbers{B=1.5}", "1:16: error: 'B' expects an integer, found '1.5'"),
        ("fake-numbers{B}", "1:14: error: option 'B' has no value: write B=INTEGER"),
        ("fake-numbers{B=" + "9" * 5000 + "}", "'B' expects an integer"),
        ("fake-mark{other=1}", "1:11: error: unknown option 'other' of pass 'fake-mark'; it has text"),
        ("fake-impure{a=1}", "1:13: error: unknown option 'a' of pass 'fake-impure'; it has no options"),
        ("fake-options{batch=2*}", "1:21: error: expected '(', '-', a word or an integer, found the end of the value"),
        ("fake-options{batch=9**9**9}", "1:20: error: an exponent is too large"),
    ],
)
def test_mistakes_in_a_pass(text: str, said: str) -> None:
    assert said in complaint(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1:1: error: expected the name of a pass"),
        ("fake-mark,", "1:11: error: expected the name of a pass"),
        ("fake-mark fake-mark", "1:11: error: unexpected 'f' after the pipeline"),
        ("builtin.module(fake-mark", "1:25: error: expected ',' or ')' after a pass of the pipeline"),
        ("builtin.module(fake-mark))", "1:26: error: unexpected ')' after the pipeline"),
        ("builtin.module()", "1:16: error: expected the name of a pass"),
        ("builtin.modul(fake-mark)", "1:1: error: unknown pass 'builtin.modul'"),
    ],
)
def test_mistakes_in_a_pipeline(text: str, said: str) -> None:
    assert said in complaint(text, pipeline=True)
