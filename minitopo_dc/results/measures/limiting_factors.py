"""Signs in a run's counters of what held it back, and the one that explains a worse run.

What is not recorded is NaN: without a bearer nothing waits for its order, and the real clock
records no congestion window of a single path. What a QUIC stream holds back behind a gap is in no
counter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from minitopo_dc.numbers import short
from minitopo_dc.results.files import ResultError
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.results.measures import account, utilisation
from minitopo_dc.results.path_use import PATH_USE
from minitopo_dc.results.run_result import ENDS, RunResult, available_bits
from minitopo_dc.results.tables.runs import load_result
from minitopo_dc.results.tables.series import congestion_series, leg_series
from minitopo_dc.scenario import Scenario

FEWEST_SAMPLES = 5
"""The fewest samples of a transfer for a share of its time: fewer are too coarse."""
COUNTED = ("leg", "time_s", "delivered_packets")
FULL = 0.8
"""The part of its capacity from which on a leg counts as full, on average from the handshake on."""


class Sign(NamedTuple):
    """How a number of a run counts as the reason why it is worse, and what is said then."""

    least: float
    """By which it must exceed the better run's."""
    did: str
    """What the worse way did."""
    unit: str
    scale: float = 1

    def shown(self, worse: float, better: float) -> str:
        """Return both numbers with the unit; that of the better run may be NaN."""
        shown = f"{short(worse * self.scale)}{self.unit}"
        if math.isnan(better):
            return shown
        return f"{shown} for {short(better * self.scale)}{' %' * self.unit.startswith(' %')}"


SIGNS: Mapping[str, Sign] = {
    "waiting": Sign(0.2, "let packets wait longer behind late or lost ones", " round trips"),
    "needless": Sign(3.0, "took late packets for lost ones", " times"),
    "lost": Sign(0.01, "lost more packets", " %", 100),
    "bytes_per_byte": Sign(0.2, "carried more bytes for the same file", " a byte"),
    "late": Sign(0.2, "began late on its second leg", " % of the time", 100),
    "idle": Sign(0.2, "left a leg without data for longer", " % of the time", 100),
    "uneven": Sign(0.3, "filled one leg while another had room", " %", 100),
}
"""The signs that may be reasons. They must exceed those of the better run by a fifth of a round
trip, three falls, one packet of 100, a fifth of the file, a fifth of the time, 30 % of a
capacity.

* `waiting`: a packet's mean wait for those before it in PDCP, in smoothed round-trip times;
* `needless`: how often the congestion window fell though no packet had been lost;
* `lost`: the share of the packets of which no copy arrived (`PacketAccount.lost_share`);
* `bytes_per_byte`: IP bytes that the legs delivered for each byte of the file;
* `late`: the share of the transfer that was over when the last leg began to carry something;
* `idle`: the share after that in which the leg that rested longest carried nothing; 1 over one leg;
* `uneven`: utilisation of the fullest leg less that of the emptiest, if the fullest is full; or 0.
"""
Signs = dict[str, float]
"""The values of `SIGNS` of one run."""


@dataclass(frozen=True)
class Reason:
    """Why one of two runs over the same legs was worse: the sign in which it differs most."""

    sign: str = ""
    """A name of `SIGNS`; empty: no sign tells."""
    worse: float = math.nan
    better: float = math.nan
    """Its values in the two runs; NaN: not recorded."""
    most: str = ""
    """Of lost packets: how the worse run lost most of them."""

    def sentence(self, way: str) -> str:
        """Return why a way was worse; empty where no sign tells."""
        if not self.sign:
            return ""
        sign = SIGNS[self.sign]
        most = f", most {self.most}" if self.most else ""
        return f"{way} {sign.did} ({sign.shown(self.worse, self.better)}{most})."

    def to_json(self) -> dict[str, Any]:
        """Return it for programs, with the names of a verdict's file."""
        why = SIGNS[self.sign].did if self.sign else ""
        values = {"sign_slower": self.worse, "sign_faster": self.better}
        return {"why": why, "sign": self.sign, **values}


def reason(worse: Path, better: Path) -> Reason:
    """Return why the worse of two runs was so; without a sign where their files do not tell."""
    try:
        found = strongest_sign(signs(worse), signs(better))
        most = account.packet_account(worse).main_cause if found.sign == "lost" else ""
        return replace(found, most=most)
    except (ResultError, OSError, ValueError):
        return Reason()


def strongest_sign(worse: Signs, better: Signs) -> Reason:
    """Return the sign that exceeds the better run's by the most, relative to its threshold.

    One that the better run has not recorded counts as 0 there.
    """
    excess = {
        name: (worse[name] - (0.0 if math.isnan(better[name]) else better[name])) / sign.least
        for name, sign in SIGNS.items()
        if not math.isnan(worse[name])
    }
    strongest = max(excess, key=lambda name: excess[name], default="")
    if not strongest or excess[strongest] < 1:
        return Reason()
    return Reason(strongest, worse[strongest], better[strongest])


