"""Where a run's packets went: those that came to gnb (downlink) or ue (uplink), and their ends.

For each direction it holds that

    offered + copies = delivered + duplicates + all losses + under way

Each packet that comes to a bearer or to a leg is offered once. Duplication, data recovery and
probes make copies of it. Reports and statuses of PDCP that take a leg are packets, too.

The counters of the elements at their end tell it, and how long PDCP waited for the order. Where
few losses are expected, `few_losses` says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from minitopo_dc.fields import Direction
from minitopo_dc.files import once_a_version
from minitopo_dc.numbers import significant
from minitopo_dc.results.files import ResultError, read_mapping
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.results.run_result import ENDS
from minitopo_dc.results.tables.series import element_series, leg_series
from minitopo_dc.scenario import Scenario
from minitopo_dc.statistics import ExpectedCount, expected_count
from minitopo_dc.units import NS_PER_MS, NS_PER_S


@once_a_version(8)  # several measures of a run ask for them one after the other
def counters(path: Path, part: str) -> dict[int, dict[str, Any]]:
    """Return the counters of an element's `legs`, or of its bearers' ends, by their numbers.

    Raises:
        ResultError: the summary `path` is missing or broken.
    """
    summary = read_mapping(path.parent, path)
    try:
        return {int(number): dict(counted) for number, counted in summary[part].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResultError(f"{path}: malformed summary: {error!r}") from None


def _measured(
    run: Path, measure: Callable[[Collection[dict[str, Any]]], float], without: float = math.nan
) -> float:
    bearers = counters(run / "ue-summary.json", "receive").values()
    try:
        return measure(bearers) if bearers else without
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise ResultError(f"{run / 'ue-summary.json'}: malformed summary: {error!r}") from None


def given_up(run: Path) -> float:
    """Return the COUNTs that the downlink's receiving entities gave up; NaN without a bearer.

    Raises:
        ResultError: `ue-summary.json` is missing or broken.
    """
    return _measured(run, lambda bearers: sum(bearer["missing"] for bearer in bearers))


def reordering_wait_ms(run: Path) -> float:
    """Return the mean time in ms that a PDU waited in the reordering buffer until its delivery.

    The mean is over all PDUs that the downlink bearers delivered, those that did not wait included.
    It is NaN when the run had no bearer.

    Raises:
        ResultError: `ue-summary.json` is missing or broken.
    """

    def wait(bearers: Collection[dict[str, Any]]) -> float:
        waited: int = sum(bearer["waiting_total_ns"] for bearer in bearers)
        delivered: int = sum(bearer["delivered"] for bearer in bearers)
        return waited / delivered / NS_PER_MS

    return _measured(run, wait)


def longest_wait_s(run: Path) -> float:
    """Return the longest time in s that a PDU waited in a downlink's reordering buffer.

    It is 0 without a bearer.

    Raises:
        ResultError: `ue-summary.json` is missing or broken.
    """
    return _measured(
        run, lambda bearers: max(entity["waiting_maximum_ns"] for entity in bearers) / NS_PER_S, 0.0
    )


class Cause(NamedTuple):
    """A cause of losses: which counter has it, and how it is said."""

    file: str
    """The element's part that counts it: `legs`, `transmit`, or `receive` of the other host."""
    column: str
    words: str


CAUSES: Mapping[str, Cause] = {
    "split": Cause("transmit", "dropped_split", "on no leg, by the split policy"),
    "buffer": Cause("transmit", "dropped_buffer", "in the waiting buffer"),
    "discard": Cause("transmit", "discarded", "by discardTimer"),
    "xn": Cause("transmit", "dropped_xn", "on Xn"),
    "mtu": Cause("legs", "dropped_mtu", "above the MTU"),
    "queue": Cause("legs", "dropped_queue", "in the legs' queues"),
    "aqm": Cause("legs", "dropped_early", "by the queue discipline"),
    "flush": Cause("legs", "dropped_flush", "from legs that were emptied"),
    "stop": Cause("legs", "dropped_stop", "after a trace's end"),
    "leg_discard": Cause("legs", "dropped_discard", "by discardTimer in RLC"),
    "radio": Cause("legs", "dropped_radio", "given up after retransmissions"),
    "air": Cause("legs", "dropped_loss", "in the air"),
    "late": Cause("receive", "old", "too late for t-Reordering"),
}
"""All causes, in the order of a packet's way."""
LEG_CAUSES = tuple(name for name, cause in CAUSES.items() if cause.file == "legs")
"""Those that legs count."""


