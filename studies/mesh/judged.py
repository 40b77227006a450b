"""The study's claims about throughput, loss and delay of its clients, and ours beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from clients import HOPS

import minitopo_dc as dc
from minitopo_dc import claims
from minitopo_dc.claims import Claim, Known, Points
from minitopo_dc.results.measures.account import LEG_CAUSES, counters

GAIN_PERCENT = {"RP1": 5.4, "RP2": 23.8, "RP3": 28, "RP4": 7.3, "RP5": 16.3, "RP6": 10.7,
                "RP7": 20.5}  # fmt: skip
"""Of BQUIC over v43, table 7."""
TCP_MBPS = {"RP3": 61.6, "RP4": 5.0, "RP7": 31.4}
"""Table 2."""
WIRELESS = [client for client, hops in HOPS.items() if hops]
SAID = claims.statements(Path(__file__).with_name("reference") / "claims.csv")
Numbers = Callable[[Known], Mapping[str, Any]]


@dc.run_measures("leg_loss_percent")
def leg_loss_percent(run: Path) -> dict[str, float]:
    """Return the packets that the downlink legs dropped, of those that reached them (%).

    Counted are all packets of the whole run. It is NaN when none reached a leg.

    Raises:
        ResultError: the run's files are broken.
    """
    losses, legs = dc.results.packet_account(run).losses, counters(run / "gnb-summary.json", "legs")
    reached = sum(leg["pushed_packets"] for leg in legs.values())
    dropped = sum(losses[cause] for cause in LEG_CAUSES)
    return {"leg_loss_percent": 100 * dropped / reached if reached else math.nan}


def part(runs: pd.DataFrame, experiment: str, *names: str) -> pd.DataFrame:
    """Return the runs of an experiment with measures, read from their files where need be."""
    mine = runs[runs["experiment"] == experiment]
    lacking = [name for name in names if name not in mine]
    return dc.results.with_measures(mine, *lacking) if lacking else mine


def at(runs: pd.DataFrame, *clients: str) -> pd.DataFrame:
    """Return the runs of some clients."""
    return runs[runs["client"].isin(clients)]


def ratio(name: str, above: Any, below: Any, less: float = 1) -> Numbers:
    """Return the ratio of the measures of two ways, less 1, as a number of this name."""
    return lambda known: {name: known[above] / known[below] - less}


def by_client(runs: pd.DataFrame, measure: str, numbers: Numbers) -> Points:
    """Return numbers of each client."""
    return claims.points(runs, ["client"], "way", measure, numbers)


def rank_correlation(ours: Any, theirs: Any) -> float:
    """Return Spearman's coefficient; 0 where one side has no order."""
    found = pd.Series(ours).corr(pd.Series(theirs), method="spearman")
    return 0.0 if pd.isna(found) else float(found)


def gains(known: Known) -> dict[str, Any]:
    """Return the gains of BQUIC and of today's aioquic over v43, and the published one."""
    gain = known["bquic"] / known["v43"] - 1
    theirs = gain.index.to_series().map(GAIN_PERCENT).astype(float)
    return {"gain": gain, "theirs": theirs, "today": known["modern"] / known["v43"] - 1}


