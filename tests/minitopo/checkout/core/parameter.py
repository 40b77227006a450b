# mypy: ignore-errors
"""Parameter files: `key:value`; whatever is wrong is skipped, as Minitopo does."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar


class Parameter:
    defaults: ClassVar[dict[str, str]] = {}

    def __init__(self, filename: str | None) -> None:
        self.parameters: dict[str, Any] = {}
        for line in Path(filename).read_text().splitlines() if filename else ():
            if line.count(":") != 1 or line.startswith("#"):
                continue
            key, value = line.split(":")
            if key in self.parameters:
                # Of a key given twice a list, which the readers of single values cannot use.
                self.parameters[key] = [self.parameters[key], value]
            else:
                self.parameters[key] = value

    def get(self, key: str) -> Any:
        if key in self.parameters:
            return self.parameters[key]
        if key not in self.defaults:
            raise LookupError(f"{key} is missing, and has no default")
        return self.defaults[key]
