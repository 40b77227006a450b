"""Studies with few claims, and the benefit and networks of Multipath QUIC's design."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.results.synthetic_runs import result, save, save_element
from tests.studies.digests import STUDIES, module, program, runs_of

FOLDER = STUDIES / "mpquic_design"
EXAMPLES = pd.read_csv(FOLDER / "reference" / "mpquic_design_eab_examples.csv").to_dict("records")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda row: f"eab {row['eab']}")
def test_the_benefit_is_that_of_the_slides_examples(example: dict[Any, Any]) -> None:
    paths = example["path_1_mbps"], example["path_2_mbps"]
    found = module("mpquic_design", "report").benefit(example["multipath_mbps"], *paths)
    assert float(found) == pytest.approx(example["eab"], abs=0.005)


def test_a_queue_holds_a_bandwidth_delay_product_and_ten_packets_at_least() -> None:
    path = module("mpquic_design", "networks").path
    assert path(20, 20).downlink.queue_packets == 34  # 20e6 * 1.048576 * 0.02 / 12,000 bits
    assert path(0.1, 10).uplink.queue_packets == 10


def test_the_better_path_is_that_of_quic_alone() -> None:
    mbps = {
        "QUIC on path 1": 4.0,
        "QUIC on path 2": 10.0,
        "MP-QUIC, path 1 first": 12.0,
        "MP-QUIC, path 2 first": 14.0,
    }
    rows = [
        {"experiment": "low-bdp", "point": point, "way": way, "seed": 1, "goodput_mbps": value,
         "completion_s": 160 / value, "status": "ok"}
        for point in range(4) for way, value in mbps.items()
    ]  # fmt: skip
    seen = module("mpquic_design", "report").benefit_points(pd.DataFrame(rows)).whole
    assert seen["QUIC better first"].tolist() == [1.0] * 4
    assert seen["QUIC worse first"].tolist() == [0.5] * 4
    assert seen["QUIC always"].tolist() == [0.5] * 4
    assert seen["TCP always"].isna().all()


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
    runs = runs_of("lwa", "quick")
    factor = runs["way"].map(lambda way: adaptive if way in ("DC least-delay", "DC credit") else 1)
    runs = runs.assign(goodput_mbps=runs["way"].map(MBPS) * factor, status="ok")
    judged = program("lwa")._module.judged(runs)
    assert [claim.verdict for claim in judged] == verdicts


def test_what_path_2_carried_and_was_sent_from_a_moment_on_are_told_apart(tmp_path: Path) -> None:
    """Leg 1 delivers nothing from 3 s on, but is sent to; leg 2 delivers from 3 s on."""
    rows = [
        {"time_ns": second * 10**9, "leg": leg, "pushed_bytes": pushed,
         "delivered_bytes": min(pushed, most)}
        for second in range(7)
        for leg, pushed, most in ((1, 100 * second, 300), (2, 300 * max(second - 3, 0), 10**9))
    ]  # fmt: skip
    run = save(tmp_path, result())
    save_element(run, "gnb", "legs", rows)
    found = module("mpquic_design", "report").shares(run)
    assert found == {"leg_2_carried_from_4_s": 1.0, "leg_2_sent_from_4_s": 0.75}
