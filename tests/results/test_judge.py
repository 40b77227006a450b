"""The result of a run by its workload, and the files of its rows."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.results.judge import blank_result, crashed, judge
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runners.base import accepted
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Measurement
from minitopo_dc.workloads.path_reports import PathSample
from minitopo_dc.workloads.request_response import request_rows

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}
REQUESTS = request_rows([(0.01, 0.03), (0.41, None), (0.81, 0.86)])
ECHOES = [
    {"leg": leg, "backhaul": 1, "time_s": time_s, "rtt_ms": 10.0 * leg}
    for leg in (1, 2)
    for time_s in (0.0, 1.0)
]
TRIPS = [{"leg": leg, "backhaul": 1, "sent": 2, "received": 2} for leg in (1, 2)]


def scenario(**fields: Any) -> Scenario:
    values: dict[str, Any] = {"transport": "quic", "mode": "dc", "legs": [LEG, LEG]}
    return Scenario.check(values | fields, "test")


def judged(
    wanted: Scenario, directory: Path, *measured: Measurement, legs: list[int] | None = None
) -> RunResult:
    """As a run does: each flow's own measurement is accepted by its workload."""
    flows = zip(wanted.resolved_flows, measured, strict=True)
    taken = [accepted(flow.workload, each) for flow, each in flows]
    return judge(blank_result(wanted, directory), wanted, taken, legs or [900_000, 900_000])


def requests(transport: str = "quic", mode: str = "dc", **more: Any) -> Scenario:
    workload = {"kind": "request-response", "count": 3}
    return scenario(transport=transport, mode=mode, workload=workload, **more)


def pings() -> Scenario:
    return scenario(transport="icmp", mode="sc", workload={"kind": "ping", "count": 2})


ASKED = Measurement(1500, 0.86, {"handshake_s": 0.009}, rows=REQUESTS)
PINGED = Measurement(0, 2.0, {"round_trips": TRIPS}, rows=ECHOES)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_requests_are_a_row_each_and_no_answer_is_an_empty_field(tmp_path: Path) -> None:
    judged(requests(), tmp_path, ASKED)
    rows = rows_of(tmp_path / "request-response.csv")
    assert list(rows[0]) == ["request", "sent_s", "answered_s", "delay_ms"]
    assert [row["request"] for row in rows] == ["1", "2", "3"]
    assert [row["answered_s"] for row in rows] == ["0.03", "", "0.86"]
    assert rows[1]["delay_ms"] == ""
    assert float(rows[2]["delay_ms"]) == pytest.approx(50)


def test_echoes_are_a_row_each(tmp_path: Path) -> None:
    judged(pings(), tmp_path, PINGED)
    rows = rows_of(tmp_path / "ping.csv")
    assert list(rows[0]) == ["leg", "backhaul", "time_s", "rtt_ms"]
    assert [(row["leg"], row["rtt_ms"]) for row in rows] == [
        *(("1", "10.0"), ("1", "10.0"), ("2", "20.0"), ("2", "20.0"))
    ]


def test_a_download_has_no_file_of_rows(tmp_path: Path) -> None:
    judged(scenario(), tmp_path, Measurement(10_000_000, 4.0))
    assert not list(tmp_path.iterdir())


def test_each_of_several_flows_has_its_rows_in_its_own_directory(tmp_path: Path) -> None:
    asking = {"mode": "dc", "workload": {"kind": "request-response", "count": 3}}
    wanted = scenario(mode="flows", flows=[{"mode": "sc"}, asking])
    judged(wanted, tmp_path, Measurement(10_000_000, 4.0), ASKED)
    assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*.csv")] == [
        Path("flow-2/request-response.csv")
    ]


def test_a_run_of_requests_has_delays_in_place_of_a_goodput(tmp_path: Path) -> None:
    result = judged(requests(), tmp_path, ASKED)
    assert (result.status, result.workload) == ("ok", "request-response")
    assert (result.goodput_mbps, result.capacity_share) == (None, None)
    assert (result.size_bytes, result.completion_s) == (1500, 0.86)
    found = {name: result.details[name] for name in ("requests", "answered", "unanswered")}
    assert found == {"requests": 3, "answered": 2, "unanswered": 1}
    assert result.details["delay_median_ms"] == pytest.approx(35)
    assert result.details["handshake_s"] == 0.009
    assert result.leg_bytes == [900_000, 900_000]


