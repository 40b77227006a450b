"""A run whose machine had too much part in it: told, without numbers, and in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.fields import SettingsError
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.results.trust import (
    LIMITS_VARIABLE,
    Evidence,
    Limits,
    Part,
    judge_trust,
    overlap_s,
    with_trust,
)
from tests.results.synthetic_runs import no_result, result

IDLE = Part(ran_s=0.1, waited_s=0, delayed_s=0, stopped_s=0, saturated_s=0)
CALM = Evidence(
    transfer_s=2,
    parts={"gnb": IDLE, "client": IDLE},
    stalled_s={"gnb": 0, "ue": 0},
    held_up_s=0,
    paused_s=0,
    stolen_s=0,
    backlog_drops=0,
    pressure=0.1,
    other_processors=0.2,
    load=(0.5, 0.6),
)


@pytest.fixture(autouse=True)
def limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "limits.yaml"
    Limits(
        stalled=0.02,
        waited=0.4,
        delayed=0.1,
        stopped=0.02,
        saturated=0.5,
        busy=0.7,
        stolen=0.1,
        paused=0.3,
        backlog_drops=0,
    ).save(file)
    monkeypatch.setenv(LIMITS_VARIABLE, str(file))
    return file


def with_part(name: str, **seconds: float) -> Evidence:
    return replace(CALM, parts={**CALM.parts, name: replace(IDLE, **seconds)})


def test_a_calm_run_is_clean_and_keeps_its_numbers() -> None:
    judged = with_trust(result(), judge_trust(CALM))
    assert (judged.status, judged.details["trust"]["verdict"]) == ("ok", "clean")
    assert judged.goodput_mbps == result().goodput_mbps


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (with_part("client", stopped_s=1), "client was stopped for 50.0% of the transfer"),
        (with_part("server", waited_s=1), "server waited for a processor for 50.0%"),
        (with_part("server-2", delayed_s=0.5), "server-2 waited long for a processor for 25.0%"),
        (with_part("client", saturated_s=1.9), "client had too little processor time for 95.0%"),
        (replace(CALM, stalled_s={"ue": 0.1}), "ue's element was late for 5.0%"),
        (replace(CALM, stolen_s=0.5), "the hypervisor took 25.0% of a processor"),
        (replace(CALM, held_up_s=0.08, stolen_s=0.04), "took up to 6.0% of the transfer together"),
        (replace(CALM, paused_s=1), "the machine paused for 50.0%"),
        (with_part("server", ran_s=1.6), "server ran or waited for a processor for 80.0%"),
        (replace(CALM, backlog_drops=3), "the kernel dropped 3 packets outside the legs"),
    ],
)
def test_what_is_above_its_limit_disturbs_a_run_and_is_named(
    evidence: Evidence, words: str
) -> None:
    judged = with_trust(result(), judge_trust(evidence))
    assert judged.status == "disturbed"
    assert words in judged.reason
    assert judged.details["trust"]["verdict"] == "disturbed"


def test_a_disturbed_run_has_no_numbers_but_as_they_were_measured() -> None:
    ok = result(details={"handshake_s": 0.1})
    judged = with_trust(ok, judge_trust(with_part("client", stopped_s=1)))
    assert (judged.goodput_mbps, judged.completion_s, judged.capacity_share) == (None, None, None)
    assert judged.details["as_measured"]["goodput_mbps"] == ok.goodput_mbps
    assert judged.details["as_measured"]["details"] == {"handshake_s": 0.1}
    assert "handshake_s" not in judged.details


def test_a_failure_stays_one_and_says_what_the_machine_did() -> None:
    failed: RunResult = no_result("tcp", "sc", "failed", "client was ended by SIGKILL")
    judged = with_trust(failed, judge_trust(with_part("client", stopped_s=1)))
    assert (judged.status, judged.reason) == ("failed", failed.reason)
    assert judged.details["trust"]["exceeded"]


def test_wrong_limits_name_their_file_and_field(limits: Path) -> None:
    other = limits.with_name("wrong.yaml")
    other.write_text("waited: -1\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(LIMITS_VARIABLE, str(other))
        with pytest.raises(SettingsError, match=r"wrong.yaml: "):
            judge_trust(CALM)


@given(st.lists(st.tuples(st.integers(0, 10**10), st.integers(0, 10**10))))
def test_delays_that_overlap_count_once_and_only_within_the_window(
    delays: list[tuple[int, int]],
) -> None:
    shared_s = overlap_s(sorted(delays), 10**9, 3 * 10**9)
    assert 0 <= shared_s <= 2
    assert shared_s <= sum(lasted for _, lasted in delays) / 1e9 + 1e-9
    late = [(2 * 10**9, 10**9), (2 * 10**9 + 1, 10**6)]  # half of the window
    assert overlap_s(late, 10**9, 3 * 10**9) == pytest.approx(1, abs=1e-6)
