"""Numbers as people write and read them.

Written: digits, a point, an exponent, and nothing that reads as another.

A leading zero (octal to some readers), base 60 (`1:30`), underscores and spaces in a number are no
number here, whatever Python or YAML 1.1 makes of them. Where the name of a field tells its unit, a
number may have another one of the same quantity behind it: `delay_ms: 0.5s`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

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
        return f"{value + 0.0:g}"  # never -0
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    if not MIN_EXPONENT <= exponent <= MAX_EXPONENT:
        return f"{value:.{digits - 1}e}"
    return f"{round(value, digits - 1 - exponent):.{max(0, digits - 1 - exponent)}f}"


def short(value: float) -> str:
    """Return a number with two digits, or all before the point; beyond six decimals it is 0."""
    value = round(value, 6) + 0.0  # never -0
    return f"{value:.0f}" if abs(value) >= 10 else f"{value:.2g}"


MIN_EXPONENT, MAX_EXPONENT = -5, 9
"""The range of the exponent of ten."""


def with_reach(mean: float, reach: float) -> str:
    """Return a mean with the half of its interval, where it has one: `25.3 ± 5.3`."""
    return significant(mean) + (f" ± {significant(reach, 2)}" if math.isfinite(reach) else "")


def for_json(values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return values with None for the numbers that JSON does not have: NaN and the infinities."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }


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


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as it is usually written, and its size: in ns, bit/s, bits or percent."""

    name: str
    size: int


@dataclass(frozen=True, eq=False, slots=True)
class Quantity:
    """A physical quantity in the unit of a field, and how its units are written."""

    unit_of: Callable[[str], Unit | None]
    """Return the unit that a text is, in any usual spelling; None for another or several."""
    own: str
    """The field's own unit."""
    spellings: tuple[str, ...]
    """One spelling of each usual unit, for messages."""

    def factor(self, unit: str) -> Fraction | None:
        """Return the factor from a unit to the field's own one; None when it is none or several."""
        given, own = self.unit_of(unit), self.unit_of(self.own)
        return None if given is None or own is None else Fraction(given.size, own.size)


_TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
_TIME_WORDS = {
    word: unit
    for unit, words in {
        "ns": "nsec nsecs nanosecond nanoseconds",
        "us": "µs usec usecs microsecond microseconds",
        "ms": "msec msecs millisecond milliseconds",
        "s": "sec secs second seconds",
        "min": "mins minute minutes",
        "h": "hr hrs hour hours",
    }.items()
    for word in words.split()
}
_SIZES = {"": 1, **{letter: 10 ** (3 * n) for n, letter in enumerate("kMGT", 1)}}
_SIZES |= {f"{letter}i": 1 << 10 * n for n, letter in enumerate("KMGT", 1)}
"""Sizes of prefixes: the decimal ones of SI, the binary ones of IEC 80000-13."""
_PREFIXES = {prefix.lower(): prefix for prefix in _SIZES} | {
    "kilo": "k",
    "mega": "M",
    "giga": "G",
}
_LETTERS = re.compile(r"(|[kMGT]i?|Ki?)([bB])(ps|/s|)")
"""`b` is a bit and `B` a byte; bit/s with the K of `Kbps` are 1,000, as there is no other kbit."""
_WORDS = re.compile(rf"({'|'.join(_PREFIXES)})(bit|byte)s?(ps|/s|/sec|/second|)", re.IGNORECASE)
_LOWER = re.compile(r"([mgt])bps")
"""Without any capital, as in names of columns and options: bits, as everywhere in such names."""
_PER_SECOND = re.compile(r"[ _]?per[ _]?s(ec(ond)?)?$", re.IGNORECASE)


def time_unit(text: str) -> Unit | None:
    """Return the unit of time that a text is, its size in ns; None for another."""
    name = _TIME_WORDS.get(text.lower(), text.lower())
    return Unit(name, _TIMES[name]) if name in _TIMES else None


