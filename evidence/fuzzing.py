"""Fuzzing through the main entry of `bp-opt`: any bytes in, a module or a diagnostic out, soon and in little memory.

    python evidence/fuzzing.py 20000              Hypothesis: that many examples, from structured inputs and mutated files
    python evidence/fuzzing.py --atheris 600      coverage-guided, for that many seconds (needs `pip install atheris`)

What was run, and what it found, is in `docs/robustness.md`; an input that failed becomes a test in `tests/parser/test_fuzz.py`.
"""

from __future__ import annotations

import contextlib
import gc
import io
import random
import re
import resource
import sys
import time
from functools import cache
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bpir.tools import bp_opt

ROOT = Path(__file__).parent.parent
SECONDS = 2.0  # for one run on an input of up to 100 kB
MEGABYTES = 500  # of the whole process

RUNS = (
    ("--allow-unregistered-dialect",),
    ("--allow-unregistered-dialect", "--print-op-generic", "--print-locations"),
    ("--allow-unregistered-dialect", "--verify-diagnostics", "--split-input-file"),
    ("--pass=expand-blocks", "--pass=canonicalize", "--verify-replay"),
    ("--pass=distribute-inference", "--pass=plan-inference", "--print-ir-after-change"),
    ("--pass=distribute-training", "--pass=plan-training"),
    ("--pass=plan-inference", "--pass=bind-queue"),
    ("--pass=plan-training",),
    ("--pass=bind-symbols{B=1 S=64 c=32 H=64 F=256 h=4 d=16 t=2 e=2}", "--pass=canonicalize"),
    ("--pass=bind-slot",),
    ("--color=always",),
)
"""The command lines that inputs are tried with."""


class Broken(AssertionError):
    """A run that is not a module or a diagnostic."""


def attempt(data: bytes, options: tuple[str, ...], seconds: float = SECONDS) -> int:
    """Run `bp-opt` on the bytes as its standard input; the exit status.

    Raises:
        Broken: it showed an internal error, had no diagnostic, or took too long.
    """
    out, err = _Stream(), _Stream()
    stdin, sys.stdin = sys.stdin, _Stream(data)
    began = time.process_time()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = bp_opt.main(["-", *options])
    finally:
        sys.stdin = stdin
    took = time.process_time() - began
    shown = err.text()
    if status not in (0, 1) or "internal error" in shown or "Traceback" in shown:
        raise Broken(f"exit {status} with {' '.join(options)}: {shown[-1500:]}")
    if status == 1 and not re.search(r"(error|warning)\S*: ", shown):
        raise Broken(f"exit 1 without a diagnostic with {' '.join(options)}")
    if took > seconds:
        raise Broken(f"{took:.1f} s with {' '.join(options)}")
    return status


