"""The files of a run's directory, and what is read from them."""

from __future__ import annotations

import json
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.cli import main
from minitopo_dc.fields import SettingsError
from minitopo_dc.results.files import ResultError, read_csv
from minitopo_dc.results.kept_scenario import FOLDER, RECORD, load_as_run
from minitopo_dc.results.measures.utilisation import link_utilisation, open_capacity
from minitopo_dc.results.run_result import (
    COLUMNS,
    NUMBERS,
    RunResult,
    capacity_share,
    goodput_mbps,
    jain_index,
)
from minitopo_dc.scenario import Scenario
from minitopo_dc.virtual.run import run_virtual


def test_a_table_keeps_whole_numbers_of_64_bits_and_every_column(tmp_path: Path) -> None:
    path = tmp_path / "series.csv"
    path.write_bytes(f"a,b\r\n{2**63 - 1},open\r\n\r\n{-(2**63)},\r\n".encode())
    table = read_csv(tmp_path, path)
    assert list(table.columns) == ["a", "b"]
    assert table["a"].tolist() == [2**63 - 1, -(2**63)]
    assert table["b"].isna().tolist() == [False, True]


@pytest.mark.parametrize("text", ["", "a,b\n1,2,3\n", "a,b\n1,2\n1,2,3\n"])
def test_no_table_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "series.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ResultError, match=r"series\.csv: "):
        read_csv(tmp_path, path)


TRACE = "time_s,rate_mbps\n0,20\n2,10\n4,20\n6,15\n"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "elsewhere" / "a trace.csv"
    path.parent.mkdir()
    path.write_text(TRACE, encoding="utf-8")
    return path


def scenario(trace: Path) -> Scenario:
    legs = [{"downlink": {"trace": str(trace)}}, {"downlink": {"rate_mbps": 20}}]
    made = {"transport": "quic", "mode": "sc", "legs": legs, "workload": {"size_mb": 0.1}}
    return Scenario.check(made | {"clock": "virtual", "trace_offset_s": 1}, "test")


def moved(results: Path, trace: Path) -> Path:
    """Move results to another place, from which nobody reaches the trace."""
    trace.unlink()
    return Path(shutil.move(results, results.parent / "another machine"))


def test_a_run_is_read_without_its_trace(trace: Path, tmp_path: Path) -> None:
    run_virtual(scenario(trace), tmp_path / "run")
    before = link_utilisation(tmp_path / "run")
    run = moved(tmp_path / "run", trace)
    assert link_utilisation(run) == before
    assert main(["show", str(run)]) == 0
    (name,) = json.loads((run / RECORD).read_text(encoding="utf-8")).values()
    assert (run / FOLDER / name).read_text(encoding="utf-8") == TRACE


def test_neither_a_trace_that_changed_nor_a_damaged_copy_is_taken_for_the_run_s(
    trace: Path, tmp_path: Path
) -> None:
    run, other = tmp_path / "run", TRACE.replace("20", "40")
    run_virtual(scenario(trace), run)
    before = open_capacity(run)
    trace.write_text(other, encoding="utf-8")
    assert open_capacity(run) == before
    trace.write_text(TRACE, encoding="utf-8")
    (copy,) = (run / FOLDER).iterdir()
    copy.write_text(other, encoding="utf-8")
    assert open_capacity(run) == before
    assert load_as_run(run).legs[0].downlink.trace == trace
    shutil.rmtree(run / FOLDER)
    assert open_capacity(run) == before
    trace.write_text(other, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"traces/[0-9a-f]{16}-a_trace\.csv"):
        open_capacity(run)
    for record in ("[]", '{"a": "../b"}', '{"a": 1}', "{"):
        (run / RECORD).write_text(record, encoding="utf-8")
        with pytest.raises(SettingsError, match=RECORD):
            load_as_run(run)


def result(**changes: Any) -> RunResult:
    values = {"status": "ok", "reason": "", "seed": 1, "size_bytes": 8, "congestion_control": "x"}
    return RunResult(**{"transport": "tcp", "mode": "sc", **values, **changes})


def test_flows_have_their_goodputs_and_what_is_no_number_is_left_out() -> None:
    flows = [{"goodput_mbps": 3.0}, {"goodput_mbps": None}]
    run = result(details={"flows": flows, "jain_index": 0.9, "alpn": "h3", "tls": True})
    assert run.measures == {"jain_index": 0.9, "flow_1_goodput_mbps": 3.0}


def test_a_repeated_number_is_no_measure_and_a_failed_run_has_none() -> None:
    assert result(details={"completion_s": 4.0}).measures == result().measures
    assert result(status="failed", reason="it broke", details={"status": 200}).measures == {}


@given(st.dictionaries(st.sampled_from([field.name for field in fields(RunResult)]), st.integers()))
def test_no_detail_takes_the_name_of_a_column(details: dict[str, int]) -> None:
    assert not result(details=details).measures.keys() & (COLUMNS - {*NUMBERS})


SIZES = st.integers(1, 10**12)
SECONDS = st.floats(1e-3, 1e5)


@given(SIZES, SECONDS, st.integers(1, 10**12), st.integers(2, 9))
def test_goodput_grows_with_size_as_it_falls_with_time_and_is_a_share_of_the_capacity(
    size: int, seconds: float, bits: int, factor: int
) -> None:
    assert goodput_mbps(10_000_000, 4.0) == 20.0
    once = goodput_mbps(size, seconds)
    assert once * 1e6 * seconds / 8 == pytest.approx(size)
    assert goodput_mbps(size * factor, seconds) == pytest.approx(once * factor)
    assert goodput_mbps(size, seconds * factor) == pytest.approx(once / factor)
    assert capacity_share(size, bits) == pytest.approx(once / (bits / seconds / 1e6))


@given(st.lists(st.floats(0.1, 1000), min_size=1, max_size=9))
def test_jain_s_index_lies_between_one_has_all_and_all_have_the_same(goodputs: list[float]) -> None:
    assert 1 / len(goodputs) <= jain_index(goodputs) * (1 + 1e-9)
    assert jain_index(goodputs) <= 1 + 1e-9
    assert jain_index([*goodputs[:1] * 3]) == pytest.approx(1)
    assert jain_index([*goodputs[:1], 0, 0]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_transfer_takes_time_and_shares_something(seconds: float) -> None:
    with pytest.raises(ValueError, match="completion_s"):
        goodput_mbps(1, seconds)
    with pytest.raises(ValueError, match="available_bits"):
        capacity_share(1, 0)
    with pytest.raises(ValueError, match="goodputs"):
        jain_index([0, 0])
