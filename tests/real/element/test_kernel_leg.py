"""A leg of the kernel's over a netlink that is none: what is asked of it when, what it counts."""

from __future__ import annotations

import gc
import itertools
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyroute2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.link import LegStatistics
from minitopo_dc.real.element import kernel_leg as module
from minitopo_dc.real.element.kernel.loop import Loop
from minitopo_dc.real.element.kernel.process import ElementError
from minitopo_dc.real.element.kernel_leg import (
    FIFO,
    NETEM,
    ROOM,
    TBF,
    KernelLeg,
    KernelLegDriver,
    Qdiscs,
    _timeline,
)
from minitopo_dc.scenario import LegSettings, kernel_rates
from tests.real.element.fakes import MS, Clock, NoInjector

S = 1000 * MS
INDEX = 5
ROOT, CHILD_OF = 0xFFFFFFFF, 1
Call = tuple[str, str, dict[str, Any]]
"""The action, the discipline and what it gets."""


class Attributes(dict[str, Any]):
    """A netlink message: fields, and attributes by `get_attr`."""

    def get_attr(self, name: str) -> Any:
        return self[name]


class FakeNetlink:
    """Remembers what was asked for; refuses disciplines named in `missing`."""

    def __init__(self, clock: Clock) -> None:
        self.calls: list[Call] = []
        self.missing: set[str] = set()
        self.counters: list[Attributes] = []
        self.closed = False
        self.takes_ns = 0
        self._clock = clock

    def tc(self, action: str, kind: str, index: int, handle: int, **options: Any) -> None:
        assert index == INDEX
        if kind in self.missing:
            raise pyroute2.NetlinkError(2, "No such file or directory")
        self._clock.now += self.takes_ns
        self.calls.append((action, kind, {"handle": handle} | options))

    def get_qdiscs(self, index: int) -> list[Attributes]:
        assert index == INDEX
        return self.counters

    def close(self) -> None:
        self.closed = True

    def changes(self) -> list[Call]:
        """What was changed since the last question."""
        found = [each for each in self.calls if each[0] == "change"]
        self.calls.clear()
        return found


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "clock", made)
    return made


