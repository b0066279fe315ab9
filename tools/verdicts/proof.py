"""`bp-verify --explain`: what a verdict assumed, and how each claim was decided, by rule and operation."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator

from bpir.dialects.bp import Assume, Bind, Symbols
from bpir.ir.diagnostic import Diagnostic, Source, Span
from bpir.ir.dialect import level_of_operation
from bpir.ir.expressions.bounds import integral
from bpir.ir.expressions.expression import ONE, ExpressionError
from bpir.ir.operation import Operation, top_level
from bpir.ir.relations.facts import Facts, Relation
from bpir.tools.pages import documentation
from bpir.verifiers.derivation import Verifier
from bpir.verifiers.statements import Claim, Fact, Proof, Proofs, Statement
from bpir.verifiers.structure.levels import level_of

WIDTH = 100
METHODS = {
    "normal form": "equal normal forms",
    "cases of max and min": "cases of max and min",
    "cases of a remainder": "cases of a remainder",
    "signs": "signs of the coefficients",
    "divisors": "divisibility",
}
"""The names of a verdict's methods in an explanation."""


def explanation(source: Operation, target: Operation, verifier: Verifier, claims: list[Claim]) -> str:
    """The text of `--explain`, for a verifier that has verified and made these claims."""
    return "\n".join(_Explanation(source, target, verifier, claims).lines()) + "\n"


class _Explanation:
    def __init__(self, source: Operation, target: Operation, verifier: Verifier, claims: list[Claim]) -> None:
        self.modules = {"SOURCE": source, "TARGET": target}
        self.findings = verifier.findings
        self.facts: Facts = verifier.findings.facts
        self.claims = claims
        self.sources = {found: name for name, module in self.modules.items() if (found := _source_of(module)) is not None}
        self.said: dict[Fact, tuple[str, str]] = {}
        for fact, said in (*self._facts_in(source), *self._facts_in(target)):
            self.said.setdefault(fact, said)
        recorded = frozenset(f for f, (how, _) in self.said.items() if how == "recorded" and isinstance(f, Relation))
        self.proofs = Proofs(self.facts, recorded)

    def lines(self) -> Iterator[str]:
        """The whole text."""
        for name, module in self.modules.items():
            found = _source_of(module)
            path = os.fsencode(found.name).decode("latin-1") if found is not None else ""
            yield f"{name}  {level_of(module)}  {path}".rstrip()
            yield from _wrapped("        ", _contents(module))
        yield "Both are sound by themselves, by the rules of bp and of their levels; what follows is the boundary."
        yield from self._open("refuted")
        yield from self._open("unknown")
        yield from self._assumed()
        yield from self._rules()

    # --- what is assumed

    def _facts_in(self, module: Operation) -> Iterator[tuple[Fact, tuple[str, str]]]:
        """The relations and bindings that a module says: how, and where."""
        for operation in top_level(module):
            place = self._place(operation.span)
            if (declared := Symbols.of(operation)) is not None:
                yield from ((relation, ("declared", place)) for relation in declared.relations)
            elif (assumed := Assume.of(operation)) is not None:
                yield from ((relation, ("recorded", place)) for relation in assumed.relations)
            elif (bound := Bind.of(operation)) is not None:
                yield from ((fact, ("bound", place)) for fact in bound.bindings.items())

    def _assumed(self) -> Iterator[str]:
        count = Counter[Fact]()
        for claim in self.claims:
            proof = self.proofs.of(claim.statement)
            if proof is not None:
                count.update(proof.facts)
        known: list[Fact] = [*self.facts.relations, *self.facts.bindings.items()]
        rows = [(_spelt(fact), *self.said.get(fact, ("", "")), count[fact]) for fact in dict.fromkeys(known)]
        yield ""
        yield "Assumed: every symbol is a positive integer" + (", and" if any(used for *_, used in rows) else "")
        yield from _table([(text, how, place, f"needed by {_number(used, 'claim')}") for text, how, place, used in rows if used])
        unused = [(text, how, place) for text, how, place, used in rows if not used]
        if unused:
            yield "Not needed by any claim:"
            yield from _table(unused)

    # --- what is decided, by rule

    def _rules(self) -> Iterator[str]:
        prefix = self.findings.prefix
        known = documentation.rules()
        owner = prefix if f"{prefix}.R1" in known else "bind-queue"  # the rules of binding are the same for every kind of target
        texts = {label.rpartition(".")[2]: text for label, text in known.items() if label.startswith(f"{owner}.")}
        refused = Counter(rule for rule, _ in self.findings.unstated)
        for rule in dict.fromkeys((*texts, *(c.rule for c in self.claims), *refused)):
            yield ""
            yield from _wrapped(f"{prefix}.{rule}  ", texts.get(rule, "(not documented)"))
            mine = [claim for claim in self.claims if claim.rule == rule]
            yield from self._rule(mine, refused[rule])

    def _rule(self, claims: list[Claim], refused: int) -> Iterator[str]:
        if refused:
            yield f"  refused {_number(refused, 'time')}, see above"
        elif not claims:
            yield "  compared as it stands: nothing differs"
        wrong = sum(not claim.verdict.proved for claim in claims)
        if wrong:
            yield f"  {_number(wrong, 'claim')} not proved, see above"
        shown: dict[Statement, list[Claim]] = {}
        folded = Counter[str]()
        for claim in claims:
            how = _at_sight(claim.statement)
            if how:
                folded[how] += 1
            elif claim.verdict.proved:
                shown.setdefault(claim.statement, []).append(claim)
        for how, number in folded.items():
            yield f"  {_number(number, 'claim')}: {how}"
        for statement, alike in shown.items():
            for claim in alike:
                yield from _wrapped(f"  {self._of(claim)}  ", _subject(claim))
            proof = self.proofs.of(statement)
            yield from _stated(statement, _how(proof) if proof is not None else alike[0].verdict.reason)

    # --- what is not proved

    def _open(self, answer: str) -> Iterator[str]:
        stated = [claim for claim in self.claims if claim.verdict.answer.value == answer]
        unstated = [(rule, d) for rule, d in self.findings.unstated if d.undecided == (answer == "unknown")]
        if not stated and not unstated:
            return
        yield ""
        parts = [f"{len(stated)} of {_number(len(self.claims), 'claim')} about expressions"] if stated else []
        parts += [_number(len(unstated), "comparison")] if unstated else []
        yield f"{answer.capitalize()}: {' and '.join(parts)}"
        for rule, diagnostic in unstated:
            yield from _wrapped(f"  {self._place(diagnostic.span)}  ", _message(diagnostic, f" [{self.findings.prefix}.{rule}]"))
        for claim in stated:
            yield from _wrapped(f"  {self._of(claim)}  ", f"{_subject(claim)} [{self.findings.prefix}.{claim.rule}]")
            for name, text in (*self._sides(claim.statement), *self._witness(claim)):
                yield from _wrapped(f"    {name:<12}", text)

    def _sides(self, statement: Statement) -> Iterator[tuple[str, str]]:
        """The two expressions, and how far they are apart."""
        if statement.sign == "|":
            yield "found", statement.right.text
            yield "expected", "a whole number" if statement.left is ONE else f"a multiple of {statement.left.text}"
            return
        yield "found", statement.left.text
        yield "expected", _BOUND[statement.sign] + statement.right.text
        try:
            difference = statement.left - statement.right
            reduced = self.facts.reduce(difference)
        except ExpressionError as failure:
            yield "difference", f"too large: {failure}"
            return
        yield "difference", difference.text + (f", by the equalities {reduced.text}" if reduced is not difference else "")

    def _witness(self, claim: Claim) -> Iterator[tuple[str, str]]:
        statement = claim.statement
        if not claim.verdict.refuted:
            count = self.facts.count_candidates(statement.left, statement.right)
            tried = [METHODS[method] for method in claim.verdict.methods]
            yield "tried", ", ".join([*tried, f"{_number(count, 'admissible binding')}, none of which refutes it"])
            yield "because", claim.verdict.reason
            return
        found = statement.smallest_witness(self.facts)
        at = found.values if found is not None else claim.verdict.witness or {}
        values = ", ".join(f"{name} = {value}" for name, value in at.items()) or "every binding"
        yield "witness", f"{values} ({'the smallest' if found is not None and found.smallest else 'no smaller one was found'})"
        if statement.sign == "|":
            yield "there", f"the quotient is {(statement.right / statement.left).evaluate(at)}"
            return
        left, right = statement.left.evaluate(at), statement.right.evaluate(at)
        yield "there", f"it is {left}, expected {_BOUND[statement.sign]}{right}"

    # --- places

    def _of(self, claim: Claim) -> str:
        return self._place(claim.operation.span if claim.operation is not None else None)

    def _place(self, span: Span | None) -> str:
        """`SOURCE:3`, `TARGET:12`; the line of a module's text."""
        if span is None or span.source not in self.sources:
            return "-"
        return f"{self.sources[span.source]}:{span.source.position(span.start)[0]}"


