"""Delays of a run: of its packets, its sender's round trips, and the requests of its client.

`packet-delays.csv` of a run on the virtual clock says where the delay of packets went.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from pathlib import Path
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from minitopo_dc.files import once_a_version
from minitopo_dc.results.files import ResultError, read_csv, read_numbers, to_numbers
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.results.qlog import PROTECTED, RECEIVED, Event, qlog_events
from minitopo_dc.results.run_result import of_first_flow
from minitopo_dc.results.tables.runs import load_result
from minitopo_dc.results.tables.series import congestion_series
from minitopo_dc.results.tcp_info import received_content
from minitopo_dc.scenario import Scenario
from minitopo_dc.units import NS_PER_MS, NS_PER_S, NS_PER_US

QUANTILES = {"median": 0.5, "p95": 0.95}
RTT_MEASURES = tuple(f"smoothed_rtt_{part}_ms" for part in QUANTILES)
REQUESTS = "request-response.csv"
LATE = 0.95
KEPT = 1024
"""The number of runs whose requests are kept: a file has some hundreds of them."""
FILE: Final = "packet-delays.csv"
NETWORK: Final = ("split", "queue", "air", "rlc", "propagation", "reordering")
"""The parts of a packet's way from end host to end host, in order."""
BUFFER: Final = "receive_buffer"
PARTS: Final = (*NETWORK, BUFFER)
WHOLE: Final = "packet"
"""The delay between the end hosts, which is the sum of `NETWORK`."""
PART_MEASURES = tuple(f"{part}_delay_{name}_ms" for part in (WHOLE, *PARTS) for name in QUANTILES)
RECEIVERS: Final[dict[str, Literal["client", "server"]]] = {
    "downlink": "client",
    "uplink": "server",
}
Frame = tuple[int, int, int]
"""The stream, and the first byte of the frame and that behind its last."""


def packet_delays(run: Path | str) -> pd.DataFrame:
    """Return where the delay of each packet went, of a run with `virtual.packet_delays`.

    A row for each packet that an end host received: `time_s` of its receipt, `flow`, `direction`,
    `bytes`, `packet`, `leg`, and in ms `split_ms` (until it joins the leg's queue), `queue_ms`,
    `air_ms`, `rlc_ms`, `propagation_ms`, `reordering_ms`, whose sum is the delay between the end
    hosts. `receive_buffer_ms` comes on top: how long its bytes of streams waited for those before
    them. It is NaN for what holds none, and where the receiver has neither a qlog nor, of TCP, a
    capture.

    Raises:
        ResultError: the run has no `packet-delays.csv`, or a file is broken.
    """
    return _read(Path(run)).copy()


def part_delay_ms(run: Path, name: str) -> float:
    """Return a quantile of a part of the delays (ms), of all packets in the directions of content.

    Args:
        run: the run's directory.
        name: of `PART_MEASURES`.

    Raises:
        ResultError: see `packet_delays`.
    """
    part, quantile = name.removesuffix("_ms").rsplit("_delay_", 1)
    table = _read(run)
    loaded = table[table["direction"].isin(load_as_run(run).loads)]
    parts = loaded[[f"{name}_ms" for name in (NETWORK if part == WHOLE else (part,))]]
    known = parts.dropna().sum(axis="columns")
    return float(np.quantile(known, QUANTILES[quantile])) if len(known) else math.nan


@once_a_version(1, FILE)
def _read(run: Path) -> pd.DataFrame:
    """Read the file of the last run that was asked for, from which several measures come."""
    if not (run / FILE).exists():
        raise ResultError(f"{run}: no {FILE}; its scenario lacks virtual: packet_delays: true")
    names = [f"{part}_ns" for part in NETWORK]
    numbers = ["time_ns", "flow", "bytes", "packet", "leg", *names]
    table = to_numbers(run / FILE, read_csv(run, run / FILE), numbers)
    table[f"{BUFFER}_ms"] = math.nan
    scenario = load_as_run(run)
    for direction, role in RECEIVERS.items():
        mine = table[(table["direction"] == direction) & (table["flow"] == 1)]
        if len(mine):
            waits = _buffer_ms(run, scenario, role, mine["time_ns"].tolist())
            table.loc[mine.index, f"{BUFFER}_ms"] = waits
    parts = {name.replace("_ns", "_ms"): table.pop(name) / NS_PER_MS for name in names}
    waited = table.pop(f"{BUFFER}_ms")
    table.insert(0, "time_s", table.pop("time_ns") / NS_PER_S)
    return table.assign(**parts, **{f"{BUFFER}_ms": waited})


