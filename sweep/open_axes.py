"""`D=..`: an axis whose values follow from a condition on the number of devices."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import symbol
from bpir.sweep.conditions import Condition
from bpir.sweep.grid import MOST_VALUES, Axis, divisors

DEVICES = symbol("devices")


def closed(axes: Sequence[Axis], conditions: Sequence[Condition]) -> list[Axis]:
    """The axes with values for each open one: what divides the number of devices, or all numbers up to the most that there may be.

    Raises:
        DiagnosticError: no condition bounds the devices.
    """
    found = []
    for axis in axes:
        if axis.open:
            values = _values(conditions)
            if not values:
                raise fail(f"'{axis.name}=..' needs a bound: --where 'devices = 64', or 'devices <= 64'", axis.span)
            axis = attrs.evolve(axis, values=tuple(values))
        found.append(axis)
    return found


def _values(conditions: Sequence[Condition]) -> list[int]:
    """What may be a factor of the number of devices, by the first condition that says so."""
    for condition in conditions:
        left, sign, right = condition.left, condition.sign, condition.right
        if right is DEVICES:
            left, sign, right = right, {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(sign, sign), left
        number = right.integer
        if left is not DEVICES or number is None or not number > 0:
            continue
        if sign == "=":
            return divisors(number)
        if sign in ("<", "<="):
            most = number if sign == "<=" else number - 1
            return list(range(1, min(most, MOST_VALUES) + 1))
    return []
