"""The page of a table of runs: what it shows, what it links to, what it cannot be made to do."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import image
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from minitopo_dc import Scenario, report
from minitopo_dc.plots.theme import ORDER
from minitopo_dc.report import draw, write_report
from minitopo_dc.results.tables.runs import scenario_fields

LEGS: list[dict[str, Any]] = [
    {"rate_mbps": 20, "delay_ms": 30},
    {"rate_mbps": 80, "loss_percent": 0.5},
]
WAYS: dict[str, dict[str, Any]] = {
    "DC": {"transport": "quic", "mode": "dc", "pdcp": {"split": "least-delay"}},
    "MP-QUIC": {"transport": "mpquic", "mode": "multipath"},
}
EVIL = '<script>alert(1)</script> & "quoted" $\\frac{'


class Page(HTMLParser):
    """The texts, links and elements of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.elements: list[str] = []
        self.rows: list[list[str]] = []
        self.pictures: list[str] = []
        self._in_cell = False
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        attributes = dict(attrs)
        address = attributes.get("href") or "#"
        self.links += [address] if tag == "a" and not address.startswith("#") else []
        self.pictures += [attributes["src"] or ""] if tag == "img" else []
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self._in_cell = True
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_cell &= tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] = (self.rows[-1][-1] + " " + data.strip()).strip()

    def row(self, *begin: str) -> list[str]:
        return next(row for row in self.rows if tuple(row[: len(begin)]) == begin)


def table(directory: Path, *, kept: bool = True, delays: tuple[int, ...] = (5, 60)) -> pd.DataFrame:
    """Two ways, two delays and two seeds, with the scenario of each run."""
    rows = []
    for number, (way, delay, seed) in enumerate(product(WAYS, delays, (1, 2))):
        run = f"runs/{number}"
        if kept:
            legs = [LEGS[0], LEGS[1] | {"delay_ms": delay}]
            fields = {"legs": legs, "seed": seed, "clock": "virtual", **WAYS[way]}
            scenario = Scenario.check(fields, "here")
            (directory / run).mkdir(parents=True)
            scenario.save(directory / run / "scenario.yaml")
        rows.append({"way": way, "delay_ms": delay, "seed": seed, "status": "ok", "reason": "",
                     "run": run, "goodput_mbps": 20.0 + number, "completion_s": 4.0})  # fmt: skip
    runs = pd.DataFrame(rows)
    runs.attrs["labels"] = ["way", "delay_ms"]
    return runs


def write(directory: Path, runs: pd.DataFrame, **more: Any) -> Page:
    return Page(write_report(directory, runs, title="Delays", **more))


def test_the_means_have_their_intervals_and_links_to_their_runs(tmp_path: Path) -> None:
    page = write(tmp_path, table(tmp_path))
    row = page.row("DC", "5", "2")
    assert row[3] == "20.5 ± 6.4"  # 12.706 x 0.7071 / sqrt(2)
    assert row[-1].split() == ["1", "2"]
    assert {"runs/0/", "runs/7/"} <= set(page.links)
    assert all((tmp_path / link).exists() for link in page.links)


def test_the_conditions_are_those_of_the_scenarios(tmp_path: Path) -> None:
    page = write(tmp_path, table(tmp_path))
    assert page.row("leg 1, downlink")[1:4] == ["20", "30", "1"]
    assert page.row("leg 2, downlink")[1:] == ["80", "5, 60 (by delay_ms)", "1", "0.5", "100"]
    assert page.row("transport")[1] == "quic (DC), mpquic (MP-QUIC)"
    assert page.row("PDCP split")[1] == "least-delay (DC), none (MP-QUIC)"
    assert page.row("congestion control")[1] == "cubic"
    assert page.row("clock")[1] == "virtual"
    assert page.row("workload size (MB)")[1] == "10"


def test_a_page_elsewhere_has_the_conditions_and_links_to_the_runs(tmp_path: Path) -> None:
    runs = table(tmp_path)
    runs.attrs["directory"] = str(tmp_path)
    runs.loc[0, "run"] = "../out"
    page = write(tmp_path / "report", runs)
    assert page.row("congestion control")[1] == "cubic"
    assert {"../runs/1/", "../runs/7/"} <= set(page.links)
    assert not [link for link in page.links if "out" in link]
    assert all((tmp_path / "report" / link).exists() for link in page.links)


def test_notes_are_paragraphs_code_and_indented_lines(tmp_path: Path) -> None:
    notes = "Of `a & b`.\n\n    first\n      second\n\nThe end."
    page = write(tmp_path, table(tmp_path), notes=notes)
    assert "<p>Of <code>a &amp; b</code>.</p>" in page.source
    assert "<pre>first\n  second</pre>" in page.source
    assert "<p>The end.</p>" in page.source


