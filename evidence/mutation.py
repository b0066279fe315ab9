"""Mutants of a Python source: every way to change one operator, condition, constant, return or statement of it.

A mutant is a change of a few bytes, in the order of the text. Its `key` says which function and which text it changes, not on which line,
so that a sample (`sampled`) keeps its members when other code changes. What the tests make of them is told by `mutation_report.py`.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import attrs

# the boundary, then the opposite
COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<", "<=", ">="),
    ast.LtE: ("<=", "<", ">"),
    ast.Gt: (">", ">=", "<="),
    ast.GtE: (">=", ">", "<"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
}
CALLS = {"any": "all", "all": "any", "max": "min", "min": "max", "sorted": "list"}


@attrs.frozen
class Mutant:
    """A change of `path`: the bytes from `start` to `end` become `new`."""

    path: str
    line: int
    function: str
    what: str
    start: int
    end: int
    new: bytes
    key: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.new + source[self.end :]

    def difference(self, source: bytes) -> str:
        """The lines before and after, as a diff shows them."""
        first = source.rfind(b"\n", 0, self.start) + 1
        last = source.find(b"\n", self.end)
        old = source[first:last].decode()
        new = (source[first : self.start] + self.new + source[self.end : last]).decode()
        return "\n".join([*(f"    -{line}" for line in old.split("\n")), *(f"    +{line}" for line in new.split("\n"))])


def mutants(path: str, source: bytes) -> list[Mutant]:
    """Every mutant of a source, in the order of the text; each compiles, and none is the same program."""
    tree = ast.parse(source)
    same = ast.dump(tree)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    seen: Counter[str] = Counter()
    found = []
    for function, line, what, start, end, new in _Finder(source, starts).visit(tree, ""):
        name = f"{path} {function} {what} {source[start:end].decode()} -> {new.decode()}"
        seen[name] += 1
        mutant = Mutant(path, line, function, what, start, end, new, f"{name} #{seen[name]}")
        try:
            if ast.dump(ast.parse(mutant.apply(source))) != same:
                found.append(mutant)
        except SyntaxError:
            continue
    return sorted(found, key=lambda m: (m.start, m.what))


def sampled(found: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """That many mutants, drawn by a hash of their keys, in the order of the text."""
    drawn = sorted(found, key=lambda m: hashlib.sha256(f"{seed} {m.key}".encode()).digest())[:count]
    return sorted(drawn, key=lambda m: (m.path, m.start, m.what))


def all_mutants(root: Path, paths: list[str]) -> list[Mutant]:
    return [m for path in paths for m in mutants(path, (root / path).read_bytes())]


Change = tuple[str, int, str, int, int, bytes]


@attrs.frozen
class _Finder:
    source: bytes
    starts: list[int]

    def begin(self, node: ast.expr | ast.stmt) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def visit(self, node: ast.AST, function: str) -> Iterator[Change]:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            function = f"{function}.{node.name}".lstrip(".")
        for start, end, what, new in self.of(node):
            line = self.source.count(b"\n", 0, start) + 1
            yield function, line, what, start, end, new
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _left_out(child):
                    yield from self.visit(child, function)

    def of(self, node: ast.AST) -> Iterator[tuple[int, int, str, bytes]]:
        """The changes of a node itself: of its operators, its conditions, its value, or of the whole statement."""
        yield from self._operators(node)
        yield from self._conditions(node)
        yield from self._values(node)
        yield from self._statements(node)

    def _operators(self, node: ast.AST) -> Iterator[tuple[int, int, str, bytes]]:
        match node:
            case ast.Compare(left, operators, comparators):
                sides = [left, *comparators]
                for index, operator in enumerate(operators):
                    old, *others = COMPARISONS[type(operator)]
                    for new in others:
                        yield self.between(sides[index], sides[index + 1], old, new, "comparison")
            case ast.BinOp(left, operator, right) if type(operator) in ARITHMETIC:
                yield self.between(left, right, *ARITHMETIC[type(operator)], "arithmetic")
            case ast.BoolOp(operator, values):
                old, new = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
                for index in range(len(values) - 1):
                    yield self.between(values[index], values[index + 1], old, new, "and/or")
            case ast.UnaryOp(ast.Not() | ast.USub(), operand):
                what = "not removed" if isinstance(node.op, ast.Not) else "sign"
                yield self.begin(node), self.end(node), what, self.text(operand)
            case ast.AugAssign(_, operator) if type(operator) in ARITHMETIC:
                old, new = ARITHMETIC[type(operator)]
                yield self.between(node.target, node.value, f"{old}=", f"{new}=", "arithmetic")

    def _conditions(self, node: ast.AST) -> Iterator[tuple[int, int, str, bytes]]:
        match node:
            case ast.If(test) | ast.While(test) | ast.IfExp(test):
                yield from self.negated(test)
            case ast.comprehension():
                for test in node.ifs:
                    yield from self.negated(test)

    def _values(self, node: ast.AST) -> Iterator[tuple[int, int, str, bytes]]:
        match node:
            case ast.Constant(bool() as value):
                yield self.begin(node), self.end(node), "constant", str(not value).encode()
            case ast.Constant(int() as value):
                yield self.begin(node), self.end(node), "constant", str(value + 1).encode()
            case ast.Call(ast.Name(name)) if name in CALLS:
                yield self.begin(node.func), self.end(node.func), "call", CALLS[name].encode()
            case ast.Return(ast.expr() as value) if not (isinstance(value, ast.Constant) and not value.value):  # None is as false
                yield self.begin(node), self.end(node), "return dropped", b"return None"

    def _statements(self, node: ast.AST) -> Iterator[tuple[int, int, str, bytes]]:
        match node:
            case ast.Expr(value):
                deleted = not isinstance(value, (ast.Constant, ast.Yield, ast.YieldFrom))
            case ast.AugAssign(_, operator):
                deleted = type(operator) in ARITHMETIC
            case ast.Assign(targets):
                deleted = not any(isinstance(t, (ast.Name, ast.Tuple)) for t in targets)
            case _:
                deleted = isinstance(node, (ast.Raise, ast.Continue, ast.Break, ast.Delete))
        if deleted and isinstance(node, ast.stmt):
            yield self.begin(node), self.end(node), "statement deleted", b"pass"

    def text(self, node: ast.expr) -> bytes:
        return b"(" + self.source[self.begin(node) : self.end(node)] + b")"

    def negated(self, test: ast.expr) -> Iterator[tuple[int, int, str, bytes]]:
        if not isinstance(test, ast.UnaryOp) and not (isinstance(test, ast.Compare) and len(test.ops) == 1):  # those have operators
            yield self.begin(test), self.end(test), "condition negated", b"(not " + self.text(test) + b")"

    def between(self, left: ast.expr, right: ast.expr, old: str, new: str, what: str) -> tuple[int, int, str, bytes]:
        start, end = self.end(left), self.begin(right)
        gap = self.source[start:end].decode()
        at = re.search(rf"\b{old}\b" if old[0].isalpha() else re.escape(old), gap)
        assert at is not None, gap
        return start + len(gap[: at.start()].encode()), start + len(gap[: at.end()].encode()), what, new.encode()


def _left_out(node: ast.AST) -> bool:
    """Nodes that are not mutated: assertions, which are for readers and mypy, and imports for mypy alone."""
    return isinstance(node, ast.Assert) or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
