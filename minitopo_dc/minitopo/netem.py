"""The words of a `netemAt` command: netem's own (tc-netem(8)), as far as a leg has them.

`delay TIME [JITTER]`, `loss [random] PERCENT`, `rate RATE`, in any order, each at most once.
A change keeps what it does not name. (Minitopo hands the command to `tc qdisc change`, which
resets it, and so loses the delay.)
"""

from __future__ import annotations

import re
from collections.abc import Callable

from minitopo_dc.minitopo.lines import Line, number
from minitopo_dc.minitopo.path_parameters import DELAY_MS, RATE_MBPS

MS = {
    **{"s": 1e3, "sec": 1e3, "secs": 1e3},
    **{"ms": 1.0, "msec": 1.0, "msecs": 1.0},
    **{"us": 1e-3, "usec": 1e-3, "usecs": 1e-3},
}
"""The units of time in ms. tc-netem(8) takes the units of tc(8): TIME and RATE. A bare time has
changed its meaning between versions of tc, so that it needs a unit here."""
MBPS = {
    **{"bit": 1e-6, "kbit": 1e-3, "mbit": 1.0, "gbit": 1e3},
    **{"bps": 8e-6, "kbps": 8e-3, "mbps": 8.0, "gbps": 8e3},
}
"""The units of rate in Mbit/s. In tc(8) "bps" is bytes per second."""
_QUANTITY = re.compile(r"([0-9.]+)([A-Za-z%]*)", re.ASCII)

Change = dict[str, float]
"""The fields of a LegChange."""


def parse_command(line: Line, command: str) -> Change:
    """Return the fields of a LegChange that a netem command names.

    Raises:
        ParameterError: a word that a leg does not have, or a bad value.
    """
    words = command.split()
    change: Change = {}
    while words:
        name = words.pop(0)
        if name not in _READERS:
            why = f" ({_UNLIKE[name]})" if name in _UNLIKE else ""
            allowed = ", ".join(_READERS)
            raise line.error(f"netem's {name!r} is none of a leg's{why}; allowed: {allowed}")
        named = _READERS[name](line, words)
        if change.keys() & named.keys():
            raise line.error(f"{name} is given twice")
        change |= named
    if not change:
        raise line.error("no command; write seconds,delay 30ms 2ms loss 1% rate 5mbit")
    return change


def _delay(line: Line, words: list[str]) -> Change:
    change = {"delay_ms": _quantity(line, words, "delay", MS, DELAY_MS)}
    if words and _QUANTITY.fullmatch(words[0]):
        change["jitter_ms"] = _quantity(line, words, "jitter", MS, DELAY_MS)
    return change


def _loss(line: Line, words: list[str]) -> Change:
    if words and words[0] == "random":
        words.pop(0)
    if not words:
        raise line.error("loss has no value")
    return {"loss_percent": number(line, words.pop(0).removesuffix("%"), "loss", 0, 100)}


_READERS: dict[str, Callable[[Line, list[str]], Change]] = {
    "delay": _delay,
    "loss": _loss,
    "rate": lambda line, words: {"rate_mbps": _quantity(line, words, "rate", MBPS, RATE_MBPS)},
}
_UNLIKE = {"limit": "it counts packets on the way too; a path's queue keeps its own size"}
"""Words that Minitopo's own files use, and why they have no counterpart."""


def _quantity(
    line: Line,
    words: list[str],
    name: str,
    units: dict[str, float],
    limits: tuple[float, float],
) -> float:
    if not words:
        raise line.error(f"{name} has no value")
    text = words.pop(0)
    match = _QUANTITY.fullmatch(text)
    if not match or match[2].lower() not in units:
        raise line.error(f"{name} {text!r} needs a number and a unit of {', '.join(units)}")
    scale = units[match[2].lower()]
    least, most = (limit / scale for limit in limits)
    return round(number(line, match[1], name, least, most) * scale, 9)
