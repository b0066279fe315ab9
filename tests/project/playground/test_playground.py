"""The playground: its Python gives the bytes of the tools, and its page works in a browser with nothing from elsewhere."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from support import ROOT

pytestmark = pytest.mark.long

EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.bpir"))
NODE = shutil.which("node")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
HERE = Path(__file__).parent
ENVIRONMENT = {**os.environ, "NODE_PATH": str(ROOT / "build" / "npm" / "node_modules")}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that is served; the workers of a run share it."""
    if NODE is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    shared = tmp_path_factory.getbasetemp().parent if os.environ.get("PYTEST_XDIST_WORKER") else tmp_path_factory.getbasetemp()
    target = shared / "playground-site" / "playground"
    with open(shared / "playground.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "wheels.json").is_file():
            command = [sys.executable, str(ROOT / "playground" / "build.py"), str(target)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=400)
            if done.returncode:
                pytest.skip(f"the playground can't be built here: {done.stderr[-300:]}")
    return target


def tool(name: str, *arguments: str, folder: Path) -> tuple[bytes, str]:
    """The outputs of a tool, run as a process of its own in a folder."""
    done = subprocess.run([str(Path(sys.executable).parent / name), *arguments], cwd=folder, capture_output=True, timeout=120)
    return done.stdout, done.stderr.decode()


def passes_of(name: str) -> list[str]:
    kind = "training" if "training" in name else "inference"
    return [f"distribute-{kind}", f"plan-{kind}"]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_its_text_is_that_of_the_tools_for_every_example(built: Path, tmp_path: Path) -> None:
    """Plan, table and picture; and what is said of a mistake."""
    requests: list[dict[str, Any]] = []
    expected: list[str] = []
    said: list[str] = []
    texts = {name: (ROOT / "examples" / name).read_text(encoding="utf-8") for name in EXAMPLES}
    texts["mistake"] = texts["mlp.bpir"].replace("model.gelu", "model.gelo")
    for name, text in texts.items():
        (tmp_path / "input.bpir").write_text(text, encoding="utf-8")
        passes = [f"--pass={each}" for each in passes_of(name)]
        for view in ("text", "table", "picture") if name in ("mlp.bpir", "gpt3_175b_training.bpir") else ("text",):
            requests.append({"text": text, "passes": passes_of(name), "numbers": "", "view": view})
            out, err = tool("bp-opt", "input.bpir", *passes, folder=tmp_path)
            if view != "text":
                (tmp_path / "derived.bpir").write_bytes(out)
                out, _ = tool("bp-report", "derived.bpir", f"--format={'svg' if view == 'picture' else 'table'}", folder=tmp_path)
            expected.append(sha256(out))
            said.append(err)
    command = [str(NODE), str(HERE / "playground_node.mjs"), str(built)]
    done = subprocess.run(command, input=json.dumps(requests), capture_output=True, text=True, env=ENVIRONMENT, timeout=400)
    assert done.returncode == 0, done.stdout[-300:] + done.stderr[-1000:]
    answers = json.loads(done.stdout)
    assert [sha256(answer["output"].encode()) for answer in answers] == expected
    assert [answer["said"] for answer in answers] == said
    mistake = answers[-1]["places"]
    assert [(place["line"], place["column"], place["severity"]) for place in mistake] == [(13, 10, "error")]
    assert texts["mistake"].splitlines()[12][9 : 9 + mistake[0]["length"]].startswith("model.gelo")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_its_page_in_a_browser(built: Path, tmp_path: Path) -> None:
    """Type, mistake with its place, table, picture, link, on a desktop and on a phone; from a plain file server and no other host."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(built.parent)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/playground/index.html"
        command = [str(NODE), str(HERE / "playground_page.mjs"), url, str(CHROMIUM), str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=560)
    finally:
        server.shutdown()
    assert done.returncode == 0, done.stderr[-1500:]
    seen = json.loads(done.stdout)
    assert (seen["foreign"], seen["errors"]) == ([], [])
    shutil.copy(ROOT / "examples" / "mlp.bpir", tmp_path / "input.bpir")
    plan, _ = tool("bp-opt", "input.bpir", *(f"--pass={each}" for each in passes_of("mlp")), folder=tmp_path)
    assert seen["plan"] == plan.decode()
    assert "memory" in seen["table"] and "workspace" in seen["table"]
    assert seen["tasks"] == 4
    assert seen["said"].startswith("input.bpir:19:1: error: unknown operation 'model.blok'; did you mean 'model.block'?")
    assert seen["marked"] >= 1
    assert seen["again"] == seen["said"]
    assert max(seen["desktop"], seen["phone_light"], seen["phone_dark"]) <= 0
