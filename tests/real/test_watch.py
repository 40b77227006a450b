"""What the watch sees of processes that are stopped, kept busy, or idle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from minitopo_dc.real import watch
from minitopo_dc.real.watch import RECOVERY_S, Sample, Watch, _part, _Process
from minitopo_dc.results.trust import LIMITS_VARIABLE, Evidence, Limits, Part, judge_trust

MS = 1_000_000
HARDLY_S = 0.1
"""Longer than a program that sleeps waits for a processor, also where the machine is busy."""


@contextmanager
def program(code: str) -> Iterator[int]:
    words = [sys.executable, "-c", f"import time; print(flush=True); {code}"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()  # its start may take all of a processor
            yield process.pid
        finally:
            process.kill()


def watched(pid: int, *, stopped_s: float = 0.0, seconds: float = 0.8) -> Evidence:
    with Watch() as watching:
        watching.add("client", pid)
        begin = time.monotonic_ns()
        time.sleep(0.2)
        if stopped_s:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(stopped_s)
            os.kill(pid, signal.SIGCONT)
        time.sleep(seconds - stopped_s)
        end = time.monotonic_ns()
    return watching.evidence(begin, end, {"gnb": [(end - MS, 10 * MS)]})


def test_a_stop_is_seen_in_full() -> None:
    with program("time.sleep(60)") as pid:
        part = watched(pid, stopped_s=0.3).parts["client"]
    assert 0.2 < part.stopped_s < 0.5
    assert part.saturated_s < HARDLY_S


def test_a_program_that_never_pauses_is_saturated_and_one_that_sleeps_is_not() -> None:
    with program("exec('while True: pass')") as pid:
        busy = watched(pid).parts["client"]
    with program("time.sleep(60)") as pid:
        idle = watched(pid).parts["client"]
    assert busy.saturated_s > 0.3
    assert busy.stopped_s == 0
    assert idle.saturated_s < HARDLY_S
    assert idle.stopped_s == 0


def test_what_a_child_had_used_stays_when_it_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    alive = {1: {1: (10, 1)}, 7: {7: (50, 3), 8: (5, 0)}}
    process = _Process(1, pids=[1, 7])
    monkeypatch.setattr(watch, "_state", lambda _: "S")
    monkeypatch.setattr(watch, "_times", lambda pid: alive[pid])
    process.look(0)
    process.pids, alive[1] = [1], {1: (12, 1)}
    process.look(1)
    assert [(each.ran_ns, each.waited_ns) for each in process.samples] == [(65, 4), (67, 4)]


def test_stalls_of_elements_count_within_the_window() -> None:
    with program("time.sleep(60)") as pid:
        assert watched(pid).stalled_s["gnb"] == pytest.approx(0.01)


def test_the_second_program_of_a_host_has_a_number() -> None:
    several = Watch()
    for pid in (1, 2, 3):
        several.add("client", pid)
    assert list(several.pids()) == ["client", "client-2", "client-3"]


def samples(*waits_ms: int) -> list[Sample]:
    """One each 50 ms, with what the process waited in between."""
    found = [Sample(0, 0, 0, "S")]
    for wait in waits_ms:
        last = found[-1]
        found.append(Sample(last.at_ns + 50 * MS, 0, last.waited_ns + wait * MS, "S"))
    return found


def test_only_long_waits_delay() -> None:
    part = _part(samples(1, 9, 10, 40))
    assert part == Part(ran_s=0, waited_s=0.06, delayed_s=0.05, stopped_s=0, saturated_s=0)


def evidence_of(states: dict[str, str], stalls: dict[str, list[tuple[int, int]]]) -> Evidence:
    """The evidence of 5 s, of processes whose states are given each 50 ms, from 1 s on."""
    watching = Watch()
    for part, letters in states.items():
        watching.add(part, 1)
        watching._processes[part].samples += [
            Sample(n * 50 * MS, 0, 0, letters[n - 20] if 0 <= n - 20 < len(letters) else "S")
            for n in range(121)
        ]
    watching._machine += [watch._machine(n * 50 * MS) for n in range(121)]
    return watching.evidence(500 * MS, 5500 * MS, stalls)


@pytest.mark.parametrize(
    ("states", "stalls", "seconds"),
    [
        ({"server": "TTTT"}, {}, 0.2 + RECOVERY_S),
        ({"server": "TTTT", "client": "TTTT"}, {}, 0.2 + 2 * RECOVERY_S),
        ({"server": "TT", "client": "SSTT"}, {}, 0.2 + 2 * RECOVERY_S),
        ({"server": "TSSST"}, {}, 0.1 + 2 * RECOVERY_S),
        ({"gnb": "TTTT"}, {"gnb": [(1150 * MS, 200 * MS)]}, 0.2 + RECOVERY_S),
        ({"server": "D"}, {}, 0.05),
        ({"server": "S"}, {"gnb": [(2000 * MS, 50 * MS)], "ue": [(3000 * MS, 50 * MS)]}, 0.1),
    ],
)
def test_disturbances_add_up_and_what_happens_at_once_counts_once(
    states: dict[str, str], stalls: dict[str, list[tuple[int, int]]], seconds: float
) -> None:
    assert evidence_of(states, stalls).held_up_s == pytest.approx(seconds)


@pytest.mark.parametrize(("samples_stopped", "verdict"), [(3, "clean"), (4, "disturbed")])
def test_a_stop_that_may_cost_5_percent_of_the_transfer_disturbs_it(
    samples_stopped: int, verdict: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shipped = tmp_path / "limits.yaml"
    Limits().save(shipped)
    monkeypatch.setenv(LIMITS_VARIABLE, str(shipped))
    seen = replace(evidence_of({"server": "T" * samples_stopped}, {}), stolen_s=0, backlog_drops=0)
    assert judge_trust(seen)["verdict"] == verdict
