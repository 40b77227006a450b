"""Runs in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.virtual.scenarios import scenario

RUN = """
import sys
from pathlib import Path
from minitopo_dc.clocks import run_scenario
from minitopo_dc.scenario import Scenario
run_scenario(Scenario.load(Path("scenario.yaml")), Path("run"))
"""


def in_a_process(directory: Path, seed_of_hashes: str, **fields: Any) -> dict[str, bytes]:
    """The files of a run in a process of its own, by name."""
    directory.mkdir()
    scenario(**fields).save(directory / "scenario.yaml")
    environment = os.environ | {"PYTHONHASHSEED": seed_of_hashes}
    subprocess.run([sys.executable, "-c", RUN], cwd=directory, env=environment, check=True)
    return {path.name: path.read_bytes() for path in (directory / "run").iterdir()}