@dataclass(frozen=True)
class PacketAccount:
    """Where the packets of one direction went."""

    offered: int
    """Packets that came to a bearer, or to a leg without one."""
    copies: int
    """More PDUs of these packets."""
    delivered: int
    """Packets and copies that went on to IP at the other end."""
    duplicates: int
    """Copies that PDCP discarded there, as it had the packet."""
    losses: Mapping[str, int]
    """Packets and copies that were lost, by the names of `CAUSES`."""
    under_way: int
    """Those that waited or travelled at the end."""

    @property
    def lost(self) -> int:
        """Return the packets of which no copy arrived.

        A copy that is under way at the end counts as one that will arrive.
        """
        return max(0, sum(self.losses.values()) + self.duplicates - self.copies)

    @property
    def lost_share(self) -> float:
        """Return the share of the packets that were lost, 0 of none."""
        return self.lost / self.offered if self.offered else 0.0

    @property
    def main_cause(self) -> str:
        """Return the words of the cause of most losses; empty without a loss."""
        name = max(self.losses, key=lambda cause: self.losses[cause])
        return CAUSES[name].words if self.losses[name] else ""

    @property
    def sentence(self) -> str:
        """Return the account as a sum in words; what is zero is left out."""
        copied = f" and {self.copies:,} copies" if self.copies else ""
        parts = {
            "delivered": self.delivered,
            "duplicates": self.duplicates,
            **{f"lost {CAUSES[name].words}": count for name, count in self.losses.items()},
            "under way at the end": self.under_way,
        }
        shown = [f"{count:,} {words}" for words, count in parts.items() if count]
        return f"{self.offered:,} offered{copied} = {' + '.join(shown) or '0 delivered'}"


def packet_account(run: Path, direction: Direction = "downlink") -> PacketAccount:
    """Return where the packets of a run went, by the last counters of its elements.

    In results from before `offered` was recorded, SDUs that wait for a leg with early numbering
    count twice, and what Xn lost counts as under way.

    Raises:
        ResultError: a summary is missing or broken.
    """
    sender, receiver = (run / f"{host}-summary.json" for host in ENDS[direction])
    legs, transmit = (counters(sender, part) for part in ("legs", "transmit"))
    receive = counters(receiver, "receive")
    try:
        return _account(list(legs.values()), list(transmit.values()), list(receive.values()))
    except (KeyError, TypeError) as error:
        raise ResultError(f"{sender}: malformed summary: {error!r}") from None


Counters = list[dict[str, Any]]


def _account(legs: Counters, transmit: Counters, receive: Counters) -> PacketAccount:
    parts = {"legs": legs, "transmit": transmit, "receive": receive}
    losses = {name: _sum(parts[cause.file], cause.column) for name, cause in CAUSES.items()}
    made = sum(map(_pdus, transmit))
    waiting, on_xn = _sum(transmit, "waiting"), _sum(transmit, "xn_packets")
    plain_sent = _sum(legs, "pushed_packets") - made + losses["xn"] + on_xn
    plain_came = _sum(legs, "delivered_packets") - sum(map(_pdus, receive))
    offered = sum(map(_offered, transmit))
    never_sent = losses["split"] + losses["buffer"] + losses["discard"] + waiting
    return PacketAccount(
        offered=offered + plain_sent,
        copies=made - (offered - never_sent),
        delivered=_sum(receive, "delivered") + plain_came,
        duplicates=_sum(receive, "duplicates"),
        losses=losses,
        under_way=waiting
        + on_xn
        + sum(_sum(legs, name) for name in ("queue_packets", "air_packets"))
        + _sum(receive, "buffered"),
    )


def _sum(parts: Counters, name: str) -> int:
    """Return the sum of a counter; one that a part does not have is 0 there."""
    return sum(part.get(name, 0) for part in parts)


def _pdus(bearer: dict[str, Any]) -> int:
    return sum(count for name, count in bearer.items() if name.startswith("pdus_"))


def _offered(bearer: dict[str, Any]) -> int:
    unsent = ("waiting", "dropped_buffer", "discarded")
    old = bearer["sdus"] + sum(bearer.get(name, 0) for name in unsent)
    return int(bearer.get("offered", old))