def _buffer_ms(
    run: Path, scenario: Scenario, role: Literal["client", "server"], packets: Sequence[int]
) -> Sequence[float]:
    """Return how long what packets hold of streams waited in the receiver (ms), NaN without any.

    A capture of TCP's tells of packets in the order of their receipt (ns); so does a qlog, to the
    us, whose clock may begin at another moment: both records begin with the same packet.
    """
    if scenario.resolved_flows[0].transport == "tcp" and role in scenario.virtual.capture:
        content = received_content(run, role)
        if len(content) != len(packets):
            raise ResultError(f"{run}: {FILE} and {role}.pcap have not the same packets")
        return _waits(((n, [one]) for n, one in enumerate(content) if one[1] < one[2]), packets)
    # An end that takes CPU time delays what it logs.
    busy = scenario.virtual.cpu_us_per_packet or scenario.virtual.client_cpu_us_per_packet
    logs = None if busy else of_first_flow(run, f"qlog/{role}")
    if logs is None or not any(logs.glob("*qlog")):
        return [math.nan] * len(packets)
    try:
        events = [
            (round(event["time"] * 1000), event["data"])
            for event in qlog_events(run, role, several_paths=True)
            if event["name"] == RECEIVED
        ]
        return _waits(_matched(events, packets), packets)
    except (ValueError, LookupError, TypeError) as error:
        raise ResultError(f"{run}: malformed qlog of the {role}: {error!r}") from None


def _waits(arrivals: Iterable[tuple[int, Iterable[Frame]]], packets: Sequence[int]) -> list[float]:
    waits = [math.nan] * len(packets)
    held: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    complete: dict[int, int] = defaultdict(int)  # the bytes that each stream has from its begin on
    for position, frames in arrivals:
        for stream, first, end in frames:
            heap = held[stream]
            heappush(heap, (first, end, position))
            while heap and heap[0][0] <= complete[stream]:
                _, end_of_first, number = heappop(heap)
                complete[stream] = max(complete[stream], end_of_first)
                waited = (packets[position] - packets[number]) / NS_PER_MS
                waits[number] = max(waited, 0.0 if math.isnan(waits[number]) else waits[number])
    return waits


def _matched(
    events: Sequence[tuple[int, Event]], packets: Sequence[int]
) -> Iterator[tuple[int, Iterator[Frame]]]:
    """Yield the frames of each event that is of a packet, with the packet's position."""
    times = [time // NS_PER_US for time in packets]
    later = events[0][0] - times[0]
    position = 0
    for moment, data in events:
        while position < len(times) and times[position] < moment - later - 1:
            position += 1
        if position == len(times):
            return
        # A datagram holds one packet with a short header at most (RFC 9000, section 12.2).
        protected = data["header"]["packet_type"] == PROTECTED
        if protected and times[position] <= moment - later + 1:
            streams = (one for one in data["frames"] if one["frame_type"] == "stream")
            parts = (
                (int(one["stream_id"]), int(one["offset"]), int(one["length"])) for one in streams
            )
            yield position, ((stream, first, first + size) for stream, first, size in parts)
            position += 1


def smoothed_rtt_ms(run: Path, name: str) -> float:
    """Return a quantile of the sender's smoothed round-trip times in ms; of several flows, of one.

    Args:
        run: the run's directory.
        name: of `RTT_MEASURES`.

    Raises:
        ResultError: a file is broken.
    """
    end_s = load_result(run).completion_s or math.inf
    series = congestion_series(run)
    known = series["smoothed_rtt_ms"][series["time_s"] <= end_s].dropna()
    quantile = QUANTILES[name.removesuffix("_ms").rpartition("_")[2]]
    return float(np.quantile(known, quantile)) if len(known) else math.nan


def answer_worst_ms(run: Path) -> float:
    """Return the longest delay of a request in ms; infinite when one had no answer.

    Raises:
        ResultError: the run has no table of requests, or a broken one.
    """
    return float(_answers(run).max())


def answer_p95_ms(run: Path) -> float:
    """Return the 95th percentile (nearest rank) of the delays of all requests, in ms.

    Raises:
        ResultError: see `answer_worst_ms`.
    """
    return float(np.quantile(_answers(run), LATE, method="inverted_cdf"))


@once_a_version(KEPT, REQUESTS)
def _answers(run: Path) -> npt.NDArray[np.float64]:
    delays = read_numbers(run, REQUESTS, ["delay_ms"])["delay_ms"].to_numpy(dtype=float)
    if not len(delays):
        raise ResultError(f"{run / REQUESTS}: no requests")
    return np.where(np.isnan(delays), math.inf, delays)
