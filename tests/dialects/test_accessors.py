"""Properties are read as attributes of their declarations: values by hand, what is absent, and what is of the wrong kind."""

from __future__ import annotations

import pytest
from support import read

from bpir.dialects import bind, plan
from bpir.dialects.bp import NO_WORK, Symbols, work
from bpir.dialects.concrete import envelope as concrete
from bpir.dialects.dist import collective_tasks, placement
from bpir.dialects.dist import tasks as dist
from bpir.dialects.model.linear import Linear
from bpir.ir.attributes import ArrayAttr, Attribute, IntegerAttr, StringAttr, UnitAttr
from bpir.ir.declaration import DECLARATIONS, OperationDeclaration
from bpir.ir.expressions.expression import ZERO, constant, symbol
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Property, SymbolName, Text, Word
from bpir.ir.relations.facts import Relation
from bpir.ir.syntax import Clause

PLAN = """module {
  bp.symbols B, t where t > 1
  plan.buffer @x : state<persistent> align 256 live [2, 3]
    size <2*B>
    from "attention.kv_cache"
    consumers [@a, @b]
  plan.task @a collective all_reduce
    phase decode after [@first] between [3, 5]
    work <ops = B, msg = 4*B>
    reads [@x]
    requires [all_reduce]
  plan.mesh <["data"=2, "tensor"=t]> strategy @tp
}
"""


def _operations(text: str = PLAN) -> list[Operation]:
    return read(text).body


def test_a_buffer_reads_as_it_is_written() -> None:
    (buffer,) = plan.Buffer.each(_operations())
    assert (buffer.symbol, buffer.role, buffer.storage, buffer.source) == ("x", "state", "persistent", "attention.kv_cache")
    assert (buffer.alignment, buffer.live) == (256, (2, 3))
    assert buffer.size is 2 * symbol("B")
    assert (buffer.producers, buffer.consumers) == ((), ("a", "b"))
    assert not buffer.says(plan.Buffer.producers)
    assert buffer.says(plan.Buffer.consumers)


def test_a_task_reads_as_it_is_written() -> None:
    (task,) = plan.Task.each(_operations())
    assert (task.symbol, task.kind, task.kind_of_work, task.phase, task.source) == ("a", "collective", "all_reduce", "decode", "")
    assert (task.after, task.reads, task.writes, task.ranks, task.requires) == (("first",), ("x",), (), (3, 5), ("all_reduce",))
    assert task.work is work(ops=symbol("B"), msg=4 * symbol("B"))
    assert task.matmul is ZERO
    assert task.alternatives == ()


def test_a_mesh_and_the_symbols_read_as_they_are_written() -> None:
    operations = _operations()
    (mesh,) = plan.Mesh.each(operations)
    assert mesh.axes == {"data": constant(2), "tensor": symbol("t")}
    assert list(mesh.axes) == ["data", "tensor"]
    assert mesh.strategy == "tp"
    (symbols,) = Symbols.each(operations)
    assert symbols.symbols == ("B", "t")
    assert symbols.relations == (Relation("greater", symbol("t"), constant(1)),)


def test_a_placement_reads_as_it_is_written() -> None:
    (found,) = placement.Placement.each(_operations('module {\n  dist.placement [h, F -> "tensor"; S -> "tensor" between]\n}'))
    assert found.groups == (placement.Group(("h", "F"), "tensor"), placement.Group(("S",), "tensor", True))


def test_a_target_and_a_deployment_read_as_they_are_written() -> None:
    text = """module {
  bind.target @m queue {abi = 1, alignment = 64} implements {attention = "qm.attention"}
  bind.deployment @node {devices = 2} links [0 -> 1, 1 -> 0]
}"""
    operations = _operations(text)
    (target,) = bind.Target.each(operations)
    assert (target.symbol, target.kind, target.implements) == ("m", "queue", {"attention": "qm.attention"})
    assert [bind.as_expr(target.fields[name]) for name in ("abi", "alignment")] == [constant(1), constant(64)]
    (deployment,) = bind.Deployment.each(operations)
    assert deployment.links == ((0, 1), (1, 0))
    assert [each.symbol for each in bind.Binding.each(operations)] == ["m", "node"]


