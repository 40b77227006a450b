"""How much of the legs is used, and what limits it."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from minitopo_dc.clocks import run_scenario
from minitopo_dc.results import ResultError
from minitopo_dc.results.measures.account import reordering_wait_ms
from minitopo_dc.results.measures.limiting_factors import (
    SIGNS,
    Reason,
    needless_falls,
    signs,
    strongest_sign,
)
from minitopo_dc.results.measures.utilisation import (
    leg_utilisation,
    link_utilisation,
)
from minitopo_dc.scenario import Scenario
from tests.results.synthetic_runs import no_result, result, save, save_element
from tests.studies.digests import module

RUN = Path("run")


@pytest.mark.parametrize(
    ("first", "second", "percent"),
    [((300, 292, 1, 2), (100, 95, 5, 0), 2), ((0, 0, 0, 0), (0, 0, 0, 0), math.nan)],
)
def test_lost_is_what_all_legs_had_dropped_at_the_end(
    first: tuple[int, ...], second: tuple[int, ...], percent: float, tmp_path: Path
) -> None:
    names = ("pushed_packets", "delivered_packets", "dropped_queue", "dropped_radio")
    legs = {str(n): dict(zip(names, leg, strict=True)) for n, leg in enumerate((first, second), 1)}
    summarised(tmp_path, "gnb", {"legs": legs, "transmit": {}})
    summarised(tmp_path, "ue", {"receive": {}})
    measured = module("mesh", "judged").leg_loss_percent(tmp_path)
    assert measured == {"leg_loss_percent": pytest.approx(percent, nan_ok=True)}


def rows_of(series: str, counts: Callable[[int, int], int], tenths: range) -> list[dict[str, int]]:
    """Rows of two legs or bearers, whose delivered bytes follow from their number and the time."""
    return [
        {"time_ns": tenth * 10**8, series: number, "delivered_bytes": counts(number, tenth)}
        for tenth in tenths
        for number in ((1, 2) if series == "leg" else (1, 3))
    ]


def run_of(directory: Path, *downlinks: dict[str, Any], **changes: Any) -> Path:
    fields = changes.pop("fields", {})
    run = save(directory, result(**changes))
    legs = [{"downlink": downlink} for downlink in downlinks]
    values = {"transport": "quic", "mode": "dc", "legs": legs}
    Scenario.check(values | fields, "test").save(run / "scenario.yaml")
    return run


def test_the_utilisation_is_what_a_leg_carried_of_what_it_could_while_clients_ran(
    tmp_path: Path,
) -> None:
    run = run_of(
        tmp_path / "steady",
        {"rate_mbps": 20},
        {"rate_mbps": 10},
        completion_s=4.0,
        leg_bytes=[5_000_000, 1_000_000],
    )
    assert link_utilisation(run) == pytest.approx([0.5, 0.2])
    assert leg_utilisation(run, 2) == pytest.approx(0.2)
    assert math.isnan(leg_utilisation(run, 3))
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,rate_mbps\n0,100\n1,8\n3,100\n4,100\n")
    late = {"completion_s": 2.0, "leg_bytes": [1_000_000], "details": {"started_s": 1.0}}
    run = run_of(tmp_path / "late", {"trace": str(trace)}, fields={"mode": "sc"}, **late)
    assert link_utilisation(run) == pytest.approx([0.5])
    with pytest.raises(ValueError, match="status failed"):
        link_utilisation(save(tmp_path, no_result("quic", "dc", "failed", "it broke")))


def test_what_a_leg_delivers_behind_a_duration_is_not_used(tmp_path: Path) -> None:
    flows = [{"started_s": 0.5, "completion_s": 2.0}, {"started_s": 0.6, "completion_s": 1.9}]
    timed = {"mode": "flows", "workload": {"duration_s": 2.0}, "flows": [{"mode": "sc"}] * 2}
    ok = {"completion_s": 2.0, "leg_bytes": [5_500_000] * 2, "details": {"flows": flows}}
    run = run_of(tmp_path, {"rate_mbps": 20}, {"rate_mbps": 40}, fields=timed, **ok)
    # 20 Mbit/s from 0.5 s to the end, and 0.2 s longer from the queue.
    rows = rows_of("leg", lambda _, tenth: min(22, max(0, tenth - 5)) * 250_000, range(40))
    save_element(run, "gnb", "legs", rows)
    assert link_utilisation(run) == pytest.approx([1.0, 0.5])


def summarised(run: Path, host: str, content: object) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (run / f"{host}-summary.json").write_text(text)


@pytest.mark.parametrize(
    ("sent", "failures"),
    [({"failures_1": 2, "failures_2": 1, "pdus_1": 9}, 6), ({"pdus_1": 1}, math.nan)],
)
def test_failed_legs_are_counted_both_ways_where_they_are_looked_for(
    sent: dict[str, int], failures: float, tmp_path: Path
) -> None:
    for host in ("gnb", "ue"):
        summarised(tmp_path, host, {"transmit": {"1": sent}})
    measured = module("link_failure", "leg_failure").leg_failures(tmp_path)
    assert measured == {"leg_failures": pytest.approx(failures, nan_ok=True)}


WAITED = {"delivered": 300, "waiting_count": 100, "waiting_total_ns": 600_000_000}
AT_ONCE = {"delivered": 100, "waiting_count": 0, "waiting_total_ns": 0}


@pytest.mark.parametrize(
    ("measure", "received", "sent", "value"),
    [
        (reordering_wait_ms, {"1": WAITED, "3": AT_ONCE}, {}, 1.5),  # of all that was delivered
        (reordering_wait_ms, {}, {}, math.nan),  # without bearers
    ],
)
def test_a_measure_is_read_from_the_summaries(
    measure: Callable[[Path], Any], received: object, sent: object, value: Any, tmp_path: Path
) -> None:
    for host in ("gnb", "ue"):
        summarised(tmp_path, host, {"transmit": sent, "receive": received})
    assert measure(tmp_path) == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize(
    ("measure", "host", "spoilt"),
    [
        (reordering_wait_ms, "ue", '{"receive": {"1": {"delivered": 5}}}'),
    ],
)
def test_a_spoilt_summary_is_an_error_that_names_it(
    measure: Callable[[Path], Any], host: str, spoilt: str, tmp_path: Path
) -> None:
    for text in ("{", "[]", "{}", spoilt):
        summarised(tmp_path, host, text)
        with pytest.raises(ResultError, match=rf"{host}-summary\.json"):
            measure(tmp_path)


PLAIN = dict.fromkeys(SIGNS, 0.0) | {"bytes_per_byte": 1.05}


def test_the_strongest_sign_is_the_reason() -> None:
    worse = PLAIN | {"lost": 0.02, "waiting": 2.0}
    assert strongest_sign(worse, PLAIN) == Reason("waiting", 2.0, 0.0)
    lost = strongest_sign(worse | {"waiting": 0.1}, PLAIN)
    assert lost.sentence("DC") == "DC lost more packets (2 % for 0 %)."
    assert replace(lost, most="in the waiting buffer").sentence("DC") == (
        "DC lost more packets (2 % for 0 %, most in the waiting buffer)."
    )


@pytest.mark.parametrize("name", SIGNS)
def test_a_value_of_the_better_run_that_is_not_known_is_left_out(name: str) -> None:
    assert " for " in Reason(name, 0.5, 0.25).sentence("DC").rpartition("(")[2]
    assert " for " not in Reason(name, 0.5).sentence("DC").rpartition("(")[2]


def test_what_both_runs_show_is_no_reason() -> None:
    both = PLAIN | {"lost": 0.05}
    assert not strongest_sign(both, both).sign
    assert not strongest_sign(PLAIN, PLAIN).sentence("DC")


def test_what_was_not_recorded_is_no_reason_and_none_of_the_better_run() -> None:
    unknown = PLAIN | {"waiting": math.nan, "needless": math.nan}
    assert not strongest_sign(unknown, PLAIN).sign
    assert strongest_sign(PLAIN | {"waiting": 1.0}, unknown).sign == "waiting"


def test_a_window_that_falls_behind_a_drop_falls_for_a_reason() -> None:
    times = [0.1 * number for number in range(10)]
    windows = pd.DataFrame(
        {
            "time_s": times,
            "path": 1,
            "cwnd_bytes": [100, 100, 100, 50, 60, 70, 80, 40, 40, 40],
            "smoothed_rtt_ms": 20.0,
        }
    )
    losses = pd.DataFrame({"time_s": times, "part": "transmit 1", "lost": [0, 0, 1] + [1] * 7})
    assert needless_falls(windows, losses, 0.0) == 1
    assert needless_falls(windows, losses, 0.5) == 0
    assert math.isnan(needless_falls(windows.head(0), losses, 0.0))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Equal shares over legs of which one is much slower."""
    legs = [{"downlink": {"rate_mbps": 20, "delay_ms": 5}}] * 2
    legs[1] = {"downlink": {"rate_mbps": 4, "delay_ms": 50}}
    document = {
        "transport": "quic",
        "mode": "dc",
        "legs": legs,
        "workload": {"size_mb": 0.5},
        "clock": "virtual",
    }
    directory = tmp_path_factory.mktemp("signs") / "run"
    assert run_scenario(Scenario.check(document, "test"), directory).status == "ok"
    return directory


@pytest.mark.parametrize("workload", ["realtime", "under-load"])
def test_bytes_are_no_reason_where_others_than_those_of_the_content_count(
    workload: str, run: Path, tmp_path: Path
) -> None:
    other = shutil.copytree(run, tmp_path / "other")
    kept = json.loads((other / "result.json").read_text(encoding="utf-8"))
    (other / "result.json").write_text(json.dumps(kept | {"workload": workload}))
    assert math.isnan(signs(other)["bytes_per_byte"])
