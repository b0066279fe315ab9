"""bp-lsp: the language server, for editors."""

from __future__ import annotations

from bpir.tools.common import Tool
from bpir.tools.options import Arguments, UsageError


def body(arguments: Arguments) -> int:
    """Serve an editor on standard input and output until it ends the server."""
    if arguments.positional:
        raise UsageError(f"bp-lsp reads no file: an editor starts it and sends what is open, found {' '.join(arguments.positional)}")
    try:
        import pygls  # noqa: F401
    except ImportError:
        from bpir.ir.diagnostic import fail

        raise fail("bp-lsp needs pygls, which is not installed: pip install 'bpir[lsp]'") from None
    import gc

    gc.enable()  # unlike a tool that reads one file, it lives on
    from bpir.lsp.server import run

    run()
    return 0


TOOL = Tool(
    "bp-lsp",
    "bp-lsp",
    "Serves an editor by the language server protocol: mistakes, hover, definitions, completion, ...",
    [],
    body,
    "Speaks on standard input and output; docs/editors.md says how editors start it.\nNeeds pygls: pip install 'bpir[lsp]'.",
)


def main(argv: list[str] | None = None) -> int:
    return TOOL.run(argv)
