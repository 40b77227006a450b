"""What does MP-QUIC's answer owe to its scheduler?

Each scheduler of MP-QUIC (docs/picoquic.md#schedulers) at 128 networks of `campaign.py`, with
downloads and with requests, against picoquic's own; and deployable Dual Connectivity with 5 ms of
Xn against MP-QUIC with the scheduler that is the best of all at the networks with an even number.

`weighted` has the legs' mean rates, of which an operator knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pandas as pd
from campaign import fields_of, first_networks
from networks import Point
from ratios import DELAY_MARGIN, MARGIN, Ratios, mean, percent, shares, speeds
from ways import MPQUIC

import minitopo_dc as dc
from minitopo_dc.quic.stack import Scheduler
from minitopo_dc.statistics import outcomes

Case = tuple[dc.Scenario, dict[str, Any]]
POINTS = {"full": 128, "quick": 4, "sample": 4}
OWN, DUAL = "picoquic", "dc-xn-5"


def cases(version: str) -> Iterator[Case]:
    """Yield each network with each scheduler and with Dual Connectivity."""
    for experiment, point in first_networks(POINTS[version]):
        for way, scenario in ways(dc.Scenario(**fields_of(point)), point):
            yield scenario, {"experiment": experiment, "way": way, **point}


def ways(base: dc.Scenario, point: Point) -> Iterator[tuple[str, dc.Scenario]]:
    """Yield MP-QUIC with each scheduler, and deployable Dual Connectivity."""
    multipath = base.evolve(**MPQUIC)
    for name in get_args(Scheduler):
        options: dict[str, Any] = {"scheduler": name}
        if name == "weighted":
            parts = point["share"], 1 - point["share"]
            options["weights"] = [max(1, round(20 * part)) for part in parts]
        yield name, multipath.evolve(options=options)
    yield DUAL, base.with_dc("deployable", xn_ms=5)


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield each scheduler against picoquic's own, and the best one against Dual Connectivity."""
    for experiment, margin in (("download", MARGIN), ("requests", DELAY_MARGIN)):
        table = speeds(runs, experiment, [OWN])
        if table.empty:
            continue
        names = [name for name in get_args(Scheduler) if name in table]
        own = {name: table[name] / table[OWN] for name in names if name != OWN}
        yield f"{experiment}: schedulers against picoquic's own", compared(own, margin)
        if DUAL in table:
            even = table.index.get_level_values("point") % 2 == 0
            means = {name: mean((table[name] / table[OWN])[even])[0] for name in names}
            best = max(names, key=means.__getitem__)
            pairs = {
                f"Dual Connectivity against {name}": (table[DUAL] / table[name])[~even]
                for name in dict.fromkeys((OWN, best))
            }
            yield f"{experiment}: the best at even networks is {best}", shares(pairs, margin)


def compared(sides: dict[str, Ratios], margin: float) -> pd.DataFrame:
    """Return the mean ratio and the shares of the outcomes of each scheduler."""
    rows = {}
    for name, ratios in sides.items():
        middle, interval = mean(ratios)
        counts = outcomes(ratios.to_numpy(dtype=float), margin)
        rows[name] = {
            "networks": counts.better.points,
            "mean ratio": f"{middle:.3f} ({interval.low:.3f} to {interval.high:.3f})",
            "better (%)": percent(counts.better),
            "worse (%)": percent(counts.worse),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("scheduler")
