"""`bp-export --chakra`: traces have another program's numbers, can be read by the public schema, and can run."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from chakra_reader import COLLECTIVE, COMPUTE, RECEIVE, SEND, Node, read_traces
from concrete_support import plan as sample
from support import DATA, ROOT, read, run

from bpir.ir.printer import print_module
from bpir.tools import bp_export

pytest.importorskip("google.protobuf", reason="the package protobuf is not installed")

SIZES = {"B": 2, "S": 64, "H": 128, "F": 512, "h": 8, "d": 16, "g": 4, "e": 2}
GPT = """
bp.symbols B, S, H, F, h, d, e where H = h*d
bp.bind B = 2, S = 64, H = 128, F = 512, h = 8, d = 16, e = 2
bind.workload @step training {context = S}
bind.strategy @tp {tensor = 1}
model.block @block(%x: !bp.tensor<B x S x H, e>) {
  %n = model.layer_norm "attention.layer_norm" %x
  %q, %k, %v = model.linear "attention.qkv" %n : [h x d], [h x d], [h x d]
  %o = model.attention "attention.core" %q, %k, %v
  %y = model.linear "attention.output_projection" %o : [H]
  %r = model.add "attention.residual" %y, %x
  %m = model.layer_norm "mlp.layer_norm" %r
  %u = model.linear "mlp.expand" %m : [F]
  %g = model.gelu "mlp.gelu" %u
  %w = model.linear "mlp.contract" %g : [H]
  %z = model.add "mlp.residual" %w, %r
  model.return %z
}
"""
LLAMA = """
bp.symbols B, S, H, F, h, g, d, e where g | h
bp.bind B = 2, S = 64, H = 128, F = 512, h = 16, g = 8, d = 16, e = 2
bind.workload @step training {context = S}
bind.strategy @tp {tensor = 1}
model.block @block(%x: !bp.tensor<B x S x H, e>) {
  %n = model.rms_norm "attention.norm" %x
  %q, %k, %v = model.linear "attention.qkv" %n : [h x d], [g x d], [g x d]
  %qr, %kr = model.rope "attention.rope" %q, %k
  %o = model.attention "attention.core" %qr, %kr, %v
  %y = model.linear "attention.output_projection" %o : [H]
  %r = model.add "attention.residual" %y, %x
  %m = model.rms_norm "mlp.norm" %r
  %a = model.linear "mlp.gate" %m : [F]
  %u = model.linear "mlp.up" %m : [F]
  %s = model.silu "mlp.silu" %a
  %p = model.mul "mlp.multiply" %s, %u
  %w = model.linear "mlp.contract" %p : [H]
  %z = model.add "mlp.residual" %w, %r
  model.return %z
}
"""
MODELS = {"gpt": GPT, "llama": LLAMA}
SUMS = "all_reduce"
SHARDS = "reduce_scatter_all_gather all_gather_redo=true"
ROWS = json.loads((DATA / "chakra" / "trace_nodes.json").read_text())["rows"]

Traces = tuple[list[list[Node]], dict[str, list[int]]]


def plan_of(text: str, options: str, kind: str = "training") -> str:
    return print_module(run(read(text), f"distribute-{kind}{{{options}}}", f"plan-{kind}"))


def export(tmp_path: Path, plan: str, *arguments: str) -> int:
    (tmp_path / "plan.bpir").write_text(plan, encoding="latin-1")
    return bp_export.main(["--chakra", str(tmp_path / "plan.bpir"), "-o", str(tmp_path / "trace"), *arguments])


def traces(tmp_path: Path, plan: str, *arguments: str) -> Traces:
    assert export(tmp_path, plan, *arguments) == 0
    return read_traces(tmp_path / "trace")


def step(tmp_path: Path, model: str, tensor: int, communication: str) -> Traces:
    return traces(tmp_path, plan_of(MODELS[model], f"tensor={tensor} communication={communication}"))


def operations(nodes: list[Node], layers: str, phase: str) -> int:
    """The operations of some layers in a phase."""
    names = {f"{layer}.{phase}" for layer in layers.split()}
    found = [node.attributes["num_ops"] for node in nodes if node.name in names]
    assert len(found) == len(names)
    return sum(found)


def test_a_gpt_step_has_the_operations_of_another_programs_trace(tmp_path: Path) -> None:
    """Theirs are multiply-adds, of four ranks. Their `dx1` is the gradient of Q, K and V's operand, `dattn` that of the core's result."""
    nodes = step(tmp_path, "gpt", 4, SUMS)[0][0]
    qkv = "attention.query attention.key attention.value"
    ours = {
        "mha.qkv": (qkv, "forward"),
        "mha.o1": ("attention.output_projection", "forward"),
        "mha.dattn": ("attention.output_projection", "activation_gradient"),
        "mha.dwo": ("attention.output_projection", "weight_gradient"),
        "mha.dwqkv": (qkv, "weight_gradient"),
        "mha.dx1": (qkv, "activation_gradient"),
        "ffn.xgate": ("mlp.expand", "forward"),
        "ffn.xdown1": ("mlp.contract", "forward"),
        "ffn.dwdown": ("mlp.contract", "weight_gradient"),
        "ffn.dxgate": ("mlp.contract", "activation_gradient"),
        "ffn.dwgate": ("mlp.expand", "weight_gradient"),
        "ffn.dx000": ("mlp.expand", "activation_gradient"),
    }
    assert {name: operations(nodes, *where) for name, where in ours.items()} == {name: 2 * ROWS[name] for name in ours}


def sizes(nodes: list[Node]) -> Counter[tuple[str, int]]:
    """The number of collectives of each kind and size, without those of gradients of weights."""
    found = [node for node in nodes if node.type == COLLECTIVE and node.attributes["phase"] != "gradient_reduction"]
    return Counter((node.collective, node.attributes["comm_size"]) for node in found)


@pytest.mark.parametrize("tensor", [2, 4, 8])
def test_a_gpt_step_sends_the_bytes_of_another_programs_trace(tmp_path: Path, tensor: int) -> None:
    """Theirs are elements of 2 bytes; of an all_gather those of the shard."""
    e = SIZES["e"]
    assert sizes(step(tmp_path, "gpt", tensor, SUMS)[0][0]) == {("all_reduce", e * ROWS["4 all_reduce each"]): 4}
    shard = {2: ROWS["--tpsp 1, tp 2: 6 all_gather each"], 4: 4096, 8: ROWS["--tpsp 1, tp 8: 6 all_gather each"]}[tensor]
    expected = {("all_gather", e * shard): 6, ("reduce_scatter", e * ROWS["4 reduce_scatter each"]): 4}
    assert sizes(step(tmp_path, "gpt", tensor, SHARDS)[0][0]) == expected


@pytest.mark.parametrize("tensor", [2, 4, 8])
@pytest.mark.parametrize("communication", [SUMS, SHARDS])
def test_a_llama_step_has_the_work_of_its_matrix_products(tmp_path: Path, tensor: int, communication: str) -> None:
    """`2mnk` by hand: 128 tokens of width 128, 16 query heads and 8 KV heads of 16, a feed-forward of 512; seven such in attention."""
    nodes = step(tmp_path, "llama", tensor, communication)[0][0]
    tokens, h, d, g, width, f = 128, 16, 16, 8, 128, 512
    for phase in ("forward", "activation_gradient", "weight_gradient"):
        assert operations(nodes, "attention.query", phase) == 2 * tokens * width * h * d // tensor
        assert operations(nodes, "attention.key attention.value", phase) == 2 * 2 * tokens * width * g * d // tensor
        assert operations(nodes, "mlp.gate mlp.up mlp.contract", phase) == 3 * 2 * tokens * width * f // tensor
    assert operations(nodes, "attention.query_key", "forward") == 2 * tokens * 64 * h * d // tensor
    assert operations(nodes, "attention.query_key", "activation_gradient") == 4 * tokens * 64 * h * d // tensor
    whole = tokens * width * 2
    shards = {("all_gather", whole // tensor): 6, ("reduce_scatter", whole): 4}
    assert sizes(nodes) == ({("all_reduce", whole): 4} if communication == SUMS else shards)


@pytest.mark.campaign(keep=5)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tensor", [1, 2, 4, 8])
@pytest.mark.parametrize("communication", [SUMS, SHARDS])
def test_a_trace_can_run(tmp_path: Path, model: str, tensor: int, communication: str) -> None:
    """Every rank has a file, nothing waits for itself, and each collective is met by its whole group, with the same kind and size."""
    if tensor == 1 and communication != SUMS:
        communication = "reduce_scatter_all_gather"
    ranks, groups = step(tmp_path, model, tensor, communication)
    assert len(ranks) == tensor
    for nodes in ranks:
        assert [node.id for node in nodes] == list(range(len(nodes)))
        assert all(need < node.id for node in nodes for need in node.needs)
        assert all(node.attributes["is_cpu_op"] is False for node in nodes)
    meetings = met(ranks, groups)
    assert len(meetings) == sum(node.type == COLLECTIVE for node in ranks[0])
    assert all(group == tuple(range(tensor)) for group in meetings.values())


def met(ranks: list[list[Node]], groups: dict[str, list[int]]) -> dict[tuple[str, int], tuple[int, ...]]:
    """Each collective, by the number of its group and its place there, with the ranks that take part; all must say the same of it."""
    said: dict[tuple[str, int], list[tuple[str, str, int]]] = defaultdict(list)
    members: dict[tuple[str, int], list[int]] = defaultdict(list)
    for rank, nodes in enumerate(ranks):
        places: Counter[str] = Counter()
        for node in nodes:
            if node.type == COLLECTIVE:
                group = node.attributes["pg_name"]
                key = (group, places[group])
                places[group] += 1
                said[key].append((node.name, node.collective, node.attributes["comm_size"]))
                members[key].append(rank)
    for key, words in said.items():
        assert len(set(words)) == 1
        assert members[key] == groups[key[0]]
    return {key: tuple(found) for key, found in members.items()}


@pytest.mark.skipif(shutil.which("protoc") is None, reason="protoc (Debian: protobuf-compiler) is not installed")
def test_the_public_schema_reads_every_byte(tmp_path: Path) -> None:
    """Compiled by `protoc`; what is read and written again is the same, and no field is unknown."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf.unknown_fields import UnknownFieldSet

    subprocess.run(["protoc", f"-I{DATA / 'chakra'}", f"-o{tmp_path / 'schema'}", "et_def.proto"], check=True)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(descriptor_pb2.FileDescriptorSet.FromString((tmp_path / "schema").read_bytes()).file[0])
    node_class = message_factory.GetMessageClass(pool.FindMessageTypeByName("ChakraProtoMsg.Node"))
    ranks, _ = step(tmp_path, "llama", 2, SHARDS)
    data = (tmp_path / "trace.1.et").read_bytes()
    from chakra_reader import _delimited

    messages = list(_delimited(data))[1:]
    assert len(messages) == len(ranks[1])
    for message, ours in zip(messages, ranks[1], strict=True):
        node = node_class.FromString(message)
        assert (node.id, node.name, node.type, tuple(node.data_deps)) == (ours.id, ours.name, ours.type, ours.needs)
        assert {a.name: getattr(a, a.WhichOneof("value")) for a in node.attr} == ours.attributes
        assert not len(UnknownFieldSet(node))
        assert node.SerializeToString(deterministic=True) == message