def signs(run: Path) -> Signs:
    """Read the signs of a run that is ok.

    Raises:
        ResultError, ValueError: a file of it is missing or broken.
    """
    result, series = load_result(run), leg_series(run)
    late, idle = _resting(series, _used(result), utilisation.transfer_window(run))
    windows, uneven = congestion_series(run), 0.0
    if len(_used(result)) > 1:
        parts = utilisation.link_utilisation(run)
        uneven = max(parts) - min(parts) if max(parts) >= FULL else 0.0
    return {
        "waiting": account.reordering_wait_ms(run) / float(windows["smoothed_rtt_ms"].mean()),
        "needless": needless_falls(
            windows, account.losses_over_time(run), account.longest_wait_s(run)
        ),
        "lost": account.packet_account(run).lost_share,
        # The bytes of a call are those in time: a late frame would be the reason of itself. Under
        # load those of the answers count, and the legs carry the load.
        "bytes_per_byte": math.nan
        if result.workload in ("realtime", "under-load")
        else utilisation.leg_bytes_per_byte(run),
        "late": late,
        "idle": idle,
        "uneven": uneven,
    }


def _used(result: RunResult) -> list[int]:
    """Return the legs that carried anything (1, 2, ...)."""
    return [number for number, count in enumerate(result.leg_bytes or (), 1) if count]


def _resting(
    series: pd.DataFrame, used: list[int], window: tuple[float, float]
) -> tuple[float, float]:
    """Return `late` and `idle` of the legs that were used; of a single one the other rests."""
    if len(used) < 2:
        return 0.0, 1.0
    start, end = window
    begins, rests = [], []
    legs, times, packets = (series[name].to_numpy() for name in COUNTED)
    during = (times >= start) & (times <= end)
    for leg in used:
        rows = np.flatnonzero((legs == leg) & during)
        carried = np.diff(packets[rows], prepend=packets[rows][:1]) > 0
        first = int(carried.argmax()) if carried.any() else len(rows) - 1
        # The time of the sample before a leg's first packet is its earliest possible begin.
        begins.append(float(times[rows[first - 1]]) if first > 0 else start)
        after = carried[first + 1 :]
        rests.append(float((~after).mean()) if len(after) >= FEWEST_SAMPLES else math.nan)
    return (max(begins) - start) / (end - start), float(np.max(rests))


UNUSED = 0.01
"""The part of what a leg could carry below which it counts as unused."""
LEFT_OUT = 0.1
"""The part of the bytes of the leg with most below which another one is left out."""
LITTLE = 0.3
"""The part of the fullest leg below which the legs did not limit any way."""
PATH_WORDS: Mapping[str, str] = {
    "not validated": "its path was never validated",
    "given up": "its path was given up",
    "not available": "its path was not available for long enough",
    "over first": "the transfer was over before its path could carry data",
    "unused by scheduler": "the scheduler always chose another path",
}
"""Why a path carried nothing, by its `PathUse`."""


Loads = tuple[tuple[float, ...], Mapping[int, str]]
"""The share of what it could that each leg carried, from 0 to 1 (NaN: it was down for all of the
transfer), and which legs (1, 2, ...) carried less than `UNUSED`, and why, by the run's counters."""


def loads(run: Path) -> Loads:
    """Return what the legs of a run that is ok carried, and why one of them carried nothing.

    Raises:
        ResultError, ValueError: a file of it is missing or broken.
    """
    result, scenario = load_result(run), load_as_run(run)
    bits = available_bits(scenario.legs, scenario.loads, *utilisation.transfer_window(run))
    carried = result.leg_bytes or [0] * len(bits)
    pairs = [*zip(carried, bits, strict=True)]
    shares = tuple(8 * count / could if could else math.nan for count, could in pairs)
    most = LEFT_OUT * max(carried)  # a workload may ask little of each leg
    few = [
        leg for leg, (count, could) in enumerate(pairs, 1) if count <= min(most, UNUSED * could / 8)
    ]
    if result.mode in ("sc", "flows"):
        few = []
    return shares, {leg: _why_unused(run, scenario, result, leg) for leg in few}


