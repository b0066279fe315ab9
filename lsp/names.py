"""What every name of a text stands for: values, blocks, symbols, dimension symbols, layers and tasks.

A region is a scope, as in MLIR: a value is visible in its region and in those inside, also before it is defined; a symbol is looked up in
the module that it is in, then in those around it. Dimension symbols (`bp.symbols`) are those of the file. Nothing is asked of the
parser, so the names of a text with mistakes are known, too; that they are right is what the tests compare with MLIR's own server.
"""

from __future__ import annotations

from bpir.ir.declaration import DECLARATIONS, OperationDeclaration
from bpir.lsp.spelling import _is_symbol, _label, _operation_of
from bpir.lsp.tokens import Token, tokens
from bpir.parser.lexer import symbol_of, unquoted

_OPENING = {")": "(", "]": "[", "}": "{"}
_LINEAGE = ("from", "tied")
"""The clauses that name a layer, a task, a block or a buffer by its text."""


class Name:
    """One occurrence of a name.

    Attributes:
        kind: `value`, `block`, `symbol`, `dimension`, `axis` (of a mesh) or `part` (a layer, a task: what a text names).
        text: the name without its sign; of a value with `#1`, where it is one of several results.
        defines: whether it is where the name is defined.
        target: the definition; itself, if it is one; None where there is none in this text.
        operation: the operation that it is in, by its place; -1 where there is none.
    """

    __slots__ = ("defines", "end", "kind", "operation", "start", "target", "text")

    def __init__(self, kind: str, text: str, start: int, end: int, operation: int, defines: bool = False) -> None:
        self.kind, self.text, self.start, self.end, self.operation, self.defines = kind, text, start, end, operation, defines
        self.target: Name | None = self if defines else None

    def __repr__(self) -> str:
        return f"<{self.kind} {self.text} at {self.start}{', defined' * self.defines}>"


class OperationPlace:
    """Where an operation begins: its name, its declaration, and the place of that name in the text."""

    __slots__ = ("declaration", "end", "generic", "name", "start")

    def __init__(self, name: str, declaration: OperationDeclaration | None, token: Token, generic: bool) -> None:
        self.name, self.declaration, self.start, self.end, self.generic = name, declaration, token.start, token.end, generic


class _Scope:
    """A pair of braces: what is defined between them, and what is used there that is not yet defined."""

    __slots__ = ("depth", "labels", "opened_by", "pending", "table", "values")

    def __init__(self, table: _Table, opened_by: int, depth: int) -> None:
        self.values: dict[str, Name] = {}
        self.labels: dict[str, Name] = {}
        self.pending: list[Name] = []
        self.table = table
        self.opened_by = opened_by  # the operation that was being read
        self.depth = depth


class _Table:
    """The symbols of a module."""

    __slots__ = ("inner", "outer", "symbols")

    def __init__(self, outer: _Table | None) -> None:
        self.outer = outer
        self.symbols: dict[str, Name] = {}
        self.inner: dict[int, _Table] = {}  # of the modules in it, by their operation


class Names:
    """Every name of a text, in order; `operations` are the operations in the order of their names in the text."""

    def __init__(self, text: str) -> None:
        self.found: list[Name] = []
        self.operations: list[OperationPlace] = []
        _Reader(self, list(tokens(text))).read()
        self._users: dict[Name, list[Name]] = {}
        for name in self.found:
            if name.target is not None:
                self._users.setdefault(name.target, []).append(name)

    def at(self, offset: int) -> Name | None:
        """The name at an offset; where two names touch, the one that begins there."""
        low, high = 0, len(self.found)
        while low < high:
            middle = (low + high) // 2
            if self.found[middle].start <= offset:
                low = middle + 1
            else:
                high = middle
        name = self.found[low - 1] if low else None
        return name if name is not None and offset <= name.end else None

    def references(self, name: Name) -> list[Name]:
        """Every occurrence of what a name stands for, its definition among them; of a name without one those that are written alike."""
        if name.target is not None:
            return self._users[name.target]
        return [other for other in self.found if other.target is None and (other.kind, other.text) == (name.kind, name.text)]

    def definition(self, kind: str, text: str) -> Name | None:
        """The first definition of a name."""
        return next((name for name in self.found if name.defines and (name.kind, name.text) == (kind, text)), None)


