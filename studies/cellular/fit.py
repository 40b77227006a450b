"""Fit the synthetic drives to what is published: `python studies/cellular/fit.py entire`.

`entire` is fitted to tables 2 and 3 of Krämer et al., Electronics 11 (2022) 1492, and to what its
section 3.2 says of visible cells; `residential` and `road` keep its receiver, path loss and layout
and are fitted to their rows of table 2, to figure 2, and to how much each further channel adds in
tables 4 and 5. Samples are 200 m apart, so that few are needed. `minitopo_dc/trace/drive.py` has
the numbers, which an evolution strategy (CMA-ES) found with this loss; Nelder and Mead's simplex
goes on from there. Without a name it prints how they agree over drives at their own speed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import minimize

from minitopo_dc.cli.screen import progress
from minitopo_dc.interruption import interruptible
from minitopo_dc.trace import (
    ENVIRONMENTS,
    ChannelStatistics,
    Environment,
    channel_statistics,
    channels_of,
    synthesise_drive,
)
from minitopo_dc.trace.embedded import DRIVE_S

Vector = npt.NDArray[np.float64]
REFERENCE = Path(__file__).with_name("reference")
SAMPLES, SAMPLES_KMH = 10_000, 720.0
EVALUATIONS = 350
FIRST_STEP = 0.3
"""Of the search, in the units of `STEPS`."""
CHECK_S = {"entire": 33 * 3600, "residential": 10 * 3600, "road": 10 * 3600}
"""33 h as the published set has; the segments longer than any, for their means."""
NEAR_CELLS, NEAR = 0.05, 0.05
"""How far an embedded drive may be from its published mean number of channels (table 2), and from
the mean capacity of the best and of all channels (tables 4 and 5, as a part)."""
LOGARITHMIC = {"spacing_m", "dense_spacing_m", "jitter", "setback", "setback_spread"}
"""Above 0, so that a step is a factor."""
STEPS = {
    "spacing_m": 0.15,
    "dense_spacing_m": 0.15,
    "dense_share": 0.03,
    "offset": 0.05,
    "jitter": 0.2,
    "setback": 0.1,
    "setback_spread": 0.15,
    "power_dbm": 0.7,
    "power_sd_db": 0.3,
    "second_carrier_db": 3.0,
    "second_carrier_sd_db": 3.0,
    "sector_db": 2.0,
    "threshold_dbm": 1.5,
    "detection_db": 1.5,
}
"""By how much what is fitted has to differ for about the same difference in the errors."""
OF_SEGMENT = ("spacing_m", "second_carrier_db", "second_carrier_sd_db", "power_dbm", "setback")
"""What is fitted of a segment."""
TOLERANCES = (0.07, 0.07, 0.07, 0.18, 0.18, 0.18)
"""Of the values of a row of table 3 but p0.1, as natural logarithms: 0.7 of what is accepted."""
SHARES = {
    "road": (0.0, 0.005, 0.05, 0.70, 0.245),
    "residential": (0.0, 0.0, 0.0, 0.01, 0.99),
}
"""Figure 2, as its text fixes it: on the road 3.19 on average, 4 below 25 %, 1 very briefly."""


def table(name: str) -> pd.DataFrame:
    """Return one of the paper's tables, by its first column."""
    return pd.read_csv(REFERENCE / f"mpquic_cellular_table_{name}.csv", index_col=0)


CELLS = table("2_available_cells")["average_available_cells"].rename({"entire_dataset": "entire"})
CAPACITY = table("3_capacity")


def gains(name: str) -> tuple[float, Vector]:
    """Return tables 4 and 5: the best channel's mean (Mbit/s), the gains of 2, 3, 4 of them."""
    rows = table({"residential": "4_residential", "road": "5_road"}[name])
    means = rows.groupby("case")["mp_capacity_mbps"].mean()
    return float(means["sp"]), (means[["2", "3", "4"]] / means["sp"]).to_numpy()


def drive(
    environment: Environment, seconds: int, seed: int = 1
) -> tuple[ChannelStatistics, Vector]:
    """Return a drive's statistics, and the mean sum of its best 1, 2, ... channels (Mbit/s)."""
    log = synthesise_drive(seed, seconds, environment)
    capacities = channels_of(log)
    ranked = np.sort(np.array(capacities.mbps), axis=0)[::-1]
    return channel_statistics(capacities, log), ranked.cumsum(axis=0).mean(axis=1)


def capacity(statistics: ChannelStatistics, level: str) -> Vector:
    """Return a level's values in Mbit/s in the order of table 3."""
    row = statistics.capacity[level]
    return np.array([row.mean_mbps, row.median_mbps, *row.percentiles_mbps])


