"""Text to IR: operations, names, regions, attributes, types, and the composed grammars."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bpir import dialects
from bpir.ir.attributes import IntegerAttr, StringAttr
from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.parser import parse_attribute, parse_expression, parse_module, parse_type
from bpir.parser.grammar import compose
from bpir.parser.tables import build
from bpir.verifiers.ssa.operations import verify


def parse(text: str) -> Operation:
    return parse_module(Source("test.mlir", text), allow_unregistered=True)


def message(text: str) -> str:
    with pytest.raises(DiagnosticError) as caught:
        module = parse(text)
        raise DiagnosticError(*verify(module))
    assert all(d.span is not None for d in caught.value.diagnostics)
    return "\n".join(d.render() for d in caught.value.diagnostics)


def test_parts_of_an_operation() -> None:
    module = parse('%a, %b:2 = "x.op"() <{p = 1}> ({^bb0(%i: i32): "x.in"(%i) : (i32) -> ()}) {q} : () -> (i1, i2, i3) loc("f":1:2)\n')
    (operation,) = module.body
    assert [value.name for value in operation.results] == ["a", "b", "b"]
    assert list(operation.properties) == ["p"]
    assert list(operation.attributes) == ["q"]
    assert operation.location is not None
    assert operation.body[0].operands[0] is operation.regions[0].blocks[0].arguments[0]
    assert operation.body[0].parent is operation.regions[0].blocks[0]
    assert operation.span is not None
    assert operation.span.source.position(operation.span.start) == (1, 12)


def test_forward_reference_is_the_later_value() -> None:
    module = parse('"x.use"(%a#1) : (i8) -> ()\n%a:2 = "x.def"() : () -> (i1, i8)\n')
    use, definition = module.body
    assert use.operands[0] is definition.results[1]
    assert verify(module) == []


def test_inherent_attributes_end_in_properties() -> None:
    for text in ('<{sym_name = "m"}> ({^bb0:})', '({^bb0:}) {sym_name = "m"}'):
        module = parse(f'"builtin.module"() {text} : () -> ()')
        assert module.properties == {"sym_name": StringAttr("m")}
        assert not module.attributes


def test_a_single_module_is_the_root() -> None:
    assert parse("module @a {}").properties == {"sym_name": StringAttr("a")}
    assert parse("").name == "builtin.module"


def test_any_word_is_a_key_or_a_symbol_of_an_expression() -> None:
    words = ("loc", "true", "unit", "dense", "i32", "x", "phase", "S", "N", "E", "I", "max", "module", "tensor")
    text = ", ".join(f"{word} = 1" for word in words)
    assert len(parse(f'"x.op"() {{{text}}} : () -> ()').body[0].attributes) == len(words)
    for word in words:
        assert parse_expression(word).text == word


@pytest.mark.parametrize(
    ("text", "same"),
    [("-2**2", "-4"), ("2**3**2", "512"), ("a/b/c", "a/(b*c)"), ("a - b - c", "a - (b + c)"), ("max(a, a)", "a")],
)
def test_expressions(text: str, same: str) -> None:
    assert parse_expression(text) is parse_expression(same)


def test_attributes_and_types_are_interned() -> None:
    assert parse_type("tensor<4x?xf32>") is parse_type("tensor < 4 x ? x f32 >")
    assert parse_attribute("[1, {a = 2}]") is parse_attribute("[1 : i64, {a = 2 : i64}]")
    assert isinstance(parse_attribute("255 : i8"), IntegerAttr)
    assert parse_attribute("255 : i8").text == "-1 : i8"


def test_unregistered_operations_need_a_flag() -> None:
    with pytest.raises(DiagnosticError, match="allow-unregistered-dialect"):
        parse_module(Source("x", '"x.op"() : () -> ()'))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('"x.op"(%a : () -> ()', "test.mlir:1:11: error: expected ')' to close the operand list"),
        ('"x.op"() {a = [1, 2} : () -> ()', "expected ']' to close the array"),
        ('module {\n  "x.op"() : () -> ()\n', "the region that is open here"),
        ('"x.use"(%vale) : (i1) -> ()\n%value = "x.op"() : () -> i1', "'%vale'; did you mean '%value'?"),
        ('"x.use"(%b) : (i1) -> ()\n"x.use"(%c) : (i1) -> ()', "'%c'"),
        ("moduel {}", "unknown operation 'moduel'; did you mean 'module'?"),
        ('"bp.symbls"() : () -> ()', "unknown operation 'bp.symbls'; did you mean 'bp.symbols'?"),
        ("bp.symbls a", "unknown operation 'bp.symbls'; did you mean 'bp.symbols'?"),
        ('"bp.symbols"() {symbls = ["a"]} : () -> ()', "no property 'symbls'; did you mean 'symbols'?"),
        ('"bp.symbols"() : () -> ()', "lacks its property 'symbols'"),
        ("bp.symbols a wher a > 1", "did you mean 'where'?"),
        ('"x.op"() {a = #bp.exprs<1>} : () -> ()', "did you mean '#bp.expr'?"),
        ('"x.op"() {a = #bp.expr<\n\n2 +* 3>} : () -> ()', "test.mlir:3:4: error"),
        ('"x.op"() {a = #bp.expr<9**9**9>} : () -> ()', "exponent"),
        ('"x.op"() {a = tensr<4xf32>} : () -> ()', "did you mean 'tensor'?"),
        ('"x.op"() {a = "b\\q"} : () -> ()', "unknown escape"),
        ('%a = "x.op"() : () -> i1\n%a = "x.op"() : () -> i1', "is first defined here"),
        ('"x.op"()[^a] : () -> ()', "undefined block '^a'"),
        ("module @a { module @b {} module @b {} }", "it is first defined here"),
        ('"x.op"() : () -> () loc(#l)', "never defined"),
        ("#a = 1\n#a = 2", "redefinition of alias '#a'"),
    ],
)
def test_diagnostics(text: str, part: str) -> None:
    assert part in message(text)


def test_dominance() -> None:
    body = '"x.use"(%a) : (i1) -> ()\n%a = "x.op"() : () -> i1\n'
    assert verify(parse(body)) == []
    function = f'"func.func"() <{{function_type = () -> (), sym_name = "f"}}> ({{\n{body}"func.return"() : () -> ()}}) : () -> ()'
    assert "does not dominate" in message(function)


OWN = [name for name in dialects.available() if name not in ("builtin", "func") and dialects.load(name)]


@pytest.mark.campaign(keep=2)
@pytest.mark.parametrize("names", [(), *((name,) for name in OWN), tuple(OWN)])
def test_grammars_have_no_conflicts(names: tuple[str, ...]) -> None:
    """Two dialects that conflict do so in the grammar of all of them, too; the file tests read most other combinations."""
    text, starts, _ = compose(dialects.load_all(names))
    build(text, starts)  # strict: raises on any conflict


def test_lark_is_not_imported_when_tables_are_cached() -> None:
    code = (
        "import sys; from bpir.parser import parse_module; from bpir.ir.diagnostic import Source;"
        "parse_module(Source('x', 'bp.symbols a')); print('lark' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_values_keep_their_names() -> None:
    text = '%value = "x.op"() : () -> i1\n"x.use"(%value) : (i1) -> ()\n'
    assert print_module(parse(text)) == text
