# mypy: ignore-errors
"""Parameter files: ``key:value``; whatever is wrong is skipped, as Minitopo does."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar


class Parameter:
    defaults: ClassVar[dict[str, str]] = {}

    def __init__(self, filename: str) -> None:
        self.parameters: dict[str, str] = {}
        for line in Path(filename).read_text().splitlines():
            if line.count(":") == 1 and not line.startswith("#"):
                key, value = line.split(":")
                self.parameters[key] = value

    def get(self, key: str) -> str:
        return self.parameters.get(key) or self.defaults[key]
