"""Reports on an MPTCP connection's subflows, from the kernel's counters, as paths."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minitopo_dc.fields import PathEvent, PathPlan
from minitopo_dc.runners.base import Transfer
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads.path_reports import PathReport, PathSample, PathState


def path_details(transfer: Transfer, subflows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each subflow as a path, with its addresses."""
    return [
        PathReport(
            leg=_leg(transfer, each),
            opened_s=_since_begin(transfer, each["opened_ns"]),
            closed_s=None
            if each["closed_ns"] is None
            else _since_begin(transfer, each["closed_ns"]),
            bytes_sent=each["bytes_sent"],
            bytes_received=each["bytes_received"],
            packets_sent=each["segments_sent"],
            packets_lost=each["retransmissions"],
        ).values()
        | {name: each[name] for name in ("local", "remote")}
        for each in subflows
    ]


def path_changes(transfer: Transfer) -> list[dict[str, Any]]:
    """Return what the client's kernel was told, and when: `PathEvent` with `done_s`."""
    lines = transfer.paths_output.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def path_samples(transfer: Transfer, subflows: Sequence[Mapping[str, Any]]) -> list[PathSample]:
    """Return all samples of all subflows, by time; the status is what the kernel was told."""
    done = path_changes(transfer) if transfer.path_plan.events else []
    events = tuple(PathEvent(each["done_s"], each["action"], each["leg"]) for each in done)
    told = PathPlan(transfer.path_plan.initial, events)
    samples = [
        sample
        for number, each in enumerate(subflows)
        for sample in _samples(transfer, number, each, told)
    ]
    return sorted(samples, key=lambda sample: (sample.time_s, sample.path))


def _samples(
    transfer: Transfer, number: int, subflow: Mapping[str, Any], told: PathPlan
) -> Iterator[PathSample]:
    leg = _leg(transfer, subflow)
    for sample in subflow["samples"]:
        values = dict(sample)
        time_ns = values.pop("time_ns")
        time_s = _since_begin(transfer, time_ns)
        state: PathState = "backup" if told.status(leg, time_s) == "backup" else "open"
        if time_ns == subflow["closed_ns"]:
            state = "closed"
        yield PathSample(time_s=time_s, leg=leg, path=number, state=state, **values)


def _leg(transfer: Transfer, subflow: Mapping[str, Any]) -> int:
    return transfer.client_addresses.index(subflow["remote"]) + 1


def _since_begin(transfer: Transfer, time_ns: int) -> float:
    """Return a time in s since time zero of the legs."""
    assert transfer.begin_ns is not None  # the client was started
    return (time_ns - transfer.begin_ns) / NS_PER_S
