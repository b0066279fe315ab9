"""The pages that tell a newcomer where to go lead somewhere, and `make help` names every target."""

from __future__ import annotations

import re
import subprocess

import pytest
from support import ROOT

PAGES = ("CONTRIBUTING.md", "SECURITY.md")


@pytest.mark.parametrize("page", PAGES)
def test_links_and_files_that_a_page_names_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [target.split("#")[0] for target in re.findall(r"\]\(([^)]+)\)", text)]
    files = re.findall(r"\b(?:tests|lit_tests|dialects|importer|ir|run|verifiers|passes)/[\w/.*]*[\w/]", text)
    assert links
    for target in (*links, *files):
        assert list(ROOT.glob(target.rstrip("/"))), target


def test_make_help_names_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    done = subprocess.run(["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert sorted(re.findall(r"^make (\S+) +\w", done.stdout, re.MULTILINE)) == sorted(phony[1].split())
