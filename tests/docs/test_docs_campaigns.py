"""The table of campaigns has them all, and how many runs each is."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from minitopo_dc import campaign_names, find_campaign
from minitopo_dc.campaign.file.plan import count_plan
from minitopo_dc.campaign.file.scenarios import Overrides
from tests.docs.pages import DOCS

ROW = re.compile(r"\| `(?P<name>[a-z-]+)` \|.*\| (?P<full>\d+) \((?P<quick>\d+)\)[^|]*\|")


class Row(NamedTuple):
    """What is said of a campaign."""

    name: str
    full: str
    quick: str


def rows() -> Iterator[Row]:
    for line in (DOCS / "campaigns.md").read_text(encoding="utf-8").splitlines():
        if (found := ROW.fullmatch(line)) is not None:
            yield Row(**found.groupdict())


def test_every_campaign_is_in_the_table() -> None:
    assert sorted(row.name for row in rows()) == sorted(campaign_names())


@pytest.mark.parametrize("row", list(rows()), ids=lambda row: row.name)
def test_a_campaign_has_as_many_runs_as_the_table_says(row: Row) -> None:
    full = count_plan(find_campaign(row.name), Overrides())
    quick = count_plan(find_campaign(row.name), Overrides(version="quick"))
    assert (full.runs, quick.runs) == (int(row.full), int(row.quick))


def test_the_rules_of_the_study_are_those_that_were_fixed() -> None:
    page = (DOCS / "study.md").read_text(encoding="utf-8")
    fixed = dict(re.findall(r"\| `(rule-[a-z_-]+\.json)` \|.*\| `([0-9a-f]{64})` \|", page))
    folder = DOCS.parent / "studies/which_is_better/reference"
    files = {each.name: each for each in folder.glob("rule-*.json")}
    assert set(fixed) == set(files)
    for name, digest in fixed.items():
        assert hashlib.sha256(files[name].read_bytes()).hexdigest() == digest, name
