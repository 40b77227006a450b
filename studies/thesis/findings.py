"""Write findings.md from the recorded runs: `python studies/thesis/findings.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import behaviour
import fairness
import pandas as pd
import throughput
from claims import Claim
from comparison import item_rows
from published import NEAR_PERCENT

HERE = Path(__file__).parent
HEAD = """# What the thesis says, and what these runs show

`python studies/thesis/findings.py` writes this page from `reference/runs.parquet`.
"""
LIMITS = """## What to know of the runs

- All are on the virtual clock.
- Fairness lasts 30 s here, 180 s in the thesis.
- TCP's throughput lacks the proxies' delay of 1 ms, which all other ways have. It is a mistake of
  the first version of the campaign, kept so that its runs stay joined (`throughput.py`).
- Nothing is random in the runs of reordering and overhead. All their seeds give the same numbers,
  so that their intervals have no width.
- Runs of the LTE trace have 10 MB, or 20 MB in appendix E. Those of appendix F have 40 MB.
"""


def page(runs: pd.DataFrame) -> str:
    """Return the page in Markdown."""
    rows = item_rows(runs)
    return "\n".join([HEAD, *_tables(rows), *_claims(runs), LIMITS])


def _tables(rows: pd.DataFrame) -> Iterator[str]:
    known = rows[rows["published"] > 0]
    near = (known["mean_error_percent"] <= NEAR_PERCENT).sum()
    published, cells = known["published"].sum(), known["cells"].sum()
    yield (
        f"## Tables\n\nOf {len(known)} tables {near} agree within {NEAR_PERCENT:g} % on average. "
        f"Of {published} cells\n{cells} were run, and {known['within_5_percent'].sum()} are within "
        f"{NEAR_PERCENT:g} %.\n"
    )
    yield _markdown(
        ("item", "shows", "cells", "mean error (%)", "within 5 %", "why"),
        (
            (row["item"], row["shows"], row["cells"], _number(row["mean_error_percent"]),
             row["within_5_percent"], row["why"] or "-")
            for row in known.to_dict("records")
        ),
    )  # fmt: skip


def _claims(runs: pd.DataFrame) -> Iterator[str]:
    claims: list[Claim] = [
        claim
        for name, of in (
            ("behaviour", behaviour.claims),
            ("throughput", throughput.claims),
            ("fairness", fairness.claims),
        )
        for claim in of(runs[runs["campaign"] == name])
    ]
    holds = sum(claim.verdict == "holds" for claim in claims)
    yield f"## Claims\n\n{holds} of {len(claims)} claims hold.\n"
    yield _markdown(
        ("claim", "source", "limits", "effect (95 % interval)", "seeds", "verdict"),
        (
            (claim.claim, claim.source, claim.limits,
             f"{_number(claim.effect)} ({_number(claim.low)} to {_number(claim.high)})",
             claim.seeds, claim.verdict)
            for claim in claims
        ),
    )  # fmt: skip


def _number(value: float) -> str:
    return f"{value:.3g}"


def _markdown(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    lines = [tuple(head)]
    lines += [("---",) * len(lines[0]), *(tuple(map(str, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    table = pd.read_parquet(HERE / "reference" / "runs.parquet")
    (HERE / "findings.md").write_text(page(table), encoding="utf-8")