def losses_over_time(run: Path, direction: Direction = "downlink") -> pd.DataFrame:
    """Return the losses of each leg and bearer over time, by all causes together.

    Columns: `time_s`, `part` (`leg 1`, `transmit 1`, `receive 1`) and `lost`, cumulative.

    Raises:
        ResultError: a file of an element's is missing or broken.
    """
    columns: dict[str, list[str]] = {}
    for cause in CAUSES.values():
        columns.setdefault(cause.file, []).append(cause.column)
    tables = [table for file in columns for table in _lost(run, direction, file, columns[file])]
    return pd.concat(tables, ignore_index=True)


def _lost(run: Path, direction: Direction, file: str, columns: list[str]) -> Iterator[pd.DataFrame]:
    host = ENDS[direction][file == "receive"]
    if not (run / f"{host}-{file}.csv").exists() and file != "legs":
        return
    key = "leg" if file == "legs" else "bearer"
    series = element_series(run, host, file, key)
    lost = series.reindex(columns=columns).sum(axis=1)
    names = f"{key if file == 'legs' else file} " + series[key].astype(str)
    yield pd.DataFrame({"time_s": series["time_s"], "part": names, "lost": lost})


def network_sentences(run: Path) -> Iterator[str]:
    """Yield what cells, the steering of ATSSS and marking queues did, in sentences.

    Raises:
        ResultError: a summary is missing or broken.
        InputError: the scenario is missing or broken.
    """
    scenario = load_as_run(run)
    for direction in scenario.loads:
        path = run / f"{ENDS[direction][0]}-summary.json"
        legs, transmit = counters(path, "legs"), counters(path, "transmit")
        if scenario.mode == "atsss":
            flow = scenario.resolved_flows[0]
            by = flow.pdcp.split if transmit else flow.transport
            sent = {f"leg {leg}": counted["pushed_packets"] for leg, counted in legs.items()}
            number = f"{sum(sent.values()):,} packets"
            yield f"Steering {direction} by {by}, {number}: {_shares_of(sent)}"
        if marks := [*_marks(legs, transmit)]:
            yield f"Marks {direction}: {', '.join(marks)}"
        if direction == "downlink" and scenario.cells:
            yield from _cell_sentences(scenario, counters(path, "cells"))


def _marks(
    legs: Mapping[int, dict[str, Any]], transmit: Mapping[int, dict[str, Any]]
) -> Iterator[str]:
    """Yield how many of the packets that can be marked a queue or a split marked."""
    for leg, counted in legs.items():
        if "marked_packets" in counted:
            able = counted["ect0_packets"] + counted["ect1_packets"]
            yield f"leg {leg} {counted['marked_packets']:,} of {able:,} packets with ECT"
    marking = [bearer for bearer in transmit.values() if "marked_sdus" in bearer]
    if marking:
        yield f"the split {_sum(marking, 'marked_sdus'):,} of {_sum(marking, 'sdus'):,} packets"


def _cell_sentences(scenario: Scenario, cells: Mapping[int, dict[str, Any]]) -> Iterator[str]:
    for number, counted in cells.items():
        legs = scenario.cells[number - 1].legs
        times = [time for name, time in counted.items() if name.startswith("served_ns_")]
        users = range(1, len(times) - len(legs) + 1)
        names = [f"leg {leg}" for leg in legs] + [f"background user {user}" for user in users]
        yield f"Cell {number}, time served: {_shares_of(dict(zip(names, times, strict=True)))}"


def _shares_of(parts: Mapping[str, float]) -> str:
    """Return the shares of parts in percent, as words."""
    whole = sum(parts.values()) or 1
    return ", ".join(
        f"{name} {significant(100 * part / whole, 2)} %" for name, part in parts.items()
    )


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
    ends = cache(lambda: leg_series(run).groupby("leg").last().to_dict("index"))  # if it is needed
    for number, leg in enumerate(load_as_run(run).legs, start=1):
        radio = leg.downlink
        model = radio.loss_model()
        if model is None or any(change.loss_percent is not None for change in radio.changes):
            continue
        counted = ends()[number]
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
        f"Leg {least.leg} lost {' to '.join(lost)} packets at random, so few that it depends on "
        f"the seed; at {least.percent:g} % expected are {between}."
    )
