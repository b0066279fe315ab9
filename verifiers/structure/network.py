"""The structure of a network, at the levels `model` and `dist`: what it calls, and whether types agree (rules network.R1 to network.R6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from bpir.dialects.network import blocks, border, callees, calls, name_of, networks, unknown
from bpir.ir.attributes import Type
from bpir.ir.diagnostic import Diagnostic, error, note
from bpir.ir.operation import Operation, types_of
from bpir.verifiers.rulebooks import NETWORK


@NETWORK.rule("R5", "there is one network at most")
def verify(module: Operation) -> list[Diagnostic]:
    """Everything that is wrong with the networks of a module."""
    found = networks(module)
    known = blocks(module) if found else {}
    wrong = [_second(other, found[0]) for other in found[1:]]
    for network in found:
        wrong.extend(_unread(network))
        for call in calls(network):
            wrong.extend(_call(call, known))
    return wrong


def _second(network: Operation, first: Operation) -> Diagnostic:
    message = f"a module has one network, and this is another: @{name_of(network)} [network.R5]"
    return error(message, network.span, note("the first", first.span))


@NETWORK.rule("R6", "every argument of the network goes to a call")
def _unread(network: Operation) -> Iterable[Diagnostic]:
    read = {value for call in calls(network) for value in call.operands}
    for argument in network.arguments:
        if argument not in read:
            name = argument.name or argument.index
            yield error(f"no call reads the argument '%{name}' of the network [network.R6]", network.span)


@NETWORK.rule("R1", "a call names blocks of the module")
def _call(call: Operation, known: Mapping[str, Operation]) -> Iterable[Diagnostic]:
    names = callees(call)
    missing = [unknown(call, name, known) for name in dict.fromkeys(names) if name not in known]
    yield from (error(f"{d.message} [network.R1]", d.span) for d in missing)
    if names and not missing:
        borders = {name: border(call, known[name]) for name in dict.fromkeys(names)}
        yield from _ends(call, borders, known)
        yield from _chained(call, borders, known)


@NETWORK.rule("R2", "its operands are as many as the arguments of the first block, and of their types")
@NETWORK.rule("R3", "its results are what the last block returns")
def _ends(call: Operation, borders: Mapping[str, _Border | None], known: Mapping[str, Operation]) -> Iterable[Diagnostic]:
    first, last = callees(call)[0], callees(call)[-1]
    taken, returned = borders[first], borders[last]
    if taken is not None:
        yield from _fit(call, "R2", f"'{call.name}' gives @{first}", types_of(call.operands), taken[0], known[first])
    if returned is not None:
        yield from _fit(call, "R3", f"'{call.name}' has, of @{last},", types_of(call.results), returned[1], known[last], "result")


@NETWORK.rule("R4", "what a repeated block returns fits the arguments of the one that follows it")
def _chained(call: Operation, borders: Mapping[str, _Border | None], known: Mapping[str, Operation]) -> Iterable[Diagnostic]:
    names = callees(call)
    following = pairwise((*names, names[0])) if "times" in call.properties else pairwise(names)
    for one, other in dict.fromkeys(following):
        given, taken = borders[one], borders[other]
        if given is not None and taken is not None:
            yield from _fit(call, "R4", f"in this repetition @{one} gives @{other}", given[1], taken[0], known[other])


_Border = tuple[Sequence[Type], Sequence[Type]]
"""The types that a block takes, and those that it returns."""


def _fit(
    call: Operation, rule: str, subject: str, given: Sequence[Type], wanted: Sequence[Type], block: Operation, what: str = "value"
) -> Iterable[Diagnostic]:
    """Refuse values that are not as many as a block takes or returns, or not of their types."""
    verb, there = "returns" if what == "result" else "takes", note("the block", block.span)
    if len(given) != len(wanted):
        message = f"{subject} {len(given)} {what}(s), and the block {verb} {len(wanted)} [network.{rule}]"
        yield error(message, call.span, there)
        return
    for index, (found, expected) in enumerate(zip(given, wanted, strict=True)):
        if found is not expected:
            message = f"{subject} {what} {index} of type {found}, and the block {verb} {expected} [network.{rule}]"
            yield error(message, call.span, there)
