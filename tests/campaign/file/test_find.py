"""Campaigns by path, and those that come with the package by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc import campaign_names, find_campaign
from minitopo_dc.cli import main
from minitopo_dc.shipped import shipped
from tests.campaign.campaigns import document, write

NAMES = ["thesis-behaviour", "thesis-fairness", "thesis-throughput", "thesis-throughput-lte"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_thesis_campaigns_come_with_the_package() -> None:
    assert set(NAMES) <= set(campaign_names())


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_enough_wherever_one_is(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    quick = ["--quick", "--dry-run", "--clock", "virtual", "--repetitions", "1"]
    assert main(["campaign", "run", name, *quick]) == 0
    assert "runs on the virtual clock" in capsys.readouterr().out


def test_a_file_of_one_s_own_counts_before_a_name(tmp_path: Path) -> None:
    write(tmp_path, document()).rename("thesis-fairness")
    assert find_campaign("thesis-fairness") == Path("thesis-fairness")


def test_a_directory_hides_no_name(tmp_path: Path) -> None:
    (tmp_path / "thesis-fairness").mkdir()
    assert find_campaign("thesis-fairness") == shipped("campaigns") / "thesis-fairness.yaml"


@pytest.mark.parametrize("wanted", ["thesis-throughputs", "campaigns/mine.yaml", "../traces"])
def test_what_is_neither_is_one_error_with_the_known_names(
    wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["campaign", "run", wanted]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith(f"minitopo-dc: {wanted}: neither a file nor a campaign's name")
    assert "known: " in error
    assert [name for name in NAMES if name not in error] == []