def test_a_run_of_pings_has_round_trips_in_place_of_a_goodput(tmp_path: Path) -> None:
    result = judged(pings(), tmp_path, PINGED)
    assert (result.status, result.workload) == ("ok", "ping")
    assert (result.goodput_mbps, result.capacity_share, result.size_bytes) == (None, None, 0)
    assert (result.details["sent"], result.details["received"]) == (4, 4)
    assert result.details["rtt_median_ms"] == 15.0
    assert result.details["round_trips"] == TRIPS


def test_before_its_end_a_run_of_requests_has_the_size_of_all_answers(tmp_path: Path) -> None:
    assert blank_result(requests(), tmp_path).size_bytes == 3 * 750
    assert blank_result(pings(), tmp_path).size_bytes == 0


def test_the_size_of_an_ok_run_is_what_was_answered(tmp_path: Path) -> None:
    assert judged(requests(), tmp_path, ASKED).size_bytes == 2 * 750


def test_requests_may_leave_a_path_of_a_multipath_transport_unused(tmp_path: Path) -> None:
    wanted = requests("mptcp", "multipath")
    assert judged(wanted, tmp_path, ASKED, legs=[30_000, 400]).status == "ok"


def test_a_download_whose_leg_carried_less_than_a_validation_has_fallen_back(
    tmp_path: Path,
) -> None:
    wanted = scenario(transport="mptcp", mode="multipath")
    result = judged(wanted, tmp_path, Measurement(10_000_000, 4.0), legs=[10_500_000, 400])
    assert (result.status, result.goodput_mbps) == ("failed", None)
    assert result.reason == (
        "the path on leg 2 was never validated, although 4 s were there: "
        "bytes per leg [10500000, 400]"
    )
    assert result.details == {"path_use": {"1": "used", "2": "not validated"}}
    assert result.leg_bytes == [10_500_000, 400]


def test_a_multipath_flow_of_requests_may_leave_a_path_unused(tmp_path: Path) -> None:
    asking = {"mode": "multipath", "transport": "mptcp"} | {
        "workload": {"kind": "request-response", "count": 3}
    }
    wanted = scenario(mode="flows", flows=[{"mode": "dc"}, asking])
    paths = {"paths": [{"leg": 1, "bytes_sent": 30_000}, {"leg": 2, "bytes_sent": 400}]}
    measured = replace(ASKED, details=paths)
    assert judged(wanted, tmp_path, Measurement(10_000_000, 4.0), measured).status == "ok"


def test_jain_s_index_is_of_the_flows_that_have_a_goodput(tmp_path: Path) -> None:
    asking = {"mode": "dc", "workload": {"kind": "request-response", "count": 3}}
    wanted = scenario(mode="flows", flows=[{"mode": "sc"}, {"mode": "sc"}, asking])
    half = Measurement(10_000_000, 8.0)
    result = judged(wanted, tmp_path, Measurement(10_000_000, 4.0), half, ASKED)
    assert [flow["goodput_mbps"] for flow in result.details["flows"]] == [20.0, 10.0, None]
    assert result.details["jain_index"] == pytest.approx(0.9)
    assert (result.goodput_mbps, result.completion_s) == (None, 8.0)


def test_one_flow_with_a_goodput_has_no_jain_s_index(tmp_path: Path) -> None:
    asking = {"mode": "dc", "workload": {"kind": "request-response", "count": 3}}
    wanted = scenario(mode="flows", flows=[{"mode": "sc"}, asking])
    details = judged(wanted, tmp_path, Measurement(10_000_000, 4.0), ASKED).details
    assert details["jain_index"] is None


def test_flows_without_any_goodput_have_no_jain_s_index(tmp_path: Path) -> None:
    asking = {"mode": "dc", "workload": {"kind": "request-response", "count": 3}}
    wanted = scenario(mode="flows", flows=[asking, asking])
    details = judged(wanted, tmp_path, ASKED, ASKED).details
    assert details["jain_index"] is None
    assert [flow["workload"] for flow in details["flows"]] == ["request-response"] * 2
    assert [flow["unanswered"] for flow in details["flows"]] == [1, 1]


