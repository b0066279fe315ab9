"""Nesting: a thousand levels work everywhere, far more get a located diagnostic in bounded time."""

from __future__ import annotations

import pytest

from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.ir.equality import equal
from bpir.ir.operation import clone
from bpir.ir.printer import print_module
from bpir.parser import parse_module
from bpir.verifiers.ssa.operations import verify


def attribute(text: str) -> str:
    return f'"x.op"() {{a = {text}}} : () -> ()'


SHAPES = {
    "regions": lambda n: '"x.op"() ({\n' * n + "}) : () -> ()\n" * n,
    "modules": lambda n: "module @a {\n" * n + "}\n" * n,
    "arrays": lambda n: attribute("[" * n + "]" * n),
    "dictionaries": lambda n: attribute("{a = " * n + "1" + "}" * n),
    "tuples": lambda n: '%0 = "x.op"() : () -> ' + "tuple<" * n + "i32" + ">" * n,
    "function types": lambda n: attribute("(" * n + ") -> ()" * n),
    "raw bodies": lambda n: attribute("#x.y" + "<" * n + ">" * n),
    "affine": lambda n: attribute("affine_map<(i) -> (" + "(" * n + "i" + ")" * n + ")>"),
    "data": lambda n: attribute("dense<" + "[" * n + "1" + "]" * n + "> : tensor<" + "1x" * n + "i32>"),
    "locations": lambda n: '"x.op"() : () -> () loc(' + "callsite(" * n + '"a"' + ' at "b")' * n + ")",
    "parentheses": lambda n: attribute("#bp.expr<" + "(" * n + "a" + ")" * n + ">"),
    "signs": lambda n: attribute("#bp.expr<" + "-" * n + "a>"),
}


@pytest.mark.campaign(keep=4)
@pytest.mark.parametrize("name", SHAPES)
def test_a_thousand_levels(name: str) -> None:
    module = parse_module(Source("deep", SHAPES[name](1000)), allow_unregistered=True)
    assert verify(module) == []
    assert equal(module, clone(module))
    for generic in (False, True):
        text = print_module(module, generic, locations=True)
        again = parse_module(Source("again", text), allow_unregistered=True)
        assert equal(module, again)
        assert print_module(again, generic, locations=True) == text


@pytest.mark.campaign(keep=4)
@pytest.mark.parametrize("name", SHAPES)
def test_a_hundred_thousand_levels(name: str) -> None:
    with pytest.raises(DiagnosticError, match="nested too deeply") as caught:
        parse_module(Source("deep", SHAPES[name](100_000)), allow_unregistered=True)
    assert caught.value.diagnostics[0].span is not None


@pytest.mark.parametrize("text", ["(", "[", "{a=", "#x.y<", "tuple<", "affine_map<(("])
def test_openings_alone(text: str) -> None:
    with pytest.raises(DiagnosticError):
        parse_module(Source("open", attribute(text * 100_000)), allow_unregistered=True)


def test_aliases_that_double() -> None:
    text = "#a0 = 1\n" + "".join(f"#a{i} = [#a{i - 1}, #a{i - 1}]\n" for i in range(1, 100))
    with pytest.raises(DiagnosticError, match="stand for more than"):
        parse_module(Source("bomb", text), allow_unregistered=True)


@pytest.mark.parametrize("body", ["+".join("a" * 50_000), "*".join("a" * 50_000), "9" * 5000, "a**99999", "max(" * 500 + "a"])
def test_large_expressions_are_refused(body: str) -> None:
    with pytest.raises(DiagnosticError):
        parse_module(Source("large", attribute(f"#bp.expr<{body}>")), allow_unregistered=True)
