"""How a module and a report look in a notebook. Colours suit a light and a dark page; nothing is loaded from elsewhere."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from bpir.api.text import outward

if TYPE_CHECKING:
    from bpir.tools.reports.report import Report
    from bpir.tools.reports.report_text import Table

_OPEN = 60  # lines of a listing that are shown at once; a longer one is opened by a click


def module_html(text: str, found: Report | None) -> str:
    """A listing in colour, and above it the report in a few rows, if there is one."""
    lines = text.count("\n")
    head = f"<summary>{lines} line{'s' if lines != 1 else ''} of <code>.bpir</code></summary>"
    shown = f"<details{' open' if lines <= _OPEN else ''}>{head}{listing(text)}</details>"
    return f"{report_html(found, 'phase') if found is not None else ''}{shown}"


def listing(text: str) -> str:
    """A text of the language, highlighted."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter

    from bpir.tools.highlighting.pygments_lexer import BpirLexer, BpirStyle

    formatter = HtmlFormatter(noclasses=True, nobackground=True, style=BpirStyle, cssstyles="overflow-x: auto")
    found: str = highlight(text, BpirLexer(), formatter)
    return found


def report_html(found: Report, by: str = "task") -> str:
    """The tables of a report, grouped as by `bp-report --by`."""
    from bpir.tools.reports.report_text import tables

    return "".join(map(_table, tables(found, by)))


def _table(table: Table) -> str:
    from bpir.tools.reports.report_text import readable

    def row(cells: tuple[str, ...], tag: str) -> str:
        aligned = ("left" if place < table.words else "right" for place in range(len(cells)))
        inner = "".join(
            f'<{tag} style="text-align: {side}">{escape(outward(cell))}</{tag}>' for side, cell in zip(aligned, cells, strict=True)
        )
        return f"<tr>{inner}</tr>"

    body = "".join(row(tuple(map(readable, cells)), "td") for cells in table.rows)
    return f"<table><thead>{row(table.head, 'th')}</thead><tbody>{body}</tbody></table>"
