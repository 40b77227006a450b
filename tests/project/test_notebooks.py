"""The notebooks run from start to end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from minitopo_dc.clocks import run_scenario
from minitopo_dc.scenario import Scenario
from tests import REPOSITORY
from tests.analysis.synthetic_runs import result, save, save_rate
from tests.picoquic.extension import needs_picoquic

NOTEBOOKS = REPOSITORY / "notebooks"


def execute(name: str, monkeypatch: pytest.MonkeyPatch, **environment: str) -> list[Any]:
    """Run a notebook in a kernel of its own; return the outputs of all cells."""
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": NOTEBOOKS}})
    client.execute()
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


def images(outputs: list[Any]) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs)


def texts(outputs: list[Any]) -> str:
    return "\n".join(output.get("data", {}).get("text/markdown", "") for output in outputs)


def test_the_notebooks_are_saved_without_outputs() -> None:
    for path in NOTEBOOKS.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        assert not any(cell.get("outputs") for cell in notebook.cells), path.name


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
    outputs = execute("comparison.ipynb", monkeypatch, MINITOPO_DC_RESULTS=str(tmp_path))
    assert images(outputs) == 3
    assert "multipath against DC: +" in texts(outputs)


@pytest.mark.slow
def test_the_campaign_runs_and_is_compared_with_the_thesis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = execute("campaign.ipynb", monkeypatch, MINITOPO_DC_NOTEBOOK_DIR=str(tmp_path))
    assert "5 cells, 10 runs" in texts(outputs)
    assert "mean absolute error" in texts(outputs)
    assert images(outputs) == 1


@needs_picoquic
@pytest.mark.slow
def test_a_drive_becomes_channels_a_schedule_a_run_and_a_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = execute("cellular.ipynb", monkeypatch, MINITOPO_DC_NOTEBOOK_DIR=str(tmp_path))
    assert images(outputs) == 4
    assert texts(outputs).strip().startswith("ok: ")
    tables = "\n".join(output.get("data", {}).get("text/plain", "") for output in outputs)
    assert "published, residential" in tables
    assert "two paths carry more than one" in tables
    assert "took_s" in tables


@pytest.mark.slow
def test_the_answer_is_explored_on_a_small_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere, place = tmp_path / "nowhere", tmp_path / "place"
    place.mkdir()
    outputs = execute(
        "answer.ipynb",
        monkeypatch,
        MINITOPO_DC_CAMPAIGN=str(nowhere),
        MINITOPO_DC_NOTEBOOK_DIR=str(place),
    )
    assert "DC with equal shares is as good as MP-QUIC at" in texts(outputs)
    assert "with the limit 0.9: at" in texts(outputs)
    assert images(outputs) == 2


@pytest.mark.slow
def test_a_wifi_leg_becomes_features_behaviours_and_a_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere, place = tmp_path / "nowhere", tmp_path / "place"
    place.mkdir()
    outputs = execute(
        "mesh.ipynb",
        monkeypatch,
        MINITOPO_DC_CAMPAIGN=str(nowhere),
        MINITOPO_DC_NOTEBOOK_DIR=str(place),
    )
    tables = "\n".join(output.get("data", {}).get("text/plain", "") for output in outputs)
    assert "early exit" in tables
    assert "A connection has 6 Mbit/s or more at" in texts(outputs)
    assert "At the root: m" in texts(outputs)
    assert images(outputs) == 2
