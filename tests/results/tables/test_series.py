"""Time series, of one run and of all."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc import load
from minitopo_dc.campaign.campaign import Campaign
from minitopo_dc.files import CsvFile
from minitopo_dc.results import (
    ResultError,
    client_rate,
    leg_rates,
    leg_series,
    load_series,
    path_rates,
    path_series,
    pdcp_series,
)
from minitopo_dc.scenario import Scenario
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads.path_reports import COLUMNS, PathSample, path_rows
from tests.campaign.cases import batches
from tests.results.synthetic_runs import START_NS, result, save, save_element, save_rate

LEG_ROWS = [
    {"time_ns": time, "leg": leg, "delivered_bytes": leg * 1000}
    for time in (-NS_PER_S // 2, 0, NS_PER_S)
    for leg in (1, 2)
]


def write_rate(run: Path, *lines: str) -> Path:
    path = run / "client-rate.csv"
    path.write_text("\n".join(["time_s,received_bytes", *lines]) + "\n")
    return path


def test_a_steady_rate_is_flat_and_the_last_bin_low_when_the_transfer_ends_in_it(
    tmp_path: Path,
) -> None:
    save_rate(tmp_path, 1.1, lambda time: time * 2_500_000)
    rate = client_rate(tmp_path)
    assert list(rate["time_s"]) == [0.0, 0.5, 1.0]
    assert list(rate["rate_mbps"]) == pytest.approx([20.0, 20.0, 4.0])
    write_rate(tmp_path, "0,0", "0.3,300000", "1.7,1700000", "2,2000000")  # samples come late
    assert list(client_rate(tmp_path)["rate_mbps"]) == pytest.approx([8.0] * 4)
    save_rate(tmp_path, 2.0, lambda time: max(0.0, time - 1) * 1_250_000)
    assert list(client_rate(tmp_path)["rate_mbps"]) == pytest.approx([0, 0, 10, 10])
    write_rate(tmp_path)
    assert client_rate(tmp_path).empty


@given(
    samples=st.lists(
        st.tuples(st.integers(0, 5000), st.integers(0, 1_000_000)), min_size=1, max_size=40
    ),
    bin_s=st.sampled_from([0.1, 0.25, 0.5, 1.0]),
)
def test_the_bins_hold_every_byte(
    tmp_path_factory: pytest.TempPathFactory, samples: list[tuple[int, int]], bin_s: float
) -> None:
    run = tmp_path_factory.getbasetemp()
    times = accumulate(time for time, _ in samples)
    counts = list(accumulate(count for _, count in samples))
    write_rate(run, *(f"{time / 1000},{count}" for time, count in zip(times, counts, strict=True)))
    rate = client_rate(run, bin_s)["rate_mbps"]
    assert (rate >= 0).all()
    assert rate.sum() * bin_s * 1e6 / 8 == pytest.approx(counts[-1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time_s,received_bytes\n0,0\n0.1,x\n", "line 3: received_bytes: x is no number"),
        ("time_s,received_bytes\n0,0\n0.2,5\n0.1,6\n", "line 4: time_s"),
        ("time_s,received_bytes\n-0.1,0\n", "line 2: time_s"),
        ("time_s,received_bytes\n0,0,7\n1,9,8\n", "its rows are longer than its header"),
        ("time_s,bytes\n0,0\n", "no column received_bytes; has: time_s, bytes"),
        ("", ""),
    ],
)
def test_a_broken_file_is_an_error_that_names_it_and_the_place(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "client-rate.csv"
    path.write_text(text)
    with pytest.raises(ResultError, match=f"^{path}: .*{message}"):
        client_rate(tmp_path)


@pytest.mark.parametrize("bin_s", [0.0, -1.0, float("nan")])
def test_a_bin_must_have_a_length(tmp_path: Path, bin_s: float) -> None:
    with pytest.raises(ValueError, match="bin_s"):
        client_rate(tmp_path, bin_s)


def test_the_time_of_legs_and_bearers_counts_from_the_start_of_the_elements(tmp_path: Path) -> None:
    save_element(tmp_path, "gnb", "legs", LEG_ROWS)
    assert leg_series(tmp_path).to_dict("list") == {
        "time_s": [-0.5, -0.5, 0.0, 0.0, 1.0, 1.0],
        "leg": [1, 2] * 3,
        "delivered_bytes": [1000, 2000] * 3,
    }
    save_element(tmp_path, "ue", "receive", [{"time_ns": NS_PER_S, "bearer": 1, "delivered": 7}])
    assert pdcp_series(tmp_path).to_dict("records") == [
        {"time_s": 1.0, "bearer": 1, "delivered": 7}
    ]
    assert float(START_NS) + 1 == float(START_NS)  # and yet no nanosecond is lost
    save_element(tmp_path, "gnb", "legs", [{"time_ns": 1, "leg": 1, "delivered_bytes": 0}])
    assert list(leg_series(tmp_path)["time_s"]) == [1e-9]


def test_legs_that_counted_no_bytes_are_an_error_that_names_the_column(tmp_path: Path) -> None:
    save_element(tmp_path, "gnb", "legs", [{"time_ns": 0, "leg": 1, "delivered": 5}])
    with pytest.raises(ResultError, match=r"gnb-legs\.csv: .*delivered_bytes"):
        leg_series(tmp_path)


@pytest.mark.parametrize("content", [None, "{", "[]", "{}", '{"start_ns": null}'])
def test_a_missing_or_broken_summary_is_an_error_that_names_it(
    tmp_path: Path, content: str | None
) -> None:
    save_element(tmp_path, "gnb", "legs", LEG_ROWS)
    (tmp_path / "gnb-summary.json").unlink()
    if content is not None:
        (tmp_path / "gnb-summary.json").write_text(content)
    with pytest.raises(ResultError, match=r"gnb-summary\.json"):
        leg_series(tmp_path)


def test_each_leg_has_its_rate_and_nothing_from_before_the_start(tmp_path: Path) -> None:
    for host, mbps in (("gnb", {1: 8.0, 2: 16.0}), ("ue", {1: 1.0})):
        rows = [
            {
                "time_ns": tenth * NS_PER_S // 10,
                "leg": leg,
                "delivered_bytes": round(max(0, tenth) / 10 * rate * 1e6 / 8),
            }
            for tenth in range(-5, 11)
            for leg, rate in mbps.items()
        ]
        save_element(tmp_path, host, "legs", rows)
    rates = leg_rates(tmp_path)
    assert rates["leg"].tolist() == [1] * 5 + [2] * 5
    assert rates["time_s"].tolist() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8] * 2)
    assert rates["rate_mbps"].tolist() == pytest.approx([8.0] * 5 + [16.0] * 5)
    assert list(leg_rates(tmp_path, "uplink", bin_s=0.5)["rate_mbps"]) == pytest.approx([1.0] * 2)


# Paths.

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}
SCHEDULE = {"initial": [1], "schedule": [{"at_s": 1, "open": 2}, {"at_s": 2, "abandon": 1}]}


def samples(path: int, leg: int, begin_s: float, end_s: float, mbps: float) -> list[PathSample]:
    """A path at a steady rate, sampled each 100 ms."""
    return [
        PathSample(begin_s + n / 10, leg, path, "open", bytes_acked=round(n / 10 * mbps * 125_000))
        for n in range(round((end_s - begin_s) * 10) + 1)
    ]


def saved(run: Path, *paths: list[PathSample]) -> Path:
    values = {"transport": "mptcp", "mode": "multipath", "legs": [LEG, LEG], "paths": SCHEDULE}
    Scenario.check(values, "test").save(run / "scenario.yaml")
    with CsvFile(run / "paths.csv", COLUMNS) as file:
        for path in paths:
            file.add_all(path_rows(1, path))
    return run


def test_a_leg_s_rate_is_that_of_its_paths_one_after_the_other(tmp_path: Path) -> None:
    first, second, third = samples(0, 1, 0, 2, 8), samples(1, 2, 1, 4, 4), samples(2, 1, 3, 4, 2)
    rates = path_rates(saved(tmp_path, first, second, third), bin_s=1.0)
    assert list(rates.columns) == ["time_s", "flow", "leg", "rate_mbps"]
    assert list(rates[rates["leg"] == 1]["rate_mbps"]) == pytest.approx([8, 8, 0, 2])
    assert list(rates[rates["leg"] == 2]["rate_mbps"]) == pytest.approx([0, 4, 4, 4])
    rows = path_series(tmp_path)
    assert set(rows["state"]) == {"open"}
    assert rows["cwnd_bytes"].isna().all()  # an empty field is no number
    assert rows["bytes_acked"].notna().all()
    assert path_rates(saved(tmp_path)).empty


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "paths.csv"),
        ("time_s,flow\n0,1\n", "no column leg"),
        ("a,b\n1\n2,3,4\n", "paths.csv"),
    ],
)
def test_a_broken_file_of_paths_is_named(text: str | None, words: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "paths.csv").write_text(text)
    with pytest.raises(ResultError, match=words):
        path_series(tmp_path)


SETTINGS: dict[str, Any] = {"leg": 2, "pdcp.split": "", "pdcp.t_reordering_ms": None}


def two_runs(root: Path) -> Path:
    """One over leg 2 alone, one over both; a second of two rows each."""
    for run in (result("tcp", "sc", settings=SETTINGS), result("quic", "dc")):
        directory = save(root, run)
        rows = [
            {"time_ns": second * 10**9, "leg": leg, "delivered_bytes": 5, "queue_packets": leg}
            for second in (0, 1)
            for leg in (1, 2)
        ]
        for host in ("gnb", "ue"):
            save_element(directory, host, "legs", rows)
        save_rate(directory, 1, lambda time: time * 1e6)
    return root


def test_columns_are_chosen_and_keep_when_and_of_what(tmp_path: Path) -> None:
    table = load_series(load(two_runs(tmp_path)), "legs", ["queue_packets"])
    assert list(table)[-4:] == ["time_s", "direction", "leg", "queue_packets"]
    with pytest.raises(ResultError, match="queue; allowed: time_s, "):
        load_series(load(tmp_path), "legs", ["queue"])


def test_runs_of_a_campaign_have_its_labels(tmp_path: Path) -> None:
    runs = Campaign(tmp_path / "c", batches(2, 100)).run(jobs=1, progress=False)
    table = load_series(runs[runs["batch"] == 2], "legs", ["queue_packets"])
    assert list(table)[:2] == ["batch", "seed"]
    assert set(table["batch"]) == {2}


def test_files_of_flows_have_the_flows_number(tmp_path: Path) -> None:
    run = save(tmp_path, result(mode="flows"))
    for number in (1, 2):
        (run / f"flow-{number}").mkdir()
        rows = f"request,sent_s,answered_s,delay_ms\n1,0.1,,\n2,0.2,0.25,{number}\n"
        (run / f"flow-{number}" / "request-response.csv").write_text(rows)
    table = load_series(load(tmp_path), "request-response")
    assert table["flow"].tolist() == [1, 1, 2, 2]
    assert table["delay_ms"].dropna().tolist() == [1, 2]


def test_tcp_info_counts_from_the_elements_start(tmp_path: Path) -> None:
    run = two_runs(tmp_path) / "tcp-sc-1"
    begin = 7_000_000_000_000_000_123
    rows = f"time_ns,client_port,state,cwnd_bytes\n{begin + 500_000_000},1,open,3\n"
    (run / "tcp-info.csv").write_text(rows)
    table = load_series(load(tmp_path), "tcp-info")
    assert table[["time_s", "flow", "state", "cwnd_bytes"]].to_dict("records") == [
        {"time_s": 0.5, "flow": 1, "state": "open", "cwnd_bytes": 3}
    ]


def test_packets_without_and_with_numbers_are_one_table(tmp_path: Path) -> None:
    old, new = (path for path in sorted(two_runs(tmp_path).iterdir()) if path.is_dir())
    header, row = "time_ns,flow,direction,event,bytes", "500000000,1,downlink,sent,1400"
    (old / "packets.csv").write_text(f"{header}\n{row}\n")
    (new / "packets.csv").write_text(f"{header},packet\n{row},7\n")
    table = load_series(load(tmp_path), "packets", ["bytes"])
    assert table["bytes"].tolist() == [1400, 1400]
    assert table["packet"].dropna().tolist() == [7]


def test_an_unknown_series_and_one_that_nobody_recorded_are_errors(tmp_path: Path) -> None:
    two_runs(tmp_path)
    with pytest.raises(ResultError, match="leg; allowed: legs, transmit"):
        load_series(load(tmp_path), "leg")
    with pytest.raises(ResultError, match="paths"):
        load_series(load(tmp_path), "paths")