NETWORK = """
bp.symbols B, S, H, F, V, L where 2 | F, 2 | H, 2 | V
bp.bind B = 2, S = 4, H = 8, F = 16, V = 6, L = 3
bind.workload @step training {context = S}
bind.strategy @tp {tensor = 2}
model.block @a(%x: !bp.tensor<B x S x H, bf16>) {
  %n = model.rms_norm "norm" %x
  model.return %n
}
model.block @b(%x: !bp.tensor<B x S x H, bf16>) {
  %u = model.linear "mlp.up" %x : [F]
  %w = model.linear "mlp.down" %u : [H]
  %z = model.add "mlp.residual" %w, %x
  model.return %z
}
model.block @head(%x: !bp.tensor<B x S x H, bf16>) {
  %y = model.linear "head.logits" %x : [V]
  model.return %y
}
model.network @whole(%x: !bp.tensor<B x S x H, bf16>) {
  %y = model.repeat L [@a, @b] %x
  %l = model.call @head %y
  model.return %l
}
"""


def reach(nodes: list[Node]) -> dict[str, set[str]]:
    """The runs that each run waits for, directly or through others."""
    found: dict[str, set[str]] = {}
    for node in nodes:
        found[node.name] = {name for need in node.needs for name in (nodes[need].name, *found[nodes[need].name])}
    return found


