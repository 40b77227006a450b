"""Parameters of split policies as options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from minitopo_dc.settings import SettingsError


def split_parameters(given: Sequence[str]) -> dict[str, Any]:
    """`NAME=VALUE` each, values as in a scenario file.

    Raises:
        SettingsError: not so, or a name twice.
    """
    values: dict[str, Any] = {}
    for words in given:
        name, equals, value = words.partition("=")
        if not (name and equals and value) or name in values:
            raise SettingsError(f"--split-parameter: {words}; allowed: NAME=VALUE, each name once")
        try:
            values[name] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise SettingsError(f"--split-parameter: {words}; the value is not YAML") from None
    return values
