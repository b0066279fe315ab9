"""Operations that are read at once (`parser/shortcuts/whole.py`) are those that the grammar reads: trees, places and diagnostics."""

from __future__ import annotations

import random
import re

import pytest

from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.ir.operation import Operation
from bpir.parser import parse_module
from bpir.parser.shortcuts import sums, whole

FIRST = '%a, %b = "e.two"() {k = 1 : i32} : () -> (i1, i8)\n"e.use"(%a, %b) <{p, q = "s"}> {u = @s} : (i1, i8) -> ()\n'
LINES = [
    '%c = "e.one"(%a) {k = 1 : i64, s = "x // y"} : (i1) -> i1',
    '%c:2 = "e.two"() {k = 1 : i32} : () -> (i1, i8)',
    '%c, %d = "e.two"() {k = 2 : i32} : () -> (i1, i8)',
    '%c = "e.two"() : () -> (i1, i8)',
    '%c, %c = "e.two"() : () -> (i1, i8)',
    '%a = "e.one"(%a) : (i1) -> i1',
    '%c = "e.one"(%later) : (i1) -> i1',
    '"e.use"(%a, %b) {u = @s, u = @t} : (i1, i8) -> ()',
    '"e.use"(%a, %b) <{p, q = "s"}> {u = [@s, @t], v = #bp.expr<2*B/t>, w = #e.x<a b>} : (i1, i8) -> ()',
    '"e.use"(%a, %b) {u = [1, 2], v = true, w = i32, x = 5, y = unit} : (i1, i8) -> ()',
    '"e.use"(%a, %b) {u = {v = 1 : i8}, w = dense<1> : tensor<2xi8>, x = -1 : i8, y = 300 : i8} : (i1, i8) -> ()',
    '"e.use"(%a, %b) {u = 300 : i8} : (i1, i8) -> ()',
    '"e.use"(%a, %b) {u = #bp.expr<2*>} : (i1, i8) -> ()',
    '"e.use"(%a, %b) {u = #nothing} : (i1, i8) -> ()',
    '"e.use"(%b, %a) {u = @s} : (i1, i8) -> ()',
    '"e.use"(%a) {u = @s} : (i1, i8) -> ()',
    '"e.use"(%a#0, %b) {u = @s} : (i1, i8) -> ()',
    '"e.use"(%a, %b) : (i1, i8) -> () loc("f":1:2)',
    '"e.use"(%a, %b) : (i1, i8) -> ()\n  // note\n  loc("f":1:2)',
    '"e.use"(%a, %b) : (i1, i8) -> () "e.more"() : () -> ()',
    '"e.use"(%a, %b)  {u = @s} :(i1, i8)->() // note',
    '"e.use"(%a, %b) {} : (i1, i8) -> ()',
    r'"e.use"(%a, %b) {z = "", y = "a\\0Ab", x = 007, w = 0 : i64, v = 5 : i32, u = 123456789012345678} : (i1, i8) -> ()',
    '"e.use"(%a, %b) {u = 9223372036854775808} : (i1, i8) -> ()',
    '"e.use"(%a, %b) {u = 18446744073709551615 : i64, v = 9999999999999999999999} : (i1, i8) -> ()',
    '"e.use"(%a, %b) {u = [@s, @t.u], v = [@s], w = [@s::@t], x = [@s,@t], y = [@s , @t], z = []} : (i1, i8) -> ()',
    '"e.use"(%a, %b) {u = @s::@t, v = @"s t", w = @s} : (i1, i8) -> ()',
    '"e.hold"() ({\n  "e.use"(%a, %b) {u = @s} : (i1, i8) -> ()\n  "e.use"(%a, %b) {u = @s} : (i1, i8) -> ()\n}) : () -> ()',
    '"bp.symbols"() <{names = ["B", "S"]}> : () -> ()',
    '"bp.symbols"() <{names = ["B", "S"]}> {other = 1 : i8} : () -> ()',
    '"bp.symbols"() {names = ["B", "S"]} : () -> ()',
    '"bp.nothing"() {names = ["B", "S"]} : () -> ()',
]


