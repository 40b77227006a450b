"""A leg of the kernel's over a netlink that is none: what is asked of it when, what it counts."""

from __future__ import annotations

import gc
import itertools
import socket
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyroute2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.fields import SettingsError
from minitopo_dc.link import LegStatistics
from minitopo_dc.real.element import kernel_leg as module
from minitopo_dc.real.element.kernel_leg import FIFO, NETEM, ROOM, TBF, KernelLeg, timeline
from minitopo_dc.real.element.loop import ElementError
from minitopo_dc.scenario import LegDirection, kernel_rates
from tests.real.element.fakes import MS, Clock

S = 1000 * MS
INDEX = 5
ROOT, CHILD_OF = 0xFFFFFFFF, 1


class Attributes(dict[str, Any]):
    """A netlink message: fields, and attributes by `get_attr`."""

    def get_attr(self, name: str) -> Any:
        return self[name]


class FakeNetlink:
    """Remembers what was asked for; refuses disciplines named in `missing`."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self.missing: set[str] = set()
        self.counters: list[Attributes] = []
        self.clock = Clock()
        self.takes_ns = 0

    def tc(self, action: str, kind: str, index: int, handle: int, **options: Any) -> None:
        assert index == INDEX
        if kind in self.missing:
            raise pyroute2.NetlinkError(2, "No such file or directory")
        self.clock.now += self.takes_ns
        self.calls.append((action, kind, {"handle": handle} | options))

    def get_qdiscs(self, index: int) -> list[Attributes]:
        assert index == INDEX
        return self.counters

    def changes(self) -> list[tuple[str, dict[str, Any]]]:
        """Disciplines that were changed since the last question, and how."""
        made = [(kind, options) for action, kind, options in self.calls if action == "change"]
        self.calls.clear()
        return made

    def leg(self, **fields: Any) -> KernelLeg:
        """A leg that has started, and whose beginning is not among the changes."""
        made = KernelLeg("gnb-leg1", radio(**fields))
        made.start(0)
        self.changes()
        return made

    def run(self, leg: KernelLeg, times: int) -> list[int]:
        """Let a leg make its next changes, each on time; return when they were."""
        moments = []
        for moment in itertools.islice(iter(leg.next_timeout, None), times):
            moments.append(moment)
            self.clock.now = moment
            leg.poll(moment)
        return moments


@pytest.fixture
def netlink(monkeypatch: pytest.MonkeyPatch) -> FakeNetlink:
    made = FakeNetlink()
    monkeypatch.setattr(module, "clock", made.clock)
    monkeypatch.setattr(pyroute2, "IPRoute", lambda: made)
    monkeypatch.setattr(socket, "if_nametoindex", {"gnb-leg1": INDEX}.__getitem__)
    return made


def radio(**fields: Any) -> LegDirection:
    return LegDirection.check({"rate_mbps": 12, "delay_ms": 10, "jitter_ms": 0} | fields, "test")


def wire(rate: float) -> int:
    """Bytes a second of full frames for a rate (bit/s) of IP packets of 1,500 bytes."""
    return round(rate / 8 * 1514 / 1500)


def trace(path: Path, *rows: str) -> dict[str, Any]:
    path.write_text("\n".join(["time_s,rate_mbps", *rows]))
    return {"rate_mbps": None, "trace": str(path)}


def test_delay_and_loss_come_before_the_rate_and_the_rate_before_the_queue(
    netlink: FakeNetlink,
) -> None:
    air = {"jitter_ms": 2.5, "jitter": "uniform", "reorder": True, "loss_percent": 3}
    KernelLeg("gnb-leg1", radio(queue_packets=77, **air))
    names = ("handle", "parent", "limit")
    assert [
        (action, kind, *(options[name] for name in names))
        for action, kind, options in netlink.calls
    ] == [
        ("add", "netem", NETEM, ROOT, ROOM),
        ("add", "tbf", TBF, NETEM | CHILD_OF, 77),
        ("add", "pfifo", FIFO, TBF | CHILD_OF, 77),
        ("change", "netem", NETEM, ROOT, ROOM),
        ("change", "tbf", TBF, NETEM | CHILD_OF, 77),
    ]
    (_, airs), (_, rates) = netlink.changes()
    assert [airs[name] for name in ("delay", "jitter", "loss")] == [10_000, 2500, 3]
    # The bucket holds a frame and a millisecond.
    assert [rates["rate"], rates["burst"]] == [wire(12e6), 1614 + wire(12e6) // 1000 + 1]


@pytest.mark.parametrize("kind", ["netem", "tbf", "pfifo"])
def test_a_kernel_without_one_of_the_disciplines_is_one_error(
    kind: str, netlink: FakeNetlink
) -> None:
    netlink.missing.add(kind)
    with pytest.raises(ElementError, match=r"gnb-leg1: .*backend: user"):
        netlink.leg()


def test_changes_are_made_at_their_moments_and_each_to_its_own_discipline(
    netlink: FakeNetlink,
) -> None:
    changes = [
        {"at_s": 1, "rate_mbps": 6},
        {"at_s": 2, "delay_ms": 50, "loss_percent": 1},
        {"at_s": 3, "rate_mbps": 3},
    ]
    leg = netlink.leg(changes=changes)
    assert netlink.run(leg, 3) == [S + 10 * MS, 2 * S, 3 * S + 50 * MS]
    (_, slower), (kind, air), (_, slowest) = netlink.changes()
    assert [slower["rate"], slowest["rate"]] == [wire(6e6), wire(3e6)]
    assert [kind, air["delay"], air["loss"]] == ["netem", 50_000, 1]


def test_a_looping_trace_changes_the_rate_lap_after_lap(
    netlink: FakeNetlink, tmp_path: Path
) -> None:
    leg = netlink.leg(**trace(tmp_path / "trace.csv", "0,1", "1,2", "3,"))
    assert netlink.run(leg, 4) == [at * S + 10 * MS for at in (1, 3, 4, 6)]
    rates = [options["rate"] for _, options in netlink.changes()]
    assert rates == [wire(mbps * 1e6) for mbps in (2, 1, 2, 1)]


def test_a_step_to_the_same_rate_is_no_change_for_it_would_fill_the_bucket(
    netlink: FakeNetlink, tmp_path: Path
) -> None:
    leg = netlink.leg(**trace(tmp_path / "trace.csv", "0,1", "1,1", "2,1"))
    netlink.run(leg, 3)
    assert netlink.changes() == []
    assert leg.lateness_ms()["changes"] == 0


def test_how_late_changes_are_complete_includes_the_time_that_they_take(
    netlink: FakeNetlink,
) -> None:
    leg = netlink.leg(changes=[{"at_s": at, "delay_ms": at} for at in (1, 2)])
    for moment, late, takes in ((S, 0, 1), (2 * S, 4, 3)):
        netlink.takes_ns = takes * MS
        netlink.clock.now = moment + late * MS
        leg.poll(netlink.clock.now)
    assert leg.lateness_ms() == {"changes": 2, "mean_ms": 4.0, "max_ms": 7.0}


def test_a_leg_of_the_kernel_cannot_be_taken_down(netlink: FakeNetlink) -> None:
    with pytest.raises(ElementError, match="backend: user"):
        netlink.leg().set_up(False, 0)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"outages": [[1, 2]]}, "backend kernel has no outages; use backend: user"),
        ({"burst_loss": {"p": 0.1, "r": 0.1}}, "no burst_loss"),
        ({"queue_bytes": 5000}, "no queue_bytes"),
        ({"rlc": {}}, "no rlc"),
        ({"jitter_ms": 1}, "no jitter_ms without 'jitter: uniform' and 'reorder: true'"),
        ({"changes": [{"at_s": 1, "jitter_ms": 1}]}, "no changes of jitter_ms without 'jitter: un"),
        ({"rate_mbps": None, "trace": "{opportunities}"}, "has rates only, no opportunities"),
    ],
)
def test_what_the_kernel_does_not_have_is_refused(
    fields: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    (tmp_path / "opportunities").write_text("1\n2\n")
    if "trace" in fields:
        fields = fields | {"trace": str(tmp_path / "opportunities")}
    with pytest.raises(SettingsError, match=reason):
        KernelLeg("none", radio(**fields))


changing = st.builds(
    lambda at, fields: {"at_s": at / 1000} | fields,
    st.integers(1, 9_999),
    st.fixed_dictionaries(
        {}, optional={"rate_mbps": st.integers(1, 99), "delay_ms": st.integers(0, 500)}
    ).filter(bool),
)
"""A change of the rate, of the delay, or of both."""


@given(st.lists(changing, unique_by=lambda change: change["at_s"], max_size=6))
def test_the_kernel_gets_each_change_once_and_rates_later_by_the_delay_before_the_queue(
    changes: list[dict[str, Any]],
) -> None:
    changes.sort(key=lambda change: change["at_s"])
    settings = radio(changes=changes)
    steps = list(kernel_rates(settings).steps())
    planned = list(timeline(settings, iter(steps)))
    airs = [what.delay_ms for _, _, what in planned if isinstance(what, LegDirection)]
    assert airs == [change["delay_ms"] for change in changes if "delay_ms" in change]
    delay, delays = 10, {0: 10}
    for change in changes:
        delay = change.get("delay_ms", delay)
        delays[round(change["at_s"] * S)] = delay
    entered = [max(at for at in delays if at <= moment) for moment, _ in steps]
    assert [(at, what) for at, _, what in planned if isinstance(what, int)] == [
        (moment + delays[at] * MS, rate) for (moment, rate), at in zip(steps, entered, strict=True)
    ]


def qdiscs(delivered: int, lost: int, refused: int, waiting: int, air: int) -> Iterator[Attributes]:
    """What the kernel counts of packets of 1,500 bytes: netem includes the queue within it."""
    frame = 1500 + 14
    whole = {"packets": delivered, "bytes": delivered * frame}
    inside = {"qlen": waiting, "drops": refused, "backlog": waiting * frame}
    both = waiting + air
    outside = {"qlen": both, "drops": lost + refused, "backlog": both * frame}
    for handle, queue in ((NETEM, outside), (TBF, inside), (FIFO, inside)):
        stats = Attributes(TCA_STATS_BASIC=whole, TCA_STATS_QUEUE=queue)
        yield Attributes(handle=handle, TCA_STATS2=stats)


def test_the_kernel_s_counters_are_those_of_a_leg_with_the_longest_queue_seen(
    netlink: FakeNetlink,
) -> None:
    leg = netlink.leg()
    for counted in ((9, 0, 0, 3, 0), (90, 5, 4, 9, 7)):
        netlink.counters = list(qdiscs(*counted))
        leg.statistics()
    netlink.counters = list(qdiscs(delivered=99, lost=5, refused=4, waiting=2, air=1))
    assert leg.statistics() == LegStatistics(
        pushed_packets=111,
        pushed_bytes=111 * 1500,
        delivered_packets=99,
        delivered_bytes=99 * 1500,
        dropped_queue=4,
        dropped_loss=5,
        dropped_stop=0,
        dropped_flush=0,
        queue_packets=2,
        queue_bytes=3000,
        queue_max_packets=9,
        air_packets=1,
    )


def test_netlink_s_messages_are_garbage_by_the_next_call_though_the_collector_is_off(
    netlink: FakeNetlink, monkeypatch: pytest.MonkeyPatch
) -> None:
    def get_qdiscs(index: int) -> list[Attributes]:  # noqa: ARG001
        made = list(qdiscs(delivered=9, lost=0, refused=0, waiting=3, air=0))
        for message in made:
            message["TCA_STATS2"]["parent"] = message  # pyroute2's refer to each other, too
        messages.append(weakref.ref(made[0]))
        return made

    leg, messages = netlink.leg(), list[weakref.ref[Attributes]]()
    monkeypatch.setattr(netlink, "get_qdiscs", get_qdiscs)
    gc.disable()
    try:
        for _ in range(3):
            leg.statistics()
    finally:
        gc.enable()
    assert [message() is not None for message in messages] == [False, False, True]
