"""Studies with few claims."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

import pytest

from minitopo_dc.campaign.campaign import Campaign
from minitopo_dc.campaign.designs import spread
from minitopo_dc.campaign.plan import Case, Plan
from minitopo_dc.campaign.program import Program, load_program, studies
from minitopo_dc.installation import PACKAGE
from tests import REPOSITORY
from tests.studies.digests import (
    MOST,
    digest,
    long_if_large,
    module,
    program,
    runs_of,
    titles,
    with_numbers,
)

ROOT = PACKAGE.parent
RUNS = {
    "studies/clocks/campaign.py": ("88a7bb1b0a2ae553", "1aaf2b346316df88"),
    "studies/link_failure/data_recovery.py": ("6dff72f7a8461815", "538e797999adec70"),
    "studies/link_failure/leg_down.py": ("4899c0b14c82759e", "f9148c760b94476c"),
    "studies/link_failure/leg_failure.py": ("90e6f456d433ddf6", "44cb87ccf40a750e"),
    "examples/campaigns/latency.py": ("f29cee57a0a585be", "e96187765ba4eb5d"),
    "examples/campaigns/own_program.py": ("5e11a2b5bbdcd3b4", "4f3a954d33faf0b5"),
    "examples/campaigns/page_load.py": ("36b23bc3d4e328b5", "c3854f4726ecddb4"),
    "examples/campaigns/path_script.py": ("d58103adf7e151d1", "d72e35993447b5ec"),
    "examples/campaigns/t_reordering.py": ("51a00d8246300e73", "6b0e2588b2c3df7b"),
}
"""By file the digests of its runs' identities, full and quick: recorded results stay joined."""
NAMES = sorted(RUNS)


def study(name: str) -> Program:
    return load_program(ROOT / name)


@cache
def plan(name: str, version: str) -> Plan:
    found = study(name)
    return Plan(found.cases(version), found.seeds(version))


@pytest.mark.parametrize("name", NAMES)
def test_runs_have_the_identity_that_recorded_ones_have(name: str) -> None:
    for version, expected in zip(("full", "quick"), RUNS[name], strict=True):
        identities = ",".join(sorted(plan(name, version).scenarios))
        assert hashlib.sha256(identities.encode()).hexdigest()[:16] == expected, version


@pytest.mark.parametrize("name", NAMES)
def test_quick_runs_are_fewer(name: str) -> None:
    assert len(plan(name, "quick").rows) < len(plan(name, "full").rows)


@pytest.mark.long
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


MBPS = {"LTE alone": 15.0, "WiFi alone": 20.0, "DC 1:1": 22.0, "DC 1:2": 28.0,
        "DC least-delay": 32.0, "DC credit": 33.0, "MP-QUIC": 32.0}  # fmt: skip


@pytest.mark.parametrize(
    ("adaptive", "verdicts"),
    [
        (1.0, ["holds", "holds", "holds"]),
        (0.7, ["holds", "does not hold", "does not hold"]),
        (0.5, ["does not hold", "does not hold", "does not hold"]),
    ],
)
def test_claims_are_about_the_best_of_each_kind(adaptive: float, verdicts: list[str]) -> None:
    runs = runs_of("lwa", "campaign", "quick")
    factor = runs["way"].map(lambda way: adaptive if way in ("DC least-delay", "DC credit") else 1)
    runs = runs.assign(goodput_mbps=runs["way"].map(MBPS) * factor, status="ok")
    judged = program("lwa")._module.judged(runs)
    assert [claim.verdict for claim in judged] == verdicts


@pytest.mark.long
def test_a_report_judges_all_experiments_of_a_sample() -> None:
    judged, behaviour, trees = (module("mesh", name) for name in ("judged", "behaviour", "trees"))
    names = {
        *("goodput_mbps", "throughput_mbps", "leg_loss_percent", "capacity_share", "jain_index"),
        *(f"flow_{number}_goodput_mbps" for number in (1, 2)),
        *(*behaviour.BEHAVIOUR, *behaviour.STATES, *trees.FEATURES, *trees.VARIANCES),
    }
    runs = with_numbers(runs_of("mesh", "campaign", "quick"), sorted(names))
    made = titles("mesh", runs)
    report = module("mesh", "report")
    assert {f"Claims: {name}" for name in report.JUDGED} <= set(made)
    assert set(report.TABLES["item"]) <= set(made)
    assert made[-1].startswith("Trees")
    assert judged.WIRELESS == ["RP2", "RP3", "RP4", "RP5", "RP6", "RP7"]