def test_panels_of_what_varies_show_all_their_values_in_one_legend() -> None:
    runs = sweep(way=["DC", "leg 1"], case=["near", "far"], control=["cubic", "reno"])
    runs.loc[runs["control"] == "reno", "goodput_mbps"] *= 10
    figure, _ = draw(runs, ["way", "case", "control"], runs)
    figure.draw_without_rendering()
    assert [len(legend.get_texts()) for legend in figure.legends] == [2]
    assert all(axes.get_xlim()[1] > 120 for axes in figure.axes)
    (legend,) = figure.legends
    titles = [axes.title.get_window_extent().y1 for axes in figure.axes]
    assert legend.get_window_extent().y0 >= max(titles)


def test_a_scenario_is_read_for_each_case_and_not_for_each_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, read = table(tmp_path), []

    def counted(run: Path) -> Any:
        read.append(run)
        return scenario_fields(run)

    monkeypatch.setattr("minitopo_dc.report.scenario_fields", counted)
    write(tmp_path, runs)
    assert len(read) == 4


def test_what_is_not_ok_is_counted_by_status_and_reason(tmp_path: Path) -> None:
    runs = table(tmp_path)
    runs.loc[[0, 1], ["status", "reason"]] = ["failed", "the element died"]
    runs.loc[7, ["status", "reason"]] = ["disturbed", "too late"]
    runs.loc[6, ["status", "run"]] = ["missing", ""]
    page = write(tmp_path, runs)
    assert page.row("2", "failed")[2:4] == ["the element died", "way: DC; delay_ms: 5"]
    assert page.row("1", "disturbed")[2] == "too late"
    assert page.row("1", "missing")[2] == "not run yet"
    assert page.row("DC", "5")[2:4] == ["0", "-"]
    assert page.row("MP-QUIC", "60")[2] == "0"


def test_hostile_text_is_text(tmp_path: Path) -> None:
    runs = table(tmp_path).replace({"way": {"DC": EVIL}})
    runs.loc[0, ["status", "reason", "run"]] = ["failed", EVIL, "javascript:alert(1)"]
    runs.loc[2, "run"] = "../../etc"
    own = [(EVIL, [EVIL, pd.DataFrame({EVIL: [EVIL]})])]
    page = write(tmp_path, runs, notes=EVIL, sections=own, tables=("csv", "latex"))
    assert "script" not in page.elements
    assert any(EVIL in cell for row in page.rows for cell in row)
    assert not [link for link in page.links if link.startswith(("javascript:", "http", "/", ".."))]
    assert "runs/2/" not in page.links


def test_links_and_files_are_relative_and_the_page_needs_nothing_else(tmp_path: Path) -> None:
    page = write(tmp_path, table(tmp_path), formats=("svg", "pdf", "png"), tables=("csv", "latex"))
    assert str(tmp_path) not in page.source
    assert not {"script", "link", "iframe"} & set(page.elements)
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.pictures)
    assert "http" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", page.source)
    written = sorted(path.suffix for path in (tmp_path / "figures").iterdir())
    assert written == [".pdf", ".png", ".svg"]
    assert image.imread(tmp_path / "figures/means.png").shape[1] == 4.6 * 300
    assert "goodput" in (tmp_path / "tables/means.tex").read_text()
    numbers = pd.read_csv(tmp_path / "tables/means.csv")
    assert numbers["goodput_mbps"].tolist() == [20.5, 22.5, 24.5, 26.5]
    assert numbers["n"].tolist() == [2, 2, 2, 2]
    assert all((tmp_path / link).exists() for link in page.links)


def test_a_users_sections_come_first(tmp_path: Path) -> None:
    figure = Figure()
    figure.subplots().plot([1, 2], label="mine")
    runs = table(tmp_path)
    own = [("Mine", ["One.\n\nTwo.", figure.axes[0]]), ("Table", runs.groupby("way")["seed"].sum())]
    with pytest.raises(TypeError, match="Table: Series"):
        write(tmp_path, runs, sections=own)
    page = write(tmp_path, runs, sections=own[:1])
    titles = re.findall("<h2>(.*?)</h2>", page.source)
    assert titles == ["Mine", "Means", "Conditions"]
    assert page.source.count("<p>Two.</p>") == 1
    assert len(page.pictures) == 2


def test_each_experiment_has_its_figure(tmp_path: Path) -> None:
    runs = table(tmp_path)
    runs["experiment"] = ["one", "one", "two", "two"] * 2
    page = write(tmp_path, runs)
    assert re.findall("<h2>(.*?)</h2>", page.source)[:2] == ["one", "two"]
    assert len(page.pictures) == 2


