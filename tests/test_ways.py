"""One run and several ways beside each other, as a user of a notebook sees them."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib import pyplot

import minitopo_dc as dc
from minitopo_dc.campaign.store import make_table, row_of
from minitopo_dc.ways import Comparison, Run, over_stacks
from tests.quic.extension import needs_noq, needs_picoquic
from tests.results.synthetic_runs import no_result, result, save

LEGS = [dc.Leg(rate_mbps=20, delay_ms=30), dc.Leg(rate_mbps=80, delay_ms=10)]
BASE = dc.Scenario(
    legs=LEGS,
    transport="quic-picoquic",
    mode="dc",
    workload=dc.Download(size_mb=0.3),
    clock="virtual",
)
WAYS = {"DC": BASE, "MP-QUIC": BASE.evolve(transport="mpquic-picoquic", mode="multipath")}
IMPOSSIBLE = BASE.evolve(workload={"size_mb": 30}, timeout_s=1)


@pytest.fixture(scope="module")
def one() -> Run:
    return dc.run(WAYS["MP-QUIC"])


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return dc.compare(WAYS, seeds=2, jobs=1)


def test_a_run_has_its_result_and_measures_as_attributes(one: Run) -> None:
    assert (one.status, one.transport) == ("ok", "mpquic-picoquic")
    assert one.goodput_mbps == pytest.approx(0.3 * 8 / one.completion_s)
    assert one.leg_bytes_1 == one.leg_bytes[0]
    with pytest.raises(AttributeError, match=r"no godput_mbps.*goodput_mbps"):
        one.godput_mbps  # noqa: B018


@pytest.mark.parametrize("name", ["client", "legs", "pdcp", "paths", "connection"])
def test_a_run_has_its_series_as_tables(one: Run, name: str) -> None:
    run = dc.run(BASE) if name == "pdcp" else one
    table = getattr(run, name)
    assert len(table)
    assert "time_s" in table


def test_a_call_has_its_frames_as_rows() -> None:
    call = dc.run(BASE.evolve(workload={"kind": "realtime", "duration_s": 0.5}))
    assert len(call.rows) == call.frames
    assert call.rows["delay_ms"].max() == pytest.approx(call.frame_delay_max_ms)


def test_a_run_says_of_what_it_has_no_table(one: Run) -> None:
    with pytest.raises(dc.InputError, match=r"pdcp: .*mpquic-picoquic multipath"):
        one.pdcp  # noqa: B018
    with pytest.raises(dc.InputError, match=r"paths: .*quic-picoquic dc"):
        dc.run(BASE).paths  # noqa: B018
    with pytest.raises(dc.InputError, match=r"rows: .*download"):
        one.rows  # noqa: B018


def test_a_run_without_a_directory_is_gone_with_its_object(tmp_path: Path) -> None:
    dc.run(BASE, tmp_path / "mine")
    assert (tmp_path / "mine" / "result.json").exists()
    run = dc.run(BASE)
    directory = run.directory
    assert (directory / "result.json").exists()
    del run
    assert not directory.exists()


def test_a_mistake_leaves_no_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(dc.InputError):
        dc.run(BASE.evolve(transport="quic-picoquic", plugins=["no-such.py"]))
    assert not [*tmp_path.iterdir()]


def test_a_run_shows_itself(one: Run) -> None:
    assert repr(one).startswith("mpquic-picoquic multipath: goodput (Mbit/s) ")
    assert "<td>" in one._repr_html_()
    assert one.plot().shape[1] == 1


def test_a_failed_run_is_returned_with_its_reason() -> None:
    run = dc.run(IMPOSSIBLE)
    assert run.status == "failed"
    assert run.reason in repr(run)
    with pytest.raises(AttributeError, match="none: "):
        run.queue_ms  # noqa: B018


@needs_picoquic
@needs_noq
def test_ways_run_over_all_stacks_that_are_asked_for() -> None:
    tcp = BASE.evolve(transport="tcp")
    chosen = over_stacks({**WAYS, "TCP": tcp}, ["picoquic", "noq"])
    assert {name: way.transport for name, way in chosen.items()} == {
        **{"DC (picoquic)": "quic-picoquic", "DC (noq)": "quic-noq"},
        **{"MP-QUIC (picoquic)": "mpquic-picoquic", "MP-QUIC (noq)": "mpquic-noq"},
        "TCP": "tcp",
    }
    assert over_stacks(WAYS, ["picoquic"]) == WAYS
    with pytest.raises(dc.InputError, match=r"stacks: tquic; .*picoquic, noq"):
        over_stacks(WAYS, ["tquic"])


@needs_picoquic
@needs_noq
def test_a_comparison_over_two_stacks_says_whether_they_agree() -> None:
    compared = dc.compare(WAYS, seeds=1, stacks=["picoquic", "noq"], progress=False)
    assert compared.sentence.startswith("With picoquic ")
    ways = ["DC (picoquic)", "DC (noq)", "MP-QUIC (picoquic)", "MP-QUIC (noq)"]
    assert [*compared.table.index] == ways


def test_a_comparison_has_a_row_a_way_with_its_interval(compared: Comparison) -> None:
    assert [*compared.table.index] == ["DC", "MP-QUIC"]
    assert [*compared.table["runs"]] == ["2 of 2", "2 of 2"]
    means = compared.runs.groupby("way")["goodput_mbps"].mean()
    assert compared.table["goodput_mbps"].to_dict() == pytest.approx(means.to_dict())


def test_a_comparison_shows_table_and_sentence(compared: Comparison, tmp_path: Path) -> None:
    assert all(sentence in repr(compared) for sentence in compared.sentences)
    before, page = pyplot.get_fignums(), compared._repr_html_()
    assert "data:image/png;base64," in page
    assert compared.sentence in page
    assert pyplot.get_fignums() == before  # a notebook would show the figure again
    shown = repr(comparison_of(tmp_path, {"a": [10.0, None], "b": [20.0, 21.0]}))
    assert "a: 1 failed: it broke" in shown
    with pytest.raises(dc.InputError, match="ways: 1"):
        dc.compare({"DC": BASE})


def comparison_of(
    root: Path, ways: dict[str, list[float | None]], measure: str = "goodput_mbps"
) -> Comparison:
    """Return a comparison with these numbers by seed; None: the run failed."""
    rows = []
    for number, (way, values) in enumerate(ways.items()):
        mode = "multipath" if way == "multi" else "dc"
        for seed, value in enumerate(values):
            run = no_result("quic", mode, "failed", "it broke", seed=seed)
            if value is not None:
                own = {} if measure == "goodput_mbps" else {"goodput_mbps": None}
                run = result("quic", mode, seed=seed, **own | {"workload": "mine"})
                known = {"goodput_mbps": value} if not own else {"details": {measure: value}}
                run = replace(run, **known)
            place = save(root / "runs" / str(number), run)
            labels = {"way": way, "seed": seed, "run": str(place.relative_to(root))}
            rows.append(row_of(run) | labels)
    return Comparison(make_table(rows, ["way"], [], root), root)


@pytest.mark.parametrize(
    ("ways", "sentence"),
    [
        (
            {"DC": [10.0, 11.0, 12.0], "slow": [9.0, 9.0, 9.0], "multi": [20.0, 22.0, 24.0]},
            r"DC 11.0, multi 22.0 Mbit/s: multi is 2 times as fast \(the same with 3 seeds\)\.",
        ),
        (
            {"DC": [10.0, 12.0] * 2, "multi": [12.0, 10.0] * 2},
            r".*: no clear difference \(-\d+ to \d+ %, 4 seeds\)\.",
        ),
        (
            {"a": [10.0], "b": [20.0]},
            r"b 20.0, a 10.0 Mbit/s: b is 2 times as fast \(1 seed, more .* interval\)\.",
        ),
        ({"a": [None], "b": [20.0]}, "Fewer than two ways have a run that is ok.*"),
    ],
)
def test_the_sentence_says_which_of_the_best_is_better(
    ways: dict[str, list[float | None]], sentence: str, tmp_path: Path
) -> None:
    assert re.fullmatch(sentence, comparison_of(tmp_path, ways).sentence)


def test_the_sentence_of_a_delay_prefers_the_lower_one(tmp_path: Path) -> None:
    values: dict[str, list[float | None]] = {"a": [10.0, 11.0, 12.0], "b": [20.0, 22.0, 24.0]}
    sentence = comparison_of(tmp_path, values, "page_ms").sentence
    assert sentence == "Page: a 11.0, b 22.0 ms: a is 50 % lower (the same with 3 seeds)."
