"""Figures of a run over time, and the theme of all."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from minitopo_dc import Scenario, plots
from minitopo_dc.plots.theme import DELAYS, legend
from minitopo_dc.results import ResultError
from minitopo_dc.results.measures.delays import FILE, NETWORK, PARTS
from minitopo_dc.trace import Capacities
from tests.results.synthetic_runs import result, save, save_element, save_rate

MS = 1_000_000


def run_of(root: Path, mode: str, transport: str = "quic", legs: int = 2) -> Path:
    """A run in which each leg delivers 8 Mbit/s for 2 s, and leg 2 loses a packet after 0.5 s."""
    run = save(root, result(transport, mode))
    rates = [{"rate_mbps": 20}, *[{"rate_mbps": 12}] * (legs - 1)]
    Scenario.check({"transport": transport, "mode": mode, "legs": rates}, "here").save(
        run / "scenario.yaml"
    )
    save_rate(run, 2.0, lambda time: time * 2_000_000)
    rows = [
        {"time_ns": 100 * MS * step, "leg": leg, "delivered_bytes": 100_000 * step,
         "queue_bytes": 500 * leg * step, "dropped_queue": 0,
         "dropped_loss": int(leg == 2 and step > 5)}
        for step in range(21) for leg in range(1, legs + 1)
    ]  # fmt: skip
    save_element(run, "gnb", "legs", rows)
    if mode == "dc":
        held = [{"time_ns": 100 * MS * step, "bearer": 1, "buffered": step} for step in range(21)]
        save_element(run, "ue", "receive", held)
    return run


def test_a_timeline_has_rates_queues_losses_and_what_pdcp_holds(tmp_path: Path) -> None:
    grid = plots.timeline(run_of(tmp_path, "dc"))
    assert [axes.get_ylabel().split("\n")[0] for axes in grid[:, 0]] == [
        *("received", "leg 1", "leg 2", "queues", "PDCP holds"),
    ]
    received, leg_1, leg_2, queues, held = grid[:, 0]
    assert np.asarray(received.lines[0].get_ydata()) == pytest.approx(16.0)
    assert np.asarray(leg_1.lines[0].get_ydata()) == pytest.approx(8.0)
    assert leg_2.collections[0].get_datalim(leg_2.transData).y1 == pytest.approx(
        12.0
    )  # its capacity
    lost = {line.get_label(): line for line in leg_2.lines}["packets lost"]
    assert list(lost.get_xdata()) == [0.6]
    assert [max(line.get_ydata()) for line in queues.lines] == [10.0, 20.0]
    assert list(held.lines[0].get_ydata()) == list(range(21))
    assert {axes.get_xlim() for axes in grid.flat} == {grid[0, 0].get_xlim()}


def test_a_timeline_has_ticks_where_the_waiting_buffer_was_full(tmp_path: Path) -> None:
    run = run_of(tmp_path, "dc")
    rows = [
        {
            "time_ns": 100 * MS * step,
            "bearer": 1,
            "waiting": 10 * step,
            "dropped_buffer": 3 * (step > 8),
        }
        for step in range(21)
    ]
    save_element(run, "gnb", "transmit", rows)
    waits = {axes.get_ylabel().split("\n")[0]: axes for axes in plots.timeline(run)[:, 0]}[
        "waits for a"
    ]
    lines = {line.get_label(): line for line in waits.lines}
    assert list(lines.pop("packets lost").get_xdata()) == [0.9]
    assert [max(line.get_ydata()) for line in lines.values()] == [200]


def test_a_timeline_stacks_the_parts_of_packets_delays(tmp_path: Path) -> None:
    run = run_of(tmp_path, "dc")
    parts = [f"{part}_ns" for part in NETWORK]
    rows = [
        "time_ns,flow,direction,bytes,packet,leg," + ",".join(parts),
        f"{500 * MS},1,downlink,1228,1,1,0,{4 * MS},{MS},0,{10 * MS},{6 * MS}",
        f"{500 * MS},1,uplink,60,1,1,0,{99 * MS},0,0,0,0",
    ]
    (run / FILE).write_text("\n".join(rows) + "\n")
    delays = plots.timeline(run)[-1, 0]
    heights = {area.get_label(): area.get_datalim(delays.transData).y1
               for area in delays.collections}  # fmt: skip
    assert heights == {"reordering": 21.0, "propagation": 15.0, "air": 5.0, "queue": 4.0}


def test_two_runs_stand_beside_each_other_dc_first_with_equal_axes(tmp_path: Path) -> None:
    multipath = SimpleNamespace(directory=str(run_of(tmp_path, "multipath", "mpquic")))
    grid = plots.timeline(multipath, run_of(tmp_path, "dc"))
    assert [axes.get_title("left") for axes in grid[0]] == ["quic dc", "mpquic multipath"]
    assert all(left.get_ylim() == right.get_ylim() for left, right in grid)
    assert [text.get_text() for text in grid[-1, 1].texts] == ["none"]  # PDCP of multipath


def test_a_change_of_paths_after_the_end_of_a_run_is_not_drawn(tmp_path: Path) -> None:
    run = run_of(tmp_path, "multipath", "mpquic-picoquic")
    scenario = Scenario.load(run / "scenario.yaml")
    schedule = [{"at_s": 1, "backup": 2}, {"at_s": 50, "available": 2}]
    scenario.evolve(paths={"schedule": schedule}).save(run / "scenario.yaml")
    received = plots.timeline(run)[0, 0]
    marks = [line for line in received.lines if line.get_linestyle() == ":"]
    assert [list(line.get_xdata()) for line in marks] == [[1, 1]]
    assert received.get_xlim()[1] < 3


def test_a_run_without_its_files_is_named(tmp_path: Path) -> None:
    run = run_of(tmp_path, "dc")
    (run / "gnb-legs.csv").unlink()
    with pytest.raises(ResultError, match=r"quic-dc-1/gnb-legs\.csv"):
        plots.timeline(run)


def test_a_session_has_the_buffer_and_the_bitrate(tmp_path: Path) -> None:
    (tmp_path / "video.csv").write_text(
        "done_s,buffer_s,stall_s,bitrate_mbps\n1,3,0,2\n3,4,0,6\n6,5,0,6\n"
    )
    buffer, bitrate = plots.session(
        {"MP-QUIC": tmp_path, "DC": SimpleNamespace(directory=tmp_path)}
    )
    assert [line.get_label() for line in buffer.lines] == ["MP-QUIC", "DC"]
    assert list(buffer.lines[0].get_ydata()) == [0, 3, 1, 4, 1, 5]
    assert list(bitrate.lines[1].get_ydata()) == [2, 6, 6]
    assert bitrate.lines[0].get_drawstyle() == "steps-post"


def test_a_drive_has_its_strongest_channels_and_how_many_there_are() -> None:
    rates = ((10.0,) * 5 + (20.0,) * 5, (4.0,) * 5 + (0.0,) * 5)
    cells = (("a",) * 10, ("b",) * 5 + ("",) * 5)
    one, five, available = plots.drive(Capacities("d", ("OP1", "OP2"), rates, cells))
    assert list(one.lines[0].get_ydata()) == [10.0] * 5 + [20.0] * 5
    assert [list(line.get_ydata()) for line in five.lines] == [[10.0, 20.0], [4.0, 0.0]]
    assert list(available.lines[0].get_ydata()) == [0.0, 0.5, 1.0]


def test_all_rates_of_a_timeline_stand_at_the_middles_of_the_same_bins(tmp_path: Path) -> None:
    received, leg_1, leg_2, *_ = plots.timeline(run_of(tmp_path, "dc"))[:, 0]
    middles = pytest.approx(np.arange(0.1, 2.0, 0.2))  # two samples of 100 ms a bin
    for axes in (received, leg_1, leg_2):
        assert list(axes.lines[0].get_xdata()) == middles


def test_rates_of_one_bin_stay_where_they_are() -> None:
    table = pd.DataFrame({"time_s": [0.0], "rate_mbps": [8.0]})
    ((times, rates),) = plots.rates(table).values()
    assert (list(times), list(rates)) == ([0.0], [8.0])


NAMES = ["MP-QUIC", "DC least delay", "leg 1", "DC 1:1", "mpquic-lia", "dc-credit", "MPTCP", "mine"]


@given(st.sets(st.sampled_from(NAMES), min_size=1))
def test_a_known_way_has_one_look_whatever_is_beside_it(names: set[str]) -> None:
    assert plots.looks(names) == {name: plots.looks(NAMES)[name] for name in plots.ordered(names)}


def test_ways_stand_in_the_order_of_the_table_of_looks() -> None:
    names = [
        "ATSSS-LL",
        "MPTCP",
        "MP-QUIC",
        "DC (ideal)",
        "DC (deployable, Xn 5 ms)",
        "DC (papers')",
    ]
    assert plots.ordered(["mine", *names, "leg 2", "leg 1"]) == [
        *("leg 1", "leg 2", *reversed(names), "mine"),
    ]


@pytest.mark.parametrize(
    ("names", "colour"),
    [
        (("DC", "DC (deployable, Xn 5 ms)", "dc-xn-5", "DC, deployable"), "#0072B2"),
        (("DC 1:1", "DC (papers')", "dc-papers", "DC, the papers'"), "#56B4E9"),
        (("MP-QUIC", "mpquic", "MP-QUIC (picoquic)"), "#D55E00"),
    ],
)
def test_a_way_has_one_colour_by_all_of_its_names(names: tuple[str, ...], colour: str) -> None:
    assert {look.colour for name in names for look in plots.looks([name]).values()} == {colour}


def test_dc_over_tcp_has_the_hue_of_dc_over_quic_and_is_hollow() -> None:
    over_quic, over_tcp = plots.looks(["DC (deployable, QUIC)", "DC (deployable, TCP)"]).values()
    assert over_quic.colour == over_tcp.colour
    assert (over_quic.hollow, over_tcp.hollow) == (False, True)


def test_each_part_of_a_delay_has_a_colour() -> None:
    assert tuple(DELAYS) == PARTS
    assert len(set(DELAYS.values())) == len(PARTS)


COLOUR = re.compile(r"""#[0-9A-Fa-f]{6}\b|["'](?:C\d|tab:\w+)["']|cmap=|color=["'](?!white)[a-z]""")


