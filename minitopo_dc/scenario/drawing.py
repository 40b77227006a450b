"""A scenario as a small drawing in SVG, for notebooks: what carries what over which legs."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from minitopo_dc.scenario.leg import LegDirection

if TYPE_CHECKING:
    from minitopo_dc.scenario.scenario import Scenario

WIDTH, ROW, TOP = 620, 34, 30
"""In pixels: the width of the drawing, the height of a leg, and that of the line above all."""
LEFT, RIGHT = 110, 510
"""Where legs begin and end."""
USED, UNUSED = "#0072B2", "#BBBBBB"


def svg(scenario: Scenario) -> str:
    """Return the drawing of a scenario: its legs, those that carry data in colour, and its way."""
    middle = TOP + ROW * len(scenario.legs) / 2
    used = {leg for flow in scenario.resolved_flows for leg in flow.legs}
    roles = {scenario.leg_numbers[0]: " (primary)"} if len(used) > 1 else {}
    shapes = [_text(10, 16, f"{scenario.transport}, {scenario.mode}: {_work(scenario)}", "bold")]
    for number, leg in enumerate(scenario.legs, 1):
        y = TOP + ROW * (number - 0.5)
        colour = USED if number in used else UNUSED
        line = f"M70 {middle} L{LEFT} {y} H{RIGHT} L{WIDTH - 70} {middle}"
        shapes += [
            f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="2"/>',
            _text(LEFT + 6, y - 5, f"leg {number}{roles.get(number, '')}: {_words(leg.downlink)}"),
        ]
    shapes += _box(10, middle, "server") + _box(WIDTH - 70, middle, "client")
    height = TOP + ROW * len(scenario.legs) + 8
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
    return f'{head} font-family="sans-serif" font-size="11">{"".join(shapes)}</svg>'


def _work(scenario: Scenario) -> str:
    if scenario.flows:
        return f"{len(scenario.flows)} flows"
    fields = scenario.workload.model_dump(mode="json", exclude_unset=True)
    words = [f"{name} {value}" for name, value in fields.items() if name != "kind"]
    return ", ".join([scenario.workload.kind, *words])


def _words(radio: LegDirection) -> str:
    """Return a direction's settings in words, without those that do nothing."""
    if radio.wifi is not None:
        capacity = "WiFi"
    elif radio.trace is not None:
        capacity = radio.trace.name
    else:
        capacity = f"{radio.rate_mbps:g} Mbit/s"
    delay = (
        radio.delay_curve
        or (radio.delay_trace and radio.delay_trace.name)
        or f"{radio.delay_ms:g} ± {radio.jitter_ms:g} ms"
    )
    loss = radio.mean_loss_percent()
    return ", ".join([capacity, delay, *([f"loss {loss:g} %"] if loss else [])])


def _box(x: int, y: float, name: str) -> list[str]:
    shape = f'<rect x="{x}" y="{y - 12}" width="60" height="24" rx="3" fill="#EEEEEE"/>'
    return [shape, _text(x + 12, y + 4, name)]


def _text(x: float, y: float, words: str, weight: str = "normal") -> str:
    return f'<text x="{x}" y="{y}" font-weight="{weight}">{escape(words)}</text>'
