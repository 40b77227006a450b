"""Results can be read wherever they are moved: the traces of their runs are kept with them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from minitopo_dc.cli import main
from minitopo_dc.fields import SettingsError
from minitopo_dc.results.kept_scenario import FOLDER, RECORD, load_as_run
from minitopo_dc.results.measures.utilisation import link_utilisation, open_capacity
from minitopo_dc.scenario import Scenario
from minitopo_dc.virtual.run import run_virtual

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
    with pytest.raises(SettingsError, match=r"traces/[0-9a-f]{16}-a_trace\.csv: No such file"):
        open_capacity(run)
    for record in ("[]", '{"a": "../b"}', '{"a": 1}', "{"):
        (run / RECORD).write_text(record, encoding="utf-8")
        with pytest.raises(SettingsError, match=RECORD):
            load_as_run(run)
