"""The report in a real browser: no overlap, no complaint, zoom, cursor, themes; at two widths."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.cli import main
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from tests.campaign.campaigns import document, pretend, run_with
from tests.campaign.report.browser import Page, opened
from tests.page_load.programs import need_chromium

WIDTHS = (1300, 420)
CURVES = [{"configuration": "default", "mean": "quic_mbps", "sd": "quic_sd"}]
DESIGN = {
    "method": "latin-hypercube",
    "points": 20,
    "seed": 1,
    "factors": {"label.rate": [5, 20], "label.rtt": [10, 200, "log"]},
}
RATIO = {"gain": "= large.goodput_mbps / default.goodput_mbps"}
POINTS = {"design": DESIGN, "joined": RATIO, "base": {"legs.*.downlink.rate_mbps": "= rate"}}
ASKED = {
    "measure": "gain",
    "at_least": 1,
    "text": "A larger buffer is as fast as a small one, whatever else there is in the network",
    "label": "larger buffer",
    "then": "large",
    "otherwise": "small",
}
EXPERIMENTS: dict[str, Any] = {
    "batch": {
        "title": "Throughput against the batch size",
        "grid": {"pdcp.batch": [2, 10, 50, 100, 500]},
        "figure": {"x": "pdcp.batch", "x_label": "batch size (packets)", "curves": CURVES},
        "reference": {"table": "thesis_table_5_3_batch_size.csv", "x": "batch_size_packets"},
    },
    "gains": {
        "title": "Gains",
        **POINTS,
        "explain": [ASKED],
        "claims": [{"text": "it pays", "value": "= share(gain >= 1)", "least": 0.5}],
        "figure": {"kind": "cdf", "x_label": "gain", "level": 1, "curves": [{"measure": "gain"}]},
    },
    "map": {
        "title": "A map",
        **POINTS,
        "figure": {
            "kind": "map",
            "x": "label.rate",
            "y": "label.rtt",
            "level": 1,
            "curves": [{"measure": "gain"}],
        },
    },
    "legs": {
        "title": "Legs",
        "cells": [{"pdcp.batch": 2}, {"pdcp.batch": 100}],
        "figure": {"kind": "legs", "x": "pdcp.batch", "y_label": "rate (Mbit/s)"},
    },
}


def made_up(scenario: Scenario, directory: Path) -> RunResult:
    """A run with the series of its legs, faster where the rate is high and the buffer large."""
    large = scenario.options.get("receive_buffer_bytes", 0) > 1_000_000
    rate = scenario.legs[0].downlink.rate_mbps or 20
    rows = [f"{n}00000000,{leg},{n * 100_000 * leg}" for n in range(30) for leg in (1, 2)]
    text = "\n".join(["time_ns,leg,delivered_bytes", *rows])
    (directory / "gnb-legs.csv").write_text(text, encoding="utf-8")
    (directory / "gnb-summary.json").write_text(json.dumps({"start_ns": 0}), encoding="utf-8")
    goodput = rate * (rate / 12 if large else 1) + 0.1 * scenario.seed
    return replace(pretend(scenario, directory), goodput_mbps=goodput)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_chromium()
    root = tmp_path_factory.mktemp("browser") / "c"
    words = {"label.rate": "rate (Mbit/s)", "label.rtt": "round trip (ms)"}
    done = run_with(root, document(experiments=EXPERIMENTS, words=words), made_up)
    assert main(["campaign", "report", str(done)]) == 0
    return done / "report/report.html"


@pytest.fixture(scope="module", params=WIDTHS)
def page(report: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    with opened(report, request.param) as found:
        found.show_all()
        yield found


def test_every_figure_is_drawn_and_the_browser_complains_of_nothing(page: Page) -> None:
    panels = "each => each.querySelectorAll('canvas').length"
    drawn = page.evaluate(f"[...document.querySelectorAll('figure[data-chart]')].map({panels})")
    assert drawn == [1, 1, 2, 1, 4]
    assert page.complaints() == []


def test_no_text_overlaps_another_one(page: Page) -> None:
    assert page.overlaps() == []


def test_a_text_over_another_one_would_be_seen(page: Page) -> None:
    page.evaluate(
        "document.querySelector('h1').insertAdjacentHTML('beforeend',"
        " '<i id=over style=\"position: absolute; left: 20px\">over</i>')"
    )
    assert any("over" in pair for pair in page.overlaps())
    page.evaluate("document.getElementById('over').remove()")


def test_the_page_is_no_wider_than_the_screen(page: Page) -> None:
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")


PLOT = "document.querySelector('figure[data-chart=\"{}\"] .plot')"


def middle(page: Page, name: str) -> tuple[float, float, float]:
    """Left and right of a plot, and the height of its middle, after scrolling there."""
    plot = PLOT.format(name)
    page.evaluate(f"{plot}.scrollIntoView({{block: 'center'}})")
    box = page.evaluate(f"{plot}.querySelector('.u-over').getBoundingClientRect().toJSON()")
    left, right, top, bottom = (float(box[side]) for side in ("left", "right", "top", "bottom"))
    return left, right, (top + bottom) / 2


def ends(page: Page, name: str, panel: int = 0) -> tuple[float, float]:
    plots = f"document.querySelectorAll('figure[data-chart=\"{name}\"] .plot')[{panel}].plot"
    low, high = page.evaluate(f"[{plots}.scales.x.min, {plots}.scales.x.max]")
    return low, high


@pytest.mark.parametrize("name", ["batch", "gains", "map", "legs"])
def test_a_drag_zooms_and_a_double_click_shows_all_again(page: Page, name: str) -> None:
    before = ends(page, name)
    left, right, height = middle(page, name)
    width = right - left
    page.drag((left + 0.3 * width, height), (left + 0.6 * width, height + 2))
    low, high = ends(page, name)
    assert before[0] < low < high < before[1]
    page.double_click(left + 0.5 * width, height)
    assert ends(page, name) == pytest.approx(before)


def test_panels_of_the_same_time_zoom_together(page: Page) -> None:
    left, right, height = middle(page, "legs")
    page.drag((left + 0.3 * (right - left), height), (left + 0.6 * (right - left), height))
    assert ends(page, "legs", 1) == pytest.approx(ends(page, "legs", 0))
    page.double_click((left + right) / 2, height)


def test_the_cursor_shows_values_in_all_panels_of_the_same_time(page: Page) -> None:
    left, right, height = middle(page, "legs")
    page.mouse("mouseMoved", (left + right) / 2, height)
    values = page.evaluate(
        "[...document.querySelectorAll('figure[data-chart=\"legs\"] .plot')].map("
        "e => [...e.querySelectorAll('.u-value')].map(v => v.textContent))"
    )
    assert values[0] == values[1]
    assert [float(each) for each in values[0]][1:] == pytest.approx([8, 16], rel=0.01)


def test_the_theme_can_be_changed(page: Page) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    seen = []
    for _ in range(3):
        page.evaluate("document.getElementById('theme').click()")
        seen.append(
            (page.evaluate("document.documentElement.dataset.theme"), page.evaluate(colour))
        )
    assert [name for name, _ in seen] == ["light", "dark", "auto"]
    assert seen[0][1] != seen[1][1]