@pytest.fixture
def netlink(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> FakeNetlink:
    made = FakeNetlink(clock)
    monkeypatch.setattr(pyroute2, "IPRoute", lambda: made)
    monkeypatch.setattr(socket, "if_nametoindex", {"gnb-leg1": INDEX}.__getitem__)
    return made


def radio(**fields: Any) -> LegSettings:
    return LegSettings.check({"rate_mbps": 12, "delay_ms": 10, "jitter_ms": 0} | fields, "test")


def kernel_leg(**fields: Any) -> KernelLeg:
    return KernelLeg("gnb-leg1", radio(**fields))


def wire(rate: float) -> int:
    """Bytes a second of full frames for a rate (bit/s) of IP packets of 1,500 bytes."""
    return round(rate / 8 * 1514 / 1500)


def test_delay_and_loss_come_before_the_rate_and_the_rate_before_the_queue(
    netlink: FakeNetlink,
) -> None:
    Qdiscs("gnb-leg1", 77)
    assert [
        (action, kind, options["handle"], options["parent"], options["limit"])
        for action, kind, options in netlink.calls
    ] == [
        ("add", "netem", NETEM, ROOT, ROOM),
        ("add", "tbf", TBF, NETEM | CHILD_OF, 77),
        ("add", "pfifo", FIFO, TBF | CHILD_OF, 77),
    ]


@pytest.mark.parametrize("kind", ["netem", "tbf", "pfifo"])
def test_a_kernel_without_one_of_the_disciplines_is_one_error(
    kind: str, netlink: FakeNetlink
) -> None:
    netlink.missing.add(kind)
    with pytest.raises(ElementError, match=r"gnb-leg1: this kernel refuses .* use backend: user"):
        kernel_leg()


def test_a_leg_begins_with_its_own_delay_loss_and_rate(netlink: FakeNetlink) -> None:
    settings = {"jitter_ms": 2.5, "jitter": "uniform", "reorder": True, "loss_percent": 3}
    kernel_leg(**settings, queue_packets=50)
    (_, air, airs), (_, shaper, rates) = netlink.changes()
    assert [air, shaper] == ["netem", "tbf"]
    assert [airs["handle"], airs["parent"], airs["limit"]] == [NETEM, ROOT, ROOM]
    assert [rates["handle"], rates["parent"]] == [TBF, NETEM | CHILD_OF]
    assert [airs[name] for name in ("delay", "jitter", "loss")] == [10_000, 2500, 3]
    assert [rates["rate"], rates["limit"]] == [wire(12e6), 50]


def test_the_bucket_holds_a_frame_and_a_millisecond(netlink: FakeNetlink) -> None:
    Qdiscs("gnb-leg1", 100).set_rate(12_000_000)
    assert netlink.changes()[0][2]["burst"] == 1614 + wire(12e6) // 1000 + 1


def test_the_same_rate_again_is_no_change_for_it_would_fill_the_bucket(
    netlink: FakeNetlink,
) -> None:
    qdiscs = Qdiscs("gnb-leg1", 100)
    assert [qdiscs.set_rate(rate) for rate in (8, 8, 9, 8)] == [True, False, True, True]
    assert len(netlink.changes()) == 3


def run(leg: KernelLeg, clock: Clock, times: int) -> list[int]:
    """Let a leg make its next changes, each on time; return when they were."""
    moments = []
    for moment in itertools.islice(iter(leg.next_timeout, None), times):
        moments.append(moment)
        clock.now = moment
        leg.handle(moment)
    return moments


def test_changes_are_made_at_their_moments_and_each_to_its_own_discipline(
    netlink: FakeNetlink, clock: Clock
) -> None:
    changes = [
        {"at_s": 1, "rate_mbps": 6},
        {"at_s": 2, "delay_ms": 50, "loss_percent": 1},
        {"at_s": 3, "rate_mbps": 3},
    ]
    leg = kernel_leg(changes=changes)
    leg.start(0)
    netlink.changes()
    assert run(leg, clock, 3) == [S + 10 * MS, 2 * S, 3 * S + 50 * MS]
    (_, _, slower), (_, kind, air), (_, _, slowest) = netlink.changes()
    assert [slower["rate"], slowest["rate"]] == [wire(6e6), wire(3e6)]
    assert [kind, air["delay"], air["loss"]] == ["netem", 50_000, 1]


def test_a_looping_trace_changes_the_rate_lap_after_lap(
    netlink: FakeNetlink, clock: Clock, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,rate_mbps\n0,1\n1,2\n3,\n")
    leg = kernel_leg(rate_mbps=None, trace=str(trace))
    leg.start(0)
    netlink.changes()
    assert run(leg, clock, 4) == [at * S + 10 * MS for at in (1, 3, 4, 6)]
    assert [each["rate"] for _, _, each in netlink.changes()] == [
        wire(mbps * 1e6) for mbps in (2, 1, 2, 1)
    ]


def test_how_late_changes_are_complete_includes_the_time_that_they_take(
    netlink: FakeNetlink, clock: Clock
) -> None:
    leg = kernel_leg(changes=[{"at_s": at, "delay_ms": at} for at in (1, 2)])
    leg.start(0)
    for late, takes in ((0, 1), (4, 3)):
        netlink.takes_ns = takes * MS
        moment = leg.next_timeout()
        assert moment is not None
        clock.now = moment + late * MS
        leg.handle(clock.now)
    assert leg.lateness_ms() == {"changes": 2, "mean_ms": 4.0, "max_ms": 7.0}


def test_a_step_to_the_same_rate_is_no_change_that_could_be_late(
    netlink: FakeNetlink, clock: Clock, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,rate_mbps\n0,1\n1,1\n2,1\n")
    leg = kernel_leg(rate_mbps=None, trace=str(trace))
    leg.start(0)
    netlink.changes()
    run(leg, clock, 3)
    assert netlink.changes() == []
    assert leg.lateness_ms()["changes"] == 0


@pytest.mark.usefixtures("netlink")
@pytest.mark.parametrize("up", [False, True])
def test_a_leg_of_the_kernel_cannot_be_taken_down(up: bool) -> None:
    with pytest.raises(ElementError, match="a leg cannot be taken down; use backend: user"):
        kernel_leg().set_up(up, 0)


def test_what_netlink_leaves_is_collected_now_and_then(
    netlink: FakeNetlink, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected = []
    monkeypatch.setattr(gc, "collect", lambda: collected.append(len(netlink.calls)))
    qdiscs = Qdiscs("gnb-leg1", 100)
    for rate in range(1, 98):
        qdiscs.set_rate(rate)
    assert collected == [50, 100]
    for _ in range(50):
        qdiscs.statistics()
    assert collected == [50, 100, 100]


changing = st.builds(
    lambda at, fields: {"at_s": at / 1000} | fields,
    st.integers(1, 9_999),
    st.fixed_dictionaries(
        {}, optional={"rate_mbps": st.integers(1, 99), "delay_ms": st.integers(0, 500)}
    ).filter(bool),
)
"""A change of the rate, of the delay, or of both."""


def without_repetitions(rates: list[int]) -> list[int]:
    return [rate for rate, _ in itertools.groupby(rates)]


@given(st.lists(changing, unique_by=lambda change: change["at_s"], max_size=6))
def test_the_kernel_gets_each_change_once_and_rates_in_the_order_of_the_trace(
    changes: list[dict[str, Any]],
) -> None:
    ordered = sorted(changes, key=lambda change: change["at_s"])
    settings = radio(changes=ordered)
    steps = kernel_rates(settings).steps()
    next(steps)
    timeline = list(_timeline(settings, steps))
    rates = [12_000_000, *(what for _, _, what in timeline if isinstance(what, int))]
    airs = [what.delay_ms for _, _, what in timeline if isinstance(what, LegSettings)]
    wanted = [12_000_000, *(each["rate_mbps"] * 10**6 for each in ordered if "rate_mbps" in each)]
    assert without_repetitions(rates) == without_repetitions(wanted)
    assert airs == [each["delay_ms"] for each in ordered if "delay_ms" in each]


@given(st.lists(changing, unique_by=lambda change: change["at_s"], max_size=6))
def test_a_rate_is_for_packets_that_enter_from_its_moment_on(
    changes: list[dict[str, Any]],
) -> None:
    ordered = sorted(changes, key=lambda change: change["at_s"])
    settings = radio(changes=ordered)
    steps = list(kernel_rates(settings).steps())
    moments = [at for at, _, what in _timeline(settings, iter(steps)) if isinstance(what, int)]
    delay, delays = 10, {0: 10}
    for change in ordered:
        delay = change.get("delay_ms", delay)
        delays[round(change["at_s"] * S)] = delay
    entered = [max(at for at in delays if at <= moment) for moment, _ in steps]
    assert moments == [
        moment + delays[at] * MS for (moment, _), at in zip(steps, entered, strict=True)
    ]


class Carried:
    """What has happened to a leg's packets, all of one size, as the kernel counts it."""

    def __init__(self, delivered: int, lost: int, refused: int, waiting: int, air: int) -> None:
        self.delivered, self.lost, self.refused = delivered, lost, refused
        self.waiting, self.air = waiting, air

    def qdiscs(self, size: int) -> Iterator[Attributes]:
        """netem is the outermost: its queue and drops include those of the queue within."""
        frame = size + 14
        whole = {"packets": self.delivered, "bytes": self.delivered * frame}
        inside = {"qlen": self.waiting, "drops": self.refused, "backlog": self.waiting * frame}
        outside = {
            "qlen": self.waiting + self.air,
            "drops": self.lost + self.refused,
            "backlog": (self.waiting + self.air) * frame,
        }
        for handle, queue in ((NETEM, outside), (TBF, inside), (FIFO, inside)):
            stats = Attributes(TCA_STATS_BASIC=whole, TCA_STATS_QUEUE=queue)
            yield Attributes(handle=handle, TCA_STATS2=stats)


counts = st.integers(0, 10_000)


@given(st.builds(Carried, counts, counts, counts, counts, counts))
def test_the_kernel_s_counters_are_those_of_a_leg(carried: Carried) -> None:
    with pytest.MonkeyPatch.context() as patch:
        netlink = FakeNetlink(Clock())
        patch.setattr(pyroute2, "IPRoute", lambda: netlink)
        patch.setattr(socket, "if_nametoindex", lambda _: INDEX)
        netlink.counters = list(carried.qdiscs(1500))
        found = kernel_leg().statistics()
    pushed = carried.delivered + carried.lost + carried.refused + carried.waiting + carried.air
    assert found == LegStatistics(
        pushed_packets=pushed,
        pushed_bytes=pushed * 1500,
        delivered_packets=carried.delivered,
        delivered_bytes=carried.delivered * 1500,
        dropped_queue=carried.refused,
        dropped_loss=carried.lost,
        dropped_stop=0,
        dropped_flush=0,
        queue_packets=carried.waiting,
        queue_bytes=carried.waiting * 1500,
        queue_max=carried.waiting,
        air_packets=carried.air,
    )


def test_the_longest_queue_seen_is_kept(netlink: FakeNetlink) -> None:
    leg = kernel_leg()
    found = []
    for waiting in (3, 9, 2):
        netlink.counters = list(Carried(0, 0, 0, waiting, 0).qdiscs(100))
        found.append(leg.statistics().queue_max)
    assert found == [3, 9, 9]


def test_the_loop_makes_the_changes_of_a_kernel_s_leg(
    netlink: FakeNetlink, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "Injector", NoInjector)
    loop, leg = Loop(), kernel_leg(changes=[{"at_s": 1, "delay_ms": 20}])
    KernelLegDriver(1, leg, loop)
    leg.start(0)
    netlink.changes()
    clock.serve(loop, S)
    assert [each["delay"] for _, _, each in netlink.changes()] == [20_000]
