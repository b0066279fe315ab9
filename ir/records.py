"""Classes whose annotated names are their fields, for what every run of a tool makes at its start.

A class costs a few microseconds here, nothing is compiled, and no library is loaded: with attrs it is a quarter of a millisecond, and 20
for the library, which together were half of a short run (`docs/performance.md`). What a short run does not load is declared with attrs.
"""

from __future__ import annotations

from functools import cache, cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(eq_default=False, frozen_default=True)
class Record(type):
    """Makes classes of frozen objects: fields are the annotated names, first those of the base, as in a data class.

    An object is equal to itself alone. The fields are `__match_args__`. A class with `kw_only=True` has fields that are given by name.
    """

    __match_args__: tuple[str, ...]
    defaults: dict[str, Any]

    def __new__(meta, name: str, bases: tuple[type, ...], namespace: dict[str, Any], kw_only: bool = False) -> Any:
        if "__attrs_attrs__" in namespace:
            raise TypeError(f"the fields of {name} are its annotated names; attrs has nothing to add")
        annotated = [field for field, what in namespace.get("__annotations__", {}).items() if not str(what).startswith("ClassVar")]
        inherited = next((base for base in bases if isinstance(base, Record)), None)
        known, defaults = (inherited.__match_args__, inherited.defaults) if inherited is not None else ((), {})
        own = tuple(field for field in annotated if field not in known)
        given = {field: namespace.pop(field) for field in annotated if field in namespace}
        if inherited is None:
            namespace = {"__init__": fill, "__setattr__": _refuse, "__delattr__": _refuse, "__repr__": _show, **namespace}
        cached = any(isinstance(value, cached_property) for value in namespace.values())
        namespace["__slots__"] = (*own, "__dict__") if cached else own
        namespace["__match_args__"] = (*known, *own)
        cls = super().__new__(meta, name, bases, namespace)
        cls.defaults = {**defaults, **given}
        return cls

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], kw_only: bool = False) -> None:
        super().__init__(name, bases, namespace)


def fill(self: Any, *args: Any, **named: Any) -> None:
    """Set the fields; those that are not given to their defaults."""
    cls = self.__class__
    put = object.__setattr__
    fields = cls.__match_args__
    if len(args) > len(fields):
        raise TypeError(f"{cls.__name__} has {len(fields)} fields, {len(args)} are given")
    for field, value in zip(fields, args, strict=False):
        put(self, field, value)
    for field in fields[len(args) :]:
        if field in named:
            put(self, field, named.pop(field))
        elif field in cls.defaults:
            put(self, field, cls.defaults[field])
        else:
            raise TypeError(f"{cls.__name__} needs '{field}'")
    if named:
        raise TypeError(f"{cls.__name__} has no field {', '.join(named)}, or it is given twice")


def _refuse(self: Any, name: str, *value: Any) -> NoReturn:
    raise AttributeError(f"'{name}' of {type(self).__name__} can't change")


def _show(self: Any) -> str:
    return f"{type(self).__name__}({', '.join(f'{field}={getattr(self, field)!r}' for field in type(self).__match_args__)})"


def fields(cls: type) -> tuple[str, ...]:
    """The names of the fields of a record class, in order."""
    return cls.__match_args__  # type: ignore[attr-defined, no-any-return]


def evolved(record: T, **changes: Any) -> T:
    """The object with other values of some fields."""
    cls: Any = type(record)
    return cls(**{field: getattr(record, field) for field in cls.__match_args__} | changes)  # type: ignore[no-any-return]


@dataclass_transform(eq_default=False, frozen_default=True)
class Interned(Record):
    """Makes one object per class and field values: equal values are the same object.

    Fields are hashable (interned attributes, strings, integers, tuples). A call is a lookup in a table of the class, by the interpreter's
    own cache and without a frame of Python: nearly all calls find what they make.
    """

    if not TYPE_CHECKING:
        __call__ = property(attrgetter("_interned"))

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], kw_only: bool = False) -> None:
        super().__init__(name, bases, namespace)
        cls._interned = cache(partial(_make, cls))


def _make(cls: Any, *args: Any, **named: Any) -> Any:
    """A new object; the one of all fields in their order, where some are left out or named."""
    fields = cls.__match_args__
    if len(args) == len(fields) and not named:
        return type.__call__(cls, *args)
    whole = type.__call__(cls, *args, **named)
    return cls(*(getattr(whole, field) for field in fields))
