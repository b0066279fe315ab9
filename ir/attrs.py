"""Classes whose annotated names are their fields: the part of attrs that this project uses, with its names and meanings.

The package itself costs a command a third of its start: it imports `inspect`, and works out each class with much care. Here a class
costs one compilation, of its `__init__`; all other methods are shared. What is not here: ordering, and conversion when a field
of a `define`d class is set later. Every argument is as in https://www.attrs.org/en/stable/api.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

__all__ = ["NOTHING", "Field", "FrozenInstanceError", "define", "evolve", "field", "fields", "frozen", "validators"]

NOTHING: Any = object()
"""The default of a field that has none."""


class FrozenInstanceError(AttributeError):
    """A field of a frozen object was set or deleted."""


class Field:
    """What is known of one field of a class.

    Attributes:
        name: the attribute that holds it.
        alias: the argument of `__init__` that gives it: the name without leading underscores, unless another was asked for.
    """

    __slots__ = ("alias", "converter", "default", "eq", "factory", "hash", "init", "kw_only", "metadata", "name", "repr", "validator")

    def __init__(self, default: Any, factory: Any = None, converter: Any = None, validator: Any = None, **settings: Any):
        self.default, self.factory, self.converter, self.validator = default, factory, converter, validator
        self.init: bool = settings.get("init", True)
        self.repr: bool = settings.get("repr", True)
        self.hash: bool | None = settings.get("hash")
        self.eq: bool = settings.get("eq", True)
        self.kw_only: bool = settings.get("kw_only", False)
        self.metadata: Mapping[str, Any] = {}
        self.name = self.alias = ""

    @property
    def optional(self) -> bool:
        """Whether an object can be made without giving it."""
        return self.default is not NOTHING or self.factory is not None

    @property
    def inherited(self) -> bool:
        """What the package asks of the fields of a base: here it can only be answered by a hint."""
        raise TypeError(f"a subclass of a class with the field '{self.name}' is made by bpir.ir.attrs, not by the package attrs")


if TYPE_CHECKING:  # the checker reads the package itself, whose classes it knows
    from attrs import define, evolve, field, fields, frozen, validators
else:

    def field(
        *,
        default=NOTHING,
        factory=None,
        converter=None,
        validator=None,
        init=True,
        repr=True,
        hash=None,
        eq=True,
        kw_only=False,
        alias=None,
        metadata=None,
    ):
        found = Field(default, factory, converter, validator, init=init, repr=repr, hash=hash, eq=eq, kw_only=kw_only)
        found.alias, found.metadata = alias or "", metadata or {}
        return found

    class validators:
        """What may be asked of the value of a field."""

        @staticmethod
        def in_(choices):
            """The value is one of the choices."""

            def check(instance, attribute, value):
                if value not in choices:
                    raise ValueError(f"'{attribute.name}' must be in {choices!r} (got {value!r})")

            return check

    def define(cls=None, *, eq=True, slots=True):
        """A class whose objects can be changed; those with equal fields are equal, unless `eq` is False."""
        return _decorated(cls, False, eq, slots)

    def frozen(cls=None, *, eq=True, slots=True):
        """A class whose objects can't be changed, and can be hashed."""
        return _decorated(cls, True, eq, slots)

    def fields(cls):
        """The fields of a class, those of its bases first."""
        return cls.__attrs_attrs__

    def evolve(instance, **changes):
        """A copy with other values for the fields that are named by their arguments."""
        for known in fields(type(instance)):
            if known.init and known.alias not in changes:
                changes[known.alias] = getattr(instance, known.name)
        return type(instance)(**changes)


def _decorated(cls: Any, frozen: bool, eq: bool, slots: bool) -> Any:
    if cls is None:
        return lambda decorated: _built(decorated, frozen, eq, slots)
    return _built(cls, frozen, eq, slots)


def _built(cls: Any, frozen: bool, eq: bool, slots: bool) -> Any:
    own, found = _fields(cls)
    namespace: dict[str, Any] = {}
    namespace["__attrs_attrs__"] = found
    namespace["__match_args__"] = tuple(known.name for known in found if known.init and not known.kw_only)
    if "__repr__" not in cls.__dict__ and not issubclass(cls, BaseException):
        namespace["__repr__"] = _repr
    frozen = frozen or cls.__setattr__ is _refuse
    if frozen:
        namespace["__setattr__"] = namespace["__delattr__"] = _refuse
    if eq:
        namespace["_attrs_compared"] = _values([f.name for f in found if f.eq])
        namespace["_attrs_hashed"] = _values([f.name for f in found if (f.eq if f.hash is None else f.hash)])
        namespace["__eq__"] = _equal
        namespace["__hash__"] = _hash if frozen else None
    if slots:
        cls = _with_slots(cls, own, namespace)
    else:
        for name in own:
            if name in cls.__dict__:
                type.__delattr__(cls, name)
        for name, value in namespace.items():
            setattr(cls, name, value)
    if "__init__" not in cls.__dict__:
        cls.__init__ = _init(cls, found, frozen)
    return cls


