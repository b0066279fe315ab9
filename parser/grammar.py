"""The grammar of a file: the base grammar, and what the dialects that the file names declare.

What the author of a dialect must know:

- **Nonterminals of the base grammar that parts may use**, and their values: `symbol_name` str, `symbol_ref` SymbolRefAttr, `string`
  str, `word` str, `integer` int, `expr` Expr, `operand` Value, `operand_list` list[Value], `type` Type, `type_list` list, `attribute`
  Attribute, `attribute_list` list, `dictionary` DictAttr, `raw_angle` and `raw_square` Raw (the inside, without brackets),
  `entry_region` Region, `region_list`, and for functions `function_signature`, `function_results`, `function_body`, `typed_operands`,
  `call_operands` (`parser/actions/functions.py`). Lists hold one item or more. Names of your own rules and actions start with the dialect.
- **No reserved words.** A quoted word is a keyword only where the grammar accepts it there; where both it and `word` fit, it is
  the keyword. Quoted literals are words (`[A-Za-z_][A-Za-z0-9_$.]*`) or one of `-> ** :: ( ) , : = [ ] { } < > + * / | ? ; -`. No regular
  expressions in fragments.
- **Conflicts are errors** (lark's strict mode, shift/reduce too). The usual ones: `attribute` before `":"` (numbers and strings take a
  type), `type` and `expr` (or `word`) in the same place (each starts with a word), `expr` before `"-"` or `"*"`, two optional parts in a
  row that start with the same token, an optional `entry_region` before something that starts with `(` or `{`.
- `<` opens `raw_angle` only where a literal `"<"` is not acceptable; `[` likewise.
- An alternative without `-> action` passes on its only value, or a list of its values.
- `x*`, `x+`, `(...)?`, `[...]` work as in lark; the items of a repetition are spliced into the values of the rule (an absent `[x]`
  gives None).
- A dialect that uses rules or bodies of another one imports its module, and names it in its `Dialect(..., uses=("plan",))`; `bp` is
  always loaded along with any dialect of ours.
- The body of `#d.name<...>` / `!d.name<...>` is parsed by its start symbol in `ATTRIBUTE_BODIES` / `TYPE_BODIES`; any other start symbol
  for `context.body` must be listed in its `Dialect(..., starts=("bp_shape_body",))`.
- Bodies hold no lone `<`, `>` or unbalanced bracket (`a > b` only in custom forms), as LLVM scans them raw.
- `infer` runs when the custom form has been read, with operands, properties and regions set; all operands are defined by then.
  Where `ResultTypes` wrote types, they are taken, and the structural verifier compares them with `infer`.
- `Draft.attributes` sets discardable attributes (only `builtin.module` does). An operation that has discardable attributes
  which its parts do not print, or a property that no part prints, is printed in generic form.
- In the generic form of our operations, a key without a dot must be a declared property (a name in `required`, `optional` or of a part),
  in either dictionary.
- `spelling` replaces the name as the opening word; the full name is accepted as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from bpir import dialects
from bpir.ir.declaration import (
    ATTRIBUTE_BODIES,
    GRAMMARS,
    TYPE_BODIES,
    Action,
    Fragment,
    Raw,
    declared,
)
from bpir.parser.actions.affine import AFFINE_ACTIONS, AFFINE_FACTORIES
from bpir.parser.actions.attributes import ATTRIBUTE_ACTIONS, ATTRIBUTE_FACTORIES
from bpir.parser.actions.expressions import EXPRESSION_ACTIONS
from bpir.parser.actions.functions import FUNCTION_ACTIONS
from bpir.parser.actions.literals import LITERAL_ACTIONS, LITERAL_FACTORIES
from bpir.parser.actions.locations import LOCATION_ACTIONS, LOCATION_FACTORIES
from bpir.parser.actions.metadata import METADATA_ACTIONS
from bpir.parser.actions.operations import OPERATION_ACTIONS, OPERATION_FACTORIES, custom, custom_open
from bpir.parser.actions.types import TYPE_ACTIONS, TYPE_FACTORIES
from bpir.parser.base_grammar import BASE, BASE_STARTS
from bpir.parser.engine import NO_MEMO, ONLY_VALUE, SUMS, Program, RawAction
from bpir.parser.lexer import DICTIONARY, FUNCTION_TYPE, is_word
from bpir.parser.shortcuts.sums import SUM
from bpir.parser.state import ParserState
from bpir.parser.tables import Rule, Tables, tables


def _raw(p: ParserState, v: list[Any], start: int, end: int) -> Raw:
    text = v[0]
    return Raw(text[1:-1], p.span(end - len(text) + 1, end - 1))


_RAW_ACTIONS: dict[str, RawAction] = {
    **OPERATION_ACTIONS,
    **TYPE_ACTIONS,
    **ATTRIBUTE_ACTIONS,
    **LITERAL_ACTIONS,
    **AFFINE_ACTIONS,
    **LOCATION_ACTIONS,
    **EXPRESSION_ACTIONS,
    **METADATA_ACTIONS,
    **FUNCTION_ACTIONS,
    "raw": _raw,
}
_FACTORIES: dict[str, Callable[[tuple[str, ...]], RawAction]] = {
    **OPERATION_FACTORIES,
    **TYPE_FACTORIES,
    **ATTRIBUTE_FACTORIES,
    **LITERAL_FACTORIES,
    **AFFINE_FACTORIES,
    **LOCATION_FACTORIES,
}

_MEMOIZED = {
    "op_type": (0, re.compile(rf"[ \t]*+({FUNCTION_TYPE})").match),
    "op_properties": (1, re.compile(rf"[ \t]*+(<{DICTIONARY}>)").match),
    "op_attributes": (2, re.compile(rf"[ \t]*+({DICTIONARY})").match),
}
"""Nonterminals whose text often repeats: the number of their memo, and what finds such a text in most files."""


def named_dialects(text: str) -> tuple[str, ...]:
    """The dialects of ours that a text may name, those that they use included, loaded."""
    return dialects.load_all(name for name in dialects.available() if name + "." in text)


_programs: dict[tuple[str, ...], Program] = {}


def program(names: tuple[str, ...]) -> Program:
    """The parser of the base grammar and the dialects (already loaded)."""
    found = _programs.get(names)
    if found is None:
        text, starts, actions = compose(names)
        found = _programs[names] = _program(tables(text, starts), actions)
    return found


def compose(names: tuple[str, ...]) -> tuple[str, tuple[str, ...], Mapping[str, RawAction]]:
    """The grammar's text, its start symbols, and the actions of the dialects by name."""
    texts = [BASE]
    actions: dict[str, RawAction] = {}
    alternatives = []
    for name in names:
        for fragment in GRAMMARS.get(name, ()):
            _add(fragment, texts, actions)
    for declaration in declared(("builtin", "func", *names)):
        if declaration.syntax is None:
            continue
        rule = "op_" + re.sub(r"\W", "__", declaration.name)
        alternatives.append(rule)
        parts = [f"{rule}_{index}" for index in range(len(declaration.syntax))]
        texts.append(f"{rule}: {rule}_open {' '.join(parts)} -> {rule}\n")
        words = dict.fromkeys((declaration.spelling or declaration.name, declaration.name))
        texts.append(f"{rule}_open: " + "\n    | ".join(f'"{word}" -> {rule}_open' for word in words) + "\n")
        actions[rule] = custom(declaration)
        actions[rule + "_open"] = custom_open(declaration)
        for part, part_rule in zip(declaration.syntax, parts, strict=True):
            _add(part.fragment(part_rule), texts, actions)
    texts.append("custom: " + "\n    | ".join(alternatives) + "\n")
    return "\n".join(texts), (*BASE_STARTS, *_body_starts(names)), actions


