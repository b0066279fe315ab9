"""bp-verify: is TARGET, whoever wrote it, a correct derivation of SOURCE?

Sections and annotations are those of TARGET; what is placed in SOURCE has no place in TARGET, so it is `expected-error@unknown`.
"""

from __future__ import annotations

from bpir.tools.bp_run import BIND, given
from bpir.tools.common import Tool, read_module, read_source, sound_module, wants_color, write_output
from bpir.tools.options import SPLIT_INPUT_FILE, VERIFY_DIAGNOSTICS, Arguments, Option, UsageError
from bpir.tools.sections import run_section, sections

TYPE_CHECKING = False  # without `typing`, which is a part of every start
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpir.ir.diagnostic import Diagnostic, Source
    from bpir.ir.operation import Operation
    from bpir.verifiers.derivation import Verifier
    from bpir.verifiers.statements import Claim


def body(arguments: Arguments) -> int:
    """Print the verdict on each section of TARGET, and what speaks against the derivation."""
    numbers = given(arguments)
    if len(arguments.positional) != 2:
        raise UsageError(f"expected SOURCE and TARGET, found {len(arguments.positional)} file(s)")
    if arguments.positional == ["-", "-"]:
        raise UsageError("SOURCE and TARGET cannot both be standard input")
    from bpir.verifiers.derivation import verifier

    path, target = arguments.positional
    if arguments.values("bind") and not arguments.flag("run"):
        raise UsageError("'--bind' gives the numbers of a run: add '--run'")
    source = read_module(path, wants_color(arguments))

    def judge(section: Source, found: list[Diagnostic]) -> str:
        derived = sound_module(section, found)
        claims: list[Claim] | None = [] if arguments.flag("explain") else None
        check = verifier(source, derived, claims)
        against = speaks_against(check, derived)
        ran = ""
        if arguments.flag("run") and verdict(against) == "proved":
            ran, differs = _run(source, derived, numbers)
            against += differs
        found += against
        answer = f"{verdict(against, check.findings.overridden)}\n{ran}"
        if claims is None:
            return answer
        from bpir.tools.verdicts.proof import explanation

        return f"{explanation(source, derived, check, claims)}\n{answer}"

    failed = False
    for section in sections(arguments, read_source(target)):
        answer, wrong = run_section(arguments, section, judge, "")
        write_output(answer, None)
        failed = failed or wrong
    return 1 if failed else 0


def speaks_against(check: Verifier, derived: Operation) -> list[Diagnostic]:
    """The diagnostics against the derivation, or the place where the proof was too much work."""
    from bpir.ir.diagnostic import DiagnosticError
    from bpir.verifiers.structure.exhaustion import placed

    try:
        with placed(derived):
            return check.verify()
    except DiagnosticError as failure:
        if not all(d.undecided for d in failure.diagnostics):
            raise
        return list(failure.diagnostics)


def _run(source: Operation, derived: Operation, numbers: dict[str, int]) -> tuple[str, list[Diagnostic]]:
    """The text that `bp-run` prints of a proved derivation, and its diagnostics."""
    from bpir.tools.bp_run import outcomes_of
    from bpir.tools.verdicts.run_text import as_text

    outcomes = outcomes_of(source, derived, numbers)
    return as_text(outcomes), [diagnostic for outcome in outcomes for diagnostic in outcome.against]


def verdict(found: list[Diagnostic], overridden: Sequence[str] = ()) -> str:
    """`proved`, `refuted`, or `unknown` if nothing was refuted but something could not be decided; and under which fields of TARGET that
    SOURCE does not say: `proved under context = 7, tensor = 2`.
    """
    errors = [d for d in found if d.severity == "error"]
    answer = "proved" if not errors else "unknown" if all(d.undecided for d in errors) else "refuted"
    return f"{answer} under {', '.join(dict.fromkeys(overridden))}" if overridden else answer


TOOL = Tool(
    "bp-verify",
    "bp-verify [--explain] [--run] SOURCE TARGET",
    "Proves or refutes that the module TARGET is a correct derivation of the module SOURCE.",
    [
        Option("explain", help="say what was assumed, and how each claim was decided or is refuted"),
        Option("run", help="run what is proved as bp-run does: a distributed block against its model"),
        BIND,
        VERIFY_DIAGNOSTICS,
        SPLIT_INPUT_FILE,
    ],
    body,
    """Prints 'proved', 'refuted' or 'unknown', and under which fields of TARGET that SOURCE does
not say ('proved under context = 7, tensor = 2'). Exit status: 0 proved, 1 otherwise, 2 usage.
Sections and annotations are those of TARGET; each section is judged against all of
SOURCE, where an error that is placed there is expected with @unknown.""",
)


def main(argv: list[str] | None = None) -> int:
    return TOOL.run(argv)
