"""Runs the examples in Python of a page of the documentation: `python tests/api/docs_python.py docs/api.md`.

What is in a `pycon` block is compared with what it prints (doctest); a `python` block must run. A page is run in a process of its own,
because an example may add an operation or a family.
"""

from __future__ import annotations

import doctest
import re
import sys
import warnings
from pathlib import Path

_BLOCK = re.compile(r"^```(pycon|python)\b[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[tuple[str, str]]:
    """The language and the text of each example."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


def run(page: Path) -> int:
    """Run the examples of a page in one namespace; how many there are."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    found = blocks(page)
    for index, (language, text) in enumerate(found):
        name = f"{page.name}, example {index + 1}"
        if language == "python":
            exec(compile(text, name, "exec"), namespace)
        else:
            test = doctest.DocTestParser().get_doctest(text, namespace, name, str(page), 0)
            assert test.examples, f"{name} has no prompt"
            test.globs = namespace  # get_doctest copies it, and what an example names is used by the next
            said: list[str] = []
            failed = doctest.DocTestRunner(verbose=False).run(test, out=said.append, clear_globs=False).failed
            assert not failed, "".join(said)
    return len(found)


def main(path: str) -> None:
    """Run a page, and print how many examples it has. A warning that the page does not speak of is an error."""
    warnings.simplefilter("error")
    print(run(Path(path)))


if __name__ == "__main__":
    main(sys.argv[1])
