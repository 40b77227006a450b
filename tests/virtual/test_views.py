"""What a split policy sees and is reported on the virtual clock."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from minitopo_dc.pdcp import LegReport, LegView, split_policy
from minitopo_dc.virtual.loop import START_NS
from minitopo_dc.virtual.run import run_virtual
from tests.virtual.scenarios import leg, scenario
from tests.virtual.test_drivers import MS, STILL, Downlink


class Seen:
    """What a policy of this module was shown, packet by packet."""

    drains: ClassVar[list[list[int | None]]] = []
    reports: ClassVar[list[LegReport]] = []


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    Seen.drains, Seen.reports = [], []


@split_policy("test-virtual-watcher")
class Watcher:
    """Sends everything on the first leg and notes what it sees."""

    sees_legs: ClassVar[bool] = True

    def __init__(self, legs: int) -> None:
        self._first = range(legs)[:1]

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        Seen.drains.append([view.drain_ns(now=now, more=size) for view in views])
        report = views[0].report
        if report is not None and (not Seen.reports or Seen.reports[-1] != report):
            Seen.reports.append(report)
        return tuple(self._first)


@split_policy("test-virtual-wrong")
class Wrong(Watcher):
    """Names a leg that does not exist, but not at once."""

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        super().legs(now=now, size=size, views=views)
        return (len(views),) if len(Seen.drains) == 20 else (0,)


def summary(directory: Path, host: str) -> Any:
    return json.loads((directory / f"{host}-summary.json").read_text())


def run(directory: Path, **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The summaries' transmitting and receiving bearer of a run that must succeed."""
    result = run_virtual(scenario(**fields), directory)
    assert result.status == "ok", result.reason
    sent, received = summary(directory, "gnb")["transmit"], summary(directory, "ue")["receive"]
    return sent["1"], received["1"]


def test_a_burst_s_packets_find_the_backlog_of_those_before_them(tmp_path: Path) -> None:
    Downlink(tmp_path, legs=[STILL, STILL], pdcp={"split": "test-virtual-watcher"}).send(3)
    ahead = [1003 * number * 400 for number in range(3)]  # 20 Mbit/s: 400 ns a byte
    assert Seen.drains == [[time + 400_000, 400_000] for time in ahead]


def test_least_delay_takes_the_legs_as_they_are_free(tmp_path: Path) -> None:
    slow = leg(rate_mbps=10, delay_ms=12, jitter_ms=0)
    link = Downlink(tmp_path, legs=[STILL, slow], pdcp={"split": "least-delay"})
    link.send(20)
    assert [index for _, index in link.arrived] == list(range(20))
    # Leg 1 is 2 ms nearer: 6 packets of 0.4 ms go ahead, then two of three.
    assert link.gnb.delivered_bytes() == [15 * 1003, 5 * 1003]


def test_least_delay_leaves_out_a_leg_that_is_down(tmp_path: Path) -> None:
    down = leg(delay_ms=10, jitter_ms=0, outages=[[0.0, 1]])
    link = Downlink(tmp_path, legs=[down, STILL], pdcp={"split": "least-delay"})
    link.loop.run(START_NS)  # the outage begins
    link.send(20)
    assert link.gnb.delivered_bytes() == [0, 20 * 1003]


def test_reports_reach_the_policy_a_leg_later(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"pdcp": {"split": "test-virtual-watcher", "report_ms": 20}}
    sent, received = run(tmp_path / "run", legs=[leg(), leg()], **fields)
    assert received["reports_sent"] >= sent["reports_received"] > 10
    assert (sent["reports_stale"], sent["reports_malformed"]) == (0, 0)
    last = Seen.reports[-1]
    assert 0 < last.delivered_pdus <= received["pdus_1"]
    # Made on the grid of 20 ms; 114 bytes at 20 Mbit/s and 10 ms (1 ms jitter) later it is here.
    for report in Seen.reports:
        assert 5 * MS < (report.at - START_NS) % (20 * MS) < 15 * MS


def test_reports_take_their_part_of_the_uplink(tmp_path: Path) -> None:
    run(tmp_path / "without", workload={"size_mb": 0.1})
    _, received = run(tmp_path / "with", workload={"size_mb": 0.1}, pdcp={"report_ms": 1})
    legs = [summary(tmp_path / name, "ue")["legs"]["1"] for name in ("without", "with")]
    assert received["reports_sent"] > 50
    more = legs[1]["pushed_packets"] - legs[0]["pushed_packets"]
    assert more == received["reports_sent"]
    assert legs[1]["pushed_bytes"] - legs[0]["pushed_bytes"] == 114 * more


def test_an_uplink_in_an_outage_delays_reports_and_a_full_one_loses_them(tmp_path: Path) -> None:
    uplink = {"rate_mbps": 20, "queue_packets": 2, "outages": [[0.2, 0.4]]}
    legs = [leg() | {"uplink": uplink}] * 2
    pdcp = {"split": "test-virtual-watcher", "report_ms": 10}
    sent, received = run(tmp_path / "run", legs=legs, pdcp=pdcp)
    assert sent["reports_received"] < received["reports_sent"] - 10
    assert sent["reports_malformed"] == 0


def test_a_leg_that_does_not_exist_is_a_failed_run_that_says_so(tmp_path: Path) -> None:
    result = run_virtual(scenario(pdcp={"split": "test-virtual-wrong"}), tmp_path / "run")
    assert result.status == "failed"
    assert (
        result.reason
        == "split policy Wrong answered (2,), must be a tuple of legs, each 0 to 1, e.g. (0,)"
    )


RADIO: dict[str, Any] = {"rate_mbps": 20}


def both_ways(**radio: Any) -> dict[str, Any]:
    return {"downlink": RADIO | radio, "uplink": RADIO | radio}


def reported_run(directory: Path, **fields: Any) -> None:
    result = run_virtual(scenario(**fields), directory)
    assert result.status == "ok", result.reason


def test_while_leg_1_is_down_both_ways_reports_take_leg_2(tmp_path: Path) -> None:
    legs = [both_ways(outages=[[0.0, 1000]]), both_ways()]
    reported_run(
        tmp_path, legs=legs, split_uplink=True, pdcp={"split": "least-delay", "report_ms": 20}
    )
    for transmitter, receiver, bearer in (("gnb", "ue", "1"), ("ue", "gnb", "2")):
        sent = summary(tmp_path, transmitter)["transmit"][bearer]
        received = summary(tmp_path, receiver)["receive"][bearer]
        assert received["reports_sent"] - 2 <= sent["reports_received"] <= received["reports_sent"]
        assert sent["reports_received"] > 10
        assert (sent["reports_stale"], sent["reports_malformed"]) == (0, 0)
        on_leg_1 = summary(tmp_path, receiver)["legs"]["1"]["pushed_packets"]
        assert on_leg_1 <= 1  # the first packet is sent at the very moment of the outage's begin


def test_an_uplink_s_reports_tell_what_came_up(tmp_path: Path) -> None:
    reported_run(tmp_path, split_uplink=True, pdcp={"report_ms": 10})
    sent = summary(tmp_path, "ue")["transmit"]["2"]
    received = summary(tmp_path, "gnb")["receive"]["2"]
    assert received["reports_sent"] >= sent["reports_received"] > 20
    assert received["pdus_1"] + received["pdus_2"] == sent["pdus_1"] + sent["pdus_2"] > 0
