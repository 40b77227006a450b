"""Options of runners: each runner has a model that says which there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, ValidationError

from minitopo_dc.errors import did_you_mean
from minitopo_dc.fields import Settings, SettingsError

MOST = 2**62 - 1
"""Of every size: what QUIC can write (RFC 9000, section 16)."""
Size = Annotated[int, Field(ge=1, le=MOST)]
SocketBuffer = Annotated[int, Field(ge=1, le=2**30 - 1)]
"""Bytes; the kernel doubles it, in a C int (socket(7), SO_RCVBUF)."""
KINDS = {
    **{"integer": "a whole number", "number": "a number", "boolean": "true or false"},
    **{"string": "a string", "array": "an array", "object": "a mapping", "null": "null"},
}
"""Of JSON's types: what stands for them in an error."""


class Options(Settings):
    """Options of a runner that has none; a subclass has those of another runner.

    Each is a whole number from 1 on, a number with a range of `settings.ranges`, one of some words
    or a switch; one that may be None is None unless it is given.
    """

    model_config = ConfigDict(strict=True)

    @classmethod
    def check(cls, values: object, source: str) -> Self:
        """Make the options from a mapping; `source` begins an error: it names the runner.

        Raises:
            SettingsError: naming the first option that is wrong, and what is allowed.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise SettingsError(f"{source}: {cls._error_text(first)}") from None

    @classmethod
    def _error_text(cls, wrong: Mapping[str, Any]) -> str:
        if not wrong["loc"]:  # options that do not go together
            return f"option {wrong['msg'].removeprefix('Value error, ')}"
        name = wrong["loc"][0]
        if name not in cls.model_fields:
            known = ", ".join(sorted(cls.model_fields)) or "none"
            hint = did_you_mean(str(name), cls.model_fields)
            return f"no option {name!r:.80}{hint and '; '}{hint} (known: {known})"
        if wrong["type"] == "number" and "units:" in wrong["msg"]:
            return f"option {name}: {wrong['msg']}"
        if wrong["type"] == "value_error":
            return f"option {name}: {wrong['msg'].removeprefix('Value error, ')}"
        allowed = _words(cls.model_json_schema()["properties"][name])
        return f"option {name} must be {allowed}, not {wrong['input']!r:.80}"


def _words(schema: Mapping[str, Any]) -> str:
    """Say what a field's JSON schema allows."""
    if "anyOf" in schema:
        return " or ".join(map(_words, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " or ".join(map(repr, schema.get("enum", [schema.get("const")])))
    kind = KINDS.get(schema.get("type", ""), "of another kind")
    if "description" in schema:  # of a range
        return f"{kind} ({schema['description']})"
    return f"a positive integer up to {schema['maximum']}" if "maximum" in schema else kind
