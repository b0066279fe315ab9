"""Builds the playground into a folder that any file server can serve: `python playground/build.py build/site/playground`.

Needs npm, whose packages (package.json) are installed into build/npm, and pip, which fetches the wheels of what bpir depends on. The page
itself loads nothing from elsewhere.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NPM = ROOT / "build" / "npm"
DEPENDENCIES = ("attrs", "lark", "sympy", "mpmath", "pygments")
PYODIDE = ("pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")


def main(target: Path) -> None:
    """Write all that is served."""
    if shutil.which("npm") is None:
        sys.exit("the playground needs npm to be built, which is not installed")
    install()
    shutil.rmtree(target, ignore_errors=True)
    (target / "pyodide").mkdir(parents=True)
    bundle(target)
    modules = NPM / "node_modules" / "pyodide"
    for name in PYODIDE:
        shutil.copy(modules / name, target / "pyodide" / name)
    # Servers know .js, and not all of them .mjs.
    shutil.copy(modules / "pyodide.asm.mjs", target / "pyodide" / "pyodide.asm.js")
    for name in ("index.html", "session.py"):
        shutil.copy(HERE / name, target / name)
    examples(target / "examples")
    wheels(target)


def install() -> None:
    """The npm packages, where they are not yet."""
    NPM.mkdir(parents=True, exist_ok=True)
    stamp = NPM / "package.json"
    wanted = (HERE / "package.json").read_text()
    if (NPM / "node_modules").is_dir() and stamp.is_file() and stamp.read_text() == wanted:
        return
    stamp.write_text(wanted)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "--ignore-scripts"], cwd=NPM, check=True)


def bundle(target: Path) -> None:
    """The scripts, each as one file."""
    from bpir.tools.highlighting.pygments_lexer import keywords

    (NPM / "words.json").write_text(json.dumps(keywords()))
    for name in ("app.js", "worker.js", "language.js"):
        shutil.copy(HERE / name, NPM / name)
    command = [str(NPM / "node_modules" / ".bin" / "esbuild"), "app.js", "worker.js", f"--outdir={target}", "--alias:words=./words.json"]
    command += ["--bundle", "--minify", "--format=esm", "--log-level=error", "--legal-comments=none", "--external:node:*"]
    subprocess.run(command, cwd=NPM, check=True)
    worker = target / "worker.js"
    text = worker.read_text()
    if "pyodide.asm.mjs" not in text:
        sys.exit("Pyodide's loader names its module in another way than it did: look at build.py")
    worker.write_text(text.replace("pyodide.asm.mjs", "pyodide.asm.js"))


def examples(target: Path) -> None:
    """The examples, and a list of them."""
    target.mkdir()
    names = sorted(path.name for path in (ROOT / "examples").glob("*.bpir"))
    for name in names:
        shutil.copy(ROOT / "examples" / name, target / name)
    (target / "index.json").write_text(json.dumps(names))


def wheels(target: Path) -> None:
    """Our wheel and those that it depends on, in the versions of this environment."""
    folder = target / "wheels"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    with TemporaryDirectory() as copy:  # setuptools leaves its work beside the source
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, copy)
        shutil.copytree(ROOT / "src", Path(copy) / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        subprocess.run([*pip, "wheel", "--no-deps", "-w", str(folder), copy], check=True)
    pinned = [f"{name}=={version(name)}" for name in DEPENDENCIES]
    only = ["--only-binary=:all:", "--platform=any", "--python-version=3.13"]
    subprocess.run([*pip, "download", "--no-deps", *only, "-d", str(folder), *pinned], check=True)
    (target / "wheels.json").write_text(json.dumps(sorted(path.name for path in folder.glob("*.whl"))))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python playground/build.py FOLDER")
    main(Path(sys.argv[1]).resolve())
