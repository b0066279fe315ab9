"""The `bp` dialect: symbols with relations, numeric bindings, and the types and attributes that every level shares."""

from bpir.dialects.bp.attributes import (
    COMPONENTS,
    NO_WORK,
    PLAIN,
    ExprAttr,
    RelationAttr,
    Rewriting,
    Symbolic,
    TensorType,
    Vector,
    Work,
    expressions_in,
    factor_text,
    product,
    rewrite_attribute,
    shape_text,
    tensor,
    work,
)
from bpir.dialects.bp.grammar import vector_action
from bpir.dialects.bp.operations import Assume, Bind, Bindings, Names, Relations, Symbols, bindings_attribute
from bpir.dialects.bp.table import SymbolTable, relations_attribute, symbol_table, undeclared_symbol
from bpir.ir.dialect import Dialect, declare

declare(Dialect("bp", starts=("bp_shape_body",)))

__all__ = [
    "COMPONENTS",
    "NO_WORK",
    "PLAIN",
    "Assume",
    "Bind",
    "Bindings",
    "ExprAttr",
    "Names",
    "RelationAttr",
    "Relations",
    "Rewriting",
    "SymbolTable",
    "Symbolic",
    "Symbols",
    "TensorType",
    "Vector",
    "Work",
    "bindings_attribute",
    "expressions_in",
    "factor_text",
    "product",
    "relations_attribute",
    "rewrite_attribute",
    "shape_text",
    "symbol_table",
    "tensor",
    "undeclared_symbol",
    "vector_action",
    "work",
]
