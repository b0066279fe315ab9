"""Tokens and features of a tensor, and the work of moving it."""

from __future__ import annotations

from bpir.dialects.bp import TensorType, Work, product, work
from bpir.dialects.bp.parts import Expression as Expression
from bpir.ir.expressions.expression import ZERO, Expr

TOKEN_RANK = 2
"""The leading token axes of every activation: the batch axis and the token axis."""


def token_dims(type: TensorType) -> tuple[Expr, ...]:
    return type.dims[:TOKEN_RANK]


def feature_dims(type: TensorType) -> tuple[Expr, ...]:
    return type.dims[TOKEN_RANK:]


def features(type: TensorType) -> Expr:
    return product(feature_dims(type))


def tokens(type: TensorType) -> Expr:
    return product(token_dims(type))


def reduction_work(operand: TensorType, result: TensorType, ranks: Expr) -> Work:
    """One rank's work in an all-reduce or a reduce-scatter, from its local operand and result.

    With `N` logical elements over `t` ranks `N*(t-1)/t` additions: a rank sums its `N/t` of `t` parts (Rabenseifner 2004). Reads the
    operand, writes the result; the message is the whole logical tensor.
    """
    return work(operand.elements * (ranks - 1) / ranks, operand.bytes, result.bytes, operand.bytes)


def gather_work(operand: TensorType, result: TensorType) -> Work:
    """One rank's work in an all-gather: no operations; the message is the whole gathered tensor."""
    return work(ZERO, operand.bytes, result.bytes, result.bytes)