def loss(environment: Environment) -> float:
    """Return the sum of squared errors, in units of the accepted error."""
    # The same route without stops, at a speed that makes each second a new sample.
    sampled = replace(environment, speed_kmh=SAMPLES_KMH, stop_every_m=1e12)
    statistics, sums = drive(sampled, SAMPLES)
    cells = statistics.available_mean - CELLS[environment.name]
    errors: list[Any]
    if environment.name == "entire":
        visible, many = statistics.visible_mean or 0.0, statistics.visible_more_than_7 or 0.0
        errors = [cells / 0.03, (visible - 4.26) / 0.4, (many - 0.20) / 0.1]
        for level, row in CAPACITY.iterrows():
            ours = np.maximum(capacity(statistics, str(level)), 0.001)[:-1]
            errors.extend(np.log(ours / row.to_numpy()[:-1]) / TOLERANCES)
    else:
        shares = np.array([*statistics.available_shares, *[0.0] * 5])[:5]
        _, published = gains(environment.name)
        errors = [cells / 0.02, *(shares - SHARES[environment.name]) / 0.03]
        errors.extend(np.log(sums[1:] / sums[0] / published) / 0.03)
    return float(np.square(errors).sum())


def moved(base: Environment, fields: Sequence[str], vector: Vector) -> Environment:
    """Return an environment so many `STEPS` away; ValueError when there is none."""
    numbers = iter(vector)
    changed: dict[str, Any] = {}
    for name in fields:
        before = np.atleast_1d(getattr(base, name))
        steps = np.array([next(numbers) for _ in before]) * STEPS[name]
        values = before * np.exp(steps) if name in LOGARITHMIC else before + steps
        rounded = tuple(float(f"{value:.4g}") for value in values)
        changed[name] = rounded if len(rounded) > 1 else rounded[0]
    # The first operator's power stands: only the difference between both is fitted.
    changed["power_dbm"] = base.power_dbm[0], changed["power_dbm"][1]
    return replace(base, **changed)


def fit(base: Environment) -> Environment:
    """Return the environment with the fitted fields."""
    fields = tuple(STEPS) if base.name == "entire" else OF_SEGMENT

    def of_vector(vector: Vector) -> float:
        try:
            return loss(moved(base, fields, vector))
        except ValueError:  # a share outside 0 to 1, or no cell at all
            return np.inf

    start = np.zeros(sum(np.size(getattr(base, name)) for name in fields))
    simplex = np.vstack([start, FIRST_STEP * np.eye(len(start))])
    options: Any = {"maxfev": EVALUATIONS, "adaptive": True, "initial_simplex": simplex}
    return moved(base, fields, minimize(of_vector, start, method="Nelder-Mead", options=options).x)


def typical_seed(environment: Environment) -> int:
    """Return the first seed of a segment of the embedded length near its published means."""
    single, published = gains(environment.name)
    targets = np.array([single, single * published[-1]])
    for seed in count(1):
        statistics, sums = drive(environment, DRIVE_S, seed)
        ratios = sums[[0, -1]] * environment.scale / targets
        near = abs(statistics.available_mean - CELLS[environment.name]) <= NEAR_CELLS
        if near and (abs(ratios - 1) <= NEAR).all():
            return seed
    raise AssertionError


def check(environment: Environment) -> None:
    """Print the statistics of a drive at its own speed, beside the published ones."""
    name = environment.name
    statistics, sums = drive(environment, CHECK_S[name])
    print(f"{name}: {statistics.available_mean:.3f} cells are available ({CELLS[name]})")  # noqa: T201
    if name == "entire":
        print(f"visible {statistics.visible_mean}, > 7: {statistics.visible_more_than_7}")  # noqa: T201
        ours = {level: capacity(statistics, str(level)) for level in CAPACITY.index}
        print(pd.DataFrame.from_dict(ours, orient="index", columns=list(CAPACITY)).round(2))  # noqa: T201
        return
    single, published = gains(name)
    print(f"gains {sums[1:] / sums[0]} ({published}), scale {single / sums[0]:.3f}")  # noqa: T201
    print(f"seed of the embedded drive: {typical_seed(environment)}")  # noqa: T201


if __name__ == "__main__":
    with interruptible("what is fitted is printed above"):
        for fitted in progress(sys.argv[1:]):
            print(fit(ENVIRONMENTS[fitted]))  # noqa: T201
        for shipped in () if sys.argv[1:] else progress([*ENVIRONMENTS]):
            check(ENVIRONMENTS[shipped])
