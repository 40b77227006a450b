"""The result of a run by its workload, the files of its rows, and what makes it a failed one."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.interruption import Interruption
from minitopo_dc.results.judge import blank_result, crashed, judge, late_start_reason
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runners.base import accepted
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Measurement
from minitopo_dc.workloads.path_reports import PathSample
from minitopo_dc.workloads.request_response import request_rows

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}
ASKING = {"kind": "request-response", "count": 3}
ASKED = Measurement(
    1500,
    0.86,
    {"handshake_s": 0.009},
    rows=request_rows([(0.01, 0.03), (0.41, None), (0.81, 0.86)]),
)
TRIPS = [{"leg": leg, "backhaul": 1, "sent": 2, "received": 2} for leg in (1, 2)]
ECHOES = [
    {"leg": leg, "backhaul": 1, "time_s": time_s, "rtt_ms": 10.0 * leg}
    for leg in (1, 2)
    for time_s in (0.0, 1.0)
]
PINGED = Measurement(0, 2.0, {"round_trips": TRIPS}, rows=ECHOES)
DOWNLOADED = Measurement(10_000_000, 4.0)
MULTIPATH = {"transport": "mptcp", "mode": "multipath"}


def scenario(**fields: Any) -> Scenario:
    values: dict[str, Any] = {"transport": "quic", "mode": "dc", "legs": [LEG, LEG]}
    return Scenario.check(values | fields, "test")


def requests(**more: Any) -> Scenario:
    return scenario(workload=ASKING, **more)


def pings() -> Scenario:
    return scenario(transport="icmp", mode="sc", workload={"kind": "ping", "count": 2})


def judged(
    planned: Scenario, directory: Path, *measured: Measurement, legs: list[int] | None = None
) -> RunResult:
    """As a run does: each flow's own measurement is accepted by its workload."""
    flows = zip(planned.resolved_flows, measured, strict=True)
    taken = [accepted(flow.workload, measurement) for flow, measurement in flows]
    return judge(blank_result(planned, directory), planned, taken, legs or [900_000, 900_000])


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_of_requests_has_a_row_each_and_delays_in_place_of_a_goodput(tmp_path: Path) -> None:
    assert blank_result(requests(), tmp_path).size_bytes == 3 * 750
    result = judged(requests(), tmp_path, ASKED)
    assert (result.status, result.workload) == ("ok", "request-response")
    assert (result.goodput_mbps, result.capacity_share) == (None, None)
    assert (result.size_bytes, result.completion_s) == (2 * 750, 0.86)
    assert result.details["delay_median_ms"] == pytest.approx(35)
    assert result.details.items() >= {
        *(("requests", 3), ("answered", 2), ("unanswered", 1), ("handshake_s", 0.009))
    }
    rows = rows_of(tmp_path / "request-response.csv")
    assert list(rows[0]) == ["request", "sent_s", "answered_s", "delay_ms"]
    assert [row["answered_s"] for row in rows] == ["0.03", "", "0.86"]
    assert rows[1]["delay_ms"] == ""
    assert float(rows[2]["delay_ms"]) == pytest.approx(50)


def test_a_run_of_pings_has_a_row_each_and_round_trips_in_place_of_a_goodput(
    tmp_path: Path,
) -> None:
    result = judged(pings(), tmp_path, PINGED)
    assert (result.status, result.workload, result.size_bytes) == ("ok", "ping", 0)
    assert (result.goodput_mbps, result.capacity_share) == (None, None)
    assert (result.details["sent"], result.details["received"]) == (4, 4)
    assert (result.details["rtt_median_ms"], result.details["round_trips"]) == (15.0, TRIPS)
    rows = rows_of(tmp_path / "ping.csv")
    assert [(row["leg"], row["rtt_ms"]) for row in rows] == [
        *(("1", "10.0"), ("1", "10.0"), ("2", "20.0"), ("2", "20.0"))
    ]


