"""bp-import: a Hugging Face configuration, or what JAX exports, to a model that a person could have written."""

from __future__ import annotations

from bpir.tools.common import Tool, only_file, read_source, report, wants_color, write_output
from bpir.tools.options import OUTPUT, Arguments, Option, UsageError

TYPE_CHECKING = False  # without `typing`, which is a part of every start
if TYPE_CHECKING:
    from bpir.ir.diagnostic import Source

OPTIONS = [
    Option("stablehlo", help="read a function in StableHLO instead, as JAX exports it, and write a block"),
    Option("list-families", help="list the architectures that are known, and what the others lack"),
    OUTPUT,
]


def body(arguments: Arguments) -> int:
    """Read the configuration, write the model, and read that again before anyone sees it."""
    if arguments.flag("list-families"):
        if arguments.positional:
            raise UsageError(f"--list-families takes no file, found {' '.join(arguments.positional)}")
        from bpir.importer.entry import list_families

        write_output(list_families(), arguments.value("o"))
        return 0
    source = read_source(only_file(arguments))
    text = _stablehlo(source) if arguments.flag("stablehlo") else _configuration(source, wants_color(arguments))
    from bpir.ir.diagnostic import Source
    from bpir.tools.common import sound_module

    sound_module(Source("<imported>", text), [])
    write_output(text, arguments.value("o"))
    return 0


def _configuration(source: Source, color: bool) -> str:
    """The whole model that a configuration describes; warnings are shown."""
    from bpir.importer.entry import import_model

    imported = import_model(source)
    report(imported.warnings, color)
    return imported.text


def _stablehlo(source: Source) -> str:
    from bpir.importer.stablehlo.entry import import_stablehlo

    return import_stablehlo(source)


TOOL = Tool(
    "bp-import",
    "bp-import [CONFIG.json|-] [-o FILE] [--list-families] [--stablehlo]",
    "Writes the whole model that a Hugging Face config.json describes, or a block that JAX exported.",
    OPTIONS,
    body,
)


def main(argv: list[str] | None = None) -> int:
    return TOOL.run(argv)
