"""`--verify-diagnostics` compares annotations with diagnostics."""

from __future__ import annotations

import pytest

from bpir.ir.diagnostic import Diagnostic, Source, Span, error, note
from bpir.tools.texts.expectations import verify_diagnostics


def at(source: Source, line: int) -> Span:
    """The first character of a line."""
    start = len("\n".join(source.text.split("\n")[: line - 1])) + (line > 1)
    return Span(source, start, start + 1)


def said(text: str, *diagnostics: tuple[int, str, str]) -> list[str]:
    """The report for diagnostics `(line, severity, message)`; line 0 is no place."""
    source = Source("f", text + "\n" * 9)
    given = [Diagnostic(m, at(source, line) if line else None, severity) for line, severity, m in diagnostics]
    found = []
    for diagnostic in verify_diagnostics(source, given):
        line = source.position(diagnostic.span.start)[0] if diagnostic.span else 0
        found.append(f"{line}: {diagnostic.message}")
    return found


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("// expected-error {{wrong}}", 1),
        ("// expected-error@+1 {{wrong}}\nx", 2),
        ("x\n// expected-error@-1 {{wrong}}", 1),
        ("// expected-error @+2 {{wrong}}\n\nx", 3),
        ("// expected-error@below {{wrong}}\nx", 2),
        ("x\n// expected-error@above {{wrong}}", 1),
        ("x // expected-error{{wrong}}", 1),
        ("// expected-error@unknown {{wrong}}", 0),
    ],
)
def test_an_annotation_meets_the_diagnostic_of_its_line(text: str, line: int) -> None:
    assert said(text, (line, "error", "quite wrong indeed")) == []
    assert said(text, (line + 7, "error", "quite wrong indeed")) != []
    assert said(text, (line, "warning", "quite wrong indeed")) != []
    assert said(text, (line, "error", "right")) != []


def test_below_and_above_skip_annotated_lines() -> None:
    text = "a\n// expected-error@below {{1}} expected-error@above {{3}}\n// expected-error@below {{2}}\nb"
    assert said(text, (4, "error", "1"), (4, "error", "2"), (1, "error", "3")) == []


def test_several_on_a_line_and_braces_in_the_text() -> None:
    text = "x // expected-error {{a {b}}} expected-note {{c}} expected-warning {{}}"
    assert said(text, (1, "error", "a {b}"), (1, "note", "c"), (1, "warning", "anything")) == []


def test_each_annotation_meets_one_diagnostic() -> None:
    text = "x // expected-error {{a}}"
    assert said(text, (1, "error", "a"), (1, "error", "a")) == ["1: unexpected error: a"]


def test_what_is_missing_and_what_is_unexpected() -> None:
    text = "x // expected-error {{a}}\ny"
    assert said(text, (2, "error", "b")) == ["2: unexpected error: b", "1: expected error 'a' was not produced"]


def test_notes_of_a_diagnostic_need_annotations_if_they_have_a_place() -> None:
    source = Source("f", "x // expected-error {{a}}\ny")
    bare = error("a", at(source, 1), note("explains the run"))
    placed = error("a", at(source, 1), note("other place", at(source, 2)))
    assert verify_diagnostics(source, [bare]) == []
    assert [d.message for d in verify_diagnostics(source, [placed])] == ["unexpected note: other place"]


def test_a_diagnostic_about_another_text_has_no_line_here() -> None:
    source, other = Source("f", "x // expected-error {{a}}"), Source("g", "x")
    messages = [d.message for d in verify_diagnostics(source, [error("a", at(other, 1))])]
    assert messages == ["unexpected error: a", "expected error 'a' was not produced"]


def test_lines_count_from_the_part_s_first() -> None:
    source = Source("f", "\nx // expected-error@11 {{a}}", first_line=10)
    assert "malformed annotation" in verify_diagnostics(source, [])[0].message
    source = Source("f", "\nx // expected-error {{a}}", first_line=10)
    assert verify_diagnostics(source, [error("a", at(source, 2))]) == []


@pytest.mark.parametrize(
    "text",
    ["// expected-error {{a}", "// expected-error@up {{a}}", "// expected-error-re {{a}}", "// expected-note@+ {{a}}"],
)
def test_an_annotation_that_would_check_nothing_is_refused(text: str) -> None:
    assert [message[:23] for message in said(text)] == ["1: malformed annotation"]


def test_prose_is_no_annotation() -> None:
    assert said("// as expected-error lines go\n// expected-errors {{a}}") == []