def test_repetitions_are_written_out_and_backward_is_in_reverse(tmp_path: Path) -> None:
    nodes = traces(tmp_path, plan_of(NETWORK, "tensor=2"))[0][0]
    names = {node.name: node for node in nodes}
    waits = reach(nodes)

    def needs(name: str) -> set[str]:
        return {nodes[need].name for need in names[name].needs}

    assert sum(node.name.startswith("b.mlp.up.forward") for node in nodes) == 3
    assert needs("a.norm.forward.0") == set()
    assert needs("a.norm.forward.1") == needs("a.norm.forward.2") - {"b.mlp.residual.forward.1"} | {"b.mlp.residual.forward.0"}
    assert needs("b.mlp.up.forward.1") == {"a.norm.forward.1"}
    assert needs("head.logits.forward") == {"b.mlp.residual.forward.2"}
    # Backward begins with the last layer, reads what its forward run kept, and goes to the one before.
    assert needs("b.mlp.down.activation_gradient.2") == {"head.input_collective.activation_gradient"}
    assert "b.mlp.up.forward.2" in needs("b.mlp.down.weight_gradient.2")
    assert "a.norm.activation_gradient.2" in needs("b.mlp.down.activation_gradient.1")
    assert "a.norm.activation_gradient.0" not in waits["b.mlp.down.activation_gradient.1"]
    assert {"a.norm.activation_gradient.1", "b.mlp.down.activation_gradient.2"} <= waits["a.norm.activation_gradient.0"]
    # An update waits for the gradient of its own layer.
    assert "b.mlp.up.weight_gradient.1" in needs("b.mlp.up.optimizer.1")
    assert "b.mlp.up.weight_gradient.0" not in waits["b.mlp.up.optimizer.1"]