def _body_starts(names: Iterable[str]) -> list[str]:
    wanted = set(names)
    bodies = [*ATTRIBUTE_BODIES.items(), *TYPE_BODIES.items()]
    starts = {start for name, start in bodies if name.partition(".")[0] in wanted}
    for name in names:
        starts.update(dialects.starts(name))
    return sorted(starts)


def _add(fragment: Fragment, texts: list[str], actions: dict[str, RawAction]) -> None:
    texts.append(fragment.rules if fragment.rules.endswith("\n") else fragment.rules + "\n")
    for name, action in fragment.actions.items():
        actions[name] = _Fragment(action)  # type: ignore[assignment]


class _Fragment:
    """Marks an action of a dialect until its rule is known."""

    def __init__(self, action: Action) -> None:
        self.action = action


def _program(found: Tables, actions: Mapping[str, RawAction]) -> Program:
    reductions = []
    memo_rules = {found.nonterminals.index(name): number for name, (number, _) in _MEMOIZED.items()}
    for rule in found.rules:
        call, index = _bound(rule, actions)
        number = ONLY_VALUE if len(rule.symbols) == 1 and index == 0 else memo_rules.get(rule.left, NO_MEMO)
        reductions.append((rule.left, len(rule.symbols), index, call, number))
    memos: dict[int, list[Any]] = {}
    for name, (number, match) in _MEMOIZED.items():
        left = found.nonterminals.index(name)
        for state, goto in enumerate(found.gotos):
            if left in goto:
                memos.setdefault(state, []).append((match, number, goto[left]))
    expression = found.nonterminals.index("expr")
    for state, goto in enumerate(found.gotos):
        if expression in goto and not any(isinstance(key, str) and is_word(key) for key in found.actions[state]):
            memos.setdefault(state, []).append((SUM.match, SUMS, goto[expression]))
    wholes = frozenset(_before_operations(found))
    return Program(found.actions, found.gotos, reductions, memos, found.starts, found, wholes, _whole_reader)


