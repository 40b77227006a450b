"""Writers of traces, in formats that the readers read back."""

from __future__ import annotations

from pathlib import Path

from minitopo_dc.trace.convert import to_opportunities
from minitopo_dc.trace.model import RateTrace, Trace


def write_csv(trace: RateTrace, path: str | Path, *, comment: str = "") -> None:
    """Write `time_s,rate_mbps` with every digit, and a last row with the end and no rate.

    Reading it back gives the same times, rates and duration. Each line of `comment` becomes a
    line behind `#` at the top.
    """
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    lines.append("time_s,rate_mbps")
    for time, rate in zip(trace.times_ns, trace.rates_bps, strict=True):
        lines.append(f"{_decimal(time, 9)},{_decimal(rate, 6)}")
    lines.append(f"{_decimal(trace.duration_ns, 9)},")
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_mahimahi(trace: Trace, path: str | Path) -> None:
    """Write one delivery opportunity per line, in ms.

    A rate trace is turned into opportunities by
    :func:`~minitopo_dc.trace.convert.to_opportunities`, which says what that loses. The format has
    neither comments nor another size than 1500 bytes, so neither is written.

    Raises:
        ValueError: the trace carries less than one opportunity, or its opportunities have another
            size than the format's.
    """
    opportunities = to_opportunities(trace) if isinstance(trace, RateTrace) else trace
    size = opportunities.bytes_per_opportunity
    if size != 1500:
        raise ValueError(f"trace {trace.name}: {size} bytes an opportunity; Mahimahi has 1500")
    lines = "".join(f"{time}\n" for time in opportunities.times_ms)
    Path(path).write_text(lines, encoding="ascii")


def _decimal(value: int, places: int) -> str:
    """Return `value` / 10^`places` without a rounding error and without zeros at the end."""
    whole, part = divmod(value, 10**places)
    return f"{whole}.{part:0{places}d}".rstrip("0").rstrip(".")
