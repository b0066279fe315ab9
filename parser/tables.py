"""LALR tables: lark builds them from grammar text once, afterwards they are read from a cache without lark.

Where they are kept says `startup/kept.py`.
"""

from __future__ import annotations

import marshal
import re
import sys
from typing import Any, NamedTuple

from bpir.ir.records import Record
from bpir.parser.lexer import END, TERMINALS, TOKEN
from bpir.startup.kept import DIGEST, digest, keep, places

ACCEPT = 1 << 40
"""The action of the end of the text where a start symbol is complete. Others: a state to shift to, or `~rule` to reduce."""

_FORMAT = 7  # of the cached file
_OPENERS = frozenset("([{<")
_CLOSERS = frozenset(")]}>")


class Rule(NamedTuple):
    """A rule of the grammar: what it reduces, and how the values of its symbols become the values of its action."""

    left: int  # number of its nonterminal
    action: str  # its alias, or nothing
    symbols: tuple[str, ...]
    keep: tuple[int, ...]  # a code per symbol: 0 dropped, 1 kept, 2 its list is spliced in
    helper: bool  # made for `*` and `+`: its value is a list to be spliced
    empty: tuple[bool, ...]  # where `[...]` was absent (lark's `empty_indices`)


class Tables(metaclass=Record):
    """The tables of the engine. A key of `actions` is the text of a literal token, or the number of a token class."""

    actions: list[dict[str | int, int]]
    gotos: list[dict[int, int]]
    rules: list[Rule]
    starts: dict[str, int]
    nonterminals: list[str]
    openers: frozenset[int]  # states entered by an opening bracket (but not the `(` of `({`)
    closers: frozenset[int]  # states entered by a closing bracket
    closing: dict[int, dict[str, str]]  # per state: a closing bracket to the rule that it closes


def tables(grammar: str, starts: tuple[str, ...]) -> Tables:
    """The tables of a grammar, from the cache if it has them."""
    key = "\0".join([str(_FORMAT), str(sys.implementation.cache_tag), *starts, grammar])
    name = f"grammar-{digest(key.encode()).hex()}.tables"
    plain = None
    for path in places(name):
        plain = _read(path, key)
        if plain is not None:
            break
    else:
        plain = build(grammar, starts)
        data = marshal.dumps((key, plain))
        keep(name, digest(data) + data)
    actions, gotos, rules, start_states, nonterminals, openers, closers, closing = plain
    return Tables(actions, gotos, [Rule(*r) for r in rules], start_states, nonterminals, frozenset(openers), frozenset(closers), closing)


def _read(path: str, key: str) -> Any:
    """The tables in a file; None if it is not there, is damaged, or holds those of another grammar."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    if digest(data[DIGEST:]) != data[:DIGEST]:
        return None
    of, plain = marshal.loads(data[DIGEST:])
    return plain if of == key else None


def build(grammar: str, starts: tuple[str, ...]) -> Any:
    """The plain tables (dicts, lists, tuples) of a grammar.

    Raises:
        lark.exceptions.GrammarError: the grammar is malformed, or has a conflict of any kind.
    """
    from lark.common import ParserConf
    from lark.load_grammar import load_grammar
    from lark.parsers.lalr_analysis import LALR_Analyzer

    load: Any = load_grammar  # lark's functions have no types

    text = grammar + "\n%declare " + " ".join(name for name in TERMINALS if name[0] != "$") + "\n"
    loaded, _ = load(text, "<bpir>", [], False)
    terminals, rules, _ = loaded.compile(list(starts), "*")
    keys: dict[str, str | int] = dict(TERMINALS)
    for terminal in terminals:
        keys[terminal.name] = _literal(terminal.pattern)
    analyzer: Any = LALR_Analyzer(ParserConf(rules, {}, list(starts)), debug=True, strict=True)
    analyzer.compute_lalr()
    table = analyzer.parse_table
    nonterminals = sorted({str(rule.origin.name) for rule in rules})
    left = {name: number for number, name in enumerate(nonterminals)}
    numbers = {closure: number for number, closure in enumerate(table.states)}
    rows = _Rows(keys, left, numbers, {rule: number for number, rule in enumerate(rules)})
    for row in table.states.values():
        rows.add(row)
    for closure in set(table.end_states.values()):
        rows.actions[numbers[closure]][END] = ACCEPT
    closing = {number: closers for closure, number in numbers.items() if (closers := _closers(closure, keys))}
    starts_at = {str(name): numbers[closure] for name, closure in table.start_states.items()}
    plain_rules = [tuple(_plain_rule(rule, left)) for rule in rules]
    return rows.actions, rows.gotos, plain_rules, starts_at, nonterminals, sorted(rows.openers), sorted(rows.closers), closing


class _Rows:
    """The rows of lark's table with numbers for its states, rules and nonterminals, and which states brackets lead to."""

    def __init__(self, keys: dict[str, str | int], left: dict[str, int], states: dict[Any, int], rules: dict[Any, int]) -> None:
        self._keys = keys
        self._left = left
        self._states = states
        self._rules = rules
        self.actions: list[dict[str | int, int]] = []
        self.gotos: list[dict[int, int]] = []
        self.openers: set[int] = set()
        self.closers: set[int] = set()

    def add(self, row: Any) -> None:
        """Add the row of the next state."""
        action: dict[str | int, int] = {}
        goto: dict[int, int] = {}
        for name, (kind, argument) in row.items():
            if str(kind) == "Reduce":
                action[self._keys[name]] = ~self._rules[argument]
            elif name in self._left and name not in self._keys:
                goto[self._left[name]] = self._states[argument]
            else:
                action[self._keys[name]] = self._states[argument]
                self._note_bracket(self._keys[name], argument)
        self.actions.append(action)
        self.gotos.append(goto)

    def _note_bracket(self, key: str | int, state: Any) -> None:
        if key in _OPENERS and not _of_regions(state):
            self.openers.add(self._states[state])
        elif key in _CLOSERS:
            self.closers.add(self._states[state])


def _closers(closure: Any, keys: dict[str, str | int]) -> dict[str, str]:
    """The brackets (and `:`) that may come in a state, each with the rule that it closes."""
    return {
        str(keys[pointer.next.name]): str(pointer.rule.origin.name)
        for pointer in sorted(closure, key=str)
        if pointer.index < len(pointer.rule.expansion) and keys.get(pointer.next.name) in (*_CLOSERS, ":")
    }


def _of_regions(state: Any) -> bool:
    return any(pointer.rule.origin.name == "regions" and pointer.index == 1 for pointer in state)


def _literal(pattern: Any) -> str:
    text = str(pattern.value)
    match = TOKEN.fullmatch(text)
    if type(pattern).__name__ != "PatternStr" or match is None or match.lastindex not in (1, 2):
        raise ValueError(f"a grammar may only use literal words and punctuation, not {text!r}")
    return text


def _plain_rule(rule: Any, left: dict[str, int]) -> Rule:
    keep = []
    for symbol in rule.expansion:
        if symbol.is_term:
            keep.append(0 if symbol.filter_out else 1)
        else:
            keep.append(2 if _is_helper(symbol.name) else 1)
    name = str(rule.origin.name)
    return Rule(
        left[name],
        str(rule.alias or ""),
        tuple(str(symbol.name) for symbol in rule.expansion),
        tuple(keep),
        _is_helper(name),
        tuple(rule.options.empty_indices) if rule.options else (),
    )


def _is_helper(name: str) -> bool:
    return re.match("_", name) is not None
