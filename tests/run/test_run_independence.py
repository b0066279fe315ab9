"""The run judges derivations, so its modules import none of them, directly or through others."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support import ROOT

MLP = str(ROOT / "examples" / "mlp.bpir")
DERIVATIONS = ("passes", "verifiers", *(f"dialects.model.{part}" for part in ("sharding", "decompose", "phases", "macro")))


@pytest.mark.campaign(keep=2)
@pytest.mark.parametrize("module", ["check", "model.reference", "ranks.block", "operations", "memory.plans"])
def test_no_derivation_is_imported(module: str) -> None:
    """Importing `bpir.run` loads no derivation beyond what the `dist` dialect loads."""
    program = (
        "import sys; import bpir.dialects.dist, bpir.dialects.bind; before = set(sys.modules)\n"
        f"import bpir.run.{module}; print(*sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert f"bpir.run.{module}" in loaded
    assert not [name for name in loaded if name.startswith(tuple(f"bpir.{part}" for part in DERIVATIONS))]


def test_numpy_is_asked_for() -> None:
    """Without NumPy the tool says what to install."""
    program = (
        f"import sys; sys.modules['numpy'] = None\nfrom bpir.tools.bp_run import main\nsys.exit(main([{MLP!r}, '--source=' + {MLP!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "error: bp-run needs NumPy, which is not installed: pip install 'bpir[run]'\n"