def test_a_download_has_no_file_of_rows_and_each_of_several_flows_its_own(tmp_path: Path) -> None:
    judged(scenario(), tmp_path, DOWNLOADED)
    assert not list(tmp_path.iterdir())
    planned = scenario(mode="flows", flows=[{"mode": "sc"}, {"mode": "dc", "workload": ASKING}])
    judged(planned, tmp_path, DOWNLOADED, ASKED)
    assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*.csv")] == [
        Path("flow-2/request-response.csv")
    ]


@pytest.mark.parametrize(("seconds", "index"), [((4.0, 8.0), 0.9), ((4.0,), None), ((), None)])
def test_jain_s_index_is_of_two_flows_or_more_that_have_a_goodput(
    seconds: tuple[float, ...], index: float | None, tmp_path: Path
) -> None:
    asking = {"mode": "dc", "workload": ASKING}
    planned = scenario(mode="flows", flows=[{"mode": "sc"}] * len(seconds) + [asking] * 2)
    downloads = [Measurement(10_000_000, second) for second in seconds]
    result = judged(planned, tmp_path, *downloads, ASKED, ASKED)
    rates = [80 / second for second in seconds]
    assert [flow["goodput_mbps"] for flow in result.details["flows"]] == [*rates, None, None]
    assert result.details["jain_index"] == (index if index is None else pytest.approx(index))
    assert (result.goodput_mbps, result.completion_s) == (None, max([0.86, *seconds]))
    assert [flow["unanswered"] for flow in result.details["flows"][-2:]] == [1, 1]


def test_a_download_whose_leg_carried_less_than_a_validation_has_fallen_back(
    tmp_path: Path,
) -> None:
    result = judged(scenario(**MULTIPATH), tmp_path, DOWNLOADED, legs=[10_500_000, 400])
    assert (result.status, result.goodput_mbps) == ("failed", None)
    assert result.reason == (
        "the path on leg 2 was never validated, although 4 s were there: "
        "bytes per leg [10500000, 400]"
    )
    assert result.details == {"path_use": {"1": "used", "2": "not validated"}}
    assert result.leg_bytes == [10_500_000, 400]


def test_requests_may_leave_a_path_of_a_multipath_transport_unused(tmp_path: Path) -> None:
    planned = requests(**MULTIPATH)
    assert judged(planned, tmp_path, ASKED, legs=[30_000, 400]).status == "ok"
    planned = scenario(mode="flows", flows=[{"mode": "dc"}, MULTIPATH | {"workload": ASKING}])
    paths = {"paths": [{"leg": 1, "bytes_sent": 30_000}, {"leg": 2, "bytes_sent": 400}]}
    assert judged(planned, tmp_path, DOWNLOADED, replace(ASKED, details=paths)).status == "ok"


def scheduled(*events: tuple[float, str, int], **more: Any) -> Scenario:
    paths = {"initial": [1], "schedule": [{"at_s": at, what: leg} for at, what, leg in events]}
    return scenario(paths=paths, **MULTIPATH | more)


FIRST, SECOND = [9_000_000, 400], [400, 9_000_000]
NEVER = "the path on leg {} was never validated"


@pytest.mark.parametrize(
    ("events", "legs", "reason"),
    [
        ((), FIRST, ""),
        (((3.5, "open", 2),), FIRST, ""),
        (((1, "open", 2), (2, "backup", 2)), FIRST, NEVER.format(2)),
        (((1, "open", 2), (1.9, "backup", 2)), FIRST, ""),
        (((1, "open", 2),), FIRST, NEVER.format(2)),
        (((1, "open", 2), (1.9, "abandon", 1)), SECOND, NEVER.format(1)),
        ((), [9_000_000, 900_000], "leg 2 carried data, although the schedule opens no path on it"),
    ],
)
def test_with_a_schedule_the_legs_that_could_have_a_path_for_a_second_must_have_had_one(
    events: tuple[tuple[float, str, int], ...], legs: list[int], reason: str, tmp_path: Path
) -> None:
    result = judged(scheduled(*events), tmp_path, DOWNLOADED, legs=legs)
    assert result.status == ("failed" if reason else "ok")
    assert result.reason.startswith(reason)


