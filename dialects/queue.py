"""The `queue` dialect: a machine with queues, each of which issues its commands in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bpir.dialects.concrete.envelope import Command
from bpir.dialects.concrete.extension import Deviation, TargetExtension, Violation, differing, missing
from bpir.ir.attributes import ArrayAttr, Attribute, StringAttr, SymbolRefAttr
from bpir.ir.declaration import OperationDeclaration
from bpir.ir.diagnostic import note
from bpir.ir.dialect import Dialect, declare
from bpir.ir.operation import Operation
from bpir.ir.property_parts import References, SymbolName, Word
from bpir.ir.rulebook import RuleBook
from bpir.ir.syntax import Clause

declare(Dialect("queue", level="concrete", uses=("concrete",)))

KINDS = ("compute", "collective", "transfer", "host")
_HELD = {"compute": ("launch",), "collective": ("collective",), "transfer": ("transfer",), "host": ("barrier", "host_call")}
"""The commands that each queue issues; the host keeps barriers. The rules ask this, the construction does not."""


class Queue(OperationDeclaration):
    """`queue.queue @queue.compute compute`, then `issue [@a, @b]`: the commands of the queue in the order in which they are issued."""

    name = "queue.queue"
    symbol = SymbolName()
    kind = Word(choices=KINDS)
    issue = References()
    syntax = (symbol, kind, Clause("issue", (issue,)))


class QueueMachine(TargetExtension):
    """Four queues; the issue order of each is the stable subsequence of the order of the commands."""

    kind = "queue"
    rules = RuleBook(kind)

    def operations(self, commands: Sequence[Operation]) -> list[Operation]:
        queues = {"launch": "compute", "collective": "collective", "transfer": "transfer", "barrier": "host", "host_call": "host"}
        issue: dict[str, list[Attribute]] = {kind: [] for kind in KINDS}
        for command in Command.each(commands):
            issue[queues[command.kind]].append(SymbolRefAttr((command.symbol,)))
        found = []
        for kind, names in issue.items():
            properties: dict[str, Attribute] = {"sym_name": StringAttr(f"queue.{kind}"), "kind": StringAttr(kind)}
            if names:
                properties["issue"] = ArrayAttr(tuple(names))
            found.append(Queue.build(properties=properties))
        return found

    def identity(self, operation: Operation) -> str:
        return Queue(operation).kind

    def deviations(self, commands: Sequence[Operation], operations: Sequence[Operation]) -> Iterable[Deviation]:
        """There are four queues, and each issues its commands in the order of the text."""
        found = {queue.kind: queue for queue in Queue.each(operations)}
        for kind, held in _HELD.items():
            if kind not in found:
                yield missing(Queue.name, kind)
                continue
            names = [SymbolRefAttr((command.symbol,)) for command in Command.each(commands) if command.kind in held]
            yield from differing(found[kind].operation, kind, Queue.issue.name, ArrayAttr(tuple(names)) if names else None)

    @rules.rule("R1", "one queue of each kind at most")
    def violations(self, commands: Sequence[Operation], operations: Sequence[Operation]) -> Iterable[Violation]:
        """Each place at which a rule of the queues is broken."""
        by_kind: dict[str, Queue] = {}
        issued: dict[str, Queue] = {}
        bound, queues = Command.each(commands), Queue.each(operations)
        kinds = {command.symbol: command.kind for command in bound}
        for queue in queues:
            other = by_kind.setdefault(queue.kind, queue)
            if other is not queue:
                yield Violation("R1", queue, f"there is a second {queue.kind} queue", (note("the first is here", other.span),))
            yield from self._misplaced(queue, kinds, issued)
        for command in bound:
            if command.symbol not in issued:
                yield Violation("R3", command, f"no queue issues @{command.symbol}")
        after = {command.symbol: command.after for command in bound}
        for queue in queues:
            yield from self._too_early(queue, after)

    @rules.rule("R2", "a command is on the queue of its kind")
    @rules.rule("R3", "on one queue, once")
    def _misplaced(self, queue: Queue, kinds: Mapping[str, str], issued: dict[str, Queue]) -> Iterable[Violation]:
        """Commands on a queue of another kind, and those that were issued before; `issued` takes in those of this queue."""
        for name in queue.issue:
            if name not in kinds:
                continue
            if kinds[name] not in _HELD[queue.kind]:
                wanted = next(other for other, held in _HELD.items() if kinds[name] in held)
                yield Violation("R2", queue, f"the {kinds[name]} @{name} is on the {queue.kind} queue; it belongs on the {wanted} queue")
            if name in issued:
                yield Violation("R3", queue, f"@{name} is issued twice", (note("first here", issued[name].span),))
            issued.setdefault(name, queue)

    @rules.rule("R4", "a queue issues a command after those of its own that it is after")
    def _too_early(self, queue: Queue, after: Mapping[str, Iterable[str]]) -> Iterable[Violation]:
        """Commands that a queue issues before one that they are after."""
        place = {name: index for index, name in enumerate(queue.issue)}
        for name, index in place.items():
            for other in after.get(name, ()):
                if place.get(other, -1) > index:
                    yield Violation("R4", queue, f"@{name} is issued before @{other}, which it is after")
