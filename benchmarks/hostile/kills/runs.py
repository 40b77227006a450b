"""Blows at random moments to what a run on the real clock consists of (root).

A run of 4 s is begun; at a random moment of its life one of its processes is hit. Then the command
has to end by itself within `MAX_S` of a signal, its result to be right (the whole content arrived,
or it failed and names what was hit, or there is none), and `minitopo-dc clean` to leave nothing.
Of a process that stood still or had no CPU time the run ends as ok, as disturbed, or as failed with
a reason, however long that takes within `PATIENCE_S`. A campaign's worker, on the virtual clock, is
lost without a trace: all runs are there in the end.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from benchmarks.hostile.examples import campaign_text
from benchmarks.hostile.kills.blows import BLOWS, KILLS
from benchmarks.hostile.kills.marked import Marked
from benchmarks.hostile.report import Report
from minitopo_dc.campaign.table import load
from minitopo_dc.real.machine.run_registry import clean

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
RUNS = 6
"""Of a campaign that has a worker."""
ARRIVED = ("ok", "disturbed")
"""Statuses of a result whose whole content arrived."""


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
    "worker": Victim("", "spawn_main", 4),
}
COUNTED = (
    *("hit", "missed", "ok", "disturbed", "failed", "no result"),
    *("wrong", "unnamed", "left", "left after clean"),
)


class Blow(NamedTuple):
    """An event that hits a run."""

    victim: str
    name: str
    """The name of one of `BLOWS`."""
    rng: Random
    undone: ExitStack
    """What is undone after the run's end."""

    @property
    def kills(self) -> bool:
        """Return whether it is a signal that ends its victim."""
        return self.name in KILLS


@dataclass
class _Row:
    """Outcomes of the runs of one kind of victim, and one kind of blow."""

    counts: Counter[str] = field(default_factory=Counter)
    longest_s: float = 0.0


def run(count: int, seed: int, victims: Sequence[str], blows: Sequence[str]) -> Report:
    """Run `count` runs, over all victims and blows in turn; return the report."""
    rows: dict[tuple[str, str], _Row] = {}
    faults = []
    for each in range(seed, seed + count):
        turn, place = divmod(each, len(victims))
        told = f"--count 1 --seed {each} --victims {' '.join(victims)} --blows {' '.join(blows)}"
        with ExitStack() as stack:
            blow = Blow(victims[place], blows[turn % len(blows)], Random(each), stack)
            row = rows.setdefault((blow.victim, blow.name), _Row())
            for fault in _try(blow, row):
                faults.append(f"{told} ({blow.victim}, {blow.name}): {fault}")
    table = [
        {
            "victim": victim,
            "blow": name,
            **{count: row.counts[count] for count in COUNTED},
            "longest end s": round(row.longest_s, 1),
        }
        for (victim, name), row in sorted(rows.items())
    ]
    return Report(table, faults)


def _try(blow: Blow, row: _Row) -> list[str]:
    """Run one run; return what was wrong with it."""
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-kills-") as name:
        directory = Path(name)
        run = Marked(_words(blow.victim, directory), directory / "said")
        try:
            return _judge(run, blow, directory / "out", row)
        finally:
            run.process.kill()
            run.process.wait()
            clean()


def _words(victim: str, directory: Path) -> list[str]:
    """Return the command that has such a victim; its files go to `out`."""
    of_campaign = victim == "worker"
    text = campaign_text(size_mb=SIZE / 1e6, batches=(100,), seeds=range(1, RUNS + 1))
    file = directory / ("file.py" if of_campaign else "file.yaml")
    file.write_text(text if of_campaign else yaml.safe_dump(SCENARIO))
    what = ["campaign", "run", "--jobs", "2"] if of_campaign else ["run"]
    return [*COMMAND, *what, str(file), "--output", str(directory / "out")]


def _judge(run: Marked, blow: Blow, output: Path, row: _Row) -> list[str]:
    is_hit = _hit(run, blow)
    row.counts["hit" if is_hit else "missed"] += 1
    begin = time.monotonic()
    # A campaign begins the lost run again, and a run that lost nobody goes on to its end.
    patience = MAX_S if is_hit and blow.kills and blow.victim != "worker" else PATIENCE_S
    try:
        code = run.process.wait(patience)
    except subprocess.TimeoutExpired:
        row.counts["wrong"] += 1
        return [f"no end within {patience:g} s"]
    if is_hit:
        row.longest_s = max(row.longest_s, time.monotonic() - begin)
    faults = _left(run, row)
    check = _wrong_campaign if blow.victim == "worker" else _wrong_result
    faults += check(output, code, blow if is_hit else None, row)
    said = run.said.read_text(errors="replace")
    if faults or "Traceback" in said:
        faults.append(f"it said: {said[-500:]!r}")
    return faults


