"""The whole import: from the text that JAX exports to the text of a block."""

from __future__ import annotations

import re
from pathlib import PurePath

from bpir.importer.stablehlo.block import Made, Step, needed
from bpir.importer.stablehlo.graph import graph_of, reachable, refused
from bpir.importer.stablehlo.lower import Lowering
from bpir.importer.stablehlo.names import Layers, Symbols
from bpir.importer.stablehlo.region import not_recognised
from bpir.importer.stablehlo.shapes import fits
from bpir.importer.stablehlo.writer import write_block
from bpir.ir.diagnostic import DiagnosticError, Source, Span, fail, note
from bpir.parser import parse_module

_PARTS = {"scores": "scores that no softmax reads", "softmax": "a softmax outside of attention"}
_CUSTOM = re.compile(r"^\s*(?:%[\w#:]+(?:\s*,\s*%[\w#:]+)*\s*=\s*)?(stablehlo|chlo|mhlo)\.(\w+)", re.MULTILINE)
_ELEMENTS = ("f16", "bf16", "f32", "f64")


def import_stablehlo(source: Source) -> str:
    """The block that a function in StableHLO computes, as text.

    Args:
        source: MLIR in its generic form, bytes decoded as latin-1.

    Raises:
        DiagnosticError: it can't be read, or a part of it is not recognised: at its place.
    """
    module = parse_module(_generic(source), allow_unregistered=True)
    graph = graph_of(module)
    if graph.arguments and graph.results and graph.results[0].element not in _ELEMENTS:
        raise fail(f"a block of {graph.results[0].element} can't be imported: expected one of {', '.join(_ELEMENTS)}", graph.span)
    for node in reachable(graph.results):
        if not fits(node):
            raise refused(node, f"the shapes of '{node.name}' and of its operands do not fit")
    lowering = Lowering(graph)
    steps = needed(lowering.results)
    _refuse_parts(steps)
    Layers(steps)
    symbols = Symbols(lowering.inputs, steps, lowering.grouped)
    single = {_made_by_linear(value) for value in lowering.single}
    title = _name(graph.name or PurePath(source.name).stem)
    return write_block(title, graph.results[0].element, lowering.inputs, lowering.results, steps, symbols, single)


def _generic(source: Source) -> Source:
    """The text, if it is in the generic form.

    Raises:
        DiagnosticError: it is in the custom form, which only StableHLO itself reads.
    """
    custom = _CUSTOM.search(source.text)
    if custom is None:
        return source
    span = Span(source, custom.start(1), custom.end(2))
    message = "this is StableHLO in its custom form; the generic form is read: every name in quotes, every attribute in <{...}>"
    how = "jax.jit(f).lower(...).compiler_ir('stablehlo').operation.get_asm(print_generic_op_form=True) prints it"
    raise fail(message, span, note(how))


def _refuse_parts(steps: list[Step]) -> None:
    """What only attention takes in is no operation of a block."""
    altered = {operand.by for step in steps if step.kind == "altered" for operand in step.operands}
    errors = [fail(f"{_PARTS[step.kind]} can't be imported", step.span) for step in steps if step.kind in _PARTS]
    errors += [not_recognised(step.node) for step in steps if step.node is not None and step not in altered]
    if errors:
        raise DiagnosticError(*(diagnostic for each in errors for diagnostic in each.diagnostics))


def _made_by_linear(value: Made) -> Made:
    while value.by is not None and value.by.kind != "linear":
        value = value.by.operands[0]
    return value


def _name(text: str) -> str:
    found = re.sub(r"\W", "_", text.removeprefix("jit_"))
    return found if re.match(r"[A-Za-z_]", found) else f"block_{found}"
