"""Signals at random moments to what a run on the real clock consists of (root).

A run of 1 MB is begun; at a random moment of its life one of its processes gets a signal. Then
the command has to end by itself within `MOST_S`, its result to be right (the whole content arrived,
or it failed and names what was hit, or there is none), and `minitopo-dc clean` to leave nothing.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from benchmarks.hostile.report import Report
from minitopo_dc.emulation.run_registry import REGISTRY, clean, processes_of

COMMAND = (sys.executable, "-m", "minitopo_dc.cli", "run")
MOST_S = 15.0
"""From the signal to the command's end."""
PATIENCE_S = 60.0
"""For a run without a signal, on a busy machine."""
LONGEST_DELAY_S = 2.0
"""From the victim's start to the signal: the transfer takes 1 s, the rest of a run as long."""
LEG = {"downlink": {"rate_mbps": 4}}
SCENARIO = {"transport": "tcp", "mode": "dc", "clock": "real", "legs": [LEG, LEG]}
SIZE = 1_000_000
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
VICTIMS: dict[str, tuple[str, ...]] = {
    "command": (),
    "gnb": ("element on gnb", "gnb-element.yaml"),
    "ue": ("element on ue", "ue-element.yaml"),
    "client": ("client", "curl"),
    "server": ("server", "tcp_server"),
    "host": ("host ", "mininet:"),
}
"""Whom the signal goes to: how a failure names it, and a word of its command line."""
COLUMNS = ("ok", "failed", "no result", "not there", "left, then cleaned")


class Blow(NamedTuple):
    """What happens to a run."""

    victim: str
    number: signal.Signals
    delay_s: float


@dataclass
class _Row:
    """What became of the runs of one kind of victim."""

    counts: Counter[str] = field(default_factory=Counter)
    longest_s: float = 0.0


def run(count: int, seed: int, victims: Sequence[str]) -> Report:
    """So many runs, over all victims and signals."""
    rows = {victim: _Row() for victim in victims}
    faults = []
    for each in range(seed, seed + count):
        rng = Random(each)
        victim, number = victims[each % len(victims)], rng.choice(SIGNALS)
        blow = Blow(victim, number, rng.uniform(0, LONGEST_DELAY_S))
        for fault in _try(blow, rows[victim]):
            faults.append(f"--seed {each} --victims {victim}, {number.name}: {fault}")
    table = [
        {
            "victim": victim,
            "runs": sum(row.counts[name] for name in COLUMNS[:3]),
            **{name: row.counts[name] for name in COLUMNS},
            "longest end s": round(row.longest_s, 1),
        }
        for victim, row in rows.items()
    ]
    return Report(table, faults)


def _try(blow: Blow, row: _Row) -> list[str]:
    """One run; what was wrong with it."""
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-kills-") as name:
        directory = Path(name)
        text = yaml.safe_dump(SCENARIO | {"workload": {"size_mb": SIZE / 1e6}})
        (directory / "scenario.yaml").write_text(text)
        output = directory / "out"
        with (directory / "said").open("wb") as said:
            process = subprocess.Popen(
                [*COMMAND, str(directory / "scenario.yaml"), "--output", str(output)],
                stdout=said,
                stderr=said,
            )
            try:
                return _judge(process, blow, output, row)
            finally:
                process.kill()
                process.wait()
                clean()


def _judge(process: subprocess.Popen[bytes], blow: Blow, output: Path, row: _Row) -> list[str]:
    identity = _identity(process)
    while process.poll() is None and _victim(process, blow, identity) is None:
        time.sleep(0.01)
    time.sleep(blow.delay_s)
    hit = _hit(process, blow, identity)
    begin = time.monotonic()
    try:
        # A run that was not hit, or that a signal did not end, goes on to its own end.
        code = process.wait(MOST_S if hit else PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return [f"no end within {MOST_S:g} s"]
    if hit:
        row.longest_s = max(row.longest_s, time.monotonic() - begin)
    else:
        row.counts["not there"] += 1
    faults = _wrong_result(output, code, blow if hit else None, row)
    faults += _left(identity, row) if identity else []
    said = (output.parent / "said").read_text(errors="replace")
    faults += ["a traceback"] if "Traceback" in said else []
    return faults


def _left(identity: str, row: _Row) -> list[str]:
    """What of a run is still there after `clean`."""
    entry = REGISTRY / f"{identity}.json"
    if processes_of(identity) or entry.exists():
        row.counts["left, then cleaned"] += 1
        clean()
    left = [f"{len(pids)} processes left after clean"] if (pids := processes_of(identity)) else []
    return [*left, "left in the registry"] if entry.exists() else left


def _identity(process: subprocess.Popen[bytes]) -> str:
    """The run's id, once it is registered; empty when the command has ended before."""
    deadline = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline:
        for entry in REGISTRY.glob("*.json"):
            try:
                owner: dict[str, Any] = json.loads(entry.read_text())
            except OSError:
                continue  # another run's, which has ended
            if owner["pid"] == process.pid:
                return entry.stem
        time.sleep(0.01)
    return ""


def _hit(process: subprocess.Popen[bytes], blow: Blow, identity: str) -> bool:
    """Send the signal; False when the victim is not there."""
    found = _victim(process, blow, identity)
    if found is None or process.poll() is not None:
        return False
    try:
        os.kill(found, blow.number)
    except ProcessLookupError:
        return False
    return True


def _victim(process: subprocess.Popen[bytes], blow: Blow, identity: str) -> int | None:
    """The process that is to be hit, if it is there."""
    if blow.victim == "command":
        return process.pid
    word = VICTIMS[blow.victim][1]
    return next((pid for pid in processes_of(identity) if word in _command_line(pid)), None)


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def _wrong_result(output: Path, code: int, blow: Blow | None, row: _Row) -> list[str]:
    """What is wrong with a run's result and exit status; no blow: none was hit."""
    path = output / "result.json"
    if not path.exists():
        row.counts["no result"] += 1
        if blow is None or blow.victim != "command":
            return [f"no result, exit status {code}"]
        wanted = -blow.number if blow.number == signal.SIGKILL else 128 + blow.number
        return [] if code == wanted else [f"exit status {code}, not {wanted}"]
    result = json.loads(path.read_text())
    row.counts[result["status"]] += 1
    return CHECKS[result["status"]](result, "" if blow is None else blow.victim)


def _check_ok(result: dict[str, Any], _victim: str) -> list[str]:
    return [] if result["size_bytes"] == SIZE else [f"ok with {result['size_bytes']} bytes"]


def _check_failed(result: dict[str, Any], victim: str) -> list[str]:
    """A failure has no numbers, and names the culprit."""
    wrong = [] if result["goodput_mbps"] is None else ["failed with a goodput"]
    name = VICTIMS[victim][0] if victim and victim != "command" else ""
    if name in result["reason"]:
        return wrong
    return [*wrong, f"does not name {name!r}: {result['reason'][:200]!r}"]


def _check_unsupported(result: dict[str, Any], _victim: str) -> list[str]:
    return [f"unsupported: {result['reason'][:200]!r}"]


CHECKS: dict[str, Callable[[dict[str, Any], str], list[str]]] = {
    "ok": _check_ok,
    "failed": _check_failed,
    "unsupported": _check_unsupported,
}
