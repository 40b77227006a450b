"""Small drives for tests."""

from __future__ import annotations

from hypothesis import strategies as st

from minitopo_dc.trace import CellLog, HeardCell

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


def heard(*cells: tuple[str, float]) -> tuple[HeardCell, ...]:
    """Cells named `OPERATOR/CARRIER/CELL`, with their RSRP in dBm."""
    return tuple(HeardCell(*_names(name), power) for name, power in cells)


def _names(name: str) -> tuple[str, str, str]:
    operator, carrier, cell = name.split("/")
    return operator, carrier, cell
