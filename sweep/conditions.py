"""`--where LEFT SIGN RIGHT`: a comparison of two expressions of the language in which a name is a column, decided exactly."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import attrs
import numpy as np

from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Source, Span, fail, suggestion
from bpir.ir.expressions.atoms import symbol_atom
from bpir.ir.expressions.expression import Expr
from bpir.ir.expressions.normal_form import atom_expression
from bpir.ir.records import evolved
from bpir.passes.pipeline import command_line
from bpir.sweep.arithmetic.evaluation import Values
from bpir.sweep.arithmetic.ratio import Ratio
from bpir.sweep.arithmetic.whole import Array

SIGNS = ("<=", ">=", "=", "<", ">", "|")
_SIGN = re.compile(r"<=|>=|==|!=|=|<|>|\|")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*", re.ASCII)
_FUNCTIONS = ("max", "min", "ceildiv", "floordiv")


@attrs.frozen(eq=False)
class Condition:
    """One comparison; `left` and `right` hold columns as symbols that are called like them.

    Where `left` is a name of the grid with words, `right` is one of these: `recompute = full`.
    """

    text: str
    left: Expr
    sign: str
    right: Expr
    source: Source
    of_words: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.left.symbols, *self.right.symbols)))

    def span(self, name: str) -> Span:
        """Where a name is first."""
        start = next((m.start() for m in _NAME.finditer(self.source.text, self._start) if m[0] == name), self._start)
        return Span(self.source, start, start + len(name))

    @property
    def _start(self) -> int:
        return len(self.source.text) - len(self.text)

    def over(self, columns: Mapping[str, Expr]) -> Condition:
        """The same with an expression in place of each column."""
        return attrs.evolve(self, left=self.left.substitute(columns), right=self.right.substitute(columns))

    def holds(self, values: Values) -> Array:
        """At which points it is true."""
        return decided(self.sign, self.left, self.right, values)


def column_symbol(name: str) -> Expr:
    """The symbol that stands for a column, whose name may have dots."""
    return atom_expression(symbol_atom(name, fresh=True))


def decided(sign: str, left: Expr, right: Expr, values: Values) -> Array:
    """At which points the comparison is true, exactly; where a side has no value it is not."""
    if sign == "|":
        quotient = values.of(right / left) if left.constant != 0 else None
        return np.array(False) if quotient is None else _defined(quotient, _integral)
    return _defined(values.of(left - right), _COMPARISONS[sign])


_COMPARISONS: Mapping[str, Callable[[Ratio], Array]] = {
    "=": lambda difference: np.asarray(difference.above.values == 0, dtype=bool),
    "<": lambda difference: np.asarray(difference.above.values < 0, dtype=bool),
    "<=": lambda difference: np.asarray(difference.above.values <= 0, dtype=bool),
    ">": lambda difference: np.asarray(difference.above.values > 0, dtype=bool),
    ">=": lambda difference: np.asarray(difference.above.values >= 0, dtype=bool),
}


def _integral(quotient: Ratio) -> Array:
    whole = quotient.settled()
    return np.asarray((whole.above - whole.above // whole.below * whole.below).values == 0, dtype=bool)


def _defined(found: Ratio, decision: Callable[[Ratio], Array]) -> Array:
    result = decision(found)
    return result if found.undefined is None else result & ~found.undefined


def parse_condition(text: str) -> Condition:
    """The condition that an argument of `--where` spells.

    Raises:
        DiagnosticError: it is no comparison, or a side is no expression.
    """
    source = command_line(f"--where {text}")
    start = len(source.text) - len(text.encode("utf-8", "surrogateescape"))
    signs = list(_SIGN.finditer(source.text, start))
    if len(signs) != 1:
        place = Span(source, signs[1].start(), signs[1].end()) if signs else Span(source, start, len(source.text))
        found = "a second sign" if signs else "no sign"
        raise fail(f"expected one comparison, LEFT SIGN RIGHT with {' '.join(SIGNS)}, found {found}", place)
    (sign,) = signs
    spelled = sign[0]
    if spelled in ("==", "!="):
        advice = "'=' compares" if spelled == "==" else "give the conditions of what is wanted"
        raise fail(f"the language has no '{spelled}': {advice}", Span(source, sign.start(), sign.end()))
    left, right = _side(source, start, sign.start()), _side(source, sign.end(), len(source.text))
    return Condition(source.text[start:], left, spelled, right, source)


def _side(source: Source, start: int, end: int) -> Expr:
    """The expression between two places; a name with dots is one symbol."""
    from bpir.parser.entry import parse

    if not source.text[start:end].strip():
        raise fail("expected an expression", Span(source, start, max(end, start + 1)))
    names: dict[str, str] = {}

    def plain(match: re.Match[str]) -> str:
        if "." not in match[0]:
            return match[0]
        alias = "_" + str(len(names)).rjust(len(match[0]) - 1, "0")
        names.setdefault(match[0], alias)
        return names[match[0]]

    shown = " " * start + _NAME.sub(plain, source.text[start:end])
    try:
        found: Expr = parse(Source(source.name, shown), "only_expr", True)
    except DiagnosticError as problem:
        raise DiagnosticError(*(_placed(d, source) for d in problem.diagnostics)) from None
    return found.substitute({alias: column_symbol(name) for name, alias in names.items()})


def _placed(diagnostic: Diagnostic, source: Source) -> Diagnostic:
    """The diagnostic at the same place of the text as it was written."""
    span = diagnostic.span
    moved = Span(source, min(span.start, len(source.text)), min(span.end, len(source.text))) if span is not None else None
    return evolved(diagnostic, span=moved)


def resolve(name: str, columns: Collection[str]) -> str | None:
    """The column that a name means: its own, or the only one that ends in it after a dot."""
    if name in columns:
        return name
    ends = [column for column in columns if column.endswith(f".{name}")]
    return ends[0] if len(ends) == 1 else None


def resolved(conditions: Iterable[Condition], columns: Collection[str], words: Mapping[str, Sequence[str]]) -> list[Condition]:
    """The conditions with the full name of each column.

    Args:
        words: the names of the grid that have words, and these.

    Raises:
        DiagnosticError: a name is no column, or could be several; or words are compared otherwise than with their own.
    """
    found = []
    for condition in conditions:
        name = next((name for name in condition.names if name in words), None)
        if name is not None:
            found.append(_of_words(condition, name, words[name]))
            continue
        names = {name: column_of(name, columns, condition.span(name)) for name in condition.names}
        found.append(condition.over({name: column_symbol(column) for name, column in names.items() if name != column}))
    return found


def _of_words(condition: Condition, name: str, words: Sequence[str]) -> Condition:
    value = condition.right.text
    if condition.left.text != name or condition.sign != "=" or value not in words:
        near = suggestion(value, words) if condition.sign == "=" else ""
        raise fail(f"'{name}' has words: expected {name} = {' or '.join(words)}{near}", condition.span(name))
    return attrs.evolve(condition, of_words=True)


def column_of(name: str, columns: Collection[str], span: Span | None) -> str:
    """The column that a name means.

    Raises:
        DiagnosticError: it is none, or could be several.
    """
    column = resolve(name, columns)
    if column is None:
        ends = [column for column in columns if column.endswith(f".{name}")]
        if ends:
            raise fail(f"'{name}' could be {' or '.join(ends)}: write more of it", span)
        near = suggestion(name, columns) or suggestion(name, [c.rpartition(".")[2] for c in columns])
        raise fail(f"there is no column '{name}'{near or '; the columns are ' + ', '.join(list(columns)[:40])}", span)
    return column
