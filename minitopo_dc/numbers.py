"""Numbers as people write and read them.

Written: digits, a point, an exponent, and nothing that reads as another.

A leading zero (octal to some readers), base 60 (`1:30`), underscores and spaces in a number are no
number here, whatever Python or YAML 1.1 makes of them.
"""

from __future__ import annotations

import math
import re

WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
REAL = re.compile(r"[-+]?(0|[1-9][0-9]*|(?=\.[0-9]))(\.[0-9]*)?([eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?(inf|infinity|nan)", re.IGNORECASE)
"""Not finite numbers are numbers; who has no use for them refuses them by their value."""


def is_plain(text: str) -> bool:
    """Return whether a text is a number as people write it."""
    return bool(REAL.fullmatch(text) or NOT_FINITE.fullmatch(text))


def whole(text: str) -> int:
    """Return the whole number that a text is.

    Raises:
        ValueError: it is none, or not as people write it.
    """
    if not WHOLE.fullmatch(text):
        raise ValueError(f"{text!r:.80} is no whole number in digits, such as 10")
    return int(text)


def real(text: str) -> float:
    """Return the number that a text is.

    Raises:
        ValueError: it is none, or not as people write it.
    """
    if not is_plain(text):
        raise ValueError(f"{text!r:.80} is no number in digits, such as 10 or 0.5")
    return float(text)


def significant(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits, as people read it: `12.6`, `0.0482`, `1230`.

    A dash stands for NaN: there is no number.
    """
    if math.isnan(value):
        return "-"
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    if not LEAST_EXPONENT <= exponent <= MOST_EXPONENT:
        return f"{value:.{digits - 1}e}"
    return f"{round(value, digits - 1 - exponent):.{max(0, digits - 1 - exponent)}f}"


LEAST_EXPONENT, MOST_EXPONENT = -5, 9
"""Of ten, for a number without an exponent."""


def with_spread(value: float, deviation: float) -> str:
    """Return a number and its standard deviation, in two digits: `12.6 ± 0.12`, `9.08 ± 0.002`."""
    shown = significant(value)
    places = len(shown.partition(".")[2]) + 1
    return f"{shown} ± {min(significant(deviation, 2), f'{deviation:.{places}f}', key=len)}"


def amount(count: float) -> str:
    """Return a number of bytes with its unit: `5.33 MB`, `48.2 kB`, `312 B`; a dash for NaN."""
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= 0.9995 * size:  # what is shown as 1000 of the smaller unit is 1 of this
            return f"{significant(count / size)} {unit}"
    return "-" if math.isnan(count) else f"{count:.0f} B"


def duration(seconds: float) -> str:
    """Return a time with its unit, in two digits: `0.86 s`, `12 s`, `5.2 min`, `3.1 h`."""
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * size:
            return f"{significant(seconds / size, 2)} {unit}"
    return f"{significant(seconds, 2)} s"
