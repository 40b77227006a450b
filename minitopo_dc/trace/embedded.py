"""Recipes of the traces in the repository: `python -m minitopo_dc.trace.embedded`.

Each pair of traces stands for two operators' cells at the same time and place; both are independent
draws. A drive has all carriers of two operators at once.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from minitopo_dc.trace.channels import RadioSettings, channels_of
from minitopo_dc.trace.drive import RESIDENTIAL, ROAD, synthesise_drive
from minitopo_dc.trace.formats import write_csv
from minitopo_dc.trace.formats.cell_files import write_channels
from minitopo_dc.trace.synthesis import CellParameters, synthesise

_DURATION_S = 60
_STEP_MS = 200
DRIVE_S = 1800
"""Half an hour, which 18 starting points share."""

WALK = CellParameters(sinr_mean_db=3.0, shadowing_sd_db=7.82, correlation_m=13.0, speed_kmh=3.0)
"""A pedestrian in street canyons: shadowing and correlation distance of 3GPP TR 38.901 tables
7.4.1-1 and 7.5-6, urban micro cell without line of sight, at 3 km/h. 3 dB lies between the mean SNR
of the two pedestrian files of Raca et al., -1.1 and 4.6 dB."""


RECIPES = {
    "lte_a": (36, 12, CellParameters()),
    "lte_b": (2, 8, CellParameters()),
    "lte_walk_a": (45, 8, WALK),
    "lte_walk_b": (23, 6, WALK),
}
"""The seed, which was picked (`traces/README.md`), the mean in Mbit/s and the cell of each file."""
DRIVES = {
    "drive_residential": (RESIDENTIAL, 1),
    "drive_road": (ROAD, 8),
    "drive_residential_noisy": (replace(RESIDENTIAL, noise_db=2.0, scale=0.4929), 1),
    "drive_road_noisy": (replace(ROAD, noise_db=2.0, scale=0.5948), 8),
}
"""The environment and the seed of each drive, which was picked (`traces/README.md`).

The noise makes the best channel better, and the scale keeps its mean as it is without noise."""
_MADE_BY = (
    "no measurement (docs/{page}.md).\nMade by: python -m minitopo_dc.trace.embedded traces\n"
)


def write_embedded(directory: Path) -> None:
    """Write all traces of the repository to `directory`."""
    for name, (seed, mean_mbps, cell) in RECIPES.items():
        trace = synthesise(seed, _DURATION_S, mean_mbps, step_ms=_STEP_MS, cell=cell)
        comment = (
            f"Synthetic LTE-like downlink capacity, {_MADE_BY.format(page='traces')}"
            f"that is synthesise({seed}, {_DURATION_S}, {mean_mbps}, step_ms={_STEP_MS}, cell=\n"
            f"{cell})"
        )
        write_csv(trace, directory / f"{name}.csv", comment=comment)
    for name, (kind, seed) in DRIVES.items():
        log = synthesise_drive(seed, DRIVE_S, kind)
        noise = f" --noise {kind.noise_db:g}" if kind.noise_db else ""
        comment = (
            f"Synthetic channels of two operators on a drive, {_MADE_BY.format(page='cellular')}"
            f"that is: trace synthesise-drive cells.csv --environment {kind.name} "
            f"--seed {seed} --seconds {DRIVE_S}{noise}\n"
            f"and: trace channels cells.csv {name}.csv --scale {kind.scale:g}"
        )
        channels = channels_of(log, RadioSettings(scale=kind.scale))
        write_channels(channels, directory / f"{name}.csv", comment=comment)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m minitopo_dc.trace.embedded DIRECTORY (an existing one)")
    write_embedded(Path(sys.argv[1]))
