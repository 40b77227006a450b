"""Calibration: what a leg's rate, delay, jitter and loss really are on this machine.

Between what was asked for and what is measured stands the ideal: the same leg, fed in virtual time
with the same packets at the same moments and the same seed. It shows indirect effects of what was
asked for (jitter that keeps the order skews the delay, few packets scatter around a loss rate); the
rest is the machine's error. Packets are numbered and timestamped; both ends (`probe_ends`) read the
same monotonic clock, so that one-way delays are exact.
"""

from __future__ import annotations

import contextlib
import math
import subprocess
from collections.abc import Sized
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from minitopo_dc.installation import module_command
from minitopo_dc.real.elements import stop_all, testbed
from minitopo_dc.real.hosts import EmulatedHost
from minitopo_dc.real.machine import save_facts
from minitopo_dc.real.probe_ends import COLUMNS, READY
from minitopo_dc.results.judge import blank_result
from minitopo_dc.results.kept_scenario import keep_traces, trace_paths
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runs.element_settings import leg_seed
from minitopo_dc.runs.perform import RunFailedError
from minitopo_dc.scenario import LegDirection, Scenario
from minitopo_dc.scenario.addresses import client_address
from minitopo_dc.scratch import scratch
from minitopo_dc.workloads import Download

PACKET_BYTES = 1500
OVERLOAD = 1.5
"""Times the leg's mean rate: enough that its queue never runs empty while the rate is measured."""
LOAD = 0.5
"""Times the leg's mean rate: low enough that no queue builds up at a constant rate."""
SETTLE_S = 1.0
"""Left out at the beginning of the rate measurement, until the queue is full."""
SECONDS = (2.0, 3600.0)
"""The shortest measurement leaves a second for the rate; the longest catches a wrong unit."""
PROPERTIES = (
    *("rate_mbps", "delay_median_ms", "delay_p99_ms", "delay_deviation_ms", "loss_percent"),
    "lost_packets",
)
"""What is measured of a leg. `ideal_rate_mbps`, ... are the same of an ideal leg."""

Times = npt.NDArray[np.float64]


def calibrate(scenario: Scenario, directory: Path) -> RunResult:
    """Measure the downlink of a scenario's one leg twice: its rate, then the others.

    Each measurement lasts as long as the scenario's download.

    Args:
        scenario: one of mode `sc`.
        directory: gets the scenario and the machine's facts.

    Returns:
        A run whose details have `packets`, `PROPERTIES` and those of an ideal leg. It has failed
        if the testbed did, or if too little arrived to measure.
    """
    directory.mkdir(parents=True)
    scenario.save(directory / "scenario.yaml")
    save_facts(directory)
    keep_traces(trace_paths(scenario), directory)
    blank = blank_result(scenario, directory)
    assert isinstance(scenario.workload, Download)
    seconds = scenario.workload.duration_s or 0.0
    try:
        details = _rate(scenario, seconds) | _delay_and_loss(scenario, seconds)
    except RunFailedError as failure:
        return replace(blank, reason=str(failure))
    return replace(blank, status="ok", details=details)


def _probe(scenario: Scenario, load: float, seconds: float) -> tuple[pd.DataFrame, int, int]:
    """Send packets at `load` times the leg's mean rate.

    Returns:
        What arrived, when the leg was started (ns), and how many packets were sent.
    """
    downlink = _downlink(scenario)
    rate = load * _mean_rate(downlink, seconds) / 8 / PACKET_BYTES
    packets = round(rate * seconds)
    with scratch() as directory, testbed(scenario, directory) as bed:
        bed.start()
        arrivals = send_through(
            bed.hosts.server,
            bed.hosts.client,
            client_address(scenario.leg, scenario.ip_version),
            rate=rate,
            seconds=seconds,
            size=PACKET_BYTES,
            scratch=directory / "arrivals",
            linger_s=_drain_s(downlink, seconds, packets) + LINGER_S,
        )
        summaries = stop_all(bed.elements)
    _check_enough(scenario, arrivals, f"{seconds:g} s")
    return arrivals, summaries[0]["start_ns"], packets


def _check_enough(scenario: Scenario, packets: Sized, where: str) -> None:
    if len(packets) < 2:
        raise RunFailedError(
            f"leg {scenario.leg}: {len(packets)} packets arrived in {where}, and two at least are "
            "needed; give more --seconds, or a leg that lets more pass"
        )


def _downlink(scenario: Scenario) -> LegDirection:
    return scenario.legs[scenario.leg - 1].downlink


def _mean_rate(downlink: LegDirection, seconds: float) -> float:
    """Return the mean rate (bit/s) that the leg offers in its first `seconds`."""
    return downlink.capacity().bits_between(0, round(seconds * 1e9)) / seconds


def _drain_s(downlink: LegDirection, seconds: float, packets: int) -> float:
    """Return the time (s) until the last of `packets` has crossed the leg, 0 if it never does.

    All of them are sent by then.
    """
    end = round(seconds * 1e9)
    queued = max(1, min(packets, downlink.queue_holds_bytes() / PACKET_BYTES))
    served = downlink.capacity().finish(end, round(queued * PACKET_BYTES * 8))
    return (served - end) / 1e9 + downlink.delay_ms / 1e3 if served is not None else 0.0


