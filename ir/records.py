"""Classes whose annotated names are their fields, for what every run of a tool makes at its start.

A class costs a few microseconds here, nothing is compiled, and no library is loaded: with attrs it is a quarter of a millisecond, and 20
for the library, which together were half of a short run (`docs/performance.md`). What a short run does not load is declared with attrs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")


def _annotated(namespace: dict[str, Any]) -> list[str]:
    """The fields of a class that is being made."""
    return [field for field, what in namespace.get("__annotations__", {}).items() if not str(what).startswith("ClassVar")]


@dataclass_transform(eq_default=False, frozen_default=True)
class Record(type):
    """Makes classes of frozen objects: fields are the annotated names, first those of the base, as in a data class.

    An object is equal to itself alone. The fields are `__match_args__`. A class with `kw_only=True` has fields that are given by name.
    """

    __match_args__: tuple[str, ...]
    defaults: dict[str, Any]
    setters: tuple[Callable[[Any, Any], None], ...]  # what sets each field of an object

    def __new__(meta, name: str, bases: tuple[type, ...], namespace: dict[str, Any], kw_only: bool = False) -> Any:
        if "__attrs_attrs__" in namespace:
            raise TypeError(f"the fields of {name} are its annotated names; attrs has nothing to add")
        annotated = _annotated(namespace)
        inherited = next((base for base in bases if isinstance(base, Record)), None)
        known, defaults = (inherited.__match_args__, inherited.defaults) if inherited is not None else ((), {})
        own = tuple(field for field in annotated if field not in known)
        given = {field: namespace.pop(field) for field in annotated if field in namespace}
        if inherited is None:
            frozen = {"__setattr__": _refuse, "__delattr__": _refuse, "__repr__": _show, "__reduce__": _parts}
            namespace = {"__init__": fill, **frozen, **namespace}
        cached = any(isinstance(value, cached_property) for value in namespace.values())
        namespace["__slots__"] = (*own, "__dict__") if cached else own
        namespace["__match_args__"] = (*known, *own)
        cls = super().__new__(meta, name, bases, namespace)
        cls.defaults = {**defaults, **given}
        cls.setters = (*(inherited.setters if inherited is not None else ()), *(cls.__dict__[field].__set__ for field in own))
        return cls

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], kw_only: bool = False) -> None:
        super().__init__(name, bases, namespace)

    @property
    def __signature__(cls) -> Any:
        """The fields and their defaults, for `inspect.signature` and `help`."""
        from inspect import Parameter, Signature, signature  # as few runs ask

        start: Any = next(vars(base)["__init__"] for base in cls.__mro__ if "__init__" in vars(base))
        if start is not fill:
            return signature(partial(start, None))
        kind: Any = Parameter.POSITIONAL_OR_KEYWORD
        parameters: list[Parameter] = []
        for field in cls.__match_args__:
            default = cls.defaults.get(field, Parameter.empty)
            if default is Parameter.empty and parameters and parameters[-1].default is not Parameter.empty:
                kind = Parameter.KEYWORD_ONLY  # after a field with a default: is given by name
            parameters.append(Parameter(field, kind, default=default))
        return Signature(parameters)


def fill(self: Any, *args: Any, **named: Any) -> None:
    """Set the fields; those that are not given to their defaults."""
    cls = self.__class__
    if named or len(args) != len(cls.__match_args__):
        args = completed(cls, args, named)
    for put, value in zip(cls.setters, args, strict=False):
        put(self, value)


def completed(cls: Any, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """The values of all fields in their order, where some are named or left out."""
    fields, defaults = cls.__match_args__, cls.defaults
    if len(args) > len(fields):
        raise TypeError(f"{cls.__name__} has {len(fields)} fields, {len(args)} are given")
    rest = fields[len(args) :]
    missing = next((field for field in rest if field not in named and field not in defaults), None)
    if missing is not None:
        raise TypeError(f"{cls.__name__} needs '{missing}'")
    values = (*args, *[named.pop(field) if field in named else defaults[field] for field in rest])
    if named:
        raise TypeError(f"{cls.__name__} has no field {', '.join(named)}, or it is given twice")
    return values


def _refuse(self: Any, name: str, *value: Any) -> NoReturn:
    raise AttributeError(f"'{name}' of {type(self).__name__} can't change")


def _parts(self: Any) -> tuple[Any, ...]:
    """The call that makes it again, for `pickle` and `copy`."""
    return type(self), tuple(getattr(self, field) for field in type(self).__match_args__)


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
    if named or len(args) != len(cls.__match_args__):
        return cls(*completed(cls, args, named))
    if cls.__init__ is not fill:
        return type.__call__(cls, *args)
    new = cls.__new__(cls)  # as `fill` does, without a call
    for put, value in zip(cls.setters, args, strict=False):
        put(new, value)
    return new
