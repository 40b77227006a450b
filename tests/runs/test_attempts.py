"""Runs that are tried again, and what is kept of the attempts before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from minitopo_dc.comparison_runs import run_all
from minitopo_dc.results import load_results
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runs.attempts import Retries, tried
from minitopo_dc.scenario import Scenario
from tests.results.synthetic_runs import no_result, result


def outcome(
    statuses: Sequence[str], directory: Path, retries: Retries
) -> tuple[str, dict[str, list[str]]]:
    left = iter(statuses)

    def once() -> RunResult:
        status = next(left)
        if status == "ok":
            return result()
        return no_result("tcp", "sc", status, f"why {status}")

    got = tried(once, directory, retries)
    kept = {name: got.details[name] for name in got.details if name.endswith("_attempts")}
    return got.status, kept


@pytest.mark.parametrize(
    ("statuses", "retries", "status", "kept"),
    [
        (["ok"], Retries(), "ok", {}),
        (["disturbed", "ok"], Retries(), "ok", {"disturbed_attempts": ["why disturbed"]}),
        (
            ["disturbed", "disturbed"],
            Retries(),
            "disturbed",
            {"disturbed_attempts": ["why disturbed"]},
        ),
        (["disturbed"], Retries(disturbed=0), "disturbed", {}),
        (["failed"], Retries(), "failed", {}),
        (
            ["failed", "disturbed", "ok"],
            Retries(failed=1),
            "ok",
            {"failed_attempts": ["why failed"], "disturbed_attempts": ["why disturbed"]},
        ),
        (["unsupported"], Retries(failed=3, disturbed=3), "unsupported", {}),
    ],
)
def test_a_run_is_tried_as_often_as_allowed(
    statuses: list[str],
    retries: Retries,
    status: str,
    kept: dict[str, list[str]],
    tmp_path: Path,
) -> None:
    assert outcome(statuses, tmp_path / "run", retries) == (status, kept)


def test_a_comparison_runs_again_what_was_disturbed_in_an_empty_directory(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def execute(_: Scenario, directory: Path) -> RunResult:
        directory.mkdir(parents=True, exist_ok=True)
        seen.append([path.name for path in directory.iterdir()])
        (directory / "left").mkdir()
        (directory / "left" / "log").touch()
        if len(seen) == 1:
            return no_result("quic", "sc", "disturbed", "this machine: paused")
        return result("quic", "sc")

    leg = {"downlink": {"rate_mbps": 9}}
    scenario = Scenario.check({"transport": "quic", "mode": "sc", "legs": [leg]}, "test")
    (run,) = run_all([(1, scenario)], tmp_path, execute, retry_disturbed=1)
    assert run.status == "ok"
    assert run.details["disturbed_attempts"] == ["this machine: paused"]
    assert seen == [[], []]
    (table,) = load_results(tmp_path).to_dict("records")
    assert table["repeats"] == 1
