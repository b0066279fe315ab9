"""Processor seconds of each configuration of `tests/data/whole_models.jsonl` through all that a user may do with it, each step a process.

    python benchmarks/configurations.py

Imported, distributed, planned, bound to the queue machine, and each of these verified again from the texts. Fails if one takes over 5 s.
"""

from __future__ import annotations

import json
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from measure import Run, tool

ROOT = Path(__file__).parent.parent
BOUND = 5.0
DISTRIBUTE = "--pass=distribute-inference{phase=decode tensor=1 batch=2 context=300}"
BIND = f"--pass=bind-queue{{target_file={ROOT / 'examples' / 'targets' / 'queue_machine.bpir'} memory=4000*2**30}}"


def seconds(config: object, folder: Path) -> float:
    """Processor seconds of all steps together.

    Raises:
        RuntimeError: a step fails.
    """
    levels = [str(folder / f"{level}.bpir") for level in ("model", "dist", "plan", "concrete")]
    given = folder / "config.json"
    given.write_text(json.dumps(config))
    bp_opt, bp_import, bp_verify = (tool(name) or name for name in ("bp-opt", "bp-import", "bp-verify"))
    commands = [[bp_import, str(given), "-o", levels[0]]]
    for step, (source, target) in zip((DISTRIBUTE, "--pass=plan-inference", BIND), pairwise(levels), strict=True):
        commands += [[bp_opt, source, step, "-o", target], [bp_verify, source, target]]
    return sum(Run(command).cpu for command in commands)


def main() -> int:
    rows = map(json.loads, (ROOT / "tests" / "data" / "whole_models.jsonl").read_text().splitlines())
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, config in {row["model"]: row["config"] for row in rows}.items():
            found[name] = seconds(config, Path(folder))
            print(f"{name:<24}{found[name]:>8.2f}", flush=True)
    print(f"{len(found)} configurations, at most {max(found.values()):.2f} s of processor time; the bound is {BOUND:.0f}")
    return max(found.values()) > BOUND


if __name__ == "__main__":
    sys.exit(main())
