"""The notebooks read results, and say how these are made where there are none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from minitopo_dc import find_campaign, read_plan, run_campaign
from minitopo_dc.campaign.file.scenarios import Overrides, read_file
from minitopo_dc.clocks import run_scenario
from minitopo_dc.commands.campaign import of_yaml
from minitopo_dc.commands.entry import parser
from minitopo_dc.scenario import Scenario
from tests import REPOSITORY
from tests.analysis.synthetic_runs import result, save, save_rate
from tests.picoquic.extension import needs_picoquic

FOLDER = REPOSITORY / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)

ANSWER = """
title: Dual Connectivity or multipath, very small
clock: virtual
base:
  transport: quic-picoquic
  mode: dc
  workload.size_mb: 0.25
  legs:
  - &leg {downlink: {rate_mbps: 1}, uplink: {rate_mbps: 10}}
  - *leg
  legs.*.downlink.rate_mbps: = rate
  legs.0.downlink.delay_ms: 20
  legs.1.downlink.delay_ms: = 20 * delay_ratio
configurations:
  dc-equal: {}
  mpquic: {transport: mpquic-picoquic, mode: multipath}
words: {label.rate: rate of a leg (Mbit/s), label.delay_ratio: delay ratio}
experiments:
  download:
    title: Downloads over two legs
    design:
      method: latin-hypercube
      points: 20
      factors: {label.rate: [2, 40, log], label.delay_ratio: [0.2, 5, log]}
    joined: {equal: = dc_equal.goodput_mbps / mpquic.goodput_mbps}
    explain:
    - measure: equal
      at_least: 0.97
      text: DC with equal shares is as good as MP-QUIC
      then: DC
      otherwise: multipath
      limits: [0.9, 1.0]
      runs: [dc-equal, mpquic]
"""
BATCHES = """
title: Batch size, small
clock: virtual
repetitions: 2
base:
  transport: quic
  mode: dc
  workload: {size_mb: 2}
  pdcp: {sn_bits: 16}
  legs:
  - &leg
    downlink: {rate_mbps: 19.789, delay_ms: 10, jitter_ms: 1, reorder: true}
  - *leg
  virtual: {processing_delay_ms: 1}
configurations:
  quic_bm:
    options: {max_datagram_bytes: 1280, receive_buffer_bytes: 33554432}
experiments:
  batch-size:
    title: Throughput against the DC batch size
    grid: {pdcp.batch: [2, 100, 500]}
    figure:
      x: pdcp.batch
      x_label: batch size (packets)
      curves:
      - {configuration: quic_bm, mean: quic_bm_mbps, sd: quic_bm_sd}
    reference: {table: thesis_table_5_3_batch_size.csv, x: batch_size_packets}
"""
CELLULAR = """
title: MP-QUIC over several cellular networks, small
clock: virtual
parameters: {drive: TRACES/drive_residential.csv}
base:
  transport: mpquic-picoquic
  mode: multipath
  workload.size_mb: 5
  handover: {case: sp}
  legs:
  - downlink: &c1
      trace: $drive
      trace_column: channel_1_mbps
      delay_curve: power
      jitter_ms: 0
      queue_packets: 10
    uplink: *c1
  - downlink: &c2 {<<: *c1, trace_column: channel_2_mbps}
    uplink: *c2
  - downlink: &c3 {<<: *c1, trace_column: channel_3_mbps}
    uplink: *c3
configurations:
  cubic: {congestion_control: cubic}
  bbr1: {congestion_control: bbr1}
experiments:
  residential:
    title: Goodput in a residential area
    source: "Electronics 11 (2022) 1492, table 4"
    grid:
      trace_offset_s: [100, 300]
      handover.case: [1, 2]
    across: handover.case
    joined:
      one: = cubic[1].goodput_mbps
      two: = cubic[2].goodput_mbps
    claims:
    - text: two paths carry more than one
      source: "tables 4 and 5: 1.77 to 3.32"
      value: = mean(two) / mean(one)
      least: 1.5
    figure:
      kind: bars
      x: handover.case
      curves:
      - {configuration: cubic, mean: goodput_mbps, sd: goodput_sd, where: {cc: cubic}}
      - {configuration: bbr1, mean: goodput_mbps, sd: goodput_sd, where: {cc: bbr}}
    reference: {table: mpquic_cellular_table_4_residential.csv, x: case}
""".replace("TRACES", str(REPOSITORY / "traces"))
MESH = """
title: QUIC over WiFi, very small
clock: virtual
base:
  transport: quic
  mode: sc
  congestion_control: cubic
  workload.size_mb: 0.5
  options: {qlog: true, receive_buffer_bytes: 33554432}
  options.preset: = preset
  legs:
  - wifi: {rate_mbps: 65}
    downlink: {delay_ms: 0, jitter_ms: 0, queue_packets: 200}
    uplink: {delay_ms: 0, jitter_ms: 0, queue_packets: 200}
  legs.0.downlink.delay_ms: = delay
  legs.0.uplink.delay_ms: = delay
configurations: {drawn: {}}
words:
  cwnd_mean_kb: mean window (kB)
  mean_delay_ms: mean one-way delay (ms)
  label.delay: delay of the leg (ms)
