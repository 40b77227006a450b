"""Notes below a table on runs that are ok: unused paths, and cautions of their scenarios."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pandas as pd

from minitopo_dc.runs.cautions import CAUTIONS
from minitopo_dc.runs.path_use import PATH_USE
from minitopo_dc.runs.results import DESYNCHRONISED

WORDS = {
    "over first": "the transfer was over before the path on leg {} carried data",
    "unused by scheduler": "its scheduler left the path on leg {} unused",
}
"""What is said of a path; the other uses of a run that is ok are as they were asked for."""


def notes(runs: pd.DataFrame) -> str:
    """Return what is to be known of runs that are ok; empty: nothing."""
    found = Counter(line for details in runs["details"] for line in _lines(details))
    lines = [f"{words}{_share(count, len(runs))}" for words, count in found.items()]
    return "; ".join([*lines, *_desynchronised(runs["details"])])


def _desynchronised(details: Collection[Mapping[str, Any]]) -> Iterator[str]:
    """Yield how many PDUs were taken for others, if any were."""
    numbers = [int(each[DESYNCHRONISED]) for each in details if DESYNCHRONISED in each]
    if numbers:
        span = dict.fromkeys(f"{number:,}" for number in (min(numbers), max(numbers)))
        yield (
            f"{' to '.join(span)} PDUs were taken for others with the same SN, as the legs' skew "
            "is more than half the SN space: stale packets were delivered; take sn_bits: 18"
            f"{_share(len(numbers), len(details))}"
        )


def _share(count: int, runs: int) -> str:
    return "" if count == runs else f" ({count} of {runs} runs)"


def _lines(details: Mapping[str, Any]) -> Iterator[str]:
    for leg, use in set(_uses(details)):
        if use in WORDS:
            yield WORDS[use].format(leg)
    yield from details.get(CAUTIONS, ())


def _uses(details: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for flow in details.get("flows") or [details]:
        yield from flow.get(PATH_USE, {}).items()
