"""The study of cellular networks: its design, its report, and the findings of recorded runs."""

from __future__ import annotations

from tests.studies.digests import module, runs_of, titles, with_numbers


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
