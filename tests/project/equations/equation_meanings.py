"""The meanings of the names in an equation, by its label; importing the modules of passes and operations fills the table."""

from __future__ import annotations

from functools import cache

import binding_equations  # noqa: F401
import collective_equations  # noqa: F401
import inference_equations  # noqa: F401
import training_equations  # noqa: F401
from equation_names import MEANINGS, Meanings
from operation_equations import elementwise, lanes

from bpir.dialects.model.rules.operation import Elementwise, ModelOperation
from bpir.ir.declaration import DECLARATIONS


def meanings(label: str) -> Meanings:
    """The meanings of the names of an equation.

    Raises:
        KeyError: nothing is known of the equation.
    """
    name = label.rpartition(".")[0]
    if label in MEANINGS:
        return MEANINGS[label]()
    if name not in MEANINGS and isinstance(DECLARATIONS.get(name), Elementwise):
        MEANINGS[name] = cache(lambda: elementwise(name))
    elif name not in MEANINGS and isinstance(DECLARATIONS.get(name), ModelOperation):
        MEANINGS[name] = cache(lambda: lanes(name))
    return MEANINGS[name]()
