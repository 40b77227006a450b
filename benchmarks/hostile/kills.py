"""Blows at random moments to what a run on the real clock consists of (root).

A run of 4 s is begun; at a random moment of its life one of its processes is hit. Then the command
has to end by itself within `MAX_S` of a signal, its result to be right (the whole content arrived,
or it failed and names what was hit, or there is none), and `minitopo-dc clean` to leave nothing.
Of a process that stood still or had no CPU time the run ends as ok, as disturbed, or as failed with
a reason, however long that takes within `PATIENCE_S`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from benchmarks.hostile import Report
from minitopo_dc.real.network.cpu_limit import cpu_limit
from minitopo_dc.real.run_registry import clean

COMMAND = (sys.executable, "-c", "from minitopo_dc.cli import main; raise SystemExit(main())")
"""As the installed script; behind `-m` Python itself may end by SIGINT."""
MAX_S = 15.0
"""From the signal to the command's end."""
PATIENCE_S = 120.0
"""For any other run, on a busy machine; also behind a limit of its CPU time."""
TIMEOUT_S = 45
"""The run's own: less than what this waits."""
MOMENT_S = 1.0
"""So long the last processes may take to see that the command has ended, and end."""
STOPS_S = 0.1, 3.0
HOGS_S = 0.5, 5.0
LIMITS_PERCENT = 10, 100
NICE = 0, -20
MAX_CPU_S = 60
"""Of a process that only takes time, should nobody end it."""
HOG = ("sh", "-c", f"ulimit -t {MAX_CPU_S}; while :; do :; done")
LEG = {"downlink": {"rate_mbps": 4}}
SIZE = 4_000_000
"""Bytes of the download, which takes 4 s."""
SCENARIO = {
    "transport": "tcp",
    "mode": "dc",
    "clock": "real",
    "legs": [LEG, LEG],
    "workload": {"size_mb": SIZE / 1e6},
    "timeout_s": TIMEOUT_S,
}
MARK = "HOSTILE_BENCHMARK"
"""An environment variable by which a command's processes are found, also those it has lost."""
ARRIVED = ("ok", "disturbed")
"""Statuses of a result whose whole content arrived."""
COUNTED = ("hit", "missed", "ok", "disturbed", "failed", "no result", "wrong", "left")
Strike = Callable[[int, Random, ExitStack], None]
"""Does it to a process; what is to be undone when the run has ended is pushed on the stack.

OSError: it cannot be done to this process, e.g. because it has ended.
"""


class Victim(NamedTuple):
    """A kind of process that is hit."""

    name: str
    """What a failure has to have in its reason."""
    word: str
    """A word of its command line; empty: the command itself."""
    lives_s: float
    """About how long it lives (s), so that a blow can hit at any moment of its life."""


VICTIMS = {
    "command": Victim("", "", 6),
    "gnb": Victim("element on gnb", "gnb-element.yaml", 6),
    "ue": Victim("element on ue", "ue-element.yaml", 6),
    "client": Victim("client", "--cacert", 4),
    "server": Victim("server", "runners.tcp.server", 4.5),
    "host": Victim("host ", "mininet:", 7),
}


def _signal(number: signal.Signals) -> Strike:
    return lambda pid, _rng, _stack: os.kill(pid, number)


def _stop(pid: int, rng: Random, _: ExitStack) -> None:
    """Stop a process by SIGSTOP, and continue it some time later by SIGCONT."""
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(rng.uniform(*STOPS_S))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _hogs(_: int, rng: Random, __: ExitStack) -> None:
    """Run as many busy processes as processors for some time, whatever the victim is."""
    nice = ("nice", "-n", str(rng.choice(NICE)))
    hogs = [subprocess.Popen([*nice, *HOG]) for _ in range(os.cpu_count() or 1)]
    try:
        time.sleep(rng.uniform(*HOGS_S))
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def _limit(pid: int, rng: Random, stack: ExitStack) -> None:
    """Limit a process to a share of one CPU to its end, without real-time priority."""
    os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
    stack.enter_context(cpu_limit(rng.uniform(*LIMITS_PERCENT))).add(pid)


SIGNALS = {
    number.name: _signal(number) for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
}
BLOWS: dict[str, Strike] = {**SIGNALS, "stop": _stop, "hogs": _hogs, "limit": _limit}


class Blow(NamedTuple):
    """What happens to a run: one of `BLOWS` to one of `VICTIMS`."""

    victim: str
    name: str

    @property
    def kills(self) -> bool:
        """Return whether it is a signal that ends its victim."""
        return self.name in SIGNALS


class Marked:
    """A command in the background, and all that it started.

    Args:
        words: of the command.
        output: gets its standard output and error.
    """

    def __init__(self, words: Sequence[str], output: Path) -> None:
        value = uuid.uuid4().hex
        self._mark = f"{MARK}={value}".encode()
        with output.open("wb") as file:
            self.process = subprocess.Popen(
                words, stdout=file, stderr=file, env={**os.environ, MARK: value}
            )

    @property
    def has_ended(self) -> bool:
        """Return whether the command has ended; others of its processes may be there."""
        return self.process.poll() is not None

    def handles(self, number: int) -> bool:
        """Return whether the command handles a signal (proc(5)), as Python needs a moment to."""
        status = _proc(self.process.pid, "status").decode().splitlines()
        caught = next((line.split()[1] for line in status if line.startswith("SigCgt")), "0")
        return bool(int(caught, 16) >> (number - 1) & 1)

    def others(self) -> list[int]:
        """Return the processes that it started, and theirs."""
        pids = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
        return [
            pid
            for pid in pids
            if pid != self.process.pid and self._mark in _proc(pid, "environ").split(b"\0")
        ]

    def victims(self, victim: str) -> list[int]:
        """Return its processes of a kind of victim."""
        word = VICTIMS[victim].word.encode()
        if not word:
            return [self.process.pid]
        return sorted(pid for pid in self.others() if word in _proc(pid, "cmdline"))


