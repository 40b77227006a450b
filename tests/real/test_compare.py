"""The main job, small: every transport and mode on real packets, from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from minitopo_dc import load
from minitopo_dc.runners.base import get_runner
from tests import long

pytestmark = pytest.mark.root
COMMAND = [sys.executable, "-m", "minitopo_dc.cli"]
SMALL = ["--size", "2", "--repetitions", "1", "--legs", "10", "10"]
FEW = ("quic", "mptcp")
ALL = ("tcp", *FEW, "mpquic-picoquic", "mpquic-noq")
ON_BEARERS = ("sc", "dc", "dc-duplicate")


@pytest.fixture(scope="module", params=[FEW, long(ALL)], ids=len)
def comparison(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[dict[str, Any]]]:
    """One comparison of several transports in all of their modes."""
    output = tmp_path_factory.mktemp("compare") / "result"
    names = ["--transports", *request.param, "--split", "batch"]
    modes = [*names, "--modes", "sc", "dc", "dc-duplicate", "multipath"]
    command = [*COMMAND, "compare", *SMALL, *modes, "--output", str(output), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {(row["transport"], row["mode"]) for row in rows} == {
        (transport, mode)
        for transport in request.param
        for mode in (ON_BEARERS if transport in ("tcp", "quic") else ("multipath",))
    }
    return output, rows


def test_what_this_machine_can_run_is_ok_with_numbers_and_the_rest_unsupported_with_a_reason(
    comparison: tuple[Path, list[dict[str, Any]]],
) -> None:
    for row in comparison[1]:
        reason = get_runner(row["transport"]).run_obstacle("cubic")
        expected = "ok" if reason is None else "unsupported"
        assert (row["status"], row["reason"]) == (expected, reason or "")
        numbers = (row["goodput_mbps"], row["completion_s"], row["leg_bytes"])
        assert all(number is not None for number in numbers) == (row["status"] == "ok")
        if row["status"] == "ok":
            first, second = row["leg_bytes"]
            assert first > 500_000
            assert (second > 500_000) == (row["mode"] != "sc")


def test_splitting_is_faster_than_one_leg_and_than_copies(
    comparison: tuple[Path, list[dict[str, Any]]],
) -> None:
    goodput = {(row["transport"], row["mode"]): row["goodput_mbps"] for row in comparison[1]}
    for transport in {"tcp", "quic"} & {transport for transport, _ in goodput}:
        sc, dc, duplicate = (goodput[transport, mode] for mode in ON_BEARERS)
        assert dc > max(sc, duplicate)


def test_the_results_directory_holds_tables_figure_and_a_directory_per_run(
    comparison: tuple[Path, list[dict[str, Any]]],
) -> None:
    output, rows = comparison
    table = load(output)
    assert len(table) == len(pd.read_csv(output / "runs.csv")) == len(rows)
    assert (output / "goodput.png").stat().st_size > 10_000
    run = Path(next(row["directory"] for row in rows if row["mode"] == "dc"))
    assert str(run.relative_to(output)) in set(table["run"])
    expected = {"scenario.yaml", "environment.json", "result.json", "client-rate.csv"}
    expected |= {"gnb-legs.csv", "ue-legs.csv", "gnb-transmit.csv", "ue-receive.csv"}
    assert expected <= {path.name for path in run.iterdir()}
