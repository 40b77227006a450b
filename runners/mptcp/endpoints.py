"""MPTCP endpoints of the client's host, which open, close and rank subflows.

The in-kernel path manager (ip-mptcp(8)) opens a subflow from each endpoint for each connection,
also for those that there are already, and closes it when the endpoint goes (RFC 8684, sections 3.2
and 3.4.2). A connection's initial subflow needs no endpoint; it has the address identifier 0. Here
an endpoint's identifier is the number of its leg. The kernel's counters of each subflow are the
report on a path.

As a program on the client's host it changes the paths of a connection at their times. It begins
when the connection is established, and makes the changes that are due before then. For each change
it prints one line of JSON: the event, and when the kernel had been told (`done_s`).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from minitopo_dc.fields import PathAction, PathEvent, PathPlan
from minitopo_dc.linux_guest.orders import ACTIONS, ChangeName
from minitopo_dc.runners.addresses import is_connected
from minitopo_dc.runners.base import Host, Transfer, TransferFailed
from minitopo_dc.runners.processes.kernel_socket import mptcp_obstacle
from minitopo_dc.runners.processes.process import run, undone
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads.path_reports import PathReport, PathSample, PathState

ENDPOINT = ("ip", "mptcp", "endpoint")
INITIAL_SUBFLOW = "0"
MAX_SUBFLOWS = 8
"""That Linux lets one allow beside the initial one (MPTCP_PM_ADDR_MAX of its path manager)."""


CHANGES: dict[PathAction, ChangeName] = {
    "open": "add",
    "abandon": "delete",
    "backup": "backup",
    "available": "available",
}


class EndpointChange(NamedTuple):
    """A change of a leg's endpoint, and the event of the plan; None: before the connection."""

    event: PathEvent | None
    name: ChangeName
    leg: int


def endpoint_changes(plan: PathPlan) -> Iterator[EndpointChange]:
    """Yield what is done to the endpoints, in order.

    At first there are those of further paths, and of a first one that changes; where the connection
    may begin on another leg, its first one is a further path, too.
    """
    initial: int | None = plan.initial[0]
    """The leg of the connection's initial subflow, until that is closed."""
    endpoints = set(plan.initial[1:])
    changed = {event.leg for event in plan.events if event.action in ("backup", "available")}
    if plan.attempts or plan.initial[0] in changed:
        endpoints.add(plan.initial[0])
    for leg in sorted(endpoints):
        yield EndpointChange(None, "add", leg)
    for event in plan.events:
        if event.action == "abandon" and event.leg == initial:
            yield EndpointChange(event, "delete-initial", event.leg)
            initial = None
        if event.action != "abandon" or event.leg in endpoints:
            yield EndpointChange(event, CHANGES[event.action], event.leg)
        if event.action == "abandon":
            endpoints.discard(event.leg)
        elif event.action == "open":
            endpoints.add(event.leg)


def change_endpoint(host: Host, addresses: Sequence[str], name: ChangeName, leg: int) -> None:
    """Change the endpoint of a leg on a host with an address for each leg.

    Raises:
        TransferFailed: no interface, or more than one, has the address, or the kernel refuses.
    """
    address = addresses[leg - 1]
    if name == "add":
        words = ["add", address, "id", str(leg), "dev", _device_of(host, address), "subflow"]
    elif name == "delete-initial":
        words = ["delete", "id", INITIAL_SUBFLOW, address]
    elif name == "delete":
        words = ["delete", "id", str(leg)]
    else:
        words = ["change", "id", str(leg), "backup" if name == "backup" else "nobackup"]
    run(host, [*ENDPOINT, *words])


@contextmanager
def first_endpoints(host: Host, addresses: Sequence[str], plan: PathPlan) -> Iterator[None]:
    """Add the endpoints that a plan begins with for a block; then remove all that are there."""
    try:
        for change in endpoint_changes(plan):
            if change.event is None:
                change_endpoint(host, addresses, change.name, change.leg)
        yield
    finally:
        shown = run(host, [*ENDPOINT, "show"])
        for address, identifier in re.findall(r"^(\S+) id (\d+)", shown, re.MULTILINE):
            if address in addresses:
                run(host, [*ENDPOINT, "delete", "id", identifier])


def max_subflows(transfer: Transfer) -> int:
    """Return how many subflows a connection may need beside the initial one.

    The initial one does not count, unless it was closed and another is in its place.
    """
    needed = len(transfer.client_addresses) - (0 if transfer.path_plan.events else 1)
    return min(needed, MAX_SUBFLOWS)


DEFAULT_SUBFLOWS = 2
"""That the kernel allows unless told otherwise (MPTCP_PM of Linux); no fewer on the real clock."""


class EndpointChanges:
    """Tells the agent when endpoints come and go, and keeps what it did."""

    def __init__(self, transfer: Transfer) -> None:
        self._transfer = transfer
        if transfer.path_plan.events:
            transfer.directory.mkdir(parents=True, exist_ok=True)
            transfer.paths_output.touch()
        self._changes = list(endpoint_changes(transfer.path_plan))

    def orders(self) -> dict[str, Any]:
        """Return orders with the plan's first endpoints, then the changes of its events.

        There may be as many subflows beside the first as on the real clock.
        """
        begin = self._transfer.begin_ns or 0
        changes = [
            (begin + round(event.at_s * NS_PER_S) if event else 0, ACTIONS.index(name), leg)
            for event, name, leg in self._changes
        ]
        return {"subflows": max(DEFAULT_SUBFLOWS, max_subflows(self._transfer)), "change": changes}

    def note(self, number: int, moment: int) -> None:
        """Write what was done, and when, as the real clock's program does."""
        event = self._changes[number].event
        is_last = [change.event for change in self._changes[number + 1 : number + 2]] != [event]
        if event is not None and is_last:
            done_s = (moment - (self._transfer.begin_ns or 0)) / NS_PER_S
            with self._transfer.paths_output.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps({**event._asdict(), 'done_s': done_s})}\n")