def test_the_second_counts_from_the_client_s_start_of_connecting(tmp_path: Path) -> None:
    late = Measurement(10_000_000, 4.0, {"started_s": 0.8})
    planned = scheduled((0.5, "open", 2), (1.7, "abandon", 1))
    assert judged(planned, tmp_path, late, legs=SECOND).status == "ok"


def down(*outages: tuple[float, float], **fields: Any) -> dict[str, Any]:
    return LEG | {"outages": outages} | fields


OFF = {"rate_mbps": 20, "outages": [[0, 60]]}


@pytest.mark.parametrize(
    ("leg", "seconds", "status"),
    [
        (down((0, 60)), 4.0, "ok"),
        ({"downlink": OFF}, 4.0, "ok"),
        (LEG | {"uplink": OFF}, 4.0, "ok"),
        (down((0.9, 1.2), (2.1, 60)), 4.0, "ok"),
        (down((1, 60)), 4.0, "failed"),
        (down((0, 2.9)), 4.0, "failed"),
        (down((4, 60)), 4.0, "failed"),
        (down((2, 60)), 0.5, "failed"),
    ],
)
def test_a_leg_that_was_never_up_for_a_second_need_not_carry_data(
    leg: dict[str, Any], seconds: float, status: str, tmp_path: Path
) -> None:
    planned = scenario(legs=[LEG, leg], **MULTIPATH)
    assert judged(planned, tmp_path, Measurement(10**7, seconds), legs=FIRST).status == status


@pytest.mark.parametrize(("outage", "status"), [((1.5, 3.5), "ok"), ((3, 4), "failed")])
def test_a_path_is_not_expected_to_be_used_while_its_leg_is_down(
    outage: tuple[float, float], status: str, tmp_path: Path
) -> None:
    planned = scheduled((1, "open", 2), legs=[LEG, down(outage)])
    assert judged(planned, tmp_path, DOWNLOADED, legs=FIRST).status == status


@pytest.mark.parametrize(
    ("fields", "paths", "status"),
    [
        ({"paths": {"initial": [1], "schedule": [{"at_s": 1, "open": 2}]}}, (1,), "failed"),
        ({"paths": {"initial": [1], "schedule": [{"at_s": 1, "open": 2}]}}, (1, 2), "ok"),
        ({}, (1,), "ok"),
    ],
)
def test_beside_other_flows_a_flow_is_judged_by_its_own_paths(
    fields: dict[str, Any], paths: tuple[int, ...], status: str, tmp_path: Path
) -> None:
    legs = [LEG, LEG if fields else down((0, 60))]
    planned = scenario(mode="flows", flows=[{"mode": "dc"}, MULTIPATH | fields], legs=legs)
    reports = [{"leg": leg, "bytes_sent": 9_000_000} for leg in paths]
    samples = [PathSample(0.5, leg, leg - 1, "open", bytes_sent=1) for leg in paths]
    measured = Measurement(10_000_000, 4.0, {"paths": reports}, path_samples=samples)
    assert judged(planned, tmp_path, DOWNLOADED, measured).status == status
    rows = rows_of(tmp_path / "paths.csv")
    assert [(row["flow"], row["leg"]) for row in rows] == [("2", str(leg)) for leg in paths]


def test_one_request_has_a_file_in_a_directory_that_is_made(tmp_path: Path) -> None:
    one = Measurement(750, 0.03, rows=ASKED.rows[:1])
    judged(scenario(workload=ASKING | {"count": 1}), tmp_path / "a" / "run", one)
    assert len(rows_of(tmp_path / "a" / "run" / "request-response.csv")) == 1


def test_the_capacity_counts_from_the_first_start_to_the_last_end(tmp_path: Path) -> None:
    planned = scenario(clock="virtual", mode="flows", flows=[{"mode": "sc"}, {"mode": "dc"}])
    measured = [Measurement(10**7, 4.0, {"started_s": start}) for start in (3.0, 1.0)]
    result = judged(planned, tmp_path, *measured)
    assert result.goodput_mbps == 2 * 80 / 4  # both sizes in the longest time
    assert result.capacity_share == 2 * 80 / (2 * 20 * (7 - 1))  # both legs from 1 s to 7 s