def _rate(scenario: Scenario, seconds: float) -> dict[str, float]:
    """Return the rate at which a full queue is served, against the capacity in that time."""
    downlink = _downlink(scenario)
    arrivals, start_ns, _ = _probe(scenario, OVERLOAD, seconds + SETTLE_S)
    times = arrivals["received"].to_numpy() - start_ns - round(downlink.delay_ms * 1e6)
    window = times[(times > SETTLE_S * 1e9) & (times < seconds * 1e9)]
    _check_enough(scenario, window, f"the {seconds - SETTLE_S:g} s of the rate")
    first, last = int(window[0]), int(window[-1])
    capacity = sum(downlink.available_bits((first, last))) / (last - first) * 1e3
    ideal = capacity * (1 - downlink.mean_loss_percent() / 100)
    measured = (len(window) - 1) * PACKET_BYTES * 8 / (last - first) * 1e3
    return {"rate_mbps": measured, "ideal_rate_mbps": ideal}


def _delay_and_loss(scenario: Scenario, seconds: float) -> dict[str, float]:
    """Return one-way delays without serialisation, their spread, and what is lost."""
    arrivals, start_ns, packets = _probe(scenario, LOAD, seconds)
    serialisation = PACKET_BYTES * 8 / _mean_rate(_downlink(scenario), seconds) * 1e3
    ideal = _ideal_delays_ms(scenario, arrivals, start_ns, packets) - serialisation
    _check_enough(scenario, ideal, f"{seconds:g} s on an ideal leg")
    details: dict[str, float] = {"packets": packets}
    for prefix, delays in (
        ("", arrivals["delays_ms"].to_numpy() - serialisation),
        ("ideal_", ideal),
    ):
        lost = packets - len(delays)
        details |= {
            f"{prefix}delay_median_ms": float(np.median(delays)),
            f"{prefix}delay_p99_ms": float(np.percentile(delays, 99)),
            f"{prefix}delay_deviation_ms": float(np.std(delays)),
            f"{prefix}loss_percent": 100 * lost / packets,
            f"{prefix}lost_packets": lost,
        }
    return details


def _ideal_delays_ms(
    scenario: Scenario, arrivals: pd.DataFrame, start_ns: int, packets: int
) -> Times:
    """Return the delays (ms) that an ideal leg gives the same packets, in order of arrival."""
    leg = _downlink(scenario).build(leg_seed(scenario, scenario.leg, "downlink"))
    leg.start(start_ns)
    # What was lost has no entry; its moment of sending lies between its neighbours'.
    sent = np.interp(np.arange(packets), arrivals["number"], arrivals["sent"]).astype(np.int64)
    delays: list[int] = []

    def drain(until: float) -> None:
        while (due := leg.next_timeout()) is not None and due <= until:
            delays.extend(due - moment for moment in leg.poll(due))

    for moment in sent.tolist():
        drain(moment)
        leg.push(moment, PACKET_BYTES, moment)
    drain(math.inf)
    return np.array(delays) / 1e6


LINGER_S = 1.0
"""For what is on the way when the sender ends: five times the papers' t-Reordering."""


def send_through(
    sender: EmulatedHost,
    receiver: EmulatedHost,
    address: str,
    *,
    rate: float,
    seconds: float,
    size: int,
    scratch: Path,
    linger_s: float = LINGER_S,
) -> pd.DataFrame:
    """Send `rate` packets of `size` IP bytes a second for `seconds`; return what arrived.

    It is in order of arrival: the packets' numbers, when they were sent and received (ns of the
    monotonic clock), and their one-way delays in ms.

    `linger_s`: for how long after the sender's end a packet may still come. However long none
    comes before that, as in an outage, the receiver waits.
    """
    module = module_command("minitopo_dc.real.probe_ends")
    receiving = [*module, "receive", address, str(round(rate * seconds)), str(scratch)]
    with receiver.popen(receiving, stdout=subprocess.PIPE) as listening:
        try:
            assert listening.stdout is not None
            if listening.stdout.readline() != READY:
                raise RuntimeError(f"the probe on {receiver.name} did not start")
            sending = sender.popen([*module, "send", address, str(rate), str(seconds), str(size)])
            if sending.wait():
                raise RuntimeError(f"the probe on {sender.name} failed")
            with contextlib.suppress(subprocess.TimeoutExpired):
                listening.wait(linger_s)  # it ends when all have arrived
            listening.terminate()
            listening.wait()
        finally:
            listening.kill()
    table = np.fromfile(scratch, dtype=np.int64).reshape(-1, len(COLUMNS))
    scratch.unlink()
    arrivals = pd.DataFrame(table, columns=COLUMNS)
    return arrivals.assign(delays_ms=(arrivals["received"] - arrivals["sent"]) / 1e6)