def test_the_layer_of_a_task_is_its_name_without_its_phase() -> None:
    named = {"task": StringAttr("mlp.decode.gelu.decode"), "phase": StringAttr("decode"), "kind": StringAttr("gelu")}
    task = dist.Compute(dist.Compute.build(properties=named))
    assert (task.layer, task.kind_of_work, task.is_whole) == ("mlp.decode.gelu", "gelu", True)
    assert task.rule is DECLARATIONS["model.gelu"]


def test_a_view_is_of_the_class_that_declares_the_operation() -> None:
    reduce, compute = collective_tasks.AllReduce.build(), dist.Compute.build()
    assert [type(view) for view in dist.Task.each([reduce, compute, plan.Task.build()])] == [collective_tasks.AllReduce, dist.Compute]
    assert dist.Compute.of(reduce) is None
    assert collective_tasks.Collective.of(None) is None
    assert collective_tasks.Collective.of(reduce) is not None
    assert dist.Task(reduce).operation is reduce


def test_what_is_absent_reads_as_the_empty_value() -> None:
    task, buffer = plan.Task(plan.Task.build()), plan.Buffer(plan.Buffer.build())
    assert (task.symbol, task.phase, task.after, task.ranks, task.requires) == ("", "", (), (), ())
    assert (task.work, task.matmul) == (NO_WORK, ZERO)
    assert (buffer.size, buffer.alignment, buffer.live) == (ZERO, 0, ())
    assert dist.Compute(dist.Compute.build()).unread is False
    assert Linear(Linear.build()).features == []
    assert concrete.Plan(concrete.Plan.build()).target == ""


@pytest.mark.parametrize(
    ("declaration", "name", "attribute", "value"),
    [
        (plan.Task, "phase", UnitAttr(), ""),
        (plan.Task, "after", ArrayAttr((StringAttr("a"),)), ()),
        (plan.Task, "requires", StringAttr("softmax"), ()),
        (plan.Task, "work", StringAttr("ops"), NO_WORK),
        (plan.Buffer, "size", StringAttr("2*B"), ZERO),
        (plan.Buffer, "alignment", StringAttr("256"), 0),
        (plan.Mesh, "strategy", StringAttr("tp"), ""),
        (collective_tasks.AllReduce, "axes", StringAttr("tensor"), ()),
    ],
)
def test_what_is_of_the_wrong_kind_reads_as_the_empty_value(
    declaration: type[OperationDeclaration], name: str, attribute: Attribute, value: object
) -> None:
    view = declaration(declaration.build(properties={name: attribute}))
    assert getattr(view, name) == value
    assert view.says(getattr(declaration, name))


def test_required_and_optional_follow_from_the_syntax() -> None:
    class Example(OperationDeclaration):
        """Declared for this test alone, and under no name."""

        symbol = SymbolName()
        last = Text()
        kind = Word(choices=("one",))
        note = Text("remark")
        syntax = (symbol, Clause("note", (note,)), Clause("of", (kind,), optional=False), last)

    assert Example.required == ("sym_name", "last", "kind")  # in the order in which they are declared
    assert Example.optional == ("remark",)


def test_every_property_of_the_syntax_of_ours_has_an_accessor() -> None:
    for declaration in DECLARATIONS.values():
        if declaration.dialect not in ("builtin", "func"):
            accessors = {part.name for cls in type(declaration).__mro__ for part in vars(cls).values() if isinstance(part, Property)}
            assert {*declaration.required, *declaration.optional} <= accessors, declaration.name


def test_an_integer_is_no_array_of_integers() -> None:
    view = plan.Buffer(plan.Buffer.build(properties={"live": IntegerAttr(3, plan.I64)}))
    assert view.live == ()
