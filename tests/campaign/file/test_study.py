"""The campaign `study`: what it says of its traces is so, and its points are those it names."""

from __future__ import annotations

import ast
import math
from statistics import fmean

import pytest

from minitopo_dc.campaign.file.fields import CampaignFile, find_campaign
from minitopo_dc.campaign.file.plan import read_plan
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.shipped import shipped
from minitopo_dc.trace import RateTrace, autocorrelation, read_trace, trace_info

STUDY = find_campaign("study")
TRACES = {
    "lte": (("lte_a", "DL_bitrate"), ("lte_b", "DL_bitrate")),
    "walk": (("lte_walk_a", "DL_bitrate"), ("lte_walk_b", "DL_bitrate")),
    "drive": (("drive_residential", "channel_1_mbps"), ("drive_residential", "channel_3_mbps")),
    "road": (("drive_road", "channel_1_mbps"), ("drive_road", "channel_3_mbps")),
}


def coherence_s(trace: RateTrace) -> int:
    """Return the lag in s at which the autocorrelation is below 1/e."""
    return next(lag for lag in range(1, 100) if (autocorrelation(trace, lag) or 0) < 1 / math.e)


def values_of(column: str) -> dict[str, float]:
    """Return the values by kind of capacity that the campaign writes into a column."""
    text = CampaignFile.load(STUDY).experiments["download"].joined[column]
    (listed,) = (
        node
        for node in ast.walk(ast.parse(text.removeprefix("=").strip()))
        if isinstance(node, ast.Dict)
    )
    found: dict[str, float] = ast.literal_eval(listed)
    return found


@pytest.mark.parametrize("capacity", TRACES)
def test_coherence_and_variation_are_those_of_the_traces(capacity: str) -> None:
    traces = [
        read_trace(shipped("traces") / f"{name}.csv", column=column)
        for name, column in TRACES[capacity]
    ]
    rates = [trace for trace in traces if isinstance(trace, RateTrace)]
    assert len(rates) == 2
    assert values_of("changes")[capacity] == pytest.approx(fmean(map(coherence_s, rates)), abs=0.5)
    variation = fmean(trace_info(trace).variation for trace in rates)
    assert values_of("variation")[capacity] == pytest.approx(variation, abs=0.01)


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
