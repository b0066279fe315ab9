"""The stages of a pipeline: how a network is cut, of how many microbatches each stage holds activations, what goes from one to the next.

A layer is a call that gives what it takes: the residual stream. Of `L` layers chunk `k` of `P` has `ceildiv(L - k, P)`; what is before
the first layer is in the first chunk, what is behind one in its chunk. Chunk `k` is of the device `k mod p`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bpir.dialects.bind import as_expr, as_word, numbers_of
from bpir.dialects.bp import ExprAttr, Work
from bpir.dialects.dist import stages as dist
from bpir.dialects.dist import tasks
from bpir.dialects.dist.memory import local_bytes
from bpir.dialects.network import arguments_of, callees, calls, name_of, networks, times_of
from bpir.dialects.stages import PIPELINE, Run, runs_attribute
from bpir.ir.attributes import I64, Attribute, IntegerAttr, StringAttr, SymbolRefAttr
from bpir.ir.diagnostic import Span, fail, note
from bpir.ir.expressions.expression import ONE, ZERO, Expr, ceildiv, constant, minimum
from bpir.ir.operation import Block, Operation, Region, Value, types_of
from bpir.ir.records import Record
from bpir.ir.relations.facts import Facts
from bpir.passes.distribution.distribution import Assumptions
from bpir.passes.distribution.strategy_fields import mesh_of_strategy
from bpir.passes.inputs import Binding

TRANSFER = "transfer"
"""The layer that the transfers of a border are of."""


class Schedule(metaclass=Record):
    """`stages` devices, one behind another, with `chunks` parts of the network each, and `microbatches` runs of it in a step."""

    stages: int
    chunks: int
    microbatches: Expr
    shares: tuple[int, ...] = ()  # layers of each part, where that is said
    place: Span | None = None

    @property
    def parts(self) -> int:
        """The chunks of all devices."""
        return self.stages * self.chunks


def schedule_of(strategy: Binding, facts: Facts, module: Operation, spans: Mapping[str, Span]) -> Schedule:
    """The schedule that a strategy says.

    Args:
        spans: where fields stand that are options of the pass.

    Raises:
        DiagnosticError: the numbers of stages or chunks are not known; or the module has no network, which they are about.
    """
    names = (PIPELINE, "interleaving", "microbatches")
    sizes = {name: as_expr(strategy.fields.get(name)) or ONE for name in names}
    places = {name: spans.get(name, strategy.operation.span) for name in names}
    said = next((name for name in (PIPELINE, "microbatches") if not facts.equal(sizes[name], ONE).proved), None)
    if said is not None and not networks(module):
        what = {"microbatches": "how often a network runs in a step"}.get(said, "how a network is cut into stages")
        message = f"'{said} = {sizes[said].text}' says {what}, and the module has no network"
        raise fail(f"{message}: add a model.network that calls the blocks", places[said])
    stages, chunks = (_number(name, sizes[name], facts, places[name]) for name in names[:2])
    chunks = chunks if stages > 1 else 1
    shares, place = numbers_of(strategy.fields.get("stages")) if stages > 1 else (), spans.get("stages", places[said or PIPELINE])
    if shares and len(shares) != stages * chunks:
        raise fail(f"'stages' says the layers of {len(shares)} parts of the pipeline, and there are {stages * chunks}", place)
    return Schedule(stages, chunks, sizes["microbatches"], shares, place)


def _number(name: str, size: Expr, facts: Facts, place: Span | None) -> int:
    value = size.substitute({symbol: constant(number) for symbol, number in facts.bindings.items()}).integer
    if value is None:
        message = f"'{name} = {size.text}' must be a number: each stage has tasks of its own"
        raise fail(f"{message}; bind {', '.join(size.symbols)}", place)
    return value


def pipeline(
    schedule: Schedule, module: Operation, blocks: Sequence[Operation], assumptions: Assumptions, strategy: Binding, training: bool
) -> list[Operation]:
    """The stages of the network of a model and their border, of distributed blocks; nothing where one device runs the network once a step.

    Raises:
        DiagnosticError: the network can't be cut so.
    """
    if schedule.parts == 1 and assumptions.table.facts.equal(schedule.microbatches, ONE).proved:
        return []
    network = networks(module)[0]
    chunks = cut(network, schedule, assumptions)
    mesh = mesh_of_strategy(strategy, assumptions.table.facts)
    found = [] if schedule.parts == 1 else [_border(network, blocks, training, strategy, mesh)]
    _require_rounds(schedule, assumptions, strategy)
    for index, runs in enumerate(chunks):
        chunk, place = divmod(index, schedule.stages)
        held = in_flight(schedule, place, chunk) if training else schedule.microbatches
        properties: dict[str, Attribute] = {"place": IntegerAttr(place, I64), "runs": runs_attribute(runs)}
        if chunk:
            properties["chunk"] = IntegerAttr(chunk, I64)
        properties |= {"microbatches": ExprAttr(schedule.microbatches), "in_flight": ExprAttr(held)}
        found.append(dist.Stage.build(properties=properties, span=schedule.place))
    return found


def _require_rounds(schedule: Schedule, assumptions: Assumptions, strategy: Binding) -> None:
    """Interleaved stages take turns in rounds of as many microbatches as there are stages; Calculon counts without that.

    Raises:
        DiagnosticError: the last round is not whole.
    """
    number = schedule.microbatches.integer
    if schedule.chunks == 1 or (number is not None and as_word(strategy.fields.get("convention")) == "calculon"):
        return
    if number is None:
        assumptions.assume_divides(constant(schedule.stages), schedule.microbatches)
    elif number % schedule.stages:
        message = f"interleaved stages run in rounds of {schedule.stages} microbatches, and there are {number}"
        raise fail(message, schedule.place, note("Megatron-LM stands still where the last round is not whole"))


# --- what each chunk runs


def cut(network: Operation, schedule: Schedule, assumptions: Assumptions) -> list[list[Run]]:
    """What each chunk runs of the blocks of a network, in order.

    Raises:
        DiagnosticError: there are fewer layers than chunks; or several calls of layers, and it is not known how many.
    """
    found = list(calls(network))
    layers = [call for call in found if _is_layer(call)]
    if not layers:
        raise fail("the network has no layer, a call that gives what it takes, between which stages could be cut", network.span)
    first, parts = found.index(layers[0]), schedule.parts
    counts = {call: _shares(call, layers, schedule, assumptions) for call in layers}
    chunks: list[list[Run]] = [[] for _ in range(parts)]
    last = 0  # the chunk of the layer before
    for index, call in enumerate(found):
        if call not in counts:
            chunks[0 if index < first else last] += [(name, times_of(call)) for name in callees(call)]
            continue
        for place, times in enumerate(counts[call]):
            if times is not ZERO:
                chunks[place] += [(name, times) for name in callees(call)]
                last = place
    return chunks


def _is_layer(call: Operation) -> bool:
    return types_of(call.operands) == types_of(call.results)


def _shares(call: Operation, layers: Sequence[Operation], schedule: Schedule, assumptions: Assumptions) -> list[Expr]:
    """How often each chunk runs a call of layers."""
    parts = schedule.parts
    if len(layers) == 1:
        count = times_of(call)
        if schedule.shares:
            said = sum(schedule.shares)
            assumptions.require_count(count, constant(said), f"'stages' shares out {said} layers", schedule.place)
            return [constant(share) for share in schedule.shares]
        assumptions.require_more(count, constant(parts - 1), f"{parts} parts of a pipeline need as many layers", schedule.place)
        return [ceildiv(count - place, constant(parts)) for place in range(parts)]
    numbers = [_layers(layer, assumptions.table.facts, schedule.place) for layer in layers]
    if sum(numbers) < parts:
        raise fail(f"{parts} parts of a pipeline need as many layers, and there are {sum(numbers)}", schedule.place)
    if schedule.shares and sum(numbers) != sum(schedule.shares):
        raise fail(f"'stages' shares out {sum(schedule.shares)} layers, and there are {sum(numbers)}", schedule.place)
    begin = sum(numbers[: layers.index(call)])
    end = begin + numbers[layers.index(call)]
    found, first = [], 0
    for place in range(parts):
        behind = first + (schedule.shares[place] if schedule.shares else -(-(sum(numbers) - place) // parts))
        found.append(constant(max(0, min(end, behind) - max(begin, first))))
        first = behind
    return found


def _layers(call: Operation, facts: Facts, place: Span | None) -> int:
    value = times_of(call).substitute({symbol: constant(number) for symbol, number in facts.bindings.items()})
    if value.integer is None:
        message = f"how often the layers of @{callees(call)[0]} run, {value.text}, must be a number, as there are layers of several calls"
        raise fail(message, place, note("they are called here", call.span))
    return value.integer


# --- how many microbatches are in flight


def in_flight(schedule: Schedule, place: int, chunk: int) -> Expr:
    """Of how many microbatches a chunk holds what backward reads, at most.

    One forward, one backward: `min(n, p - i)` (Narayanan et al. 2021, section 2.2). Interleaved, device `i` runs `2(p - i - 1) + (v - 1)p`
    chunks forward before its first backward, one more with it, in rounds of `p` microbatches a chunk (Megatron-LM,
    `forward_backward_pipelining_with_interleaving`): each chunk `p` of them, the last one `2(p - i) - 1` if that is less, and what is
    left begins the next round, with the first chunk.
    """
    stages, chunks, microbatches = schedule.stages, schedule.chunks, schedule.microbatches
    if chunks == 1:
        return minimum(microbatches, stages - place)
    number = microbatches.integer
    if number is not None:
        started = min(2 * (stages - place - 1) + (chunks - 1) * stages + 1, number * chunks)
        return constant(_rounds(number, stages, chunks)[:started].count(chunk))
    again = max(0, stages - 1 - 2 * place) if chunk == 0 else 0
    return minimum(microbatches, (min(stages, 2 * (stages - place) - 1) if chunk == chunks - 1 else stages) + again)


def _rounds(microbatches: int, stages: int, chunks: int) -> list[int]:
    """The chunk of each forward run of a device, in order: rounds of as many microbatches as there are stages."""
    found: list[int] = []
    for first in range(0, microbatches, stages):
        found += [chunk for chunk in range(chunks) for _ in range(min(stages, microbatches - first))]
    return found


# --- what goes from one stage to the next


def _border(network: Operation, blocks: Sequence[Operation], training: bool, strategy: Binding, mesh: Mapping[str, Expr]) -> Operation:
    """The transfers of the residual stream between two layers, and of its gradient."""
    known = {name_of(block): tasks.Block(block) for block in blocks}
    layer = known[next(callees(call)[0] for call in calls(network) if _is_layer(call))]
    count = len(next(call for call in calls(network) if _is_layer(call)).operands)
    stream = arguments_of(layer.operation)[:count]
    phases = ("forward", "activation_gradient") if training else (layer.tasks[0].phase if layer.tasks else "decode",)
    body = Block([])
    sent: list[Value] = []
    for phase in phases:
        arguments = [Value(type, name="dx" if phase == "activation_gradient" else "x") for type in stream]
        for argument in arguments:
            argument.owner, argument.index = body, len(body.arguments)
            body.arguments.append(argument)
        transfer = _transfer(arguments, name_of(network), phase, network.span, dist.transfer_work(local_bytes(stream, mesh)))
        body.append(transfer)
        sent += transfer.results
    body.append(tasks.Return.build(sent, span=network.span))
    symbol = "border"
    while symbol in (*known, name_of(network)):
        symbol += ".between"
    properties: dict[str, Attribute] = {
        "sym_name": StringAttr(symbol),
        "source": StringAttr(name_of(network)),
        "mesh": SymbolRefAttr(("mesh",)),
        "strategy": strategy.reference,
        **layer.attributes(tasks.Block.workload),
    }
    return dist.Border.build(properties=properties, regions=[Region([body])], span=network.span)


def _transfer(values: list[Value], source: str, phase: str, span: Span | None, work: Work) -> Operation:
    results = [Value(value.type, name="dy" if phase == "activation_gradient" else "y") for value in values]
    properties: dict[str, Attribute] = {
        "task": StringAttr(f"{TRANSFER}.{phase}"),
        "phase": StringAttr(phase),
        "source": StringAttr(source),
        "axis": StringAttr(PIPELINE),
        "work": work,
    }
    return dist.Transfer.build(values, results, properties, span=span)
