"""Notes below a table on runs that are right although a path of theirs carried no data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from minitopo_dc.run.path_use import PATH_USE

WORDS = {
    "over first": "the transfer was over before the path on leg {} carried data",
    "unused by scheduler": "its scheduler left the path on leg {} unused",
}
"""What is said of a path; the other uses of a run that is ok are as they were asked for."""


def path_notes(runs: pd.DataFrame) -> str:
    """Return what is to be known of the paths of runs that are ok; empty: all were used."""
    found = Counter(
        WORDS[use].format(leg)
        for details in runs["details"]
        for leg, use in set(_uses(details))
        if use in WORDS
    )
    return "; ".join(f"{words}{_share(count, len(runs))}" for words, count in found.items())


def _share(count: int, runs: int) -> str:
    return "" if count == runs else f" ({count} of {runs} runs)"


def _uses(details: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for flow in details.get("flows") or [details]:
        yield from flow.get(PATH_USE, {}).items()
