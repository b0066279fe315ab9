"""The meanings of the names in the equations of docstrings: expressions from passes and work rules, for symbolic sizes.

`MEANINGS` has a function for each pass equation by its label, and for each operation by its name. It gives the meanings in which the
equation must hold, by the words that a formula has behind it (`with a bias`); those under "" hold where no such words stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import raw
from formula_proof import Meaning
from raw import expr_of, number_of, symbol_of, text_of
from support import example_text, read, replaced, run
from support_training import Step
from support_training import block as training

from bpir.dialects.bp import ExprAttr, TensorType, Work, product
from bpir.dialects.dist import collective_tasks, one_rank
from bpir.dialects.dist.parts import mesh_entries
from bpir.dialects.model.rules.conventions import Choices, LayerView, Standard
from bpir.dialects.model.rules.operation import Elementwise, ModelOperation, part_of, settings_of
from bpir.dialects.model.rules.sizes import feature_dims, token_dims
from bpir.dialects.plan import resources_of_work
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.expressions.expression import ONE, ZERO, Expr, constant, maximum, symbol, total
from bpir.ir.operation import Operation, top_level
from bpir.verifiers.ssa.distinct_properties import counts_of

Meanings = Mapping[str, Sequence[Meaning]]

MEANINGS: dict[str, Callable[[], Meanings]] = {}
"""By the label of an equation of a pass, or the name of an operation."""

B, S, H, F, c, h, d, e, t, D = map(symbol, ("B", "S", "H", "F", "c", "h", "d", "e", "t", "D"))
SIZES = {"b": B, "B": B, "S": S, "H": H, "F": F, "c": c, "h": h, "d": d, "e": e}
COMPONENTS = ("ops", "read", "write", "msg")


def meaning(*labels: str) -> Callable[[Callable[[], Meanings | list[Meaning]]], Callable[[], Meanings]]:
    """Registers what the names of some equations stand for; a plain list holds whatever words are behind a formula."""

    def register(function: Callable[[], Meanings | list[Meaning]]) -> Callable[[], Meanings]:
        def found() -> Meanings:
            value = function()
            return {"": value} if isinstance(value, list) else value

        for label in labels:
            assert label not in MEANINGS
            MEANINGS[label] = cache(found)
        return found

    return register


def works(values: Mapping[str, Expr], *named: tuple[str, Work]) -> dict[str, Expr]:
    """The names, and the components of works under their names: `ops_dX`."""
    return {**values, **{a + suffix: value for suffix, work in named for a, value in zip(COMPONENTS, work.components, strict=True)}}


# --- distribute-inference, plan-inference

PHASES = {"prefill": c, "decode": ONE}


@cache
def inference(phase: str, degree: str = "t", relation: str = "") -> tuple[Operation, Operation]:
    """The distributed block of an example, and its plan; `relation` is declared besides those of the example."""
    text = example_text("transformer_block")
    if relation:
        text = replaced(text, ("where t | h", f"where {relation}, t | h"))
    tasks = run(read(text), f"distribute-inference{{phase={phase} tensor={degree}}}")
    return tasks, run(tasks, "plan-inference")


def body(module: Operation) -> list[Operation]:
    return [o for block in top_level(module) if block.name == "dist.block" for o in block.body]


def mesh(module: Operation) -> dict[str, Expr]:
    return {k: v for o in top_level(module) if o.name == "dist.mesh" for k, v in mesh_entries(o.properties.get("axes"))}


def layer(task: Operation) -> str:
    return raw.name_of(task).rpartition(".")[0]


def of_inference(name: str, derived: Callable[[Operation, Operation], Iterable[Expr]], relation: str = "") -> Callable[[], list[Meaning]]:
    """The name stands for each of the values, in each phase and for a symbol and a number of ranks."""

    def meanings() -> list[Meaning]:
        found = []
        for phase, q in PHASES.items():
            for degree, ranks in (("t", t), ("8", constant(8))):
                values = list(derived(*inference(phase, degree, relation)))
                assert values
                found += [Meaning({**SIZES, "q": q, "t": ranks, name: value}) for value in values]
        return found

    return meanings


def operations_of(*layers: str) -> Callable[[Operation, Operation], Iterable[Expr]]:
    def derived(module: Operation, plan: Operation) -> Iterable[Expr]:
        found = [work(o).ops for o in body(module) if raw.work_of(o) is not None and layer(o) in layers]
        assert len(found) == len(layers)
        yield total(found)

    return derived


def work(task: Operation) -> Work:
    found = raw.work_of(task)
    assert found is not None
    return found


def collectives(component: str) -> Callable[[Operation, Operation], Iterable[Expr]]:
    return lambda module, plan: [
        getattr(work(o), component) for o in body(module) if isinstance(o.declaration, collective_tasks.Collective)
    ]


def buffers(role: str) -> Callable[[Operation, Operation], Iterable[Expr]]:
    return lambda module, plan: [expr_of(o, "size") for o in top_level(plan) if o.name == "plan.buffer" and text_of(o, "role") == role]


@meaning("distribute-inference.E1")
def _() -> Meanings:
    found = {}
    for phase in PHASES:
        block = next(o for o in top_level(inference(phase)[0]) if o.name == "dist.block")
        type = block.regions[0].blocks[0].arguments[0].type
        assert isinstance(type, TensorType)
        found[f"in {phase}"] = [Meaning({"q": type.dims[1], "c": c})]
    return found


QKV = ("attention.query", "attention.key", "attention.value")
MLP = ("mlp.expand", "mlp.contract")


def _states(module: Operation, plan: Operation) -> Iterable[Expr]:
    states = [o for o in body(module) if o.name == "dist.state"]
    yield total(v.type.local(mesh(module)).bytes for o in states for v in o.results if isinstance(v.type, TensorType))


for _label, _name, _derived in (
    ("distribute-inference.E2", "W_attention", operations_of("attention.core")),
    ("distribute-inference.E3", "W_QKV", operations_of(*QKV)),
    ("distribute-inference.E4", "W_out", operations_of("attention.output_projection")),
    ("distribute-inference.E5", "W_MLP", operations_of(*MLP)),
    ("distribute-inference.E6", "C_KV", _states),
    ("distribute-inference.E7", "M_TP", collectives("msg")),
    ("distribute-inference.E8", "W_reduce", collectives("ops")),
    ("plan-inference.E6", "C_KV", buffers("state")),
):
    meaning(_label)(of_inference(_name, _derived))

meaning("plan-inference.E5")(of_inference("C_workspace", buffers("workspace"), "H = h * d"))


def tasks_of(module: Operation, plan: Operation) -> list[tuple[Work, Operation]]:
    """The work of each distributed task, and its plan."""
    planned = {text_of(o, "source"): o for o in top_level(plan) if o.name == "plan.task"}
    return [(work(o), planned[raw.name_of(o)]) for o in body(module) if raw.work_of(o) is not None]


def planned_work(modules: Iterable[tuple[Operation, Operation]]) -> list[Meaning]:
    rows = [row for pair in modules for row in tasks_of(*pair)]
    return [
        Meaning({"W_i^dist": ours, "W_i^plan": theirs})
        for source, task in rows
        for ours, theirs in zip(source.components, work(task).components, strict=True)
    ]


def resources(modules: Iterable[tuple[Operation, Operation]]) -> list[Meaning]:
    found = []
    for source, task in (row for pair in modules for row in tasks_of(*pair)):
        needed = task.properties["resources"]
        assert needed is resources_of_work(work(task))
        found.append(Meaning(works({f"Q_{name}": getattr(needed, name) for name in ("compute", "memory", "network")}, ("", source))))
    return found


meaning("plan-inference.E1")(lambda: planned_work(map(inference, PHASES)))
meaning("plan-inference.E2", "plan-inference.E3", "plan-inference.E4")(lambda: resources(map(inference, PHASES)))


# --- distribute-training, plan-training

COMMUNICATIONS = {"": "all_reduce", "under sequence parallelism": "reduce_scatter_all_gather"}
BACKWARD = "activation_gradient"
SHARED = {"data": "D", "optimizer_sharding": True}


def steps() -> list[Step]:
    return [training(communication=communication) for communication in COMMUNICATIONS.values()]


def tasks(step: Step, *phases: str) -> list[Operation]:
    return [o for o in body(step.dist) if raw.work_of(o) is not None and (not phases or raw.text_of(o, "phase") in phases)]


def operations(step: Step, phase: str, *layers: str) -> Expr:
    return total(work(o).ops for o in tasks(step, phase) if not layers or layer(o) in layers)


def weights(step: Step) -> dict[str, Expr]:
    """The elements of weights of each layer that has some."""
    return {layer(o): raw.weights_of(o) for o in tasks(step, "forward") if raw.weights_of(o) is not ZERO}


def of_training(**derived: Callable[[Step], Iterable[Expr]]) -> Callable[[], list[Meaning]]:
    """The names stand for what is derived with either communication; `R` is the residual stream."""

    def meanings() -> list[Meaning]:
        found = []
        for step in steps():
            rows = zip(*(list(values(step)) for values in derived.values()), strict=True)
            found += [Meaning({**SIZES, "t": t, "R": residual(step), **dict(zip(derived, row, strict=True))}) for row in rows]
        assert found
        return found

    return meanings


def residual(step: Step) -> Expr:
    """The elements of the residual stream on a rank."""
    task = next(o for o in tasks(step, "forward") if raw.kind_of(o) == "add")
    return one_rank.local(task, task, mesh(step.dist)).results[0].elements


@meaning("distribute-training.E1")
def _() -> list[Meaning]:
    found = []
    for step in steps():
        for task in tasks(step, "forward"):
            if raw.kind_of(task) == "linear":
                part = one_rank.local(task, task, mesh(step.dist))
                operand, result = part.operands[0], part.results[0]
                sizes = {"m": product(token_dims(operand)), "n": product(feature_dims(operand)), "k": product(feature_dims(result))}
                found.append(Meaning({**sizes, "W_gemm": work(task).ops}))
    return found


PRODUCTS = ("attention.query_key", "attention.probability_value")


def _moved(step: Step) -> list[Work]:
    return [work(o) for o in tasks(step, "forward", BACKWARD) if isinstance(o.declaration, collective_tasks.Collective)]


for _label, _name, _values in (
    ("distribute-training.E2", "W_QKV", lambda step: [operations(step, "forward", *QKV)]),
    ("distribute-training.E3", "W_attn", lambda step: [operations(step, "forward", *PRODUCTS)]),
    ("distribute-training.E4", "W_MLP", lambda step: [operations(step, "forward", *MLP)]),
    ("distribute-training.E5", "M_TP", lambda step: [w.msg for w in _moved(step)]),
    ("distribute-training.E6", "W_reduce", lambda step: [w.ops for w in _moved(step) if w.ops is not ZERO]),
    ("distribute-training.E9", "w", lambda step: [total(weights(step).values())]),
    ("distribute-training.E13", "W_forward", lambda step: [operations(step, "forward")]),
    ("distribute-training.E14", "W_dX", lambda step: [operations(step, BACKWARD)]),
    ("distribute-training.E15", "W_dW", lambda step: [operations(step, "weight_gradient")]),
):
    meaning(_label)(of_training(**{_name: _values}))


@meaning("distribute-training.E16")
def _() -> list[Meaning]:
    step = training(communication="reduce_scatter_all_gather")
    return [Meaning({**SIZES, "M_weights": total(work(o).msg for o in tasks(step, "gradient_reduction"))})]


@meaning("distribute-training.E7")
def _() -> list[Meaning]:
    found = []
    for options in ({}, {"recompute": "attention"}, {"communication": "reduce_scatter_all_gather", "all_gather_redo": True}):
        step = training(**options)
        layers = []
        for facts in step.report.layers.values():
            kept, output = facts["activation_bytes"], facts["output_bytes"]
            assert isinstance(kept, Expr) and isinstance(output, Expr)
            flags = {f"{name}_l": constant(int(facts[key])) for name, key in _FLAGS.items() if isinstance(facts[key], bool)}
            layers.append({"A_l": kept, "O_l": output, **flags})
        found.append(Meaning({"C_act": step.report.memory["activation_stored"]}, {"l": layers}))
    return found


_FLAGS = {"storeOutput": "output_stored", "storeActivation": "activation_stored"}


@meaning("distribute-training.E8")
def _() -> list[Meaning]:
    found = []
    for step in steps():
        for task in tasks(step, BACKWARD):
            if raw.kind_of(task) == "fork":
                part = one_rank.local(task, task, mesh(step.dist))
                names = {"u": constant(len(part.operands)), "n": part.results[0].elements}
                found.append(Meaning({**names, "W_fork": work(task).ops}))
    return found


@meaning("distribute-training.E10")
def _() -> list[Meaning]:
    step = training(**SHARED)
    return [Meaning({"w": total(weights(step).values()), "D": D, "W_Adam": operations(step, "optimizer")})]


@meaning("distribute-training.E11")
def _() -> Meanings:
    found = {}
    for words, master in (("with a master copy", True), ("without one", False)):
        step = training(**SHARED, master_copy=master)
        found[words] = [Meaning({"w": total(weights(step).values()), "D": D, "C_Adam": step.report.memory["optimizer"]})]
    return found


@meaning("distribute-training.E12")
def _() -> Meanings:
    return {words: [Meaning({**SIZES, "t": t, "R": residual(step)})] for words, step in zip(COMMUNICATIONS, steps(), strict=True)}


meaning("plan-training.E1")(lambda: planned_work((step.dist, step.plan) for step in steps()))
meaning("plan-training.E2", "plan-training.E3", "plan-training.E4")(lambda: resources((step.dist, step.plan) for step in steps()))


@meaning("plan-training.E5", "plan-training.E6")
def _() -> list[Meaning]:
    step = training(**SHARED)
    sizes = {symbol_of(o): expr_of(o, "size") for o in top_level(step.plan) if o.name == "plan.buffer"}
    return [
        Meaning({"w": count, "e": e, "D": D, "s_weights": sizes[f"{name}.weights"], "s_optimizer": sizes[f"{name}.optimizer_state"]})
        for name, count in weights(step).items()
    ]


# --- bind-queue, bind-slot, bind-target


@cache
def bound(kind: str, command: str, least: int, target: int) -> tuple[Operation, Operation]:
    """A plan whose buffers have an alignment, and what it is bound to, with all sizes symbols."""
    machine = f"bind.target @m {kind} {{abi = 1, alignment = {target}}} implements {{{IMPLEMENTS}}}\n  bind.deployment @n {{devices = 8}}"
    strategy = "bind.strategy @tp {tensor = t}"
    text = replaced(example_text("transformer_block"), (strategy, f"{strategy}\n  {machine}"))
    plan = run(read(text), "distribute-inference{phase=prefill}", "plan-inference")
    from bpir.ir.printer import print_module

    plan = read(print_module(plan).replace("align 256", f"align {least}"))
    return plan, run(plan, command)


IMPLEMENTS = ", ".join(
    f'{what} = "x.{what}"' for what in ("all_reduce", "elementwise", "fused_attention", "kv_cache", "matrix_multiply", "normalization")
)


def bindings(command: str) -> list[tuple[Operation, Operation, int]]:
    kind = "slot" if command == "bind-slot" else "queue"
    return [(*bound(kind, command, least, target), target) for least, target in ((256, 512), (8, 4))]


def named(module: Operation, *kinds: str) -> list[Operation]:
    return [o for o in top_level(module) if o.name in kinds]


def same_work(command: str) -> list[Meaning]:
    found = []
    for plan, concrete, _ in bindings(command):
        ours = {text_of(o, "source"): o.properties["work"] for o in named(concrete, "concrete.launch", "concrete.collective")}
        for task in named(plan, "plan.task"):
            theirs = ours[symbol_of(task)]
            assert isinstance(theirs, Work)
            rows = zip(work(task).components, theirs.components, strict=True)
            found += [Meaning({"W_i^plan": a, "W_i^concrete": b}) for a, b in rows]
    return found


def layout(command: str) -> list[Meaning]:
    """For each buffer its alignment, its offset, and those of the one before."""
    found = []
    for plan, concrete, target in bindings(command):
        wanted = {symbol_of(o): number_of(o, "alignment") for o in named(plan, "plan.buffer")}
        before: Operation | None = None
        for buffer in named(concrete, "concrete.buffer"):
            larger = constant(max(wanted[symbol_of(buffer)], target))
            names = {"a_i": constant(number_of(buffer, "alignment")), "r_i": larger, "o_i": expr_of(buffer, "offset")}
            if before is not None:
                names |= {"o_{i-1}": expr_of(before, "offset"), "s_{i-1}": expr_of(before, "size")}
            found.append(Meaning(names))
            before = buffer
    return found


def first(command: str) -> list[Meaning]:
    return [Meaning({"o_0": expr_of(named(concrete, "concrete.buffer")[0], "offset")}) for _, concrete, _ in bindings(command)]


for _command in ("bind-queue", "bind-slot", "bind-target"):
    meaning(f"{_command}.E1")(lambda command=_command: same_work(command))
    meaning(f"{_command}.E2")(lambda command=_command: layout(command))
    meaning(f"{_command}.E3")(lambda command=_command: first(command))
    meaning(f"{_command}.E4")(lambda command=_command: [m for m in layout(command) if "o_{i-1}" in m.names])


@meaning("bind-slot.E5")
def _() -> list[Meaning]:
    found = []
    for _, concrete, _ in bindings("bind-slot"):
        for index, issue in enumerate(named(concrete, "slot.issue")):
            place = {f"{name}_i": constant(number_of(issue, name)) for name in ("cycle", "slot")}
            found.append(Meaning({"i": constant(index), **place}))
    return found


# --- operations of the model, and collectives


def choices(fused: bool) -> Choices:
    return Choices(t, ONE, False, "none", False, fused, True)


def rule_works(
    operation: Operation, sizes: Mapping[str, Expr], fused: bool = False, settings: tuple[tuple[str, ExprAttr], ...] = ()
) -> Meaning:
    """The work of the three tasks of an operation, on tensors that no axis shards."""
    rule = operation.declaration
    assert isinstance(rule, ModelOperation)
    types = [v.type for v in (*operation.operands, *operation.results)]
    tensors = [type for type in types if isinstance(type, TensorType)]
    count = len(operation.operands)
    local = part_of(rule, (*settings_of(operation), *settings), tensors[:count], tensors[count:], (True,) * count)
    view = LayerView(operation.name.partition(".")[2], rule, local)
    convention = Standard(choices(fused))
    room = list(rule.workspace(local))
    named = (("", convention.forward(view)), ("_dX", convention.activation_gradient(view)), ("_dW", convention.weight_gradient(view)))
    facts = {"w": rule.weights(local), "matmul": rule.matmul_operations(local), "scratch": rule.scratch(local)}
    facts["workspace"] = maximum(*room) if room else ZERO
    return Meaning(works({**sizes, "e": e, **facts}, *named))


def one(arguments: str, line: str) -> Operation:
    """The first operation of a block with the arguments."""
    symbols = "b, m, n, k, i, q, c, g, h, d, l, r, s, v, B, S, H, E, e"
    head = f"module {{\n  bp.symbols {symbols} where g | h, E > k\n"
    text = f"{head}  model.block @b({arguments}) {{\n    {line}\n    model.return %x\n  }}\n}}\n"
    return next(o for block in top_level(read(text)) if block.name == "model.block" for o in block.body)


def tensors(**shapes: str) -> str:
    return ", ".join(f"%{name}: !bp.tensor<{shape}, e>" for name, shape in shapes.items())


def lanes(name: str) -> Meanings:
    """Any operation of lanes that gives each operand as another tensor of its type: `n` are the elements of all operands."""
    rule = DECLARATIONS[name]
    assert isinstance(rule, ModelOperation)
    shapes = [shape for terms in rule.equation(frozenset()).lanes for shape in terms.operands]
    dims = [" x ".join(factor.removesuffix("*") for factor in shape) for shape in shapes]
    values = dict(zip(("x", "y", "z"), dims, strict=False))
    operation = one(tensors(**values), f'{", ".join(f"%r{v}" for v in values)} = {name} "l" {", ".join(f"%{v}" for v in values)}')
    size = total(product(v.type.dims) for v in operation.operands if isinstance(v.type, TensorType))
    return {"": [rule_works(operation, {"n": size})]}


def elementwise(name: str) -> Meanings:
    """Any operation element by element, whatever its factors."""
    rule = DECLARATIONS[name]
    assert isinstance(rule, Elementwise)
    counts = counts_of(rule)
    assert counts is not None
    operands = ", ".join(("%x", "%y")[: counts.operands[1]])
    operation = one(tensors(x="B x S x H", y="B x S x H"), f'%r = {name} "l" {operands}')
    sizes = {"n": B * S * H, "H": H}
    return {"": [rule_works(operation, sizes)], "with `fused_activation`": [rule_works(operation, sizes, fused=True)]}


@meaning("model.linear")
def _() -> Meanings:
    names = {"m": B * S, "n": symbol("n"), "k": symbol("k")}
    plain, biased = (one(tensors(x="B x S x n"), f'%y = model.linear "l" %x{flag} : [k]') for flag in ("", " bias"))
    return {"": [rule_works(plain, names)], "with a bias": [rule_works(biased, names)]}


@meaning("model.embedding")
def _() -> list[Meaning]:
    operation = one("%x: !bp.tensor<B x S, i32>", '%y = model.embedding "l" %x : [n] -> !bp.tensor<B x S x H, e>')
    return [rule_works(operation, {"m": B * S, "H": H, "V": symbol("n"), "i": constant(4)})]


def loss(line: str) -> list[Meaning]:
    """Of `r` tokens `n` logits of the width `e`, with labels of 4 bytes."""
    arguments = tensors(x="B x S x n") + ", %l: !bp.tensor<B x S, i32>"
    arguments += ", %m: !bp.tensor<B x S x 1, f32>, %s: !bp.tensor<B x S x 2, f32>"
    return [rule_works(one(arguments, line), {"r": B * S, "n": B * S * symbol("n"), "i": constant(4)})]


for _line in (
    '%y = model.cross_entropy "l" %x, %l',
    '%y = model.row_maximum "l" %x',
    '%y = model.row_exponentials "l" %x, %m, %l',
    '%y = model.row_logarithm "l" %m, %s',
):
    meaning(_line.split()[2])(lambda line=_line: loss(line))


@meaning("model.positions")
def _() -> list[Meaning]:
    operation = one(tensors(x="b x q x H"), '%y = model.positions "l" %x : [n]')
    return [rule_works(operation, {"b": symbol("b"), "q": symbol("q"), "H": H, "P": symbol("n")})]


@meaning("model.attention")
def _() -> Meanings:
    arguments = tensors(x="b x q x h x d", y="b x c x g x d", z="b x c x g x d")
    sizes = {name: symbol(name) for name in "bqchgdn"}
    counted = (("pairs", ExprAttr(symbol("n"))),)

    def attention(flag: str) -> Meaning:
        return rule_works(one(arguments, f'%o = model.attention "l" %x, %y, %z{flag}'), sizes, settings=counted)

    dense = rule_works(one(arguments, '%o = model.attention "l" %x, %y, %z'), {**sizes, "n": symbol("q") * symbol("c")})
    return {"": [attention(""), dense], "with `softcap`": [attention(" softcap")], "with `sinks`": [attention(" sinks")]}


@meaning("model.softmax")
def _() -> Meanings:
    arguments = tensors(x="b x q x h x c")
    rows = symbol("b") * symbol("q") * symbol("h")
    sizes = {"r": rows, "h": symbol("h"), "n": rows * symbol("c")}
    plain, sinks = (one(arguments, f'%o = model.softmax "l" %x{flag}') for flag in ("", " sinks"))
    return {"": [rule_works(plain, sizes)], "with `sinks`": [rule_works(sinks, sizes)]}


def normalization(name: str) -> Meanings:
    over, each = (one(tensors(x="B x S x h x d"), f'%r = {name} "l" %x over d{flag}') for flag in ("", " per_head"))
    whole = {flag: one(tensors(x="B x S x H"), f'%r = {name} "l" %x{flag}') for flag in _NORMS[name]}
    sizes = {"n": B * S * H, "H": H}
    heads = {"n": B * S * h * d, "H": d}
    return {
        "": [rule_works(whole[""], sizes), rule_works(over, heads), rule_works(each, {**heads, "H": h * d})],
        **{f"with `{flag.strip()}`": [rule_works(operation, sizes)] for flag, operation in whole.items() if flag},
    }


_NORMS = {"model.layer_norm": ("", " no_beta", " no_weights"), "model.rms_norm": ("",)}


for _norm in _NORMS:
    meaning(_norm)(lambda name=_norm: normalization(name))


@meaning("model.latent_attention")
def _() -> Meanings:
    arguments = tensors(x="b x q x h x n", y="b x q x h x r", z="b x c x l", w="b x c x r")
    plain, absorbed = (one(arguments, f'%o = model.latent_attention "l" %x, %y, %z, %w values v{flag}') for flag in ("", " absorbed"))
    sizes = {**{name: symbol(name) for name in "bqchnrlv"}, "p": symbol("q") * symbol("c")}
    return {"": [rule_works(plain, sizes)], "absorbed": [rule_works(absorbed, sizes)]}


@meaning("model.kv_append")
def _() -> list[Meaning]:
    operation = one(tensors(x="b x q x h x d", y="b x q x h x d"), '%o, %p = model.kv_append "l" %x, %y context c')
    return [rule_works(operation, {n: symbol(n) for n in "bqhd"})]


@meaning("model.batch_matmul")
def _() -> Meanings:
    sizes = {"b": symbol("b") * symbol("i"), **{n: symbol(n) for n in "mnk"}}
    plain = one(tensors(x="b x m x i x k", y="b x k x i x n"), '%o = model.batch_matmul "l" %x, %y')
    turned = one(tensors(x="b x m x i x k", y="b x n x i x k"), '%o = model.batch_matmul "l" %x, %y transposed')
    fewer = one(tensors(x="b x m x i x k", y="b x n x i x k"), '%o = model.batch_matmul "l" %x, %y transposed pairs q')
    return {
        "": [rule_works(plain, sizes), rule_works(turned, sizes)],
        "with `transposed pairs p`": [rule_works(fewer, {**sizes, "p": symbol("q")})],
    }


@meaning("model.rope")
def _() -> list[Meaning]:
    """Of two operands that differ in heads; all of a head is turned, or `k` elements of it."""
    arguments = tensors(x="B x S x h x d", y="B x S x g x d")
    whole, part = (one(arguments, f'%o, %p = model.rope "l" %x, %y{dims}') for dims in ("", " dims k"))
    heads = B * S * (h + symbol("g"))
    return [rule_works(whole, {"n": heads * d, "m": heads * d}), rule_works(part, {"n": heads * d, "m": heads * symbol("k")})]


EXPERTS = {"m": B * S, "H": H, "E": symbol("E"), "k": symbol("k")}
ROUTED = "%x: !bp.tensor<B x S x H, e>, %z: !bp.tensor<B x S x k, f32>"


@meaning("model.router")
def _() -> Meanings:
    plain, sigmoid, biased = (
        one(tensors(x="B x S x H"), f'%r = model.router "l" %x{form}')
        for form in (" top k of E", " top k of E scores sigmoid", " bias top k of E scores softmax")
    )
    return {
        "": [rule_works(plain, EXPERTS)],
        "with sigmoid": [rule_works(sigmoid, EXPERTS)],
        "with a bias": [rule_works(biased, EXPERTS)],
    }


@meaning("model.router_scores")
def _() -> Meanings:
    plain, biased = (one(tensors(x="B x S x H"), f'%r = model.router_scores "l" %x{form} of E') for form in ("", " bias"))
    return {"": [rule_works(plain, EXPERTS)], "with a bias": [rule_works(biased, EXPERTS)]}


@meaning("model.router_choice")
def _() -> Meanings:
    plain, sigmoid = (
        one("%x: !bp.tensor<B x S x E, f32>", f'%r = model.router_choice "l" %x top k{form}') for form in ("", " scores sigmoid")
    )
    return {"": [rule_works(plain, EXPERTS)], "with sigmoid": [rule_works(sigmoid, EXPERTS)]}


@meaning("model.latent_scores")
def _() -> Meanings:
    arguments = tensors(x="b x q x h x n", y="b x q x h x r", z="b x c x h x n", w="b x c x r")
    plain, fewer = (one(arguments, f'%o = model.latent_scores "l" %x, %y, %z, %w{pairs}') for pairs in ("", " pairs g"))
    sizes = {name: symbol(name) for name in "bqchnr"}
    return {"": [rule_works(plain, sizes)], "with `pairs p`": [rule_works(fewer, {**sizes, "p": symbol("g")})]}


@meaning("model.dispatch")
def _() -> list[Meaning]:
    return [rule_works(one(ROUTED, '%r = model.dispatch "l" %x, %z'), EXPERTS)]


@meaning("model.experts")
def _() -> Meanings:
    names = {"r": B * S * symbol("k"), "E": symbol("E"), "n": H, "p": symbol("n")}
    plain, biased = (one(tensors(x="B x S x k x H"), f'%r = model.experts "l" %x{flag} of E : [n]') for flag in ("", " bias"))
    return {"": [rule_works(plain, names)], "with a bias": [rule_works(biased, names)]}


@meaning("model.combine")
def _() -> list[Meaning]:
    arguments = "%x: !bp.tensor<B x S x k x H, e>, %z: !bp.tensor<B x S x k, f32>"
    return [rule_works(one(arguments, '%r = model.combine "l" %x, %z'), EXPERTS)]


def collective(name: str) -> Meanings:
    """Each collective of the kind that training derives."""
    found = [work(o) for step in steps() for o in tasks(step, "forward", BACKWARD) if o.name == name]
    return {"": [Meaning(works({"N": B * S * H, "t": t, "e": e}, ("", w))) for w in found]}


for _name in ("dist.all_reduce", "dist.all_gather", "dist.reduce_scatter"):
    MEANINGS[_name] = cache(lambda name=_name: collective(name))


SHARED_EXPERTS = """
module {
  bp.symbols B, S, H, E, k, ep where E > k, ep | E, ep | B
  bind.workload @decode inference {phase = decode, context = S}
  bind.strategy @ep {tensor = 1, expert = ep}
  model.block @moe(%x: !bp.tensor<B x S x H, bf16>) {
    %route = model.router "moe.router" %x top k of E
    %rows = model.dispatch "moe.dispatch" %x, %route
    %w = model.experts "moe.up" %rows of E : [H]
    %y = model.combine "moe.combine" %w, %route
    model.return %y
  }
}
"""


@meaning("dist.all_to_all")
def _() -> list[Meaning]:
    """Both ways of the rows of B tokens, k rows of H elements each."""
    source = read(SHARED_EXPERTS)
    (block,) = (o for o in top_level(run(source, "distribute-inference")) if o.name == "dist.block")
    found = [work(o) for o in block.body if o.name == "dist.all_to_all"]
    assert len(found) == 2
    names = {"N": B * symbol("k") * H, "p": symbol("ep"), "e": constant(2)}
    return [Meaning(works(names, ("", w))) for w in found]


@meaning("dist.transfer")
def _() -> list[Meaning]:
    """The transfers between two stages of a stack of blocks, there and back."""
    text = example_text("transformer_stack")
    found = [o for o in run(read(text), "distribute-training{pipeline=4}").walk() if o.name == "dist.transfer"]
    return [Meaning(works({"n": B * S * H, "e": e}, ("", work(o)))) for o in found]


def meanings(label: str) -> Meanings:
    """The meanings of the names of an equation.

    Raises:
        KeyError: nothing is known of the equation.
    """
    name = label.rpartition(".")[0]
    if label in MEANINGS:
        return MEANINGS[label]()
    if name not in MEANINGS and isinstance(DECLARATIONS.get(name), Elementwise):
        MEANINGS[name] = cache(lambda: elementwise(name))
    elif name not in MEANINGS and isinstance(DECLARATIONS.get(name), ModelOperation):
        MEANINGS[name] = cache(lambda: lanes(name))
    return MEANINGS[name]()