def described(operation: Operation) -> object:
    """Everything of a tree that reading decides."""
    return [
        (
            o.name,
            [(v.name, v.type) for v in o.operands],
            [(v.name, v.type, v.index, v.owner is o) for v in o.results],
            o.properties,
            o.attributes,
            o.location,
            (o.span.start, o.span.end) if o.span is not None else None,
            o.declaration,
            o.parent is not None and any(p is o for p in o.parent.operations),
        )
        for o in operation.walk()
    ]


def read(text: str) -> object:
    try:
        return described(parse_module(Source("t", text), allow_unregistered=True))
    except DiagnosticError as failure:
        return [d.render() for d in failure.diagnostics]


def by_the_grammar(text: str) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole.WholeReader, "read", lambda self, position, end: None)
        return read(text)


@pytest.mark.parametrize("line", LINES)
def test_the_grammar_reads_the_same(line: str) -> None:
    for text in (FIRST + line, FIRST + line + "\n" + line, f"{FIRST}{line}\n{FIRST.replace('%a', '%x').replace('%b', '%y')}"):
        assert read(text) == by_the_grammar(text)


@pytest.mark.campaign
def test_the_grammar_reads_the_same_of_random_texts() -> None:
    source = random.Random(3)
    for _ in range(150):
        lines = [source.choice(LINES) for _ in range(source.randrange(1, 6))]
        renamed = [re.sub(r"^%c", f"%c{index}", line) for index, line in enumerate(lines)]
        text = FIRST + "\n".join(renamed)
        at = source.randrange(len(text))
        for changed in (text, text[:at] + text[at + 1 :], text[:at] + source.choice('%#@{}()<>,: \n"') + text[at:]):
            assert read(changed) == by_the_grammar(changed)


def test_simple_operations_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read_by = []
    original = whole.WholeReader.read
    monkeypatch.setattr(whole.WholeReader, "read", lambda *where: read_by.append(original(*where)) or read_by[-1])
    read(FIRST + "".join(f'%c{i} = "e.one"(%a) {{k = {i} : i64, w = #bp.expr<{i}*B>}} : (i1) -> i1\n' for i in range(50)))
    assert len([end for end in read_by if end is not None]) >= 49


SUMS = ["4*B*S*H*d*h/t + 5*B", "B", "7*B", "B/t/t*t", "B*B + B*B", "B/B", "0*B", "07*B", "B + 2", "-B", "max(B, S) + B", "B*max(S, 1)"]
SUMS += ["256*ceildiv(B*S**2, 256*t) + ceildiv(B*S**2, 256*t)", "3*B/2 - 5*B*S**2/(8*t)", "max(B, ceildiv(S, 2)) - min(B, S)", "f(B) + B"]
SUMS += [
    "max(max(max(B, S), 1), 2)",
    "B/(S - S)",
    "ceildiv(B) + B",
    "B - B",
    "B*(S + 1)**2/3",
    "B + max(B, 2)**2*4",
    "max(B // 2",
    "2**B",
    "B/2**2",
]
SUMS += ["x.y*B + 3*x.y", "*".join("B" * 400), "*".join(["B"] * 1001), " + ".join(["B"] * 300), f"{10**18}*B", "B*2", "B**2", "B /t", "B\n"]


@pytest.mark.parametrize("text", SUMS)
@pytest.mark.parametrize("form", ["#bp.expr<{}>", "#bp.work<ops = {}, read = {}>", "#bp.expr<max({}, S)>"])
def test_the_grammar_reads_the_same_sums(text: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = f'"e.a"() {{v = {form.replace("{}", text)}}} : () -> ()\n'
    found = read(module)
    monkeypatch.setattr(sums.Sums, "get", lambda self, found: None)
    assert found == read(module)