def of_gains(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about BQUIC's gains (table 7)."""
    mine = part(runs, "clients")
    every, wireless, wire, fast, slow = (
        by_client(at(mine, *names), "goodput_mbps", gains)
        for names in (HOPS, WIRELESS, ["RP1"], ["RP2", "RP3"], ["RP4"])
    )
    yield SAID["harmless"].every(every, "gain")
    yield SAID["faster"].every(wireless, "gain")
    yield SAID["faster-7"].number(np.median, wireless, "gain")
    yield SAID["wire"].number(np.mean, wire, "gain")
    yield SAID["good-links"].every(fast, "gain")
    yield SAID["bad-links"].number(np.mean, slow, "gain")
    yield SAID["order"].number(rank_correlation, every, "gain", "theirs")
    yield SAID["order-wireless"].number(rank_correlation, wireless, "gain", "theirs")
    yield SAID["today"].share(above(0), every, "today")


def of_path(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about loss and delay (table 7)."""
    mine = part(runs, "path", "packet_loss", "mean_delay_ms")
    loss = by_client(mine, "packet_loss",
                     lambda known: {"more": 100 * (known["bquic"] - known["v43"])})  # fmt: skip
    delay = by_client(mine, "mean_delay_ms", ratio("more", "bquic", "v43"))
    yield SAID["loss"].every(loss, "more")
    yield SAID["delay"].every(delay, "more")


def of_queues(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about delay and loss with short and long queues at the hops."""
    mine = part(runs, "queues", "packet_loss", "mean_delay_ms")

    def numbers(known: Known) -> dict[str, Any]:
        delays = {
            f"{packets}": known["mean_delay_ms", "bquic", packets]
            / known["mean_delay_ms", "v43", packets] - 1
            for packets in (50, 1000)
        }  # fmt: skip
        lost = known["packet_loss", "bquic", 50] - known["packet_loss", "v43", 50]
        return delays | {"more": 100 * lost}

    measures = ["packet_loss", "mean_delay_ms"]
    seen = claims.points(mine, ["client"], ["way", "queue_packets"], measures, numbers)
    yield SAID["delay-50"].every(seen, "50")
    yield SAID["delay-1000"].every(seen, "1000")
    yield SAID["loss-50"].every(seen, "more")


def of_stress(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about a busy client (table 3)."""
    mine = part(runs, "stress", "throughput_mbps")

    def fall(known: Known) -> dict[str, Any]:
        return {way: 1 - known[f"{way} busy"] / known[way] for way in ("v43", "tcp")}

    falls = {
        name: by_client(at(mine, *name.split()), "throughput_mbps", fall)
        for name in ("RP2", "RP7", "RP5", "RP7 RP5")
    }
    for client in ("RP2", "RP7", "RP5"):
        yield SAID[f"busy-{client}"].number(np.mean, falls[client], "v43")
    yield SAID["busy-tcp-RP2"].number(np.mean, falls["RP2"], "tcp")
    yield SAID["busy-tcp"].every(falls["RP7 RP5"], "tcp")


def of_knobs(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about one knob at a time (section 6.1): clients are points."""
    mine = part(runs, "knobs")
    for key, values in {
        "acks": (0.125, 1.125, 10),
        "exit": (0.5, 1.125, None),
        "lost": (0.125, 1.5, None),
    }.items():
        swept = mine["way"] == "swept"
        for name, value in zip(("exit", "lost", "acks"), values, strict=True):
            swept &= mine[name].isna() if value is None else mine[name] == value
        chosen = mine[(mine["way"] == "v43") | swept]
        seen = by_client(chosen, "goodput_mbps", ratio("gain", "swept", "v43"))
        yield SAID[key].number(np.mean, seen, "gain")


def of_tcp(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about TCP beside QUIC (table 2)."""
    mine = part(runs, "clients", "throughput_mbps")

    def lead(known: Known) -> dict[str, Any]:
        return {way: known["tcp"] / known[way] - 1 for way in ("v43", "modern")}

    wireless, wire = (
        by_client(at(mine, *names), "throughput_mbps", lead) for names in (WIRELESS, ["RP1"])
    )
    yield SAID["tcp-ahead"].every(wireless, "v43")
    yield SAID["tcp-ahead-30"].number(np.median, wireless, "v43")
    yield SAID["tcp-wire"].number(np.mean, wire, "v43")
    yield SAID["tcp-today"].share(above(0), wireless, "modern")


def of_losses(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about loss with short and long queues (table 2)."""
    mine = at(part(runs, "loss-queues", "leg_loss_percent"), *WIRELESS)
    names = {f"loss-{n}-{way}": (way, n) for n in (50, 1000) for way in ("tcp", "v43")}

    def lost(known: Known) -> dict[str, Any]:
        return {name: known[key] for name, key in names.items()}

    across = ["way", "queue_packets"]
    seen = claims.points(mine, ["client"], across, "leg_loss_percent", lost)
    for name in names:
        yield SAID[name].number(np.median, seen, name)


def of_slow_start(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about what keeps TCP from its fitted throughput."""

    def kept(known: Known) -> dict[str, Any]:
        fitted = known["tcp"].index.to_series().map(TCP_MBPS).astype(float)
        return {"reno": known["tcp reno"] / fitted, "hystart": known["tcp"] / fitted}

    seen = by_client(part(runs, "slow-start", "throughput_mbps"), "throughput_mbps", kept)
    yield from (SAID[name].every(seen, name) for name in ("reno", "hystart"))


def of_spread(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about the spread of RP3's throughput (figure 5): rates are points."""
    mine = part(runs, "spread", "throughput_mbps")
    seen = claims.points(mine, ["rate_mbps"], "way", "throughput_mbps",
                         lambda known: {way: known[way] for way in ("tcp", "v43")})  # fmt: skip
    for way in ("tcp", "v43"):
        yield SAID[f"{way}-60"].share(above(60), seen, way)
    for way in ("tcp", "v43"):
        yield SAID[f"{way}-30"].share(lambda mbps: mbps < 30, seen, way)


def above(limit: float) -> Callable[[Any], Any]:
    """Return the condition that a number is above a limit."""
    return lambda values: values > limit
