"""What a comparison says in sentences, on made-up goodputs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from minitopo_dc.results.measures import verdict
from minitopo_dc.results.measures.limiting_factors import Reason
from minitopo_dc.results.measures.verdict import (
    Finding,
    agreement,
    findings,
    of_roles,
    with_primary,
)
from minitopo_dc.results.run_result import RunResult
from tests.results.synthetic_runs import no_result, result, table_of

STACKS = {"quic-picoquic": "picoquic", "mpquic-picoquic": "picoquic", "tcp": "Linux"}
STACKS |= {"quic-noq": "noq", "mpquic-noq": "noq", "mptcp": "Linux"}


NAMES = {"sc": "leg 1", "dc": "DC", "atsss": "ATSSS-LL", "multipath": "MP-QUIC"}
Row = tuple[str, list[RunResult]]


def row(transport: str, mode: str, *goodputs: float, variant: str = "") -> Row:
    runs = [
        result(transport, mode, goodput_mbps=goodput, seed=seed)
        for seed, goodput in enumerate(goodputs, start=1)
    ]
    words = ", ".join(filter(None, (variant, "TCP" if transport == "tcp" else "")))
    return f"{NAMES[mode]} ({words})" if words else NAMES[mode], runs


def findings_of(*rows: Row) -> list[Finding]:
    return findings(table_of(dict(rows)), STACKS)


def test_the_fastest_dc_is_set_against_multipath_seed_by_seed() -> None:
    (finding,) = findings_of(
        row("quic-picoquic", "dc", 10, 20, 40, variant="batch"),
        row("quic-picoquic", "dc", 22, 44, 88, variant="least-delay"),
        row("mpquic-picoquic", "multipath", 20, 40, 80),
    )
    assert finding.main.ways == ("DC (least-delay)", "MP-QUIC")
    paired = finding.main.paired
    ends = paired.interval.low, paired.interval.high
    assert (paired.pairs, paired.mean, *ends) == pytest.approx((3, *[math.log(1.1)] * 3))
    assert finding.sentence == (
        "DC (least-delay) 51.3, MP-QUIC 46.7 Mbit/s: "
        "DC (least-delay) is 10 % faster (the same with 3 seeds)."
    )


def test_atsss_is_set_against_dc_and_against_multipath() -> None:
    made = findings_of(
        row("quic-picoquic", "dc", 20, 40, variant="deployable, Xn 5 ms"),
        row("quic-picoquic", "atsss", 10, 20),
        row("mpquic-picoquic", "multipath", 20, 40),
    )
    pairs = [(*finding.main.ways, round(math.exp(finding.main.paired.mean), 6)) for finding in made]
    assert pairs == [
        ("DC (deployable, Xn 5 ms)", "MP-QUIC", 1),
        ("ATSSS-LL", "MP-QUIC", 0.5),
        ("ATSSS-LL", "DC (deployable, Xn 5 ms)", 0.5),
    ]


def test_a_ratio_of_some_seeds_says_of_how_many() -> None:
    failed = no_result("mpquic-picoquic", "multipath", "failed", "fell back", seed=3)
    several = row("mpquic-picoquic", "multipath", 11, 13, 14, 14.5, 15)[1]
    (finding,) = findings_of(
        row("quic-picoquic", "dc", 10, 11, 12, 13, 14),
        ("MP-QUIC", [*several[:2], failed, *several[3:]]),
    )
    assert (finding.main.paired.pairs, finding.main.seeds) == (4, 5)
    assert " %, 4 of 5 seeds); 1 failed: if it went the other way there, -" in finding.sentence
    assert finding.main.paired.lost == {"failed": 1}
    assert "MP-QUIC is 12 % faster (" in finding.sentence


def test_one_seed_has_no_interval() -> None:
    (finding,) = findings_of(
        row("quic-picoquic", "dc", 10), row("mpquic-picoquic", "multipath", 20)
    )
    assert math.isnan(finding.main.paired.interval.low)
    assert finding.sentence.endswith(
        "MP-QUIC is 2 times as fast (1 seed, more are needed for an interval)."
    )
    assert (
        json.loads(json.dumps(finding.to_json(), allow_nan=False))["differences"][0]["low"] is None
    )


def test_dc_below_one_leg_alone_is_a_warning() -> None:
    (warning,) = findings_of(
        row("tcp", "sc", 79, 78, 80, 79),
        row("tcp", "dc", 72, 71, 73, 72, variant="batch"),
        row("tcp", "dc", 90, 91, 89, 90, variant="least-delay"),
    )
    assert warning.warning
    assert warning.main.ways == ("DC (batch, TCP)", "leg 1 (TCP)")
    assert warning.sentence == (
        "Warning: DC (batch, TCP) 72.0, leg 1 (TCP) 79.0 Mbit/s: "
        "leg 1 (TCP) is 9.7 % faster (9.5 to 9.9 %, 4 seeds)."
    )


def test_the_best_dc_against_multipath_is_first() -> None:
    made = findings_of(
        row("tcp", "dc", 10, 11, variant="batch"),
        row("tcp", "dc", 20, 22, variant="credit"),
        row("quic-picoquic", "dc", 10, 11),
        row("mpquic-picoquic", "multipath", 20, 22),
    )
    assert [finding.main.ways[1] for finding in made] == ["MP-QUIC"]
    splits = findings_of(
        row("tcp", "dc", 9, 9.5),
        row("tcp", "sc", 20, 20.5),
        split_row("batch", 200.0, 10, 11),
        split_row("credit", 200.0, 12, 14),
        row("mpquic-picoquic", "multipath", 20, 23),
    )
    assert [finding.main.ways[1] for finding in splits] == [
        "MP-QUIC",
        "leg 1 (TCP)",
        "DC (batch, t-Reordering 200.0 ms)",
    ]


def test_other_stacks_are_not_set_against_each_other_where_one_has_two_ways() -> None:
    alone = row("tcp", "sc", 10, 11)
    dual, several = row("tcp", "dc", 20, 21), row("mpquic-picoquic", "multipath", 30, 31)
    assert not findings_of(alone, dual, several)


def test_without_a_stack_of_two_ways_dc_and_multipath_are_compared_else_the_best_two() -> None:
    dual, several = row("tcp", "dc", 10, 11), row("mpquic-picoquic", "multipath", 20, 21)
    (finding,) = findings_of(dual, several)
    assert (finding.stack, finding.main.ways) == ("", ("DC (TCP)", "MP-QUIC"))
    three = {name: row("tcp", "sc", mbps)[1] for name, mbps in (("a", 1), ("b", 3), ("c", 2))}
    (finding,) = findings_of(*three.items())
    assert finding.main.ways == ("b", "c")
    assert not findings_of(("leg 1", three["a"]), ("leg 2", three["b"]))  # `better_legs` says it


def test_a_dc_with_flow_control_is_the_one_that_is_compared(tmp_path: Path) -> None:
    runs = {}
    for name, mbps in (("ours", 10.0), ("better", 20.0), ("several", 15.0)):
        several = name == "several"
        transport, mode = ("mpquic-picoquic", "multipath") if several else ("quic-picoquic", "dc")
        (tmp_path / name).mkdir()
        pdcp = {"flow_control": {"interval_ms": 5}} if name == "ours" else {}
        (tmp_path / name / "scenario.yaml").write_text(json.dumps({"pdcp": pdcp}))
        place = str(tmp_path / name)
        runs[name] = [result(transport, mode, goodput_mbps=mbps, directory=place)]
    assert findings_of(*runs.items())[0].main.ways == ("ours", "several")


def test_runs_without_goodput_count_for_nothing() -> None:
    failed = no_result("mpquic-picoquic", "multipath", "disturbed", "this machine: ...", seed=1)
    assert not findings_of(row("quic-picoquic", "dc", 10, 11), ("MP-QUIC", [failed]))


def test_the_reason_is_that_of_the_slower_run(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {
        "leg 1": [result("tcp", "sc", goodput_mbps=79, directory="fast")],
        "DC": [result("tcp", "dc", goodput_mbps=22, directory="slow")],
    }
    reasons = {(Path("slow"), Path("fast")): Reason("lost", 0.05, 0.0)}
    monkeypatch.setattr(verdict, "reason", lambda *runs: reasons[runs])
    (finding,) = findings_of(*runs.items())
    assert finding.sentence.endswith(". DC lost more packets (5 % for 0 %).")
    assert finding.to_json()["sign"] == "lost"


def split_row(split: str, t_reordering_ms: float | str, *goodputs: float) -> Row:
    settings = {"pdcp.split": split, "pdcp.t_reordering_ms": t_reordering_ms}
    variant = f"{split}, t-Reordering {t_reordering_ms} ms"
    name, runs = row("quic-picoquic", "dc", *goodputs, variant=variant)
    return name, [replace(run, settings=settings) for run in runs]


def names(*rows: Row) -> list[tuple[str, str]]:
    return [finding.main.ways for finding in findings_of(*rows)]


def test_without_the_papers_split_the_two_best_are_set_against_each_other() -> None:
    rows = [split_row(name, 200.0, at, at + 1) for name, at in (("credit", 9), ("threshold", 7))]
    third = split_row("least-delay", 200.0, 20, 21)
    first, second = "least-delay", "credit"
    same = "t-Reordering 200.0 ms"
    assert names(*rows, third) == [(f"DC ({first}, {same})", f"DC ({second}, {same})")]


def test_the_shortest_t_reordering_is_set_against_the_longest() -> None:
    values: tuple[float | str, ...] = ("infinity", 50.0, 200.0, "adaptive")
    rows = [split_row("batch", value, 10 + at, 11 + at) for at, value in enumerate(values)]
    assert names(*rows) == [
        ("DC (batch, t-Reordering 50.0 ms)", "DC (batch, t-Reordering infinity ms)")
    ]


def media_row(kind: str, mode: str, *seeds: dict[str, float], split: str = "") -> Row:
    transport = "mpquic-picoquic" if mode == "multipath" else "quic-picoquic"
    return NAMES[mode] + (f" ({split})" if split else ""), [
        result(
            transport,
            mode,
            workload=kind,
            goodput_mbps=None,
            seed=seed,
            settings={"pdcp.split": split, "pdcp.t_reordering_ms": 200.0} if split else {},
            details=details,
        )
        for seed, details in enumerate(seeds, start=1)
    ]


def call(late: float, p99: float) -> dict[str, float]:
    delays = {"frame_delay_p50_ms": 20.0, "frame_delay_p95_ms": 40.0, "frame_delay_p99_ms": p99}
    return {"late_share": late, "freezes": 0, **delays}


def test_a_call_is_judged_by_late_frames_and_tells_what_else_differs() -> None:
    (finding,) = findings_of(
        media_row("realtime", "dc", *(call(0.1 + n / 100, 90 + 5 * (-1) ** n) for n in range(4))),
        media_row("realtime", "multipath", *(call(0.05 + n / 100, 130) for n in range(4))),
    )
    assert (*finding.main.ways, finding.main.paired.pairs) == ("DC", "MP-QUIC", 4)
    assert finding.main.better == "MP-QUIC"
    assert finding.sentence == (
        "Late or lost frames: DC 11.5, MP-QUIC 6.50 %: "
        "MP-QUIC is 5.0 percentage points better (the same with 4 seeds). "
        "DC is better in 99th percentile of frame delay (90.0, not 130 ms)."
    )


def test_a_measure_beside_the_main_one_is_told_beyond_its_margin_only() -> None:
    (finding,) = findings_of(
        media_row("realtime", "dc", *[call(0, 90)] * 4),
        media_row("realtime", "multipath", *[call(0, 99)] * 4),
    )
    assert finding.sentence == (
        "Late or lost frames: DC 0, MP-QUIC 0 %: no difference (the same with 4 seeds)."
    )


def test_a_call_that_failed_is_counted_and_turned_against_the_others() -> None:
    failed = no_result("quic-picoquic", "dc", "failed", "it broke", seed=5)
    (finding,) = findings_of(
        ("DC", [*media_row("realtime", "dc", *[call(0.1, 90), call(0.12, 95)] * 2)[1], failed]),
        media_row("realtime", "multipath", *[call(0.05, 90)] * 5),
    )
    assert finding.main.paired.lost == {"failed": 1}
    assert "percentage points, 4 of 5 seeds)" in finding.sentence
    assert "; 1 failed: if it went the other way there, -" in finding.sentence


def test_of_a_video_higher_is_better_where_it_is_bitrate() -> None:
    video = {"linear_qoe_mbps": 4.0, "stalls": 1, "stall_s": 2.0, "bitrate_mbps": 5.0}
    better = {"linear_qoe_mbps": 6.0, "stalls": 0, "stall_s": 0.0, "bitrate_mbps": 6.0}
    (finding,) = findings_of(
        media_row("video", "dc", *[better] * 4, split="least-delay"),
        media_row("video", "dc", *[video] * 4, split="batch"),
    )
    assert finding.main.ways == ("DC (least-delay)", "DC (batch)")
    assert {difference.better for difference in finding.differences} == {"DC (least-delay)"}
    assert finding.sentence.endswith(
        "better (the same with 4 seeds). DC (least-delay) is better in stalls (0, not 1.00), "
        "time stalled (0, not 2.00 s), bitrate (6.00, not 5.00 Mbit/s)."
    )
    assert [difference.paired.mean for difference in finding.differences] == pytest.approx(
        [2, 1, 2, 1]
    )


def test_one_seed_of_a_call_has_no_interval_and_nobody_is_better() -> None:
    (finding,) = findings_of(
        media_row("realtime", "dc", call(0.1, 90)),
        media_row("realtime", "multipath", call(0.0, 80)),
    )
    assert "(1 seed, more are needed for an interval)" in finding.sentence
    assert not any(difference.better for difference in finding.differences)
    shown = json.loads(json.dumps(finding.to_json(), allow_nan=False))
    assert shown["differences"][0]["low"] is None
    assert shown["sentence"] == finding.sentence


def test_dc_is_warned_of_only_where_it_has_clearly_more_late_frames_than_one_leg() -> None:
    dual = media_row("realtime", "dc", call(0.10, 90), call(0.11, 90), call(0.12, 90))
    worse = media_row("realtime", "sc", call(0.05, 90), call(0.06, 90), call(0.07, 90))
    equal = media_row("realtime", "sc", call(0.09, 90), call(0.12, 90), call(0.12, 90))
    (warning,) = findings_of(dual, worse)
    assert warning.sentence.startswith("Warning: Late or lost frames: DC 11.0, leg 1 6")
    assert not findings_of(dual, equal)


@pytest.mark.parametrize(
    ("goodputs", "words"),
    [
        ([27, 33], "MP-QUIC is 11 times as fast (2 seeds, more are needed for an interval)."),
        ([30, 30, 30, 30], "MP-QUIC is 11 times as fast (the same with 4 seeds)."),
        ([2.7, 2.8, 2.9, 3.0], "no clear difference (-2.8 to 12 %, 4 seeds)."),
        ([30, 33, 36, 20], "MP-QUIC is 11 times as fast (7 to 16 times, 4 seeds)."),
        ([0.1, 30, 0.1, 40], "no clear difference (0.0068 to 317 times, 4 seeds)."),
    ],
)
def test_from_twice_on_a_factor_is_told_and_an_interval_from_four_seeds_on(
    goodputs: list[float], words: str
) -> None:
    dual = row("quic-picoquic", "dc", *[2.727272727] * len(goodputs))
    (finding,) = findings_of(dual, row("mpquic-picoquic", "multipath", *goodputs))
    assert finding.sentence.partition(": ")[2] == words


def test_a_number_that_no_run_has_is_left_out() -> None:
    (finding,) = findings_of(
        media_row("realtime", "dc", {"late_share": 0.1}, {"late_share": 0.1}),
        media_row("realtime", "multipath", {"late_share": 0.1}, {"late_share": 0.1}),
    )
    assert math.isnan(finding.differences[1].paired.mean)
    assert finding.sentence.endswith("no difference (the same with 2 seeds).")


@pytest.mark.parametrize(
    ("transport", "mode"), [("quic-picoquic", "atsss"), ("mpquic-picoquic", "multipath")]
)
def test_each_way_over_several_legs_below_one_leg_alone_is_warned_of(
    transport: str, mode: str
) -> None:
    alone = row("quic-picoquic", "sc", 41, 42)
    (warning,) = findings_of(alone, row(transport, mode, 0.8, 0.8))
    assert warning.sentence.startswith(f"Warning: {NAMES[mode]} 0.800, leg 1 41.5 Mbit/s: ")


def over_two_stacks(picoquic: float, noq: float) -> str:
    """What is said of Dual Connectivity with these goodputs, and 100 of each multipath."""
    made = findings_of(
        row("quic-picoquic", "dc", picoquic, variant="picoquic"),
        row("mpquic-picoquic", "multipath", 100, variant="picoquic"),
        row("quic-noq", "dc", noq, variant="noq"),
        row("mpquic-noq", "multipath", 100, variant="noq"),
        row("tcp", "dc", 300),
        row("mptcp", "multipath", 100, variant="TCP"),
    )
    return agreement(made, 0.05)


@pytest.mark.parametrize(
    ("goodputs", "sentence"),
    [
        ((103, 112), "With picoquic a tie, with noq DC is 12 % faster: it depends on the stack."),
        ((80, 112), "multipath is 25 % faster, with noq DC is 12 % faster: it depends"),
        (
            (110, 112),
            "picoquic DC is 10 % faster, with noq DC is 12 % faster: the stacks agree.",
        ),
        ((100, 96), "With picoquic a tie, with noq a tie: the stacks agree."),
    ],
)
def test_stacks_of_mp_quic_agree_or_not(goodputs: tuple[float, float], sentence: str) -> None:
    assert sentence in over_two_stacks(*goodputs)


def test_one_stack_has_nothing_to_agree_with() -> None:
    made = findings_of(
        row("quic-picoquic", "dc", 30),
        row("mpquic-picoquic", "multipath", 20),
        row("tcp", "dc", 10),
        row("mptcp", "multipath", 20),
    )
    assert agreement(made, 0.05) == ""


def with_roles(dual: float, several: float) -> list[str]:
    """What is said of another primary leg with these goodputs, where leg 1 gives 40 and 41."""
    pair = ("DC", "MP-QUIC")
    runs = dict(
        [
            row("quic-picoquic", "dc", *[40] * 4),
            row("mpquic-picoquic", "multipath", *[41] * 4),
        ]
    )
    for way, goodput in zip(pair, (dual, several), strict=True):
        mode = runs[way][0].mode
        runs[with_primary(way, 2)] = row(runs[way][0].transport, mode, *[goodput] * 4)[1]
    return list(of_roles(table_of(runs), [pair], 2))


def test_another_primary_leg_is_told_with_what_it_changes() -> None:
    assert with_roles(20, 30) == [
        "With leg 2 as the primary one (-50 % and -27 %): DC 20.0, MP-QUIC 30.0 Mbit/s: "
        "MP-QUIC is 50 % faster (the same with 4 seeds)."
    ]


def test_another_primary_leg_that_changes_less_than_the_margin_is_said_to() -> None:
    assert with_roles(41, 40) == [
        "Another primary leg changes goodput of neither way by more than 5 %."
    ]
