"""Numbers as people write and read them.

Written: digits, a point, an exponent, and nothing that reads as another.

A leading zero (octal to some readers), base 60 (`1:30`), underscores and spaces in a number are no
number here, whatever Python or YAML 1.1 makes of them. Where the name of a field tells its unit, a
number may have another one of the same quantity behind it: `delay_ms: 0.5s`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
REAL = re.compile(r"[-+]?(0|[1-9][0-9]*|(?=\.[0-9]))(\.[0-9]*)?([eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?(inf|infinity|nan)", re.IGNORECASE)
"""The texts of numbers that are not finite; a caller that has no use for them refuses them by their
value."""


def is_plain(text: str) -> bool:
    """Return whether a text is a number as people write it."""
    return bool(REAL.fullmatch(text) or NOT_FINITE.fullmatch(text))


def whole(text: str) -> int:
    """Return the whole number that a text is.

    Raises:
        ValueError: the text is no whole number, or not as people write it.
    """
    if not WHOLE.fullmatch(text):
        raise ValueError(f"{text!r:.80} is no whole number in digits, such as 10")
    return int(text)


def real(text: str) -> float:
    """Return the number that a text is.

    Raises:
        ValueError: the text is no number, or not as people write it.
    """
    if not is_plain(text):
        raise ValueError(f"{text!r:.80} is no number in digits, such as 10 or 0.5")
    return float(text)


def significant(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits, as people read it: `12.6`, `0.0482`, `1230`.

    NaN becomes a dash.
    """
    if math.isnan(value):
        return "-"
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    if not MIN_EXPONENT <= exponent <= MAX_EXPONENT:
        return f"{value:.{digits - 1}e}"
    return f"{round(value, digits - 1 - exponent):.{max(0, digits - 1 - exponent)}f}"


MIN_EXPONENT, MAX_EXPONENT = -5, 9
"""The range of the exponent of ten."""


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


@dataclass(frozen=True, eq=False, slots=True)
class Quantity:
    """A physical quantity, and the units in which a number of it may be written."""

    units: Mapping[str, Fraction]
    """The size of each unit in the field's own one, in ascending order."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of units, in lower case; they are matched in any case of letters."""

    def factor(self, unit: str) -> Fraction | None:
        """Return the factor from a unit to the field's own one; None when the unit is unknown."""
        return self.units.get(self.aliases.get(unit.lower(), unit))


def _units(own: int, units: Mapping[str, int]) -> dict[str, Fraction]:
    return {name: Fraction(size, own) for name, size in units.items()}


_TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
_RATES = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
_SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
"""Decimal units are those of SI, binary ones those of IEC 80000-13; `KB` could be either."""
_OTHER_RATES = {
    written: name
    for name in _RATES
    for written in (name.lower(), name.lower()[:-2], name.lower().replace("it/s", "ps"))
}
"""`Mbit` is tc(8)'s notation, `Mbps` that of trace files."""
QUANTITIES: Final[dict[str, Quantity]] = {
    "ms": Quantity(_units(10**6, _TIMES)),
    "s": Quantity(_units(10**9, _TIMES)),
    "mbps": Quantity(_units(10**6, _RATES), _OTHER_RATES),
    "bytes": Quantity(_units(1, _SIZES)),
    "mb": Quantity(_units(10**6, _SIZES)),
    "percent": Quantity({"%": Fraction(1)}),
}
"""Quantities by the end of field names: `delay_ms` ends with `ms`."""
WITH_UNIT = re.compile(
    r"([-+]?(?:0|[1-9][0-9]{0,17}|(?=\.[0-9]))(?:\.[0-9]{0,17})?) ?([A-Za-z%][A-Za-z/]*)"
)


def quantity_of(name: str) -> Quantity | None:
    """Return the quantity that a field's name tells by its suffix; None when it tells none."""
    return QUANTITIES.get(name.rpartition("_")[2])


def in_field_unit(text: str, quantity: Quantity) -> float:
    """Return a number in the unit of its field, exactly: a whole one as int.

    Args:
        text: `8ms`, `0.5 s`, `20Mbit/s`, or a number without a unit.
        quantity: what it has to be of.

    Raises:
        ValueError: it is no such number, or its unit is of something else; without the text.
    """
    if is_plain(text):
        return int(text) if WHOLE.fullmatch(text) else float(text)
    found = WITH_UNIT.fullmatch(text)
    factor = quantity.factor(found[2]) if found else None
    if found is None or factor is None:
        own = next(name for name, size in quantity.units.items() if size == 1)
        raise ValueError(
            f"no number in digits, such as 10 or 10{own}; units: {', '.join(quantity.units)}"
        )
    value = Fraction(found[1]) * factor
    return int(value) if value.denominator == 1 else float(value)
