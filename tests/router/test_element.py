"""A router host's element by its settings: what changes legs, what reports and echoes reach."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from minitopo_dc.link import Bernoulli
from minitopo_dc.pdcp.report import LegReception, Report, encode_report
from minitopo_dc.router.drivers import Schedule
from minitopo_dc.router.element import AnyElement, leg_changes
from minitopo_dc.router.native import native_obstacle
from minitopo_dc.runs.element_settings import router_settings
from minitopo_dc.scenario.element import ElementLeg, ElementSettings
from tests.native.extension import needs_native
from tests.virtual.scenarios import leg, scenario

MS = 1_000_000


class Changed:
    """A leg that notes what is done to it."""

    def __init__(self) -> None:
        self.log: list[Any] = []

    def set_up(self, up: bool, now: int) -> None:
        self.log.append((now, up))

    def retune(self, now: int, **parameters: Any) -> None:
        shown = {name: getattr(value, "mean_ns", value) for name, value in parameters.items()}
        self.log.append((now, shown))


def changes(*radios: dict[str, Any]) -> list[Any]:
    """What a schedule does to the first leg, having started at 5 ns, as it is due."""
    settings = [
        ElementLeg.check(
            {"leg": number, "interface": "i", "seed": "", "radio": {"rate_mbps": 1} | radio}, "test"
        )
        for number, radio in enumerate(radios, start=1)
    ]
    legs: dict[int, Any] = {made.leg: Changed() for made in settings}
    after: list[int] = []
    schedule = Schedule(leg_changes(settings, legs), after.append)
    assert schedule.next_timeout() is None
    schedule.start(5)
    due: list[int] = []
    while (moment := schedule.next_timeout()) is not None:
        due.append(moment)
        schedule.handle(moment)
    assert after == due == sorted(due)
    return legs[1].log  # type: ignore[no-any-return]


def test_outages_take_a_leg_down_and_up_beside_those_of_another() -> None:
    log = changes({"outages": [[0.001, 0.002], [0.003, 0.004]]}, {"outages": [[0.001, 0.003]]})
    assert log == [(n * MS + 5, up) for n, up in ((1, False), (2, True), (3, False), (4, True))]


@pytest.mark.parametrize(
    ("change", "retuned"),
    [
        ({"delay_ms": 20}, [{"delay": 20 * MS}]),
        ({"jitter_ms": 3}, [{"delay": 10 * MS}]),
        ({"loss_percent": 0}, [{"loss": Bernoulli(0.0)}]),
        ({"loss_percent": 20}, [{"loss": Bernoulli(0.2)}]),
        ({"block_error_percent": 5}, [{"block_error": 0.05}]),
        ({"rate_mbps": 2}, []),  # that is its capacity's
    ],
)
def test_a_change_retunes_what_it_names(change: dict[str, Any], retuned: list[Any]) -> None:
    radio = {"delay_ms": 10, "rlc": {}, "changes": [{"at_s": 1} | change]}
    assert changes(radio) == [(1000 * MS + 5, parameters) for parameters in retuned]


def test_a_delay_of_a_file_changes_as_it_says_and_begins_again(tmp_path: Path) -> None:
    path = tmp_path / "delay.txt"
    path.write_text("0,10\n1,30\n")
    settings = ElementLeg.check(
        {
            **{"leg": 1, "interface": "i", "seed": ""},
            "radio": {"rate_mbps": 1, "delay_trace": str(path), "jitter_ms": 0},
        },
        "test",
    )
    leg: Any = Changed()
    schedule = Schedule(leg_changes([settings], {1: leg}))
    schedule.start(5)
    for second in (1, 2, 3):
        assert schedule.next_timeout() == second * 1000 * MS + 5
        schedule.handle(second * 1000 * MS + 5)
    assert [retuned["delay"] for _, retuned in leg.log] == [30 * MS, 10 * MS, 30 * MS]


@needs_native
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, None),
        ({"cells": [{"legs": [1, 2]}]}, "it has cells"),
        ({"legs": [leg(), {"wifi": {}}]}, "leg 2 has wifi"),
        ({"pdcp": {"report_ms": 20, "data_recovery": True}}, "pdcp has data_recovery"),
        ({"pdcp": {"report_ms": 20, "leg_failure_ms": 50}}, "pdcp has leg_failure_ms"),
        (
            {"mode": "atsss", "transport": "tcp"},
            "pdcp has split smallest-delay",
        ),
        ({"legs": [leg(queue_discipline="fq-codel")] * 2}, "leg 1 has queue_discipline fq-codel"),
        ({"legs": [leg()] * 17}, "a bearer over 17 legs, more than 16"),
    ],
)
def test_what_the_native_core_lacks_is_named(
    fields: dict[str, Any], reason: str | None, tmp_path: Path
) -> None:
    assert native_obstacle([router_settings(scenario(**fields), tmp_path)[0]]) == reason


class Element(AnyElement):
    """One whose legs and bearers note in `log` what they are told."""

    def __init__(self, settings: ElementSettings) -> None:
        super().__init__(settings)
        self.log: list[Any] = []
        self.sent: list[tuple[int, tuple[str, int], bytes]] = []
        self.taken_at: dict[tuple[str, int], Callable[[bytes, int], None]] = {}
        seen = {made.leg: made.build({}) for made in settings.legs}
        legs: dict[int, Any] = {
            number: SimpleNamespace(
                leg=SimpleNamespace(start=self._noting("start", number), statistics=own.statistics),
                rearm=self._noting("rearm", number),
            )
            for number, own in seen.items()
        }
        loop: Any = SimpleNamespace(add_timed=lambda _, first: self._noting("rearm", first))
        self._assemble(legs, seen, loop)

    def _noting(self, *words: Any) -> Callable[..., None]:
        return lambda *more: self.log.append((*words, *more))

    def _transmitter(self, bearer: Any) -> Any:
        changed, entity = self._noting("changed"), self._transmitting(bearer)
        return SimpleNamespace(bearer=bearer.bearer, entity=entity, legs_changed=changed)

    def _receiver(self, bearer: Any) -> Any:
        entity = bearer.pdcp.receiver(len(bearer.legs))
        reports = bearer.pdcp.report_maker(entity, len(bearer.legs))
        counted = entity.statistics
        return SimpleNamespace(
            bearer=bearer.bearer, entity=entity, reports=reports, statistics=counted
        )

    def _report_way(self, leg: Any, port: int) -> Any:
        end = (str(leg.destination), port)
        return None, lambda data, _: self.sent.append((leg.leg, end, data))

    def _listen(self, address: Any, port: int, take: Any) -> None:
        self.taken_at[str(address), port] = take


def test_time_zero_is_the_same_for_all_and_then_they_are_asked_when_to_act(tmp_path: Path) -> None:
    element = Element(router_settings(scenario(), tmp_path)[0])
    element._start(7)
    assert element.log == [
        *(("start", 1, 7), ("start", 2, 7), ("rearm", 1), ("rearm", 2)),
        ("rearm", True),  # the schedule
    ]
    assert element._parts[0].next_timeout() is None


def test_after_a_change_of_a_leg_all_legs_and_bearers_look_again(tmp_path: Path) -> None:
    legs = [leg(outages=[[1, 2]]), leg()]
    element = Element(router_settings(scenario(legs=legs), tmp_path)[0])
    element._start(0)
    element.log.clear()
    element._parts[0].handle(1000 * MS)
    assert element.log == [("rearm", 1), ("rearm", 2), ("changed", 1000 * MS)]


def test_a_report_changes_what_the_bearer_knows_of_its_legs(tmp_path: Path) -> None:
    element = Element(router_settings(scenario(pdcp={"split": "proportional"}), tmp_path)[0])
    nothing = LegReception(0, 0, 0, 0, 0)
    for moment, take in enumerate(element.taken_at.values(), start=8):
        take(encode_report(Report(moment, (nothing, nothing))), moment)
    assert element.log == [("changed", 8), ("changed", 9)]
    assert element._counted()["transmit"][1]["reports_received"] == 2


def test_echoes_go_out_on_each_leg_and_are_answered_by_the_other_host(tmp_path: Path) -> None:
    planned = scenario(mode="atsss", transport="tcp", pdcp={"split": "smallest-delay"})
    gnb, ue = map(Element, router_settings(planned, tmp_path))
    gnb._start(0)
    gnb._parts[1].handle(10)
    requests = list(gnb.sent)
    assert [number for number, *_ in requests] == [1, 2]
    for _, end, data in requests:
        ue.taken_at[end](data, 20)
    for number, end, data in ue.sent:
        gnb.taken_at[end](data, 30 + number)
    policy: Any = gnb._transmit[0].entity.policy
    assert [measured.round_trip for measured in policy._measured] == [21, 22]


def test_a_bearer_drops_what_its_buffer_does_not_hold(tmp_path: Path) -> None:
    pdcp = {"split": "proportional", "numbering": "late", "buffer_packets": 2}
    element = Element(router_settings(scenario(pdcp=pdcp), tmp_path)[0])
    taken = [element._transmit[0].entity.push(number, 1000, 0) for number in range(5)]
    assert taken == [True, True, False, False, False]
    assert element._counted()["transmit"][1]["dropped_buffer"] == 3
