"""Under which workload and strategy of the file a distributed block is derived, and on which mesh."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

from bpir.dialects.bind import Binding, Strategy, Workload, as_expr
from bpir.dialects.dist.tasks import Block, Mesh
from bpir.dialects.levels import DistributedTaskIR, ModuleIR
from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import note
from bpir.ir.expressions.expression import ONE, Expr
from bpir.verifiers.distribution.placed_axes import EXPERT, TENSOR
from bpir.verifiers.findings import Findings
from bpir.verifiers.inputs import binding_key
from bpir.verifiers.statements import Statement

_B = TypeVar("_B", bound=Binding)
Options = Mapping[type[Binding], Collection[str]]
"""The fields of each kind of binding that are options of a pass, and may be overridden."""


def verify_choice(
    findings: Findings, rule: str, source: ModuleIR, target: ModuleIR, block: Block, kind: str, options: Options
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
    chosen: tuple[tuple[type[Binding], str], ...] = ((Workload, block.workload), (Strategy, block.strategy))
    for what, reference in chosen:
        written = [binding.symbol for binding in candidates(source, what, kind)]
        for binding in _named(target, what, reference):
            message = f"the workload @{reference} is of the kind {_kind(binding)}, expected {kind}"
            fits = findings.require(rule, _kind(binding) in ("", kind), block, message, note("it is here", binding.span))
            if fits and (not written or reference in written):
                overridable[binding_key(binding)] = options[what]
    return overridable


def _named(target: ModuleIR, what: type[_B], name: str) -> list[_B]:
    """The bindings of a kind that have a name."""
    return [binding for binding in target.each(what) if binding.symbol == name]


def candidates(ir: ModuleIR, what: type[_B], kind: str) -> list[_B]:
    """The bindings of a module that a derivation may be under: workloads of its kind, every strategy."""
    return [binding for binding in ir.each(what) if _kind(binding) in ("", kind)]


def _kind(binding: Binding) -> str:
    return binding.kind if isinstance(binding, Workload) else ""


_MESH = ("pipeline", "data", EXPERT, TENSOR)
"""The axes of a mesh in their order; each has the size that the field of its name says in the strategy, 1 where there is none."""


def verify_mesh(
    findings: Findings, rule: str, target: DistributedTaskIR, block: Block, strategy: Mapping[str, Attribute] | None
) -> dict[str, Expr] | None:
    """The mesh of a block: the axes of the strategy, of which those of size 1 may be left out; None if it is refused."""
    mesh = target.mesh_of(block)
    if mesh is None:
        findings.refuse(rule, block, "the block names no dist.mesh of the module")
        return None
    sizes = {name: size for name in _MESH if (size := as_expr((strategy or {}).get(name))) is not None}
    message = f"the mesh is not that of the strategy: the strategy does not say '{TENSOR}'"
    if not findings.require(rule, TENSOR in sizes, mesh, message):
        return None
    return mesh.axes if _same_axes(findings, rule, mesh, sizes) else None


def _same_axes(findings: Findings, rule: str, mesh: Mesh, sizes: Mapping[str, Expr]) -> bool:
    """Whether a mesh has the axes of these sizes, in their order, and no others."""
    found, message = mesh.axes, "the mesh is not that of the strategy"
    wanted = ", ".join(f'"{name}"={size.text}' for name, size in sizes.items() if size is not ONE)
    help = note(f"expected <[{wanted}]>")
    if not findings.require(rule, list(found) == [name for name in _MESH if name in found], mesh, message, help):
        return False
    for name in _MESH:
        same = Statement(found.get(name, ONE), "=", sizes.get(name, ONE))
        if not findings.claim(rule, mesh, message, f"the size of the mesh axis '{name}'", same, same.decide(findings.facts), help):
            return False
    return True
