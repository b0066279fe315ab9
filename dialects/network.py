"""Networks: blocks that are called in order, once or again and again. What the levels `model` and `dist` share of them.

A network only calls; a block computes. So nothing can call itself, and a network is one list of calls. Each place of a call has weights,
a cache and activations of its own; a repeated block has them once for each repetition.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from bpir.dialects.bp.parts import Times
from bpir.ir.attributes import ArrayAttr, Attribute, StringAttr, SymbolRefAttr, Type
from bpir.ir.declaration import Action, Fragment, OperationDeclaration, Piece, Problems, wanted, wanted_items
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, error, suggestion
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation, top_level, types_of
from bpir.ir.property_parts import Property, References, SymbolName, symbol_of
from bpir.ir.syntax_part import ABSENT

_T = TypeVar("_T")
_TIMES = Times("times")


class OneOrMore(References):
    """`@layer` or `[@local, @global]`: one symbol, or several in order."""

    def fragment(self, rule: str) -> Fragment:
        rules = (
            f"{rule}: symbol_ref -> {rule}_one\n"
            f'    | "[" {rule}_items "]" -> {rule}_several\n'
            f'{rule}_items: symbol_ref ("," symbol_ref)* -> {rule}_list\n'
        )
        return Fragment(
            rules,
            {
                rule + "_one": lambda c, v, s: ArrayAttr((v[0],)),
                rule + "_several": lambda c, v, s: ArrayAttr(tuple(v[0])),
                rule + "_list": lambda c, v, s: list(v),
            },
        )

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        names = [v.text for v in wanted_items(attribute, SymbolRefAttr)]
        yield names[0] if len(names) == 1 else "[" + ", ".join(names) + "]"


class Called(OperationDeclaration):
    """A block that a network may call."""

    between: ClassVar[bool] = False  # it is between the blocks that a network calls, and is called by none


FORWARD, BACKWARD, OPTIMIZER = PARTS = ("forward", "backward", "optimizer")
"""The parts of a training step of a block: what a network calls of it, and, after all calls, the update of its weights."""


class CalledPart(Property[str]):
    """`forward` or `backward`: the part of a training step; nothing in inference, and in a model."""

    def value(self, attribute: Attribute | None) -> str:
        return attribute.value if isinstance(attribute, StringAttr) else ""

    def demanded(self) -> tuple[str, ...]:
        return ()

    def fragment(self, rule: str) -> Fragment:
        words = {f"{rule}_{word}": word for word in (FORWARD, BACKWARD)}
        alternatives = "".join(f'    | "{word}" -> {name}\n' for name, word in words.items())
        actions: dict[str, Action] = {rule + "_whole": lambda c, v, s: ABSENT}
        for name, word in words.items():
            actions[name] = lambda c, v, s, word=word: StringAttr(word)  # type: ignore[misc]
        return Fragment(f"{rule}: -> {rule}_whole\n{alternatives}", actions)

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        yield wanted(attribute, StringAttr).value

    def expected(self, attribute: Attribute) -> str:
        good = isinstance(attribute, StringAttr) and attribute.value in (FORWARD, BACKWARD)
        return "" if good else f"{FORWARD} or {BACKWARD}, as a string"


class Calling(OperationDeclaration):
    """An operation that calls blocks: its operands go to the first, its results are those of the last."""

    part = CalledPart()
    late = True

    @property
    def blocks(self) -> tuple[str, ...]:
        """The names of the blocks of one repetition, in order."""
        raise NotImplementedError

    def infer_late(self, operations: Sequence[Operation], file: Sequence[Operation]) -> list[tuple[Type, ...]]:
        return _given(operations, _blocks(file))


class Network(OperationDeclaration):
    """Calls of blocks, in order, and what the network returns."""

    in_module = True
    isolated = True
    symbol = SymbolName()

    def verify(self, operation: Operation, report: Problems) -> None:
        ending = f"{self.dialect}.return"
        for child in operation.body:
            if not isinstance(child.declaration, Calling) and child.name != ending:
                help = Problems.note(operation, f"put the operation into a {self.dialect}.block, and call that")
                report.error(child, f"'{child.name}' can't be in a {self.name}, which only calls blocks", help)
        if not operation.body or operation.body[-1].name != ending:
            report.error(operation, f"a {self.name} ends with '{ending}'")


def callees(call: Operation) -> tuple[str, ...]:
    """The names of the blocks of one repetition, in order; what is no name is left out."""
    calling = Calling.of(call)
    return calling.blocks if calling is not None else ()


def part_of(call: Operation) -> str:
    """`forward` or `backward`: the part of a training step that is called; empty where it is all of the block."""
    calling = Calling.of(call)
    return calling.part if calling is not None else ""


def part_of_phase(phase: str, kind: str = "", early: bool = False) -> str:
    """The part of a training step that a task of a phase is of; empty for the phases of inference.

    Args:
        kind: of the task: a gather of the phase `gradient_reduction` is of updated weights.
        early: whether gradients of weights are reduced as soon as backward has them, so that a rank never keeps all of them.
    """
    if phase in ("prefill", "decode", ""):
        return ""
    if phase == FORWARD:
        return FORWARD
    if phase == "gradient_reduction":
        return BACKWARD if early and kind != "all_gather" else OPTIMIZER
    return OPTIMIZER if phase == "optimizer" else BACKWARD


def halves(part: str, taken: Sequence[_T], given: Sequence[_T], count: int) -> tuple[Sequence[_T], Sequence[_T]]:
    """The arguments and the results of a training step of a block that are of a part which takes `count` values.

    Forward has the first of both. Backward takes one gradient for each result of forward, and returns those of the arguments that have
    one: token ids and labels have none.
    """
    if not part:
        return taken, given
    left = max(len(taken) - count, 0)
    return (taken[:count], given[:left]) if part == FORWARD else (taken[left:], given[count:])


def border(call: Operation, block: Operation) -> tuple[tuple[Type, ...], tuple[Type, ...]] | None:
    """The types that a call gives to a block, and gets from it; None if the block has no end.

    A training step of a block takes the arguments of the model's block and the gradients of its results, and returns its results and the
    gradients of its arguments; forward has the one half of both, backward the other.
    """
    taken, given = arguments_of(block), returned_by(block)
    part = part_of(call)
    if given is None or not part:
        return None if given is None else (taken, given)
    ours, theirs = halves(part, taken, given, len(call.operands))
    return tuple(ours), tuple(theirs)


def times_of(operation: Operation) -> Expr:
    """The number of runs of a repeat or a section, or of copies of a buffer; one if nothing is said."""
    return _TIMES.value(operation.properties.get(_TIMES.name))


def name_of(operation: Operation) -> str:
    """The symbol of a block or a network, without `@`."""
    return symbol_of(operation)


def networks(module: Operation) -> list[Operation]:
    """The networks of a module; a sound one has one at most."""
    return [o for o in top_level(module) if isinstance(o.declaration, Network)]


def blocks(module: Operation) -> dict[str, Operation]:
    """The blocks of a module by name, in the order of the text."""
    return _blocks(top_level(module))


def _blocks(operations: Iterable[Operation]) -> dict[str, Operation]:
    found: dict[str, Operation] = {}
    for operation in operations:
        if isinstance(operation.declaration, Called):
            found.setdefault(name_of(operation), operation)
    return found


def calls(network: Operation) -> Iterator[Operation]:
    """The calls and repeats of a network, in order."""
    return (operation for operation in network.body if isinstance(operation.declaration, Calling))


def called(module: Operation) -> dict[str, Operation]:
    """The blocks that a module runs, by name: those that its network calls, in the order of their first call, and what is between them;
    without a network all."""
    known, found = blocks(module), networks(module)
    if not found:
        return known
    names = dict.fromkeys(name for call in calls(found[0]) for name in callees(call))
    names |= {name: None for name, block in known.items() if isinstance(block.declaration, Called) and block.declaration.between}
    return {name: known[name] for name in names if name in known}


def arguments_of(block: Operation) -> tuple[Type, ...]:
    """The types of the arguments of a block or a network."""
    return types_of(block.regions[0].blocks[0].arguments)


def returned_by(block: Operation) -> tuple[Type, ...] | None:
    """The types of what a block returns; None if it has no end."""
    last = block.body[-1] if block.body else None
    return types_of(last.operands) if last is not None and last.name.endswith(".return") else None


def _given(operations: Sequence[Operation], known: Mapping[str, Operation]) -> list[tuple[Type, ...]]:
    """The types of what each call gives: what the last block that it calls returns; none if that has no end, which is refused elsewhere.

    Raises:
        DiagnosticError: a call names no block of the module.
    """
    called = [(operation, callees(operation)) for operation in operations]
    wrong = [unknown(operation, name, known) for operation, names in called for name in names[-1:] if name not in known]
    if wrong:
        raise DiagnosticError(*wrong)
    return [returned_by(known[names[-1]]) or () for _, names in called]


def own_names(block: Operation) -> frozenset[str]:
    """The names of the tasks and states of a distributed block."""
    return frozenset(label.value for o in block.body if isinstance(label := o.properties.get("task"), StringAttr))


def flat_name(block: str, name: str, own: Container[str]) -> str:
    """The name of something in one of several blocks that share a name space: `layer.attention.core.decode`.

    The name of the block is left out where the name begins with it already, unless that would take the name of another one.

    Args:
        own: all such names of the block.
    """
    head, _, rest = name.partition(".")
    return name if head == block and rest not in own else f"{block}.{name}"


def unknown(call: Operation, name: str, known: Mapping[str, Any]) -> Diagnostic:
    """That a call names no block of the module."""
    level = call.dialect
    near = suggestion("@" + name, ["@" + other for other in known])
    return error(f"'{call.name}' calls @{name}, which is no {level}.block of the module{near}", call.span)