def _fields(cls: Any) -> tuple[list[str], tuple[Field, ...]]:
    """The names of the fields that a class adds, and all its fields."""
    own: dict[str, Field] = {}
    for name, annotation in cls.__annotations__.items() if "__annotations__" in cls.__dict__ else ():
        if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
            continue
        given = cls.__dict__.get(name, NOTHING)
        known = given if isinstance(given, Field) else Field(given)
        known.name, known.alias = name, known.alias or name.lstrip("_")
        own[name] = known
    inherited: dict[str, Field] = {}
    for base in reversed(cls.__mro__[1:]):
        for known in base.__dict__.get("__attrs_attrs__", ()):
            inherited[known.name] = known
    found = (*(known for name, known in inherited.items() if name not in own), *own.values())
    optional = False
    for known in found:
        if known.init and not known.kw_only:
            if optional and not known.optional:
                raise ValueError(f"{cls.__name__}: the field '{known.name}' has no default, but follows one that has")
            optional = known.optional
    return list(own), found


def _with_slots(cls: Any, own: list[str], namespace: dict[str, Any]) -> Any:
    """The class once more, its fields in slots."""
    kept = {name: value for name, value in cls.__dict__.items() if name not in own and name not in ("__dict__", "__weakref__")}
    weak = () if any("__weakref__" in base.__dict__ for base in cls.__mro__[1:]) else ("__weakref__",)
    inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
    kept["__slots__"] = (*(name for name in own if name not in inherited), *weak)
    kept["__getstate__"], kept["__setstate__"] = _state, _set_state
    new = type(cls)(cls.__name__, cls.__bases__, {**kept, **namespace, "__qualname__": cls.__qualname__})
    for value in kept.values():  # `super()` and `__class__` in a method mean the new class
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        for cell in (isinstance(function, FunctionType) and function.__closure__) or ():
            _move(cell, cls, new)
    return new


def _move(cell: CellType, old: Any, new: Any) -> None:
    try:
        if cell.cell_contents is old:
            cell.cell_contents = new
    except ValueError:  # the cell is empty
        pass


def _init(cls: Any, found: tuple[Field, ...], frozen: bool) -> Any:
    """`__init__` of a class: one compilation."""
    arguments: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    given: dict[str, Any] = {"_NOTHING": NOTHING, "_set": object.__setattr__}
    for index, known in enumerate(found):
        value = known.alias
        if known.init:
            argument = known.alias
            if known.factory is not None:
                argument += "=_NOTHING"
                given[f"_factory{index}"] = known.factory
                value = f"_factory{index}() if {known.alias} is _NOTHING else {known.alias}"
            elif known.default is not NOTHING:
                argument += f"=_default{index}"
                given[f"_default{index}"] = known.default
            (named if known.kw_only else arguments).append(argument)
        elif known.optional:
            given[f"_default{index}"] = known.default
            given[f"_factory{index}"] = known.factory
            value = f"_factory{index}()" if known.factory is not None else f"_default{index}"
        else:
            continue
        if known.converter is not None:
            given[f"_convert{index}"] = known.converter
            value = f"_convert{index}({value})"
        lines.append(f"    _set(self, '{known.name}', {value})" if frozen else f"    self.{known.name} = {value}")
    for index, known in enumerate(found):
        if known.validator is not None:
            given[f"_validate{index}"], given[f"_field{index}"] = known.validator, known
            lines.append(f"    _validate{index}(self, _field{index}, self.{known.name})")
    if hasattr(cls, "__attrs_post_init__"):
        lines.append("    self.__attrs_post_init__()")
    if issubclass(cls, BaseException):
        lines.append(f"    BaseException.__init__(self, {', '.join('self.' + known.name for known in found if known.init)})")
    signature = ", ".join(["self", *arguments, *(["*", *named] if named else [])])
    exec(f"def __init__({signature}):\n" + "\n".join(lines or ["    pass"]), given)
    made = given["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    return made


def _values(names: list[str]) -> Any:
    """The values of fields, to compare and to hash."""
    return staticmethod(attrgetter(*names)) if names else staticmethod(lambda instance: ())


def _equal(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self._attrs_compared(self) == self._attrs_compared(other)


def _hash(self: Any) -> int:
    return hash((self.__class__, self._attrs_hashed(self)))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{known.name}={getattr(self, known.name, NOTHING)!r}" for known in type(self).__attrs_attrs__ if known.repr)
    return f"{type(self).__qualname__.rpartition('>.')[2]}({shown})"


def _refuse(self: Any, name: str, value: object = None) -> None:
    if isinstance(self, BaseException) and name.startswith("__"):  # the interpreter sets the traceback and the cause
        BaseException.__setattr__(self, name, value)
        return
    raise FrozenInstanceError(f"a frozen {type(self).__name__} keeps its '{name}'")


def _state(self: Any) -> dict[str, Any]:
    return {known.name: getattr(self, known.name) for known in type(self).__attrs_attrs__}


def _set_state(self: Any, state: dict[str, Any]) -> None:
    for name, value in state.items():
        object.__setattr__(self, name, value)
