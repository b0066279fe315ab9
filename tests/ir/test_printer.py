"""IR to text: fixed points, names, custom and generic form."""

from __future__ import annotations

import pytest

from bpir.ir.attributes import I1, ArrayAttr, StringAttr
from bpir.ir.builtin.float_formats import FORMATS, float_text, from_double, to_fraction
from bpir.ir.diagnostic import Source
from bpir.ir.equality import equal
from bpir.ir.operation import Operation, Value
from bpir.ir.printer import print_module, printed
from bpir.parser import parse_module


def parse(text: str) -> Operation:
    return parse_module(Source("test", text), allow_unregistered=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "module @a {\n}\n",
        "module {\n  module {\n  }\n}\n",
        'module @a attributes {x.y = 1 : i64} {\n  "x.op"() : () -> ()\n}\n',
        '%a:2, %b = "x.op"() : () -> (i1, i2, i3)\n"x.use"(%a#1, %b) : (i2, i3) -> ()\n',
        '%0 = "x.op"() : () -> i1\n%1:2 = "x.op"(%0) : (i1) -> (i1, i1)\n',
        '"x.op"() <{a}> ({\n^bb0(%arg0: i1):\n  "x.br"()[^next] : () -> ()\n^next:\n  "x.end"() : () -> ()\n}, {\n}) : () -> ()\n',
        '"x.op"() <{}> : () -> ()\n',
        "bp.symbols B, H where B | H\n",
        '"bp.symbols"() <{symbols = ["a"]}> {x.note = 1 : i64} : () -> ()\n',
        'module @m {\n}\n\n{-# dialect_resources: {builtin: {a: "0x0800000001"}} #-}\n',
    ],
)
def test_canonical_text_is_a_fixed_point(text: str) -> None:
    assert print_module(parse(text)) == text


def test_generic_form_of_everything() -> None:
    assert print_module(parse("bp.symbols a"), generic=True) == (
        '"builtin.module"() ({\n  "bp.symbols"() <{symbols = ["a"]}> : () -> ()\n}) : () -> ()\n'
    )


def test_locations_are_printed_on_request() -> None:
    text = '"x.op"() ({\n^bb0(%arg0: i1 loc("a":1:2)):\n}) : () -> () loc(fused<"m">["b", unknown])\n'
    assert print_module(parse(text), locations=True) == text
    assert "loc" not in print_module(parse(text))


def test_names_are_made_unique() -> None:
    module = parse('%a = "x.op"() : () -> i1\n%b = "x.op"() : () -> i1\n"x.use"(%a, %b) : (i1, i1) -> ()')
    module.body[1].results[0].name = "a"
    text = print_module(module)
    assert text == '%a = "x.op"() : () -> i1\n%a_1 = "x.op"() : () -> i1\n"x.use"(%a, %a_1) : (i1, i1) -> ()\n'
    module.body[1].results[0].name = "two words"
    assert "%two_words =" in print_module(module)


def test_names_of_nested_regions_do_not_hide_outer_ones() -> None:
    module = parse('"x.w"() ({\n  %n = "x.op"() : () -> i1\n}) : () -> ()\n%o = "x.op"() : () -> i1')
    wrap, outer = module.body
    outer.results[0].name = "n"
    wrap.body.append(Operation("x.use", [outer.results[0]], parent=wrap.regions[0].blocks[0]))
    again = parse(print_module(module))
    assert equal(module, again)


def test_an_operation_that_its_custom_form_cannot_express() -> None:
    module = parse("bind.strategy @s {tensor = t}")
    module.body[0].properties["sym_name"] = ArrayAttr(())
    assert '"bind.strategy"() <{' in print_module(module)
    module.body[0].properties["sym_name"] = StringAttr("s")
    assert "bind.strategy @s" in print_module(module)
    module.body[0].properties["more"] = I1
    assert '"bind.strategy"() <{' in print_module(module)


def test_equality_sees_uses_types_and_structure() -> None:
    text = '%a, %b = "x.op"() : () -> (i1, i1)\n"x.use"(%a) : (i1) -> ()'
    assert equal(parse(text), parse(text.replace("%a", "%x")))
    assert not equal(parse(text), parse(text.replace("(%a)", "(%b)")))
    assert not equal(parse(text), parse(text + ' "x.more"() : () -> ()'))


@pytest.mark.parametrize("name", FORMATS)
def test_float_text_reads_back_bit_equal(name: str) -> None:
    width = FORMATS[name].width
    step = max(1, (1 << width) // 997)
    for bits in range(0, 1 << width, step):
        text = float_text(bits, name)
        assert (int(text, 16) if text.startswith("0x") else from_double(float(text), name)) == bits
        if width <= 16 and (value := to_fraction(bits, name)):
            assert from_double(float(value), name) == bits


def test_unknown_operands_do_not_break_printing() -> None:
    assert "%<unknown>" in print_module(Operation("x.use", [Value(I1)]))


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("held", [False, True])
def test_the_pieces_of_a_large_module_are_its_text(generic: bool, held: bool) -> None:
    """No piece is large, whether the operations are those of the text, or of an operation in it."""
    lines = "".join(
        f'  "e.one"() {{name = "n{index}", list = [@a, @b{index}], word, typed = ["x" : i8, 1 : i8]}} : () -> ()\n' for index in range(5000)
    )
    text = f"module @m {{\n{lines}}}\n" if held else lines
    module = parse_module(Source("large", text), allow_unregistered=True)
    pieces = list(printed(module, generic))
    assert "".join(pieces) == print_module(module, generic)
    assert len(pieces) > 4 and max(map(len, pieces)) < len(text) // 4
    assert 'list = [@a, @b4999], name = "n4999", typed = ["x" : i8, 1 : i8], word}' in pieces[-1]
