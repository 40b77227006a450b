"""Advice for a user's own legs: Dual Connectivity or multipath, a tie, or not enough evidence.

`minitopo-dc advise` and `advise` are the same: each leg alone, Dual Connectivity and multipath run
over the legs on the virtual clock, seed after seed, until the interval of the difference is on one
side of the margin or the time is up (docs/advise.md).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from minitopo_dc.advice.candidates import Candidates, candidates_of, judged_of
from minitopo_dc.advice.sequence import SHOWN, Advice, Progress, Runs, decide
from minitopo_dc.campaign.executors import local
from minitopo_dc.clocks import build_missing, chosen_jobs
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.ranges import RECEIVE_BUFFER_BYTES
from minitopo_dc.installation import shipped
from minitopo_dc.quic.picoquic import COUPLED
from minitopo_dc.runners.quic import stacks_of, transports_of
from minitopo_dc.scenario import Leg, LegDirection, Scenario
from minitopo_dc.scenario.presets import XN_MS
from minitopo_dc.scratch import scratch
from minitopo_dc.statistics import Proportion, outcomes
from minitopo_dc.trace import read_trace, trace_info
from minitopo_dc.ways import check_resumed, other_roles
from minitopo_dc.workloads import Download, Workload

SECONDS = 60.0
"""For a verdict: as long as one waits for an answer."""
MIN_S, MAX_S = 1.0, 86_400.0
OVERHEAD_S = 8.0
"""Of `SECONDS` at least, for imports before, and for tables and figures behind the runs."""
BEHIND = 3.0
"""What those behind take at most, in times of the imports: on a loaded machine both are slow."""


def advise(
    legs: Sequence[Mapping[str, Any]],
    *,
    output: Path | None = None,
    progress: Progress = str,
    transports: Sequence[str] | None = None,
    stacks: Sequence[str] | None = None,
    seconds: float = SECONDS,
    margin_percent: float | None = None,
    xn_ms: float = XN_MS,
    jobs: int | None = 1,
    begun: float | None = None,
    **fields: Any,
) -> Advice:
    """Say whether Dual Connectivity or multipath is better over some legs, or neither.

    Args:
        legs: two or more, as in a scenario: `{"downlink": {"rate_mbps": 30}, "delay_ms": 10}`.
        output: a directory where runs are kept, and which goes on; None: they are not kept.
        progress: hears what is under way.
        transports: one with Dual Connectivity and one with multipath, of one stack; None: those of
            `stacks`.
        stacks: of MP-QUIC, each of which has its verdict; None: those that are built.
        seconds: for the verdict, at most.
        margin_percent: within which both are a tie; None: the workload's (`MARGINS`).
        xn_ms: the delay of Xn one way, of the Dual Connectivity that is judged.
        jobs: runs at once, in processes; None: one per processor.
        begun: when `seconds` began, by `time.monotonic`; None: now.
        fields: any other field of a scenario: `workload`, `congestion_control`, `seed`, ...

    Raises:
        SettingsError, TraceError: something is wrong, or cannot run here; nothing has been run.
    """
    now = time.monotonic()
    begun = now if begun is None else begun
    chosen = stacks_of(stacks, where="--stacks", control=fields.get("congestion_control"))
    pairs = [transports] if transports else [transports_of(name) for name in chosen]
    base = base_of(legs, pairs[0][0], **fields)
    judged = judged_of(base.workload, margin_percent)
    names = [name for pair in pairs for name in pair]
    build_missing(base.model_copy(update={"transport": name}) for name in names)
    known = candidates_of(base, pairs, xn_ms)
    if not MIN_S <= seconds <= MAX_S:
        raise SettingsError(f"--time: {seconds:g}; allowed: {MIN_S:g} to {MAX_S:g} s")
    jobs = chosen_jobs(jobs, "virtual")
    with nullcontext(output) if output is not None else scratch() as place:
        ways = {name: way for stack in known for name, way in stack.ways.items()}
        judged_ways = [name for stack in known for name in (stack.dual, stack.multipath)]
        ways |= other_roles({name: ways[name] for name in judged_ways})
        check_resumed(place, ways)
        begin = time.monotonic()
        until = begun + max(seconds - overhead_s(now - begun), seconds / 2)
        made = []
        with local(jobs, until) as workers:
            runs = Runs(place, ways, judged, workers, progress=progress)
            for number, stack in enumerate(known, 1):
                runs.until = begin + (until - begin) * number / len(known)
                made.append(decide(stack, runs))
            depends = dependence(known[0], runs)
    near = neighbours_of(base, known[0].stack, judged.margin)
    return replace(made[0], depends=depends, neighbours=near, others=tuple(made[1:]))


def overhead_s(imports_s: float) -> float:
    """Return the time (s) beside the runs, by what the imports took on this machine."""
    return max(OVERHEAD_S, (1 + BEHIND) * imports_s)


def base_of(
    legs: Sequence[Mapping[str, Any]], transport: str = "quic-picoquic", **fields: Any
) -> Scenario:
    """Return what all runs have in common; SettingsError if a field of a scenario is wrong."""
    options = {"receive_buffer_bytes": RECEIVE_BUFFER_BYTES, **fields.pop("options", {})}
    own = {"transport": transport, "mode": "sc", "clock": "virtual", "primary_leg": "nearest"}
    return Scenario.check({**fields, **own, "options": options, "legs": list(legs)}, "advise")


Change = Callable[[Scenario], Scenario]
FARTHER_MS, TIMES, LOSS_PERCENT = 20.0, 10.0, 0.1
"""What is changed: the server's distance, the part of the size, the random losses."""


