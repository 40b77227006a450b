"""Numbers as people write them: digits, a point, an exponent, and nothing that reads as another.

A leading zero (octal to some readers), base 60 (`1:30`), underscores and spaces in a number are no
number here, whatever Python or YAML 1.1 makes of them.
"""

from __future__ import annotations

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
