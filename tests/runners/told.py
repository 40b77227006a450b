"""What a program of our own is told: the JSON file that its command line names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def told(command: Sequence[str]) -> dict[str, Any]:
    """The file's content; it is the only argument."""
    *_, option, _, file = command
    assert option == "-m"
    found: dict[str, Any] = json.loads(Path(file).read_text(encoding="utf-8"))
    return found