def dependence(stack: Candidates, runs: Runs) -> str:
    """Return in a sentence which changes give another outcome; empty: there was no time for one.

    Each change has the first `SHOWN` seeds of both sides, with a tie within the margin.
    """
    pair = stack.dual, stack.multipath
    here = _side(runs, pair)
    if here is None:
        return ""
    sides: dict[str, str] = {}
    for words, change in changes(stack.ways[stack.multipath]):
        if runs.room() < SHOWN:
            break
        ways = {name: change(stack.ways[name]) for name in pair}
        other = Runs(runs.directory / "changed" / str(len(sides)), ways, runs.judged, runs.workers)
        other.until, other.progress = runs.until, runs.progress
        other.make(pair, SHOWN)
        if (side := _side(other, pair)) is not None:
            sides[words] = side
    return _dependence_words(here, sides)


def changes(scenario: Scenario) -> Iterator[tuple[str, Change]]:
    """Yield what is changed, in words, of a scenario of the side with several paths."""
    delay = scenario.server_delay_ms + FARTHER_MS
    yield f"a server {FARTHER_MS:g} ms farther away", lambda way: way.evolve(server_delay_ms=delay)
    work = scenario.workload
    if isinstance(work, Download) and work.size_bytes:
        size = work.size_mb / TIMES
        yield "a tenth of the size", lambda way: way.evolve(workload={"size_mb": size})
    lossy = {"downlink": {"loss_percent": LOSS_PERCENT}}
    if not any(leg.wifi or leg.downlink.mean_loss_percent() for leg in scenario.legs):
        legs = [leg.evolve(**lossy) for leg in scenario.legs]
        yield f"{LOSS_PERCENT:g} % of random losses", lambda way: way.evolve(legs=legs)
    if scenario.transport == "mpquic-picoquic" and scenario.congestion_control not in COUPLED:
        lia = {"congestion_control": COUPLED[0]}
        yield (
            "coupled windows (LIA)",
            lambda way: way.evolve(**lia) if way.mode == "multipath" else way,
        )


def _side(runs: Runs, pair: Sequence[str]) -> str | None:
    """Return which side is better by its mean score, or a tie; None: a side has none."""
    dual, multipath = map(runs.means(pair).get, pair)
    if dual is None or multipath is None:
        return None
    if abs(dual - multipath) <= runs.judged.limit:
        return "a tie"
    return pair[0] if dual > multipath else pair[1]


def _dependence_words(here: str, sides: Mapping[str, str]) -> str:
    other = [f"{side} with {words}" for words, side in sides.items() if side != here]
    same = [words for words, side in sides.items() if side == here]
    parts = [f"by {SHOWN} seeds it would be {', '.join(other)}"] if other else []
    parts += [f"no other outcome with {', '.join(same)}"] if same else []
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


NETWORKS = shipped("studies") / "which_is_better" / "reference" / "study_networks.csv"
"""A line for each network of the study: where it is, and the ratio of its goodputs."""
EXPERIMENTS = {"picoquic": ("download", "MP-QUIC"), "Linux": ("tcp", "MPTCP")}
"""The experiment of the study that has the transports of a stack, and its multipath."""
NEIGHBOURS = 20
"""The number of networks that count: with fewer, the shares' intervals would be wider."""
FEW_LOSSES = 0.001
"""Lost packets per BDP up to which networks count as equal, as a logarithm needs a least value: a
download of a thousand BDPs loses one packet."""
EDGE = 0.25
"""In standard deviations: how far beyond all networks one may be and still have neighbours."""
COLUMNS = ["share", "delay_ratio", "windows", "queueing", "lost_per_window"]
"""Of the file, which make a place: the faster leg's share of the rate, the other leg's round trip
over that leg's, the size and the queues in BDPs, packets lost at random per BDP."""
PACKET_BITS = 12_000
"""An IP packet of 1,500 bytes."""
Numbers = npt.NDArray[np.float64]


