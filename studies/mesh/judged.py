"""The study's claims about throughput, loss and delay of its clients, and ours beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from clients import HOPS

import minitopo_dc as dc
from minitopo_dc import claims
from minitopo_dc.claims import Claim, Known, Points

GAIN_PERCENT = {"RP1": 5.4, "RP2": 23.8, "RP3": 28, "RP4": 7.3, "RP5": 16.3, "RP6": 10.7,
                "RP7": 20.5}  # fmt: skip
"""Of BQUIC over v43, table 7."""
TCP_MBPS = {"RP3": 61.6, "RP4": 5.0, "RP7": 31.4}
"""Table 2."""
WIRELESS = [client for client, hops in HOPS.items() if hops]
LOW, HIGH = -np.inf, np.inf
"""Of a claim that has no lower or no upper limit."""
Numbers = Callable[[Known], Mapping[str, Any]]


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
    seven = "table 7"
    yield claims.every("the knobs of bquic do no harm anywhere (1 % is nothing)", every, "gain",
                       least=-0.01, source="section 6.2, table 7")  # fmt: skip
    yield claims.every("bquic is faster than v43 on every wireless client", wireless, "gain",
                       least=0, source="7 to 28 %, table 7")  # fmt: skip
    yield claims.number("by 7 % or more in the middle of them", np.median, wireless, "gain",
                        least=0.07, source=seven)  # fmt: skip
    yield claims.number("on the wire it is not slower (theirs: 5.4 % faster)", np.mean, wire,
                        "gain", least=-0.03, source=seven)  # fmt: skip
    yield claims.every("the gain on RP2 and RP3, whose links are good, is large", fast, "gain",
                       least=0.1, source="24 and 28 %, table 7")  # fmt: skip
    yield claims.number("that on RP4, whose links are bad, is small", np.mean, slow, "gain",
                        most=0.1, source="7 %, table 7")  # fmt: skip
    for text, seen in {
        "the clients that gain most here gain most there (rank correlation)": every,
        "and of the six wireless ones": wireless,
    }.items():
        names = ("gain", "theirs")
        yield claims.number(text, rank_correlation, seen, *names, least=0.5, source=seven)
    yield claims.share("aioquic of today is faster than v43 on most clients", lambda gain: gain > 0,
                       every, "today", least=0.5, source="ours")  # fmt: skip


def of_path(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about loss and delay (table 7)."""
    mine = part(runs, "path", "packet_loss", "mean_delay_ms")
    loss = by_client(mine, "packet_loss",
                     lambda known: {"more": 100 * (known["bquic"] - known["v43"])})  # fmt: skip
    delay = by_client(mine, "mean_delay_ms", ratio("more", "bquic", "v43"))
    source = "section 6.2, table 7"
    yield claims.every("bquic loses at most 0.2 points more", loss, "more", most=0.2, source=source)
    yield claims.every("nor is its one-way delay more than 15 % longer", delay, "more", most=0.15,
                       source=source)  # fmt: skip