def test_the_sum_over_a_trace_is_the_report(tmp_path: Path) -> None:
    """Operations of a whole network: nothing is left out, nothing runs twice."""
    from bpir.tools.reports.collect import collect
    from bpir.tools.reports.report import summed

    plan = plan_of(NETWORK, "tensor=2")
    nodes = traces(tmp_path, plan)[0][1]
    tasks = collect(read(plan)).tasks
    work = summed(task.in_all for task in tasks if task.collective is None)
    assert sum(node.attributes.get("num_ops", 0) for node in nodes) == work.ops.integer
    assert sum(node.attributes.get("tensor_size", 0) for node in nodes) == (work.read + work.write).integer


def test_an_inference_phase(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "llama_3_8b.bpir").read_text()
    ranks, groups = traces(tmp_path, plan_of(text, "tensor=4", "inference"), "--bind", "B=1", "c=8192")
    assert len(ranks) == 4
    assert set(met(ranks, groups).values()) == {(0, 1, 2, 3)}


def test_a_transfer_is_sent_on_one_rank_and_received_on_another(tmp_path: Path) -> None:
    ranks, _ = traces(tmp_path, print_module(sample()).replace("sum_all", "all_reduce"), "--bind", "n=4", "m=8")
    kinds = [[node.type for node in nodes if node.name == "send"] for nodes in ranks]
    assert kinds[:2] == [[SEND], [RECEIVE]]
    sent, received = (next(node for node in nodes if node.name == "send") for nodes in ranks[:2])
    assert sent.attributes == received.attributes
    assert (sent.attributes["comm_src"], sent.attributes["comm_dst"]) == (0, 1)
    assert sent.needs and not received.needs
    # The barrier has no node: the sum waits for both that the barrier waits for.
    summing = next(node for node in ranks[0] if node.name == "sum")
    assert [ranks[0][need].name for need in summing.needs] == ["left", "right"]
    assert all(node.type in (COMPUTE, SEND, RECEIVE, COLLECTIVE) for nodes in ranks for node in nodes)


