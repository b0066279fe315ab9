"""Runs the tests on a sample of mutants and prints which survive: `python evidence/mutation_report.py GROUP [COUNT] [SEED] [--again]`.

GROUP is `ir` (the expression core) or `verifiers`; COUNT 0 takes every mutant. One mutant at a time is put into a copy of the tree, and
the test files that ought to notice it are run, the quickest first, until one fails. With `--again` only the survivors of the last run are
tried, and the others counted as they were. Nothing depends on the hash seed; a mutant that does not end is killed by the time limit.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from mutation import Mutant, all_mutants, sampled

ROOT = Path(__file__).parent.parent
SECONDS = 120  # for the tests of one mutant
MEGABYTES = 4_000

_FORMS = ("expression_bounds", "expression_nodes", "expression", "relations", "expression_round_trip", "sympy_bridge", "expression_limits")
_CLAIMS = ("relations", "expression_nodes", "expression", "sympy_bridge", "expression_limits", "claims")
_TRAINING = ("gate_training", "gate_gaps", "diagnostic_coverage", "corruption")
GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "ir": {
        "ir/expressions/expression.py": _FORMS,
        "ir/expressions/atoms.py": _FORMS,
        "ir/expressions/bounds.py": _FORMS,
        "ir/expressions/normal_form.py": _FORMS,
        "ir/expressions/late_operators.py": _FORMS,
        "ir/expressions/error.py": _FORMS,
        "ir/expressions/fraction.py": _FORMS,
        "ir/expressions/nodes.py": _FORMS,
        "ir/expressions/intervals.py": ("expression_bounds", "concrete_layout"),
        "ir/expressions/sums.py": _FORMS,
        "ir/expressions/terms.py": _FORMS,
        "ir/expressions/text.py": _FORMS,
        "ir/expressions/values.py": _FORMS,
        "ir/relations/facts.py": _CLAIMS,
        "ir/relations/proof.py": _CLAIMS,
        "ir/relations/remainders.py": ("remainders",),
        "ir/relations/smallest.py": ("explain_proof", "relations"),
        "ir/relations/system.py": _CLAIMS,
        "ir/relations/witness.py": _CLAIMS,
        "ir/relations/verdict.py": (*_CLAIMS, "explain_proof"),
    },
    "verifiers": {
        "verifiers/binding/module.py": ("concrete_gate", "concrete_binding", "diagnostic_coverage", "corruption"),
        "verifiers/derivation.py": ("tools_verify", "concrete_gate", "gate_gaps", "gate_distribution", "gate_planning"),
        "verifiers/structure/capacity.py": ("concrete_layout", "concrete_gate", "diagnostic_coverage"),
        "verifiers/chosen_bindings.py": ("gate_choices", "diagnostic_coverage", "gate_distribution", "gate_training"),
        "verifiers/statements.py": ("findings", "explain_proof", "diagnostic_coverage"),
        "verifiers/structure/concrete.py": ("concrete_gate", "concrete_layout", "diagnostic_coverage", "wrong_kinds"),
        "verifiers/structure/counts.py": ("counts", "diagnostic_coverage"),
        "verifiers/structure/dist.py": ("diagnostic_coverage", "dist_structure", "wrong_kinds", "corruption"),
        "verifiers/distribution/block.py": ("diagnostic_coverage", "gate_distribution", "gate_names", "gate_gaps", "corruption"),
        "verifiers/distribution/module.py": (
            "diagnostic_coverage",
            "gate_distribution",
            "gate_choices",
            "gate_names",
            "gate_gaps",
            "corruption",
        ),
        "verifiers/ssa/dominance.py": ("dominance", "conformance"),
        "verifiers/distribution/expert_rows.py": ("experts", "diagnostic_coverage", "corruption"),
        "verifiers/structure/exhaustion.py": ("effort", "diagnostic_coverage"),
        "verifiers/structure/forbidden_words.py": ("diagnostic_coverage", "plan_structure", "wrong_kinds"),
        "verifiers/inputs.py": ("diagnostic_coverage", "gate_choices", "gate_distribution", "gate_training", "corruption"),
        "verifiers/structure/levels.py": ("diagnostic_coverage", "pipeline_manager", "plan_structure"),
        "verifiers/structure/module.py": ("diagnostic_coverage", "plan_structure", "concrete_gate", "wrong_kinds"),
        "verifiers/structure/holders.py": ("diagnostic_coverage", "plan_structure", "wrong_kinds"),
        "verifiers/structure/network.py": ("networks", "diagnostic_coverage", "corruption"),
        "verifiers/distribution/network_calls.py": ("networks", "diagnostic_coverage", "corruption"),
        "verifiers/structure/plan.py": ("plan_structure", "diagnostic_coverage", "wrong_kinds", "corruption"),
        "verifiers/section_totals.py": ("networks", "diagnostic_coverage", "corruption"),
        "verifiers/planning/sections.py": ("networks", "diagnostic_coverage", "corruption"),
        "verifiers/binding/sections.py": ("networks", "diagnostic_coverage", "corruption"),
        "verifiers/structure/sections.py": ("networks", "diagnostic_coverage", "corruption"),
        "verifiers/stages/planned.py": ("gate_stages", "diagnostic_coverage", "corruption"),
        "verifiers/stages/capacity.py": ("job_memory", "diagnostic_coverage"),
        "verifiers/stages/memory.py": ("job_memory",),
        "verifiers/stages/rows.py": ("gate_stages", "diagnostic_coverage", "corruption"),
        "verifiers/stages/module.py": ("gate_stages", "diagnostic_coverage", "corruption"),
        "verifiers/planning/training_buffers.py": ("gate_training", "gate_gaps", "corruption"),
        "verifiers/planning/module.py": ("gate_planning", "diagnostic_coverage", "gate_training", "gate_gaps", "corruption"),
        "verifiers/planning/block.py": ("gate_planning", "diagnostic_coverage", "gate_training", "gate_gaps", "corruption"),
        "verifiers/ssa/distinct_properties.py": ("wrong_counts", "diagnostic_coverage", "wrong_kinds", "plan_structure"),
        "verifiers/rulebooks.py": ("rule_labels",),
        "verifiers/findings.py": (
            "findings",
            "rule_labels",
            "explain_proof",
            "gate_elements",
            "gate_distribution",
            "gate_planning",
            "diagnostic_coverage",
        ),
        "verifiers/ssa/operations.py": ("wrong_counts", "diagnostic_coverage", "plan_structure", "conformance", "wrong_kinds"),
        "verifiers/structure/symbols.py": ("diagnostic_coverage", "plan_structure", "pipeline", "wrong_kinds"),
        "verifiers/training/module.py": ("gate_choices", *_TRAINING),
        "verifiers/training/contradictions.py": ("gate_choices", *_TRAINING),
        "verifiers/distribution/corresponding_blocks.py": ("diagnostic_coverage", "gate_distribution", *_TRAINING),
        "verifiers/training/block.py": _TRAINING,
        "verifiers/training/gradients.py": _TRAINING,
        "verifiers/model_operations.py": _TRAINING,
        "verifiers/training/meaning.py": _TRAINING,
        "verifiers/training/memory.py": _TRAINING,
        "verifiers/training/names.py": _TRAINING,
        "verifiers/training/borders.py": _TRAINING,
        "verifiers/training/kept_values.py": _TRAINING,
        "verifiers/training/replicas.py": ("training_replicas", *_TRAINING),
        "verifiers/training/gathered_weights.py": ("training_weight_gathers", "training_replicas", *_TRAINING),
        "verifiers/zero_stages.py": ("training_replicas", *_TRAINING),
        "verifiers/training/weights.py": _TRAINING,
        "verifiers/binding/layout_and_fingerprints.py": ("concrete_gate", "concrete_layout", "diagnostic_coverage", "corruption"),
        "verifiers/declared_symbols.py": ("gate_choices", "gate_gaps", "diagnostic_coverage", "corruption"),
        "verifiers/dependencies.py": ("gate_planning", "concrete_gate", "corruption"),
        "verifiers/distribution/partial_sums.py": ("jax_collectives", "gate_distribution", "corruption"),
        "verifiers/distribution/placed_axes.py": ("diagnostic_coverage", "gate_distribution", "corruption"),
        "verifiers/structure/requirements.py": ("grouped_heads", "diagnostic_coverage"),
        "verifiers/planning/forms.py": ("experts", "diagnostic_coverage", "corruption"),
        "verifiers/sizes.py": ("gate_planning", "concrete_gate", "corruption"),
        "verifiers/distribution/possible_placements.py": ("typing_rule", "grouped_heads", "gate_distribution", "corruption"),
        "verifiers/distribution/kv_cache.py": ("diagnostic_coverage", "gate_distribution", "gate_names", "corruption"),
        "verifiers/distribution/typing_rule.py": ("typing_rule", "grouped_heads", "gate_distribution", "corruption"),
        "verifiers/distribution/workload.py": ("gate_choices", "diagnostic_coverage", "corruption"),
        "verifiers/planning/workspace.py": ("workspace", "gate_planning", "diagnostic_coverage"),
        "verifiers/training/layout.py": ("jax_collectives", "grouped_heads", *_TRAINING),
        "verifiers/training/model.py": _TRAINING,
    },
}
"""The files of a group, and for each the test files that ought to notice a change, in the order in which they are run."""

PROFILE = """
from hypothesis import Phase, settings
settings.register_profile("mutation", derandomize=True, database=None, deadline=None, phases=(Phase.explicit, Phase.generate))
"""


def prepare(folder: Path) -> Path:
    """A copy of the tree in which mutants are tried."""
    copy = folder / "tree"
    left_out = shutil.ignore_patterns(".*", "build", "Output", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=left_out)
    (folder / "mutation_profile.py").write_text(PROFILE)
    return copy


def tried(copy: Path, tests: tuple[str, ...], bytecode: bool = False) -> str:
    """`survived`, or what killed it: the first test that failed, or the time limit.

    Bytecode is written without mutants only: Python takes a file of the same size and second for unchanged.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "mutation_profile"]
    command += ["--hypothesis-profile=mutation", "--tier=all", *(str(next((copy / "tests").rglob(f"test_{name}.py"))) for name in tests)]
    environment = {**os.environ, "PYTHONPATH": f"{copy / 'src'}:{copy.parent}", "PYTHONHASHSEED": "0"}
    environment["PYTHONDONTWRITEBYTECODE"] = "" if bytecode else "1"

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEGABYTES * 2**20, MEGABYTES * 2**20))

    process = subprocess.Popen(
        command,
        cwd=copy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=bounded,
    )
    try:
        out, _ = process.communicate(timeout=10 * SECONDS if bytecode else SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "timeout"
    if process.returncode == 0:
        return "survived"
    failed = [line.split(" - ")[0] for line in out.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return failed[0] if failed else f"exit {process.returncode}: {out.strip().splitlines()[-1] if out.strip() else ''}"


def run(group: str, chosen: list[Mutant], known: dict[str, str]) -> dict[str, str]:
    """The outcome of each mutant, by key; `known` are not tried again."""
    outcomes = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = prepare(Path(folder))
        files = GROUPS[group]
        tests = tuple(dict.fromkeys(name for names in files.values() for name in names))
        began = time.perf_counter()
        found = tried(copy, tests, bytecode=True)
        if found != "survived":
            raise SystemExit(f"without a mutant the tests fail: {found}")
        print(f"{len(tests)} test files without a mutant: {time.perf_counter() - began:.0f} s", flush=True)
        for path in files:
            for compiled in (copy / path).parent.glob(f"__pycache__/{Path(path).stem}.*.pyc"):
                compiled.unlink()
        for index, mutant in enumerate(chosen):
            if mutant.key in known:
                outcomes[mutant.key] = known[mutant.key]
                continue
            source = (copy / mutant.path).read_bytes()
            (copy / mutant.path).write_bytes(mutant.apply(source))
            began = time.perf_counter()
            outcomes[mutant.key] = found = tried(copy, files[mutant.path])
            (copy / mutant.path).write_bytes(source)
            took = time.perf_counter() - began
            print(f"{index + 1}/{len(chosen)} {mutant.path}:{mutant.line} {mutant.what}: {found} ({took:.0f} s)", flush=True)
            if found == "survived":
                print(mutant.difference(source), flush=True)
    return outcomes


def _print_outcomes(group: str, chosen: list[Mutant], sources: dict[str, bytes], outcomes: dict[str, str]) -> None:
    """The survivors with their changes, and the counts of each file."""
    print("\nsurvivors:")
    for mutant in chosen:
        if outcomes[mutant.key] == "survived":
            print(f"  {mutant.path}:{mutant.line} {mutant.function}: {mutant.what}")
            print(mutant.difference(sources[mutant.path]))
    print("\nby file: mutants, killed")
    for path in GROUPS[group]:
        mine = [outcomes[m.key] for m in chosen if m.path == path]
        print(f"  {path:34} {len(mine):>5} {sum(found != 'survived' for found in mine):>5}")


def main() -> int:
    words = [word for word in sys.argv[1:] if word != "--again"]
    if not words or words[0] not in GROUPS:
        print(__doc__)
        return 2
    group, count, seed = [words[0], *(int(word) for word in words[1:]), *(200, 0)[len(words) - 1 :]][:3]
    everything = all_mutants(ROOT, list(GROUPS[group]))
    chosen = sampled(everything, count or len(everything), seed)
    sources = {path: (ROOT / path).read_bytes() for path in GROUPS[group]}
    state = ROOT / "build" / f"mutation-{group}.json"
    last = json.loads(state.read_text()) if "--again" in sys.argv and state.exists() else {}
    outcomes = run(group, chosen, {key: found for key, found in last.items() if found != "survived"})
    state.parent.mkdir(exist_ok=True)
    state.write_text(json.dumps({**last, **outcomes}, indent=1))
    _print_outcomes(group, chosen, sources, outcomes)
    tally = Counter(found if found in ("survived", "timeout") else "killed" for found in outcomes.values())
    dead = len(chosen) - tally["survived"]
    print(f"\n{len(chosen)} of {len(everything)} mutants (seed {seed}): " + ", ".join(f"{n} {what}" for what, n in sorted(tally.items())))
    print(f"score {dead}/{len(chosen)} = {100 * dead / len(chosen):.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
