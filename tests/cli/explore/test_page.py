"""The page without a browser: a change of a field, and what the page shows then."""

from __future__ import annotations

import gc
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import gettempdir
from threading import Event, Thread
from typing import Any

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import minitopo_dc as dc
from minitopo_dc import files
from minitopo_dc.campaign.store import make_table
from minitopo_dc.cli import explore as package
from minitopo_dc.cli.explore import answer
from minitopo_dc.cli.explore.answer import Tab, Turns, draw, picture_of, svg_of
from minitopo_dc.cli.explore.fields import WORKLOADS, ComparedFields, TransferFields
from minitopo_dc.cli.explore.form import Form
from minitopo_dc.cli.explore.page import Page
from minitopo_dc.files import check_version
from minitopo_dc.pool import Killed
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runs.perform import Retries
from minitopo_dc.scratch import scratch_prefix
from minitopo_dc.ways import Comparison
from tests.quic.extension import needs_picoquic

DC = "DC (papers')"
SMALL: dict[str, Any] = {"size": 0.3, "repetitions": 1, "dc": "papers"}


def runs_of(page: Page) -> pd.DataFrame:
    assert page.comparison is not None
    return page.comparison.runs


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    page = dc.explore(**SMALL)
    page.settle()
    yield page
    page.close()


@needs_picoquic
def test_a_page_begins_with_a_verdict_and_a_picture_of_each_way(page: Page) -> None:
    runs = runs_of(page).set_index("way")
    assert [*runs.index] == ["leg 1", "leg 2", DC, "MP-QUIC"]
    assert page.comparison is not None
    assert "1 seed, more are needed for an interval" in page.verdict.object
    assert page.verdict.object.startswith("DC (papers&#x27;) ")
    assert page.alone.object.startswith("The better leg alone is leg 1: ")
    for title in (b"delay of a packet", b"where packets were lost", b"too late for t-Reordering"):
        assert title + b"</text>" in page.picture.object
    assert re.fullmatch(r"\d+\.\d\d s from the change to the picture", page.time.object)
    assert runs["propagation_ms"]["leg 1"] == pytest.approx(10, abs=3)  # from samples
    waits = runs["reordering_ms"]
    assert waits[DC] > waits["leg 1"] == waits["MP-QUIC"] == 0
    assert "With leg 2 as the primary one" in page.notes.object


@needs_picoquic
def test_a_change_changes_all_and_a_wrong_one_is_told_beside_its_field_until_mended(
    page: Page,
) -> None:
    before = page.picture.object
    second = page.legs[1].entries
    second["legs"].text.value = "12Mbit"
    page.settle()
    assert page.picture.object != before
    assert "rate_mbps: 12" in page.words["YAML"].value
    second["delay"].text.value = "<3x>"
    page.settle()
    assert "&lt;3x&gt; is no number" in second["delay"].problem.object
    assert page.legs[0].entries["delay"].problem.object == ""
    second["delay"].text.value = "40"
    page.settle()
    assert page.error.object == second["delay"].problem.object == ""


@needs_picoquic
def test_a_number_stands_beside_its_range_and_no_seed_is_refused(page: Page) -> None:
    titles = [
        page.legs[0].entries["queue"].view[0].object,
        page.transfer.entries["repetitions"].view[0].object,
    ]
    assert [title.partition(">")[2] for title in titles] == [
        "1 to 1,000,000,000</span>",
        "1 to 10000</span>",
    ]
    page.transfer.entries["repetitions"].text.value = "0"
    page.settle()
    assert (
        page.transfer.entries["repetitions"].problem.object
        == "--repetitions: 0; allowed: 1 to 10000"
    )
    page.transfer.entries["repetitions"].text.value = "1"
    page.settle()


@needs_picoquic
def test_what_the_outcome_depends_on_is_said_on_request_until_a_change(page: Page) -> None:
    assert page.depends.object == ""
    page.asked.clicks += 1
    page.settle()
    assert "with a server 20 ms farther away" in page.depends.object
    page.transfer.entries["seed"].text.value = "2"
    page.settle()
    assert page.depends.object == ""


