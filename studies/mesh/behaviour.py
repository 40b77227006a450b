"""The study's claims about single connections: what they do, and beside TCP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from judged import HIGH, LOW, at, part

from minitopo_dc import claims
from minitopo_dc.claims import Claim, Known

BEHAVIOUR = ("normal_behaviour", "early_exit", "false_loss", "cwnd_over_optimum", "reached_optimum",
             "server_inter_packet_time_median_ms")  # fmt: skip
STATES = [f"{state}_share" for state in ("slow_start", "congestion_avoidance",
                                         "application_limited", "recovery")]  # fmt: skip


def of_behaviour(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about early exits and false losses: each connection of RP3 is a point."""
    mine = part(runs, "behaviour", *BEHAVIOUR)
    mine = mine.assign(connection=mine["seed"])

    def found(known: Known) -> dict[str, Any]:
        early = known["early_exit", "v43"]
        return {
            **{f"{way} limited": 1 - known["normal_behaviour", way] for way in
               ("v43", "bquic", "modern")},
            "early": early,
            "false": known["false_loss", "v43"],
            "above": known["cwnd_over_optimum", "v43"],
            "late": (1 - known["reached_optimum", "v43"]).where(early == 1),
            "gap_us": 1000 * known["server_inter_packet_time_median_ms", "v43"],
        }  # fmt: skip

    seen = claims.points(mine, ["connection"], "way", list(BEHAVIOUR), found)
    for text, name, least, most, source in (
        ("v43 ends slow start early or tells false losses in 60 % or more of all runs",
         "v43 limited", 0.6, HIGH, "90 %, table 5"),
        ("in less than 20 % with bquic's knobs", "bquic limited", LOW, 0.2, "ours"),
        ("so does aioquic of today", "modern limited", LOW, 0.2, "ours"),
        ("v43 ends slow start early in a third of all runs or more", "early", 0.33, HIGH,
         "39 %, table 5"),
        ("v43 tells false losses in a third of all runs or more", "false", 0.33, HIGH,
         "51 %, table 5"),
        ("its mean window exceeds the optimum in few runs", "above", LOW, 0.5, "30 %, figure 8"),
        ("after an early exit the window never becomes the optimum", "late", 0.9, HIGH,
         "100 %, section 5.2"),
    ):  # fmt: skip
        condition: Callable[..., Any] = above_one if name == "above" else is_one
        yield claims.share(text, condition, seen, name, least=least, most=most, source=source)
    yield claims.number("half of the server's packets are 50 to 100 us apart", np.median, seen,
                        "gap_us", least=50, most=100, source="figure 11")  # fmt: skip


def is_one(values: Any) -> Any:
    """Return where something is so, of columns of 0 and 1."""
    return values == 1


def above_one(values: Any) -> Any:
    """Return where a ratio is above 1."""
    return values > 1