def _hit(run: Marked, blow: Blow) -> bool:
    """Hit at a random moment from when the victim is there; return False when it has gone."""
    _await(run, lambda: run.handles(signal.SIGTERM))
    _await(run, lambda: bool(_victims(run, blow.victim)))
    time.sleep(blow.rng.uniform(0, VICTIMS[blow.victim].lives_s))
    found = _victims(run, blow.victim)
    if not found or run.has_ended:
        return False
    try:
        BLOWS[blow.name](blow.rng.choice(found), blow.rng, blow.undone)
    except OSError:  # it has just gone, or cannot be limited
        return False
    return True


def _await(run: Marked, condition: Callable[[], bool]) -> None:
    """Return when a condition holds, or never can."""
    while not run.has_ended and not condition():
        time.sleep(0.005)


def _victims(run: Marked, victim: str) -> list[int]:
    word = VICTIMS[victim].word
    return sorted(run.with_word(word)) if word else [run.process.pid]


def _left(run: Marked, row: _Row) -> list[str]:
    """Return what of a run is still there after `clean`."""
    deadline = time.monotonic() + MOMENT_S
    while run.others() and time.monotonic() < deadline:
        time.sleep(0.05)
    if run.others() or run.entries():
        row.counts["left"] += 1
        clean()
    faults = [f"{len(pids)} processes left after clean"] if (pids := run.others()) else []
    faults += ["left in the registry"] if run.entries() else []
    row.counts["left after clean"] += bool(faults)
    return faults


def _wrong_campaign(output: Path, code: int, _: Blow | None, row: _Row) -> list[str]:
    """Return what is wrong with a campaign, which must lose nothing with a worker."""
    runs = load(output)
    ok = int(((runs["status"] == "ok") & (runs["size_bytes"] == SIZE)).sum())
    if (ok, code) == (RUNS, 0):
        row.counts["ok"] += 1
        return []
    row.counts["wrong"] += 1
    return [f"{ok} of {RUNS} runs, exit status {code}"]


def _wrong_result(output: Path, code: int, blow: Blow | None, row: _Row) -> list[str]:
    """Return what is wrong with a run's result and exit status; no blow: it was not hit."""
    path = output / "result.json"
    result = json.loads(path.read_text()) if path.exists() else None
    row.counts["no result" if result is None else result["status"]] += 1
    allowed = _statuses(result, blow)
    faults = [] if code in allowed else [f"exit status {code}; allowed: {sorted(allowed)}"]
    if result is not None and result["status"] in ARRIVED:
        arrived = f"{result['status']}, {result['size_bytes']} bytes"
        faults += [] if result["size_bytes"] == SIZE else [arrived]
    elif result is not None:
        faults += [] if result["goodput_mbps"] is None else ["failed with a goodput"]
        row.counts["unnamed"] += not _is_named(result["reason"], blow)
    row.counts["wrong"] += bool(faults)
    if (
        result is not None
        and result["status"] == "failed"
        and not _is_named(result["reason"], blow)
    ):
        faults.append(f"does not name it: {result['reason'][:300]!r}")
    return faults


def _statuses(result: dict[str, Any] | None, blow: Blow | None) -> set[int]:
    """Return the exit statuses that fit a result; a late signal may find a whole one."""
    by_status = {"ok": {0}, "disturbed": {0, 1}, "failed": {1}}
    allowed = set() if result is None else set(by_status[result["status"]])
    if blow is not None and blow.victim == "command" and blow.kills:
        number = signal.Signals[blow.name]
        allowed.add(-number if number == signal.SIGKILL else 128 + number)
    return allowed


def _is_named(reason: str, blow: Blow | None) -> bool:
    """Return whether a failure's reason names the killed one, or says anything if none was."""
    if blow is None or (blow.kills and blow.victim == "command"):
        return False
    return VICTIMS[blow.victim].name in reason if blow.kills else bool(reason.strip())
