"""Commands of a page with the output that it shows, and whether a run agrees."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import attrs


@attrs.frozen
class Step:
    line: int
    command: str
    output: tuple[str, ...]


def steps(text: str) -> list[Step]:
    """The commands of a Markdown text with the output shown for them."""
    return [step for section in sections(text) for step in section]


def sections(text: str) -> list[list[Step]]:
    """The same, one list for each section (of the second level) that has a command: a command may read what an earlier one wrote."""
    found: list[list[Step]] = [[]]
    lines = iter(enumerate(text.splitlines(), 1))
    for _, line in lines:
        if re.match(r"##? ", line):
            found.append([])
        elif re.fullmatch(r"\s*```\s*(console|sh)\s*", line):
            found[-1] += _steps_of(list(itertools.takewhile(lambda numbered: numbered[1].strip() != "```", lines)))
        elif line.lstrip().startswith("```"):
            _end_of_block(lines)
    return [section for section in found if section]


def _end_of_block(lines: Iterator[tuple[int, str]]) -> None:
    """Pass over a block of another language, where a comment may look like a heading."""
    for _, line in lines:
        if line.strip() == "```":
            return


def _steps_of(block: list[tuple[int, str]]) -> list[Step]:
    found: list[Step] = []
    continued = False
    for number, line in block:
        if continued:
            last = found.pop()
            found.append(attrs.evolve(last, command=f"{last.command[:-1]}\n{line}".replace("\n", "")))
        elif line.startswith("$ "):
            found.append(Step(number, line[2:], ()))
        elif found:
            found[-1] = attrs.evolve(found[-1], output=(*found[-1].output, line))
        continued = (continued or line.startswith("$ ")) and line.endswith("\\")
    return found


def agrees(output: str, shown: tuple[str, ...]) -> bool:
    """Whether the output is what is shown; blanks at the ends of lines, and empty lines at the end, do not count."""
    pattern = "".join("(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + "\n" for line in shown)
    printed = "".join(line.rstrip() + "\n" for line in output.rstrip().splitlines())
    return re.fullmatch(pattern.rstrip("\n") + "\n*", printed) is not None