def of_reordering(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about false losses where 0.1 ms of jitter reorders packets, by seed."""
    mine = part(runs, "reordering", "false_loss")
    mine = mine.assign(connection=mine["seed"])

    def found(known: Known) -> dict[str, Any]:
        keeps = {
            f"{way} keeps": known["goodput_mbps", way, 0.1] / known["goodput_mbps", way, 0.0]
            for way in ("v43", "bquic", "modern")
        }
        false = {f"{way} false": known["false_loss", way, 0.1] for way in ("v43", "bquic")}
        return keeps | false

    asked = ["false_loss", "goodput_mbps"]
    seen = claims.points(mine, ["connection"], ["way", "jitter_ms"], asked, found)
    text = "v43 tells false losses in half of the runs or more where 0.1 ms of jitter reorders"
    yield claims.share(text, is_one, seen, "v43 false", least=0.5, source="51 %, table 5")
    names, fewer = ("v43 false", "bquic false"), "bquic tells them in fewer runs"
    yield claims.number(fewer, less, seen, *names, least=0.1, source="section 6.1")
    for text, way, least, most, source in (
        ("v43 keeps less than three quarters of its goodput", "v43", LOW, 0.75,
         "38 of 62 Mbit/s, figure 10a"),
        ("bquic keeps more than three quarters", "bquic", 0.75, HIGH, "ours"),
        ("aioquic of today, which also counts packets, keeps less", "modern", LOW, 0.75, "ours"),
    ):  # fmt: skip
        name = f"{way} keeps"
        yield claims.number(text, np.mean, seen, name, least=least, most=most, source=source)


def less(one: Any, two: Any) -> float:
    """Return by how much the mean of one is above that of the other."""
    return float(np.mean(one - two))


def of_states(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about states on a PC and on a Raspberry Pi (figure 6)."""

    def found(known: Known) -> dict[str, Any]:
        more = {state: known[state, "v43 pi"] - known[state, "v43"] for state in STATES}
        return {
            "differs": pd.concat([abs(each) for each in more.values()], axis=1).max(axis=1,
                                                                                 skipna=False),
            "limited": more["application_limited_share"],
        }  # fmt: skip

    seen = claims.points(part(runs, "states", *STATES), ["client"], "way", STATES, found)
    yield claims.every("the Raspberry Pi's shares are those of the PC: largest difference", seen,
                       "differs", most=0.1, source="figure 6: very similar")  # fmt: skip
    text, source = "nor is it application limited for longer: share more", "section 4.2"
    yield claims.every(text, seen, "limited", most=0.05, source=f"{source}; 0.52 on a phone")


def of_aggregation(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about frame aggregation (table 6)."""

    def found(known: Known) -> dict[str, Any]:
        more = {way: known[way, "a-mpdu"] / known[way, "none"] - 1 for way in ("v43", "modern")}
        return more | {"without": known["v43", "none"]}

    mine = part(runs, "aggregation")
    seen = claims.points(mine, ["client"], ["way", "frames"], "goodput_mbps", found)
    yield claims.number("aggregation makes v43 faster by more than 30 %", np.mean, seen, "v43",
                        least=0.3, source="61 %, table 6")  # fmt: skip
    yield claims.number("and aioquic of today", np.mean, seen, "modern", least=0.3, source="ours")
    yield claims.number("without it v43 has 23.7 Mbit/s, within 10 %", np.mean, seen, "without",
                        least=21.3, most=26.1, source="table 6")  # fmt: skip


def of_fairness(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about QUIC beside TCP (section 6.3)."""
    flows = ["flow_1_goodput_mbps", "flow_2_goodput_mbps"]

    def shares(known: Known) -> dict[str, Any]:
        quic = {
            f"{way} share": known[flows[0], way] / (known[flows[0], way] + known[flows[1], way])
            for way in ("v43", "bquic")
        }
        index = {f"{way} index": known["jain_index", way] for way in ("v43", "bquic")}
        return quic | index | {"fairer": index["bquic index"] - index["v43 index"]}

    mine = part(runs, "fairness")
    wire, wifi = (
        claims.points(at(mine, client), ["client"], "way", [*flows, "jain_index"], shares)
        for client in ("RP1", "RP3")
    )
    for text, seen, name, least, most, source in (
        ("on the wire v43 has more than TCP (share of both)", wire, "v43 share", 0.5, HIGH,
         "figure 12"),
        ("and BQUIC has", wire, "bquic share", 0.5, HIGH, "figure 12"),
        ("over WiFi v43 has less than TCP", wifi, "v43 share", LOW, 0.5, "figure 13"),
        ("there BQUIC and TCP are fair (Jain's index)", wifi, "bquic index", 0.9, HIGH,
         "figure 13"),
        ("fairer than v43 and TCP", wifi, "fairer", 0, HIGH, "section 6.3"),
    ):  # fmt: skip
        yield claims.number(text, np.mean, seen, name, least=least, most=most, source=source)
