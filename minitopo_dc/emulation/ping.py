"""``transport: ping``: round-trip times of every leg and backhaul link, as Minitopo's ``ping``.

From each of the client's addresses to each of the server's, all at the same time, and each pair a
part of the interval after the one before, so that no echo waits for another.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from minitopo_dc.addresses import client_address, server_address
from minitopo_dc.emulation.elements import ElementFailedError
from minitopo_dc.emulation.hosts import EmulatedHost
from minitopo_dc.emulation.preflight import facts
from minitopo_dc.emulation.testbed import Testbed, testbed
from minitopo_dc.outcome import check_real
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import LegSettings, SettingsError

PING = "ping"
DATA_BYTES = 16
"""The least that ping(8) can put its timestamp in. The whole packet has 44 bytes (IPv6: 64), which
take 0.09 ms at 4 Mbit/s; ping's own 84 would add 0.34 ms to the round-trip time of two such paths.
"""
HEADER_BYTES = {4: 20 + 8, 6: 40 + 8}
"""Of IP (RFC 791, RFC 8200) and of an ICMP echo (RFC 792, RFC 4443), by IP version."""
PATIENCE_S = 30.0
"""For the last answers, after the last request."""
SHORTEST_S = 0.002
"""The shortest interval of ping(8)."""
_REPLY = re.compile(r"\[(\d+\.\d+)\].*icmp_seq=(\d+) .*time=([\d.]+) ms")
_TOTALS = re.compile(r"(\d+) packets transmitted, (\d+) received")
_TIMES = re.compile(r"= ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) ms")


@dataclass(frozen=True)
class RoundTrips:
    """What the pings of one leg and one backhaul link (0: none) met; times in ms."""

    leg: int
    backhaul: int
    serialisation_ms: float | None
    """Of the round trip: what the links' rates take for an echo, which a token bucket that starts
    full (tbf's) does not; none where a rate varies, and with legs of the kernel."""
    sent: int
    received: int
    minimum_ms: float | None = None
    mean_ms: float | None = None
    maximum_ms: float | None = None
    replies: tuple[tuple[float, float], ...] = ()
    """When a request was sent (s since the start) and its round-trip time, of three digits."""


def run_ping(scenario: Scenario, directory: Path) -> list[RoundTrips]:
    """Ping every pair; keep ``ping.json``, ``ping.csv`` and the elements' files in ``directory``.

    Raises:
        SettingsError: the scenario is none for ping.
        ElementFailedError: an element died or lost packets: there are no results.
    """
    pings = check_ping(scenario)
    directory.mkdir(parents=True, exist_ok=True)
    scenario.save(directory / "scenario.yaml")
    (directory / "environment.json").write_text(json.dumps(facts(), indent=1), encoding="utf-8")
    with testbed(scenario, directory) as bed:
        found = list(_ping_all(scenario, bed, pings, directory))
        for element in bed.elements:
            element.stop()
    _save(found, directory)
    return found


@dataclass(frozen=True)
class Pings:
    """The options of a scenario for ping, with ping(8)'s interval and Minitopo's count."""

    count: int = 5
    interval_s: float = 1.0

    @property
    def arguments(self) -> list[str]:
        """For ping(8)."""
        return ["-c", str(self.count), "-i", f"{self.interval_s:g}"]


def check_ping(scenario: Scenario) -> Pings:
    """Return the scenario's options. SettingsError: it is none for ping."""
    check_real(scenario)
    if scenario.mode != "sc":
        raise SettingsError(f"mode {scenario.mode}: transport ping allows sc (it uses every leg)")
    unknown = scenario.options.keys() - {"count", "interval_s"}
    if unknown:
        raise SettingsError(f"options: {', '.join(unknown)}: ping has count, interval_s")
    pings = Pings(**scenario.options)
    if type(pings.count) is not int or pings.count < 1:
        raise SettingsError(f"options: count {pings.count!r}; allowed: whole numbers from 1")
    if type(pings.interval_s) not in (int, float) or not SHORTEST_S <= pings.interval_s <= 3600:
        raise SettingsError(f"options: interval_s {pings.interval_s!r}; allowed: 0.002 to 3600")
    return pings


def _ping_all(
    scenario: Scenario, bed: Testbed, pings: Pings, directory: Path
) -> Iterator[RoundTrips]:
    links = range(1, len(scenario.backhaul) + 1) if scenario.backhaul else range(1)
    pairs = [(leg, link) for link in links for leg in range(1, len(scenario.legs) + 1)]
    with ExitStack() as stack:
        bed.start()
        start, begin = time.time(), time.monotonic()
        running = []
        for index, (leg, link) in enumerate(pairs):
            due = begin + index / len(pairs) * pings.interval_s
            time.sleep(max(0.0, due - time.monotonic()))
            log = directory / f"ping-{leg}-{link}.log"
            version = scenario.ip_version
            addresses = ["-I", client_address(leg, version), server_address(max(1, link), version)]
            process = _start(bed.hosts.client, [*pings.arguments, *addresses], log)
            stack.callback(process.wait)
            stack.callback(process.kill)
            blank = RoundTrips(leg, link, _serialisation_ms(scenario, leg, link), pings.count, 0)
            running.append((blank, log, process))
        for blank, log, process in running:
            _wait(process, pings, bed)
            yield _read(log, start, blank)


def _serialisation_ms(scenario: Scenario, leg: int, link: int) -> float | None:
    """Of an echo and its answer, on all links of a pair."""
    links = [scenario.legs[leg - 1], *([scenario.backhaul[link - 1]] if link else [])]
    rates = [_constant_rate(way) for each in links for way in (each.downlink, each.uplink)]
    known = [rate for rate in rates if rate is not None]
    if scenario.backend == "kernel" or len(known) < len(rates):
        return None
    bits = 8 * (HEADER_BYTES[scenario.ip_version] + DATA_BYTES)
    return round(sum(bits / rate / 1e3 for rate in known), 4)


def _constant_rate(link: LegSettings) -> float | None:
    """In Mbit/s."""
    varies = any(change.rate_mbps is not None for change in link.changes)
    return None if varies else link.rate_mbps


def _start(client: EmulatedHost, arguments: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return client.popen(
            ["ping", "-n", "-D", "-s", str(DATA_BYTES), *arguments],
            environment={"LC_ALL": "C"},
            stdout=file,
            stderr=subprocess.STDOUT,
        )


def _wait(process: subprocess.Popen[bytes], pings: Pings, bed: Testbed) -> None:
    try:
        process.wait(pings.count * pings.interval_s + PATIENCE_S)
    except subprocess.TimeoutExpired:
        raise ElementFailedError("ping did not end") from None
    finally:
        for element in bed.elements:
            element.check()


def _read(log: Path, start: float, blank: RoundTrips) -> RoundTrips:
    text = log.read_text(encoding="utf-8", errors="replace")
    totals = _TOTALS.search(text)
    if totals is None:
        raise ElementFailedError(f"ping failed: {text.strip()[-200:]}")
    replies = tuple(
        (round(float(at) - start - float(rtt) / 1e3, 4), float(rtt))
        for at, _, rtt in _REPLY.findall(text)
    )
    found = replace(blank, sent=int(totals[1]), received=int(totals[2]), replies=replies)
    times = _TIMES.search(text)
    if times is None:
        return found
    minimum, mean, maximum = (float(times[index]) for index in (1, 2, 3))
    return replace(found, minimum_ms=minimum, mean_ms=mean, maximum_ms=maximum)


def _save(found: Sequence[RoundTrips], directory: Path) -> None:
    """``ping.json`` is written at once: a reader sees all of it or none."""
    with (directory / "ping.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["leg", "backhaul", "time_s", "rtt_ms"])
        for each in found:
            rows.writerows((each.leg, each.backhaul, at, rtt) for at, rtt in each.replies)
    partial = directory / "ping.partial"
    partial.write_text(json.dumps(as_json(found), indent=1), encoding="utf-8")
    partial.rename(directory / "ping.json")


def as_json(found: Sequence[RoundTrips]) -> list[Mapping[str, Any]]:
    """The results as plain values."""
    return [asdict(each) for each in found]
