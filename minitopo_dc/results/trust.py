"""The verdict whether the machine has disturbed a run on the real clock.

A run on the real clock shares its processors with everything else on the machine. While it runs,
several kinds of evidence of a disturbance are measured. Each kind has a limit. A run with evidence
above its limit gets the status `disturbed`, and its numbers are in no mean. The limits are
measured: runs were disturbed on purpose and compared with the virtual clock (docs/trust.md).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pydantic import NonNegativeFloat

from minitopo_dc.fields import Settings
from minitopo_dc.results.run_result import NUMBERS, RunResult
from minitopo_dc.units import NS_PER_S

LIMITS_VARIABLE: Final = "MINITOPO_DC_TRUST_LIMITS"
"""The environment variable that names the file with the limits, in place of `LIMITS_FILE`."""
LIMITS_FILE: Final = Path("~/.config/minitopo-dc/trust-limits.yaml")
"""The file with the limits of this machine, where there is one."""
OFF: Final = 0.05
"""A goodput that differs from its reference by more is wrong: the project's aim for fidelity."""


@dataclass(frozen=True, slots=True)
class Part:
    """The processor time, in s, that a process of the run had and lacked during the transfer."""

    ran_s: float
    """Time on processors, of all its threads and children together."""
    waited_s: float
    """Time in which it could have run, and had no processor."""
    delayed_s: float
    """The part of `waited_s` that came in waits of 10 ms and more."""
    stopped_s: float
    """Time in which it was stopped, or waited for a disk."""
    saturated_s: float
    """Time in which it ran or waited without a pause: with more processor time it would have done
    more."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence of what the machine did to a run in the time of its transfer."""

    transfer_s: float
    """The time from the first client's start of connecting to the last one's end."""
    parts: Mapping[str, Part]
    """The processor times of elements by host, `server`, `client`; of the second flow `server-2`,
    ..."""
    stalled_s: Mapping[str, float]
    """How long an element's alarms were overdue by 5 ms or more."""
    held_up_s: float
    """How long some process was stopped or some element late, with what each stop by a signal costs
    besides; what happens at once counts once."""
    paused_s: float
    """How long the watching process itself was late: the whole machine may have stood still."""
    stolen_s: float
    """Time that a hypervisor took from all processors together (proc(5): steal)."""
    backlog_drops: int
    """Packets that the kernel dropped between two interfaces, outside the emulated legs."""
    pressure: float | None
    """Share of the time in which some process of the machine waited for a processor."""
    other_processors: float
    """How many processors all other processes used, on average."""
    load: tuple[float, float]
    """The machine's load average over a minute, before the run and behind it."""

    def shares(self) -> dict[str, dict[str, float]]:
        """Return each kind of evidence that has a limit, by part, as a share of the transfer."""
        parts = self.parts.items()
        times = {
            "stalled": dict(self.stalled_s),
            "waited": {name: part.waited_s for name, part in parts},
            "delayed": {name: part.delayed_s for name, part in parts},
            "stopped": {name: part.stopped_s for name, part in parts},
            "busy": {name: part.ran_s + part.waited_s for name, part in parts},
            "saturated": {name: part.saturated_s for name, part in parts},
            "stolen": {"machine": self.stolen_s},
            "paused": {"machine": self.paused_s},
            "lost": {"machine": self.held_up_s + self.stolen_s},
        }
        seconds = max(self.transfer_s, 1e-3)
        return {
            kind: {name: round(value / seconds, 4) for name, value in of_parts.items()}
            for kind, of_parts in times.items()
        } | {"backlog_drops": {"machine": float(self.backlog_drops)}}


WORDS: Final = {
    "stalled": "{part}'s element was late for {share:.1%} of the transfer",
    "waited": "{part} waited for a processor for {share:.1%} of the transfer",
    "delayed": "{part} waited long for a processor for {share:.1%} of the transfer",
    "stopped": "{part} was stopped for {share:.1%} of the transfer",
    "busy": "{part} ran or waited for a processor for {share:.1%} of the transfer",
    "saturated": "{part} had too little processor time for {share:.1%} of the transfer",
    "stolen": "the hypervisor took {share:.1%} of a processor",
    "lost": "stops, late elements and steal time took up to {share:.1%} of the transfer together",
    "paused": "the machine paused for {share:.1%} of the transfer",
    "backlog_drops": "the kernel dropped {share:.0f} packets outside the legs",
}


