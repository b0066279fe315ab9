"""An operand whose type holds an undeclared symbol fits no operation: the symbol is what the user wants to hear of."""

from __future__ import annotations

import re

from bpir.dialects.bp import Symbols, expressions_in, undeclared_symbol
from bpir.ir.diagnostic import Diagnostic, error
from bpir.ir.operation import Operation
from bpir.parser.state import ParserState


def undeclared_symbols(p: ParserState, operation: Operation) -> list[Diagnostic]:
    """Errors about the symbols in the types of the operands that nothing above the operation declares."""
    above = [o for scope in p.regions if scope.block is not None for o in scope.block.operations]
    declared = {name for symbols in Symbols.each(above) for name in symbols.symbols}
    used = {name for operand in operation.operands for e in expressions_in(operand.type) for name in e.symbols}
    found = []
    for name in sorted(used - declared):
        words = re.finditer(rf'//[^\n]*|"(?:\\.|[^"\\])*"|[%@#!^]\w+|\b({re.escape(name)})\b', p.text, re.ASCII)
        place = next((p.span(*word.span()) for word in words if word[1]), operation.span)
        found.append(error(f"{undeclared_symbol(name, declared)} [bp.R1]", place))
    return found
