"""One block of a model, distributed: its operations as tasks, with collectives between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, count

from bpir.dialects import bind as bind
from bpir.dialects.bp import ExprAttr, TensorType
from bpir.dialects.dist import collective_tasks, one_rank
from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.forms import forms_of, routing_of
from bpir.dialects.model.attention import Attention, Cached, KvAppend
from bpir.dialects.model.rules.layers import group_of, layer_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.model.structure import Return
from bpir.ir.attributes import ArrayAttr, Attribute, StringAttr
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.diagnostic import fail, note
from bpir.ir.expressions.expression import ONE, ZERO, Expr, maximum, minimum
from bpir.ir.operation import Block, Operation, Value
from bpir.passes.distribution.distribution import Assumptions
from bpir.passes.distribution.expert_rows import ExpertRows, Experts, moved, shared_batch
from bpir.passes.distribution.late_sums import late_sums
from bpir.passes.distribution.placement import TENSOR, lone_symbol
from bpir.passes.distribution.regions import sharded
from bpir.passes.inference.phases import Phase, counted_pairs, window_of


class _Distribution:
    """Distributes the operations of one block in order."""

    def __init__(
        self,
        phase: Phase,
        axes: tuple[str, ...],
        mesh: dict[str, Expr],
        assumptions: Assumptions,
        experts: Experts,
        chosen: Mapping[str, Attribute],
    ) -> None:
        self.chosen = chosen  # the fields of the strategy
        self.assumptions = assumptions
        self.experts = experts
        self.moved: dict[Value, Value] = {}  # what an all-to-all gives, by what it reads
        self.phase = phase
        self.axes = axes
        self.mesh = mesh
        self.values: dict[Value, Value] = {}
        self.out = Block()
        self.names: set[str] = set()
        self.readers: dict[Value, list[Operation]] = {}  # in the model
        self.late: set[Value] = set()
        self.last: set[Value] = set()  # what depends on the last token alone
        self.inputs: dict[Value, frozenset[Value]] = {}  # the arguments of the block that a value depends on
        self.caches: dict[tuple[Value, ...], list[Value]] = {}  # the visible K and V, by the new ones in the model

    def block(self, source: Operation) -> Block:
        self.names = {layer_of(operation) for operation in source.body}
        for operation in source.body:
            for value in operation.operands:
                self.readers.setdefault(value, []).append(operation)
        self.late = late_sums(source, self.axes, self.phase.erases)
        self.rows = ExpertRows(source)
        for argument in source.regions[0].blocks[0].arguments:
            self.values[argument] = Value(self._type(argument), name=argument.name)
            self.inputs[argument] = frozenset((argument,))
        self.out = Block([self.values[a] for a in source.regions[0].blocks[0].arguments])
        for operation in source.body:
            depends = frozenset().union(*(self.inputs[v] for v in operation.operands))
            self.inputs.update(dict.fromkeys(operation.results, depends))
            self._last_token(operation)
            if Return.of(operation) is not None:
                operands = [self._lying(operation, v) for v in operation.operands]
                self.out.append(dist.Return.build(operands, span=operation.span))
            else:
                self._distribute(operation)
        return self.out

    def _type(self, value: Value) -> TensorType:
        assert isinstance(value.type, TensorType)
        type = sharded(self.phase.type(value.type, value in self.last), self.axes, TENSOR)
        return shared_batch(type, value in self.rows.values) if self.experts.parallel else type

    def _last_token(self, operation: Operation) -> None:
        """Note what depends on the last token alone.

        Raises:
            DiagnosticError: the operation reads such a value beside one of all tokens.
        """
        rule = operation.declaration
        begins = isinstance(rule, ModelOperation) and rule.keeps_last_token and not self.phase.erases(operation)
        behind = [value for value in operation.operands if value in self.last]
        if behind and not begins and Return.of(operation) is None:
            for value in operation.operands:
                if value not in self.last and self.phase.type(value.type) is not self.phase.type(value.type, last=True):  # type: ignore[arg-type]
                    raise fail(
                        f"'{layer_of(operation)}' reads all tokens of '%{value.name or value.index}' beside the last one of another value",
                        operation.span,
                        note("model.last_token is before everything that needs one token only; or say 'head = all' in the workload"),
                    )
        if begins or behind:
            self.last.update(operation.results)

    def _distribute(self, operation: Operation) -> None:
        declaration = operation.declaration
        assert isinstance(declaration, ModelOperation)
        operands = [self._lying(operation, v) for v in operation.operands]
        if not declaration.in_inference:
            raise fail(f"'{operation.name}' is of training: inference has no labels", operation.span)
        if self.phase.erases(operation):
            self._bind(operation, operands)
        elif isinstance(declaration, KvAppend):
            self._bind(operation, self._append(operation, layer_of(operation), operands))
        elif isinstance(declaration, Cached):
            cached = self._cached_attention(operation)
            if cached and not _appended(operation):
                operands[-2:] = self._visible(operation, operands[-2:])
            results = [self._type(v) for v in operation.results]
            self._bind(operation, self._compute(operation, layer_of(operation), operands, results, "read" if cached else "").results)
        else:
            self._plain(operation, declaration, operands)

    def _plain(self, operation: Operation, declaration: ModelOperation, operands: list[Value]) -> None:
        results = []
        for index, value in enumerate(operation.results):
            type = self._type(value)
            read = [operands[i].type for i in declaration.factors(operation).lane_of_result(index).operands]
            late = any(isinstance(t, TensorType) and t.unreduced for t in read)
            partial = late or any(lone_symbol(dim) in self.axes for dim in declaration.contracted(operation, index))
            results.append(type.partial(TENSOR) if partial else type)
        task = self._compute(operation, layer_of(operation), operands, results)
        values = zip(operation.results, task.results, results, strict=True)
        self._bind(operation, [self._all_reduce(operation, v) if type.unreduced and of not in self.late else v for of, v, type in values])

    def _bind(self, operation: Operation, values: list[Value]) -> None:
        self.values.update(zip(operation.results, values, strict=True))

    def _free(self, layer: str, operation: Operation) -> str:
        """The layer name; or one made from the operation's own, numbered if need be, where the file or an earlier task has taken it."""
        own = f"{layer_of(operation)}.{layer.rpartition('.')[2]}"
        names = chain((layer, own), (f"{own}.{number}" for number in count(1)))
        free = next(name for name in names if name not in self.names)
        self.names.add(free)
        return free

    def _compute(self, operation: Operation, layer: str, operands: list[Value], results: list[TensorType], effect: str = "") -> Operation:
        kind = "kv_append" if effect == "write" else operation.kind
        rule = DECLARATIONS["model." + kind]
        assert isinstance(rule, ModelOperation)
        names = [v.name for v in operation.results] if len(results) == len(operation.results) else [None] * len(results)
        values = [Value(t, name=n) for t, n in zip(results, names, strict=True)]
        task = dist.Compute.build(
            operands,
            values,
            {**self._names(layer, operation), "kind": StringAttr(kind)},
            span=operation.span,
        )
        settings = self._counted(operation) if effect == "read" else ()
        form = self.chosen.get(rule.form_field) if rule.form_field else None
        local = one_rank.local(task, operation, self.mesh, (*settings, ("form", form)) if form is not None else settings)
        weights = rule.weights(local)
        if weights is not ZERO:
            task.properties["weights"] = ExprAttr(weights)
        if local.says("stored"):
            task.properties["weight_bytes"] = ExprAttr(rule.weight_bytes(local))
        task.properties |= dist.Task(operation).attributes(dist.Task.tied)  # the operation says it under the same name
        matmul = rule.matmul_operations(local)
        if matmul is not ZERO:
            task.properties["matmul"] = ExprAttr(matmul)
        task.properties |= {**routing_of(rule, local), **forms_of(rule, local)}
        if effect:
            task.properties["effects"] = ArrayAttr((StringAttr(effect),))
        task.properties["work"] = rule.forward(local)
        return self.out.append(task)

    def _names(self, layer: str, operation: Operation) -> dict[str, Attribute]:
        return {
            "task": StringAttr(f"{layer}.{self.phase.name}"),
            "phase": StringAttr(self.phase.name),
            "source": StringAttr(layer_of(operation)),
        }

    def _cached_attention(self, operation: Operation) -> bool:
        """Whether an attention reads the cache: of K and V that a `kv_append` gives, that it says the context of, or of its own tokens.

        K and V of another input's tokens are all visible, and no part of the decoder's context.
        """
        if _appended(operation) or "context" in operation.properties:
            return True
        query, key = operation.operands[0], operation.operands[-2]
        if not isinstance(query.type, TensorType) or not isinstance(key.type, TensorType):
            return True
        same_axis = query.type.dims[1] is key.type.dims[1]
        if same_axis and self.inputs[query] & self.inputs[key]:
            return True
        tokens = key.type.dims[1]
        if self.phase.name == "decode" and tokens is not ONE and self.phase.rewrite(tokens) is ONE:
            raise fail(
                f"K and V of '{layer_of(operation)}' come from another input than Q, and decode leaves it one token, because its token "
                f"axis is {tokens.text}, too",
                operation.span,
                note("give that input a token axis of its own; or say 'context' where K and V are the new tokens of a cache"),
            )
        return False

    def _counted(self, operation: Operation) -> tuple[tuple[str, Attribute], ...]:
        """Which pairs of a new token and a visible one count in an attention that reads the cache; the one of decode sees all."""
        if self.phase.name == "decode":
            return ()
        window = window_of(operation)
        window = self.phase.rewrite(window) if window is not None else None
        pairs = counted_pairs(self.phase.causal, self.phase.query, self.phase.prefix, window)
        return (("pairs", ExprAttr(pairs)),) if pairs is not None else ()

    def _held(self, values: Sequence[Value]) -> Expr:
        """The number of tokens that a cache holds for its readers: no more than their widest window."""
        readers = [o for value in values for o in self.readers.get(value, ()) if not isinstance(o.declaration, KvAppend)]
        windows = [window_of(o) if isinstance(o.declaration, Attention) else None for o in readers]
        known = [self.phase.rewrite(window) for window in windows if window is not None]
        return minimum(self.phase.context, maximum(*known)) if known and len(known) == len(windows) else self.phase.context

    def _visible(self, operation: Operation, operands: list[Value]) -> list[Value]:
        """The visible K and V of an attention without a `kv_append`: attentions over the same new K and V share one cache."""
        known = self.caches.get(tuple(operation.operands[-2:]))
        if known is not None:
            return known
        layer = self._free(f"{group_of(layer_of(operation))}.kv_append", operation)
        return self._append(operation, layer, operands)

    def _append(self, operation: Operation, layer: str, operands: list[Value]) -> list[Value]:
        """The new K and V go to the cache; the values of the cache after that come out."""
        new = tuple(operation.operands[-2:])
        if new in self.caches:
            raise fail(f"'{layer_of(operation)}' appends K and V to a cache that have one already: one kv_append is enough", operation.span)
        held = self._held(operation.results if isinstance(operation.declaration, KvAppend) else new)
        cache, visible_types = (
            [self._tokens(v, n) for v in operands] for n in (held, held if self.phase.name == "decode" else self.phase.context)
        )
        properties: dict[str, Attribute] = {
            "task": StringAttr(self._free(f"{group_of(layer)}.kv_cache", operation)),
            "source": StringAttr(layer_of(operation)),
        }
        state = dist.State.build(
            (),
            [Value(t, name=f"{v.name}_cache" if v.name else None) for t, v in zip(cache, operands, strict=True)],
            properties,
            span=operation.span,
        )
        self.out.append(state)
        visible = self._compute(operation, layer, [*operands, *state.results], visible_types, "write").results
        for value, operand in zip(visible, operands, strict=True):
            value.name = f"{operand.name}_visible" if operand.name else None
        self.caches[new] = visible
        return visible

    @staticmethod
    def _tokens(value: Value, tokens: Expr) -> TensorType:
        """The type of a value of so many tokens."""
        type = value.type
        assert isinstance(type, TensorType)
        return TensorType((type.dims[0], tokens, *type.dims[2:]), type.axes, type.element, ())

    def _lying(self, operation: Operation, value: Value) -> Value:
        """The image of a value as the operation reads it: with the ranks' parts of the batch, or where the experts of its rows lie."""
        image = self.values[value]
        if not self.experts.parallel or not self.rows.moves(operation, value):
            return image
        if image not in self.moved:
            to_experts = operation in self.rows.operations
            maker = operation if to_experts else value.owner
            assert isinstance(maker, Operation) and isinstance(image.type, TensorType)
            layer = self._free(f"{group_of(layer_of(maker))}.{'input' if to_experts else 'output'}_collective", maker)
            task = moved(image, to_experts, self._names(layer, maker), self.mesh, maker)
            self.moved[image] = self.out.append(task).results[0]
        return self.moved[image]

    def _all_reduce(self, operation: Operation, value: Value) -> Value:
        layer = self._free(f"{group_of(layer_of(operation))}.output_collective", operation)
        type = value.type
        assert isinstance(type, TensorType)
        self.assumptions.assume_share(self.mesh[TENSOR], type.local_dims({**self.mesh, TENSOR: ONE}))
        task = collective_tasks.AllReduce.build(
            [value],
            [Value(TensorType(type.dims, type.axes, type.element, ()), name=f"{value.name}_sum" if value.name else None)],
            {
                **self._names(layer, operation),
                "reduction": StringAttr("sum"),
                "axes": ArrayAttr((ArrayAttr((StringAttr(TENSOR),)),)),
            },
            span=operation.span,
        )
        task.properties["work"] = one_rank.collective_work(task, self.mesh)
        self.out.append(task)
        return task.results[0]


def _appended(operation: Operation) -> bool:
    """Whether the K and V of an attention come from a `kv_append` of the file."""
    return KvAppend.of(operation.operands[-2].producer) is not None
