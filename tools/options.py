"""Command lines: a table of options, which drives both the parsing and `--help`.

It imports nothing but what the interpreter has loaded, because `--help` must answer at once.
"""

from __future__ import annotations


class UsageError(Exception):
    """The command line is wrong; the message says how."""


class Option:
    """One option.

    Args:
        names: its name without `--`, then further spellings. A name of one letter is written with one dash.
        value: the placeholder of its value; "" for a flag, which also has a negation `--no-NAME`.
        help: one line for `--help`; "" for an option that another one's line mentions.
        choices: the values allowed, if they are few.
        implied: the value if none is written after `=`; None where one is required.
    """

    def __init__(self, *names: str, value: str = "", help: str = "", choices: tuple[str, ...] = (), implied: str | None = None) -> None:
        self.name, self.names = names[0], names
        self.value, self.help, self.choices, self.implied = value, help, choices, implied

    @property
    def spelling(self) -> str:
        dashes = "-" if len(self.name) == 1 else "--"
        if not self.value:
            return dashes + self.name
        return dashes + self.name + (" " if len(self.name) == 1 else "=") + self.value


HELP = Option("help", "h", help="show this text")
VERSION = Option("version", help="show the version")
COLOR = Option(
    "color",
    value="WHEN",
    help="color diagnostics and modules: auto (default), always, never",
    choices=("auto", "always", "never"),
    implied="always",
)
OUTPUT = Option("o", value="FILE", help="write to FILE, whole or not at all")
VERIFY_DIAGNOSTICS = Option("verify-diagnostics", help="compare diagnostics with // expected-error@+1 {{text}}")
SPLIT_INPUT_FILE = Option("split-input-file", help="process the parts between '// -----' on their own")


class Arguments:
    """The arguments in order: `(name, value)` of the options, and the others."""

    def __init__(self) -> None:
        self.given: list[tuple[str, str]] = []
        self.positional: list[str] = []

    def value(self, name: str) -> str | None:
        """The last value of the option."""
        return next((value for given, value in reversed(self.given) if given == name), None)

    def values(self, name: str) -> list[str]:
        return [value for given, value in self.given if given == name]

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.value(name)
        return default if value is None else value == "true"


def parse(arguments: list[str], table: list[Option]) -> Arguments:
    """The arguments by the table.

    Raises:
        UsageError: an option is unknown or its value is missing or wrong.
    """
    known = {name: option for option in table for name in option.names}
    result = Arguments()
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            result.positional.extend(rest)
        elif not argument.startswith("-") or argument == "-":
            result.positional.append(argument)
        else:
            _parse_option(argument, known, rest, result)
    return result


def _parse_option(argument: str, known: dict[str, Option], rest: object, result: Arguments) -> None:
    spelled, equals, value = argument.lstrip("-").partition("=")
    option = known.get(spelled)
    if option is None and spelled.startswith("no-"):
        option = known.get(spelled[3:])
        if option is not None and not option.value and not equals:
            result.given.append((option.name, "false"))
            return
        option = None
    if option is None:
        raise UsageError(f"unknown option '{argument.partition('=')[0]}'{_near(spelled, known)}")
    if not option.value:
        result.given.append((option.name, _truth(option, value, bool(equals))))
        return
    if not equals:
        following = option.implied if option.implied is not None else next(rest, None)  # type: ignore[call-overload]
        if following is None:
            raise UsageError(f"option '{option.spelling}' needs a value")
        value = following
    if option.choices and value not in option.choices:
        raise UsageError(f"option '{option.spelling}' expects one of {', '.join(option.choices)}, not '{value}'")
    result.given.append((option.name, value))


def _truth(option: Option, value: str, given: bool) -> str:
    """`true` or `false`, for an option that is one of them; without a value it is true."""
    words = {"": "true", "true": "true", "1": "true", "false": "false", "0": "false"}
    if value not in words or (given and not value):
        raise UsageError(f"option '{option.spelling}' is true or false, not '{value}'")
    return words[value]


def _near(name: str, known: dict[str, Option]) -> str:
    from bpir.passes import PASSES

    if name in PASSES and "pass" in known:
        return f"; did you mean '--pass={name}'?"
    from difflib import get_close_matches  # only when a user errs

    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean '{'-' if len(near[0]) == 1 else '--'}{near[0]}'?" if near else ""


def help_text(usage: str, about: str, table: list[Option], closing: str = "") -> str:
    """The text of `--help`: usage, what the tool does, one line an option."""
    shown = [option for option in table if option.help]
    width = max(len(option.spelling) for option in shown) + 2
    lines = [f"usage: {usage}", "", about, ""]
    lines += [f"  {option.spelling:<{width}}{option.help}" for option in shown]
    return "\n".join(lines) + "\n" + (f"\n{closing}\n" if closing else "")
