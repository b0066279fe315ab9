"""The answer of `bp-verify`."""

from __future__ import annotations

from bpir.ir.diagnostic import Diagnostic
from bpir.ir.operation import Operation
from bpir.ir.records import Record


class Verdict(metaclass=Record):
    """Whether one module is a correct derivation of another; true where that is proved, and nowhere else.

    Attributes:
        answer: `proved`, `refuted` or `unknown`. What can't be decided is unknown, which is no success.
        under: the fields of the target that the source does not say, as `context = 7`.
        diagnostics: what speaks against the derivation, each with its place; warnings too.
    """

    answer: str
    under: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def proved(self) -> bool:
        """Whether it is proved."""
        return self.answer == "proved"

    def __bool__(self) -> bool:
        return self.proved

    def __str__(self) -> str:
        first = f"{self.answer} under {', '.join(self.under)}" if self.under else self.answer
        return "\n".join([first, *(d.render() for d in self.diagnostics)])

    def __repr__(self) -> str:
        return f"<bpir.Verdict {self.answer}>"


def judge(source: Operation, target: Operation) -> Verdict:
    """The verdict on `target` as a derivation of `source`.

    Raises:
        DiagnosticError: no derivation leads from the level of the one to that of the other.
    """
    from bpir.tools.bp_verify import speaks_against, verdict
    from bpir.verifiers.derivation import verifier

    check = verifier(source, target)
    found = speaks_against(check, target)
    return Verdict(verdict(found), tuple(dict.fromkeys(check.findings.overridden)), tuple(found))
