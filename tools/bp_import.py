"""bp-import: a Hugging Face configuration to a model that a person could have written."""

from __future__ import annotations

from bpir.tools.common import Tool, only_file, read_source, report, wants_color, write_output
from bpir.tools.options import OUTPUT, Arguments, Option, UsageError

OPTIONS = [
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
    from bpir.importer.entry import import_model
    from bpir.ir.diagnostic import Source
    from bpir.tools.common import sound_module

    imported = import_model(read_source(only_file(arguments)))
    report(imported.warnings, wants_color(arguments))
    sound_module(Source("<imported>", imported.text), [])
    write_output(imported.text, arguments.value("o"))
    return 0


TOOL = Tool(
    "bp-import",
    "bp-import [CONFIG.json|-] [-o FILE] [--list-families]",
    "Writes the whole model that a Hugging Face configuration (config.json) describes.",
    OPTIONS,
    body,
)


def main(argv: list[str] | None = None) -> int:
    return TOOL.run(argv)
