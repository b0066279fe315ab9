"""Command lines are read by the table of options; each mistake is answered by a message."""

from __future__ import annotations

import pytest

from bpir.tools import bp_cost, bp_export, bp_import, bp_lsp, bp_opt, bp_report, bp_run, bp_sweep, bp_verify
from bpir.tools.options import Option, UsageError, parse

TABLE = [
    Option("o", value="FILE", help="output"),
    Option("verify-each", help="a flag"),
    Option("print-op-generic", "mlir-print-op-generic", help="a flag with two spellings"),
    Option("pass", value="NAME", help="a repeated option"),
    Option("color", value="WHEN", help="a choice", choices=("auto", "always"), implied="always"),
]


def test_values_flags_and_files_in_any_order() -> None:
    found = parse(["--pass=a", "in", "-o", "out", "--pass", "b", "--verify-each", "--", "--pass"], TABLE)
    assert found.positional == ["in", "--pass"]
    assert found.values("pass") == ["a", "b"]
    assert found.value("o") == "out"
    assert found.flag("verify-each")
    assert not found.flag("print-op-generic")
    assert found.given[0] == ("pass", "a")


def test_a_dash_alone_is_a_file() -> None:
    assert parse(["-"], TABLE).positional == ["-"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("--verify-each", True),
        ("-verify-each", True),  # LLVM's tools take one dash too
        ("--verify-each=true", True),
        ("--verify-each=0", False),
        ("--no-verify-each", False),
    ],
)
def test_spellings_of_a_flag(written: str, value: bool) -> None:
    assert parse([written], TABLE).flag("verify-each", default=not value) is value


def test_the_last_one_counts() -> None:
    assert not parse(["--verify-each", "--no-verify-each"], TABLE).flag("verify-each", default=True)


def test_another_spelling_is_the_same_option() -> None:
    assert parse(["--mlir-print-op-generic"], TABLE).flag("print-op-generic")


def test_an_implied_value_takes_no_argument() -> None:
    found = parse(["--color", "in"], TABLE)
    assert (found.value("color"), found.positional) == ("always", ["in"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--verify-eech"], "unknown option '--verify-eech'; did you mean '--verify-each'?"),
        (["--no-pass"], "unknown option '--no-pass'; did you mean '--pass'?"),
        (["--zzz=1"], "unknown option '--zzz'"),
        (["--canonicalize"], "unknown option '--canonicalize'; did you mean '--pass=canonicalize'?"),
        (["--verify-each=maybe"], "option '--verify-each' is true or false, not 'maybe'"),
        (["--pass"], "option '--pass=NAME' needs a value"),
        (["-o"], "option '-o FILE' needs a value"),
        (["--color=red"], "option '--color=WHEN' expects one of auto, always, not 'red'"),
    ],
)
def test_mistakes(arguments: list[str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(arguments, TABLE)
    assert str(caught.value) == said


@pytest.mark.parametrize("tool", [bp_cost, bp_export, bp_import, bp_lsp, bp_opt, bp_report, bp_run, bp_sweep, bp_verify])
def test_help_names_every_option_and_fits_a_screen(tool: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["--help"]) == 0  # type: ignore[attr-defined]
    text = capsys.readouterr().out
    for option in tool.TOOL.table:  # type: ignore[attr-defined]
        assert option.spelling in text
    lines = text.splitlines()
    assert len(lines) <= 34
    assert max(map(len, lines)) <= 100


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    from importlib.metadata import version

    assert bp_opt.main(["--version"]) == 0
    assert capsys.readouterr().out == f"bp-opt {version('bpir')}\n"
