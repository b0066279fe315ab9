"""The source of a property of a model: a field of a configuration, and what its class takes if the field is absent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from bpir.importer.reading import Reading

Values = Mapping[str, Any]
"""The properties read so far, by name."""


@attrs.frozen
class Derived:
    """A value that follows from properties read before it; `text` is the rule in words."""

    text: str
    of: Callable[[Values], Any]


REQUIRED = Derived("a field that must be given", lambda values: None)
"""The default of a field without which nothing can be said."""

REFUSED = Derived("no value", lambda values: None)
"""The meaning of null where the class does not take it."""


@attrs.frozen
class Field:
    """One field of a configuration.

    Absent and null are two things: where a field is absent, the class of the family takes its default; null is a value.

    Attributes:
        name: as the configuration spells it; `attn_config.alibi` is a member of a member.
        kind: a key of `KINDS`: which values it may hold, and what they mean.
        default, null: the value where it is absent, where it is null.
        also: other spellings, one of which may be in its place.
        words: for a word, what the words mean.
    """

    name: str
    kind: str
    default: Any = REQUIRED
    null: Any = REFUSED
    also: tuple[str, ...] = ()
    words: Mapping[str, Any] = {}

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.name, *self.also)


@attrs.frozen
class Rule:
    """A property that several fields decide together, in words and as a function of the reading and the properties before it."""

    text: str
    of: Callable[[Reading, Values], Any]


Property = Field | Rule | Derived | str | int | bool
"""How a family defines a property: the field it is read from, how it follows from others, or its constant value."""


def size(name: str, default: Any = REQUIRED, null: Any = REFUSED, also: tuple[str, ...] = ()) -> Field:
    """A positive number of elements, heads or layers."""
    return Field(name, "size", default, null, also)


def layers(name: str, default: int, also: tuple[str, ...] = ()) -> Field:
    """The number of layers."""
    return Field(name, "layers", default, REFUSED, also)


def flag(name: str, default: bool, also: tuple[str, ...] = ()) -> Field:
    """True or false."""
    return Field(name, "flag", default, REFUSED, also)


def scaled(name: str, default: bool) -> Field:
    """A factor: the property is whether it is another one than 1."""
    return Field(name, "factor", default, False)


def dropout(name: str, default: bool) -> Field:
    """A probability: the property is whether it is above 0."""
    return Field(name, "probability", default, False)


def capped(name: str, default: bool) -> Field:
    """A bound on scores or logits: the property is whether there is one."""
    return Field(name, "bound", default, False)


def same(name: str, text: str) -> Derived:
    """As another property."""
    return Derived(text, lambda values: values[name])


AS_HEADS = same("heads", "as many as heads")
PER_HEAD = Derived("hidden size / heads", lambda values: _whole(values["width"], values["heads"]))
WHOLE_HEAD = same("head_size", "the whole head")
FOUR_WIDTHS = Derived("4 * hidden size", lambda values: 4 * values["width"])


class NotWholeError(Exception):
    """Two sizes whose quotient is no integer."""


def _whole(dividend: int, divisor: int) -> int:
    if dividend % divisor:
        raise NotWholeError(f"{dividend} elements can't be shared out among {divisor} heads")
    return dividend // divisor


MAXIMUM_LAYERS = 2**16
"""Each layer is written down before equal ones are put together."""

MAXIMUM_SIZE = 2**40
"""Larger sizes are slips: the largest models have vocabularies of about 2**18."""


@attrs.frozen
class Kind:
    """Values that a field may hold: `wanted` in words, `meaning` of one of them; None if it is not one."""

    wanted: str
    meaning: Callable[[Any], Any]


def _integer(least: int) -> Callable[[Any], int | None]:
    return lambda v: v if isinstance(v, int) and not isinstance(v, bool) and least <= v <= MAXIMUM_SIZE else None


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) != float("inf")


KINDS: Mapping[str, Kind] = {
    "size": Kind("a positive integer", _integer(1)),
    "layers": Kind("an integer from 1 to 65536", lambda v: v if _integer(1)(v) and v <= MAXIMUM_LAYERS else None),
    "count": Kind("an integer that is not negative", _integer(0)),
    "flag": Kind("true or false", lambda v: v if isinstance(v, bool) else None),
    "word": Kind("a word", lambda v: v if isinstance(v, str) else None),
    "factor": Kind("a number other than 0", lambda v: v != 1 if _number(v) and v else None),
    "bound": Kind("a positive number", lambda v: True if _number(v) and v > 0 else None),
    "probability": Kind("a number from 0 to 1", lambda v: v > 0 if _number(v) and 0 <= v <= 1 else None),
    "fraction": Kind("a number above 0, at most 1", lambda v: v if _number(v) and 0 < v <= 1 else None),
}
"""The values that a field may hold, by the name of the kind."""