def of_queues(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about delay and loss with short and long queues at the hops."""
    mine = part(runs, "queues", "packet_loss", "mean_delay_ms")

    def longer(known: Known) -> dict[str, Any]:
        return {
            f"{packets}": known["bquic", packets] / known["v43", packets] - 1
            for packets in (50, 1000)
        }

    def lost(known: Known) -> dict[str, Any]:
        return {"more": 100 * (known["bquic", 50] - known["v43", 50])}

    across = ["way", "queue_packets"]
    delay = claims.points(mine, ["client"], across, "mean_delay_ms", longer)
    loss = claims.points(mine, ["client"], across, "packet_loss", lost)
    source = "section 6.2, table 7"
    yield claims.every("with 50 packets bquic's one-way delay is not more than 15 % longer", delay,
                       "50", most=0.15, source=source)  # fmt: skip
    yield claims.every("with 1000 it is", delay, "1000", least=0.15, source="ours")
    yield claims.every("with 50 it loses at most 0.2 points more", loss, "more", most=0.2,
                       source=source)  # fmt: skip


def of_stress(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about a busy client (table 3)."""
    mine = part(runs, "stress", "throughput_mbps")

    def fall(known: Known) -> dict[str, Any]:
        return {way: 1 - known[f"{way} busy"] / known[way] for way in ("v43", "tcp")}

    falls = {
        name: by_client(at(mine, *name.split()), "throughput_mbps", fall)
        for name in ("RP2", "RP7", "RP5", "RP7 RP5")
    }
    for text, client, way, least, most, source in (
        ("v43 loses half on RP2 (fitted)", "RP2", "v43", 0.4, 0.7, "54.3 %, table 3"),
        ("a fifth on RP7", "RP7", "v43", 0.1, 0.35, "21.6 %, table 3"),
        ("less on RP5", "RP5", "v43", LOW, 0.2, "16.4 %, table 3"),
        ("TCP loses little on RP2 (fitted)", "RP2", "tcp", 0.02, 0.2, "8.6 %, table 3"),
    ):
        yield claims.number(text, np.mean, falls[client], way, least=least, most=most,
                            source=source)  # fmt: skip
    yield claims.every("and on RP7 and RP5", falls["RP7 RP5"], "tcp", most=0.1,
                       source="6.9 and 3 %, table 3")  # fmt: skip


def of_knobs(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about one knob at a time (section 6.1): clients are points."""
    mine = part(runs, "knobs")
    alone = {
        "fewer acknowledgements alone make QUIC faster": (0.125, 1.125, 10),
        "a later exit from slow start alone does": (0.5, 1.125, None),
        "a larger loss threshold alone does": (0.125, 1.5, None),
    }
    for text, values in alone.items():
        chosen = mine["way"] == "v43"
        swept = mine["way"] == "swept"
        for name, value in zip(("exit", "lost", "acks"), values, strict=True):
            swept &= mine[name].isna() if value is None else mine[name] == value
        seen = by_client(mine[chosen | swept], "goodput_mbps", ratio("gain", "swept", "v43"))
        yield claims.number(text, np.mean, seen, "gain", least=0.01, source="section 6.1")


def of_tcp(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about TCP beside QUIC (table 2)."""
    mine = part(runs, "clients", "throughput_mbps")
    wireless, wire = (
        by_client(at(mine, *names), "throughput_mbps", ratio("lead", "tcp", "v43"))
        for names in (WIRELESS, ["RP1"])
    )
    today = by_client(at(mine, *WIRELESS), "throughput_mbps", ratio("lead", "tcp", "modern"))
    yield claims.every("TCP is ahead of v43 on every wireless client", wireless, "lead", least=0,
                       source="12 to 53 %, table 2")  # fmt: skip
    yield claims.number("by 30 % or more in the middle of them", np.median, wireless, "lead",
                        least=0.3, source="38 %, table 2")  # fmt: skip
    yield claims.number("on the wire it is not", np.mean, wire, "lead", most=0,
                        source="5.7 % behind, table 2")  # fmt: skip
    yield claims.share("nor is it ahead of aioquic of today on most wireless clients",
                       lambda lead: lead > 0, today, "lead", most=0.5, source="ours")  # fmt: skip


def of_losses(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about loss with short and long queues (table 2)."""
    mine = at(part(runs, "loss-queues", "leg_loss_percent"), *WIRELESS)

    def lost(known: Known) -> dict[str, Any]:
        return {f"{way} {n}": known[way, n] for way in ("tcp", "v43") for n in (50, 1000)}

    seen = claims.points(mine, ["client"], ["way", "queue_packets"], "leg_loss_percent", lost)
    for packets in (50, 1000):
        for way, source in (("tcp", "0.25, table 2"), ("v43", "0.31, table 2")):
            text = f"with queues of {packets} packets {way} loses what it does in the study (%)"
            yield claims.number(text, np.median, seen, f"{way} {packets}", least=0.1, most=1,
                                source=source)  # fmt: skip


def of_slow_start(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about what keeps TCP from its fitted throughput."""

    def kept(known: Known) -> dict[str, Any]:
        fitted = known["tcp"].index.to_series().map(TCP_MBPS).astype(float)
        return {"reno": known["tcp reno"] / fitted, "cubic": known["tcp"] / fitted}

    seen = by_client(part(runs, "slow-start", "throughput_mbps"), "throughput_mbps", kept)
    yield claims.every("without HyStart TCP has what was fitted, within 10 %", seen, "reno",
                       least=0.9, source="ours")  # fmt: skip
    yield claims.every("with HyStart it has on all three, too", seen, "cubic", least=0.9,
                       source="ours")  # fmt: skip


def of_spread(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about the spread of RP3's throughput (figure 5): rates are points."""
    mine = part(runs, "spread", "throughput_mbps")
    seen = claims.points(mine, ["rate_mbps"], "way", "throughput_mbps",
                         lambda known: {way: known[way] for way in ("tcp", "v43")})  # fmt: skip
    for text, way, fast, limits, source in (
        ("TCP has more than 60 Mbit/s in half of the experiments or more", "tcp", True,
         (0.5, HIGH), "66 %, figure 5"),
        ("v43 has in a fifth at most", "v43", True, (LOW, 0.2), "11 %, figure 5"),
        ("TCP has less than 30 Mbit/s in a tenth at most", "tcp", False, (LOW, 0.1),
         "2 %, figure 5"),
        ("v43 has in a sixth or more", "v43", False, (0.16, HIGH), "26 %, figure 5"),
    ):  # fmt: skip
        condition = above_sixty if fast else below_thirty
        yield claims.share(text, condition, seen, way, least=limits[0], most=limits[1],
                           source=source)  # fmt: skip


def above_sixty(mbps: Any) -> Any:
    """Return which throughputs are fast."""
    return mbps > 60


def below_thirty(mbps: Any) -> Any:
    """Return which throughputs are slow."""
    return mbps < 30
