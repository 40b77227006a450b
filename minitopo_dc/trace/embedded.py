"""Recipes of the traces in the repository: `python -m minitopo_dc.trace.embedded`.

Each pair of traces stands for two operators' cells at the same time and place; both are independent
draws. A drive has all carriers of two operators at once.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from minitopo_dc.trace.channels import Capacities, RadioSettings, channels_of
from minitopo_dc.trace.drive import RESIDENTIAL, ROAD, Environment, synthesise_drive
from minitopo_dc.trace.formats import write_csv
from minitopo_dc.trace.formats.cell_files import write_channels
from minitopo_dc.trace.model import RateTrace
from minitopo_dc.trace.synthesis import CellParameters, synthesise

_DURATION_S = 60
_STEP_MS = 200
DRIVE_S = 1800
"""Half an hour, which 18 starting points share."""

WALK = CellParameters(sinr_mean_db=3.0, shadowing_sd_db=7.82, correlation_m=13.0, speed_kmh=3.0)
"""A pedestrian in street canyons: shadowing and correlation distance of 3GPP TR 38.901 tables
7.4.1-1 and 7.5-6, urban micro cell without line of sight, at 3 km/h. 3 dB lies between the mean SNR
of the two pedestrian files of Raca et al., -1.1 and 4.6 dB."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parameters of one trace file, whose seed was picked: see `traces/README.md`."""

    name: str
    seed: int
    mean_mbps: int
    cell: CellParameters

    def make(self) -> RateTrace:
        """Return the trace of this recipe."""
        numbers, name = (self.seed, _DURATION_S, self.mean_mbps), f"{self.name}.csv"
        return synthesise(*numbers, step_ms=_STEP_MS, cell=self.cell, name=name)

    def comment(self) -> str:
        """Return the comment at the head of the file."""
        arguments = f"{self.seed}, {_DURATION_S}, {self.mean_mbps}, step_ms={_STEP_MS}"
        return (
            f"Synthetic LTE-like downlink capacity, no measurement (docs/traces.md).\n"
            f"Made by: python -m minitopo_dc.trace.embedded traces\n"
            f"that is synthesise({arguments}, cell=\n"
            f"{self.cell})"
        )


RECIPES = (
    Recipe("lte_a", 36, 12, CellParameters()),
    Recipe("lte_b", 2, 8, CellParameters()),
    Recipe("lte_walk_a", 45, 8, WALK),
    Recipe("lte_walk_b", 23, 6, WALK),
)


@dataclass(frozen=True, slots=True)
class DriveRecipe:
    """The parameters of a drive's channels, whose seed was picked: see `traces/README.md`."""

    name: str
    environment: Environment
    seed: int

    def make(self) -> Capacities:
        """Return the channels of the drive."""
        log = synthesise_drive(self.seed, DRIVE_S, self.environment, name=f"{self.name}.csv")
        return channels_of(log, RadioSettings(scale=self.environment.scale))

    def comment(self) -> str:
        """Return the comment at the head of the file."""
        noise_db = self.environment.noise_db
        noise = f" --noise {noise_db:g}" if noise_db else ""
        return (
            f"Synthetic channels of two operators on a drive, no measurement (docs/cellular.md).\n"
            f"Made by: python -m minitopo_dc.trace.embedded traces\n"
            f"that is: trace synthesise-drive cells.csv --environment {self.environment.name} "
            f"--seed {self.seed} --seconds {DRIVE_S}{noise}\n"
            f"and: trace channels cells.csv {self.name}.csv --scale {self.environment.scale:g}"
        )


DRIVES = (
    DriveRecipe("drive_residential", RESIDENTIAL, 1),
    DriveRecipe("drive_road", ROAD, 8),
    DriveRecipe("drive_residential_noisy", replace(RESIDENTIAL, noise_db=2.0, scale=0.4929), 1),
    DriveRecipe("drive_road_noisy", replace(ROAD, noise_db=2.0, scale=0.5948), 8),
)
"""The noise makes the best channel better, and the scale keeps its mean as it is without noise."""


def write_embedded(directory: Path) -> None:
    """Write all traces of the repository to `directory`."""
    for recipe in RECIPES:
        write_csv(recipe.make(), directory / f"{recipe.name}.csv", comment=recipe.comment())
    for drive in DRIVES:
        write_channels(drive.make(), directory / f"{drive.name}.csv", comment=drive.comment())


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m minitopo_dc.trace.embedded DIRECTORY (an existing one)")
    write_embedded(Path(sys.argv[1]))
