"""`bp-opt --format` keeps every comment and every meaning, and has nothing to do a second time."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from support import ROOT
from tiers import examples

from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.ir.printer import print_module
from bpir.parser import parse_module
from bpir.tools.texts.formatting import format_module
from bpir.verifiers.structure import module as structure

pytestmark = pytest.mark.slow

FILES = sorted(p for folder in ("examples", "lit_tests") for p in (ROOT / folder).rglob("*") if p.suffix in (".bpir", ".mlir"))


def meaning(text: str) -> str:
    """The generic form, locations and all, of a module whose structure is sound.

    Raises:
        DiagnosticError: it is not.
    """
    module = parse_module(Source("file", text), allow_unregistered=True)
    problems = [problem for problem in structure.verify(module) if problem.severity == "error"]
    if problems:
        raise DiagnosticError(*problems)
    return print_module(module, generic=True, locations=True)


def sections(path: Path) -> list[str]:
    """The parts of a file that are well formed."""
    found = []
    for part in re.split(r"^// -----.*\n", path.read_bytes().decode("latin-1"), flags=re.MULTILINE):
        try:
            meaning(part)
        except DiagnosticError:
            continue
        found.append(part)
    return found


def comments(text: str) -> list[str]:
    """The comments of a text that has no `//` in a string."""
    return re.findall(r"//[^\n\r]*", text)


def formatted(text: str) -> str:
    return format_module(Source("file", text), allow_unregistered=True)


@pytest.mark.campaign(keep=60)
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_of_the_project(path: Path) -> None:
    for text in sections(path):
        once = formatted(text)
        assert meaning(once) == meaning(text)
        assert sorted(c.rstrip() for c in comments(once)) == sorted(c.rstrip() for c in comments(text))
        assert formatted(once) == once


def test_where_comments_and_empty_lines_go() -> None:
    text = """// head

module @m {
  bp.symbols B, S, H, F, e // the symbols


  // a block
  model.block @b(%x: !bp.tensor<B x S x H, e>) {
      %a, %b = model.linear // in the middle
         "l" %x : [F], [F]// two

    "model.return"(%a, %b) : (!bp.tensor<B x S x F, e>, !bp.tensor<B x S x F, e>) -> ()
    // end
  } // closed
}
// last
"""
    assert (
        formatted(text)
        == """// head

module @m {
  bp.symbols B, S, H, F, e  // the symbols

  // a block
  model.block @b(%x: !bp.tensor<B x S x H, e>) {
    // in the middle
    %a, %b = model.linear "l" %x : [F], [F]  // two

    model.return %a, %b
    // end
  }  // closed
}
// last
"""
    )


def test_only_comments() -> None:
    assert formatted("\n\n// one\n\n\n// two") == "// one\n\n// two\n"
    assert formatted("") == ""


WORDS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|\s+|[%@#!^]?[\w.$]+|.')


def commented(text: str, random: Random) -> str:
    """The text with comments, line ends and blanks between any of its tokens."""
    out = []
    tokens = [t for t in WORDS.findall(text) if not t.startswith("//")]
    number = 0
    for before, token in zip(["", *tokens], tokens, strict=False):
        out.append(token)
        glued = token[-1:] in "!#@%^" or before[-1:] in "!#@%^"
        if token.isspace() and not glued and random.random() < 0.25:
            number += 1
            out.append(
                random.choice(
                    (f"// c{number}\n", f"\n// c{number}\n", f"\n\n\n// c{number}\n\n", "\n\n", f"// c{number} // more\n  // c\n")
                )
            )
    return "".join(out)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(4))
def test_comments_at_every_place(part: int) -> None:
    """More of them: `python tests/tools/test_formatting.py 2000`."""
    check(range(part * 15, part * 15 + 15))


def check(seeds: range) -> None:
    texts = [text for path in FILES for text in sections(path) if len(text) < 3000 and '"//' not in text]
    for seed in seeds:
        random = Random(seed)
        text = commented(random.choice(texts), random)
        try:
            wanted = meaning(text)
        except DiagnosticError:
            continue  # a comment in the raw body of an unknown dialect, which keeps it
        once = formatted(text)
        assert meaning(once) == wanted, seed
        assert sorted(c.rstrip() for c in comments(once)) == sorted(c.rstrip() for c in comments(text)), seed
        assert formatted(once) == once, seed


@pytest.mark.random
def test_a_comment_in_any_gap() -> None:
    """Between any two tokens, also where no blank stands; most such places are of the language."""
    assert check_gaps(range(examples(60))) > examples(40)


def check_gaps(seeds: range) -> int:
    """One comment put into one gap of a text each; how many of these were of the language."""
    texts = [text for path in FILES for text in sections(path) if len(text) < 2500 and '"//' not in text]
    count = 0
    for seed in seeds:
        random = Random(seed)
        text = random.choice(texts)
        gap = random.choice([match.end() for match in WORDS.finditer(text) if not match[0].startswith("//")])
        changed = text[:gap] + random.choice(("// c1\n", " // c1\n", "\n// c1\n", "\n\n// c1\n\n")) + text[gap:]
        try:
            wanted = meaning(text)
            if meaning(changed) != wanted:
                continue  # it divided a token, or is in a string
        except DiagnosticError:
            continue
        count += 1
        once = formatted(changed)
        assert meaning(once) == wanted, seed
        assert sorted(c.rstrip() for c in comments(once)) == sorted(c.rstrip() for c in comments(changed)), seed
        assert formatted(once) == once, seed
    return count


if __name__ == "__main__":
    import sys

    check(range(int(sys.argv[1])))
    check_gaps(range(int(sys.argv[1])))
