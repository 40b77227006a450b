"""Runs disturbed on purpose, to find what evidence a wrong number leaves (`calibrate --disturb`).

Short downloads run one after the other: every second one undisturbed, the others with one of
`DISTURBANCES`. The reference of each is the same scenario on the virtual clock, which no machine
disturbs, or, for a transport that the virtual clock does not have, the median of its undisturbed
runs. From the evidence of all (`minitopo_dc.results.trust`) `fit` makes the limits of this machine.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, TypeVar

from minitopo_dc.real.network.cpu_limit import cpu_limit
from minitopo_dc.real.run.real import run_real
from minitopo_dc.real.run.watch import Watch
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.results.trust import OFF, Limits, measured_goodput
from minitopo_dc.runners.base import get_runner
from minitopo_dc.scenario import Scenario
from minitopo_dc.scratch import scratch

LEAST = {
    **dict.fromkeys(Limits.model_fields.keys() - {"lost"}, 0.01),
    **{"saturated": 0.05, "paused": 0.05, "backlog_drops": 0.0},
}
"""Limits begin no lower: samples of 50 ms and stretches of 0.2 s do not tell less from nothing."""
MAX_RAISED = 4.0
"""A limit that no wrong run needs is at most raised to half of this."""
_Item = TypeVar("_Item")
Execute = Callable[[Scenario, Path], RunResult]
SIZE_MB = 4.0
"""1.7 s over one leg of 20 Mbit/s: a stop of 0.1 s is about `OFF`."""
SIZE_AT_RATE_MB = 20.0
"""Of runs at high rates, which have to last as well."""
QUEUE_PACKETS = 1000
"""So that nothing is lost: a loss more or less would scatter goodput by more than `OFF`."""
RATE_MBPS = 20.0
DELAY_MS = 10
STOP_AFTER_S = (0.2, 1.5)
"""From the part's start: a client takes up to 0.5 s to begin, and its transfer 0.9 s and more."""
POLL_S = 0.01
UPLINK = {"rate_mbps": 20, "delay_ms": DELAY_MS, "queue_packets": 10_000}
CONGESTION_CONTROL = "reno"
SYSTEM_BUFFER = {"receive_buffer_bytes": None}
"""The limits that are shipped were found with these (docs/trust.md)."""
CASES: tuple[dict[str, Any], ...] = (
    {"transport": "quic", "mode": "sc", "options": SYSTEM_BUFFER},
    {"transport": "quic", "mode": "dc", "options": SYSTEM_BUFFER},
    {"transport": "quic-picoquic", "mode": "dc", "options": SYSTEM_BUFFER},
    {"transport": "mpquic-picoquic", "mode": "multipath", "options": SYSTEM_BUFFER},
    {"transport": "tcp", "mode": "dc"},
)
STOPPED_PARTS = ("gnb", "ue", "server", "client")
LIMITED_PARTS = ("server", "client")
"""Elements have real-time priority, which such a limit does not bind (sched(7))."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """One kind of disturbance, with its strength."""

    kind: str
    strength: float
    """`stop`: s; `limit`: percent of a processor; `hogs`, `greedy hogs`: processes per processor;
    `rate`: Mbit/s of each leg."""
    part: str = ""

    @property
    def label(self) -> str:
        """Return its label in a table, as `stop 0.3 s`."""
        if self.kind == "none":
            return self.kind
        unit = {"stop": " s", "limit": " %", "rate": " Mbit/s"}.get(self.kind, "")
        return f"{self.kind} {self.strength:g}{unit}"


NONE = Disturbance("none", 0)
DISTURBANCES = (
    *(Disturbance("stop", s, part) for s in (0.1, 0.3, 1, 3) for part in STOPPED_PARTS),
    *(Disturbance("limit", p, part) for p in (10, 25, 50, 100) for part in LIMITED_PARTS),
    *(Disturbance(kind, n) for kind in ("hogs", "greedy hogs") for n in (0.5, 1, 2, 4)),
    *(Disturbance("rate", rate) for rate in (40, 80, 150, 300, 600, 1000)),
)
"""Greedy hogs have the highest priority that a process without real-time priority can have."""


@dataclass(frozen=True)
class Row:
    """A run, and the goodput that it should have had."""

    number: int
    kind: str
    strength: float
    part: str
    transport: str
    mode: str
    status: str
    goodput_mbps: float | None
    reference_mbps: float | None
    """Goodput on the virtual clock; None where it does not have the transport."""
    evidence: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def disturbance(self) -> Disturbance:
        """Return what was done to the run."""
        return Disturbance(self.kind, self.strength, self.part)

    def exceeds(self, limits: Limits) -> bool:
        """Return whether some evidence is above its limit."""
        return any(self.worst(kind) > getattr(limits, kind) for kind in Limits.model_fields)

    def worst(self, kind: str) -> float:
        """Return the largest share of a kind of evidence among its parts."""
        return max(self.evidence.get(kind, {}).values(), default=0.0)


def plan(runs: int, seed: int) -> list[tuple[Disturbance, Mapping[str, str]]]:
    """Return `runs` undisturbed runs and as many disturbed ones, in turn, in a random order."""
    rng = Random(seed)
    disturbed = _repeated(DISTURBANCES, runs, rng)
    cases = _repeated(CASES, 2 * runs, rng)
    kinds = [kind for disturbance in disturbed for kind in (NONE, disturbance)]
    return list(zip(kinds, cases, strict=True))


def measure(
    runs: int, seed: int, file: Path, *, virtual: Execute, ended: Callable[[Row], None]
) -> list[Row]:
    """Do the runs of a plan that are left; append each to `file`, one JSON object a line.

    Args:
        runs: undisturbed ones, and as many disturbed ones.
        seed: of the order; the moment of a disturbance follows from it and from its place.
        file: of the runs, new or to be resumed.
        virtual: runs a scenario on the virtual clock.
        ended: is told of each run.

    Raises:
        OSError: the file cannot be read or written.
    """
    rows = load(file)
    references: dict[str, float | None] = {}
    for number, (disturbance, case) in enumerate(plan(runs, seed)):
        if number < len(rows):
            continue
        scenario = case_scenario(disturbance, case, seed)
        known = f"{scenario.label} {disturbance.label if disturbance.kind == 'rate' else ''}"
        if known not in references:
            references[known] = _reference(scenario, virtual)
        rows.append(_run(number, disturbance, scenario, references[known]))
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"{json.dumps(asdict(rows[-1]))}\n")
        ended(rows[-1])
    return rows


def load(file: Path) -> list[Row]:
    """Return the runs of a file; none when it is missing."""
    if not file.exists():
        return []
    return [Row(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def errors(rows: Sequence[Row]) -> list[float | None]:
    """Return the relative error of each run's goodput from its reference, None if it failed."""
    clean: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.kind == "none" and row.goodput_mbps is not None:
            clean.setdefault((row.transport, row.mode), []).append(row.goodput_mbps)
    usual = {case: median(goodputs) for case, goodputs in clean.items()}
    relative: list[float | None] = []
    for row in rows:
        own = None if row.kind == "rate" else usual.get((row.transport, row.mode))
        reference = row.reference_mbps or own
        if row.goodput_mbps is None or reference is None:
            relative.append(None)
        else:
            relative.append(row.goodput_mbps / reference - 1)
    return relative


