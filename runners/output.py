"""Reading what a process of a run printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from minitopo_dc.runners.base import TransferFailed


def last_json(output: Path, role: str) -> dict[str, Any]:
    """The JSON object on the last line of a process's output.

    Raises:
        TransferFailed: there is none.
    """
    lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
    try:
        report = json.loads(lines[-1])
    except (IndexError, ValueError):
        report = None
    if not isinstance(report, dict):
        raise TransferFailed(f"{role} printed no report")
    return report
