"""The namespaces of dialects: ours, and those that upstream registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpir import dialects

if TYPE_CHECKING:
    pass


OURS = frozenset(dialects.available()) - {"builtin", "func"}
"""Dialects whose operations, attributes and types must be declared, whatever is allowed otherwise."""


_CLOSED = frozenset((*OURS, "builtin", "func"))  # whose operations must be declared


UPSTREAM = frozenset(
    [
        "acc",
        "affine",
        "amdgpu",
        "amx",
        "arith",
        "arm_neon",
        "arm_sme",
        "arm_sve",
        "async",
        "bufferization",
        "cf",
        "complex",
        "dlti",
        "emitc",
        "func",
        "gpu",
        "index",
        "irdl",
        "linalg",
        "math",
        "memref",
        "mesh",
        "ml_program",
        "mpi",
        "nvgpu",
        "nvvm",
        "omp",
        "pdl",
        "pdl_interp",
        "polynomial",
        "ptr",
        "quant",
        "rocdl",
        "scf",
        "shape",
        "sparse_tensor",
        "tensor",
        "tosa",
        "transform",
        "ub",
        "vector",
        "x86vector",
        "xegpu",
    ]
)
"""Dialects that `mlir-opt` registers and that know their operations, types or attributes: see `parser/upstream.py`."""