class Limits(Settings):
    """The most of each kind of evidence that a run may have, as a share of its transfer.

    Defaults: runs disturbed on the machine of docs/trust.md.
    """

    stalled: NonNegativeFloat = 0.0395
    waited: NonNegativeFloat = 0.752
    delayed: NonNegativeFloat = 0.7246
    stopped: NonNegativeFloat = 0.0538
    busy: NonNegativeFloat = 0.5735
    saturated: NonNegativeFloat = 0.1
    stolen: NonNegativeFloat = 0.021
    paused: NonNegativeFloat = 0.1
    lost: NonNegativeFloat = OFF
    """What it adds up is at most the error of the goodput that it makes, so it is not fitted."""
    backlog_drops: NonNegativeFloat = 0.0
    """A number of packets, which is no share."""


def judge_trust(evidence: Evidence) -> dict[str, Any]:
    """Compare evidence with this machine's limits, and return the verdict for `details.trust`.

    `exceeded` has the evidence above its limit in words, the worst first; empty: the run is clean.

    Raises:
        SettingsError: the file with the limits is wrong.
    """
    named = os.environ.get(LIMITS_VARIABLE)
    file = Path(named) if named else LIMITS_FILE.expanduser()
    limits, origin = _limits(file, required=bool(named))
    shares = evidence.shares()
    above = []
    for kind, of_parts in shares.items():
        limit = getattr(limits, kind)
        for part, share in of_parts.items():
            if share > limit:
                words = WORDS[kind].format(part=part, share=share)
                above.append((share / (limit or 1e-9), f"{words} (limit {limit:g})"))
    exceeded = [words for _, words in sorted(above, reverse=True)]
    parts, seconds = evidence.parts.items(), max(evidence.transfer_s, 1e-3)
    return {
        "verdict": "disturbed" if exceeded else "clean",
        "exceeded": exceeded,
        "limits": origin,
        "transfer_s": round(evidence.transfer_s, 4),
        "evidence": shares,
        "processors": {name: round(part.ran_s / seconds, 4) for name, part in parts},
        "other_processors": round(evidence.other_processors, 3),
        "pressure": evidence.pressure,
        "load": list(evidence.load),
    }


def with_trust(result: RunResult, trust: Mapping[str, Any]) -> RunResult:
    """Return the result with its verdict; a disturbed one keeps its numbers as `as_measured` only.

    So no mean, figure or claim can use them, as with a failed run, and they can still be read.
    """
    if result.status != "ok" or not trust["exceeded"]:
        return replace(result, details={**result.details, "trust": trust})
    measured = {name: getattr(result, name) for name in NUMBERS} | {"details": result.details}
    reason = f"this machine: {'; '.join(trust['exceeded'][:2])}"
    none: dict[str, Any] = dict.fromkeys(NUMBERS)
    details = {"trust": trust, "as_measured": measured}
    return replace(result, status="disturbed", reason=reason, details=details, **none)


@functools.cache
def _limits(file: Path, *, required: bool) -> tuple[Limits, str]:
    """Return the limits of this machine, and where they are from."""
    if not required and not file.exists():
        return Limits(), "shipped"
    return Limits.load(file), str(file)


def overlap_s(late: Iterable[Sequence[int]], begin_ns: int, end_ns: int) -> float:
    """Return for how many seconds a window was overlapped by delays, each counted once.

    Args:
        late: ends of delays and how long they were (ns), in order of their ends.
        begin_ns: begin of the window.
        end_ns: end of the window.
    """
    total, done = 0, begin_ns
    for end, lasted in late:
        start = max(done, end - lasted)
        total += max(0, min(end, end_ns) - start)
        done = max(done, min(end, end_ns))
    return total / NS_PER_S