def rate_unit(text: str) -> Unit | None:
    """Return the unit of rate that a text is, its size in bit/s.

    The case of a letter is part of it: `b` is a bit, `B` a byte. None for what is no such unit and
    for what could be several: `MBPS` and `mb/s` (bits or bytes), `KB/s` (1,000 or 1,024). Bits
    alone are a rate, too: `Mbit` is tc(8)'s notation.
    """
    return _data_unit(_PER_SECOND.sub("/s", text), is_rate=True)


def size_unit(text: str) -> Unit | None:
    """Return the unit of data that a text is, its size in bits.

    A letter `b` alone is none: `10kb` may be meant as bytes.
    """
    return _data_unit(text, is_rate=False)


def _data_unit(text: str, *, is_rate: bool) -> Unit | None:
    if letters := _LETTERS.fullmatch(_LOWER.sub(lambda it: f"{it[1].upper()}bps", text)):
        prefix, bits, per = letters[1], 8 if letters[2] == "B" else 1, letters[3]
        prefix = "k" if (prefix, bits) == ("K", 1) else prefix
    elif (words := _WORDS.fullmatch(text)) and (words[1], words[2].lower()) != ("K", "byte"):
        prefix, per = _PREFIXES[words[1].lower()], words[3]
        bits = 8 if words[2].lower() == "byte" else 1
    else:
        return None
    is_spelled = bits == 1 and "it" in text.lower()  # and no `b`, which may be meant as bytes
    fits = bool(per) or is_spelled if is_rate else not per and (bits > 1 or is_spelled)
    if prefix not in _SIZES or not fits:
        return None
    name = f"{prefix}{'B' if bits > 1 else 'bit'}{'/s' if is_rate else ''}"
    return Unit(name, _SIZES[prefix] * bits)


def is_ambiguous(text: str) -> bool:
    """Return whether a text could be several units of data or rate, by its case of letters."""
    looks = re.fullmatch(r"[kmgt]?i?b(ytes?)?(ps|/s|/sec|)", text, re.IGNORECASE)
    return bool(looks) and rate_unit(text) is size_unit(text) is None


TIME_UNITS = tuple(_TIMES)
RATE_UNITS = (
    *("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "kbps", "Mbps", "Kibit/s"),
    *("B/s", "kB/s", "MB/s", "GB/s", "MBps", "KiB/s", "MiB/s"),
)
_SIZE_UNITS = ("B", "kB", "MB", "GB", "KiB", "MiB", "GiB")


QUANTITIES: Final[dict[str, Quantity]] = {
    "ms": Quantity(time_unit, "ms", TIME_UNITS),
    "s": Quantity(time_unit, "s", TIME_UNITS),
    "mbps": Quantity(rate_unit, "Mbit/s", RATE_UNITS),
    "bytes": Quantity(size_unit, "B", _SIZE_UNITS),
    "mb": Quantity(size_unit, "MB", _SIZE_UNITS),
    "percent": Quantity(lambda text: Unit("%", 1) if text == "%" else None, "%", ("%",)),
}
"""Quantities by the end of field names: `delay_ms` ends with `ms`."""
WITH_UNIT = re.compile(
    r"([-+]?(?:0|[1-9][0-9]{0,17}|(?=\.[0-9]))(?:\.[0-9]{0,17})?) ?([A-Za-zµ%][A-Za-z/]*)"
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
    parts = WITH_UNIT.fullmatch(text)
    factor = quantity.factor(parts[2]) if parts else None
    if parts is None or factor is None:
        what = f"no number in digits, such as 10 or 10{quantity.own}"
        if parts is not None and is_ambiguous(parts[2]):
            what += f": {parts[2]} could be of bits or bytes, or of 1,000 or 1,024"
        raise ValueError(f"{what}; units: {', '.join(quantity.spellings)}")
    value = Fraction(parts[1]) * factor
    return int(value) if value.denominator == 1 else float(value)
