"""The paths of a connection: the client keeps them as planned, the server counts them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from minitopo_dc.fields import PathPlan
from minitopo_dc.quic.connection import Connection, StackError
from minitopo_dc.quic.events import Address, PathStatistics
from minitopo_dc.units import NS_PER_MS, NS_PER_S
from minitopo_dc.workloads.path_reports import PathReport, PathSample, PathState

RETRY_NS = 10 * NS_PER_MS
"""How soon what a stack refused is tried again: it lacks the peer's next connection identifier,
which is one round trip away, or another path's validation."""
REOPEN_NS = NS_PER_S
"""How soon a path that a stack has given up, as nothing came back on it, is opened again. The
project's: draft-ietf-quic-multipath leaves it to the endpoints. 1 s is the first probe timeout of a
path whose round trip is not known (RFC 9002, section 6.2.2)."""


class PathKeeper:
    """Makes the paths of a client's connection what its plan asks for, now and whenever it changes.

    - A path that the stack gave up is opened again, for as long as the plan has it open.
    - The last path that works is neither abandoned nor made a backup until another one works: with
      none the connection would be lost, and a lone backup stays silent.
    """

    def __init__(
        self,
        connection: Connection,
        plan: PathPlan,
        local: Sequence[Address],
        remote: Address,
        begin: int,
    ) -> None:
        """Take the client's address of each leg (1, 2, ... in order), and time zero (ns)."""
        self._connection = connection
        self._plan = plan
        self._local = local
        self._remote = remote
        self._legs = {address: leg for leg, address in enumerate(local, start=1)}
        self._changes = iter(sorted({begin + round(each.at_s * NS_PER_S) for each in plan.events}))
        self._next_change = next(self._changes, math.inf)
        self._begin = begin
        self._not_before: dict[int, int] = {}  # by leg: when its path may be opened (again)
        self._retry = math.inf
        self._confirmed = False
        self._attempts = iter(plan.attempts)
        self._next_attempt = math.inf
        self._opens_others = plan.others_after_bytes == 0

    def start(self, now: int) -> None:
        """Begin to connect on the first leg of the plan."""
        self._attempt(self._plan.initial[0], now)

    def _attempt(self, leg: int, now: int) -> None:
        """Begin to connect on a leg; after the plan's delay comes the next one (RFC 8305)."""
        self._connection.connect(self._local[leg - 1], self._remote, now)
        delay_s = self._plan.attempt_delay_s
        self._next_attempt = math.inf if delay_s is None else now + round(delay_s * NS_PER_S)

    def next_timeout(self) -> float:
        """Return when to call `keep` (ns) if nothing happens before, infinity for never."""
        return min(self._next_change, self._retry) if self._confirmed else self._next_attempt

    def on_complete(self) -> None:
        """Begin no other attempt, as the handshake of one is complete."""
        self._next_attempt = math.inf

    def on_confirmed(self, now: int) -> None:
        """Open other paths than the first, as the handshake is confirmed (RFC 9000, section 9)."""
        self._confirmed = True
        self.keep(now)

    def on_deleted(self, statistics: PathStatistics, now: int) -> None:
        """Note that a stack has given up a path, or that it was abandoned as planned."""
        leg = self._legs.get(statistics.local) if statistics.local else None
        if leg is not None and not statistics.abandoned:
            self._not_before[leg] = now + REOPEN_NS
        self.keep(now)

    def keep(self, now: int) -> None:
        """Compare the existing paths with the plan, and do what can be done now."""
        if not self._confirmed:
            if now >= self._next_attempt:
                self._next_attempt = math.inf
                if (leg := next(self._attempts, None)) is not None:
                    self._attempt(leg, now)
            return
        while self._next_change <= now:
            self._next_change = next(self._changes, math.inf)
        self._retry = math.inf
        # By leg, without those that are being given up.
        there = {
            self._legs[path.local]: path
            for path in self._connection.paths()
            if path.local in self._legs and not path.abandoned
        }
        wanted = self._now_wanted(there, now)
        working = {leg: path for leg, path in there.items() if path.validated and leg in wanted}
        for leg in wanted:
            if leg not in there:
                self._open(leg, now)
        for leg in there.keys() - wanted.keys():
            self._abandon(there[leg], now, is_last=not working)
        alone = all(wanted[leg] == "backup" for leg in working)
        for leg, path in working.items():
            backup = wanted[leg] == "backup" and not alone
            if path.backup != backup:
                self._connection.set_path_status(path.path_id, backup=backup, now=now)

    def _now_wanted(self, there: Mapping[int, PathStatistics], now: int) -> Mapping[int, str]:
        """Return the status of each leg that is to have a path now.

        Others of the plan's first ones have none before it says so.
        """
        at_s = (now - self._begin) / NS_PER_S
        status = {leg: self._plan.status(leg, at_s) for leg in self._plan.legs}
        wanted = {leg: each for leg, each in status.items() if each is not None}
        if not self._opens_others:
            received = sum(path.bytes_received for path in there.values())
            self._opens_others = received >= self._plan.others_after_bytes
        if self._opens_others:
            return wanted
        self._try_again(now)
        late = set(self._plan.initial) - there.keys()
        return {leg: status for leg, status in wanted.items() if leg not in late}

    def _open(self, leg: int, now: int) -> None:
        if self._not_before.get(leg, now) > now:
            self._retry = min(self._retry, self._not_before[leg])
            return
        try:
            self._connection.open_path(self._local[leg - 1], self._remote, now)
        except StackError:
            self._try_again(now)

    def _abandon(self, path: PathStatistics, now: int, *, is_last: bool) -> None:
        with suppress(StackError):
            if not is_last:
                self._connection.abandon_path(path.path_id, now)
                return
        self._try_again(now)

    def _try_again(self, now: int) -> None:
        self._retry = min(self._retry, now + RETRY_NS)