def test_a_page_without_runs_has_what_there_is_to_say(tmp_path: Path) -> None:
    page = write(tmp_path, table(tmp_path).iloc[:0])
    assert "No run yet." in page.source
    nothing_done = table(tmp_path, kept=False).assign(status="missing", run="", goodput_mbps=None)
    page = write(tmp_path, nothing_done.drop(columns="completion_s"))
    assert page.row("8", "missing")[2] == "not run yet"


def test_an_experiment_may_lack_a_label(tmp_path: Path) -> None:
    runs = table(tmp_path)
    runs["experiment"] = ["one", "one", "two", "two"] * 2
    runs["batch"] = [2.0 if name == "one" else None for name in runs["experiment"]]
    runs.attrs["labels"] = ["way", "batch", "delay_ms"]
    page = write(tmp_path, runs)
    assert page.row("DC", "2", "20.5 ± 6.4")[-1] == "1 2"


def test_a_missing_scenario_is_named_and_the_others_are_shown(tmp_path: Path) -> None:
    runs = table(tmp_path)
    (tmp_path / "runs/0/scenario.yaml").unlink()
    page = write(tmp_path, runs)
    assert "runs/0: " in page.source
    assert page.row("leg 2, downlink")[1] == "80"


def test_a_foreign_scenario_may_be_anything_and_is_read_within_its_directory_only(
    tmp_path: Path,
) -> None:
    runs = table(tmp_path / "results")
    (tmp_path / "results/runs/0/scenario.yaml").write_text("legs: {a: {b: {rate_mbps: odd}}}")
    (tmp_path / "results/runs/2/scenario.yaml").write_text("- 1")
    shutil.move(tmp_path / "results/runs/4", tmp_path / "secret")
    runs.loc[4, "run"] = "../secret"
    page = write(tmp_path / "results", runs)
    assert page.row("leg a, b")[1] == "odd (DC), none (MP-QUIC)"
    assert "runs/2/scenario.yaml: no scenario" in page.source
    assert "../secret: not within the directory" in page.source


def sweep(**factors: list[Any]) -> pd.DataFrame:
    rows = [dict(zip(factors, values, strict=True)) | {"goodput_mbps": 10.0 + seed, "seed": seed}
            for seed in (1, 2) for values in product(*factors.values())]  # fmt: skip
    return pd.DataFrame(rows)


MANY = [1, 2, 5, 10, 20, 50, 100]


@pytest.mark.parametrize(
    ("factors", "panels", "x"),
    [
        ({"way": ["DC", "leg 1"], "delay_ms": [1, 2, 3]}, 1, "delay (ms)"),
        ({"way": ["DC", "leg 1"], "delay_ms": [1, 2, 3], "loss_percent": [0, 1]}, 2, "delay (ms)"),
        ({"way": ["DC", "leg 1"], "delay_ms": MANY, "loss_percent": MANY}, 2 + 2, "delay (ms)"),
        ({"way": ["DC", "leg 1"]}, 1, "goodput (Mbit/s)"),
        ({"way": ["DC", "leg 1"], "control": ["cubic", "reno"]}, 1, "goodput (Mbit/s)"),
        ({"a": MANY, "b": MANY, "c": [1, 2]}, 1, "goodput (Mbit/s)"),
    ],
    ids=["curves", "multiples", "maps", "bars", "groups", "shares"],
)
def test_what_varies_decides_the_figure(factors: dict[str, list[Any]], panels: int, x: str) -> None:
    runs = sweep(**factors)
    figure, _ = draw(runs, list(factors), runs)
    assert len(figure.axes) == panels
    assert figure.axes[0].get_xlabel() == x
    figure.draw_without_rendering()


def test_each_way_can_be_told_from_a_dark_page() -> None:
    style = (Path(report.__file__).parent / "style.css").read_text(encoding="utf-8")
    paper = np.array(to_rgb("#1a1a1a"))
    assert "prefers-color-scheme: dark" in style
    assert "filter: invert(.9) hue-rotate(180deg)" in style
    turned = np.array([[-0.574, 1.43, 0.144], [0.426, 0.43, 0.144], [0.426, 1.43, -0.856]])
    for colour in (colour for kind in ORDER for colour in kind.colours):
        shown = np.clip(turned @ (0.9 - 0.8 * np.array(to_rgb(colour))), 0, 1)
        assert luminance(shown) + 0.05 > 2 * (luminance(paper) + 0.05), colour


def luminance(rgb: Any) -> float:
    """Return the relative luminance of a colour (WCAG 2.2)."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))
