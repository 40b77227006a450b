"""What a run's directory keeps of the scenario as it was run, where it is not the given one."""

from __future__ import annotations

import csv
from pathlib import Path

from minitopo_dc.scenario import AsRun, Scenario

GIVEN, DERIVED, HANDOVERS = "scenario.yaml", "as-run.yaml", "handovers.csv"


def save_as_run(derived: AsRun, run: Path) -> None:
    """Write the scenario, which can be run by itself, and the handovers of a rule."""
    derived.scenario.save(run / DERIVED)
    if derived.handovers is not None:
        with (run / HANDOVERS).open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["time_s", "old_leg", "new_leg"])
            rows.writerows(derived.handovers)


def load_as_run(run: Path) -> Scenario:
    """The scenario that a run's numbers belong to.

    Raises:
        SettingsError: its file is missing or wrong.
    """
    derived = run / DERIVED
    return Scenario.load(derived if derived.exists() else run / GIVEN)