def _whole_reader(p: ParserState) -> Callable[[int, int], int | None]:
    from bpir.parser.shortcuts.whole import WholeReader  # its patterns are compiled for files with operations in generic form

    return WholeReader(p).read


def _before_operations(found: Tables) -> Iterator[int]:
    """The states in which an operation may come that leaves the parser in the same state: those behind a list of operations."""
    operation = found.nonterminals.index("operation")
    lists = {rule.left: rule.symbols for rule in found.rules if rule.symbols[1:] == ("operation",)}
    for left, (name, _) in lists.items():
        if found.nonterminals[left] == name:
            yield from {goto[left] for goto in found.gotos if left in goto and operation in found.gotos[goto[left]]}


def _bound(rule: Rule, actions: Mapping[str, RawAction]) -> tuple[RawAction | None, int]:
    """The action of a rule, or the index of the value that it passes on."""
    own = actions.get(rule.action)
    if isinstance(own, _Fragment):
        return _filtered(rule, own.action), -1
    if own is not None:
        return own, -1
    factory = _FACTORIES.get(rule.action)
    if factory is not None:
        return factory(rule.symbols), -1
    raw = _RAW_ACTIONS.get(rule.action)
    if raw is not None and not rule.helper:
        return raw, -1
    kept = [index for index, code in enumerate(rule.keep) if code]
    if len(kept) == 1 and rule.keep[kept[0]] == 1 and not rule.helper and not any(rule.empty):
        return None, kept[0]
    return _filtered(rule, lambda context, values, span: values), -1


def _filtered(rule: Rule, action: Action) -> RawAction:
    """An action that receives the kept values, with repetitions spliced in, and a span."""
    keep, empty = rule.keep, rule.empty
    if rule.helper and keep and keep[0] == 2:

        def grow(p: ParserState, v: list[Any], start: int, end: int) -> Any:
            found = v[0]
            for code, value in zip(keep[1:], v[1:], strict=True):
                if code == 2:
                    found.extend(value)
                elif code:
                    found.append(value)
            return found

        return grow

    def call(p: ParserState, v: list[Any], start: int, end: int) -> Any:
        values: list[Any] = []
        symbols = iter(zip(keep, v, strict=True))
        for absent in empty or (False,) * len(keep):
            if absent:
                values.append(None)
                continue
            code, value = next(symbols)
            if code == 2:
                values.extend(value)
            elif code:
                values.append(value)
        return action(p, values, p.span(start, end))

    return call
