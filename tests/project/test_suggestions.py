"""Names that may be meant are suggested by one rule, wherever a name is unknown."""

from __future__ import annotations

import pytest

from minitopo_dc.errors import did_you_mean, similar


@pytest.mark.parametrize(
    ("name", "known", "told"),
    [
        ("gian", ["gain", "level"], "did you mean gain?"),
        ("--Splitt", ["--split", "--legs"], "did you mean --split?"),
        ("rate", ["trace", "rate_mbps"], "did you mean rate_mbps?"),
        (
            "delay",
            ["delay_p50_ms", "delay_p95_ms", "delay_mean_ms"],
            "delay_p50_ms or delay_p95_ms?",
        ),
        ("level", ["gain"], ""),
        ("level", [], ""),
    ],
)
def test_a_similar_name_is_suggested(name: str, known: list[str], told: str) -> None:
    assert did_you_mean(name, known).endswith(told)
    assert bool(did_you_mean(name, known)) == bool(told)


def test_a_name_with_the_word_is_suggested_but_is_no_misspelling() -> None:
    assert similar("rate", ["trace", "rate_mbps"]) == []
    assert similar("rat", ["rate", "trace"]) == ["rate"]