def test_nothing_is_left_of_a_trace_that_could_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "trace.1.et").mkdir()
    assert export(tmp_path, plan_of(GPT, "tensor=2")) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.bpir", "trace.1.et"]


def example_text(name: str) -> str:
    return (ROOT / "examples" / f"{name}.bpir").read_text()


@pytest.mark.parametrize(
    ("text", "options", "kind"),
    [
        (GPT, f"tensor=2 data=2 optimizer_sharding=true communication={SHARDS}", "training"),
        (LLAMA, "tensor=2 data=4", "training"),
        (example_text("mixtral_8x7b"), "expert=4 tensor=2", "inference"),
    ],
    ids=["shares of replicas", "replicas", "experts"],
)
def test_collectives_are_over_the_axes_of_the_distributed_ones(text: str, options: str, kind: str) -> None:
    """A plan does not say the axes; what an export takes them to be is what the tasks that it was made of say."""
    from bpir.cost.shape import axis_of
    from bpir.dialects.dist.collective_tasks import Collective
    from bpir.dialects.levels import DistributedTaskIR, PortablePlanIR

    dist = run(read(text), f"distribute-{kind}{{{options}}}")
    blocks = DistributedTaskIR(dist).blocks
    tasks = [(block.symbol if len(blocks) > 1 else "", task) for block in blocks for task in block.tasks]
    over = {(block, task.label): task.mesh_axes for block, task in tasks if isinstance(task, Collective)}
    found = {}
    for task in PortablePlanIR(run(dist, f"plan-{kind}")).tasks:
        if task.kind == "collective":
            block, several, label = task.source.partition("/")
            found[(block, label) if several else ("", task.source)] = [axis_of(task)]
    assert found == over


def test_experts_send_to_each_other_along_their_own_axis(tmp_path: Path) -> None:
    """Four ranks of experts by two of tensor parallelism: rank 5 is expert 2, shard 1. The payload by hand: `B*k*H*e/4` bytes of a rank."""
    plan = plan_of(example_text("mixtral_8x7b"), "expert=4 tensor=2", "inference")
    ranks, groups = traces(tmp_path, plan, "--bind", "B=8", "c=128")
    assert len(ranks) == 8
    met(ranks, groups)
    kinds = {(node.collective, tuple(groups[node.attributes["pg_name"]])) for node in ranks[5] if node.type == COLLECTIVE}
    assert kinds == {("all_reduce", (4, 5)), ("all_to_all", (1, 3, 5, 7))}
    sizes_ = {node.attributes["comm_size"] for node in ranks[5] if node.type == COLLECTIVE and node.collective == "all_to_all"}
    assert sizes_ == {8 * 2 * 4096 * 2 // 4}
