"""bp-verify: is TARGET, whoever wrote it, a correct derivation of SOURCE?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpir.tools.common import Tool, read_module, report, wants_color, write_output
from bpir.tools.options import Arguments, Option, UsageError

if TYPE_CHECKING:
    from bpir.ir.diagnostic import Diagnostic
    from bpir.verifiers.claims import Claim


def body(arguments: Arguments) -> int:
    """Print the verdict, and what speaks against the derivation."""
    if len(arguments.positional) != 2:
        raise UsageError(f"expected SOURCE and TARGET, found {len(arguments.positional)} file(s)")
    if arguments.positional == ["-", "-"]:
        raise UsageError("SOURCE and TARGET cannot both be standard input")
    from bpir.verifiers.boundary import verifier

    color = wants_color(arguments)
    source, target = (read_module(path, color) for path in arguments.positional)
    claims: list[Claim] | None = [] if arguments.flag("explain") else None
    check = verifier(source, target, claims)
    found = check.verify()
    report(found, color)
    if claims is not None:
        from bpir.tools.proof import explanation

        write_output(explanation(source, target, check, claims) + "\n", None)
    answer = verdict(found)
    write_output(answer + "\n", None)
    return 0 if answer == "proved" else 1


def verdict(found: list[Diagnostic]) -> str:
    """`proved`, `refuted`, or `unknown` if nothing was refuted but something could not be decided."""
    errors = [d for d in found if d.severity == "error"]
    if not errors:
        return "proved"
    return "unknown" if all(d.undecided for d in errors) else "refuted"


TOOL = Tool(
    "bp-verify",
    "bp-verify [--explain] SOURCE TARGET",
    "Proves or refutes that the module TARGET is a correct derivation of the module SOURCE.",
    [Option("explain", help="say what was assumed, and how each claim was decided or is refuted")],
    body,
    "Prints 'proved', 'refuted' or 'unknown'. Exit status: 0 proved, 1 otherwise, 2 usage.",
)


def main(argv: list[str] | None = None) -> int:
    return TOOL.run(argv)
