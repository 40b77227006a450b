"""The expected number of packet losses in a comparison, where losses are few.

Where four losses are expected, a run may have none: what its numbers say of losses then depends on
the seed. Runs with the same seed have the same draws: the k-th packet of a leg is lost in all or in
none (`minitopo_dc.link.leg`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from minitopo_dc.link import LossModel
from minitopo_dc.results.files import ResultError
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.results.tables.series import leg_series
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import LegSettings
from minitopo_dc.statistics import ExpectedCount, expected_count

FEW = 25.0
"""The number of losses below which their standard deviation is more than a fifth of them."""


class Losses(NamedTuple):
    """The random losses of one downlink leg in one run."""

    leg: int
    percent: float
    """The loss that was asked for, in the long run."""
    packets: int
    """The number of packets that could be lost."""
    lost: int
    expected: ExpectedCount


def few_losses(results: pd.DataFrame) -> list[str]:
    """Return a sentence for each leg of a comparison that should lose few packets per run.

    Args:
        results: runs that share their legs (`load_results`); those that are ok count.
    """
    found: dict[int, list[Losses]] = {}
    for run in results[results["status"] == "ok"]["directory"]:
        try:
            for each in losses(Path(run)):
                found.setdefault(each.leg, []).append(each)
        except (ResultError, OSError, ValueError, KeyError):
            continue  # its files do not tell
    return [
        _sentence(each)
        for each in found.values()
        if 0 < max(one.expected.mean for one in each) < FEW
    ]


def losses(run: Path) -> Iterator[Losses]:
    """Yield the losses and the expected losses of each downlink leg with random losses.

    A leg that carried nothing is left out, and one whose losses change in mid-run.

    Raises:
        ResultError, ValueError, KeyError: the run's files are missing or broken.
    """
    lossy = list(_lossy(load_as_run(run)))
    if not lossy:
        return
    ends = leg_series(run).groupby("leg").last().to_dict("index")
    for number, model, downlink in lossy:
        counted = ends[number]
        packets = int(counted["pushed_packets"] - counted["dropped_queue"])
        if not packets:
            continue
        yield Losses(
            leg=number,
            percent=downlink.mean_loss_percent(),
            packets=packets,
            lost=int(counted["dropped_loss"]),
            expected=expected_count(*model.moments(packets)),
        )


def _lossy(scenario: Scenario) -> Iterator[tuple[int, LossModel, LegSettings]]:
    for number, leg in enumerate(scenario.legs, start=1):
        changes = any(change.loss_percent is not None for change in leg.downlink.changes)
        model = leg.downlink.loss_model()
        if model is not None and not changes:
            yield number, model, leg.downlink


def _sentence(found: list[Losses]) -> str:
    """Return the sentence on one leg, with the range from the fewest to the most packets."""
    least, most = (pick(found, key=lambda each: each.packets) for pick in (min, max))
    shown = [f"{each.expected.words} of {each.packets:,} packets" for each in (least, most)]
    several = f"{shown[0]} (the fewest of a run), {shown[1]} (the most)"
    between = shown[0] if shown[0] == shown[1] else several
    lost = sorted({each.lost for each in found})
    had = f"{lost[0]:,}" if len(lost) == 1 else f"{lost[0]:,} to {lost[-1]:,}"
    return (
        f"Leg {least.leg} loses {least.percent:g} % of its packets at random, which are so few in "
        f"a run that their number depends on the seed. Expected: {between}. Lost: {had}. "
        "More repetitions, or a larger size, have more."
    )
