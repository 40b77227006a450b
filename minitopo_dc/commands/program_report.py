"""What is said of a program's run when it has ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minitopo_dc.emulation.program_result import LegCount, ProgramResult


def report_lines(result: ProgramResult) -> Iterator[str]:
    """A line for each leg, one for each PDCP entity that receives; none of a run that failed."""
    for number, leg in enumerate(result.legs, start=1):
        ways = ", ".join(f"{way} {_leg(count)}" for way, count in leg.items())
        yield f"leg {number}: {ways}"
    for way, counters in result.pdcp.items():
        yield f"PDCP {way}: {_pdcp(counters)}"


def _leg(count: LegCount) -> str:
    size = f"{count.bytes / 1e6:.2f} MB" if count.bytes >= 1e6 else f"{count.bytes / 1e3:.1f} kB"
    return f"{size} ({count.mbps:.2f} Mbit/s, {count.dropped} dropped)"


def _pdcp(counters: Mapping[str, Any]) -> str:
    return (
        f"{counters['delivered']} delivered, {counters['missing']} missing, "
        f"{counters['duplicates']} duplicates, {counters['old']} too late, "
        f"t-Reordering expired {_times(counters['t_reordering_expiries'])}"
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
