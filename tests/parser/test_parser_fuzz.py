"""Round trips of generated modules, and arbitrary bytes: a module or a diagnostic, never anything else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.ir.equality import equal
from bpir.ir.printer import print_module
from bpir.parser import parse_attribute, parse_module
from bpir.verifiers.ssa.operations import verify

SEEDS = [path.read_bytes() for path in sorted((Path(__file__).parent.parent / "conformance").glob("*.mlir"))]
OWN = b"""module @m {
  bp.symbols B, S, H, h, d, t where H = h * d, t | h
  bp.bind H = 12288, h = 96
  bind.workload @decode inference {phase = decode, context = c}
  "x.op"() {w = #bp.work<ops = 6*B*S*H**2/t, read = max(a, b)>} : () -> !bp.tensor<B x S@tensor x (h/t), bf16>
}
"""
SEEDS.append(OWN)

words = st.text("abcxi$._19", min_size=1, max_size=6).filter(lambda s: not s[0].isdigit() and s[0] not in "$.")
scalars = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.integers(0, 255).map(lambda n: f"{n} : i8"),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: f"{x:.20e} : f64"),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: f"{x:.20e} : f32"),
    st.integers(0, 2**16 - 1).map(lambda n: f"0x{n:04X} : bf16"),
    st.binary(max_size=8).map(lambda b: '"' + "".join(f"\\{c:02X}" for c in b) + '"'),
    st.sampled_from(["true", "unit", "i32", "@a::@b", "#x.y<a -> b>", "tensor<4x?xf32>", "() -> i1", "affine_map<(i) -> (i)>"]),
)
attributes = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: "[" + ", ".join(items) + "]"),
        st.dictionaries(words, inner, max_size=4).map(lambda d: "{" + ", ".join(f"{k} = {v}" for k, v in d.items()) + "}"),
    ),
    max_leaves=12,
)


@given(attributes)
def test_attributes_round_trip(text: str) -> None:
    attribute = parse_attribute(text)
    assert parse_attribute(attribute.text) is attribute


@st.composite
def modules(draw: st.DrawFn) -> str:
    """A module whose operations use values in any order (it is a graph region), some with regions."""
    count = draw(st.integers(1, 6))
    lines = []
    for index in range(count):
        uses = draw(st.lists(st.integers(0, count - 1), max_size=3))
        types = ", ".join("i32" for _ in uses)
        operands = ", ".join(f"%v{use}" for use in uses)
        region = draw(
            st.sampled_from(["", " ({})", ' ({^a(%v: i1): "x.u"(%v) : (i1) -> ()})', ' ({"x.b"()[^c] : () -> () ^c: "x.e"() : () -> ()})'])
        )
        extra = f" {{a = {draw(attributes)}}}" if draw(st.booleans()) else ""
        lines.append(f'%v{index} = "x.op"({operands}){region}{extra} : ({types}) -> i32')
    return "\n".join(lines)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(modules())
def test_modules_round_trip(text: str) -> None:
    module = parse_module(Source("generated", text), allow_unregistered=True)
    verify(module)
    for generic in (False, True):
        printed = print_module(module, generic)
        again = parse_module(Source("printed", printed), allow_unregistered=True)
        assert equal(module, again)
        assert print_module(again, generic) == printed


def check(data: bytes) -> None:
    try:
        module = parse_module(Source("fuzz", data.decode("latin-1")), allow_unregistered=True)
        verify(module)
        print_module(module)
        print_module(module, generic=True)
    except DiagnosticError as problem:
        assert problem.diagnostics
        for diagnostic in problem.diagnostics:
            assert diagnostic.span is not None
            assert diagnostic.render()


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    check(data)


@pytest.mark.parametrize("seed", range(8))
def test_mutated_files(seed: int) -> None:
    chance = random.Random(seed)
    pieces = [b"(", b")", b"{", b"}", b"<", b">", b"[", b"]", b'"', b"%a", b"^b", b"@c", b"#d", b"!e", b":", b"->", b"loc(", b"0", b"\xff"]
    for _ in range(150):
        data = bytearray(chance.choice(SEEDS))
        for _ in range(chance.randint(1, 4)):
            place = chance.randint(0, len(data))
            kind = chance.random()
            if kind < 0.4:
                data[place:place] = chance.choice(pieces)
            elif kind < 0.7:
                del data[place : place + chance.randint(1, 5)]
            else:
                other = chance.choice(SEEDS)
                start = chance.randint(0, len(other))
                data[place:place] = other[start : start + 20]
        check(bytes(data))