experiments:
  trees:
    title: Slow and fast connections
    design:
      method: sobol
      points: 16
      factors:
        label.preset: {levels: [modern, v43, bquic]}
        legs.0.wifi.rate_mbps: {levels: [6.5, 13, 39, 65]}
        legs.0.wifi.load_percent: [0, 40]
        label.delay: [5, 45]
    joined:
      goodput: = drawn.goodput_mbps
      cwnd_mean_kb: = drawn.cwnd_mean_kb
      mean_delay_ms: = drawn.mean_delay_ms
    explain:
    - measure: goodput
      at_least: 6
      limits: [4, 8]
      text: A connection has 6 Mbit/s or more
      then: fast
      otherwise: slow
      factors: [cwnd_mean_kb, mean_delay_ms]
"""


def recorded(place: Path, campaign: str) -> Path:
    """Run a campaign; return its directory."""
    (place / "campaign.yaml").write_text(campaign, encoding="utf-8")
    run_campaign(read_plan(place / "campaign.yaml"), place / "results")
    return place / "results"


def execute(name: str, monkeypatch: pytest.MonkeyPatch, results: Path) -> list[Any]:
    """Run a notebook in a kernel of its own; return the outputs of all cells."""
    monkeypatch.setenv("MINITOPO_DC_RESULTS", str(results))
    notebook = nbformat.read(FOLDER / name, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": FOLDER}})
    client.execute()
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


def images(outputs: list[Any]) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs)


def texts(outputs: list[Any]) -> str:
    return "\n".join(output.get("data", {}).get("text/markdown", "") for output in outputs)


def code(path: Path) -> list[str]:
    """The source of each cell with code."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


@each_notebook
def test_a_notebook_is_saved_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in notebook.cells)


@each_notebook
def test_the_first_cell_is_where_the_results_are_and_nothing_else_says_so(path: Path) -> None:
    first, *others = code(path)
    assert re.fullmatch(r'RESULTS = "\.\./results/[a-z-]+"', first)
    assert not [each for each in others[1:] if "os.environ" in each or "../" in each]
    assert "run_campaign" not in "".join(others)
    assert "run_scenario" not in "".join(others)


@each_notebook
def test_the_command_of_the_error_makes_the_directory_of_the_first_cell(path: Path) -> None:
    first, second, *_ = code(path)
    (command,) = re.findall(r"minitopo-dc ([^\\]+)\\n", second)
    arguments = parser().parse_args(command.split())
    made = arguments.output
    if command.startswith("campaign"):
        file = find_campaign(arguments.campaign)
        clock = read_file(file, Overrides()).clock or "real"
        made = of_yaml._directory(file, arguments.version, clock)
    assert first == f'RESULTS = "../{made}"'


@pytest.mark.slow
@each_notebook
def test_without_results_the_error_says_how_they_are_made(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINITOPO_DC_RESULTS", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"nowhere: no such directory[^$]* minitopo-dc "):
        exec("\n".join(code(path)[:2]), {})


@pytest.mark.slow
def test_the_comparison_shows_dual_connectivity_against_multipath(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    legs = [{"downlink": {"rate_mbps": 20}}] * 2
    base: dict[str, Any] = {
        "transport": "quic",
        "legs": legs,
        "workload": {"size_mb": 2},
        "clock": "virtual",
    }
    for mode in ("sc", "dc"):
        run_scenario(Scenario.check(base | {"mode": mode}, "test"), tmp_path / f"quic-{mode}-1")
    multipath = result("mptcp", "multipath", size_bytes=2_000_000, goodput_mbps=36.0)
    save_rate(save(tmp_path, multipath), 0.5, lambda time: time * 4_000_000)
    outputs = execute("comparison.ipynb", monkeypatch, tmp_path)
    assert images(outputs) == 3
    assert "multipath against DC: +" in texts(outputs)


@pytest.mark.slow
def test_a_session_is_played_back_with_the_reason_of_its_stall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_scenario(Scenario.load(REPOSITORY / "examples/video_session.yaml"), tmp_path)
    outputs = execute("session.ipynb", monkeypatch, tmp_path)
    assert images(outputs) == 1
    assert "away: leg 1" in texts(outputs)


@pytest.mark.slow
def test_a_campaign_is_compared_with_the_thesis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = execute("campaign.ipynb", monkeypatch, recorded(tmp_path, BATCHES))
    assert "6 runs: {'ok': 6}" in texts(outputs)
    assert "mean absolute error" in texts(outputs)
    assert images(outputs) == 3


@needs_picoquic
@pytest.mark.slow
def test_a_drive_becomes_channels_and_a_campaigns_runs_use_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = execute("cellular.ipynb", monkeypatch, recorded(tmp_path, CELLULAR))
    assert images(outputs) == 5
    assert "goodput: " in texts(outputs)
    tables = "\n".join(output.get("data", {}).get("text/plain", "") for output in outputs)
    assert "published, residential" in tables
    assert "two paths carry more than one" in tables
    assert "took_s" in tables


@needs_picoquic
@pytest.mark.slow
def test_an_answer_is_explored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = execute("answer.ipynb", monkeypatch, recorded(tmp_path, ANSWER))
    assert "DC with equal shares is as good as MP-QUIC at" in texts(outputs)
    assert "with the limit 0.9: at" in texts(outputs)
    assert images(outputs) == 2


@pytest.mark.slow
def test_runs_over_wifi_become_features_behaviours_and_a_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = execute("mesh.ipynb", monkeypatch, recorded(tmp_path, MESH))
    tables = "\n".join(output.get("data", {}).get("text/plain", "") for output in outputs)
    assert "normal" in tables
    assert "A connection has 6 Mbit/s or more at" in texts(outputs)
    assert "At the root: " in texts(outputs)
    assert images(outputs) >= 1