class _Stream(io.TextIOWrapper):
    """A text stream over bytes, as the standard streams are."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8", errors="backslashreplace", write_through=True)

    def text(self) -> str:
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode("utf-8", "replace")


@cache
def seeds() -> tuple[bytes, ...]:
    """Conformance cases, file tests, and the examples: at their own level, and derived."""
    found = [path.read_bytes() for path in sorted((ROOT / "tests" / "conformance").glob("*.mlir"))]
    found += [path.read_bytes() for path in sorted((ROOT / "lit_tests").rglob("*.bpir")) if "Output" not in path.parts]
    for path in sorted((ROOT / "examples").rglob("*.bpir")):
        text = path.read_bytes()
        found.append(text)
        purpose = "training" if path.stem.endswith("_training") else "inference"
        for passes in ((f"distribute-{purpose}",), (f"distribute-{purpose}", f"plan-{purpose}")):
            for generic in ((), ("--print-op-generic",)):
                derived = _derived(text, *(f"--pass={name}" for name in passes), *generic)
                if derived:
                    found.append(derived)
    return tuple(text for text in found if len(text) <= 100_000)


def _derived(text: bytes, *options: str) -> bytes:
    out = _Stream()
    stdin, sys.stdin = sys.stdin, _Stream(text)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(_Stream()):
            status = bp_opt.main(["-", *options])
    finally:
        sys.stdin = stdin
    return out.text().encode("utf-8") if status == 0 else b""


_TOKEN = re.compile(rb"[A-Za-z_0-9.$]+|[%@!#^][\w.$]*|\"[^\"\n]*\"|->|\*\*|::|[^\s]")
PIECES = (
    *(piece.encode() for piece in ["(", ")", "{", "}", "[", "]", "<", ">", ",", ":", "=", "->", "**", "::", "/", "|", '"']),
    *(
        piece.encode()
        for piece in [
            "%a",
            "^b",
            "@c",
            "#d",
            "!e",
            "0",
            "-1",
            "99999999999",
            "9**9**9",
            "1/0",
            "0x1p",
            "1.5e400",
            "tensor<2xi8>",
            "!bp.tensor<B*S,e>",
        ]
    ),
    *(b"#bp.work<ops = x>", b"#bp.expr<a/(b-b)>", b"loc(", b"\xff", b"\0", b"\r", b"dense<", b"where t | h", b"max(a, b)"),
)


def mutated(chance: random.Random, several: int = 4) -> bytes:
    """A file with a few changes: tokens dropped, doubled, swapped or replaced, lines moved, bytes damaged."""
    data = chance.choice(seeds())
    for _ in range(chance.randint(1, several)):
        kind = chance.randrange(7)
        if kind < 4:
            tokens = list(_TOKEN.finditer(data))
            if not tokens:
                continue
            token = chance.choice(tokens)
            other = chance.choice(tokens)[0] if kind < 2 else chance.choice(PIECES)
            new = {0: other, 1: b"", 2: other, 3: token[0] + b" " + other}[kind]
            data = data[: token.start()] + new + data[token.end() :]
        elif kind == 4:
            lines = data.split(b"\n")
            line = lines.pop(chance.randrange(len(lines)))
            lines.insert(chance.randint(0, len(lines)), line)
            if chance.random() < 0.3:
                lines.insert(chance.randint(0, len(lines)), line)
            data = b"\n".join(lines)
        elif kind == 5:
            place = chance.randint(0, len(data))
            data = data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]
        else:
            data = data[: chance.randint(0, len(data))]
    return data


words = st.sampled_from(["B", "S", "c", "H", "F", "h", "d", "t", "e", "x", "max", "min", "S_2", "N", "phase"])
expressions = st.recursive(
    st.one_of(words, st.integers(-3, 10**6).map(str), st.integers(0, 10**40).map(str)),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(("+", "-", "*", "/", "**")), inner).map(" ".join),
        inner.map("({})".format),
        st.tuples(st.sampled_from(("max", "min", "ceildiv", "floordiv", "maximum")), inner, inner).map(lambda v: f"{v[0]}({v[1]}, {v[2]})"),
    ),
    max_leaves=8,
)


@st.composite
def blocks(draw: st.DrawFn) -> bytes:
    """A model module whose sizes, relations and operations are anything."""
    shape = " x ".join(draw(st.lists(expressions, min_size=1, max_size=4)))
    relation = f"{draw(words)} {draw(st.sampled_from(('|', '=', '>', '<')))} {draw(expressions)}"
    lines = []
    for index in range(draw(st.integers(0, 4))):
        kind = draw(
            st.sampled_from(
                ["layer_norm", "rms_norm", "gelu", "add", "linear", "attention", "softmax", "dropout", "rope", "embedding", "nothing"]
            )
        )
        uses = ", ".join(draw(st.lists(st.sampled_from(("%x", "%v0", "%v1", "%v2", "%w")), min_size=0, max_size=3)))
        after = draw(st.sampled_from(("", " : [H]", " : [h x d], [h x d]", " context c", " bias : [F]", f" : [{draw(expressions)}]")))
        lines.append(f'    %v{index} = model.{kind} "a.{kind}{draw(st.integers(0, 3))}" {uses}{after}\n')
    return (
        f"module @m {{\n  bp.symbols B, S, c, H, F, h, d, t, e where {relation}\n  bp.bind {draw(words)} = {draw(expressions)}\n"
        "  bind.workload @w inference {phase = decode, context = c}\n"
        f"  bind.strategy @s {{tensor = {draw(expressions)}}}\n  model.block @block(%x: !bp.tensor<{shape}, {draw(words)}>) {{\n"
        + "".join(lines)
        + "    model.return %x\n  }\n}\n"
    ).encode()


inputs = st.one_of(
    st.binary(max_size=200),
    st.integers(0, 2**32).map(lambda seed: mutated(random.Random(seed))),
    st.integers(0, 2**32).map(lambda seed: mutated(random.Random(seed), 1)),
    blocks(),
)


def fuzz(examples: int, seed: int | None = None) -> None:
    """Try that many inputs, each with one command line.

    Raises:
        Broken: (as Hypothesis shows it, with the shortest input found).
    """

    runs = 0

    @settings(max_examples=examples, deadline=None, database=None, derandomize=seed is None, suppress_health_check=list(HealthCheck))
    @given(inputs, st.sampled_from(RUNS))
    def one(data: bytes, options: tuple[str, ...]) -> None:
        nonlocal runs
        runs += 1
        if runs % 100 == 0:
            gc.collect()  # the tools turn it off, as they run once
        attempt(data, options)

    one()


def _atheris(seconds: int) -> None:
    import atheris

    folder = ROOT / "build" / "fuzz"
    (folder / "corpus").mkdir(parents=True, exist_ok=True)
    for index, text in enumerate(seeds()):
        if len(text) < 20_000:
            for run in range(len(RUNS)) if len(text) < 2000 else (index % len(RUNS),):
                (folder / "corpus" / f"{index}-{run}").write_bytes(bytes([run]) + text)

    failed = runs = 0

    def one(data: bytes) -> None:
        nonlocal failed, runs
        runs += 1
        if runs % 2000 == 0:
            gc.collect()  # the tools turn it off, as they run once
        try:
            if data:
                attempt(data[1:], RUNS[data[0] % len(RUNS)], 10 * SECONDS)  # the instrumented code is slow
        except Exception as failure:  # kept, and the search goes on
            failed += 1
            (folder / f"failed-{failed}").write_bytes(data)
            print(f"failed-{failed}: {failure}", flush=True)
            if failed >= 50:
                raise

    atheris.instrument_all()
    arguments = [sys.argv[0], str(folder / "corpus"), f"-max_total_time={seconds}", "-max_len=20000", f"-artifact_prefix={folder}/"]
    atheris.Setup([*arguments, f"-rss_limit_mb={MEGABYTES * 4}", "-timeout=20"], one)
    atheris.Fuzz()


def main() -> None:
    if sys.argv[1:2] == ["--atheris"]:
        _atheris(int(sys.argv[2]))
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    began = time.perf_counter()
    fuzz(count)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{count} examples, {time.perf_counter() - began:.0f} s, {memory} MB: every one a module or a diagnostic")
    if memory > MEGABYTES:
        raise SystemExit(f"the process grew to {memory} MB")


if __name__ == "__main__":
    main()
