"""Which leg has how much of a run's bytes from a moment on."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from minitopo_dc.results.measures import utilisation
from minitopo_dc.results.measures.utilisation import leg_loss_percent, leg_share


@pytest.fixture(autouse=True)
def legs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leg 1 delivers nothing from 3 s on, but is sent to; leg 2 delivers from 3 s on."""
    rows = [
        (second, leg, pushed, min(pushed, most))
        for second in range(7)
        for leg, pushed, most in ((1, 100 * second, 300), (2, 300 * max(second - 3, 0), 10**9))
    ]
    columns = ["time_s", "leg", "pushed_bytes", "delivered_bytes"]
    table = pd.DataFrame(rows, columns=columns)
    monkeypatch.setattr(utilisation, "leg_series", lambda _: table)


def test_what_is_carried_and_what_is_sent_are_told_apart() -> None:
    run = Path("run")
    assert leg_share(run, "delivered_bytes", leg=2, from_s=4) == 1
    assert leg_share(run, "pushed_bytes", leg=2, from_s=4) == 0.75
    assert leg_share(run, "delivered_bytes", leg=1, from_s=0) == 0.25
    assert leg_share(run, "delivered_bytes", leg=3, from_s=0) == 0


def test_of_nothing_there_is_no_share() -> None:
    assert math.isnan(leg_share(Path("run"), "delivered_bytes", leg=2, from_s=6))


def counted(monkeypatch: pytest.MonkeyPatch, *rows: tuple[int, int, int, int]) -> None:
    """Rows of leg, packets that reached it, and packets dropped by its queue and on the air."""
    columns = ["leg", "pushed_packets", "dropped_queue", "dropped_radio"]
    table = pd.DataFrame(rows, columns=columns)
    monkeypatch.setattr(utilisation, "leg_series", lambda _: table)


def test_lost_is_what_all_legs_had_dropped_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    counted(monkeypatch, (1, 10, 0, 0), (2, 10, 5, 0), (1, 300, 1, 2), (2, 100, 5, 0))
    assert leg_loss_percent(Path("run")) == 2


def test_where_nothing_was_sent_no_share_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    counted(monkeypatch, (1, 0, 0, 0))
    assert math.isnan(leg_loss_percent(Path("run")))
