"""Actions of the pieces that custom forms of builtin dialects are made of: typed operands, signatures and bodies of functions."""

from __future__ import annotations

from typing import Any

from bpir.ir.attributes import DictAttr, FunctionType, Type
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.diagnostic import fail
from bpir.ir.operation import Operation, Region, Value
from bpir.ir.records import Record
from bpir.parser.actions.operations import check_short
from bpir.parser.actions.regions import set_arguments
from bpir.parser.engine import RawAction
from bpir.parser.state import ParserState


class Argument(metaclass=Record):
    """An argument or a result of a function: a name only where a body may use it."""

    name: str | None
    type: Type
    attributes: DictAttr | None
    location: Any
    offset: int


class Call(metaclass=Record):
    """The rest of a call behind the callee: `(%a, %b) {...} : (T, T) -> T`."""

    operands: list[Value]
    attributes: DictAttr | None
    results: tuple[Type, ...]


def argument(p: ParserState, v: list[Any], start: int, end: int) -> Argument:
    """`%name: type {attributes} loc(...)`"""
    attributes = next((item for item in v[3:] if isinstance(item, DictAttr)), None)
    location = v[-1] if len(v) > 3 and v[-1] is not attributes else None
    return Argument(v[0], v[2], attributes, location, start)


def unnamed(p: ParserState, v: list[Any], start: int, end: int) -> Argument:
    """`type {attributes}`"""
    return Argument(None, v[0], v[1] if len(v) > 1 else None, None, start)


def signature(p: ParserState, v: list[Any], start: int, end: int) -> list[Argument]:
    """`(arguments)`: the region that may follow is open, its block has them."""
    found: list[Argument] = v[2] if len(v) == 4 else []
    named = [item for item in found if item.name is not None]
    if named and len(named) < len(found):
        odd = next(item for item in found if item.name is None)
        raise fail("either all arguments of a function are named, or none is", p.span(odd.offset, odd.offset + 1))
    set_arguments(p, p.block(), [(item.name or "", item.type, item.location, item.offset) for item in named])
    return found


def one_result(p: ParserState, v: list[Any], start: int, end: int) -> list[Argument]:
    return [Argument(None, v[1], None, None, start)]


def results(p: ParserState, v: list[Any], start: int, end: int) -> list[Argument]:
    """`-> ()` or `-> (type {attributes}, ...)`"""
    return v[2] if len(v) == 4 else []


def no_body(p: ParserState, v: list[Any], start: int, end: int) -> Region:
    p.close_region()
    return Region()


def typed_operands(p: ParserState, v: list[Any], start: int, end: int) -> list[Value]:
    """`%a, %b : T, T`"""
    return _typed(p, v[0], v[2], start, end)


def call(p: ParserState, v: list[Any], start: int, end: int) -> Call:
    uses = v[1] if isinstance(v[1], list) else []
    attributes = next((item for item in v if isinstance(item, DictAttr)), None)
    type_: FunctionType = v[-1]
    return Call(_typed(p, uses, type_.inputs, start, end), attributes, type_.results)


def _typed(p: ParserState, texts: list[Any], types: Any, start: int, end: int) -> list[Value]:
    if len(texts) != len(types):
        raise fail(f"there are {len(texts)} operand(s), but {len(types)} operand type(s)", p.span(start, end))
    found = []
    for index, (text, type_) in enumerate(zip(texts, types, strict=True)):
        name, number = (text, 0) if isinstance(text, str) else text
        found.append(p.use(name, number, p.locate_operand(start, index), type_, None))
    return found


def bare_return(p: ParserState, v: list[Any], start: int, end: int) -> None:
    """`return` or `return loc(...)`: read apart, as what follows a return without operands may look like an operand."""
    declaration = DECLARATIONS["func.return"]
    if v[0] == declaration.spelling:
        check_short(p, declaration, start)
    returned = Operation(declaration.name, span=p.span(start, end), declaration=declaration)
    if len(v) > 1:
        p.locate(returned, v[1])
    p.block().append(returned)


FUNCTION_ACTIONS: dict[str, RawAction] = {
    "function_argument": argument,
    "function_unnamed": unnamed,
    "function_signature": signature,
    "function_one_result": one_result,
    "function_results": results,
    "function_no_body": no_body,
    "bare_return": bare_return,
    "typed_operands": typed_operands,
    "call_operands": call,
}
