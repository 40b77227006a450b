"""Draw the delays of a leg that is nr-tdd-100, in which one sees TDD and HARQ.

    python studies/carriers/picture.py

A packet of 100 bytes joins each direction every 0.05 ms. Its delay has no core.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

import minitopo_dc as dc
from minitopo_dc.fields.ranges import Direction
from minitopo_dc.plots import theme
from minitopo_dc.scenario import LegDirection

IMAGE = Path(__file__).resolve().parents[2] / "docs" / "images" / "carriers.png"
LASTS_MS, STEP_MS, SLOT_MS = 40, 0.05, 0.5
NS_PER_MS = 1_000_000
PATTERN, SEED = "DDDSU", "3"
WAYS: tuple[Direction, ...] = ("downlink", "uplink")


def delays_ms(direction: LegDirection) -> list[tuple[float, float]]:
    """Return when each packet joined and how long it took (ms), in the order of arrival."""
    leg = direction.build(SEED)
    leg.start(0)
    joined = [round(number * STEP_MS * NS_PER_MS) for number in range(round(LASTS_MS / STEP_MS))]
    found: list[tuple[float, float]] = []
    for number, now in enumerate([*joined, 1000 * NS_PER_MS]):
        while (due := leg.next_timeout()) is not None and due <= now:
            found += [
                (joined[at] / NS_PER_MS, (due - joined[at]) / NS_PER_MS) for at in leg.poll(due)
            ]
        if number < len(joined):
            leg.push(number, 100, now)
    return found


def figure() -> Figure:
    """Return a panel a direction: delays in RLC's order, and of packets as they are complete."""
    made = Figure(figsize=(8, 4.6), layout="constrained")
    leg = dc.nr(tdd=PATTERN, core_ms=0, sr_ms=0)
    panels = made.subplots(2, 1, sharex=True)
    for panel, name in zip(panels, WAYS, strict=True):
        direction = leg.direction(name)
        rlc = direction.rlc
        assert rlc is not None
        pattern = rlc.pattern()
        assert pattern is not None
        for slot in range(round(LASTS_MS / SLOT_MS)):
            if pattern.symbols[slot % len(PATTERN)]:
                panel.axvspan(slot * SLOT_MS, (slot + 1) * SLOT_MS, color="0.92", lw=0)
        at_once = rlc.model_copy(update={"in_order": False})
        complete = direction.model_copy(update={"rlc": at_once})
        for shown, colour, words in (
            (direction, theme.LEGS[0], "delivered in order"),
            (complete, theme.LEGS[1], "complete"),
        ):
            panel.plot(*zip(*delays_ms(shown), strict=True), ".", ms=3, color=colour, label=words)
        panel.set(ylabel=f"{name}: delay (ms)", ylim=(0, None), xlim=(0, LASTS_MS))
    panels[0].legend(loc="upper right", fontsize="small")
    panels[1].set_xlabel(
        "time at which a packet joins the queue (ms); grey: slots of the direction"
    )
    return made


if __name__ == "__main__":
    figure().savefig(IMAGE, dpi=150)
