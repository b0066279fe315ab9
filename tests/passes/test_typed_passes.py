"""Passes are functions between the types of levels: mypy refuses passes in a wrong order."""

from __future__ import annotations

from pathlib import Path

import pytest
from mypy import api
from support import example, read

from bpir.dialects.levels import ConcretePlanIR, DistributedTaskIR, ModelIR, ModuleIR, PortablePlanIR
from bpir.ir.printer import print_module
from bpir.passes import PASSES, load_pass
from bpir.passes.base import DerivationPass, TransformationPass
from bpir.passes.chain import chain
from bpir.passes.context import PassContext
from bpir.passes.inference.distribute_inference import DistributeTransformerInferencePass
from bpir.passes.inference.plan_inference import PlanTransformerInferencePass
from bpir.passes.pipeline import command_line, parse_pass

ORDER = """
from bpir.dialects.levels import ModelIR, PortablePlanIR
from bpir.passes.bind_symbols import BindSymbolsPass
from bpir.passes.chain import chain
from bpir.passes.inference.distribute_inference import DistributeTransformerInferencePass
from bpir.passes.inference.plan_inference import PlanTransformerInferencePass

distribute, plan = DistributeTransformerInferencePass(), PlanTransformerInferencePass()


def planned(model: ModelIR) -> PortablePlanIR:
    return CHAIN.run(model)
"""


def _mypy(order: str, folder: Path) -> str:
    file = folder / "order.py"
    file.write_text(ORDER.replace("CHAIN", order))
    text, errors, _ = api.run(["--strict", f"--cache-dir={folder / 'cache'}", "--follow-imports=silent", str(file)])
    assert not errors
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.slow
def test_mypy_takes_passes_in_order(folder: Path) -> None:
    text = _mypy("chain(distribute).then(BindSymbolsPass(numbers={'c': 8})).then(plan)", folder)
    assert text.startswith("Success")


def test_mypy_refuses_passes_in_the_wrong_order(folder: Path) -> None:
    text = _mypy("chain(plan).then(distribute)", folder)
    assert 'Argument 1 to "then" of "Chain" has incompatible type "DistributeTransformerInferencePass"' in text or (
        'No overload variant of "then" of "Chain" matches argument type "DistributeTransformerInferencePass"' in text
    )


def test_mypy_refuses_a_chain_that_does_not_begin_with_the_module(folder: Path) -> None:
    text = _mypy("chain(plan)", folder)
    assert 'Argument 1 to "run" of "Chain" has incompatible type "ModelIR"; expected "DistributedTaskIR"' in text


ACCESSORS = """
from bpir.dialects import plan
from bpir.ir.operation import Operation


def accessors(task: plan.Task, buffer: plan.Buffer, operation: Operation) -> None:
    reveal_type(task.phase)
    reveal_type(task.after)
    reveal_type(task.work.ops)
    reveal_type(buffer.alignment)
    reveal_type(plan.Task.of(operation))
    task.colour
"""


def test_mypy_knows_the_types_of_properties(folder: Path) -> None:
    file = folder / "accessors.py"
    file.write_text(ACCESSORS)
    text, errors, _ = api.run(["--strict", f"--cache-dir={folder / 'cache'}", "--follow-imports=silent", str(file)])
    assert not errors
    shown = [line.partition('Revealed type is "')[2].rstrip('"').replace("builtins.", "") for line in text.splitlines()]
    kinds = [name for name in shown if name]
    assert kinds[:4] == ["str", "tuple[str, ...]", "bpir.ir.expressions.normal_form.Expr", "int"]
    assert "bpir.dialects.plan.Task" in kinds[4] and "None" in kinds[4]
    assert '"Task" has no attribute "colour"' in text


def test_a_chain_makes_what_the_command_line_makes() -> None:
    found = chain(DistributeTransformerInferencePass()).then(PlanTransformerInferencePass()).run(ModelIR(example("gpt3_175b")))
    assert isinstance(found, PortablePlanIR)
    assert [mesh.strategy for mesh in found.meshes] == ["tp"]
    assert found.tasks[0].symbol == "attention.layer_norm.decode"
    assert found.tasks[0].phase == "decode"


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_says_its_levels_as_types(name: str) -> None:
    cls = load_pass(name)
    if issubclass(cls, DerivationPass):
        assert (cls.source, cls.target) == (cls.source_type.level, cls.target_type.level)
        levels = [ModelIR, DistributedTaskIR, PortablePlanIR, ConcretePlanIR]
        assert levels.index(cls.target_type) == levels.index(cls.source_type) + 1
    else:
        assert issubclass(cls, TransformationPass)
        assert not cls.target


def test_a_pass_reads_no_binding_that_it_does_not_name() -> None:
    context = PassContext(PlanTransformerInferencePass(), ModuleIR(example("gpt3_175b")))
    assert context.strategy().name == "tp"
    with pytest.raises(TypeError, match="pass 'plan-inference' reads a target, and does not say so"):
        context.target("queue", None)


def test_the_context_knows_where_options_are_written() -> None:
    source = command_line("distribute-inference{phase=decode tensor=8}")
    context = PassContext(parse_pass(source), ModuleIR(read("module {\n}")))
    place = context.place("batch", "tensor")
    assert place is not None
    assert source.text[place.start : place.end] == "8"
    assert context.place("batch") is None
    assert list(context.options) == ["phase", "tensor"]


def test_a_level_knows_its_blocks_tasks_and_buffers() -> None:
    module = example("gpt3_175b")
    model = ModelIR(module)
    (block,) = model.expanded.blocks
    assert [operation.layer for operation in block.operations][:2] == ["attention.layer_norm", "attention.qkv"]
    assert model.blocks[0].symbol == block.symbol
    distributed = chain(DistributeTransformerInferencePass()).run(model)
    (derived,) = distributed.blocks
    mesh = distributed.mesh_of(derived)
    assert mesh is not None
    assert list(mesh.axes) == ["tensor"]
    assert {task.phase for task in derived.tasks} == {"decode"}
    assert [state.label for state in derived.states] == ["attention.kv_cache"]
    assert not derived.is_training
    assert print_module(model.module) == print_module(module)
