"""Refuses FileCheck lines that check nothing, and those on which `filecheck` and LLVM's FileCheck disagree."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

Complaint = tuple[int, str]  # line (0: the whole file), message

_SUFFIXES = {"", "NEXT", "SAME", "NOT", "DAG", "LABEL", "EMPTY"}
_OPTIONS = {
    "--check-prefix",
    "--check-prefixes",
    "--strict-whitespace",
    "--match-full-lines",
    "--enable-var-scope",
    "--allow-empty",
    "--input-file",
    "--comment-prefixes",
    "--reject-empty-vars",
}
_RUN = re.compile(r"\bRUN:")
_PREFIXES = re.compile(r"--check-prefix(?:es)?[= ]([\w,-]+)")


def lint(text: str) -> list[Complaint]:
    """What is wrong with the FileCheck directives of a test."""
    lines = text.splitlines()
    runs = [(n, line) for n, line in enumerate(lines, 1) if _RUN.search(line) and "FileCheck" in line]
    if not runs:
        return []
    prefixes: set[str] = set()
    found: list[Complaint] = []
    for number, line in runs:
        for call in re.findall(r"\bFileCheck\b([^|]*)", line):
            named = {name for group in _PREFIXES.findall(call) for name in group.split(",")}
            prefixes |= named or {"CHECK"}
            found += [
                (number, f"option {option} is not in both tools")
                for option in re.findall(r"\s(--?[A-Za-z][\w-]*)", call)
                if option not in _OPTIONS and not option.startswith("-D")
            ]
    used: set[str] = set()
    pattern = _directive_pattern(prefixes)
    for number, line in enumerate(lines, 1):
        if not re.search(r"\b(RUN|COM):", line):
            found += [(number, message) for message in _line(line, pattern, prefixes, used)]
    found += [(0, f"prefix {prefix} is never used") for prefix in sorted(prefixes - used)]
    return found


def _directive_pattern(prefixes: set[str]) -> re.Pattern[str]:
    names = "|".join(sorted(map(re.escape, prefixes), key=len, reverse=True))
    return re.compile(rf"(?<![\w-])({names})([-_ ]?)([A-Z0-9_-]*)(\{{LITERAL\}})?(:?)")


def _line(line: str, pattern: re.Pattern[str], prefixes: set[str], used: set[str]) -> Iterator[str]:
    """Complaints about the first directive of the line; `used` collects the prefixes that check something."""
    match = pattern.search(line)
    if not match:
        return
    prefix, separator, suffix, literal, colon = match.groups()
    body = line[match.end() :]
    if separator == " " or not colon:
        if re.match(r"\s*(//|#|;)\s*" + re.escape(prefix), line):
            yield f"no colon after {match[0].strip()}: this line checks nothing"
    elif separator == "_":
        yield f"misspelt directive {prefix}{separator}{suffix}"
    elif separator == "" and suffix:
        return  # a longer word that is no directive
    elif suffix not in _SUFFIXES and not re.fullmatch(r"COUNT-[1-9][0-9]*", suffix):
        if f"{prefix}-{suffix}" not in prefixes:
            yield f"unknown directive {prefix}-{suffix}"
    else:
        if suffix in ("NEXT", "SAME", "EMPTY") and not used:
            yield f"{suffix} before any {prefix}"
        used.add(prefix)
        if not literal:
            yield from _body(suffix, body)


def _body(suffix: str, body: str) -> Iterator[str]:
    """Complaints about what a directive matches."""
    if suffix != "EMPTY" and not body.strip():
        yield "empty check string"
    if suffix == "LABEL" and "[[" in body:
        yield "variable in a LABEL"
    for regex in re.findall(r"\{\{(.*?)\}\}", body) + re.findall(r"\[\[\$?\w+:(.*?)\]\]", body):
        if re.search(r"\\[dDwWsSbB]", regex):
            yield "regex class such as \\d: not POSIX; write [0-9]"
        if regex.strip(" ") in ("+", "*"):
            yield "regex of blanks: LLVM reads several as one; write one"
        if re.search(r"\(\?|[*+?}]\?", regex):
            yield "lookaround or lazy quantifier: not POSIX"
    for block in re.findall(r"\[\[(.*?)\]\]", re.sub(r"\{\{.*?\}\}", "", body)):
        if block.startswith(("#", "@")):
            yield f"numeric block [[{block}]]: LLVM only"
        elif not re.match(r"\$?[A-Za-z_]\w*(:|$)", block):
            yield f"[[{block[:20]}]] is not a variable: write {{{{\\[\\[}}}}"


def main(paths: list[str]) -> int:
    bad = False
    for path in paths:
        for number, message in lint(Path(path).read_text(encoding="utf-8", errors="replace")):
            print(f"{path}:{number}: {message}")
            bad = True
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
