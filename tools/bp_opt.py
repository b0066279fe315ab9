"""bp-opt: reads a module, runs passes on it, prints it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from bpir.tools.common import Tool, only_file, paints_output, read_source, report, wants_color, write_output, write_pieces
from bpir.tools.options import OUTPUT, SPLIT_INPUT_FILE, VERIFY_DIAGNOSTICS, Arguments, Option, UsageError
from bpir.tools.sections import run_section, sections

TYPE_CHECKING = False  # without `typing`, which is a part of every start
if TYPE_CHECKING:
    from bpir.ir.diagnostic import Diagnostic, Source
    from bpir.ir.operation import Operation
    from bpir.passes.base import Pass
    from bpir.passes.manager import PassManager
    from bpir.passes.observers import Dumps

    Output = str | Operation

OPTIONS = [
    Option("pass", value="NAME{...}", help="run a pass, such as --pass='plan-inference' (repeat; in order)"),
    Option("pass-pipeline", value="TEXT", help="run passes: 'a{x=1 y=2},b' or 'builtin.module(...)'"),
    OUTPUT,
    Option("verify-only", help="print no module"),
    Option("verify-each", help="verify after each pass (default; --no-verify-each)"),
    Option("verify-replay", help="run each pass twice and compare the results"),
    VERIFY_DIAGNOSTICS,
    SPLIT_INPUT_FILE,
    Option("allow-unregistered-dialect", help="accept operations of unknown dialects"),
    Option("format", help="print the canonical text, comments in place; runs no pass"),
    Option("print-op-generic", "mlir-print-op-generic", help="print MLIR's generic form"),
    Option("print-locations", "mlir-print-debuginfo", help="print where each operation came from"),
    Option("print-ir-before", "mlir-print-ir-before", value="NAME", help="show the module before a pass (on stderr)"),
    Option("print-ir-after", "mlir-print-ir-after", value="NAME", help="and after it"),
    Option("print-ir-before-all", "mlir-print-ir-before-all", help="before every pass"),
    Option("print-ir-after-all", "mlir-print-ir-after-all", help="after every pass"),
    Option("print-ir-after-change", "mlir-print-ir-after-change", help="after each pass that changes it"),
    Option("timing", "mlir-timing", help="show where the time goes (on stderr)"),
    Option(
        "crash-reproducer",
        "mlir-pass-pipeline-crash-reproducer",
        value="FILE",
        help="if a pass fails, write its input and command there",
    ),
    Option("list-passes", help="show the passes, their levels and options"),
    Option("list-operations", help="show the operations of our dialects, one line each"),
    Option("show-dialects", help="show the dialects"),
    Option("explain", value="NAME", help="show what a pass, an operation, an equation or a rule says"),
]


_LISTS = ("list-passes", "list-operations", "show-dialects")


def body(arguments: Arguments) -> int:
    """Answer a question about the tool, or process the input."""
    if any(map(arguments.flag, _LISTS)) or arguments.value("explain") is not None:
        write_output(_answer(arguments).encode().decode("latin-1"), arguments.value("o"))  # formulas are UTF-8
        return 0
    path = only_file(arguments)
    if arguments.flag("format") and (arguments.values("pass") or arguments.values("pass-pipeline")):
        raise UsageError("option '--format' runs no pass: give it alone, or format what the passes print")
    run = _Run(arguments)
    if not arguments.flag("verify-diagnostics"):
        _ = run.passes  # what is wrong with them is said once, and before anything is read
    source = read_source(path)
    outputs = [run.one(section) for section in sections(arguments, source)]
    # As in mlir-opt, standard output gets the parts that are good, a file gets all or nothing.
    destination = arguments.value("o")
    if not arguments.flag("verify-only") and (destination is None or not run.failed):
        with run.timing.section("Output"):
            pieces: Iterable[str] = run.printed(outputs)
            if destination is None and paints_output(arguments):
                from bpir.tools.highlighting.pygments_lexer import painted

                pieces = [painted("".join(pieces))]
            write_pieces(pieces, destination)
    if arguments.flag("timing"):
        sys.stderr.write(run.timing.render())
    return 1 if run.failed else 0


def _answer(arguments: Arguments) -> str:
    from bpir.tools.pages import listing

    if arguments.flag("list-passes"):
        return listing.list_passes()
    if arguments.flag("list-operations"):
        return listing.list_operations()
    if arguments.flag("show-dialects"):
        return listing.show_dialects()
    from bpir.tools.pages.explain import explain

    return explain(arguments.value("explain") or "")


class _Run:
    """The state that all parts of an input share: the options, and whether a part has failed."""

    def __init__(self, arguments: Arguments) -> None:
        from bpir.passes.timing import Timing

        self.arguments = arguments
        self.timing = Timing()
        self.failed = False
        self.reproducers: list[str] = []  # the files written
        self.dumps = _dumps(arguments, self._render)

    @cached_property
    def passes(self) -> list[Pass]:
        return _passes(self.arguments)

    def one(self, section: Source) -> Output:
        """The output of one section of an input: a text, or a module that is printed when it is written."""
        written = len(self.reproducers)
        nothing: Output = ""
        output, failed = run_section(self.arguments, section, self._process, nothing)
        self.failed = self.failed or failed
        if len(self.reproducers) > written:
            from bpir.ir.diagnostic import note

            report([note(f"what the pass was given, and the command, are in '{self.reproducers[-1]}'")], wants_color(self.arguments))
        return output

    def printed(self, outputs: Iterable[Output]) -> Iterator[str]:
        """The text of all outputs, in pieces."""
        from bpir.ir.printer import printed

        generic, locations = self.arguments.flag("print-op-generic"), self.arguments.flag("print-locations")
        for index, output in enumerate(outputs):
            if index:
                yield "// -----\n"
            if isinstance(output, str):
                yield output
            else:
                yield from printed(output, generic=generic, locations=locations)

    def _process(self, source: Source, found: list[Diagnostic]) -> Output:
        from bpir.parser import parse_module
        from bpir.passes.manager import PassManager
        from bpir.passes.observers import Reporting

        arguments = self.arguments
        if arguments.flag("format"):
            return self._formatted(source)
        with self.timing.section("Parser"):
            module = parse_module(source, allow_unregistered=arguments.flag("allow-unregistered-dialect"))
        manager = PassManager(
            self.passes,
            self._render,
            verify_each=arguments.flag("verify-each", default=True),
            replay=arguments.flag("verify-replay"),
            observers=(self.timing, self.dumps, Reporting(found.append)),
        )
        try:
            module = manager.run(module)
        except Exception:
            self._reproduce(manager)
            raise
        return "" if arguments.flag("verify-only") else module

    def _formatted(self, source: Source) -> str:
        from bpir.tools.texts.formatting import format_module

        generic, unregistered = self.arguments.flag("print-op-generic"), self.arguments.flag("allow-unregistered-dialect")
        return format_module(source, generic, unregistered)

    def _render(self, module: Operation) -> str:
        from bpir.ir.printer import print_module

        generic, locations = self.arguments.flag("print-op-generic"), self.arguments.flag("print-locations")
        return print_module(module, generic=generic, locations=locations)

    def _reproduce(self, manager: PassManager) -> None:
        path = self.arguments.value("crash-reproducer")
        if path is not None and manager.reached is not None:
            from bpir.tools.texts.reproducer import numbered, reproducer

            path = numbered(path, len(self.reproducers) + 1)
            index, module = manager.reached
            flags = [n for n in ("allow-unregistered-dialect", "verify-replay") if self.arguments.flag(n)]
            write_output(reproducer(module, self.passes[index:], path, flags), path)
            self.reproducers.append(path)


def _passes(arguments: Arguments) -> list[Pass]:
    """The passes of the command line, in order; all wrong ones are reported."""
    from bpir.ir.diagnostic import DiagnosticError
    from bpir.passes.pipeline import command_line, parse_pass, parse_pipeline

    found: list[Pass] = []
    errors: list[Diagnostic] = []
    for name, value in arguments.given:
        if name not in ("pass", "pass-pipeline"):
            continue
        option = f"--{name}="
        text = command_line(option + value)
        try:
            if name == "pass":
                found.append(parse_pass(text, len(option)))
            else:
                found.extend(parse_pipeline(text, len(option)))
        except DiagnosticError as failure:
            errors.extend(failure.diagnostics)
    if errors:
        raise DiagnosticError(*errors)
    return found


def _dumps(arguments: Arguments, render: Callable[[Operation], str]) -> Dumps:
    from bpir.passes.observers import Dumps

    return Dumps(
        render,
        before=_pass_names(arguments, "print-ir-before"),
        after=_pass_names(arguments, "print-ir-after"),
        before_all=arguments.flag("print-ir-before-all"),
        after_all=arguments.flag("print-ir-after-all"),
        after_change=arguments.flag("print-ir-after-change"),
    )


def _pass_names(arguments: Arguments, option: str) -> frozenset[str]:
    from bpir.passes import PASSES

    names = frozenset(name for value in arguments.values(option) for name in value.split(","))
    for name in sorted(names - PASSES.keys()):
        from bpir.ir.diagnostic import suggestion

        raise UsageError(f"option '--{option}' names an unknown pass '{name}'{suggestion(name, PASSES)}")
    return names


TOOL = Tool(
    "bp-opt",
    "bp-opt [FILE|-] [--pass=NAME{opt=value ...}]... [options]",
    "Reads a .bpir module, runs passes on it, verifies every step, and prints the result.",
    OPTIONS,
    body,
    "mlir-opt's spellings (--mlir-timing, ...) work too. Exit status: 0 success, 1 diagnostic, 2 usage.",
)


def main(argv: list[str] | None = None) -> int:
    return TOOL.run(argv)
