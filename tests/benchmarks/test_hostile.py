"""`python -m benchmarks.hostile`, a little: its inputs are right before they are changed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from benchmarks.hostile import __main__ as hostile
from benchmarks.hostile import given, inputs, kills, stores

LEG = {"rate_mbps": 20, "outages": [[1, 2]], "jitter": "normal"}
TRIED = 12
"""Seeds: each base is chosen by one of them."""
WAITS_S = 10


def run(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    """The rows of a benchmark that finds no fault."""
    status = hostile.main([*words, "--json"])
    report = json.loads(capsys.readouterr().out)
    assert (report["faults"], status) == ([], 0)
    rows: list[dict[str, Any]] = report["rows"]
    return rows


def test_malformed_input_is_counted_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    rows = run(capsys, "inputs", "--count", "12", "--kinds", "scenario", "options")
    assert [row["kind"] for row in rows] == ["scenario", "options"]
    assert [row["accepted"] + row["refused"] for row in rows] == [6, 6]


@pytest.mark.long
@pytest.mark.parametrize("kind", inputs.KINDS)
def test_every_input_is_right_unless_it_is_changed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is refused is refused for its change."""

    def written(_: Random, document: Any, path: Path, __: Any) -> Path:
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        return path

    monkeypatch.setattr(given, "written", written)
    monkeypatch.setattr(given, "near_text", lambda _, text: text)
    monkeypatch.setattr(given, "garbled", lambda _, text: text)
    monkeypatch.setattr(given, "HOSTILE", ("1",))
    monkeypatch.setattr(given, "GARBLED", 0)
    monkeypatch.setattr(stores, "_damage", lambda *_: None)
    for seed in range(TRIED):
        place = tmp_path / str(seed)
        place.mkdir()
        case = inputs.attempt(kind, seed, place)
        assert (case.words, case.outcome) == ("", "accepted"), seed


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
    kills.BLOWS["stop"](process.pid, Random(1), ExitStack())
    assert states == ["T"]
    deadline = time.monotonic() + WAITS_S
    while state(process.pid) == "T":
        assert time.monotonic() < deadline
    assert process.poll() is None


def test_a_process_that_has_gone_is_missed() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name in ("SIGTERM", "stop", "limit"):
        with ExitStack() as stack, pytest.raises(OSError, match=r".+"):
            kills.BLOWS[name](gone.pid, Random(1), stack)


@pytest.mark.parametrize(
    ("blow", "result", "code", "wrong"),
    [
        ("stop", {"status": "ok", "size_bytes": kills.SIZE}, 0, ""),
        ("hogs", {"status": "disturbed", "size_bytes": kills.SIZE}, 0, ""),
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
    counts: Counter[str] = Counter()
    faults = kills.judge(tmp_path, code, kills.Blow("client", blow), counts)
    assert [wrong in fault for fault in faults] == [True] * bool(wrong)
    assert counts["no result" if result is None else result["status"]] == 1


@pytest.mark.long
@pytest.mark.root
def test_a_killed_host_is_named_and_nothing_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    [row] = run(capsys, "kills", "--count", "1", "--victims", "host", "--blows", "SIGKILL")
    assert (row["hit"], row["missed"], row["failed"]) == (1, 0, 1)
