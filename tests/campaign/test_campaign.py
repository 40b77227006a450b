"""A campaign of Python cases: planned, run, interrupted, resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from minitopo_dc import Campaign, InputError, Scenario, clocks, load
from minitopo_dc.campaign import Retries, executors
from minitopo_dc.campaign import campaign as engine
from minitopo_dc.campaign.plan import Case
from minitopo_dc.results.run_result import RunResult
from tests import long
from tests.campaign.cases import BASE, batches, fail, program, scenario, start
from tests.stores import pretend

MANY = """
dc.Campaign("c", batches(*range(1, 5)), seeds=range(1, 11)).run(jobs=JOBS, progress=False)
"""


def pretended(monkeypatch: pytest.MonkeyPatch, execute: Any = pretend) -> list[Scenario]:
    """Let runs end at once; return the scenarios that are run from now on."""
    ran: list[Scenario] = []

    def run(one: Scenario, directory: Path) -> RunResult:
        ran.append(one)
        directory.mkdir(parents=True)
        return execute(one, directory)  # type: ignore[no-any-return]

    monkeypatch.setattr(clocks, "runner_on", lambda _: run)
    return ran


def test_a_row_a_run_with_labels_and_measures(tmp_path: Path) -> None:
    runs = Campaign(tmp_path / "c", batches(2, 100), seeds=(1, 2)).run(jobs=1, progress=False)
    assert runs.columns[:4].tolist() == ["batch", "seed", "status", "reason"]
    assert runs[["batch", "seed"]].to_numpy().tolist() == [[2, 1], [100, 1], [2, 2], [100, 2]]
    assert (runs["status"] == "ok").all()
    assert (runs["goodput_mbps"] * runs["completion_s"]).to_numpy() == pytest.approx(0.8)
    assert (runs["leg_bytes_1"] + runs["leg_bytes_2"] > 100_000).all()
    for run in runs["run"]:
        assert (tmp_path / "c" / run / "result.json").is_file()
    assert runs.attrs["labels"] == ["batch"]
    assert len(pd.read_csv(tmp_path / "c" / "runs.csv")) == 4
    (tmp_path / "c").rename(tmp_path / "moved")
    assert_frame_equal(load(tmp_path / "moved"), runs)
    (tmp_path / "moved" / "data-model.json").write_text('{"data_model": 99}')
    with pytest.raises(InputError, match="99"):
        load(tmp_path / "moved")


def test_cases_that_mean_the_same_scenario_share_their_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = pretended(monkeypatch)
    one = scenario()
    cases = [(one, {"part": "a"}), (one, {"part": "b"}), (one, {"part": "b"})]
    campaign = Campaign(tmp_path / "c", cases, seeds=(1, 2))
    runs = campaign.run(jobs=1)
    assert (len(runs), runs["run"].nunique(), len(ran)) == (4, 2, 2)
    legs = [(scenario(seed=seed, leg=leg), {"leg": leg}) for leg in (1, 2) for seed in (3, 1)]
    Campaign(tmp_path / "d", legs).run(jobs=1)  # without seeds: those of the scenarios, in order
    assert [(one.seed, one.leg) for one in ran[2:]] == [(1, 1), (1, 2), (3, 1), (3, 2)]


def test_what_is_missing_damaged_or_a_link_is_run_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = pretended(monkeypatch)
    Campaign(tmp_path / "c", batches(2, 5), seeds=(1,)).run(jobs=1)
    campaign = Campaign(tmp_path / "c", batches(2, 5, 9), seeds=(1, 2))
    first, second, third, *_ = (tmp_path / "c" / run for run in campaign.run(jobs=1)["run"])
    assert len(ran) == 2 + 4
    (first / "scenario.yaml").write_text("other: 1\n")
    (second / "result.json").unlink()
    elsewhere = third.rename(tmp_path / "elsewhere")
    third.symlink_to(elsewhere)
    assert (campaign.run(jobs=1)["status"] == "ok").all()
    assert len(ran) == 6 + 3
    assert not third.is_symlink()
    assert (elsewhere / "result.json").exists()


def test_failed_runs_stay_unless_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = pretended(monkeypatch, fail)
    campaign = Campaign(tmp_path / "c", batches(2))
    row = campaign.run(jobs=1).iloc[0]
    assert (row["status"], row["reason"]) == ("failed", "it broke")
    assert pd.isna(row["goodput_mbps"])
    campaign.run(jobs=1)
    assert len(ran) == 1
    campaign.run(jobs=1, again=["failed"], retries=Retries(failed=2))
    assert len(ran) == 1 + 3
    with pytest.raises(InputError, match=r"again: .*failed, disturbed"):
        campaign.run(again="failed")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"transport": "carrier-pigeon"}, "transport: carrier-pigeon; allowed"),
        ({"congestion_control": "none"}, "congestion_control: none; allowed"),
        ({"legs": [{"trace": "missing.csv"}]}, "missing.csv"),
        ({"legs": [{"trace": "wrong.csv"}]}, r"wrong\.csv:2: "),
    ],
)
def test_a_wrong_scenario_is_refused_before_anything_is_run(
    changes: dict[str, Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wrong.csv").write_text("0,20\n1,fast\n")
    fields = {**BASE, "mode": "sc", **changes}
    with pytest.raises(InputError, match=f"case batch 2: .*{words}"):
        Campaign("c", [(Scenario(**fields), {"batch": 2})])
    assert not Path("c").exists()


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([{"seed": 1}], "label seed: that is a column of every table"),
        ([{"goodput_mbps": 1}], "case goodput_mbps 1: label goodput_mbps: that is a measure"),
        ([{"leg_bytes_2": 1}], "label leg_bytes_2: that is a measure"),
        ([{"ratio": (1, 1)}], r"label ratio: \(1, 1\); allowed: values of one kind"),
        ([{"x": 1}, {"x": "one"}], "label x: 1 and 'one'; allowed: values of one kind"),
        ([{"a-b": 1}], "label 'a-b': allowed are names of letters"),
    ],
)
def test_a_label_that_no_table_can_have_is_refused(
    labels: list[dict[str, Any]], words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=words):
        Campaign(tmp_path / "c", [(scenario(), label) for label in labels])


def test_what_is_no_case_and_no_seed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cases: number 1 "):
        Campaign(tmp_path / "c", [scenario()])  # type: ignore[list-item]
    with pytest.raises(InputError, match="seeds: one"):
        Campaign(tmp_path / "c", batches(2), seeds=["one"])  # type: ignore[list-item]


def test_labels_that_some_cases_lack_are_missing_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretended(monkeypatch)
    one: Case = scenario(), {"way": "DC", "on": True}
    cases: list[Case] = [one, (scenario(leg=2), {"x": 0.5, "n": 1})]
    runs = Campaign(tmp_path / "c", cases).run(jobs=1)
    assert runs["way"].isna().tolist() == [False, True]
    assert_frame_equal(load(tmp_path / "c"), runs)


def test_a_thread_pool_is_an_executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretended(monkeypatch)
    with ThreadPoolExecutor(2) as executor:
        runs = Campaign(tmp_path / "c", batches(2, 5, 9)).run(executor=executor)
        assert (runs["status"] == "ok").all()
        assert_frame_equal(load(tmp_path / "c"), runs)
        with pytest.raises(InputError, match="jobs"):
            Campaign(tmp_path / "d", batches(2)).run(jobs=2, executor=executor)


def test_an_executor_that_loses_a_run_keeps_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Losing(ThreadPoolExecutor):
        def submit(self, call: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
            if arguments[0]["pdcp"]["batch"] != 5:
                return super().submit(call, *arguments)
            lost: Future[Any] = Future()
            lost.set_exception(BrokenExecutor("its process ended"))
            return lost

    pretended(monkeypatch)
    campaign = Campaign(tmp_path / "c", batches(2, 5, 9))
    with Losing(1) as executor, pytest.raises(InputError, match="1 runs"):
        campaign.run(executor=executor)
    assert load(tmp_path / "c")["status"].tolist() == ["ok", "missing", "ok"]


def die_or_live(one: Scenario, directory: Path, _: Retries) -> RunResult:
    """A process that the kernel ends, always at batch 5, else at the first time."""
    mark = directory.with_suffix(".mark")
    if one.pdcp.batch == 5 or not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    directory.mkdir()
    return pretend(one, directory)


def test_a_run_whose_process_is_killed_is_begun_again_and_in_the_end_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "MAX_KILLS", 2)
    monkeypatch.setattr(executors, "perform", die_or_live)
    campaign = Campaign(tmp_path / "c", batches(2, 5))
    with pytest.raises(InputError, match=r"1 runs.* killed"):
        campaign.run(jobs=2)
    assert load(tmp_path / "c")["status"].tolist() == ["ok", "missing"]


def test_more_than_one_job_is_refused_on_the_real_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "require_clock", lambda _: None)
    campaign = Campaign(tmp_path / "c", [(scenario(clock="real"), {})])
    with pytest.raises(InputError, match="1 on the real clock"):
        campaign.run(jobs=2)


def test_a_full_disk_keeps_what_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(one: Scenario, directory: Path) -> RunResult:
        if one.pdcp.batch == 5:
            raise OSError(28, os.strerror(28))
        return pretend(one, directory)

    pretended(monkeypatch, full)
    campaign = Campaign(tmp_path / "c", batches(2, 5))
    with pytest.raises(InputError, match="full"):
        campaign.run(jobs=1)
    assert load(tmp_path / "c")["status"].tolist() == ["ok", "missing"]


def done(directory: Path) -> int:
    return len(list(directory.glob("c/runs/*/checksums.json")))


def wait_for_runs(process: subprocess.Popen[str], directory: Path) -> None:
    until = time.monotonic() + 40
    while done(directory) < 5:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("jobs", [long("1"), "2"])
def test_a_killed_campaign_goes_on_with_equal_rows(jobs: str, tmp_path: Path) -> None:
    process = start(program(MANY.replace("JOBS", jobs)), tmp_path)
    wait_for_runs(process, tmp_path)
    process.kill()
    process.communicate()
    killed = load(tmp_path / "c")
    finished = killed[killed["status"] == "ok"]
    assert 5 <= len(finished) < len(killed) == 40
    campaign = Campaign(tmp_path / "c", batches(*range(1, 5)), seeds=range(1, 11))
    before = (campaign.table()["status"] == "ok").sum()
    runs = campaign.run(jobs=1, progress=False)
    assert before >= len(finished)
    assert (runs["status"] == "ok").all()
    assert_frame_equal(runs.loc[finished.index], finished, check_like=True)


@pytest.mark.parametrize("jobs", [long("1"), "2"])
def test_ctrl_c_is_one_line_and_keeps_what_is_done(jobs: str, tmp_path: Path) -> None:
    # More runs than can end before the signal on a busy machine.
    process = start(program(MANY.replace("JOBS", jobs).replace("11", "101")), tmp_path)
    wait_for_runs(process, tmp_path)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    (line,) = err.splitlines()
    assert line.startswith("minitopo-dc: interrupted; ")
    number = int(line.split()[2])
    assert (load(tmp_path / "c")["status"] == "ok").sum() == number == done(tmp_path)


def test_ctrl_c_of_which_a_library_makes_another_error_is_ctrl_c(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def workers(*_: object) -> executors.Results:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise ValueError("not a string")
        yield

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(SystemExit, match="130"):
        Campaign(tmp_path / "c", batches(2)).run(executor=workers)
    assert "interrupted; 0 of 1 runs are done" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before is signal.default_int_handler


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    process = start(program(MANY.replace("JOBS", "1")), tmp_path)
    wait_for_runs(process, tmp_path)
    with pytest.raises(InputError, match="another process"):
        Campaign(tmp_path / "c", batches(2)).run(jobs=1)
    process.kill()
    process.communicate()


def test_a_run_that_was_disturbed_has_no_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disturb(one: Scenario, directory: Path) -> RunResult:
        numbers: dict[str, Any] = dict.fromkeys(("goodput_mbps", "completion_s", "capacity_share"))
        reason = "this machine: busy"
        return replace(pretend(one, directory), status="disturbed", reason=reason, **numbers)

    ran = pretended(monkeypatch, disturb)
    row = Campaign(tmp_path / "c", batches(2)).run(jobs=1).iloc[0]
    assert (row["status"], row["reason"], len(ran)) == ("disturbed", "this machine: busy", 2)
    assert pd.isna(row["goodput_mbps"])
