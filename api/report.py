"""The report of a module, as values of Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from bpir.api.text import outward

if TYPE_CHECKING:
    from bpir.ir.expressions.expression import Expr
    from bpir.tools.reports.report import Report as Found

By = Literal["task", "phase", "layer", "section", "block", "total"]
Format = Literal["table", "json", "csv", "markdown"]


class Report(Mapping[str, Any]):
    """What `bp-report` knows of a module: a mapping with the keys of its JSON (`docs/report.schema.json`).

        report["totals"]["ops"]        # 1234, or "2*B*S*H**2/t" where it still holds symbols
        report["tasks"][0]["name"]

    An integer is an `int`, a fraction the text `p/q`, and what still holds symbols a text in the language of expressions. Operations are
    counted, memory and messages are in bytes, of one rank. `str(report)` is the table that the tool prints.

    Attributes:
        found: the report with exact expressions (`bpir.tools.reports.report.Report`).
    """

    def __init__(self, found: Found) -> None:
        self.found = found

    @cached_property
    def _document(self) -> dict[str, Any]:
        return self.to_dict()

    def __getitem__(self, key: str) -> Any:
        return self._document[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._document)

    def __len__(self) -> int:
        return len(self._document)

    def to_dict(self, by: By = "task") -> dict[str, Any]:
        """A copy as plain dictionaries and lists, grouped as by `bp-report --by`."""
        from bpir.tools.reports.report_json import converted, document, number

        found: dict[str, Any] = converted(document(self.found, by), number)
        return found

    def to_sympy(self, by: By = "task") -> dict[str, Any]:
        """The same with a sympy object for each number and expression; its symbols are positive integers.

        `max`, `min`, `ceildiv` and `floordiv` are functions that sympy does not evaluate, because its own are wrong
        (`ir/expressions/sympy_bridge.py`).
        """
        from bpir.ir.expressions.sympy_bridge import to_sympy
        from bpir.tools.reports.report_json import converted, document

        def leaf(value: Expr) -> Any:
            return to_sympy(value)

        found: dict[str, Any] = converted(document(self.found, by), leaf)
        return found

    def to_frame(self, of: Literal["tasks", "layers", "sections", "buffers", "memory", "parameters"] | None = None) -> Any:
        """A pandas DataFrame: one row a task (of a model: a layer), indexed by its name; or the rows of another key of the report.

        Raises:
            ImportError: pandas is not installed.
            KeyError: the report has no such rows.
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("to_frame needs pandas, which is not installed: pip install 'bpir[pandas]'") from None
        of = of or ("parameters" if self.found.level == "model" else "tasks")
        rows = self[of]
        if isinstance(rows, dict):
            rows = [{"name": name, **({"value": value} if not isinstance(value, dict) else value)} for name, value in rows.items()]
        return pandas.DataFrame(rows).set_index("name") if rows else pandas.DataFrame()

    def text(self, by: By = "task", format: Format = "table") -> str:
        """What `bp-report --by=... --format=...` prints."""
        from bpir.tools.bp_report import rendered

        return outward(rendered(self.found, format, by))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<bpir.Report of a {self.found.level} module, {len(self.found.tasks)} tasks>"

    def _repr_html_(self) -> str:
        from bpir.api.html import report_html

        return report_html(self.found)
