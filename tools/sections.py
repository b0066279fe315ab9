"""`--split-input-file` and `--verify-diagnostics`, for every tool that has them: an input in sections, and what is found in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bpir.tools.common import explain_exception, report, wants_color
from bpir.tools.options import Arguments

TYPE_CHECKING = False  # without `typing`, which is a part of every start
if TYPE_CHECKING:
    from typing import TypeVar

    from bpir.ir.diagnostic import Diagnostic, Source

    T = TypeVar("T")


def sections(arguments: Arguments, source: Source) -> Iterable[Source]:
    """The parts of an input that are processed on their own: with `--split-input-file` those between markers, else all of it."""
    if not arguments.flag("split-input-file"):
        return [source]
    from bpir.tools.texts.split import split

    return split(source)


def run_section(arguments: Arguments, section: Source, process: Callable[[Source, list[Diagnostic]], T], nothing: T) -> tuple[T, bool]:
    """The output of one section, or nothing; its diagnostics are shown, or compared with the expected ones.

    Args:
        process: gives the output; it adds to a list what it finds, or raises it.
        nothing: the output where it raises.

    Returns:
        The output, and whether the section has failed.
    """
    found: list[Diagnostic] = []
    output = nothing
    if arguments.flag("split-input-file"):
        from bpir.ir.effort import BASE, allow

        allow(BASE)  # each section is a file of its own
    try:
        output = process(section, found)
    except Exception as failure:
        found.extend(explain_exception(failure))
    failed = any(d.severity == "error" for d in found)
    if arguments.flag("verify-diagnostics"):
        from bpir.tools.texts.expectations import verify_diagnostics

        found = verify_diagnostics(section, found)
        failed = bool(found)
    report(found, wants_color(arguments))
    return output, failed
