"""Operations that stand for several: an attention is scores, a softmax, and the product with V. Training has the parts as tasks."""

from __future__ import annotations

from bpir.ir.records import Interned


class Step(metaclass=Interned):
    """One operation of a composite.

    Attributes:
        part: the last name of its layer, and what later steps call its result.
        kind: the model operation.
        reads: operands of the composite, or earlier steps, by name.
        flags: properties that it has.
        result: what its result is called where the text gives it a name.
        keeps: properties of the composite that it has too, where the composite has them.
        scores: whether its work is by pairs of a query and a key, of which a mask may leave some.
        features: factors of the composite that a weight brings in: a linear makes them.
        only_with: a property of the composite that asks for the step; without it the step's name stands for what it reads first.
    """

    part: str
    kind: str
    reads: tuple[str, ...]
    flags: tuple[str, ...] = ()
    result: str = ""
    only_with: str = ""
    keeps: tuple[str, ...] = ()
    scores: bool = False
    features: tuple[str, ...] = ()


class Composite(metaclass=Interned):
    """The parts of an operation: the names of its operands, and the steps in order; the last gives the result."""

    operands: tuple[str, ...]
    steps: tuple[Step, ...]
