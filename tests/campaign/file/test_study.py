"""The campaign `study`: what it says of its traces is so, and its points are those it names."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean

import pytest

from minitopo_dc.campaign.file.fields import CampaignFile, find_campaign
from minitopo_dc.campaign.file.plan import read_plan
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.trace import RateTrace, autocorrelation, read_trace, trace_info

STUDY = find_campaign("study")
KINDS = ("lte", "walk", "drive", "road")


def coherence_s(trace: RateTrace) -> int:
    """Return the lag in s at which the autocorrelation is below 1/e."""
    return next(lag for lag in range(1, 100) if (autocorrelation(trace, lag) or 0) < 1 / math.e)


@pytest.mark.parametrize("capacity", KINDS)
def test_coherence_and_variation_are_those_of_the_traces(capacity: str) -> None:
    given = CampaignFile.load(STUDY).parameters
    traces = [
        read_trace(STUDY.parent / given[name], column=given[f"{name}_column"])
        for name in (f"{capacity}_1", f"{capacity}_2")
    ]
    rates = [trace for trace in traces if isinstance(trace, RateTrace)]
    assert len(rates) == 2
    coherence = fmean(map(coherence_s, rates))
    assert given[f"{capacity}_coherence_s"] == pytest.approx(coherence, abs=0.5)
    variation = fmean(trace_info(trace).variation for trace in rates)
    assert given[f"{capacity}_variation"] == pytest.approx(variation, abs=0.01)


def test_own_traces_take_the_place_of_the_campaigns(tmp_path: Path) -> None:
    mine = tmp_path / "mine.csv"
    mine.write_text("time_s,down_mbps,up_mbps\n0,40,8\n1,5,1\n")
    given = (("walk_2", str(mine)), ("walk_2_column", "down_mbps"), ("walk_variation", "0.5"))
    asked = Overrides(version="quick", experiments=("download-unseen",), parameters=given)
    plan = read_plan(STUDY, asked)
    links = {run.scenario.legs[1].downlink for run in plan.runs}
    assert {link.trace_column for link in links if link.trace == mine} == {"down_mbps"}
    assert "'walk': 0.5" in plan.file.experiments["download"].joined["variation"]


def test_the_points_that_are_repeated_are_points_of_the_download() -> None:
    file = CampaignFile.load(STUDY)
    again, download = (file.experiments[name].design for name in ("download-again", "download"))
    assert again is not None
    assert download is not None
    points = list(again.cells("full", STUDY.parent))
    assert points == list(download.cells("full", STUDY.parent))[: len(points)]


def test_no_trace_of_the_unseen_points_is_one_of_the_known_ones() -> None:
    file = CampaignFile.load(STUDY)
    known, unseen = (
        set(design.factors["label.capacity"].levels or ())
        for name in ("download", "download-unseen")
        if (design := file.experiments[name].design)
    )
    assert known & unseen == {"constant"}


def test_the_sample_has_sixty_points_of_downloads_for_the_real_clock() -> None:
    plan = read_plan(STUDY, Overrides(version="sample", experiments=("download",)))
    points = {cell.factors["label.point"] for cell in plan.cells}
    controls = [
        cell.factors["label.control"] for cell in plan.cells if cell.configuration == "mpquic"
    ]
    assert len(points) == 60
    assert {controls.count(each) for each in set(controls)} == {15}
