"""Advice for a user's own legs: Dual Connectivity or multipath, a tie, or not enough evidence.

`minitopo-dc advise` and `advise` are the same: each leg alone, Dual Connectivity and multipath run
over the legs on the virtual clock, seed after seed, until the interval of the difference is on one
side of the margin or the time is up (docs/advise.md).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from minitopo_dc.advice.candidates import QUIC, candidates_of
from minitopo_dc.advice.criterion import criterion
from minitopo_dc.advice.neighbours import neighbours_of
from minitopo_dc.advice.sequence import Progress, Runs, decide, on_packets
from minitopo_dc.advice.verdict import Verdict
from minitopo_dc.campaign.executors import local
from minitopo_dc.clocks import chosen_jobs, require_clock
from minitopo_dc.comparison import Comparison
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import SettingsError, defaults

SECONDS = 60.0
"""For a verdict on one stack: as long as one waits for an answer."""
MIN_S, MAX_S = 1.0, 86_400.0
OVERHEAD_S = 8.0
"""Of `SECONDS`, for what is imported before, and for tables and figures behind the runs."""


@dataclass(frozen=True)
class Advice:
    """What the runs and the study say of a network."""

    verdicts: tuple[Verdict, ...]
    """One for each stack."""
    neighbours: tuple[dict[str, Any], ...]
    """What the study found near the network; of the stacks, workloads and legs that it has."""

    @property
    def sentences(self) -> list[str]:
        """Return all that is said."""
        own = [sentence for verdict in self.verdicts for sentence in verdict.sentences()]
        return [*own, *(near["sentence"] for near in self.neighbours)]

    def to_json(self) -> dict[str, Any]:
        """Return all of it for programs; null stands for a number that there is not."""
        verdicts = [verdict.to_json() for verdict in self.verdicts]
        return {"sentences": self.sentences, "verdicts": verdicts, "neighbours": self.neighbours}


class Adviser:
    """Legs and what competes over them; making one checks everything and runs nothing.

    Its arguments are those of `advise`.

    Raises:
        SettingsError, TraceError: something is wrong, or cannot run here.
    """

    def __init__(
        self,
        transports: Sequence[str],
        seconds: float,
        margin_percent: float | None,
        jobs: int | None,
        *,
        real: bool,
        **fields: Any,
    ) -> None:
        self.base = base_of(**fields)
        self._criterion = criterion(self.base.workload, margin_percent)
        self._stacks = candidates_of(self.base, transports)
        if not MIN_S <= seconds <= MAX_S:
            raise SettingsError(f"--time: {seconds:g}; allowed: {MIN_S:g} to {MAX_S:g} s")
        self._limit_s, self._real = max(seconds - OVERHEAD_S, seconds / 2), real
        self._jobs = chosen_jobs(jobs, "virtual")
        if real:
            require_clock("real")

    def advise(self, root: Path, progress: Progress = str) -> Advice:
        """Return the advice by runs that are kept in an existing directory, which goes on."""
        rows = [row for stack in self._stacks for row in stack.rows]
        scenarios = [row.scenario(self.base) for row in rows]
        comparison = Comparison(root, scenarios, variants=[row.variant for row in rows])
        with comparison.held():
            verdicts = []
            for stack in self._stacks:
                until = time.monotonic() + self._limit_s
                with local(self._jobs, until) as workers:
                    runs = Runs(comparison, rows, self._criterion, workers, until, progress)
                    verdict = decide(stack, runs)
                if self._real:
                    with local(1) as workers:
                        packets = on_packets(verdict, self.base, root / "real", workers)
                    verdict = replace(verdict, real=packets)
                verdicts.append(verdict)
        margin = self._criterion.margin
        near = (neighbours_of(self.base, verdict.stack, margin) for verdict in verdicts)
        return Advice(tuple(verdicts), tuple(filter(None, near)))


def base_of(legs: Sequence[Mapping[str, Any]], **fields: Any) -> Scenario:
    """Return what all runs have in common; SettingsError if a field of a scenario is wrong."""
    options = {"receive_buffer_bytes": defaults.RECEIVE_BUFFER_BYTES, **fields.pop("options", {})}
    own = {"transport": QUIC[0], "mode": "sc", "clock": "virtual", "options": options}
    return Scenario.check({**fields, **own, "legs": list(legs)}, "advise")


def advise(
    legs: Sequence[Mapping[str, Any]],
    *,
    output: Path | None = None,
    progress: Progress = str,
    transports: Sequence[str] = QUIC,
    seconds: float = SECONDS,
    margin_percent: float | None = None,
    real: bool = False,
    jobs: int | None = 1,
    **fields: Any,
) -> Advice:
    """Say whether Dual Connectivity or multipath is better over some legs, or neither.

    Args:
        legs: two or more, as in a scenario: `{"downlink": {"rate_mbps": 30}, "delay_ms": 10}`.
        output: a directory where runs are kept, and which goes on; None: they are not kept.
        progress: hears what is under way.
        transports: of each stack one with Dual Connectivity and one with multipath.
        seconds: for the verdict on a stack, at most.
        margin_percent: within which both are a tie; None: the workload's (`CRITERIA`).
        real: whether to run both sides on the real clock too.
        jobs: runs at once, in processes; None: one per processor.
        fields: any other field of a scenario: `workload`, `congestion_control`, `seed`, ...

    Raises:
        SettingsError, TraceError: something is wrong, or cannot run here; nothing has been run.
    """
    fields |= {"legs": legs}
    adviser = Adviser(transports, seconds, margin_percent, jobs, real=real, **fields)
    with nullcontext(output) if output is not None else TemporaryDirectory() as root:
        Path(root).mkdir(parents=True, exist_ok=True)
        return adviser.advise(Path(root), progress)
