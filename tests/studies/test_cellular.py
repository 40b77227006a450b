"""The study of cellular networks: its design, its report, and the findings of recorded runs."""

from __future__ import annotations

import pytest

from tests.studies.digests import STUDIES, module, program, runs_of, titles, with_numbers

FOLDER = STUDIES / "cellular"


def test_the_drives_are_begun_every_hundred_seconds_in_all_cases() -> None:
    labels = [labels for _, labels in program("cellular").cases("full")]
    road = [label for label in labels if label["experiment"] == "road"]
    assert {label["start_s"] for label in road} == set(range(0, 1800, 100))
    assert {label["case"] for label in road} == {"sp", "1", "2", "3", "4"}
    assert len(road) == 18 * 5 * 5  # four congestion controls and MPTCP


def test_a_report_of_a_quick_version_judges_each_environment() -> None:
    names = ("goodput_mbps", "completion_s", "mp_share", "sp_share", "mp_capacity_mbps",
             "sp_capacity_mbps")  # fmt: skip
    runs = with_numbers(runs_of("cellular", "campaign", "quick"), names)
    made = titles("cellular", runs)
    assert [title for title in made if title.startswith("Claims")] == [
        "Claims, residential",
        "Claims, road",
        "Claims, figure 6",
        "Claims, Dual Connectivity, residential",
        "Claims, Dual Connectivity, road",
    ]
    assert {"Table 4, residential: how near", "Table 5, road: how near"} <= set(made)
    judged = module("cellular", "judged")
    claims = list(judged.of_environment(runs[runs["experiment"] == "road"]))
    assert len(claims) == 13
    assert {claim.points for claim in claims} == {3}


@pytest.mark.parametrize(
    "published",
    [  # docs/measurements/cellular.md
        "the least of the four | 1.77 to 3.32 | at least 1.50 | 1.35 (1.20 to 1.52) | 18 |",
        "| MP-QUIC, CUBIC | 12.2 | 18.9 | 21.2 | 21.4 |",
        "| DC least-delay | 18.5 | 26.5 | 27.8 | 26.5 |",
    ],
)
def test_the_findings_are_those_of_the_recorded_runs(published: str) -> None:
    assert published in (FOLDER / "findings.md").read_text(encoding="utf-8")