@pytest.mark.parametrize("wanted", [requests(), pings()])
def test_a_result_without_a_goodput_is_read_again_as_it_was(
    wanted: Scenario, tmp_path: Path
) -> None:
    result = judged(wanted, tmp_path, PINGED if wanted.transport == "icmp" else ASKED)
    result.save(tmp_path)
    assert RunResult.load(tmp_path) == result


def scheduled(*events: tuple[float, str, int], **more: Any) -> Scenario:
    paths = {"initial": [1], "schedule": [{"at_s": at, what: leg} for at, what, leg in events]}
    return scenario(transport="mptcp", mode="multipath", paths=paths, **more)


@pytest.mark.parametrize(
    ("events", "legs", "reason"),
    [
        ((), [9_000_000, 400], ""),
        (((3.5, "open", 2),), [9_000_000, 400], ""),
        (
            ((1, "open", 2), (2, "backup", 2)),
            [9_000_000, 400],
            "the path on leg 2 was never validated",
        ),
        (((1, "open", 2), (1.9, "backup", 2)), [9_000_000, 400], ""),
        (((1, "open", 2),), [9_000_000, 400], "the path on leg 2 was never validated"),
        (
            ((1, "open", 2), (1.9, "abandon", 1)),
            [400, 9_000_000],
            "the path on leg 1 was never validated",
        ),
        ((), [9_000_000, 900_000], "leg 2 carried data, although the schedule opens no path on it"),
    ],
)
def test_with_a_schedule_the_legs_that_could_have_a_path_for_a_second_must_have_had_one(
    events: tuple[tuple[float, str, int], ...], legs: list[int], reason: str, tmp_path: Path
) -> None:
    result = judged(scheduled(*events), tmp_path, Measurement(10_000_000, 4.0), legs=legs)
    assert result.status == ("failed" if reason else "ok")
    assert result.reason.startswith(reason)


def test_the_second_counts_from_the_client_s_start_of_connecting(tmp_path: Path) -> None:
    late = Measurement(10_000_000, 4.0, {"started_s": 0.8})
    wanted = scheduled((0.5, "open", 2), (1.7, "abandon", 1))
    assert judged(wanted, tmp_path, late, legs=[400, 9_000_000]).status == "ok"


@pytest.mark.parametrize(("legs", "status"), [((1,), "failed"), ((1, 2), "ok")])
def test_beside_other_flows_a_schedule_is_judged_by_the_flow_s_own_paths(
    legs: tuple[int, ...], status: str, tmp_path: Path
) -> None:
    flow = {"mode": "multipath", "transport": "mptcp"} | {
        "paths": {"initial": [1], "schedule": [{"at_s": 1, "open": 2}]}
    }
    wanted = scenario(mode="flows", flows=[{"mode": "dc"}, flow])
    paths = [{"leg": leg, "bytes_sent": 9_000_000} for leg in legs]
    measured = Measurement(10_000_000, 4.0, {"paths": paths})
    result = judged(wanted, tmp_path, Measurement(10_000_000, 4.0), measured)
    assert result.status == status


def test_samples_of_paths_are_one_file_for_all_flows(tmp_path: Path) -> None:
    flow = {"mode": "multipath", "transport": "mptcp"}
    wanted = scenario(mode="flows", flows=[{"mode": "dc"}, flow])
    paths = [{"leg": leg, "bytes_sent": 5_000_000} for leg in (1, 2)]
    samples = [PathSample(0.5, leg, leg - 1, "open", bytes_sent=1) for leg in (1, 2)]
    measured = Measurement(10_000_000, 4.0, {"paths": paths}, path_samples=samples)
    judged(wanted, tmp_path, Measurement(10_000_000, 4.0), measured)
    assert [(row["flow"], row["leg"]) for row in rows_of(tmp_path / "paths.csv")] == [
        *(("2", "1"), ("2", "2"))
    ]


