"""What `python -m benchmarks.hostile kills` does to processes, and how it judges their runs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks.hostile import campaign
from benchmarks.hostile.kills import blows, runs
from benchmarks.hostile.kills.blows import BLOWS

WAITS_S = 10


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    made = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield made
    made.kill()
    made.wait()


def state(pid: int) -> str:
    """Of proc(5), field 3."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_stopped_process_goes_on(
    process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    states: list[str] = []

    def sleep(_: float) -> None:
        deadline = time.monotonic() + WAITS_S
        while state(process.pid) != "T" and time.monotonic() < deadline:
            pass
        states.append(state(process.pid))

    monkeypatch.setattr(time, "sleep", sleep)
    BLOWS["stop"](process.pid, Random(1), ExitStack())
    assert states == ["T"]
    deadline = time.monotonic() + WAITS_S
    while state(process.pid) == "T":
        assert time.monotonic() < deadline
    assert process.poll() is None


def test_hogs_end_with_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []
    popen = subprocess.Popen

    def begin(words: list[str]) -> Any:
        begun.append(popen(words))
        return begun[-1]

    monkeypatch.setattr(subprocess, "Popen", begin)
    monkeypatch.setattr(blows, "NICE", (0,))
    monkeypatch.setattr(blows, "HOGS_S", (0.01, 0.02))
    BLOWS["hogs"](0, Random(1), ExitStack())
    assert begun
    assert {each.returncode for each in begun} == {-signal.SIGKILL}


def test_a_process_that_has_gone_is_missed() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name in ("SIGTERM", "stop", "limit"):
        with ExitStack() as stack, pytest.raises(OSError, match=r".+"):
            BLOWS[name](gone.pid, Random(1), stack)


@pytest.mark.parametrize(
    ("blow", "result", "code", "wrong"),
    [
        ("stop", {"status": "ok", "size_bytes": runs.SIZE}, 0, ""),
        ("hogs", {"status": "disturbed", "size_bytes": runs.SIZE}, 0, ""),
        ("limit", {"status": "failed", "reason": "too slow", "goodput_mbps": None}, 1, ""),
        ("limit", {"status": "failed", "reason": " ", "goodput_mbps": None}, 1, "does not name"),
        ("stop", {"status": "disturbed", "size_bytes": 5}, 0, "disturbed, 5 bytes"),
        ("stop", None, 1, "exit status 1"),
        ("SIGKILL", {"status": "failed", "reason": "slow", "goodput_mbps": None}, 1, "not name"),
        ("SIGKILL", {"status": "failed", "reason": "client: x", "goodput_mbps": None}, 1, ""),
    ],
)
def test_a_run_is_judged_by_what_happened_to_it(
    blow: str, result: dict[str, Any] | None, code: int, wrong: str, tmp_path: Path
) -> None:
    if result is not None:
        (tmp_path / "result.json").write_text(json.dumps(result))
    row = runs._Row()
    hit = runs.Blow("client", blow, Random(1), ExitStack())
    faults = runs._wrong_result(tmp_path, code, hit, row)
    assert [wrong in fault for fault in faults] == [True] * bool(wrong)
    assert row.counts["no result" if result is None else result["status"]] == 1


@pytest.mark.slow
def test_a_campaign_survives_a_dask_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "SEEDS", [1])
    report = campaign.run(1, 1, ["Dask worker is killed"])
    assert (list(report.faults), report.rows[0]["campaigns"]) == ([], 1)
