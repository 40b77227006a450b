"""The table of campaigns has them all, and how many runs each is."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from minitopo_dc.campaign.plan import Plan
from minitopo_dc.campaign.program import load_program, studies
from tests import REPOSITORY
from tests.docs.pages import DOCS

ROW = re.compile(r"\| `(?P<name>[a-z_/.-]+)` \|.*\| (?P<full>\d+) \((?P<quick>\d+)\)[^|]*\|")
EXAMPLES = REPOSITORY / "examples" / "campaigns"
MOST = 700
"""Versions with more runs are not counted, as planning them takes seconds."""


class Row(NamedTuple):
    """What is said of an example or a study."""

    name: str
    full: str
    quick: str

    @property
    def path(self) -> Path:
        """Its file."""
        return studies().get(self.name, EXAMPLES / self.name)


def rows() -> Iterator[Row]:
    for line in (DOCS / "campaigns.md").read_text(encoding="utf-8").splitlines():
        if (found := ROW.fullmatch(line)) is not None:
            yield Row(**found.groupdict())


def test_every_example_and_every_study_is_in_the_tables() -> None:
    files = {path.name for path in EXAMPLES.glob("*.py")}
    assert sorted(row.name for row in rows()) == sorted(files | studies().keys())


@pytest.mark.parametrize("row", list(rows()), ids=lambda row: row.name)
def test_a_campaign_has_as_many_runs_as_its_table_says(row: Row) -> None:
    program = load_program(row.path)
    known = {"quick": int(row.quick), "full": int(row.full)}
    for version, runs in known.items():
        if runs <= MOST:
            plan = Plan(program.cases(version), program.seeds(version))
            assert len(plan.scenarios) == runs


def test_the_rules_of_the_study_are_those_that_were_fixed() -> None:
    page = (DOCS / "study.md").read_text(encoding="utf-8")
    fixed = dict(re.findall(r"\| `(rule-[a-z_-]+\.json)` \|.*\| `([0-9a-f]{64})` \|", page))
    folder = DOCS.parent / "studies/which_is_better/reference"
    files = {each.name: each for each in folder.glob("rule-*.json")}
    assert set(fixed) == set(files)
    for name, digest in fixed.items():
        assert hashlib.sha256(files[name].read_bytes()).hexdigest() == digest, name
