"""The page without a browser: a change of a widget, and what the page shows then."""

from __future__ import annotations

import multiprocessing
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pandas as pd
import pytest

import minitopo_dc as dc
from minitopo_dc.campaign.store import make_table
from minitopo_dc.exploration import choice, explore
from minitopo_dc.exploration.choice import Choice, Newest
from minitopo_dc.exploration.page import Explorer, draw, png_of
from minitopo_dc.pool import Killed
from minitopo_dc.ways import Comparison
from tests.quic.extension import needs_picoquic

SMALL: dict[str, Any] = {"size_mb": 0.5}


def runs_of(page: Explorer) -> pd.DataFrame:
    assert page.comparison is not None
    return page.comparison.runs


def processes() -> set[int | None]:
    return {process.pid for process in multiprocessing.active_children()}


@pytest.fixture(scope="module")
def page() -> Explorer:
    page = explore(**SMALL, dc="batch")
    page.settle()
    return page


@needs_picoquic
def test_a_page_begins_with_a_picture_of_each_way(page: Explorer) -> None:
    runs = runs_of(page).set_index("way")
    assert [*runs.index] == ["leg 1", "leg 2", "DC", "MP-QUIC"]
    assert bytes(page.picture.value).startswith(b"\x89PNG")
    assert re.fullmatch(r"\d+\.\d\d s from the change to the picture", page.time.value)
    assert runs["propagation_ms"]["leg 1"] == pytest.approx(30, abs=5)  # from samples
    waits = runs["reordering_ms"]
    assert waits["DC"] > waits["leg 1"] == waits["MP-QUIC"] == 0
    assert "DC " in page.notes.value  # and what it comes to, as `dc.compare` says it
    assert "1 seed, more are needed for an interval" in page.notes.value


@needs_picoquic
def test_a_change_changes_picture_and_words_and_a_wrong_one_shows_its_line_till_mended() -> None:
    with pytest.raises(dc.InputError, match="explore: Invalid selection"):
        explore(dc="no-such")
    page = explore(**SMALL)
    page.settle()
    before, words = bytes(page.picture.value), page.words["YAML"].value
    page._legs[1]["rate_mbps"].value = 10
    page.settle()
    assert bytes(page.picture.value) != before
    assert "rate_mbps: 10" in page.words["YAML"].value
    assert words != page.words["YAML"].value
    page._rest["t_reordering_ms"].value = "<37>"
    page.settle()
    assert "pdcp.t_reordering_ms: &lt;37&gt; is no number" in page.error.value
    page._rest["t_reordering_ms"].value = "40"
    page.settle()
    assert page.error.value == ""


@needs_picoquic
def test_a_way_that_fails_says_why_below_the_picture_of_all_seeds() -> None:
    page = explore(size_mb=5, others="timeout_s=1", seeds=2, seed=5)
    page.settle()
    assert runs_of(page)["seed"].tolist() == [5] * 4 + [6] * 4
    assert "leg 1: 1 failed: did not finish within 1 s" in page.notes.value


@needs_picoquic
def test_many_quick_changes_leave_the_last_picture_and_no_more_processes() -> None:
    page = explore(**SMALL)
    page.settle()
    before = processes()
    for number in range(50):
        page._rest["seed"].value = 100 + number
        time.sleep(0.01)
    page.settle()
    assert set(runs_of(page)["seed"]) == {149}
    assert processes() == before


@needs_picoquic
def test_a_page_gives_its_ways_and_its_figure_to_other_cells(page: Explorer) -> None:
    assert page.ways()["DC"].workload == dc.Download(**SMALL)
    assert page.plot().shape == (2, 2)
    assert "minitopo-dc compare" in repr(page)


def test_runs_that_all_failed_have_a_picture_without_numbers(tmp_path: Path) -> None:
    rows = [{"way": way, "seed": 1, "status": "failed", "run": ""} for way in ("leg 1", "DC")]
    grid = draw(Comparison(make_table(rows, ["way"], ["goodput_mbps"], tmp_path), tmp_path))
    assert [text.get_text() for text in grid[0, 0].texts] == ["none", "none"]
    assert png_of(grid).startswith(b"\x89PNG")


def test_a_missing_package_is_one_line_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "minitopo_dc.exploration.page")
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(dc.InputError, match=r"explore needs ipywidgets: pip install .*notebooks"):
        explore()


def test_only_the_newest_of_waiting_requests_is_answered() -> None:
    begun, go, answered = Event(), Event(), []

    def answer(request: int, is_old: Callable[[], bool]) -> None:
        begun.set()
        go.wait(10)
        answered.append((request, is_old()))

    newest = Newest(answer)
    newest.ask(1)
    begun.wait(10)
    newest.ask(2)
    newest.ask(3)
    go.set()
    newest.settle()
    assert answered == [(1, True), (3, False)]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [(Killed(-9), "killed again and again"), (dc.InputError("no such leg"), "no such leg")],
)
def test_a_run_whose_process_ends_or_that_cannot_be_made_is_the_page_s_error(
    outcome: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pool:
        def results(self, calls: list[Any], _: float) -> list[tuple[int, Any]]:
            return [(place, outcome) for place in range(len(calls))]

    monkeypatch.setattr(choice, "_pool", Pool)
    with pytest.raises(dc.MinitopoDcError, match=words):
        choice.compared(Choice(), lambda: False)
