"""Transport `mptcp` on the virtual clock: a guest's MPTCP, with its endpoints and subflows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from minitopo_dc.fields import PathAction, PathEvent
from minitopo_dc.linux_guest.orders import Change, ChangeName
from minitopo_dc.runners.base import Transfer
from minitopo_dc.runners.mptcp.endpoints import initial_legs, max_subflows, path_samples
from minitopo_dc.runners.tcp.virtual import TcpApplication, TcpFlow
from minitopo_dc.runners.virtual import FlowFacts
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads.path_reports import PathSample

DEFAULT_SUBFLOWS = 2
"""That the kernel allows unless told otherwise (MPTCP_PM of Linux); no fewer on the real clock."""
ORDERS: dict[PathAction, ChangeName] = {
    "open": "add",
    "abandon": "delete",
    "backup": "backup",
    "available": "available",
}


class EndpointChanges:
    """Tells the agent when endpoints come and go, and keeps what it did."""

    def __init__(self, transfer: Transfer) -> None:
        self._transfer = transfer
        if transfer.path_plan.events:
            transfer.directory.mkdir(parents=True, exist_ok=True)
            transfer.paths_output.touch()
        self._changes = list(_changes(transfer))
        """Each with the event that it belongs to."""

    @property
    def subflow_limit(self) -> int:
        """Return how many subflows there may be beside the first, as on the real clock."""
        return max(DEFAULT_SUBFLOWS, max_subflows(self._transfer))

    def orders(self) -> Sequence[Change]:
        """Return the endpoints with which the plan begins, then the changes of its events."""
        return [change for change, _ in self._changes]

    def note(self, number: int, moment: int) -> None:
        """Write what was done, and when, as the real clock's program does."""
        _, event = self._changes[number]
        is_last = [each for _, each in self._changes[number + 1 : number + 2]] != [event]
        if event is not None and is_last:
            done_s = (moment - (self._transfer.begin_ns or 0)) / NS_PER_S
            with self._transfer.paths_output.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps({**event._asdict(), 'done_s': done_s})}\n")


class MptcpFlow(TcpFlow):
    """A connection with a subflow for each path that is open."""

    def __init__(self, runner: TcpApplication, facts: FlowFacts) -> None:
        super().__init__(runner, facts)
        self._told: list[int] = []
        """How many samples of each subflow `path_samples` has returned."""
        self.endpoints = EndpointChanges(self.transfer)

    def path_samples(self) -> Sequence[PathSample]:
        """Return all samples of subflows since the last call."""
        found = self.history.report(self._told)
        told = [*self._told, *[0] * (len(found) - len(self._told))]
        self._told = [count + len(each["samples"]) for count, each in zip(told, found, strict=True)]
        return path_samples(self.transfer, found)


def _changes(transfer: Transfer) -> Iterator[tuple[Change, PathEvent | None]]:
    """Yield the changes of `Endpoints`; the initial subflow has identifier 0 and no endpoint."""
    plan, begin = transfer.path_plan, transfer.begin_ns or 0
    initial: int | None = plan.initial[0]
    endpoints = set(initial_legs(plan))
    for leg in sorted(endpoints):
        yield Change(0, "add", leg), None
    for event in plan.events:
        at = begin + round(event.at_s * NS_PER_S)
        if event.action == "abandon" and event.leg == initial:
            yield Change(at, "delete-initial", event.leg), event
            initial = None
        if event.action != "abandon" or event.leg in endpoints:
            yield Change(at, ORDERS[event.action], event.leg), event
        if event.action == "abandon":
            endpoints.discard(event.leg)
        elif event.action == "open":
            endpoints.add(event.leg)
