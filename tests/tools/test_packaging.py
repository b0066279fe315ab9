"""The wheel has every module, the source distribution every file, and its tests run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from support import ROOT

from bpir import __version__

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LINKS = sorted(path.name for path in (ROOT / "src" / "bpir").iterdir() if path.is_symlink())


def names(requirements: list[str]) -> set[str]:
    """The packages that requirements name."""
    return {re.split(r"[\[<>=~! ]", requirement)[0] for requirement in requirements}


def test_the_metadata() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert "Typing :: Typed" in PROJECT["classifiers"]
    assert not any(classifier.startswith("License ::") for classifier in PROJECT["classifiers"])  # said once, as SPDX text
    least = tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))
    listed = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", c)]
    assert min(tuple(map(int, version.split("."))) for version in listed) == least
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_tool_is_installed() -> None:
    tools = {path.stem.replace("_", "-") for path in (ROOT / "tools").glob("bp_*.py")}
    assert set(PROJECT["scripts"]) == tools
    for name, where in PROJECT["scripts"].items():
        assert where == f"bpir.tools.{name.replace('-', '_')}:main"


def test_every_extra_is_tested_and_explained() -> None:
    extras = PROJECT["optional-dependencies"]
    page = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    for name, requirements in extras.items():
        assert f"| `{name}` |" in page
        if name != "docs":
            assert names(requirements) <= names(extras["test"]), name


# --- distributions


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel that is built from it."""
    pytest.importorskip("build", reason="distributions are built by 'build': pip install 'bpir[test]'")
    if (ROOT / "PKG-INFO").exists():
        pytest.skip("this is a source distribution")
    folder = tmp_path_factory.mktemp("distributions")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


@pytest.fixture(scope="module")
def unpacked(distributions: Path) -> Path:
    (archive,) = distributions.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(distributions / "unpacked", filter="data")
    return distributions / "unpacked" / f"bpir-{__version__}"


@pytest.mark.campaign
@pytest.mark.slow
def test_the_source_distribution_is_the_repository(unpacked: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is no clone")
    wanted = {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    found = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file() or path.is_symlink()}
    assert wanted - found == set()
    made = {"PKG-INFO", "setup.cfg"}
    untracked = {name for name in found - wanted - made if not name.startswith("src/bpir.egg-info/") and name not in ignored()}
    assert untracked <= new_files()
    for name in LINKS:
        assert (unpacked / "src" / "bpir" / name).readlink() == Path("..") / ".." / name


def ignored() -> set[str]:
    return set(git("ls-files", "--others", "--ignored", "--exclude-standard"))


def new_files() -> set[str]:
    """Files that are not committed yet."""
    return set(git("ls-files", "--others", "--exclude-standard"))


def git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.campaign
@pytest.mark.slow
def test_the_tests_of_the_source_distribution_run(unpacked: Path) -> None:
    """Some of each kind: what reads examples, data, file tests, documentation, and what changes a copy of the project."""
    chosen = ("printer", "formatting", "models_oracle", "typed_passes", "packaging", "gate_imports", "docs", "readme")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--few",
        "2",
        *(str(next((unpacked / "tests").rglob(f"test_{name}.py"))) for name in chosen),
    ]
    environment = {**os.environ, "PYTHONPATH": str(unpacked / "src")}
    done = subprocess.run(command, cwd=unpacked, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "100%" in done.stdout


@pytest.mark.campaign
@pytest.mark.slow
def test_the_wheel_has_every_module_and_nothing_else(distributions: Path) -> None:
    (path,) = distributions.glob("*.whl")
    assert path.name == f"bpir-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(path) as wheel:
        found = set(wheel.namelist())
        metadata = wheel.read(f"bpir-{__version__}.dist-info/METADATA").decode()
    modules = {f"bpir/{file.relative_to(ROOT)}" for name in LINKS for file in (ROOT / name).rglob("*.py")}
    extra = {"bpir/__init__.py", "bpir/py.typed"}
    assert {name for name in found if not name.startswith(f"bpir-{__version__}.dist-info/")} == modules | extra
    assert "License-Expression: Apache-2.0" in metadata
    assert f"bpir-{__version__}.dist-info/licenses/LICENSE" in found


@pytest.mark.campaign
@pytest.mark.slow
def test_the_wheel_works_on_its_own(distributions: Path, tmp_path: Path) -> None:
    """Installed into a folder, from which everything of ours is taken."""
    (wheel,) = distributions.glob("*.whl")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path / "site"), str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=120)
    code = (
        "import bpir, sys; from bpir.tools.bp_opt import main; assert bpir.__file__.startswith(sys.argv[1]); "
        "sys.exit(main([sys.argv[2], '--pass=distribute-inference', '--pass=plan-inference']))"
    )
    example = ROOT / "examples" / "gpt3_175b.bpir"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "site"), str(example)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "plan.task @mlp.gelu.decode" in done.stdout
