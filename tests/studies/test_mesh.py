"""The study of meshes: its experiments, its report, and the findings of recorded runs."""

from __future__ import annotations

from tests.studies.digests import STUDIES, module, program, runs_of, titles, with_numbers

FOLDER = STUDIES / "mesh"


def test_each_client_has_as_many_connections_as_in_the_study() -> None:
    runs = runs_of("mesh", "campaign", "full")
    clients = runs[runs["experiment"] == "clients"]
    assert set(clients.groupby(["client", "way"]).size()) == {200}  # section 4.1


def test_only_bquic_of_the_knobs_is_swept() -> None:
    labels = [labels for _, labels in program("mesh").cases("quick")]
    swept = {label["way"] for label in labels if label.get("lost") is not None}
    assert swept == {"swept"}


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
    assert set(report.TABLES) <= set(made)
    assert made[-1].startswith("Trees")
    assert judged.WIRELESS == ["RP2", "RP3", "RP4", "RP5", "RP6", "RP7"]


def test_the_findings_are_those_of_the_recorded_runs() -> None:
    found = (FOLDER / "findings.md").read_text(encoding="utf-8")
    for published in (  # docs/measurements/mesh.md
        "(rank correlation) | table 7 | at least 0.500 | 0.750 (-0.0598 to 0.982) | 7 | undecided",
        "of the six wireless ones | table 7 | at least 0.500 | 0.600 (-0.564 to 0.971)",
        "| 61 %, table 6 | at least 0.300 | 0.867 (0.745 to 0.989) | 1 | holds |",
    ):
        assert published in found