class PathLog:
    """Counters of the paths of a server's connection, by the client's addresses."""

    def __init__(self, clients: Sequence[str], begin: int) -> None:
        """Take the client's IP address of each leg (1, 2, ... in order), and time zero (ns)."""
        self._legs = {address: leg for leg, address in enumerate(clients, start=1)}
        self._begin = begin
        self._known: dict[int, PathReport] = {}

    def sample(self, paths: Sequence[PathStatistics], now: int) -> list[PathSample]:
        """Return a row for each validated path, and the last row of one that is being given up."""
        time_s = (now - self._begin) / NS_PER_S
        return [row for path in paths if (row := self._sample(path, time_s)) is not None]

    def deleted(self, path: PathStatistics, now: int) -> list[PathSample]:
        """Return the last row of a path that has gone, if it has had none."""
        return self.sample([replace(path, abandoned=True)], now)

    def reports(self) -> list[dict[str, Any]]:
        """Return the report of each path, in the order in which they were opened."""
        return [asdict(self._known[path_id]) for path_id in sorted(self._known)]

    def _sample(self, path: PathStatistics, time_s: float) -> PathSample | None:
        leg = self._legs.get(path.remote[0])
        before = self._known.get(path.path_id)
        if leg is None or not (path.validated or before):
            return None
        before = before or PathReport(leg, time_s, None, 0)
        self._known[path.path_id] = replace(
            before,
            closed_s=time_s if path.abandoned and before.closed_s is None else before.closed_s,
            bytes_sent=path.bytes_sent,
            bytes_received=path.bytes_received,
            packets_sent=path.packets_sent,
            packets_lost=path.packets_lost,
        )
        if before.closed_s is not None:
            return None
        state: PathState = "closed" if path.abandoned else "backup" if path.backup else "open"
        return PathSample(
            *(time_s, leg, path.path_id, state),
            cwnd_bytes=path.cwnd_bytes,
            in_flight_bytes=path.in_flight_bytes,
            smoothed_rtt_ms=path.smoothed_rtt_ms,
            bytes_sent=path.bytes_sent,
            bytes_acked=path.bytes_acknowledged,
            packets_lost=path.packets_lost,
        )
