from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.results import ResultError, client_rate, leg_series, pdcp_series
from minitopo_dc.units import NS_PER_S
from tests.results.synthetic_runs import START_NS, save_element, save_rate

LEG_ROWS = [
    {"time_ns": time, "leg": leg, "delivered_bytes": leg * 1000}
    for time in (-NS_PER_S // 2, 0, NS_PER_S)
    for leg in (1, 2)
]


def write_rate(run: Path, *lines: str) -> Path:
    path = run / "client-rate.csv"
    path.write_text("\n".join(["time_s,received_bytes", *lines]) + "\n")
    return path


def test_a_constant_rate_is_flat(tmp_path: Path) -> None:
    save_rate(tmp_path, 3.0, lambda time: time * 2_500_000)
    rate = client_rate(tmp_path)
    assert list(rate["time_s"]) == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    assert list(rate["rate_mbps"]) == pytest.approx([20.0] * 6)


def test_a_step_of_the_rate_is_in_its_bin(tmp_path: Path) -> None:
    save_rate(tmp_path, 2.0, lambda time: max(0.0, time - 1) * 1_250_000)
    assert list(client_rate(tmp_path)["rate_mbps"]) == pytest.approx([0, 0, 10, 10])


def test_samples_that_come_late_do_not_change_a_constant_rate(tmp_path: Path) -> None:
    write_rate(tmp_path, "0,0", "0.3,300000", "1.7,1700000", "2,2000000")
    assert list(client_rate(tmp_path)["rate_mbps"]) == pytest.approx([8.0] * 4)


def test_the_last_bin_is_low_when_the_transfer_ends_in_it(tmp_path: Path) -> None:
    save_rate(tmp_path, 1.1, lambda time: time * 2_500_000)
    assert list(client_rate(tmp_path)["rate_mbps"]) == pytest.approx([20.0, 20.0, 4.0])


def test_bytes_before_the_first_sample_are_counted(tmp_path: Path) -> None:
    write_rate(tmp_path, "0.2,1000", "0.4,1000")
    assert list(client_rate(tmp_path)["rate_mbps"]) == pytest.approx([0.016])


@given(
    samples=st.lists(
        st.tuples(st.integers(0, 5000), st.integers(0, 1_000_000)), min_size=1, max_size=40
    ),
    bin_s=st.sampled_from([0.1, 0.25, 0.5, 1.0]),
)
def test_the_bins_hold_every_byte(
    tmp_path_factory: pytest.TempPathFactory, samples: list[tuple[int, int]], bin_s: float
) -> None:
    run = tmp_path_factory.mktemp("run")
    times = accumulate(time for time, _ in samples)
    counts = list(accumulate(count for _, count in samples))
    write_rate(run, *(f"{time / 1000},{count}" for time, count in zip(times, counts, strict=True)))
    rate = client_rate(run, bin_s)["rate_mbps"]
    assert (rate >= 0).all()
    assert rate.sum() * bin_s * 1e6 / 8 == pytest.approx(counts[-1])


def test_a_transfer_that_never_began_has_no_rate(tmp_path: Path) -> None:
    write_rate(tmp_path)
    assert client_rate(tmp_path).empty


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0,0", "0.1,x"], "line 3: received_bytes: x is no number"),
        (["0,0", "0.1"], "line 3: received_bytes"),
        (["0,0", "0.2,5", "0.1,6"], "line 4: time_s"),
        (["0,5", "0.1,4"], "line 3: received_bytes"),
        (["-0.1,0"], "line 2: time_s"),
        (["0,0", "0.1,1,2"], "line 3"),
    ],
)
def test_a_broken_sample_is_an_error_that_names_file_line_and_column(
    tmp_path: Path, lines: list[str], message: str
) -> None:
    path = write_rate(tmp_path, *lines)
    with pytest.raises(ResultError, match=f"^{path}: .*{message}"):
        client_rate(tmp_path)


def test_an_empty_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "client-rate.csv").touch()
    with pytest.raises(ResultError, match=r"client-rate\.csv"):
        client_rate(tmp_path)


def test_a_missing_column_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "client-rate.csv").write_text("time_s,bytes\n0,0\n")
    with pytest.raises(ResultError, match="no column received_bytes; has: time_s, bytes"):
        client_rate(tmp_path)


def test_rows_that_are_longer_than_the_header_are_an_error_and_not_shifted(tmp_path: Path) -> None:
    (tmp_path / "client-rate.csv").write_text("time_s,received_bytes\n0,0,7\n1,9,8\n")
    with pytest.raises(ResultError, match=r"client-rate\.csv: its rows are longer than its header"):
        client_rate(tmp_path)


def test_legs_that_counted_no_bytes_are_an_error_that_names_the_column(tmp_path: Path) -> None:
    save_element(tmp_path, "gnb", "legs", [{"time_ns": 0, "leg": 1, "delivered": 5}])
    with pytest.raises(ResultError, match=r"gnb-legs\.csv: no column delivered_bytes; has: "):
        leg_series(tmp_path)


@pytest.mark.parametrize("bin_s", [0.0, -1.0, float("nan")])
def test_a_bin_must_have_a_length(tmp_path: Path, bin_s: float) -> None:
    with pytest.raises(ValueError, match="bin_s"):
        client_rate(tmp_path, bin_s)


def test_the_time_of_legs_counts_from_the_start_of_the_transfer(tmp_path: Path) -> None:
    save_element(tmp_path, "gnb", "legs", LEG_ROWS)
    series = leg_series(tmp_path)
    assert list(series["time_s"]) == [-0.5, -0.5, 0.0, 0.0, 1.0, 1.0]
    assert list(series["leg"]) == [1, 2] * 3
    assert "time_ns" not in series.columns


def test_columns_of_legs_keep_their_names(tmp_path: Path) -> None:
    save_element(tmp_path, "gnb", "legs", LEG_ROWS)
    assert list(leg_series(tmp_path).columns) == ["time_s", "leg", "delivered_bytes"]


def test_a_nanosecond_survives_a_clock_that_a_float_cannot_hold(tmp_path: Path) -> None:
    assert float(START_NS) + 1 == float(START_NS)
    save_element(tmp_path, "gnb", "legs", [{"time_ns": 1, "leg": 1, "delivered_bytes": 0}])
    assert list(leg_series(tmp_path)["time_s"]) == [1e-9]


def test_the_time_of_a_bearer_counts_from_the_start_of_the_transfer(tmp_path: Path) -> None:
    save_element(tmp_path, "ue", "receive", [{"time_ns": NS_PER_S, "bearer": 1, "delivered": 7}])
    assert pdcp_series(tmp_path).to_dict("records") == [
        {"time_s": 1.0, "bearer": 1, "delivered": 7}
    ]


def test_a_run_whose_element_left_no_summary_has_no_series(tmp_path: Path) -> None:
    save_element(tmp_path, "gnb", "legs", LEG_ROWS)
    (tmp_path / "gnb-summary.json").unlink()
    with pytest.raises(ResultError, match=r"gnb-summary\.json"):
        leg_series(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"start_ns": null}'])
def test_a_broken_summary_is_an_error_that_names_it(tmp_path: Path, content: str) -> None:
    save_element(tmp_path, "gnb", "legs", LEG_ROWS)
    (tmp_path / "gnb-summary.json").write_text(content)
    with pytest.raises(ResultError, match=r"gnb-summary\.json"):
        leg_series(tmp_path)