@needs_picoquic
def test_a_carrier_brings_its_own_values(page: Page) -> None:
    page.legs[0].capacity.value = "nr-tdd-100"
    page.settle()
    assert page.legs[0].entries["queue"].value == "4096/2000"
    assert page.form.words["legs"][0] == "nr-tdd-100"
    assert page.ways()["leg 1"].legs[0] == dc.nr()
    page.legs[0].capacity.value = "rate"
    page.settle()


@needs_picoquic
def test_what_is_saved_can_be_read_again(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page.save.clicks += 1
    page.settle()
    [root] = (tmp_path / "results").iterdir()
    pd.testing.assert_series_equal(dc.load(root)["goodput_mbps"], runs_of(page)["goodput_mbps"])
    names = {"goodput.png", "timeline.png", "verdict.json", "runs.csv"}
    assert names <= {path.name for path in root.iterdir()}
    assert str(root) in page.saved.object


@needs_picoquic
def test_a_page_gives_its_ways_and_its_figure_to_other_cells(page: Page) -> None:
    assert page.ways()[DC].workload == dc.Download(size_mb=0.3)
    assert page.plot().shape == (2, 2)
    assert "minitopo-dc compare" in repr(page)


@needs_picoquic
def test_all_rates_over_time_have_the_same_bins(page: Page) -> None:
    lines = page.plot()[0, 1].lines
    widths = {round(float(line.get_xdata()[1] - line.get_xdata()[0]), 6) for line in lines}
    assert len(lines) == 4
    assert len(widths) == 1


@needs_picoquic
def test_many_quick_changes_leave_the_last_picture_and_the_files_of_one(page: Page) -> None:
    for number in range(30):
        page.transfer.entries["seed"].text.value = str(100 + number)
        time.sleep(0.01)
    page.settle()
    assert set(runs_of(page)["seed"]) == {129}


def kept() -> dict[str, int]:
    """Return how much of what each answer makes is there."""
    gc.collect()
    kinds = [type(thing) for thing in gc.get_objects()]
    kept = {kind.__name__: kinds.count(kind) for kind in (Comparison, RunResult, Figure, Thread)}
    return kept | {"directories": len([*Path(gettempdir()).glob(f"{scratch_prefix()}*")])}


@needs_picoquic
def test_of_many_changes_only_what_the_last_one_made_is_kept(page: Page) -> None:
    seed = page.transfer.entries["seed"]
    before: dict[str, int] = {}
    for number in range(4):
        seed.text.value = str(200 + number)
        page.settle()
        before = before or kept()
    assert kept() == before


@needs_picoquic
def test_the_process_that_draws_keeps_nothing_of_the_runs_that_it_has_read(page: Page) -> None:
    assert page.comparison is not None
    check_version(page.comparison.directory)
    assert any(cached.cache_info().currsize for cached in files._CACHES)
    svg_of(page.comparison)
    assert {cached.cache_info().currsize for cached in files._CACHES} == {0}


@needs_picoquic
def test_a_closed_page_ends_its_work_and_removes_its_files() -> None:
    page = dc.explore(**SMALL | {"size": 50})
    begin = time.monotonic()
    page.close()
    assert time.monotonic() - begin < answer.MOST_S
    assert page.comparison is None
    page.transfer.entries["seed"].text.value = "7"
    assert page._tab._thread is None


@pytest.mark.parametrize(
    ("legs", "options"),
    [
        ([dc.Leg(rate_mbps=20), dc.Leg(wifi={})], {"set": ["pdcp.sn_bits=12"]}),
        ([dc.Leg(rate_mbps=20, queue_ms=20), dc.nr()], {}),
        (None, {"legs": ["60/10", "25/5"], "dc": "ideal"}),
        (None, {"modes": ["dc", "atsss"], "split": ["least-delay"], "stacks": "noq"}),
        (None, {"modes": ["dc", "multipath"], "workload": "upload:size_mb=3", "seed": 2}),
    ],
    ids=["with spaces", "queue in ms", "uplinks", "ATSSS", "modes"],
)
def test_a_page_is_what_it_begins_with(
    legs: list[dc.Leg] | None, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tab, "ask", lambda *_: None)
    form = Form.of_values(legs, options)
    stack = "noq" if "stacks" in options else "picoquic"
    mine = [way for way in form.ways().values() if way.transport.endswith(stack)]
    assert [*Page(form).ways().values()] == mine


@pytest.mark.parametrize("kind", WORKLOADS)
def test_each_workload_of_the_page_is_what_its_ways_transfer(kind: str) -> None:
    form = Form.of_values(None, SMALL)
    fields = TransferFields(form, lambda: None)
    fields.workload.value = kind
    ways = form.changed(**fields.words()).ways().values()
    assert {way.workload.kind for way in ways} == {kind}


def test_atsss_and_two_stacks_are_compared_where_they_are_chosen() -> None:
    form = Form.of_values(None, SMALL)
    fields = ComparedFields(form, lambda: None)
    fields.atsss.value, fields.stacks.value = True, ["picoquic", "noq"]
    ways = form.changed(**fields.words()).ways().values()
    assert {way.mode for way in ways} == {"sc", "dc", "atsss", "multipath"}
    assert {way.transport.partition("-")[2] for way in ways} == {"picoquic", "noq"}


def test_runs_that_all_failed_have_a_picture_without_numbers(tmp_path: Path) -> None:
    rows = [{"way": way, "seed": 1, "status": "failed", "run": ""} for way in ("leg 1", "DC")]
    made = Comparison(make_table(rows, ["way"], ["goodput_mbps"], tmp_path), tmp_path)
    grid = draw(made)
    assert [text.get_text() for text in grid[0, 0].texts] == ["none", "none"]
    assert b">none</text>" in svg_of(made)


def test_a_picture_has_room_for_the_longest_name_of_its_ways(tmp_path: Path) -> None:
    names = ("leg 1", "DC (deployable, Xn 5 ms, picoquic)")
    rows = [{"way": way, "seed": 1, "status": "failed", "run": ""} for way in names]
    grid = draw(Comparison(make_table(rows, ["way"], ["goodput_mbps"], tmp_path), tmp_path))
    canvas: Any = FigureCanvasAgg(grid[0, 0].figure)
    canvas.draw()
    right = grid[1, 0].get_window_extent().x1
    begins = [axes.get_yticklabels()[1].get_window_extent().x0 for axes in grid[1]]
    assert begins[0] >= 0
    assert begins[1] >= right


def test_a_picture_whose_process_ends_is_the_page_s_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pool:
        def results(self, _: list[Any]) -> list[tuple[int, Any]]:
            return [(0, Killed(-9))]

    monkeypatch.setattr(answer, "_drawer", Pool)
    with pytest.raises(dc.MinitopoDcError, match="no picture: its process ended with -9"):
        picture_of(Comparison(pd.DataFrame(), tmp_path))


def test_a_missing_package_is_one_line_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(package, "find_spec", lambda _: None)
    monkeypatch.delitem(sys.modules, "minitopo_dc.cli.explore.page")
    with pytest.raises(dc.InputError, match=r"explore needs panel: pip install .*notebooks"):
        dc.explore()


def test_only_the_newest_of_waiting_requests_is_answered() -> None:
    begun, go, answered = Event(), Event(), []

    def answer(request: int, tab: Tab) -> None:
        begun.set()
        go.wait(10)
        answered.append((request, tab.is_old()))

    tab = Tab(answer)
    tab.ask(1)
    begun.wait(10)
    tab.ask(2)
    tab.ask(3)
    go.set()
    tab.settle()
    assert answered == [(1, True), (3, False)]


class Queue:
    """Turns with a clock that goes on by what is worked, and what was worked on."""

    def __init__(self) -> None:
        self.now_s, self.order = 0.0, ""
        self.turns = Turns(lambda: self.now_s)

    def work(self, letter: str, work_s: float) -> None:
        self.order += letter
        self.now_s += work_s

    def serve(self, answer: Callable[[Any, Tab], None], had_s: Mapping[str, float]) -> str:
        """Let tabs ask while another one works; return the order in which they are served.

        Args:
            answer: to the tab's name.
            had_s: for how long they have worked before (s); the first one works now.
        """
        first, *others = (Tab(answer, self.turns) for _ in had_s)
        for tab, before_s in zip((first, *others), had_s.values(), strict=True):
            tab.had_s = before_s
        with first.turn():
            for number, (tab, name) in enumerate(zip(others, [*had_s][1:], strict=True), 1):
                tab.ask(name)
                while len(self.turns._waiting) < number:
                    time.sleep(0.001)
        for tab in others:
            tab.settle()
        return self.order


@pytest.mark.parametrize(
    ("had_s", "order"),
    [
        ({"first": 0, "A": 0, "B": 3, "C": 2}, "ACBaacbcb"),
        ({"first": 100, "A": 100.5, "B": 7, "C": 0}, "BCAbcabca"),
    ],
    ids=["the least first", "none saves time up"],
)
def test_first_pictures_go_before_all_else_and_of_tabs_that_which_has_had_least(
    had_s: dict[str, float], order: str
) -> None:
    queue = Queue()

    def answer(name: str, tab: Tab) -> None:
        with tab.turn():
            queue.work(name, 1)
            for _ in range(2):
                queue.turns.pass_on(tab, later=True)
                queue.work(name.lower(), 1)

    assert queue.serve(answer, had_s) == order


def test_a_first_picture_of_many_runs_lets_others_go_before_after_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queue = Queue()

    def pooled(_: Any, __: Any, lot: Any, ___: Any, working: Path) -> Iterator[Any]:
        queue.work(str(working), 0.6)
        yield from lot.items()

    monkeypatch.setattr(answer, "_pool", lambda: None)
    monkeypatch.setattr(answer, "pooled", pooled)
    runs: Any = dict.fromkeys(range(4 * 2 * len(os.sched_getaffinity(0))))

    def make(name: str, tab: Tab) -> None:
        with tab.turn():
            made = answer._in_turns(tab, runs, Retries(), Path(name), later=False)
            assert len([*made]) == len(runs)

    assert queue.serve(make, {"": 0, "A": 0, "B": 0}) == "AABBAABB"


def test_work_that_is_overtaken_while_it_waits_goes_before_no_more() -> None:
    queue = Queue()

    def answer(name: str, tab: Tab) -> None:
        with tab.turn():
            queue.work(name, 1)

    tab, other = Tab(answer, queue.turns), Tab(answer, queue.turns)
    with other.turn():
        for number, name in enumerate("ABC"):
            tab.ask(name)
            while not queue.turns._waiting or queue.turns._waiting[0][2] < number:
                time.sleep(0.001)
    tab.settle()
    assert queue.order == "C"


@pytest.mark.parametrize(
    ("outcome", "words"),
    [(Killed(-9), "killed again and again"), (dc.InputError("no such leg"), "no such leg")],
)
def test_a_run_whose_process_ends_or_that_cannot_be_made_is_the_page_s_error(
    outcome: Any, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pool:
        def results(self, calls: list[Any], _: Any) -> list[tuple[int, Any]]:
            return [(place, outcome) for place in range(len(calls))]

    monkeypatch.setattr(answer, "_pool", Pool)
    ways = Form.of_values(None, SMALL).ways()
    with pytest.raises(dc.MinitopoDcError, match=words):
        [*answer.comparisons(ways, [1], tmp_path / "runs", Tab(print))]
