"""The page of all published numbers, and the findings of the papers' studies."""

from __future__ import annotations

import importlib.util
from typing import Any

import pandas as pd
import pytest

from tests import REPOSITORY


def _script() -> Any:
    """Load `scripts/findings.py`, which is no part of a package."""
    spec = importlib.util.spec_from_file_location("findings", REPOSITORY / "scripts/findings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FINDINGS = _script()


def cells(*rows: tuple[str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["item", "curve", "x"])


def test_a_number_has_the_kind_of_the_first_fit_that_has_it() -> None:
    study = FINDINGS.Study("thesis")
    numbers = cells(
        ("Table 5.3, figure 5.5; j. figure 4a", "quic", "350"),
        ("Table 5.3, figure 5.5; j. figure 4a", "quic_bm", "350"),
        ("Table 5.6, figure 5.12b; j. figure 9b", "quic", "1.5"),
    )
    assert study.kinds(numbers).tolist() == ["fitted", "held out", "selected"]


def test_a_number_is_predicted_where_no_parameter_of_its_paper_acts() -> None:
    numbers = cells(("Table 1", "mp", "1"))
    assert FINDINGS.Study("mpquic_design").kinds(numbers).tolist() == ["predicted"]


def test_jains_index_and_two_runs_are_counted_apart() -> None:
    numbers = pd.DataFrame(
        {"paper": "p", "kind": "held out", "set_up": "", "ours": 1.0, "error_percent": 1.0,
         "p_value": 0.5, "curve": ["Jain's index", "quic", "quic"], "runs": [9, 2, 3]}
    )  # fmt: skip
    table = FINDINGS.totals(numbers).set_index(["paper", "kind"])["near"]
    assert table["p"].to_dict() == {f"held out{FINDINGS.WEAK}": 2, "held out": 1}


def test_a_number_that_was_used_for_a_fit_is_not_held_out_of_it() -> None:
    study = FINDINGS.Study("mesh")
    study.cells = cells(
        ("Table 3: a busy client (Mbit/s)", "v43 busy", "RP2"),
        ("Table 3: a busy client (Mbit/s)", "v43 busy", "RP7"),
    )
    parts = pd.concat(part for part in study.splits() if "QUIC 407" in str(part["parameter"]))
    assert dict(zip(parts["x"], parts["part"], strict=True)) == {"RP2": "fitted", "RP7": "held out"}


SHORTEST = "cellular"
STALE = "python scripts/findings.py writes it"


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[pytest.mark.long] * (name != SHORTEST)) for name in FINDINGS.NAMES
    ],
)
def study(request: pytest.FixtureRequest) -> Any:
    return FINDINGS.Study(request.param)


@pytest.mark.slow
def test_findings_are_those_of_the_recorded_runs(study: Any) -> None:
    assert (study.folder / "findings.md").read_text(encoding="utf-8") == study.page(), STALE


@pytest.mark.slow
def test_every_fit_is_of_a_number_or_claim_that_is_there(study: Any) -> None:
    claims = [table["claim"] for title, table in study.sections if title.startswith("Claims")]
    judged = pd.DataFrame({"item": FINDINGS.CLAIMS, "curve": pd.concat(claims), "x": ""})
    known = pd.concat([study.cells, judged], ignore_index=True)
    for fit in study.fits.itertuples():
        assert FINDINGS.matching(known, fit).any(), fit


@pytest.mark.long
def test_the_page_of_all_numbers_is_that_of_the_recorded_runs() -> None:
    (*_, (file, text)) = FINDINGS.pages(list(map(FINDINGS.Study, FINDINGS.NAMES)))
    assert file.read_text(encoding="utf-8") == text, STALE
