"""The base of all validated settings: strict fields, YAML files, one clear error."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from inspect import Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Self, TypeVar, get_args

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from minitopo_dc.errors import InputError, did_you_mean
from minitopo_dc.fields.yaml_text import dump_yaml, parse_yaml
from minitopo_dc.files import read_text, write_whole
from minitopo_dc.numbers import QUANTITIES, Quantity, in_field_unit, is_plain, quantity_of
from minitopo_dc.units import NS_PER_MS

MAX_BYTES = 2_000_000
"""The most bytes of a YAML file: as many as its characters may have in UTF-8."""
MAX_PATH = 4095
"""The most bytes of a path (PATH_MAX of linux/limits.h, without the final 0)."""
MAX_ERRORS = 20
"""The most wrong fields that one message lists."""
MAX_WORDS = 1000
"""The most characters of what is said of a field."""
MAX_QUOTED = 200
"""The most characters of a value in a message."""


if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class SettingsError(InputError):
    """A mistake in a settings file or option; the message names the place and what is allowed."""


class SettingsWarning(UserWarning):
    """Settings that are right, but maybe not as they are meant; told once."""


Value = TypeVar("Value")
_LEFT_OUT = object()
LeftOut = Annotated[Value, _LEFT_OUT]
"""The type of a field that files leave out while it has its default: files of runs that do not use
the field stay as they were before it existed."""


@cache
def _reader(quantity: Quantity | None) -> Callable[[Any], Any]:
    """Return what reads a number as it is written, with its unit if it is of a quantity.

    It refuses what pydantic would take for a number: `true` for 1, the text "1_0" for 10.
    """

    def read(value: Any) -> Any:
        if isinstance(value, str) and quantity is not None and not is_plain(value):
            try:
                return in_field_unit(value, quantity)
            except ValueError as error:
                raise _no_number(f"{quoted(value)} is {error}") from None
        if isinstance(value, bool) or (isinstance(value, str) and not is_plain(value)):
            raise _no_number(f"{quoted(value)} is no number in digits, such as 10")
        return value

    _READERS.add(read)
    return read


def _no_number(words: str) -> PydanticCustomError:
    return PydanticCustomError("number", "{words}", {"words": words})


_READERS: set[Any] = set()
NUMBERS = ("int", "float")
"""Types of schemas whose values are numbers."""
NO_SCHEMAS = ("metadata", "default", "expected", "serialization", "cls", "config")
"""Parts of a schema that hold other things than schemas."""
FIELD_QUANTITIES = {"outages": QUANTITIES["s"]}
"""The quantities of fields whose names do not tell them."""


def _checking_numbers(schema: Any, quantity: Quantity | None = None) -> Any:
    """Return a core schema in which `_reader` reads whole and real numbers; a union keeps names."""
    if isinstance(schema, list | tuple):
        return type(schema)(_checking_numbers(item, quantity) for item in schema)
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "union":
        named = [
            (choice, choice["type"])
            if isinstance(choice, dict) and choice["type"] in NUMBERS
            else choice
            for choice in schema["choices"]
        ]
        schema = {**schema, "choices": named}
    if schema.get("type") in NUMBERS:
        return core_schema.no_info_before_validator_function(_reader(quantity), schema)
    function = schema.get("function")
    if isinstance(function, dict) and function.get("function") in _READERS:
        return schema  # of a class of settings within this one
    if schema.get("type") == "model-fields":
        fields = {
            name: _checking_numbers(field, FIELD_QUANTITIES.get(name) or quantity_of(name))
            for name, field in schema["fields"].items()
        }
        return schema | {"fields": fields}
    return {
        key: part if key in NO_SCHEMAS else _checking_numbers(part, quantity)
        for key, part in schema.items()
    }


class _Signature:
    """What a class takes: pydantic knows it when the class is built, so that it is built for it."""

    def __get__(self, instance: object, owner: type[BaseModel]) -> Signature:
        owner.model_rebuild()
        return owner.__signature__


class Settings(BaseModel):
    """Base of every validated settings class; it is immutable, and unknown fields are errors."""

    # A process checks few of the classes that it imports: those are built then (`defer_build`).
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)
    MOVED: ClassVar[dict[str, str]] = {}
    """Fields that have moved, and their new place, which an error names."""
    BESIDE: ClassVar[tuple[str, ...]] = ()
    """Names that may be written among its fields and are put elsewhere before they are checked."""

    if not TYPE_CHECKING:  # pydantic's plugin of mypy knows the fields
        __signature__ = _Signature()

        def __init__(self, **fields: Any) -> None:
            """Check the fields; SettingsError names each wrong one."""
            try:
                self.__pydantic_validator__.validate_python(fields, self_instance=self)
            except ValidationError as error:
                raise SettingsError(describe(error, type(self).__name__, type(self))) from None

        __init__.__pydantic_base_init__ = True  # else settings within settings are made by it, too

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let every number of the class be read as it is written (`_reader`)."""
        checking: CoreSchema = _checking_numbers(handler(source))
        return checking

    def __copy__(self) -> Self:
        """Return a copy that may be changed, hence without what was computed of the fields."""
        copied = super().__copy__()
        for name in vars(copied).keys() - type(self).model_fields.keys():
            del vars(copied)[name]
        return copied

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return the same settings, which are immutable: pydantic copies a field's default."""
        return self

    @classmethod
    def check(cls, values: object, source: str) -> Self:
        """Return validated settings, or raise SettingsError naming each wrong field."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise SettingsError(describe(error, source, cls)) from None
        except RecursionError:
            raise SettingsError(f"{source}: nested too deeply") from None

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read and validate a YAML file.

        Raises:
            SettingsError: the file cannot be read, is not YAML, or a field is wrong.
        """
        return cls.check(read_yaml(path), str(path))

    def evolve(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, checked as a whole.

        A mapping changes fields of a field that is settings itself, `pdcp={"batch": 10}`, and items
        of a list of them by their index, which counts from 0: `legs={1: {"delay_ms": 60}}`. Any
        other value, also a mapping of free names such as `options`, takes the field's place. What
        a field was given by others follows these, unless it was given itself.

        Raises:
            SettingsError: naming each wrong field.
        """
        return type(self).check(self._changed(changes), type(self).__name__)

    def _changed(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that were given and what is changed of them, not yet checked."""
        fields = given(self)
        for name, value in changes.items():
            fields[name] = changed(getattr(self, name, None), value, name)
        return fields

    def _changed_part(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the same as a part of other settings, as a file would have it there."""
        return self._changed(changes)

    @model_serializer(mode="wrap")
    def _written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = handler(self)
        for name, default in _left_out(type(self)).items():
            if name in values and getattr(self, name) == default:
                del values[name]
        return values

    def save(self, path: Path) -> None:
        """Write the settings as YAML, so that `load` gives these settings back."""
        values = self.model_dump(mode="json")
        write_whole(path, dump_yaml(values), synced=False)


AnySettings = TypeVar("AnySettings", bound=Settings)
Core = TypeVar("Core", bound="DataclassInstance")


def core_object(kind: type[Core], settings: Settings, **own: Any) -> Core:
    """Return an object of a core (a dataclass) that settings stand for, in the core's units.

    Times become whole ns (`delay_ms` is `delay_ns`), rates whole bit/s (`rate_mbps`, `rate_bps`),
    percentages shares of 1 (`load_percent`, `load`). What the core has under a field's own name is
    that as it is; `own` has what is neither.
    """
    names, made = {field.name for field in fields(kind)} - own.keys(), {}
    for name, value in settings:
        stem, _, unit = name.rpartition("_")
        suffix, convert = _CORE_UNITS.get(unit, ("", None))
        if name in names:
            made[name] = value
        elif convert is not None and f"{stem}{suffix}" in names:
            made[f"{stem}{suffix}"] = None if value is None else convert(value)
    return kind(**made, **own)


_CORE_UNITS: dict[str, tuple[str, Callable[[float], float]]] = {
    "ms": ("_ns", lambda value: round(value * NS_PER_MS)),
    "mbps": ("_bps", lambda value: round(value * 1e6)),
    "percent": ("", lambda value: value / 100),
}
"""By the end of a field's name: that of the core's, and its value there."""


def given(settings: Settings) -> dict[str, Any]:
    """Return the fields that were given, and none that have a default or follow others."""
    names = settings.model_fields_set
    return {name: getattr(settings, name) for name in type(settings).model_fields if name in names}


def not_given(settings: AnySettings, names: Iterable[str]) -> AnySettings:
    """Return settings just made, some fields of which follow others: copies make them anew."""
    settings.model_fields_set.difference_update(names)
    return settings


def changed(old: Any, value: Any, place: str) -> Any:
    """Return what takes the place of a field's value: see `Settings.evolve`.

    Raises:
        SettingsError: there is no item of an index.
    """
    if not isinstance(value, Mapping):
        return value
    if isinstance(old, Settings):
        return old._changed_part(value)
    items = isinstance(old, tuple) and all(isinstance(item, Settings) for item in old)
    if not items or not all(isinstance(index, int) for index in value):
        return value
    new = list(old)
    for index, change in value.items():
        if not 0 <= index < len(new):
            allowed = f"0 to {len(new) - 1}" if new else "none: the list is empty"
            raise SettingsError(f"{place}.{index}: no such item; allowed: {allowed}")
        new[index] = changed(new[index], change, f"{place}.{index}")
    return new


@cache
def _left_out(kind: type[Settings]) -> Mapping[str, Any]:
    return {
        name: field.get_default(call_default_factory=True)
        for name, field in kind.model_fields.items()
        if _LEFT_OUT in field.metadata
    }


def possible_path(path: Path) -> Path:
    """Return a path after checking that the system can have it.

    Raises:
        ValueError: it is too long, has NUL, or half a character.
    """
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:
        raise ValueError(f"{quoted(path)}: no path: half a character") from None
    if b"\0" in name or len(name) > MAX_PATH:
        raise ValueError(f"{quoted(path)}: no path: allowed are {MAX_PATH} bytes, none of them 0")
    return path


def exists(name: str) -> bool:
    """Return whether a file or folder exists; false for a name that the system cannot have."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


FilePath = Annotated[Path, AfterValidator(possible_path)]


def text_of(path: Path, most: int, within: Path | None = None) -> str:
    """Return the text of a file of at most so many bytes; SettingsError: it cannot be read."""
    try:
        return read_text(path, most, within)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise SettingsError(f"{quoted(path)}: {why}") from None


def read_yaml(path: Path, within: Path | None = None) -> Any:
    """Return what a YAML file holds, which no link may lead out of the directory `within`.

    Raises:
        SettingsError: the file cannot be read or is no YAML; with its line where there is one.
    """
    try:
        return parse_yaml(text_of(path, MAX_BYTES, within))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not YAML"
        raise SettingsError(f"{path}{line}: {problem}") from None


def quoted(value: object) -> str:
    """Return a value for a message: unprintable characters are escaped, a long text is cut."""
    text = str(value)
    shown = text if text.isprintable() else ascii(text)
    return shown if len(shown) <= MAX_QUOTED else f"{shown[:MAX_QUOTED]}..."


def describe(error: ValidationError, source: str, cls: type[BaseModel]) -> str:
    """Return a line per wrong field: where, what is wrong, and which fields are known instead.

    For a field that may be of several types the line says what each of them allows.
    """
    words: dict[tuple[int | str, ...], list[str]] = {}
    for item in error.errors(include_url=False):
        unknown = item["type"] == "extra_forbidden"
        place = _place(item["loc"], names_field=unknown)
        reason = _unknown(cls, place) if unknown else error_text(item)
        others = words.setdefault(place, [])
        expected = item.get("ctx", {}).get("expected")
        others.append(f"or {expected}" if others and expected else reason)
    within = {place[:length] for place in words for length in range(len(place))}
    alike: dict[tuple[Any, ...], list[str]] = {}  # places that differ in their numbers alone
    for place, said in words.items():
        if place not in within or not place:
            fields = tuple(part for part in place if not isinstance(part, int))
            name = "".join(f"{quoted(part)}." for part in place)[:-1]
            text = "; ".join(dict.fromkeys(said))[:MAX_WORDS]
            alike.setdefault((fields, text), []).append(name)
    lines = [
        f"{source}: {', '.join(names)}{': ' if names[0] else ''}{text}"
        for (_, text), names in alike.items()
    ]
    more = len(lines) - MAX_ERRORS
    return "\n".join(lines[:MAX_ERRORS] + ([f"{source}: {more} more"] if more > 0 else []))


CHOICE = re.compile(r"[a-z-]+\[.*\]|int|float|str|bool|none", re.DOTALL)
"""What pydantic adds to the place of an error for one of several types that a field may have."""


def _place(location: tuple[int | str, ...], *, names_field: bool) -> tuple[int | str, ...]:
    """Return where an error is without the choices; an unknown field may have a choice's name."""
    choices = location[:-1] if names_field else location
    kept = (part for part in choices if not (isinstance(part, str) and CHOICE.fullmatch(part)))
    return (*kept, *location[len(choices) :])


WORDS: Final[dict[str, str]] = {
    "missing": "missing; give it",
    "greater_than": "{input}; allowed: above {gt}",
    "greater_than_equal": "{input}; allowed: {ge} or more",
    "less_than": "{input}; allowed: below {lt}",
    "less_than_equal": "{input}; allowed: {le} or less",
    **dict.fromkeys(("literal_error", "enum"), "{input}; allowed: {expected}"),
    **{f"int_{why}": "{input} is no whole number" for why in ("type", "parsing", "from_float")},
    "int_parsing_size": "{input} is too large",
    **dict.fromkeys(("float_type", "float_parsing"), "{input} is no number"),
    "finite_number": "{input} is not finite",
    **dict.fromkeys(("bool_type", "bool_parsing"), "{input} is neither true nor false"),
    "string_type": "{input} is no text",
    "path_type": "{input} is no path",
    **dict.fromkeys(("list_type", "tuple_type"), "{input} is no list"),
    **{f"{kind}_type": "{input} is no mapping of names to values" for kind in ("dict", "mapping")},
    **dict.fromkeys(
        ("model_type", "model_attributes_type"), "{input} is no mapping of fields to values"
    ),
    "too_short": "has {actual_length} items; allowed: {min_length} or more",
    "too_long": "has too many items; allowed: {max_length} at most",
    "string_too_short": "{input} is too short; allowed: {min_length} characters or more",
    "string_too_long": "{input} is too long; allowed: {max_length} characters at most",
    **{
        f"ip_{kind}_{what}": f"{{input}} is no IP {what}"
        for kind in ("any", "v4", "v6")
        for what in ("address", "network")
    },
    "invalid_key": "{input}: a name is a text",
    "is_instance_of": "{input} is of another kind",
    "recursion_loop": "holds itself",
    "string_unicode": "{input} has half a character",
    "string_pattern_mismatch": "{input}; allowed: what matches {pattern}",
}
"""The message for an error, by pydantic's name of its type; other errors have pydantic's words."""


def error_text(item: ErrorDetails) -> str:
    """Return what is wrong with a field, and what is allowed there."""
    known = WORDS.get(item["type"])
    if known is None:
        return item["msg"].removeprefix("Value error, ")
    return known.format_map({"input": quoted(item["input"]), **item.get("ctx", {})})


def _unknown(cls: type[BaseModel], place: tuple[int | str, ...]) -> str:
    """Return the message for an unknown field: where it has moved, similar and known names."""
    name, owners = str(place[-1]), _owners(cls, place)
    moved: dict[str, str] = getattr(cls, "MOVED", {})  # a program's settings have none
    if name in moved:
        return f"write {moved[name]}"
    known = dict.fromkeys(
        field for owner in owners for field in (*owner.model_fields, *getattr(owner, "BESIDE", ()))
    )
    hint = did_you_mean(name, known)
    return f"unknown field{hint and '; '}{hint}; known: {', '.join(known)}"


def _owners(cls: type[BaseModel], place: tuple[int | str, ...]) -> tuple[type[BaseModel], ...]:
    """Return the settings classes that may hold the field that a place ends with."""
    owners: tuple[type[BaseModel], ...] = (cls,)
    for part in place[:-1]:
        fields = [owner.model_fields[part] for owner in owners if part in owner.model_fields]
        inner = [model for field in fields for model in _models_in(field.annotation)]
        owners = tuple(inner) or owners  # an index, or a key of a mapping
    return owners


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
