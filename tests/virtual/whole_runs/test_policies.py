"""Adaptive split policies on the virtual clock."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.virtual.run import run_virtual
from tests.virtual.scenarios import leg, scenario


def pdus(directory: Path, pdcp: dict[str, Any]) -> list[int]:
    """What each of a faster and a slower leg got in a run that must succeed."""
    result = run_virtual(scenario(pdcp=pdcp, legs=[leg(), leg(rate_mbps=5)]), directory)
    assert result.status == "ok", result.reason
    sent = json.loads((directory / "gnb-summary.json").read_text())["transmit"]["1"]
    return [sent["pdus_1"], sent["pdus_2"]]


@pytest.mark.parametrize("split", ["proportional", "threshold"])
def test_the_faster_leg_gets_more(tmp_path: Path, split: str) -> None:
    faster, slower = pdus(tmp_path / "run", {"split": split, "report_ms": 10})
    assert faster > 2 * slower > 0


@pytest.mark.parametrize("split", ["proportional", "bandit"])
def test_a_run_is_the_same_to_the_byte_again(tmp_path: Path, split: str) -> None:
    for name in ("one", "two"):
        pdus(tmp_path / name, {"split": split, "report_ms": 10})
    for path in sorted((tmp_path / "one").glob("*.csv")):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_the_seed_of_the_bandit_is_of_its_own(tmp_path: Path) -> None:
    pdcp: dict[str, Any] = {"split": "bandit", "report_ms": 10}
    quick = {"epoch_ms": 50}
    found = [
        pdus(tmp_path / str(seed), pdcp | {"parameters": quick | {"seed": seed}}) for seed in (1, 2)
    ]
    assert found[0] != found[1]
