"""The place where arithmetic on a module exceeded a bound of expressions, or the steps that it may take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Span, error
from bpir.ir.expressions.error import ExpressionError
from bpir.ir.operation import Operation


@contextmanager
def placed(module: Operation, *explanation: Diagnostic) -> Iterator[None]:
    """An error inside the arithmetic of expressions becomes an error at the operation whose expressions are the largest.

    Raises:
        DiagnosticError: an expression has no value, exceeds a bound or is too much work.
    """
    try:
        yield
    except ExpressionError as problem:
        raise DiagnosticError(error(str(problem), _largest(module), undecided=True), *explanation) from None


def _largest(module: Operation) -> Span | None:
    from bpir.dialects.bp import expressions_in

    found, most = module.span, -1
    for operation in module.walk():
        if operation.span is not None and operation.span != module.span:
            stated = [*operation.properties.values(), *operation.attributes.values()]
            size = sum(e.size for attribute in stated for e in expressions_in(attribute))
            if size > most:
                found, most = operation.span, size
    return found
