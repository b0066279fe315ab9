"""LLVM's verdict on small files in generic form: we accept, reject and print as `mlir-opt` does."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.ir.equality import equal
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.parser import parse_module
from bpir.tools.texts.split import split
from bpir.verifiers.ssa.operations import verify

FOLDER = Path(__file__).parent.parent / "conformance"
CASES = [json.loads(line) for line in (FOLDER / "index.jsonl").read_text().splitlines()]
MLIR = shutil.which("mlir-opt-19") or shutil.which("mlir-opt")


def read(text: str, case: dict[str, Any]) -> list[Operation]:
    source = Source(case["file"], text)
    modules = []
    for part in split(source) if case.get("flags") else (source,):
        module = parse_module(part, allow_unregistered=True)
        problems = verify(module)
        if problems:
            raise DiagnosticError(*problems)
        modules.append(module)
    return modules


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_verdict_and_place(case: dict[str, Any]) -> None:
    text = (FOLDER / case["file"]).read_bytes().decode("latin-1")
    if case["verdict"] == "accepted":
        for module in read(text, case):
            for generic in (False, True):
                printed = print_module(module, generic)
                again = parse_module(Source("printed", printed), allow_unregistered=True)
                assert equal(module, again)
                assert print_module(again, generic) == printed
    else:
        with pytest.raises(DiagnosticError) as caught:
            read(text, case)
        span = caught.value.diagnostics[0].span
        assert span is not None
        if not case.get("flags"):
            assert 0 <= span.source.position(span.start)[0] - case["line"] <= 1


@pytest.mark.campaign(keep=16)
@pytest.mark.skipif(MLIR is None, reason="mlir-opt is not installed")
@pytest.mark.parametrize("case", [c for c in CASES if c["verdict"] == "accepted"], ids=lambda case: case["file"])
def test_llvm_reads_the_same_ir(case: dict[str, Any]) -> None:
    assert MLIR is not None
    text = (FOLDER / case["file"]).read_bytes().decode("latin-1")
    printed = "\n// -----\n".join(print_module(module, generic=True) for module in read(text, case))
    command = [MLIR, "--allow-unregistered-dialect", "--mlir-print-op-generic", *case.get("flags", ()), "-"]
    done = subprocess.run(command, input=printed.encode("latin-1"), capture_output=True, check=True)
    assert done.stdout == (FOLDER / case["file"].replace(".mlir", ".out")).read_bytes()
