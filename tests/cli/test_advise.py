"""`minitopo-dc advise`: what it prints, keeps and refuses; and the same from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minitopo_dc import cli, load
from minitopo_dc.advice import advise
from minitopo_dc.cli.screen import print_runs
from minitopo_dc.quic.picoquic import PICOQUIC

needs_picoquic = pytest.mark.skipif(PICOQUIC.obstacle() is not None, reason="picoquic is not built")
SMALL = ["advise", "--legs", "30", "10", "--delay", "10", "40", "--size", "0.3", "--time", "600"]
SMALL += ["--stacks", "picoquic"]


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("advise") / "out"
    assert cli.main([*SMALL, "--jobs", "1", "--output", str(found)]) == 0
    return found


@needs_picoquic
def test_it_keeps_the_advice_a_table_a_figure_and_a_directory_for_each_run(output: Path) -> None:
    names = {path.name for path in output.iterdir()}
    assert {"advice.json", "advice.png", "campaign.json", "runs.csv", "runs"} <= names
    runs = load(output).groupby("way")["seed"].max()
    assert runs[["leg 2", "DC (papers')"]].tolist() == [2, 2]
    assert runs["DC (deployable, Xn 5 ms)"] == runs["MP-QUIC"] >= 4
    advice = json.loads((output / "advice.json").read_text())
    assert advice["neighbours"]["near"]["tie"]["points"] == 20
    assert "networks of the study with cubic" in advice["sentences"][-1]
    assert advice["outcome"] in ("dual connectivity", "tie", "multipath", "open")
    assert advice["found"]["pairs"] >= 4


def test_advice_without_any_run_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    print_runs(None, ["Not enough evidence."])
    assert capsys.readouterr().out == "Not enough evidence.\n"


@needs_picoquic
def test_it_goes_on_where_it_was_and_is_shown_again(
    output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in output.glob("runs/*/client-rate.csv")}
    assert cli.main([*SMALL, "--jobs", "1", "--output", str(output), "--json"]) == 0
    advice = json.loads(capsys.readouterr().out)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert cli.main(["show", str(output)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert " ".join(advice["sentence"].split()) in shown


@needs_picoquic
def test_a_comparison_has_the_same_numbers_of_the_same_dual_connectivities(
    output: Path, tmp_path: Path
) -> None:
    legs = SMALL[1:-4]  # without time and stacks
    asked = [*legs, "--dc", "papers", "deployable", "ideal", "--transports", "quic-picoquic"]
    more = ["--modes", "dc", "--clock", "virtual", "--repetitions", "1", "--jobs", "1"]
    assert cli.main(["compare", *asked, *more, "--output", str(tmp_path / "out")]) == 0
    compared, advised = (
        load(root).query("way.str.startswith('DC') and seed == 1").set_index("way")["goodput_mbps"]
        for root in (tmp_path / "out", output)
    )
    advised = advised[~advised.index.str.contains("; primary leg")]
    assert len(compared) == 3
    assert compared.to_dict() == advised.to_dict()


@needs_picoquic
def test_python_says_the_same(output: Path) -> None:
    legs = [
        {"downlink": {"rate_mbps": 30}, "delay_ms": 10},
        {"downlink": {"rate_mbps": 10}, "delay_ms": 40},
    ]
    workload = {"kind": "download", "size_mb": 0.3}
    advice = advise(legs, workload=workload, seconds=600, stacks=["picoquic"])
    assert advice.sentence == json.loads((output / "advice.json").read_text())["sentence"]