IDS: dict[tuple[str, str, str], tuple[int, str]] = {
    ("mpquic_design", "campaign", "quick"): (544, "998b841df59c795d"),
    ("mpquic_design", "campaign", "sample"): (1378, "4faeac26a94b6b92"),
    ("mpquic_design", "campaign", "full"): (15484, "abcf3e246f3621c0"),
    ("mpquic_design", "tcp", "quick"): (960, "0a5204631ada0375"),
    ("mpquic_design", "tcp", "sample"): (400, "ac5f20cc98868990"),
    ("mpquic_design", "tcp", "full"): (10120, "b33da8fd6ad43fd2"),
    ("mpquic_design", "multipath", "quick"): (53, "9b2acb72c30d7798"),
    ("mpquic_design", "multipath", "sample"): (106, "524494c4d27ca71d"),
    ("mpquic_design", "multipath", "full"): (265, "800493141f28e483"),
    ("mpquic_design", "fairness", "quick"): (7, "50833a589b9f5485"),
    ("mpquic_design", "fairness", "full"): (75, "9ffec48477af64e3"),
    ("mesh", "campaign", "quick"): (668, "e7679b1bb90e2706"),
    ("mesh", "campaign", "sample"): (124, "50b96bcc2722c6d1"),
    ("mesh", "campaign", "full"): (9433, "8134bfa001c4df9a"),
    ("cellular", "campaign", "quick"): (823, "1a4e7b5fc136f18b"),
    ("cellular", "campaign", "sample"): (261, "ff5d2720ff95b59f"),
    ("cellular", "campaign", "full"): (3573, "7bcffa24499ff8a9"),
    ("lwa", "campaign", "quick"): (49, "6d9eef8d66199120"),
    ("lwa", "campaign", "sample"): (7, "6d758fb69205d451"),
    ("lwa", "campaign", "full"): (245, "939ac15e485d31d4"),
}
"""SHA-256 of all sorted identities of a version: who changes one loses what was recorded."""


@pytest.mark.parametrize(("study", "file", "version"), long_if_large(IDS))
def test_recorded_runs_stay_joined_and_can_be_planned(study: str, file: str, version: str) -> None:
    assert digest(runs_of(study, file, version)) == IDS[study, file, version]


EXAMPLES = (REPOSITORY / "examples/campaigns").glob("*.py")
FILES = studies() | {f"examples/{path.stem}": path for path in EXAMPLES}
DIGESTS: dict[str, str] = json.loads(Path(__file__).with_name("digests.json").read_text())
"""By campaign: of the identities of some quick runs. Whoever edits a scenario makes other runs."""


@pytest.fixture(scope="module", params=FILES)
def quick(request: pytest.FixtureRequest) -> tuple[str, Program, list[Case]]:
    """A campaign's name, its program, and some cases of its quick version."""
    program = load_program(FILES[request.param])
    return request.param, program, spread(program.cases("quick"), MOST)


def test_a_campaign_has_the_runs_that_it_had(quick: tuple[str, Program, list[Case]]) -> None:
    name, program, cases = quick
    identities = " ".join(sorted(Plan(cases, program.seeds("quick")).scenarios))
    assert hashlib.sha256(identities.encode()).hexdigest()[:16] == DIGESTS[name]


def test_a_campaign_s_report_asks_for_columns_of_its_table(
    quick: tuple[str, Program, list[Case]], tmp_path: Path
) -> None:
    _, program, cases = quick
    campaign = Campaign(tmp_path, cases, [1])
    program.try_report(campaign.empty_table(), campaign.label_values)