@pytest.mark.parametrize("folder", ["minitopo_dc", "studies", "examples", "notebooks", "scripts"])
def test_only_the_theme_has_colours(folder: str) -> None:
    root = Path(__file__).resolve().parents[2]
    sources = [path for kind in ("py", "ipynb") for path in (root / folder).rglob(f"*.{kind}")]
    drawing = {path: cells(path) for path in sources if path.name != "theme.py"}
    wrong = {
        str(path.relative_to(root)): sorted(set(COLOUR.findall(text)))
        for path, text in drawing.items()
        if "plots" in text and COLOUR.search(text)
    }
    assert not wrong


def cells(path: Path) -> str:
    """Return the source of a file; of a notebook that of its cells with code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return text
    code = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")
    return "\n".join("".join(cell["source"]) for cell in code)


@given(st.lists(st.text(max_size=8), max_size=20, unique=True))
def test_no_two_ways_of_a_figure_look_alike(names: list[str]) -> None:
    looks = [(look.colour, look.marker, str(look.dash)) for look in plots.looks(names).values()]
    assert len(set(looks)) == len(looks)


@pytest.mark.parametrize("layout", ["constrained", "none"])
def test_a_figure_has_one_legend_of_all_its_axes_in_the_order_of_ways(layout: Any) -> None:
    figure = Figure(layout=layout)
    for axes, ways in zip(figure.subplots(1, 2), (["MP-QUIC", "DC"], ["leg 1", "DC"]), strict=True):
        for way in ways:
            axes.plot([1, 2], label=way)
        legend(axes)
    (names,) = [*figure.legends, *filter(None, [figure.axes[1].get_legend()])]
    assert [text.get_text() for text in names.get_texts()] == ["leg 1", "DC", "MP-QUIC"]


def test_a_notebook_stays_interactive_though_pyplot_was_first_imported_in_the_style(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(mpl.rcParams, "interactive", False)
    with plots.style():
        mpl.interactive(True)  # as the first import of pyplot does there
    assert mpl.is_interactive()
