"""Where a run's packets went: those that came to gnb (downlink) or ue (uplink), and their ends.

For each direction it holds that

    offered + copies = delivered + duplicates + all losses + under way

Each packet that comes to a bearer or to a leg is offered once. Duplication, data recovery and
probes make copies of it. Reports and statuses of PDCP that take a leg are packets, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from minitopo_dc.fields import Direction
from minitopo_dc.results.files import ResultError
from minitopo_dc.results.measures.pdcp import counters
from minitopo_dc.results.tables.series import element_series

ENDS: Mapping[Direction, tuple[str, str]] = {"downlink": ("gnb", "ue"), "uplink": ("ue", "gnb")}
"""The host that sends on the legs, and the one that receives."""


class Cause(NamedTuple):
    """A cause of losses: which counters have it, and how it is said."""

    file: str
    """The element's part that counts it: `legs`, `transmit`, or `receive` of the other host."""
    columns: tuple[str, ...]
    words: str


CAUSES: Mapping[str, Cause] = {
    "split": Cause("transmit", ("dropped_split",), "on no leg, by the split policy"),
    "buffer": Cause("transmit", ("dropped_buffer",), "in the waiting buffer"),
    "discard": Cause("transmit", ("discarded",), "by discardTimer"),
    "xn": Cause("transmit", ("dropped_xn",), "on Xn"),
    "mtu": Cause("legs", ("dropped_mtu",), "above the MTU"),
    "queue": Cause("legs", ("dropped_queue",), "in the legs' queues"),
    "aqm": Cause("legs", ("dropped_early",), "by the queue discipline"),
    "flush": Cause("legs", ("dropped_flush",), "from legs that were emptied"),
    "stop": Cause("legs", ("dropped_stop",), "after a trace's end"),
    "leg_discard": Cause("legs", ("dropped_discard",), "by discardTimer in RLC"),
    "radio": Cause("legs", ("dropped_radio",), "given up after retransmissions"),
    "air": Cause("legs", ("dropped_loss",), "in the air"),
    "late": Cause("receive", ("old",), "too late for t-Reordering"),
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
    losses = {
        name: sum(_sum(parts[cause.file], column) for column in cause.columns)
        for name, cause in CAUSES.items()
    }
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


def losses_over_time(
    run: Path, direction: Direction = "downlink", causes: Iterable[str] = CAUSES
) -> pd.DataFrame:
    """Return the losses of each leg and bearer over time, by these causes together.

    Columns: `time_s`, `part` (`leg 1`, `transmit 1`, `receive 1`) and `lost`, cumulative.

    Raises:
        ResultError: a file of an element's is missing or broken.
    """
    columns: dict[str, list[str]] = {}
    for name in causes:
        columns.setdefault(CAUSES[name].file, []).extend(CAUSES[name].columns)
    tables = [table for file in columns for table in _lost(run, direction, file, columns[file])]
    return pd.concat(tables, ignore_index=True)


def _lost(run: Path, direction: Direction, file: str, columns: list[str]) -> Iterator[pd.DataFrame]:
    host = ENDS[direction][file == "receive"]
    if not (run / f"{host}-{file}.csv").exists() and file != "legs":
        return
    key = "leg" if file == "legs" else "bearer"
    series = element_series(run, host, file, key)
    lost = series[[name for name in columns if name in series]].sum(axis=1)
    part = key if file == "legs" else file
    names = f"{part} " + series[key].astype(str)
    yield pd.DataFrame({"time_s": series["time_s"], "part": names, "lost": lost})
