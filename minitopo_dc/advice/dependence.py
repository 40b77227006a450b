"""What the outcome depends on at a pair of links: one condition changed at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from minitopo_dc.advice.candidates import Candidates
from minitopo_dc.advice.sequence import SHOWN, Runs
from minitopo_dc.quic.picoquic import COUPLED
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Download

Change = Callable[[Scenario], Scenario]
FARTHER_MS, TIMES, LOSS_PERCENT = 20.0, 10.0, 0.1
DIRECTORY: Final = "changed"
"""Of the changed runs, in that of the advice."""


def dependence(stack: Candidates, runs: Runs) -> str:
    """Return in a sentence which changes give another outcome; empty: there was no time for one.

    Each change has the first `SHOWN` seeds of both sides, with a tie within the margin.
    """
    pair = stack.dual, stack.multipath
    here = _side(runs.means(pair), pair, runs.judged.limit)
    if here is None:
        return ""
    sides: dict[str, str] = {}
    for words, change in changes(stack.ways[stack.multipath]):
        if runs.room() < SHOWN:
            break
        ways = {name: change(stack.ways[name]) for name in pair}
        other = Runs(runs.directory / DIRECTORY / str(len(sides)), ways, runs.judged, runs.workers)
        other.until, other.progress = runs.until, runs.progress
        other.make(pair, SHOWN)
        side = _side(other.means(pair), pair, runs.judged.limit)
        if side is not None:
            sides[words] = side
    return _sentence(here, sides)


def changes(scenario: Scenario) -> Iterator[tuple[str, Change]]:
    """Yield what is changed, in words, of a scenario of the side with several paths."""
    delay = scenario.server_delay_ms + FARTHER_MS
    yield f"a server {FARTHER_MS:g} ms farther away", lambda way: way.evolve(server_delay_ms=delay)
    work = scenario.workload
    if isinstance(work, Download) and work.size_bytes:
        size = work.size_mb / TIMES
        yield "a tenth of the size", lambda way: way.evolve(workload={"size_mb": size})
    lossy = {"downlink": {"loss_percent": LOSS_PERCENT}}
    if not any(leg.wifi or leg.downlink.mean_loss_percent() for leg in scenario.legs):
        legs = [leg.evolve(**lossy) for leg in scenario.legs]
        yield f"{LOSS_PERCENT:g} % of random losses", lambda way: way.evolve(legs=legs)
    if scenario.transport == "mpquic-picoquic" and scenario.congestion_control not in COUPLED:
        yield "coupled windows (LIA)", _coupled


def _coupled(way: Scenario) -> Scenario:
    return way.evolve(congestion_control=COUPLED[0]) if way.mode == "multipath" else way


def _side(means: Mapping[str, float], pair: Sequence[str], limit: float) -> str | None:
    """Return which side is better by its mean score, or a tie; None: a side has none."""
    if any(name not in means for name in pair):
        return None
    dual, multipath = (means[name] for name in pair)
    if abs(dual - multipath) <= limit:
        return "a tie"
    return pair[0] if dual > multipath else pair[1]


def _sentence(here: str, sides: Mapping[str, str]) -> str:
    other = [f"{side} with {words}" for words, side in sides.items() if side != here]
    same = [words for words, side in sides.items() if side == here]
    parts = [f"By {SHOWN} seeds it would be {', '.join(other)}"] if other else []
    if same:
        parts.append(
            f"{'no other outcome' if other else 'No other outcome'} with {', '.join(same)}"
        )
    return f"{'; '.join(parts)}." if parts else ""