_BOUND = {"=": "", ">=": "at least ", ">": "more than "}


def _contents(module: Operation) -> str:
    """The number of operations of each kind that the rules range over: `dist.block, 7 dist.compute`."""
    count = Counter(o.name for o in module.walk() if level_of_operation(o.name))
    return ", ".join(f"{number} {name}" if number > 1 else name for name, number in count.items())


def _source_of(module: Operation) -> Source | None:
    """The text that a module was read from."""
    return next((operation.span.source for operation in module.walk() if operation.span is not None), None)


def _spelt(fact: Fact) -> str:
    return f"{fact[0]} = {fact[1]}" if isinstance(fact, tuple) else fact.text


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _message(diagnostic: Diagnostic, label: str) -> str:
    """The message, its label behind what its notes say."""
    notes = [note.message for note in diagnostic.notes if note.span is None]
    return "; ".join([diagnostic.message.removesuffix(label), *notes]) + label


def _subject(claim: Claim) -> str:
    """The subject of the claim; with the operation's name, if the words do not have it."""
    properties = claim.operation.properties if claim.operation is not None else {}
    name = next((properties[field].text.strip('"@') for field in ("task", "sym_name", "layer") if field in properties), "")
    return claim.what if name in claim.what else f"{claim.what}, at '{name}'"


def _at_sight(statement: Statement) -> str:
    """Why a statement is true without any assumption, so that it can be folded; empty if it is not true at sight."""
    if statement.left is statement.right and statement.sign in ("=", ">="):
        return "the same normal form"
    if statement.sign == "|" and statement.left is ONE and integral(statement.right):
        return "whole, by integer coefficients"
    return ""


def _how(proof: Proof) -> str:
    facts = ", ".join(map(_spelt, proof.facts))
    if proof.method == "declared":
        return f"as assumed: {facts}"
    return f"by {METHODS[proof.method]}" + (f" under {facts}" if facts else "")


def _stated(statement: Statement, how: str) -> Iterator[str]:
    """A statement and its proof, on one line where they fit."""
    line = f"    {statement.text}   {how}"
    if len(line) <= WIDTH:
        yield line
        return
    yield from _wrapped("    ", statement.text)
    yield from _wrapped("      ", how)


def _wrapped(head: str, text: str) -> list[str]:
    """The text behind its head, its further lines indented as its first."""
    text = "".join(f"\\{ord(c):02X}" if c < " " or c == "\x7f" else c for c in text)
    return textwrap.wrap(text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False)


def _table(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
