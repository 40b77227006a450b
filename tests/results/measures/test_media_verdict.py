"""What a comparison of videos or calls says in sentences, on made-up numbers."""

from __future__ import annotations

import json
import math

import pytest

from minitopo_dc.results.measures.media_verdict import MediaFinding, media_findings
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.results.tables.runs import results_table
from tests.results.synthetic_runs import result

STACKS = {"quic-picoquic": "picoquic", "mpquic-picoquic": "picoquic", "tcp": "Linux"}


def row(kind: str, mode: str, *seeds: dict[str, float], split: str = "") -> list[RunResult]:
    transport = "mpquic-picoquic" if mode == "multipath" else "quic-picoquic"
    return [
        result(
            transport,
            mode,
            workload=kind,
            goodput_mbps=None,
            seed=seed,
            repetition=seed,
            variant=split,
            settings={"pdcp.split": split, "pdcp.t_reordering_ms": 200.0} if split else {},
            details=each,
        )
        for seed, each in enumerate(seeds, start=1)
    ]


def call(late: float, p99: float) -> dict[str, float]:
    return {"late_share": late, "frame_delay_p95_ms": 40.0, "frame_delay_p99_ms": p99, "freezes": 0}


def found(*rows: list[RunResult]) -> list[MediaFinding]:
    return media_findings(results_table([run for each in rows for run in each]), STACKS)


def test_a_call_is_judged_by_late_frames_and_shows_every_number() -> None:
    (finding,) = found(
        row("realtime", "dc", call(0.10, 90), call(0.11, 95), call(0.12, 85)),
        row("realtime", "multipath", call(0.05, 90), call(0.06, 90), call(0.07, 90)),
    )
    assert (finding.first, finding.second, finding.pairs) == ("DC", "MP-QUIC", 3)
    assert finding.differences[0].better == "MP-QUIC"
    assert finding.sentence == (
        "picoquic: DC less MP-QUIC (with 95 % intervals, 3 seeds): "
        "late frames +5.00 percentage points (+5.00 to +5.00: worse), "
        "95th percentile of frame delay 0 ms (0 to 0: no clear difference), "
        "99th percentile of frame delay 0 ms (-12.4 to +12.4: no clear difference), "
        "freezes 0 (0 to 0: no clear difference)."
    )


def test_of_a_video_higher_is_better_where_it_is_bitrate() -> None:
    video = {"linear_qoe_mbps": 4.0, "stalls": 1, "stall_s": 2.0, "bitrate_mbps": 5.0}
    better = {"linear_qoe_mbps": 6.0, "stalls": 0, "stall_s": 0.0, "bitrate_mbps": 6.0}
    (finding,) = found(
        row("video", "dc", better, better, split="least-delay"),
        row("video", "dc", video, video, split="batch"),
    )
    assert (finding.first, finding.second) == ("DC (least-delay)", "DC (batch)")
    assert {each.better for each in finding.differences} == {"DC (least-delay)"}
    assert finding.sentence.count(": better)") == 4
    assert [each.mean for each in finding.differences] == pytest.approx([2, -1, -2, 1])


def test_one_seed_has_no_interval_and_nobody_is_better() -> None:
    (finding,) = found(
        row("realtime", "dc", call(0.1, 90)), row("realtime", "multipath", call(0.0, 80))
    )
    assert "1 seed, so no interval" in finding.sentence
    assert not any(each.better for each in finding.differences)
    told = json.loads(json.dumps(finding.to_json(), allow_nan=False))
    assert told["differences"][0]["low"] is None
    assert told["sentence"] == finding.sentence


def test_dc_is_warned_of_only_where_it_has_clearly_more_late_frames_than_one_leg() -> None:
    dual = row("realtime", "dc", call(0.10, 90), call(0.11, 90), call(0.12, 90))
    worse = row("realtime", "sc", call(0.05, 90), call(0.06, 90), call(0.07, 90))
    equal = row("realtime", "sc", call(0.09, 90), call(0.12, 90), call(0.12, 90))
    (warning,) = found(dual, worse)
    assert warning.sentence.startswith("Warning: picoquic: DC less one leg alone")
    assert not found(dual, equal)


def test_a_number_that_no_run_has_is_a_dash() -> None:
    (finding,) = found(
        row("realtime", "dc", {"late_share": 0.1}, {"late_share": 0.1}),
        row("realtime", "multipath", {"late_share": 0.1}, {"late_share": 0.1}),
    )
    assert math.isnan(finding.differences[1].mean)
    assert "95th percentile of frame delay - ms" in finding.sentence


def test_downloads_and_mixed_workloads_have_no_such_sentence() -> None:
    mixed = row("realtime", "dc", call(0.1, 90)) + row("video", "multipath", call(0.1, 90))
    assert not found(row("download", "dc", {}), row("download", "multipath", {}))
    assert not found(mixed)
