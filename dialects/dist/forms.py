"""What a task says besides its work: how many tokens go to which experts, and what another form of the operation would do."""

from __future__ import annotations

from bpir.dialects.bp import Vector, vector_action
from bpir.dialects.model.rules.local import Local
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.attributes import Attribute, StringAttr
from bpir.ir.declaration import ATTRIBUTE_BODIES, GRAMMARS, Fragment, Problems
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Body, Word
from bpir.ir.records import evolved
from bpir.ir.syntax import Clause


class Routing(Vector):
    """`#dist.routing<tokens = B, top = k, of = E, here = E/ep>`: the tokens of all ranks that share the experts, how many experts each is
    sent to, how many there are, and how many a rank has.

    Under uniform routing `here*(1 - (1 - top/of)**tokens)` distinct ones of these are expected to get a row.
    """

    mnemonic = "dist.routing"
    tokens: Expr
    top: Expr
    of: Expr
    here: Expr


class FormWork(Vector):
    """`#dist.form<ops = ..., read = ..., write = ..., matmul = ...>`: the work of another form of an operation, the same function."""

    mnemonic = "dist.form"
    ops: Expr
    read: Expr
    write: Expr
    matmul: Expr


experts = Body[Routing]("experts", "dist_routing_body")
form = Word("form")
other_form = Word("other_form")
other_work = Body[FormWork]("other_work", "dist_form_body")
FORM = Clause("form", (form,), line=False)
EXPERTS = Clause("experts", (experts,), line=False)
OTHERWISE = Clause("otherwise", (other_form, other_work))


def verify_other_form(operation: Operation, report: Problems) -> None:
    """Report another form without its work, or the work without the form."""
    if ("other_form" in operation.properties) != ("other_work" in operation.properties):
        report.error(operation, "'other_form' and 'other_work' come together: another form of the operation, and its work")


def routing_of(rule: ModelOperation, local: Local) -> dict[str, Attribute]:
    """What the task of an operation says of experts; nothing where it has none."""
    found = rule.routed(local)
    return {"experts": Routing(*found)} if found is not None else {}


def forms_of(rule: ModelOperation, local: Local) -> dict[str, Attribute]:
    """What the task of an operation with several forms says: its own, where that is not the first, and what the other would do."""
    if not rule.forms:
        return {}
    own = rule.form(local.settings)
    other = next(form for form in rule.forms if form != own)
    settings = (("form", StringAttr(other)), *(item for item in local.settings if item[0] != "form"))
    changed = evolved(local, settings=settings)
    work = rule.forward(changed)
    said: dict[str, Attribute] = {} if own == rule.forms[0] else {"form": StringAttr(own)}
    would = FormWork(work.ops, work.read, work.write, rule.matmul_operations(changed))
    return {**said, "other_form": StringAttr(other), "other_work": would}


GRAMMARS.setdefault("dist", []).append(
    Fragment(
        'dist_routing_body: (bp_work_item ("," bp_work_item)*)? -> dist_routing_body\n'
        'dist_form_body: (bp_work_item ("," bp_work_item)*)? -> dist_form_body\n',
        {"dist_routing_body": vector_action(Routing, "number"), "dist_form_body": vector_action(FormWork, "work component")},
    )
)
ATTRIBUTE_BODIES.update({"dist.routing": "dist_routing_body", "dist.form": "dist_form_body"})