def test_a_flow_s_row_names_the_legs_of_a_bearer_that_is_over_some_of_them(tmp_path: Path) -> None:
    pdcp = {"split": "least-delay", "legs": [3, 1]}
    modes: list[dict[str, Any]] = [{"mode": "dc", "pdcp": pdcp}, {"mode": "dc"}, {"mode": "sc"}]
    planned = scenario(mode="flows", legs=[LEG] * 3, flows=modes)
    rows = judged(planned, tmp_path, *[DOWNLOADED] * 3).details["flows"]
    assert [row.get("legs") for row in rows] == [[3, 1], None, None]


@pytest.mark.parametrize("there", [False, True])
def test_a_crash_is_saved_as_a_failed_result_beside_its_traceback(
    there: bool, tmp_path: Path
) -> None:
    run = tmp_path / "a" / "run"
    if there:
        run.mkdir(parents=True)
    error = ValueError("not a\n  number")
    result = crashed(scenario(), run, error)
    assert (result.status, result.reason) == ("failed", "ValueError: not a number")
    assert RunResult.load(run) == result
    assert (run / "crash.txt").read_text("utf-8") == "ValueError: not a\n  number\n"


def test_an_error_after_a_signal_is_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Interruption, "has_arrived", True)
    with pytest.raises(KeyboardInterrupt):
        crashed(scenario(), tmp_path / "run", ValueError())
    assert not (tmp_path / "run").exists()


def test_an_error_in_a_user_s_file_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text('def read() -> int:\n    return {}["bytes"]\n', encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    with pytest.raises(KeyError) as caught:
        names["read"]()
    result = crashed(scenario(plugins=[str(path)]), tmp_path / "run", caught.value)
    assert result.reason == f"KeyError: 'bytes' ({path}:2)"


# Clients that started behind what their scenario has.


def changed(at_s: float) -> dict[str, Any]:
    return {"rate_mbps": 20, "changes": [{"at_s": at_s, "rate_mbps": 5}]}


def started(*seconds: float) -> list[Measurement]:
    return [Measurement(1_000_000, 5.0, {"started_s": second}) for second in seconds]


@pytest.mark.parametrize(
    ("leg", "start", "change_s"),
    [
        (LEG, 9.0, None),
        ({"downlink": changed(3)}, 2.9, None),
        ({"downlink": changed(3)}, 3.1, 3),
        (LEG | {"uplink": changed(3)}, 3.1, 3),
        (down((2, 4)), 2.1, 2),
        (down((2, 4)), 9.0, 4),
        ({"downlink": changed(0.2)}, 1.0, None),  # a client may take a second to start
        ({"downlink": changed(0.2)}, 1.1, 0.2),
        ({"downlink": changed(0)}, 2.0, None),
        ({"downlink": changed(3)}, 3.0, 3),  # at the very moment is behind it
    ],
)
def test_a_change_or_an_outage_before_the_client_s_start_is_missed(
    leg: dict[str, Any], start: float, change_s: float | None, tmp_path: Path
) -> None:
    planned = scenario(legs=[LEG, leg])
    result = judge(blank_result(planned, tmp_path), planned, started(start), [900_000, 900_000])
    assert result.status == ("ok" if change_s is None else "failed")
    assert result.reason == (
        ""
        if change_s is None
        else f"client started {start:.2f} s after time zero, later than the scenario's change at "
        f"{change_s:g} s: the machine gave it too little processor time"
    )


def test_a_change_of_paths_is_missed_by_the_flow_that_has_them(tmp_path: Path) -> None:
    paths = {"initial": [1], "schedule": [{"at_s": 2, "open": 2}]}
    planned = scenario(mode="flows", flows=[{"mode": "dc"}, MULTIPATH | {"paths": paths}])
    flows = zip(planned.resolved_flows, (2.5, 0.3), strict=True)
    late = [late_start_reason(planned.legs, flow.paths, start_s) for flow, start_s in flows]
    assert late == [None] * 2
    result = judge(blank_result(planned, tmp_path), planned, started(0.3, 2.5), [0, 0])
    assert result.reason.startswith("flow-2: client started")
