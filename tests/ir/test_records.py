"""Records: classes whose annotated names are their fields."""

from __future__ import annotations

import inspect
from functools import cached_property
from typing import Any, ClassVar

import attrs
import pytest

from bpir.ir.records import Interned, Record, evolved, fields, fill


class Base(metaclass=Record):
    kind: ClassVar[str] = "base"
    name: str = ""


class Derived(Base, kw_only=True):
    size: int
    name: str = "derived"
    parts: tuple[str, ...] = ()


class Point(metaclass=Interned):
    x: int
    y: int = 0

    @cached_property
    def sum(self) -> int:
        return self.x + self.y


class Checked(metaclass=Interned):
    number: int

    def __init__(self, number: int) -> None:
        if number < 0:
            raise ValueError("negative")
        fill(self, number)


def test_fields_are_those_of_the_base_first_and_what_is_said_again_keeps_its_place() -> None:
    assert fields(Base) == ("name",) and fields(Derived) == ("name", "size", "parts")
    assert Base().name == "" and Derived(size=1).name == "derived"
    derived = Derived("x", size=2, parts=("a",))
    assert (derived.name, derived.size, derived.parts, derived.kind) == ("x", 2, ("a",), "base")
    assert repr(derived) == "Derived(name='x', size=2, parts=('a',))"


@pytest.mark.parametrize("wrong", [{}, {"size": 1, "colour": 2}, {"colour": 2}])
def test_arguments_that_are_missing_or_unknown_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="Derived"):
        Derived(**wrong)


def test_too_many_arguments_and_a_field_given_twice_are_refused() -> None:
    make: Any = Base
    with pytest.raises(TypeError, match="1 fields, 2"):
        make("a", "b")
    with pytest.raises(TypeError, match="name"):
        make("a", name="b")


def test_a_record_does_not_change_and_is_equal_to_itself_alone() -> None:
    base: Any = Base("a")
    for change in (lambda: setattr(base, "name", "b"), lambda: delattr(base, "name"), lambda: setattr(base, "other", 1)):
        with pytest.raises(AttributeError):
            change()
    assert base == base and base != Base("a")
    other = evolved(base, name="b")
    assert (base.name, other.name) == ("a", "b")


def test_equal_interned_values_are_one_object_however_they_are_given() -> None:
    assert Point(1) is Point(1, 0) is Point(x=1) is Point(y=0, x=1)
    assert Point(1) is not Point(2) and Point(1, 2).sum == 3


def test_a_constructor_of_its_own_may_refuse() -> None:
    assert Checked(1) is Checked(1)
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            Checked(-1)


def test_attrs_on_top_is_refused() -> None:
    class Late(Base):
        size: int = 0

    with pytest.raises(TypeError, match="attrs has nothing to add"):
        attrs.frozen(eq=False)(Late)


def test_signatures_show_fields_and_defaults() -> None:
    """`help` and editors show a class by them; Python 3.14 raised AttributeError for a class that interns."""
    shown = {cls.__name__: str(inspect.signature(cls)) for cls in (Base, Derived, Point)}
    assert shown == {"Base": "(name='')", "Derived": "(name='derived', *, size, parts=())", "Point": "(x, y=0)"}
    assert list(inspect.signature(Checked).parameters) == ["number"]
