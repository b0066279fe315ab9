"""Under which workload and strategy of the file a distributed block is derived, and on which mesh."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from bpir.dialects.bind import as_expr
from bpir.dialects.dist.parts import mesh_entries
from bpir.dialects.plan import symbol_of, text_of
from bpir.ir.attributes import Attribute, SymbolRefAttr
from bpir.ir.diagnostic import note
from bpir.ir.expression import ONE, Expr
from bpir.ir.operation import Operation, top_level
from bpir.verifiers.claims import Statement
from bpir.verifiers.placed_axes import TENSOR
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


_MESH = ("pipeline", "data", TENSOR)
"""The axes of a mesh in their order; each has the size that the field of its name says in the strategy, 1 where there is none."""


def verify_mesh(
    findings: Findings, rule: str, target: Operation, block: Operation, strategy: Mapping[str, Attribute] | None
) -> dict[str, Expr] | None:
    """The mesh of a block: the axes of the strategy, of which those of size 1 may be left out; None if it is refused."""
    reference = block.properties.get("mesh")
    meshes = [o for o in top_level(target) if o.name == "dist.mesh"]
    mesh = next((o for o in meshes if isinstance(reference, SymbolRefAttr) and symbol_of(o) == reference.root), None)
    if mesh is None:
        findings.refuse(rule, block, "the block names no dist.mesh of the module")
        return None
    sizes = {name: as_expr((strategy or {}).get(name)) for name in _MESH}
    if sizes[TENSOR] is None:
        findings.refuse(rule, mesh, f"the mesh is not that of the strategy: the strategy does not say '{TENSOR}'")
        return None
    found = dict(mesh_entries(mesh.properties.get("axes")))
    wanted = {name: size for name, size in sizes.items() if size is not None and size is not ONE}
    message = "the mesh is not that of the strategy"
    help = note("expected <[" + ", ".join(f'"{name}"={size.text}' for name, size in wanted.items()) + "]>")
    if list(found) != [name for name in _MESH if name in found]:
        findings.refuse(rule, mesh, message, help)
        return None
    for name in _MESH:
        same = Statement(found.get(name, ONE), "=", sizes[name] or ONE)
        if not findings.claim(rule, mesh, message, f"the size of the mesh axis '{name}'", same, same.decide(findings.facts), help):
            return None
    return found
