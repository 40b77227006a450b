"""The expected number of packet losses in a comparison, where losses are few.

Where four losses are expected, a run may have none: what its numbers say of losses then depends on
the seed. Runs with the same seed have the same draws: the k-th packet of a leg is lost in all or in
none (`minitopo_dc.link.leg`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from minitopo_dc.results.files import ResultError
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.results.tables.series import leg_series
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
        results: runs that share their legs (`results_table`); those that are ok count.
    """
    legs: dict[int, list[Losses]] = {}
    for run in results[results["status"] == "ok"]["directory"]:
        # A run whose files are missing or broken tells nothing.
        with suppress(ResultError, OSError, ValueError, KeyError):
            for losses in _losses(Path(run)):
                legs.setdefault(losses.leg, []).append(losses)
    few = (runs for runs in legs.values() if 0 < max(run.expected.mean for run in runs) < FEW)
    return [_sentence(runs) for runs in few]


def _losses(run: Path) -> Iterator[Losses]:
    """Yield the losses and the expected losses of each downlink leg with random losses.

    A leg that carried nothing is left out, and one whose losses change in mid-run.
    """
    ends = None
    for number, leg in enumerate(load_as_run(run).legs, start=1):
        radio = leg.downlink
        model = radio.loss_model()
        if model is None or any(change.loss_percent is not None for change in radio.changes):
            continue
        if ends is None:
            ends = leg_series(run).groupby("leg").last().to_dict("index")
        counted = ends[number]
        refused = counted["dropped_queue"] + counted.get("dropped_mtu", 0)
        if packets := int(counted["pushed_packets"] - refused):
            expected = expected_count(*model.moments(packets))
            lost = int(counted["dropped_loss"])
            yield Losses(number, radio.mean_loss_percent(), packets, lost, expected)


def _sentence(runs: list[Losses]) -> str:
    least, most = (pick(runs, key=lambda run: run.packets) for pick in (min, max))
    shown = [f"{run.expected.words} of {run.packets:,} packets" for run in (least, most)]
    several = f"{shown[0]} (the fewest of a run), {shown[1]} (the most)"
    between = shown[0] if shown[0] == shown[1] else several
    lost = dict.fromkeys(f"{pick(run.lost for run in runs):,}" for pick in (min, max))
    return (
        f"Leg {least.leg} loses {least.percent:g} % of its packets at random, which are so few in "
        f"a run that their number depends on the seed. Expected: {between}. "
        f"Lost: {' to '.join(lost)}. More repetitions, or a larger size, have more."
    )
