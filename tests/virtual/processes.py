"""Runs in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.virtual.scenarios import scenario

RUN = """
from pathlib import Path
from minitopo_dc.clocks import run_scenario
from minitopo_dc.scenario import Scenario
for path in Path().glob("*.yaml"):
    run_scenario(Scenario.load(path), Path(path.stem))
"""


def in_a_process(
    directory: Path, seed_of_hashes: str, scenarios: dict[str, dict[str, Any]]
) -> dict[str, bytes]:
    """The files of runs in a process of their own, by the run's name and theirs."""
    directory.mkdir()
    for name, fields in scenarios.items():
        scenario(**fields).save(directory / f"{name}.yaml")
    environment = os.environ | {"PYTHONHASHSEED": seed_of_hashes}
    subprocess.run([sys.executable, "-c", RUN], cwd=directory, env=environment, check=True)
    return {
        f"{name}/{path.name}": path.read_bytes()
        for name in scenarios
        for path in (directory / name).iterdir()
    }