def _why_unused(run: Path, scenario: Scenario, result: RunResult, leg: int) -> str:
    """Return why a leg carried nothing, by what the transport and the elements counted."""
    if not available_bits(scenario.legs, scenario.loads, *utilisation.transfer_window(run))[
        leg - 1
    ]:
        return "it was down"
    if use := result.details.get(PATH_USE, {}).get(str(leg)):
        return PATH_WORDS.get(use, "its path had little to carry")
    sender, receiver = (run / f"{host}-summary.json" for host in ENDS[scenario.loads[0]])
    sent, came = (
        next(iter(account.counters(file, part).values()), {})
        for file, part in ((sender, "transmit"), (receiver, "receive"))
    )
    columns = [account.CAUSES[cause].column for cause in account.LEG_CAUSES]
    lost = sum(account.counters(sender, "legs")[leg].get(name, 0) for name in columns)
    if lost > came.get(f"pdus_{leg}", 0):
        return "it lost most of what it was given"
    if 2 * came.get("old", 0) > came.get(f"pdus_{leg}", 0) > 0:
        return "its packets came too late for t-Reordering"
    return _why_not_taken(scenario, sent.get("waiting_maximum", 0))


def _why_not_taken(scenario: Scenario, most: int) -> str:
    """Return why a split left a leg, where so many packets waited at most."""
    flow = scenario.resolved_flows[0]
    split = (flow.pdcp if scenario.loads[0] == "downlink" else flow.uplink_pdcp).split
    if flow.mode == "atsss":
        return f"the steering mode {split} took another leg"
    if split == "credit":
        return "its node gave no credit"
    if most:
        return f"at most {most} packets waited, and it would have brought them too late"
    return "no packet had to wait for another leg"


def unused_legs(results: pd.DataFrame) -> list[str]:
    """Return a sentence for each way of a comparison that leaves a leg without data, and why.

    The last one says where a workload asked little of the legs, which are then not what tells ways
    apart.

    Args:
        results: runs with their `way` (`results_table`); those that are ok count.
    """
    ok = results[results["status"] == "ok"]
    known: dict[str, list[Loads]] = {}
    for way, run in zip(ok["way"], ok["directory"], strict=True):
        with suppress(ResultError, OSError, ValueError, KeyError):
            carried = loads(Path(run))
            known.setdefault(str(way), []).append(carried)
    sentences = [words for way, runs in known.items() if (words := _unused_words(way, runs))]
    shares = [share for runs in known.values() for of_legs, _ in runs for share in of_legs]
    most = float(np.nanmax([0.0, *shares])) if known else 1.0
    if most < LITTLE and ok["goodput_mbps"].isna().all():  # a transfer asks for all that there is
        words = f"no leg carried more than {short(100 * most)} % of what it could"
        sentences.append(f"Little was asked of the legs: {words}.")
    return sentences


def _unused_words(way: str, runs: Sequence[Loads]) -> str:
    """Return which legs were unused in most runs of a way, in a sentence; empty: none was."""
    sets = [unused.keys() for _, unused in runs]
    shares, unused = max(runs, key=lambda run: sets.count(run[1].keys()))
    if not unused:
        return ""
    times = sets.count(unused.keys())
    often = f" in {times} of {len(runs)} runs" if times < len(runs) else ""
    used = [leg for leg in range(1, len(shares) + 1) if leg not in unused]
    what = f"is leg {used[0]} alone{often}" if len(used) == 1 else f"leaves legs unused{often}"
    legs = [f"leg {leg} carried {_part(shares[leg - 1])}, as {why}" for leg, why in unused.items()]
    return f"{way} {what}: {'; '.join(legs)}."


def _part(share: float) -> str:
    return (
        "nothing" if math.isnan(share) or not share else f"{short(100 * share)} % of what it could"
    )


FALL = 0.9
"""The part of the window before below which it has fallen. CUBIC, which falls the least, goes to
0.7 (RFC 9438)."""
ROUND_TRIPS = 2
"""The round trips within which a window falls for a loss: it is noticed within one, and the second
is for queues that grow."""


def needless_falls(windows: pd.DataFrame, losses: pd.DataFrame, wait_s: float) -> float:
    """Return how often a congestion window fell though no packet had just been lost.

    It is NaN for a run that recorded no window. Windows of BBR, which fall without losses by
    design, count too.

    Args:
        windows: `congestion_series`.
        losses: `losses_over_time` of the same run.
        wait_s: how long a gap may be hidden from the receiver. A loss counts as recent within this
            time, two smoothed round-trip times, and the interval between two samples together.
    """
    if windows["cwnd_bytes"].dropna().empty:
        return math.nan
    moments = np.sort(losses["time_s"][losses.groupby("part")["lost"].diff() > 0])
    before = windows.groupby("path")[["time_s", "cwnd_bytes"]].shift()
    fell = windows["cwnd_bytes"] < FALL * before["cwnd_bytes"]
    since = before["time_s"] - ROUND_TRIPS * windows["smoothed_rtt_ms"] / 1000 - wait_s
    first = np.searchsorted(moments, since[fell])
    last = np.searchsorted(moments, windows["time_s"][fell], "right")
    return float((since[fell].isna() | (last <= first)).sum())