def _proc(pid: int, name: str) -> bytes:
    """Return a file of proc(5), empty for a process that has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def run(count: int, seed: int, victims: Sequence[str], blows: Sequence[str]) -> Report:
    """Run `count` runs, over all victims and blows in turn; return the report."""
    counts: dict[Blow, Counter[str]] = {}
    longest_s: dict[Blow, float] = {}
    faults = []
    for number in range(seed, seed + count):
        turn, place = divmod(number, len(victims))
        blow = Blow(victims[place], blows[turn % len(blows)])
        options = f"--seed {number} --victims {' '.join(victims)} --blows {' '.join(blows)}"
        counted = counts.setdefault(blow, Counter())
        wrong, took_s = _try(blow, Random(number), counted)
        longest_s[blow] = max(longest_s.get(blow, 0.0), round(took_s, 1))
        faults += [f"--count 1 {options} ({blow.victim}, {blow.name}): {word}" for word in wrong]
    rows = [
        {
            "victim": blow.victim,
            "blow": blow.name,
            **{name: counted[name] for name in COUNTED},
            "longest end s": longest_s[blow],
        }
        for blow, counted in sorted(counts.items())
    ]
    return rows, faults


def _try(blow: Blow, rng: Random, counts: Counter[str]) -> tuple[list[str], float]:
    """Run one run; return what was wrong with it, and how long (s) it took to end."""
    with ExitStack() as undone:
        directory = Path(undone.enter_context(tempfile.TemporaryDirectory()))
        (directory / "file.yaml").write_text(yaml.safe_dump(SCENARIO))
        words = [*COMMAND, "run", f"{directory}/file.yaml", "--output", f"{directory}/out"]
        command = Marked(words, directory / "output")
        try:
            is_hit = _hit(command, blow, rng, undone)
            counts["hit" if is_hit else "missed"] += 1
            begin = time.monotonic()
            patience = MAX_S if is_hit and blow.kills else PATIENCE_S
            try:
                code = command.process.wait(patience)
            except subprocess.TimeoutExpired:
                counts["wrong"] += 1
                return [f"no end within {patience:g} s"], 0.0
            took_s = time.monotonic() - begin if is_hit else 0.0
            faults = _left(command, counts)
            faults += judge(directory / "out", code, blow if is_hit else None, counts)
            output = (directory / "output").read_text(errors="replace")
            if faults or "Traceback" in output:
                faults.append(f"it printed: {output[-500:]!r}")
            return faults, took_s
        finally:
            command.process.kill()
            command.process.wait()
            clean()


def _hit(command: Marked, blow: Blow, rng: Random, undone: ExitStack) -> bool:
    """Hit at a random moment from when the victim is there; return False when it has gone."""
    _await(command, lambda: command.handles(signal.SIGTERM))
    _await(command, lambda: bool(command.victims(blow.victim)))
    time.sleep(rng.uniform(0, VICTIMS[blow.victim].lives_s))
    pids = command.victims(blow.victim)
    if not pids or command.has_ended:
        return False
    try:
        BLOWS[blow.name](rng.choice(pids), rng, undone)
    except OSError:  # it has just gone, or cannot be limited
        return False
    return True


def _await(command: Marked, condition: Callable[[], bool]) -> None:
    """Return when a condition holds, or never can."""
    while not command.has_ended and not condition():
        time.sleep(0.005)


def _left(command: Marked, counts: Counter[str]) -> list[str]:
    """Return what of a run is still there after `clean`."""
    deadline = time.monotonic() + MOMENT_S
    while command.others() and time.monotonic() < deadline:
        time.sleep(0.05)
    counts["left"] += bool(clean())
    return [f"{len(pids)} processes left after clean"] if (pids := command.others()) else []


def judge(directory: Path, code: int, blow: Blow | None, counts: Counter[str]) -> list[str]:
    """Return what is wrong with a run's result and exit status; no blow: it was not hit."""
    path = directory / "result.json"
    result: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    status = result.get("status", "no result")
    counts[status] += 1
    allowed = _exit_statuses(status, blow)
    faults = [] if code in allowed else [f"exit status {code}; allowed: {sorted(allowed)}"]
    if status in ARRIVED and result["size_bytes"] != SIZE:
        faults.append(f"{status}, {result['size_bytes']} bytes")
    if status == "failed" and result["goodput_mbps"] is not None:
        faults.append("failed with a goodput")
    if status == "failed" and not _names_it(result["reason"], blow):
        faults.append(f"does not name it: {result['reason'][:300]!r}")
    counts["wrong"] += bool(faults)
    return faults


def _exit_statuses(status: str, blow: Blow | None) -> set[int]:
    """Return the exit statuses that fit a result; a late signal may find a whole one."""
    by_status: dict[str, set[int]] = {"ok": {0}, "disturbed": {0, 1}, "failed": {1}}
    allowed = set(by_status.get(status, ()))
    if blow is not None and blow.victim == "command" and blow.kills:
        number = signal.Signals[blow.name]
        allowed.add(-number if number == signal.SIGKILL else 128 + number)
    return allowed


def _names_it(reason: str, blow: Blow | None) -> bool:
    """Return whether a failure's reason names the killed one, or says anything if none was."""
    if blow is None or (blow.kills and blow.victim == "command"):
        return False
    return VICTIMS[blow.victim].name in reason if blow.kills else bool(reason.strip())
