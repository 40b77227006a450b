"""Small drives for tests."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import strategies as st

from minitopo_dc.trace import CellLog, HeardCell, RateTrace

POWERS = st.integers(-1300, -500).map(lambda tenths: tenths / 10)

CELLS = st.builds(
    HeardCell,
    operator=st.sampled_from(["A", "B"]),
    carrier=st.sampled_from(["800", "1800"]),
    cell=st.sampled_from(["1", "2", "3"]),
    rsrp_dbm=POWERS,
)
SECONDS = st.lists(CELLS, max_size=8, unique_by=lambda cell: cell[:3]).map(tuple)
LOGS = st.lists(SECONDS, min_size=1, max_size=6).filter(any).map(lambda s: CellLog("d", tuple(s)))


@st.composite
def rate_traces(draw: st.DrawFn) -> RateTrace:
    """Traces of up to 24 s and 100 Mbit/s."""
    steps = draw(st.lists(st.integers(1, 3 * 10**9), min_size=1, max_size=8))
    rates = draw(st.lists(st.integers(0, 10**8), min_size=len(steps), max_size=len(steps)))
    *times, duration = accumulate(steps, initial=0)
    return RateTrace("trace.csv", tuple(times), tuple(rates), duration)


def heard(*cells: tuple[str, float]) -> tuple[HeardCell, ...]:
    """Cells named `OPERATOR/CARRIER/CELL`, with their RSRP in dBm."""
    return tuple(HeardCell(*_names(name), power) for name, power in cells)


def _names(name: str) -> tuple[str, str, str]:
    operator, carrier, cell = name.split("/")
    return operator, carrier, cell
