"""The registry of dialects: of which level each is, which one it extends, and whether a derivation keeps or derives its operations.

Parser, verifiers, passes, reports and pages ask here; none of them lists dialects. A dialect declares itself when it is imported.
"""

from __future__ import annotations

from bpir.ir.records import Interned

MODULE = "builtin.module"


class Dialect(metaclass=Interned):
    """One dialect.

    Attributes:
        name: the first part of the names of its operations.
        level: the level that its operations are of: its own name, or that of the level that it extends; empty if they are of every level.
        title: of a level, as people call it (`PortablePlanIR`).
        holder: what its operations are in, but for those that say `in_module`.
        uses: dialects that are loaded along with it.
        starts: start symbols of the grammar for bodies that belong to no attribute and no type.
    """

    name: str
    level: str = ""
    title: str = ""
    holder: str = MODULE
    uses: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()

    @property
    def is_input(self) -> bool:
        """Whether its operations say what a derivation is given: every pass keeps them."""
        return not self.level

    @property
    def is_extension(self) -> bool:
        """Whether it adds operations to the level of another dialect, as a kind of target does."""
        return bool(self.level) and self.level != self.name


DIALECTS: dict[str, Dialect] = {}
"""The dialects of ours that are loaded, by name; `builtin` and `func` are LLVM's."""


def declare(dialect: Dialect) -> Dialect:
    """Register a dialect."""
    DIALECTS[dialect.name] = dialect
    return dialect


def dialect_of(name: str) -> Dialect | None:
    """The dialect of an operation, attribute or type by its full name; None if it is none of ours, or not loaded."""
    return DIALECTS.get(name.partition(".")[0])


def level_of_operation(name: str) -> str:
    """The level of an operation by its name; empty for inputs and for what is not ours."""
    found = dialect_of(name)
    return found.level if found is not None else ""


def is_input(name: str) -> bool:
    """Whether an operation, by its name, says what a derivation is given."""
    found = dialect_of(name)
    return found is not None and found.is_input
