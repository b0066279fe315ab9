"""Under which workload and strategy of the file a distributed block is derived, and on which mesh."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from bpir.dialects.dist.parts import mesh_entries
from bpir.dialects.model.sharding import TENSOR
from bpir.dialects.plan import symbol_of, text_of
from bpir.ir.attributes import SymbolRefAttr
from bpir.ir.diagnostic import note
from bpir.ir.expression import Expr
from bpir.ir.operation import Operation, top_level
from bpir.verifiers.claims import Statement
from bpir.verifiers.rules import Findings


def verify_choice(
    findings: Findings, rule: str, source: Operation, target: Operation, block: Operation, kind: str, options: Mapping[str, Collection[str]]
) -> dict[str, Collection[str]]:
    """Refuse a block that is derived under a workload of another kind.

    Args:
        kind: of the workload, `inference` or `training`.
        options: the fields of each kind of binding that are options of the pass.

    Returns:
        Which fields the options may have overridden, by `kind @name` of the bindings that the block names. A binding that is not in
        the source is one of them where the source has none.
    """
    overridable: dict[str, Collection[str]] = {}
    for what, fields in options.items():
        written = candidates(source, what, kind)
        reference = block.properties.get(what.partition(".")[2])
        for operation in top_level(target):
            if operation.name != what or not isinstance(reference, SymbolRefAttr) or symbol_of(operation) != reference.root:
                continue
            if text_of(operation, "kind") not in ("", kind):
                where = note("it stands here", operation.span)
                message = f"the workload @{reference.root} is of the kind {text_of(operation, 'kind')}, expected {kind}"
                findings.refuse(rule, block, message, where)
            elif not written or reference.root in map(symbol_of, written):
                overridable[f"{what} @{reference.root}"] = fields
    return overridable


def candidates(module: Operation, what: str, kind: str) -> list[Operation]:
    """The bindings of a module that a derivation may be under: workloads of its kind, every strategy."""
    return [o for o in top_level(module) if o.name == what and text_of(o, "kind") in ("", kind)]


def verify_mesh(findings: Findings, rule: str, target: Operation, block: Operation, degree: Expr | None) -> dict[str, Expr] | None:
    """The mesh of a block: one axis of tensor parallelism, as large as the degree that the strategy says; None if it is refused."""
    reference = block.properties.get("mesh")
    for operation in top_level(target):
        if operation.name == "dist.mesh" and isinstance(reference, SymbolRefAttr) and symbol_of(operation) == reference.root:
            mesh = dict(mesh_entries(operation.properties.get("axes")))
            message = "the mesh is not that of the strategy: one axis 'tensor' of its degree"
            wanted = f'expected <["{TENSOR}"={degree.text}]>' if degree is not None else f"the strategy does not say '{TENSOR}'"
            if degree is None or mesh.keys() != {TENSOR}:
                findings.refuse(rule, operation, message, note(wanted))
                return None
            same = Statement(mesh[TENSOR], "=", degree)
            verdict = same.decide(findings.facts)
            return mesh if findings.claim(rule, operation, message, "the size of the mesh", same, verdict, note(wanted)) else None
    findings.refuse(rule, block, "the block names no dist.mesh of the module")
    return None
