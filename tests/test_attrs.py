"""`ir/attrs.py` means what the package attrs means: the same classes are made by both, and compared."""

from __future__ import annotations

import copy
import pickle
import sys
from types import ModuleType
from typing import Any, ClassVar

import attrs as package
import pytest

from bpir.ir import attrs as own

BOTH = pytest.mark.parametrize("attrs", [own, package], ids=["own", "package"])


def classes(attrs: Any) -> dict[str, Any]:
    @attrs.frozen
    class Point:
        kind: ClassVar[str] = "point"
        x: int
        y: int = 2
        tags: list[str] = attrs.field(factory=list, repr=False, eq=False)

        def twice(self) -> int:
            return 2 * self.x

    @attrs.frozen
    class Named(Point):
        name: str = attrs.field(default="n", kw_only=True, alias="called")
        _hidden: int = attrs.field(default=3, converter=int, hash=False)

        def twice(self) -> int:
            return super().twice() + 1

    @attrs.define(eq=False)
    class Box:
        content: object
        count: int = attrs.field(factory=lambda: 0, init=False)

        def __attrs_post_init__(self) -> None:
            self.count += 1

    @attrs.define
    class Plain(Box):
        content: int = 7  # given anew
        sign: str = attrs.field(default="+", validator=attrs.validators.in_(("+", "-")))

    @attrs.frozen
    class Failure(Exception):
        reason: str

    return {c.__name__: c for c in (Point, Named, Box, Plain, Failure)}


@BOTH
def test_fields_defaults_and_aliases(attrs: ModuleType) -> None:
    c = classes(attrs)
    named = c["Named"](1, hidden="5", called="a")
    assert (named.x, named.y, named.tags, named.name, named._hidden, named.kind) == (1, 2, [], "a", 5, "point")
    assert c["Point"](1).tags is not c["Point"](1).tags
    assert [f.name for f in attrs.fields(c["Named"])] == ["x", "y", "tags", "name", "_hidden"]
    assert [f.alias for f in attrs.fields(c["Named"])] == ["x", "y", "tags", "called", "hidden"]
    assert [f.name for f in attrs.fields(c["Plain"])] == ["count", "content", "sign"]
    assert c["Named"].__match_args__ == ("x", "y", "tags", "_hidden")
    assert c["Plain"]().content == 7
    assert c["Box"](5).count == 1


@BOTH
@pytest.mark.parametrize(
    "call", ["Point()", "Point(1, 2, [], 4)", "Point(1, z=3)", "Named(1, 2, [], 3, 'a')", "Box(1, 2)", "Plain(1, '*')"]
)
def test_wrong_calls_are_errors(attrs: ModuleType, call: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        eval(call, classes(attrs))


@BOTH
def test_a_default_before_a_field_without_one_is_an_error(attrs: Any) -> None:
    with pytest.raises(ValueError, match="default"):

        @attrs.define
        class Wrong:
            x: int = 1
            y: int


def test_the_package_is_told_that_it_cannot_go_on() -> None:
    with pytest.raises(TypeError, match=r"by bpir\.ir\.attrs"):
        package.frozen(type("Child", (OfOwn,), {"__annotations__": {"z": int}}))


@BOTH
def test_equality_and_hashes(attrs: Any) -> None:
    c = classes(attrs)
    Point, Named, Box, Plain = c["Point"], c["Named"], c["Box"], c["Plain"]
    assert Point(1, 2, ["a"]) == Point(1) != Point(2)
    assert len({Point(1), Point(1, 2, ["a"]), Point(2)}) == 2
    assert Point(1) != Named(1)
    assert Named(1, hidden=1) != Named(1, hidden=2)
    assert hash(Named(1, hidden=1)) == hash(Named(1, hidden=2))
    assert Box(1) != Box(1)
    assert len({Box(1), Box(1)}) == 2
    assert Plain(1) == Plain(1) != Plain(2)
    with pytest.raises(TypeError):
        hash(Plain(1))


@BOTH
def test_frozen_objects_keep_their_fields(attrs: ModuleType) -> None:
    c = classes(attrs)
    for value in (c["Point"](1), c["Named"](1)):
        with pytest.raises(AttributeError):
            value.x = 2
        with pytest.raises(AttributeError):
            del value.x
        assert value.x == 1
    box = c["Box"](1)
    box.content = 2
    assert box.content == 2
    for value in (c["Point"](1), box):
        with pytest.raises(AttributeError):
            value.other = 1  # there is no slot for it


@BOTH
def test_methods_know_the_class(attrs: ModuleType) -> None:
    c = classes(attrs)
    assert c["Named"](4).twice() == 9
    assert c["Named"].__qualname__ == "classes.<locals>.Named"
    assert c["Named"].__module__ == __name__
    assert repr(c["Named"](1, 3)) == "Named(x=1, y=3, name='n', _hidden=3)"


@BOTH
def test_an_exception_is_raised_with_its_fields(attrs: ModuleType) -> None:
    Failure = classes(attrs)["Failure"]
    with pytest.raises(Failure) as caught:
        raise Failure("why") from ValueError()
    assert caught.value.reason == "why"
    assert caught.value.args == ("why",)


@BOTH
def test_evolved_objects_are_others(attrs: Any) -> None:
    point = classes(attrs)["Named"](1, 5, called="a")
    assert attrs.evolve(point, x=3, called="b") == classes_equal(point, 3, "b")
    assert point.x == 1


def classes_equal(point: Any, x: int, name: str) -> Any:
    return type(point)(x, point.y, called=name)


@own.frozen
class OfOwn:
    x: int
    y: object = None


@package.frozen
class OfPackage:
    x: int
    y: object = None


@pytest.mark.parametrize("cls", [OfOwn, OfPackage])
def test_objects_are_copied_and_pickled(cls: Any) -> None:
    value = cls(1, cls(2))
    for again in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert again == value
    assert sys.getsizeof(cls(1)) < 70 and not hasattr(value, "__dict__")


@BOTH
def test_a_class_without_slots_may_remember(attrs: Any) -> None:
    from functools import cached_property

    @attrs.frozen(eq=False, slots=False)
    class Facts:
        x: int

        @cached_property
        def twice(self) -> list[int]:
            return [2 * self.x]

    facts = Facts(4)
    assert facts.twice == [8]
    assert facts.twice is facts.twice