def subflow_limit(host: Host, subflows: int) -> AbstractContextManager[None]:
    """Allow this many subflows beside the initial one, for a block."""
    limits = run(host, ["ip", "mptcp", "limits", "show"])
    found = re.search(r"\bsubflows (\d+)", limits)
    if found is None:
        raise TransferFailed(f"'ip mptcp limits show' in {host.name} gave {limits.strip()!r}")
    set_limit = ["ip", "mptcp", "limits", "set", "subflows"]
    most = max(subflows, int(found[1]))
    return undone(host, [*set_limit, str(most)], [*set_limit, found[1]])


@contextmanager
def subflow_per_address(server: Host, client: Host, addresses: Sequence[str]) -> Iterator[None]:
    """Give each MPTCP connection a subflow from each of the client's addresses, for a block.

    This is for programs that open their connections themselves. Where the kernel has no MPTCP, or
    there is one address, nothing is done.
    """
    if len(addresses) < 2 or mptcp_obstacle() is not None:
        yield
        return
    with ExitStack() as undo:
        for host in (server, client):
            undo.enter_context(subflow_limit(host, len(addresses) - 1))
        undo.enter_context(first_endpoints(client, addresses, PathPlan.whole(len(addresses))))
        yield


def _device_of(host: Host, address: str) -> str:
    shown = run(host, ["ip", "-json", "address", "show", "to", address])
    devices = [link["ifname"] for link in json.loads(shown) if link]
    if len(devices) != 1:
        raise TransferFailed(f"{len(devices)} interfaces of {host.name} have address {address}")
    return str(devices[0])


def path_details(transfer: Transfer, subflows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each subflow as a path, with its addresses."""
    return [
        asdict(
            PathReport(
                leg=_leg(transfer, subflow),
                opened_s=_since_begin(transfer, subflow["opened_ns"]),
                closed_s=subflow["closed_ns"] and _since_begin(transfer, subflow["closed_ns"]),
                bytes_sent=subflow["bytes_sent"],
                bytes_received=subflow["bytes_received"],
                packets_sent=subflow["segments_sent"],
                packets_lost=subflow["retransmissions"],
            )
        )
        | {name: subflow[name] for name in ("local", "remote")}
        for subflow in subflows
    ]


def path_changes(transfer: Transfer) -> list[dict[str, Any]]:
    """Return what the client's kernel was told, and when: `PathEvent` with `done_s`."""
    lines = transfer.paths_output.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def path_samples(transfer: Transfer, subflows: Sequence[Mapping[str, Any]]) -> list[PathSample]:
    """Return all samples of all subflows, by time; the status is what the kernel was told."""
    done = path_changes(transfer) if transfer.path_plan.events else []
    events = tuple(PathEvent(change["done_s"], change["action"], change["leg"]) for change in done)
    plan = PathPlan(transfer.path_plan.initial, events)
    samples = [
        sample
        for number, subflow in enumerate(subflows)
        for sample in _samples(transfer, number, subflow, plan)
    ]
    return sorted(samples, key=lambda sample: (sample.time_s, sample.path))


def _samples(
    transfer: Transfer, number: int, subflow: Mapping[str, Any], plan: PathPlan
) -> Iterator[PathSample]:
    leg = _leg(transfer, subflow)
    for sample in subflow["samples"]:
        values = dict(sample)
        time_ns = values.pop("time_ns")
        time_s = _since_begin(transfer, time_ns)
        state: PathState = "backup" if plan.status(leg, time_s) == "backup" else "open"
        if time_ns == subflow["closed_ns"]:
            state = "closed"
        yield PathSample(time_s=time_s, leg=leg, path=number, state=state, **values)


def _leg(transfer: Transfer, subflow: Mapping[str, Any]) -> int:
    return transfer.client_addresses.index(subflow["remote"]) + 1


def _since_begin(transfer: Transfer, time_ns: int) -> float:
    assert transfer.begin_ns is not None  # the client was started
    return (time_ns - transfer.begin_ns) / NS_PER_S


POLL_S = 0.005
"""How often to look whether the connection is there: short against its handshake."""


@dataclass(frozen=True)
class LocalHost:
    """The host on which this program runs."""

    name: str = "client"

    def popen(self, arguments: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
        """Start a process on this host."""
        return subprocess.Popen(arguments, **streams)


def main() -> None:
    """Make the changes; a change that the kernel refuses ends the program, with its words."""
    transfer = Transfer.given()
    begin_ns = transfer.begin_ns
    assert begin_ns is not None  # it is started behind the client
    server = (transfer.peer_address, transfer.port)
    while not is_connected("self", transfer.first_address, server):
        time.sleep(POLL_S)
    by_event = groupby(endpoint_changes(transfer.path_plan), key=attrgetter("event"))
    try:
        for event, changes in by_event:
            if event is not None:
                wait_until(event.at_s, begin_ns)
                for change in changes:
                    change_endpoint(LocalHost(), transfer.client_addresses, change.name, change.leg)
                done_s = (time.monotonic_ns() - begin_ns) / NS_PER_S
                print(json.dumps({**event._asdict(), "done_s": done_s}), flush=True)  # noqa: T201
    except TransferFailed as failure:
        sys.exit(str(failure))


def wait_until(at_s: float, begin_ns: int) -> None:
    """Wait until so many seconds since `begin_ns`, on the monotonic clock, have passed."""
    time.sleep(max(0.0, at_s - (time.monotonic_ns() - begin_ns) / NS_PER_S))


if __name__ == "__main__":
    main()