@cache
def read_networks(experiment: str) -> pd.DataFrame:
    """Return `control`, `ratio` and the place in `COLUMNS` of an experiment's networks."""
    table = pd.read_csv(NETWORKS)
    table = table[table["experiment"] == experiment].reset_index(drop=True)
    return table.assign(**places(table))


def places(networks: pd.DataFrame) -> pd.DataFrame:
    """Return coordinates in which distances count: logarithms of all `COLUMNS` but the share."""
    table = networks[COLUMNS].clip(lower=FEW_LOSSES)
    table[COLUMNS[1:]] = np.log(table[COLUMNS[1:]])
    return table


def nearest(networks: pd.DataFrame, place: Numbers, number: int = NEIGHBOURS) -> Numbers:
    """Return the ratios of the nearest networks, by the distance in standard deviations."""
    known = networks[COLUMNS].to_numpy(float)
    apart = (((known - place) / known.std(axis=0)) ** 2).sum(axis=1)
    return networks["ratio"].to_numpy(float)[np.argsort(apart, kind="stable")[:number]]


def position_of(legs: Sequence[Leg], workload: Workload) -> dict[str, float]:
    """Return `COLUMNS` of a network by its downlinks, of legs by their rates; NaN: not known.

    Raises:
        SettingsError, TraceError: a trace is missing or wrong.
    """
    radios = [leg.downlink for leg in legs]
    rates = np.array([_mean_mbps(radio) for radio in radios])
    trips = np.array([leg.downlink.delay_ms + leg.uplink.delay_ms for leg in legs])
    trips[[radio.delay_varies for radio in radios] | (trips == 0)] = math.nan
    queues_ms = np.array([radio.queue_holds_bytes() for radio in radios]) * 8 / rates / 1000
    losses = [radio.mean_loss_percent() / 100 for radio in radios]
    fastest, trip = int(rates.argmax()), np.average(trips, weights=rates)
    bdp_bits = rates.sum() * 1000 * trip
    size_bits = 8 * workload.size_bytes if isinstance(workload, Download) else 0
    numbers = (
        rates.max() / rates.sum(),
        np.delete(trips, fastest).max() / trips[fastest],
        size_bits / bdp_bits or math.nan,
        np.average(queues_ms, weights=rates) / trip,
        bdp_bits / PACKET_BITS * np.average(losses, weights=rates),
    )
    return dict(zip(COLUMNS, map(float, numbers), strict=True))


def _mean_mbps(radio: LegDirection) -> float:
    if radio.trace is None or radio.trace_mean_mbps:
        return radio.rate_mbps or radio.trace_mean_mbps or math.nan
    column, time_column = radio.trace_column, radio.trace_time_column
    return trace_info(read_trace(radio.trace, column=column, time_column=time_column)).mean_mbps


def neighbours_of(base: Scenario, stack: str, margin: float) -> dict[str, Any] | None:
    """Return what the study found near a network, up to a margin a tie, with a sentence.

    None: the study has no networks of such legs or workloads, or of the transports' stack.
    """
    position = pd.DataFrame([position_of(base.legs, base.workload)])
    here = places(position).to_numpy()[0]
    if stack not in EXPERIMENTS or len(base.legs) != 2 or not np.isfinite(here).all():
        return None
    experiment, multipath = EXPERIMENTS[stack]
    known, control = read_networks(experiment), base.congestion_control
    if has_control := control in set(known["control"]):
        known = known[known["control"] == control]
    near = outcomes(nearest(known, here), margin)
    total = outcomes(known["ratio"].to_numpy(float), margin)
    better, tie, worse = map(_share, (near.better, near.tie, near.worse))
    shares = [f"{100 * part.share:.0f}" for part in (total.better, total.tie, total.worse)]
    low, high = known[COLUMNS].min(), known[COLUMNS].max()
    is_outside = np.maximum(low - here, here - high).gt(EDGE * known[COLUMNS].std(ddof=0)).any()
    return {
        "stack": stack,
        "congestion_control": control if has_control else None,
        "position": position.iloc[0].to_dict(),
        "near": asdict(near),
        "all": asdict(total),
        "is_outside": bool(is_outside),
        "sentence": f"Of the {NEIGHBOURS} networks of the study{f' with {control}' * has_control} "
        f"that are most like this one, ideal DC is better in {better}, a tie in {tie}, {multipath} "
        f"better in {worse}; of all {len(known)} in {', '.join(shares[:2])} and {shares[2]} %."
        f"{' This network is outside their range, so none is near.' if is_outside else ''}",
    }


def _share(part: Proportion) -> str:
    """Return a count, its share and Wilson's 95 % interval: `9 (45 %, 26 to 66)`."""
    share, low, high = (100 * number for number in (part.share, part.low, part.high))
    return f"{part.count:g} ({share:.0f} %, {low:.0f} to {high:.0f})"