class _Reader:
    """One pass over the tokens."""

    def __init__(self, names: Names, found: list[Token]) -> None:
        self.names, self.tokens = names, found
        self.brackets: list[str] = []
        self.scopes = [_Scope(_Table(None), -1, 0)]
        self.operation = -1  # the one whose text is being read
        self.depth = 0  # how many brackets were open where it began
        self.arguments: list[Name] = []  # of a region that is still to be opened
        self.results: list[Name] = []  # of the operation that is still to begin
        self.symbols: list[tuple[Name, _Table, Name | None]] = []  # uses, and the symbol that each is nested in
        self.words: list[Name] = []
        self.dimensions: dict[str, Name] = {}
        self.parts: dict[str, Name] = {}
        self.axes: dict[str, Name] = {}

    def read(self) -> None:
        for index, token in enumerate(self.tokens):
            getattr(self, f"_{token.kind}")(index, token)
        while len(self.scopes) > 1:
            self._close()
        self._forget(self.scopes[0], None)
        for name, table, outer in self.symbols:
            name.target = _lookup(name.text, table, outer)
        dimensions = [name for name in self.words if name.text in self.dimensions]
        for name in dimensions:
            name.target = self.dimensions[name.text]
        self.names.found = sorted((*self.names.found, *dimensions), key=lambda name: name.start)
        for name in self.names.found:
            if name.kind in ("part", "axis") and name.target is None:
                name.target = (self.parts if name.kind == "part" else self.axes).get(name.text)

    def _near(self, index: int, by: int) -> Token:
        place = index + by
        return self.tokens[place] if 0 <= place < len(self.tokens) else Token("", "", -1, -1)

    def _add(self, name: Name) -> Name:
        self.names.found.append(name)
        return name

    # --- operations

    def _open(self, name: str, token: Token, generic: bool) -> None:
        self.operation = len(self.names.operations)
        self.depth = len(self.brackets)
        self.names.operations.append(OperationPlace(name, DECLARATIONS.get(name), token, generic))
        for result in self.results:
            result.operation = self.operation
        self.arguments, self.results = [], []

    def _declaration(self) -> OperationDeclaration | None:
        return self.names.operations[self.operation].declaration if self.operation >= 0 else None

    def _word(self, index: int, token: Token) -> None:
        name = _operation_of(token.text)
        following = self._near(index, 1).text
        if name is not None and following != "=" and (not self.brackets or self.brackets[-1] == "{"):
            self._open(name, token, False)
        elif self.operation >= 0 and self.names.operations[self.operation].name == "bp.symbols" and self._lists(index):
            defined = self._add(Name("dimension", token.text, token.start, token.end, self.operation, True))
            self.dimensions.setdefault(token.text, defined)
        elif following != "=" or self._near(index, -1).text in ("where", ",") or self._binds():
            self.words.append(Name("dimension", token.text, token.start, token.end, self.operation))

    def _lists(self, index: int) -> bool:
        """Whether a word is one of the list behind `bp.symbols`: nothing but words and commas is between."""
        place = index
        while self._near(place, -1).text == "," and self._near(place, -2).kind == "word":
            place -= 2
        return self._near(place, -1).start == self.names.operations[self.operation].start

    def _binds(self) -> bool:
        return self.operation >= 0 and self.names.operations[self.operation].name == "bp.bind"

    def _string(self, index: int, token: Token) -> None:
        statement = not self.brackets or self.brackets[-1] == "{"
        if self._near(index, 1).text == "(" and statement and self._near(index, -1).text not in _LINEAGE:
            self._open(unquoted(token.text), token, True)
            return
        before = self._near(index, -1)
        if self._near(index, 1).text == "=" and self.brackets and self.brackets[-1] == "[":
            axis = self._add(Name("axis", unquoted(token.text), token.start, token.end, self.operation, True))
            self.axes.setdefault(axis.text, axis)
            return
        role = self._role(index, before)
        if role == "symbol":
            self._define_symbol(unquoted(token.text), token)
        elif role == "dimension":
            text = unquoted(token.text)
            self.dimensions.setdefault(text, self._add(Name("dimension", text, token.start, token.end, self.operation, True)))
        elif role:
            text = unquoted(token.text)
            name = self._add(Name("part", text, token.start, token.end, self.operation, role == "label"))
            if role == "label":
                self.parts.setdefault(text, name)

    def _role(self, index: int, before: Token) -> str:
        """What a string is: `symbol`, `dimension`, `label` (it names a layer or task), `lineage`, or nothing of that."""
        if self.operation < 0:
            return ""
        operation = self.names.operations[self.operation]
        label = _label(operation.declaration) if operation.declaration is not None else ""
        if not operation.generic:
            if before.start == operation.start and label:
                return "label"
            return "lineage" if before.kind == "word" and before.text in _LINEAGE else ""
        if before.text == "=":
            return self._role_of_value(index, label, operation.declaration is not None)
        return "dimension" if operation.name == "bp.symbols" and self._key_of_list(index) == "symbols" else ""

    def _role_of_value(self, index: int, label: str, declared: bool) -> str:
        """The role of the value of a key, in generic form; `label` is the key of the operation's label, if it has one."""
        key = self._near(index, -2).text
        if key == "sym_name" and self._in_own_dictionary(index):
            return "symbol"
        if key == label and label:
            return "label"
        return "lineage" if key in ("source", "from", "tied") and declared else ""

    def _in_own_dictionary(self, index: int) -> bool:
        """Whether the key before a string is of the operation's own properties or attributes, not of a dictionary in them."""
        return len(self.brackets) == self.depth + 1 and self.brackets[-1] == "{"

    def _key_of_list(self, index: int) -> str:
        """The key of the list that a string is in: `symbols` in `symbols = ["B", "S"]`."""
        place = index - 1
        while self._near(place, 0).text == "," or self._near(place, 0).kind == "string":
            place -= 1
        return self._near(place, -2).text if self._near(place, 0).text == "[" and self._near(place, -1).text == "=" else ""

    # --- symbols

    def _symbol(self, index: int, token: Token) -> None:
        text = symbol_of(token.text)
        before = self._near(index, -1)
        if before.end == token.start and (before.kind in ("word", "number") or before.text in (")", "]")):
            self._add(Name("axis", text, token.start, token.end, self.operation))  # `h@tensor`
            return
        operation = self.names.operations[self.operation] if self.operation >= 0 else None
        custom = operation is not None and not operation.generic and len(self.brackets) == self.depth
        if custom and operation is not None and _is_symbol(operation.declaration) and not self._defined_here():
            self._define_symbol(text, token)
            return
        name = self._add(Name("symbol", text, token.start, token.end, self.operation))
        nested = before.text == "::" and self._near(index, -2).kind == "symbol"
        self.symbols.append((name, self.scopes[-1].table, self.symbols[-1][0] if nested and self.symbols else None))

    def _defined_here(self) -> bool:
        found = self.names.found
        place = len(found) - 1
        while place >= 0 and found[place].operation == self.operation:
            if found[place].kind == "symbol":
                return True
            place -= 1
        return False

    def _define_symbol(self, text: str, token: Token) -> None:
        name = self._add(Name("symbol", text, token.start, token.end, self.operation, True))
        self.scopes[-1].table.symbols.setdefault(text, name)

    # --- values and labels

    def _value(self, index: int, token: Token) -> None:
        text = token.text[1:]
        following = self._near(index, 1).text
        if self._defines_results(index):
            self.results.append(self._add(Name("value", text, token.start, token.end, self.operation, True)))
            self._define(self.results[-1])
        elif following == ":" and self.brackets and self.brackets[-1] == "(":
            name = self._add(Name("value", text, token.start, token.end, self.operation, True))
            if len(self.brackets) == self.depth + 1 and self.operation >= 0 and not self.names.operations[self.operation].generic:
                self.arguments.append(name)  # of a region that follows
            else:
                self._define(name)
        else:
            self._use(self._add(Name("value", text, token.start, token.end, self.operation)))

    def _defines_results(self, index: int) -> bool:
        """Whether the value is in a list that `=` follows."""
        while True:
            index += 1
            if self._near(index, 0).text == ":" and self._near(index, 1).kind == "number":
                index += 2
            if self._near(index, 0).text == "=":
                return True
            if self._near(index, 0).text != "," or self._near(index, 1).kind != "value":
                return False
            index += 1

    def _define(self, name: Name) -> None:
        self.scopes[-1].values.setdefault(name.text, name)

    def _use(self, name: Name) -> None:
        for scope in reversed(self.scopes):
            target = _defined(scope.values, name.text)
            if target is not None:
                name.target = target
                return
        self.scopes[-1].pending.append(name)

    def _label(self, index: int, token: Token) -> None:
        defines = not self.brackets or self.brackets[-1] == "{"
        name = self._add(Name("block", token.text[1:], token.start, token.end, self.operation, defines))
        if defines:
            self.scopes[-1].labels.setdefault(name.text, name)
            self.operation, self.depth = self.scopes[-1].opened_by, len(self.brackets)  # its arguments are of the operation around
        else:
            self.scopes[-1].pending.append(name)

    def _number(self, index: int, token: Token) -> None:
        pass

    _prefixed = _number

    # --- brackets

    def _sign(self, index: int, token: Token) -> None:
        if token.text in "([{":
            if token.text == "{":
                self._open_brace(index)
            self.brackets.append(token.text)
        elif token.text in ")]}":
            opening = _OPENING[token.text]
            if opening in self.brackets:
                while self.brackets.pop() != opening:
                    pass
                if opening == "{" and len(self.scopes) > 1:
                    self._close()

    def _open_brace(self, index: int) -> None:
        outer = self.scopes[-1].table
        operation = self.names.operations[self.operation] if self.operation >= 0 else None
        dictionary = self._near(index, -1).text in ("attributes", "<", "=")
        opens_module = operation is not None and operation.name == "builtin.module" and not dictionary
        table = outer.inner.setdefault(self.operation, _Table(outer)) if opens_module else outer
        self.scopes.append(_Scope(table, self.operation, self.depth))
        if not dictionary and len(self.brackets) == self.depth:
            for name in self.arguments:
                self._define(name)
            self.arguments = []

    def _close(self) -> None:
        scope = self.scopes.pop()
        self._forget(scope, self.scopes[-1])
        self.operation, self.depth = scope.opened_by, scope.depth

    def _forget(self, scope: _Scope, outer: _Scope | None) -> None:
        """Resolve what was used before it was defined; the rest may be defined around."""
        for name in scope.pending:
            name.target = scope.labels.get(name.text) if name.kind == "block" else _defined(scope.values, name.text)
            if name.target is None and outer is not None:
                outer.pending.append(name)


def _defined(values: dict[str, Name], text: str) -> Name | None:
    return values.get(text) or values.get(text.partition("#")[0])


def _lookup(text: str, table: _Table, outer: Name | None) -> Name | None:
    """The definition of a symbol: in the module that the symbol before `::` names, else in the nearest one that has it."""
    if outer is not None:
        module = outer.target
        place: _Table | None = table
        while place is not None:
            if module is not None and module.operation in place.inner:
                return place.inner[module.operation].symbols.get(text)
            place = place.outer
        return None
    around: _Table | None = table
    while around is not None:
        if text in around.symbols:
            return around.symbols[text]
        around = around.outer
    return None
