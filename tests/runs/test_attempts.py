"""Runs that are tried again, and what is kept of the attempts before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runs.perform import Retries, tried
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


def test_each_attempt_has_an_empty_directory(tmp_path: Path) -> None:
    seen: list[bool] = []

    def once() -> RunResult:
        seen.append(tmp_path.joinpath("run").exists())
        (tmp_path / "run" / "left").mkdir(parents=True)
        return no_result("quic", "sc", "disturbed", "this machine: paused")

    tried(once, tmp_path / "run", Retries(disturbed=2))
    assert seen == [False] * 3
