"""`bp-opt` answers random inputs with a module or a diagnostic (`evidence/fuzzing.py` tries more); inputs on which it once failed."""

from __future__ import annotations

import pytest
from fuzzing import RUNS, attempt, fuzz

pytestmark = pytest.mark.slow

FOUND = (
    # Data without elements: the nesting of an empty list.
    b'"x.op"() {v = sparse<[], []> : tensor<2xi32>} : () -> ()',
    # After an error the same operation was left out again and again.
    b'#a = \n"x.op"() ({\n  )\n// -----\n"x.op"() ({ }}\n}\n// -----\nbind.strategy @s {tensor = \nmodel.block (\n',
    b"module {\n" + b'  "x.op"() {v = [1, 2} : () -> ()\n' * 400 + b"}\n",
    b'"x.op"() ({\n' * 300 + b"%x = )\n",
    # Names that are not defined, thousands of times.
    b'"x.op"(%a) : (i32) -> ()\n' * 3000,
)


@pytest.mark.parametrize("data", FOUND, ids=range(len(FOUND)))
def test_what_was_found(data: bytes) -> None:
    for options in RUNS:
        attempt(data, options)


@pytest.mark.campaign
def test_any_input_is_a_module_or_a_diagnostic() -> None:
    fuzz(120)


@pytest.mark.campaign(keep=6)
@pytest.mark.parametrize(
    "data",
    [
        b"(" * 100_000,
        b"[" * 100_000,
        b"{" * 100_000,
        b'"x.op"() {v = ' + b"[" * 50_000,
        b"#a<" * 33_000,
        b"\n" * 100_000,
        b"%" * 100_000,
        b'"' * 100_000,
        b"// expected-error@+1 {{" * 4000,
        b"// -----\n" * 11_000,
        b"module{" * 14_000,
        b"bp.symbols " + b"a," * 49_000,
        b"bp.symbols a where a = " + b"a+" * 48_000,
        b"bp.symbols a where a = " + b"(" * 90_000,
        b"bp.symbols a where a = " + b"9" * 99_000,
        b"bp.symbols a where a = 2" + b"**2" * 33_000,
        b'"x"() {v = #bp.expr<' + b"max(a," * 16_000,
        b'"x"() {v = dense<' + b"[" * 30_000 + b"1" + b"]" * 30_000 + b"> : tensor<1xi8>} : () -> ()",
    ],
    ids=lambda data: data[:12].decode() + "...",
)
def test_large_inputs_are_answered_soon(data: bytes) -> None:
    for options in (RUNS[0], RUNS[2], RUNS[3]):
        attempt(data, options)