def down_leg(*outages: tuple[float, float], **fields: Any) -> dict[str, Any]:
    return LEG | {"outages": outages} | fields


@pytest.mark.parametrize(
    ("leg", "status"),
    [
        (down_leg((0, 60)), "ok"),
        (LEG | {"downlink": {"rate_mbps": 20, "outages": [[0, 60]]}}, "ok"),
        (LEG | {"uplink": {"rate_mbps": 20, "outages": [[0, 60]]}}, "ok"),
        (down_leg((0.9, 1.2), (2.1, 60)), "ok"),
        (down_leg((1, 60)), "failed"),
        (down_leg((0, 2.9)), "failed"),
        (down_leg((4, 60)), "failed"),
    ],
)
def test_a_leg_that_was_never_up_for_a_second_need_not_carry_data(
    leg: dict[str, Any], status: str, tmp_path: Path
) -> None:
    wanted = scenario(transport="mptcp", mode="multipath", legs=[LEG, leg])
    measured = Measurement(10_000_000, 4.0)
    assert judged(wanted, tmp_path, measured, legs=[9_000_000, 400]).status == status


def test_an_outage_outside_a_short_transfer_excuses_nothing(tmp_path: Path) -> None:
    wanted = scenario(transport="mptcp", mode="multipath", legs=[LEG, down_leg((2, 60))])
    measured = Measurement(10_000_000, 0.5)
    assert judged(wanted, tmp_path, measured, legs=[9_000_000, 400]).status == "failed"


@pytest.mark.parametrize(("outage", "status"), [((1.5, 3.5), "ok"), ((3, 4), "failed")])
def test_a_path_is_not_expected_to_be_used_while_its_leg_is_down(
    outage: tuple[float, float], status: str, tmp_path: Path
) -> None:
    wanted = scheduled((1, "open", 2), legs=[LEG, down_leg(outage)])
    measured = Measurement(10_000_000, 4.0)
    assert judged(wanted, tmp_path, measured, legs=[9_000_000, 400]).status == status


def test_beside_other_flows_a_leg_that_is_down_need_not_carry_data(tmp_path: Path) -> None:
    flows = [{"mode": "dc"}, {"mode": "multipath", "transport": "mptcp"}]
    wanted = scenario(mode="flows", flows=flows, legs=[LEG, down_leg((0, 60))])
    paths = [{"leg": 1, "bytes_sent": 9_000_000}, {"leg": 2, "bytes_sent": 0}]
    measured = Measurement(10_000_000, 4.0, {"paths": paths})
    assert judged(wanted, tmp_path, Measurement(10_000_000, 4.0), measured).status == "ok"


def judged_with_a_poor_leg(directory: Path, second_leg_mbps: float) -> RunResult:
    """A flow of 4 s of which not each path must carry data, and that left one unused."""
    wanted = scenario(
        transport="mptcp",
        mode="multipath",
        legs=[LEG, {"downlink": {"rate_mbps": second_leg_mbps}}],
        paths={"each_carries": False},
        workload={"size_mb": 1},
    )
    measured = Measurement(1_000_000, 4.0, {"started_s": 0.0})
    blank = blank_result(wanted, directory)
    return judge(blank, wanted, [measured], [1_000_000, 0])


def test_a_path_with_next_to_no_capacity_may_stay_unused_where_the_schedule_says_so(
    tmp_path: Path,
) -> None:
    assert judged_with_a_poor_leg(tmp_path, 0.5).status == "ok"


def test_a_path_that_was_worth_using_may_not(tmp_path: Path) -> None:
    result = judged_with_a_poor_leg(tmp_path, 5)
    assert (result.status, result.reason) == (
        "failed",
        "the path on leg 2 was never validated, although 4 s were there: "
        "bytes per leg [1000000, 0]",
    )


def test_an_error_in_a_user_s_file_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text('def read() -> int:\n    return {}["bytes"]\n', encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    with pytest.raises(KeyError) as caught:
        names["read"]()
    result = crashed(scenario(plugins=[str(path)]), tmp_path / "run", caught.value)
    assert result.reason == f"KeyError: 'bytes' ({path}:2)"
