"""The source of a class as a page shows it: its bases, the signature of `run`, its text without the docstring."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable
from typing import Any, get_args, get_origin

from bpir.passes.base import Pass


def bases(cls: type) -> str:
    """The bases as they are written: `DerivationPass[ModelIR, DistributedTaskIR]`."""
    written: Iterable[Any] = cls.__dict__.get("__orig_bases__", cls.__bases__)
    return ", ".join(map(_written, written))


def _written(base: Any) -> str:
    arguments = get_args(base)
    name = (get_origin(base) or base).__name__
    return f"{name}[{', '.join(argument.__name__ for argument in arguments)}]" if arguments else str(name)


def lineage(cls: type[Pass]) -> Iterable[type]:
    """The class, then its bases up to `Pass`, in the order in which Python asks them."""
    return (base for base in cls.__mro__ if issubclass(base, Pass))


def signature(cls: type[Pass]) -> str:
    """`run` with its types: `def run(self, ir: ModelIR, context: PassContext) -> DistributedTaskIR`."""
    found = inspect.signature(cls.run)  # type: ignore[attr-defined]
    parameters = (name if p.annotation is p.empty else f"{name}: {p.annotation}" for name, p in found.parameters.items())
    return f"def run({', '.join(parameters)}) -> {found.return_annotation}"


def defines_run(cls: type[Pass]) -> type:
    """The class in which `run` stands."""
    return next(base for base in cls.__mro__ if "run" in base.__dict__)


def place(cls: type) -> str:
    """The file of a class in the project, and its lines: `passes/inference/plan_inference.py:24-92`."""
    lines, first = inspect.getsourcelines(cls)
    return f"{cls.__module__.removeprefix('bpir.').replace('.', '/')}.py:{first}-{first + len(lines) - 1}"


def source(cls: type) -> str:
    """The text of a class without its docstring."""
    text = inspect.getsource(cls)
    first = ast.parse(text).body[0]
    assert isinstance(first, ast.ClassDef)
    lines = text.rstrip().splitlines()
    if ast.get_docstring(first) is not None:
        said = first.body[0]
        del lines[said.lineno - 1 : said.end_lineno]
        while len(lines) > said.lineno - 1 and not lines[said.lineno - 1].strip():
            del lines[said.lineno - 1]
    return "\n".join(lines)
