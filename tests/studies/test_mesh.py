"""The study of meshes: its experiments, its report, and the findings of recorded runs."""

from __future__ import annotations

from tests.studies.digests import module, runs_of, titles, with_numbers


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
