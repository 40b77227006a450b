"""The study's claims about single connections: what they do, and beside TCP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from judged import SAID, above, at, part

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

    def numbers(known: Known) -> dict[str, Any]:
        early = known["early_exit", "v43"]
        return {
            **{f"{way}-limited": 1 - known["normal_behaviour", way] for way in
               ("v43", "bquic", "modern")},
            "early": early,
            "false": known["false_loss", "v43"],
            "late": (1 - known["reached_optimum", "v43"]).where(early == 1),
            "above": known["cwnd_over_optimum", "v43"],
            "gap_us": 1000 * known["server_inter_packet_time_median_ms", "v43"],
        }  # fmt: skip

    seen = claims.points(mine, ["connection"], "way", list(BEHAVIOUR), numbers)
    for key in ("v43-limited", "bquic-limited", "modern-limited", "early", "false"):
        yield SAID[key].share(is_one, seen, key)
    yield SAID["above"].share(above(1), seen, "above")
    yield SAID["late"].share(is_one, seen, "late")
    yield SAID["gap_us"].number(np.median, seen, "gap_us")


def is_one(values: Any) -> Any:
    """Return where something is so, of columns of 0 and 1."""
    return values == 1


def of_reordering(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about false losses where 0.1 ms of jitter reorders packets, by seed."""
    mine = part(runs, "reordering", "false_loss")
    mine = mine.assign(connection=mine["seed"])

    def numbers(known: Known) -> dict[str, Any]:
        keeps = {
            f"{way}-keeps": known["goodput_mbps", way, 0.1] / known["goodput_mbps", way, 0.0]
            for way in ("v43", "bquic", "modern")
        }
        return keeps | {way: known["false_loss", way, 0.1] for way in ("v43", "bquic")}

    measures = ["false_loss", "goodput_mbps"]
    seen = claims.points(mine, ["connection"], ["way", "jitter_ms"], measures, numbers)
    yield SAID["disorder-false"].share(is_one, seen, "v43")
    yield SAID["disorder-fewer"].number(lambda one, two: np.mean(one - two), seen, "v43", "bquic")
    for key in ("v43-keeps", "bquic-keeps", "modern-keeps"):
        yield SAID[key].number(np.mean, seen, key)


def of_states(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about states on a PC and on a Raspberry Pi (figure 6)."""

    def numbers(known: Known) -> dict[str, Any]:
        more = pd.DataFrame({state: known[state, "v43 pi"] - known[state, "v43"]
                             for state in STATES})  # fmt: skip
        largest = more.abs().max(axis=1, skipna=False)
        return {"states": largest, "limited": more["application_limited_share"]}

    seen = claims.points(part(runs, "states", *STATES), ["client"], "way", STATES, numbers)
    yield from (SAID[key].every(seen, key) for key in ("states", "limited"))


def of_aggregation(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about frame aggregation (table 6)."""

    def numbers(known: Known) -> dict[str, Any]:
        more = {
            f"aggregated-{way}": known[way, "a-mpdu"] / known[way, "none"] - 1
            for way in ("v43", "modern")
        }
        return more | {"unaggregated": known["v43", "none"]}

    mine = part(runs, "aggregation")
    seen = claims.points(mine, ["client"], ["way", "frames"], "goodput_mbps", numbers)
    for key in ("aggregated-v43", "aggregated-modern", "unaggregated"):
        yield SAID[key].number(np.mean, seen, key)


def of_fairness(runs: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims about QUIC beside TCP (section 6.3)."""
    flows = ["flow_1_goodput_mbps", "flow_2_goodput_mbps"]

    def numbers(known: Known) -> dict[str, Any]:
        shares = {
            way: known[flows[0], way] / (known[flows[0], way] + known[flows[1], way])
            for way in ("v43", "bquic")
        }
        index, other = known["jain_index", "bquic"], known["jain_index", "v43"]
        return shares | {"index": index, "fairer": index - other}

    mine = part(runs, "fairness")
    wire, wifi = (
        claims.points(at(mine, client), ["client"], "way", [*flows, "jain_index"], numbers)
        for client in ("RP1", "RP3")
    )
    for way in ("v43", "bquic"):
        yield SAID[f"beside-{way}-wire"].number(np.mean, wire, way)
    for key, name in {"beside-v43": "v43", "beside-bquic": "index", "fairer": "fairer"}.items():
        yield SAID[key].number(np.mean, wifi, name)
