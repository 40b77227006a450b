"""The studies of three papers, and of LTE with WiFi: recorded runs stay joined to their cases."""

from __future__ import annotations

import pytest

from tests.studies.digests import digest, runs_of, slow_if_long

IDS: dict[tuple[str, str, str], tuple[int, str]] = {
    ("mpquic_design", "campaign", "quick"): (512, "a46f0a6443b16b86"),
    ("mpquic_design", "campaign", "sample"): (1332, "d3a8ad7e29c3d579"),
    ("mpquic_design", "campaign", "full"): (15300, "5cd5e123b51eff0c"),
    ("mpquic_design", "tcp", "quick"): (960, "0a5204631ada0375"),
    ("mpquic_design", "tcp", "sample"): (400, "ac5f20cc98868990"),
    ("mpquic_design", "tcp", "full"): (10120, "b33da8fd6ad43fd2"),
    ("mpquic_design", "multipath", "quick"): (53, "9b2acb72c30d7798"),
    ("mpquic_design", "multipath", "sample"): (106, "524494c4d27ca71d"),
    ("mpquic_design", "multipath", "full"): (265, "800493141f28e483"),
    ("mpquic_design", "fairness", "quick"): (7, "50833a589b9f5485"),
    ("mpquic_design", "fairness", "full"): (75, "9ffec48477af64e3"),
    ("mesh", "campaign", "quick"): (540, "ad5f8b1f95fbdee3"),
    ("mesh", "campaign", "sample"): (122, "1a65cf12ee35d009"),
    ("mesh", "campaign", "full"): (9177, "40045300188f15a1"),
    ("cellular", "campaign", "quick"): (823, "1a4e7b5fc136f18b"),
    ("cellular", "campaign", "sample"): (261, "ff5d2720ff95b59f"),
    ("cellular", "campaign", "full"): (3573, "7bcffa24499ff8a9"),
    ("lwa", "campaign", "quick"): (49, "6d9eef8d66199120"),
    ("lwa", "campaign", "sample"): (7, "6d758fb69205d451"),
    ("lwa", "campaign", "full"): (245, "939ac15e485d31d4"),
}
"""SHA-256 of all sorted identities of a version: who changes one loses what was recorded."""


@pytest.mark.parametrize(("study", "file", "version"), slow_if_long(IDS))
def test_recorded_runs_stay_joined_and_can_be_planned(study: str, file: str, version: str) -> None:
    assert digest(runs_of(study, file, version)) == IDS[study, file, version]
