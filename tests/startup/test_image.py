"""The image of a short run: it is used, it is never trusted beyond its sources, and no output depends on it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bpir.startup.image import Image
from bpir.startup.patterns import Patterns

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = str(ROOT / "examples" / "mlp.bpir")
PASSES = [EXAMPLE, "--pass=distribute-inference", "--pass=plan-inference"]
BEFORE = {"__init__", "bp_opt", "common", "options", "sections", "image", "patterns", "kept"}
COMPILED = """
import sys
from pathlib import Path
compiled = []
sys.addaudithook(lambda event, data: compiled.append(str(data[1])) if event == "compile" else None)
sys.argv = ["bp-opt", *{arguments!r}]
import os
leave = os._exit
def told(status):
    print(*sorted({{Path(name).stem for name in compiled if "bpir" in name and name.endswith(".py")}}), file=sys.stderr)
    leave(status)
os._exit = told
from bpir.tools.bp_opt import main
main()
"""


def environment(cache: Path, **more: str) -> dict[str, str]:
    """No compiled files of the interpreter are read or written, as in a read-only installation that has none."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(cache / "none"), "XDG_CACHE_HOME": str(cache), **more}


def run(cache: Path, *arguments: str, **more: str) -> tuple[str, set[str]]:
    """The output of `bp-opt`, and the names of the modules that it compiled."""
    code = COMPILED.format(arguments=list(arguments))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=cache, env=environment(cache, **more)
    )
    return done.stdout, set(done.stderr.split())


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """An installation of its own, the cache that its first run left, and what that run printed."""
    folder = tmp_path_factory.mktemp("library")
    shutil.copytree(ROOT / "src" / "bpir", folder / "lib" / "bpir", ignore=shutil.ignore_patterns("__pycache__"))
    cache = folder / "cache"
    cache.mkdir()
    output, compiled = run(cache, *PASSES, PYTHONPATH=str(folder / "lib"))
    assert {"grammar", "manager", "plan_inference"} <= compiled and "plan.task" in output
    return folder / "lib", cache, output


@pytest.mark.slow
def test_a_second_run_compiles_no_module(library: tuple[Path, Path, str]) -> None:
    folder, cache, first = library
    output, compiled = run(cache, *PASSES, PYTHONPATH=str(folder))
    assert output == first
    assert compiled <= BEFORE


def test_a_run_of_other_modules_adds_them(library: tuple[Path, Path, str]) -> None:
    folder, cache, _ = library
    question = ["--explain=plan-training"]
    assert "plan_training" in run(cache, *question, PYTHONPATH=str(folder))[1]
    for arguments in (PASSES, question):
        assert run(cache, *arguments, PYTHONPATH=str(folder))[1] <= BEFORE


@pytest.mark.parametrize("same", ["size", "time"])
def test_a_changed_source_is_read_again(library: tuple[Path, Path, str], same: str) -> None:
    """By the time and the size of the source, of which one suffices."""
    folder, cache, first = library
    source = folder / "bpir" / "passes" / "timing.py"
    status, text = source.stat(), source.read_text()
    changed = 'print("changed")\n'
    if same == "size":
        documented = text.index('"""', 3) + 3
        source.write_text('"""' + " " * (documented - 6 - len(changed)) + '"""' + text[documented:] + changed)
        assert source.stat().st_size == status.st_size
        os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000_000))
    else:
        source.write_text(text + changed)
        os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    output, compiled = run(cache, *PASSES, PYTHONPATH=str(folder))
    assert output == "changed\n" + first and "timing" in compiled
    assert run(cache, *PASSES, PYTHONPATH=str(folder)) == ("changed\n" + first, compiled - {"timing"})
    source.write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 12, 40, -1])
def test_a_damaged_image_is_made_again(library: tuple[Path, Path, str], place: int) -> None:
    """In the check sum, the length, the index, and the code of a module."""
    folder, cache, first = library
    (image,) = (cache / "bpir").glob("image-*.bin")
    data = bytearray(image.read_bytes())
    data[place] ^= 0x55
    image.write_bytes(data)
    output, compiled = run(cache, *PASSES, PYTHONPATH=str(folder))
    assert output == first and not compiled <= BEFORE
    assert run(cache, *PASSES, PYTHONPATH=str(folder))[1] <= BEFORE


def test_a_cache_that_can_not_be_written_is_done_without(library: tuple[Path, Path, str]) -> None:
    folder, cache, first = library
    output, compiled = run(cache, *PASSES, PYTHONPATH=str(folder), XDG_CACHE_HOME=str(Path(__file__)))
    assert output == first and not compiled <= BEFORE


def test_kept_patterns_are_what_the_interpreter_compiles() -> None:
    """A pattern is equal to another of the same program, says the interpreter."""
    import _sre

    texts = [(r"(?P<a>x+)|(?P<b>[^\n]*+)(\w)", re.MULTILINE), (r"\s*(->|[0-9]++(?!\.))", 0), ("ä|[à-ÿ]", re.ASCII | re.IGNORECASE)]
    original = sys.modules["re._compiler"].compile  # type: ignore[attr-defined]
    patterns = Patterns({})
    patterns.install()
    try:
        namespace: dict[str, object] = {"texts": texts, "re": re}
        exec(compile("re.purge()\nfor text, flags in texts: re.compile(text, flags)", "test", "exec"), namespace)
    finally:
        sys.modules["re._compiler"].compile = original  # type: ignore[attr-defined]
    added = patterns.added()
    assert [key[0] for key in added] == [text for text, _ in texts]
    for (text, _), (flags, code, groups, numbers, names), (_, given) in zip(added, added.values(), texts, strict=True):
        again = _sre.compile(text, flags, memoryview(code).cast("I").tolist(), groups, numbers, names)
        assert again == re.compile(text, given)
        assert again.groupindex == re.compile(text, given).groupindex


def test_patterns_of_the_input_are_not_kept() -> None:
    original = sys.modules["re._compiler"].compile  # type: ignore[attr-defined]
    patterns = Patterns({})
    patterns.install()
    try:
        assert re.compile("of a function of the test").match("nothing") is None
    finally:
        sys.modules["re._compiler"].compile = original  # type: ignore[attr-defined]
    assert patterns.added() == {}


def test_modules_of_others_are_none_of_its_business() -> None:
    assert Image().find_spec("json", None) is None