def fit(rows: Sequence[Row]) -> Limits:
    """Return the limits that tell wrong runs from right ones (docs/trust.md).

    They begin at the largest evidence of each kind in an undisturbed run with a right number, and
    are raised half-way to the value at which a wrong run would not be detected any more.
    """
    judged = [
        (row, error) for row, error in zip(rows, errors(rows), strict=True) if error is not None
    ]
    right = [row for row, error in judged if row.kind == "none" and abs(error) <= OFF]
    low = {kind: max([LEAST[kind], *(row.worst(kind) for row in right)]) for kind in LEAST}
    wrong = [row for row, error in judged if abs(error) > OFF]
    detected = [row for row in wrong if row.exceeds(_limits(low))]
    high = dict(low)
    for kind, least in low.items():
        # Runs that only this kind detects; others are detected by the limits found so far.
        others = _limits(high | {kind: math.inf})
        needed = [row.worst(kind) for row in detected if not row.exceeds(others)]
        most = min(needed, default=MAX_RAISED * least)
        high[kind] = math.sqrt(least * max(most, least))
    return _limits({kind: round(limit, 4) for kind, limit in high.items()})


def _limits(values: Mapping[str, float]) -> Limits:
    return Limits().model_copy(update=values)


def _repeated(items: Sequence[_Item], count: int, rng: Random) -> list[_Item]:
    """Return `count` items, each as often as the others, in a random order."""
    whole = [item for _ in range(-(-count // len(items))) for item in items]
    rng.shuffle(whole)
    return whole[:count]


def case_scenario(disturbance: Disturbance, case: Mapping[str, Any], seed: int) -> Scenario:
    """Return the scenario of a download; fields of the case go before those of all."""
    rate = disturbance.strength if disturbance.kind == "rate" else RATE_MBPS
    way = {"rate_mbps": rate, "delay_ms": DELAY_MS, "queue_packets": QUEUE_PACKETS}
    size = SIZE_AT_RATE_MB if disturbance.kind == "rate" else SIZE_MB
    values = {
        "legs": [{"downlink": way, "uplink": UPLINK}] * 2,
        "congestion_control": CONGESTION_CONTROL,
        "workload": {"size_mb": size},
        "seed": seed,
        "clock": "real",
        **case,
    }
    return Scenario.check(values, "calibrate --disturb")


def _run(number: int, disturbance: Disturbance, scenario: Scenario, reference: float | None) -> Row:
    after_s = Random(f"{scenario.seed}/{number}").uniform(*STOP_AFTER_S)
    with scratch() as directory:
        result = run_real(
            scenario,
            directory,
            disturb=lambda watch: disturbed(disturbance, watch, after_s),
        )
    trust = result.details.get("trust", {})
    return Row(
        number=number,
        kind=disturbance.kind,
        strength=disturbance.strength,
        part=disturbance.part,
        transport=scenario.transport,
        mode=scenario.mode,
        status=result.status,
        goodput_mbps=measured_goodput(result),
        reference_mbps=reference,
        evidence=trust.get("evidence", {}),
    )


def _reference(scenario: Scenario, virtual: Execute) -> float | None:
    if get_runner(scenario.transport).virtual() is None:
        return None
    with scratch() as directory:
        return virtual(scenario.model_copy(update={"clock": "virtual"}), directory).goodput_mbps


@contextmanager
def disturbed(disturbance: Disturbance, watch: Watch, after_s: float) -> Iterator[None]:
    """Disturb the processes of a run for a block; a stop begins `after_s` after its part."""
    kind, strength, part = disturbance.kind, disturbance.strength, disturbance.part
    over = threading.Event()
    with ExitStack() as stack:
        if kind in ("hogs", "greedy hogs"):
            niceness = "-20" if kind == "greedy hogs" else "0"
            start = ["setpriv", "--pdeathsig", "KILL", "nice", "-n", niceness]
            for _ in range(max(1, round(strength * len(os.sched_getaffinity(0))))):
                hog = subprocess.Popen([*start, sys.executable, "-c", "while True: pass"])
                stack.callback(hog.wait)
                stack.callback(hog.kill)
        elif kind in ("stop", "limit"):
            cpu = stack.enter_context(cpu_limit(strength)) if kind == "limit" else None

            def work() -> None:
                while (pid := watch.pids().get(part)) is None:
                    if over.wait(POLL_S):
                        return
                if cpu is not None:
                    cpu.add(pid)
                elif not over.wait(after_s):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGSTOP)
                        over.wait(strength)
                        os.kill(pid, signal.SIGCONT)

            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            stack.callback(thread.join)
            stack.callback(over.set)
        yield
