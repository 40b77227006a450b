"""What nobody foresaw is a failed run, too: the other runs go on."""

from __future__ import annotations

import contextlib
import traceback
from dataclasses import replace
from pathlib import Path

from minitopo_dc.run.judge import blank_result
from minitopo_dc.run.results import RunResult
from minitopo_dc.scenario import Scenario


def crashed(scenario: Scenario, directory: Path, error: Exception) -> RunResult:
    """The result of a run that ended with an error, whose traceback is `crash.txt`."""
    with contextlib.suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
        text = "".join(traceback.format_exception(error))
        (directory / "crash.txt").write_text(text, encoding="utf-8")
    words = " ".join(str(error).split())
    return replace(blank_result(scenario, directory), reason=f"{type(error).__name__}: {words}")
